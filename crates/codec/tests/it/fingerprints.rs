//! Fingerprints: the same for the same request, and different for any other.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use proptest::sample::Index;
use seriatim_codec::{Stored, fingerprint};
use seriatim_types::{
    Body, Command, CommandChange, CommandEvent, Condition, Entry, FieldName, Filler, Hole, Shown,
    Template, Time,
};

use crate::golden::line;
use crate::samples::{entity, field, hole, json, name, plain, rich_command};
use crate::strategies;

/// An event without changes.
fn bare(text: &str) -> CommandEvent {
    CommandEvent { name: name(text), args: plain("{}"), changes: vec![] }
}

fn with(change: CommandChange) -> Vec<CommandEvent> {
    vec![CommandEvent { changes: vec![change], ..bare("E") }]
}

fn create(parent: Option<u64>, value: Template) -> CommandChange {
    let fields = vec![(field("a"), plain("1")), (field("b"), value)];
    CommandChange::Create { id: 1, kind: name("invoice"), parent, fields }
}

fn update(if_version: Option<u64>) -> CommandChange {
    CommandChange::Update { id: 200_017, fields: vec![(field(""), plain("null"))], if_version }
}

fn set(condition: Option<Condition>, expires_at: Option<Time>) -> CommandChange {
    CommandChange::Set { key: entity("stock/A-7"), value: plain("4"), condition, expires_at }
}

fn unset(condition: Option<Condition>) -> CommandChange {
    CommandChange::Unset { key: entity("hold/9"), condition }
}

fn one_hole(filler: Filler) -> Template {
    Template::new(json("[]"), vec![hole(1, 0, filler)]).unwrap()
}

fn next(shown: Shown) -> Template {
    one_hole(Filler::Next { sequence: name("invoice"), shown })
}

fn draw(index: u32, shown: Shown) -> Template {
    one_hole(Filler::Draw { index, shown })
}

