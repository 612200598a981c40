//! What can be asked to be defined.

use seriatim_storage::faulty::Dice;
use seriatim_types::limits::KEYS_MAX;
use seriatim_types::{
    CommandLimits, Define, DefineRequest, NUMBER_MAX, RecordClass, RecordIdScheme, Reset,
    Retention, TrustLevel,
};

use super::super::name;
use super::{one_in, pick};

/// What was asked for so far. Most of what comes next is nearly the same.
#[derive(Debug)]
pub struct Requests(Vec<DefineRequest>);

impl Requests {
    /// An app with a bit of everything, whose limits are soon reached.
    #[must_use]
    pub fn new(dice: &mut Dice, partitions: u16) -> Self {
        let windows = [
            (Retention::Milliseconds(15_000), Some(20)),
            (Retention::Milliseconds(120_000), Some(80)),
            (Retention::Forever, Some(10_000)),
            (Retention::Milliseconds(60_000), None),
        ];
        let (retention, keys_max) = pick(dice, &windows);
        let app = DefineRequest::App {
            partitions,
            record_ids: pick(dice, &[RecordIdScheme::Single, RecordIdScheme::Split]),
            trust_level: pick(dice, &[TrustLevel::Zero, TrustLevel::One, TrustLevel::Two]),
            retention,
            keys_max,
            limits: CommandLimits {
                events: 4,
                changes: 12,
                draws: 8,
                holes: 24,
                bytes: 600,
                field_bytes: 120,
                fields: 5,
                record_bytes: 250,
                ..CommandLimits::default()
            },
        };
        let (never, yearly) = (Reset::Never, Reset::Yearly);
        let broken = vec![(5, 9), (1, 3), (100, NUMBER_MAX)];
        Self(vec![
            app,
            DefineRequest::Kind { name: name("warehouse") },
            sequence("invoice", "default", vec![(1, 999_999)], "INV-{yyyy}-{n:06}", yearly, 60),
            sequence("ticket", "default", broken, "{{\"{n}\\ü}}", never, 0),
            sequence("scarce", "default", vec![(7, 9)], "{n}", never, 60),
            sequence("pallet", "warehouse", vec![(1, 99)], "P{yyyy}{n:02}", yearly, -720),
            record("order", RecordClass::C, false),
            record("line", RecordClass::W, false),
            record("note", RecordClass::O, false),
            record("settings", RecordClass::C, true),
            record("profile", RecordClass::O, true),
        ])
    }

    /// What the app begins with.
    #[must_use]
    pub fn opening(&self) -> Vec<Define> {
        self.0.iter().cloned().map(|request| Define { app: name("shop"), request }).collect()
    }

    /// Something new, something known, or something known and changed.
    #[must_use]
    pub fn next(&mut self, dice: &mut Dice) -> Define {
        let known = [pick(dice, &self.0), self.0[0].clone()];
        if one_in(dice, 6) {
            let request = pick(dice, &known);
            return other_app(dice, request);
        }
        let [mut request, _] = known;
        match dice.below(4) {
            0 => {}
            1 => change_presentation(dice, &mut request),
            2 => change(dice, &mut request),
            _ => {
                request = new(dice);
                self.0.push(request.clone());
            }
        }
        Define { app: name("shop"), request }
    }
}

/// Something for another app, which may not be there.
fn other_app(dice: &mut Dice, mut request: DefineRequest) -> Define {
    if let DefineRequest::App { partitions, keys_max, .. } = &mut request {
        *partitions = pick(dice, &[2, 2, 0, 1_025]);
        // An app may be made again with another limit, which changes nothing.
        *keys_max = pick(dice, &[*keys_max, None, Some(0), Some(7)]);
    }
    Define { app: name(pick(dice, &["other-1", "other-2", "other-3", "456"])), request }
}

fn new(dice: &mut Dice) -> DefineRequest {
    let index = dice.below(4);
    match dice.below(4) {
        0 => DefineRequest::Kind { name: name(pick(dice, &["depot", "yard", "pier", "barn"])) },
        1 => {
            let kind = pick(dice, &["default", "warehouse", "depot"]);
            let ranges = pick(dice, &[vec![(1, 5)], vec![(30, 40), (1, 9)], vec![(1, 1 << 40)]]);
            let reset = pick(dice, &[Reset::Never, Reset::Yearly]);
            let name = format!("sequence-{index}");
            sequence(&name, kind, ranges, "{n}", reset, 840)
        }
        2 => DefineRequest::KeyLimit { keys_max: some_limit(dice) },
        _ => {
            let class = pick(dice, &[RecordClass::C, RecordClass::O, RecordClass::W]);
            record(&format!("record-{index}"), class, one_in(dice, 2))
        }
    }
}

/// A limit of keys that is soon reached, or never, or cannot be.
fn some_limit(dice: &mut Dice) -> Option<u64> {
    pick(dice, &[None, None, Some(25), Some(90), Some(300), Some(0), Some(KEYS_MAX + 1)])
}

fn change_presentation(dice: &mut Dice, request: &mut DefineRequest) {
    if let DefineRequest::Sequence { format, .. } = request {
        let formats =
            ["{n}", "{yyyy}/{n:03}", "\"{n:010}\"", "", "{n}{n}", "{x}{n}", "{n:0}", "{n", "{n}\t"];
        *format = pick(dice, &formats).to_owned();
    }
}

/// What may not change, or cannot be.
fn change(dice: &mut Dice, request: &mut DefineRequest) {
    match request {
        DefineRequest::App { partitions, keys_max, .. } => {
            *keys_max = some_limit(dice);
            *partitions += u16::try_from(dice.below(2)).expect("one at most");
        }
        DefineRequest::KeyLimit { keys_max } => *keys_max = some_limit(dice),
        DefineRequest::Kind { name: kind } => *kind = name("default"),
        DefineRequest::Sequence { kind, ranges, reset, utc_offset_minutes, .. } => {
            match dice.below(5) {
                0 => *kind = name(pick(dice, &["default", "warehouse", "nowhere"])),
                1 => *reset = Reset::Yearly,
                2 => *utc_offset_minutes = pick(dice, &[61, -721, 841]),
                3 => ranges.push((2, 4)),
                _ => {
                    let bad = [vec![], vec![(0, 4)], vec![(9, 8)], vec![(1, 1 << 53)]];
                    *ranges = pick(dice, &bad);
                }
            }
        }
        DefineRequest::Record { class, singleton, .. } => {
            if one_in(dice, 2) {
                *singleton = !*singleton;
            } else {
                *class = RecordClass::W;
            }
        }
        DefineRequest::SequenceMembers { .. } | DefineRequest::RecordMembers { .. } => {}
    }
}

fn sequence(
    text: &str,
    kind: &str,
    ranges: Vec<(u64, u64)>,
    format: &str,
    reset: Reset,
    utc_offset_minutes: i16,
) -> DefineRequest {
    let (kind, format) = (name(kind), format.to_owned());
    DefineRequest::Sequence { name: name(text), kind, ranges, format, reset, utc_offset_minutes }
}

fn record(text: &str, class: RecordClass, singleton: bool) -> DefineRequest {
    DefineRequest::Record { name: name(text), class, singleton }
}