/// Arguments with two draws, `x` before `y` in canonical order, and their places in the document.
fn drawing_args(orders: [u32; 2]) -> Vec<CommandEvent> {
    let [x, y] = orders.map(|order| next_at(order, "invoice"));
    let holes = vec![Hole { at: 5, ..x }, Hole { at: 10, ..y }];
    let args = Template::new(json(r#"{"x":,"y":}"#), holes).unwrap();
    vec![CommandEvent { args, ..bare("E") }]
}

/// Two fields with a draw each, and the places of the draws in the document.
fn drawing_fields(orders: [u32; 2]) -> Vec<CommandEvent> {
    let [x, y] =
        orders.map(|order| Template::new(json(""), vec![next_at(order, "invoice")]).unwrap());
    fields(vec![(field("x"), x), (field("y"), y)])
}

fn next_at(order: u32, sequence: &str) -> Hole {
    hole(0, order, Filler::Next { sequence: name(sequence), shown: Shown::Number })
}

fn samples() -> Vec<(&'static str, Vec<CommandEvent>, Option<u64>)> {
    let create = |value| with(create(None, value));
    let value = Condition::Value(json(r#"{"left":4}"#));
    vec![
        ("no events", vec![], None),
        ("event E", vec![bare("E")], None),
        ("event E, if_offset 0", vec![bare("E")], Some(0)),
        ("event E, if_offset 12", vec![bare("E")], Some(12)),
        ("event Größe 😀", vec![bare("Größe 😀")], None),
        ("events E, F", vec![bare("E"), bare("F")], None),
        ("create", create(plain("2")), None),
        ("create below 7", with(self::create(Some(7), plain("2"))), None),
        ("create with ref 2", create(one_hole(Filler::Ref(2))), None),
        ("create with the next invoice", create(next(Shown::Number)), None),
        ("create with the next invoice as text", create(next(Shown::Text)), None),
        ("create with draw 0", create(draw(0, Shown::Number)), None),
        ("create with draw 0 as text", create(draw(0, Shown::Text)), None),
        ("update", with(update(None)), None),
        ("update of version 3", with(update(Some(3))), None),
        ("delete", with(CommandChange::Delete { id: 200_018, if_version: None }), None),
        (
            "delete of version 1",
            with(CommandChange::Delete { id: 200_018, if_version: Some(1) }),
            None,
        ),
        ("set", with(set(None, None)), None),
        ("set until 1798761600000", with(set(None, Some(Time(1_798_761_600_000)))), None),
        ("set if it exists", with(set(Some(Condition::Exists), None)), None),
        ("set if it is absent", with(set(Some(Condition::Absent), None)), None),
        ("set if its version is 7", with(set(Some(Condition::Version(7)), None)), None),
        ("set if its value is", with(set(Some(value.clone()), None)), None),
        ("unset", with(unset(None)), None),
        ("unset if its value is", with(unset(Some(value))), None),
        ("draw", with(CommandChange::Draw { sequence: name("ticket") }), None),
        ("everything", rich_command().events, Some(12)),
        ("args that draw x, y", drawing_args([0, 1]), None),
        ("args that draw y, x", drawing_args([1, 0]), None),
        ("update that draws y, x", drawing_fields([1, 0]), None),
    ]
}

#[test]
fn the_golden_file_of_fingerprints_still_holds() {
    let mut seen = BTreeMap::new();
    let mut now = String::new();
    for (name, events, if_offset) in samples() {
        let fingerprint = fingerprint(&events, if_offset);
        assert_eq!(fingerprint.version, 1);
        now += &line(name, &fingerprint.hash);
        assert_eq!(seen.insert(fingerprint.hash, name), None, "{name} is like another");
    }
    assert_eq!(now, include_str!("../../golden/fingerprints.txt"), "fingerprints changed");
}

#[test]
fn the_end_of_a_text_is_never_the_beginning_of_the_next() {
    type Build = fn(&str, &str) -> Vec<CommandEvent>;
    let pairs: [(&str, Build); 13] = [
        ("event, args", |a, b| vec![CommandEvent { args: text(b), ..bare(a) }]),
        ("event, event", |a, b| vec![bare(a), bare(b)]),
        ("args, event", |a, b| vec![CommandEvent { args: text(a), ..bare("E") }, bare(b)]),
        ("event, draw", |a, b| {
            let draw = CommandChange::Draw { sequence: name(b) };
            vec![CommandEvent { changes: vec![draw], ..bare(a) }]
        }),
        ("kind, field", |a, b| {
            let fields = vec![(field(b), plain("1"))];
            with(CommandChange::Create { id: 1, kind: name(a), parent: None, fields })
        }),
        ("field, value", |a, b| fields(vec![(field(a), text(b))])),
        ("value, field", |a, b| fields(vec![(field("A"), text(a)), (field(b), text("1"))])),
        ("key, value", |a, b| {
            let (key, value) = (entity(a), text(b));
            with(CommandChange::Set { key, value, condition: None, expires_at: None })
        }),
        ("value, condition", |a, b| {
            let condition = Some(Condition::Value(Bytes::copy_from_slice(b.as_bytes())));
            let (key, value) = (entity("k"), text(a));
            with(CommandChange::Set { key, value, condition, expires_at: None })
        }),
        ("key, condition", |a, b| {
            let condition = Some(Condition::Value(Bytes::copy_from_slice(b.as_bytes())));
            with(CommandChange::Unset { key: entity(a), condition })
        }),
        ("condition, key", |a, b| {
            let condition = Some(Condition::Value(Bytes::copy_from_slice(a.as_bytes())));
            let unset = |key, condition| CommandChange::Unset { key: entity(key), condition };
            let changes = vec![unset("k", condition), unset(b, None)];
            vec![CommandEvent { changes, ..bare("E") }]
        }),
        ("text, sequence", |a, b| fields(vec![(field("A"), holes(a, &[b]))])),
        ("sequence, sequence", |a, b| fields(vec![(field("A"), holes("", &[a, b]))])),
    ];
    for (texts, build) in pairs {
        let hash = |a, b| fingerprint(&build(a, b), None);
        assert_ne!(hash("ab", "c"), hash("a", "bc"), "{texts}");
    }
}

#[test]
fn a_text_that_looks_like_a_change_is_still_a_text() {
    let draw = CommandChange::Draw { sequence: name("ticket") };
    let changed = CommandEvent { changes: vec![draw], ..bare("E") };
    // What follows the text of these arguments, without the lengths of texts.
    let one_change = [b"\0\x03".as_slice(), &1_u64.to_be_bytes()].concat();
    let the_change = [b"\x01".as_slice(), &6_u64.to_be_bytes(), b"\x0bticket"].concat();
    let forged = [b"{}".as_slice(), &one_change, &the_change].concat();
    let forged = CommandEvent { args: Template::plain(forged), ..bare("E") };
    assert_ne!(fingerprint(&[changed], None), fingerprint(&[forged], None));
}

fn fields(fields: Vec<(FieldName, Template)>) -> Vec<CommandEvent> {
    with(CommandChange::Update { id: 1, fields, if_version: None })
}

fn text(text: &str) -> Template {
    Template::plain(Bytes::copy_from_slice(text.as_bytes()))
}

/// A text behind holes for the next numbers of these sequences.
fn holes(text: &str, sequences: &[&str]) -> Template {
    let holes = sequences.iter().map(|sequence| next_at(0, sequence)).collect();
    Template::new(Bytes::copy_from_slice(text.as_bytes()), holes).unwrap()
}

#[test]
fn two_draws_that_change_places_in_the_document_are_another_request() {
    let hash = |events: Vec<CommandEvent>| fingerprint(&events, None);
    assert_ne!(hash(drawing_args([0, 1])), hash(drawing_args([1, 0])));
    assert_ne!(hash(drawing_fields([0, 1])), hash(drawing_fields([1, 0])));
    // Only who comes first counts: another hole may stand between them.
    assert_eq!(hash(drawing_args([0, 1])), hash(drawing_args([0, 2])));
    assert_eq!(hash(drawing_args([1, 0])), hash(drawing_args([7, 3])));
}

proptest! {
    #[test]
    fn the_order_of_holes_that_draw_nothing_is_no_part_of_it(
        events in proptest::collection::vec(strategies::command_event(), 1..3),
        if_offset: Option<u64>,
    ) {
        let same = with_turns_alone(&events);
        prop_assert_eq!(fingerprint(&events, if_offset), fingerprint(&same, if_offset));
    }

    #[test]
    fn a_bit_of_a_command_alters_it_or_is_no_part_of_it(
        entry in strategies::entry(),
        at: Index,
        bit in 0..8_u8,
    ) {
        let mut bytes = entry.to_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Some((before, after)) = commands(&entry, bytes) {
            check_altered(&before, &after);
        }
    }
}

#[test]
fn every_bit_of_a_command_alters_it_or_is_no_part_of_it() {
    let entry = Entry { time: Time(0), body: Body::Command(rich_command()) };
    let bytes = entry.to_bytes();
    let mut altered = 0;
    for (at, bit) in (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1 << bit;
        if let Some((before, after)) = commands(&entry, bytes) {
            altered += usize::from(check_altered(&before, &after));
        }
    }
    assert!(altered > bytes.len(), "only {altered} alterations were tried");
}

/// What was a command, and is another one with these bytes.
fn commands(entry: &Entry, bytes: Vec<u8>) -> Option<(Command, Command)> {
    match (&entry.body, Entry::from_bytes(&bytes.into()).ok()?.body) {
        (Body::Command(before), Body::Command(after)) => Some((before.clone(), after)),
        _ => None,
    }
}

/// Whether what is asked for was altered. Its fingerprint says the same.
fn check_altered(before: &Command, after: &Command) -> bool {
    let asked = |command: &Command| (with_turns_alone(&command.events), command.if_offset);
    let taken = |command: &Command| fingerprint(&command.events, command.if_offset);
    let is_altered = asked(before) != asked(after);
    assert_eq!(is_altered, taken(before) != taken(after), "{after:?}");
    is_altered
}

/// The same events, in which holes have no order but that of draws which left the canonical one.
fn with_turns_alone(events: &[CommandEvent]) -> Vec<CommandEvent> {
    let mut events = events.to_vec();
    for event in &mut events {
        keep_turns(&mut [&mut event.args]);
        for change in &mut event.changes {
            match change {
                CommandChange::Create { fields, .. } | CommandChange::Update { fields, .. } => {
                    let mut values: Vec<_> = fields.iter_mut().map(|(_, value)| value).collect();
                    keep_turns(&mut values);
                }
                CommandChange::Set { value, .. } => keep_turns(&mut [value]),
                CommandChange::Delete { .. }
                | CommandChange::Unset { .. }
                | CommandChange::Draw { .. } => {}
            }
        }
    }
    events
}

fn keep_turns(part: &mut [&mut Template]) {
    let draws = |hole: &&Hole| matches!(hole.filler, Filler::Next { .. });
    let holes = part.iter().flat_map(|template| template.holes());
    let orders: Vec<u32> = holes.filter(draws).map(|hole| hole.order).collect();
    let turn = |hole: &Hole| {
        let earlier = orders.iter().filter(|order| **order < hole.order).count();
        if draws(&hole) && !orders.is_sorted() { earlier } else { 0 }
    };
    for template in part {
        let order = |hole: &Hole| u32::try_from(turn(hole)).unwrap();
        let holes = template.holes().iter();
        let holes = holes.map(|hole| Hole { order: order(hole), ..hole.clone() }).collect();
        **template = Template::new(template.text().clone(), holes).unwrap();
    }
}
