//! What an app has defined, as the laws of its events ask for it.
//!
//! The steps of the definitions are events of the system app. They are folded here anew, and what
//! comes of them is what partitions must have stored.

use std::collections::{BTreeMap, BTreeSet};

use seriatim_api::message;
use seriatim_core::SYSTEM_APP;
use seriatim_sequencer::{Format, RecordIds, Sequences, UtcOffset, built_in};
use seriatim_types::limits::KEYS_MAX;
use seriatim_types::{
    AppId, Definition, Definitions, KindId, Name, Number, PartitionOffset, PartitionRef,
    RecordClass, RecordDefinition, RecordIdScheme, Reset, Retention, SequenceId, Time, Unknown,
    WorkspaceId, Year,
};

use crate::spans::Spans;

/// The first fixed id of a singleton kind.
const SINGLETON_FIRST: u64 = 65_536;

/// All apps, from the log of the system app.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalogue {
    pub(crate) apps: BTreeMap<AppId, App>,
}

/// The steps of one app's definitions.
#[derive(Debug, Clone)]
pub(crate) struct App {
    pub(crate) workspace: WorkspaceId,
    /// Each step with its event. The first is the app itself.
    pub(crate) steps: Vec<(PartitionOffset, Definition)>,
    pub(crate) latest: Definitions,
}

impl App {
    /// A new app.
    pub(crate) fn new(
        workspace: WorkspaceId,
        event: PartitionOffset,
        step: &Definition,
    ) -> Result<Self, &'static str> {
        let Definition::App(settings) = step else {
            return Err("the app itself is the first that is defined");
        };
        let latest = Definitions {
            version: 1,
            app: settings.clone(),
            kinds: Vec::new(),
            sequences: Vec::new(),
            records: Vec::new(),
            unknown: Unknown::default(),
        };
        Ok(Self { workspace, steps: vec![(event, step.clone())], latest })
    }

    /// The next step.
    pub(crate) fn step(
        &mut self,
        event: PartitionOffset,
        step: &Definition,
    ) -> Result<(), &'static str> {
        take(&mut self.latest, step)?;
        self.steps.push((event, step.clone()));
        Ok(())
    }

    /// The definitions as they were after so many steps.
    pub(crate) fn at(&self, version: u64) -> Option<Self> {
        let count = usize::try_from(version).ok()?;
        let mut steps = self.steps.get(..count)?.iter();
        let (event, first) = steps.next()?;
        let mut app = Self::new(self.workspace, *event, first).ok()?;
        steps.try_for_each(|(event, step)| app.step(*event, step)).ok()?;
        Some(app)
    }
}

/// Takes a step, if it can follow.
fn take(definitions: &mut Definitions, step: &Definition) -> Result<(), &'static str> {
    let Definitions { version, app, kinds, sequences, records, .. } = definitions;
    match step {
        Definition::App(_) => return Err("the app itself is defined once"),
        Definition::Kind(kind) => {
            let is_next = usize::from(kind.id.0) == kinds.len().saturating_add(1);
            if !is_next || kinds.iter().any(|it| it.name == kind.name) {
                return Err("a kind has a new name and the next id");
            }
            kinds.push(kind.clone());
        }
        Definition::Sequence(sequence) => {
            match sequences.iter_mut().find(|it| it.name == sequence.name) {
                Some(existing) => {
                    existing.format.clone_from(&sequence.format);
                    if existing != sequence {
                        return Err("only the format of a sequence changes");
                    }
                }
                None => {
                    let first = usize::from(built_in::FIRST_OF_APP.0);
                    if usize::from(sequence.id.0) != sequences.len().saturating_add(first) {
                        return Err("a sequence has the next id");
                    }
                    sequences.push(sequence.clone());
                }
            }
        }
        Definition::Record(record) => {
            let singletons = records.iter().filter(|it| it.singleton.is_some()).count();
            let fixed = u64::try_from(singletons).ok();
            let fixed = fixed.and_then(|count| SINGLETON_FIRST.checked_add(count));
            let is_next = record.singleton.is_none_or(|id| Some(id.get()) == fixed);
            if !is_next || records.iter().any(|it| it.name == record.name) {
                return Err("a kind of records has a new name and the next fixed id");
            }
            records.push(record.clone());
        }
        Definition::KeyLimit(keys_max) => {
            let is_possible = keys_max.is_none_or(|max| (1..=KEYS_MAX).contains(&max));
            if app.keys_max == *keys_max || !is_possible {
                return Err("a limit of keys is another one, and one that can be");
            }
            app.keys_max = *keys_max;
        }
    }
    *version = version.saturating_add(1);
    Ok(())
}

/// What the events of one partition must keep to.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) partition: PartitionRef,
    pub(crate) partitions: u16,
    pub(crate) retention: Retention,
    kinds: BTreeSet<KindId>,
    sequences: BTreeMap<SequenceId, SequenceRule>,
    records: BTreeMap<Name, RecordDefinition>,
    record_ids: RecordIds,
    /// The sequences that give ids to records.
    id_spans: Vec<(SequenceId, Spans)>,
    /// Whether the stored events are known, with their raw ids, and not only what a server shows of them.
    pub(crate) is_whole: bool,
}

/// One sequence of an app.
#[derive(Debug, Clone)]
pub(crate) struct SequenceRule {
    pub(crate) name: Name,
    pub(crate) kind: KindId,
    pub(crate) spans: Spans,
    reset: Reset,
    utc_offset: UtcOffset,
    /// Every presentation that it ever had.
    formats: Vec<Format>,
}

impl Rules {
    /// The rules by which a live server's events are checked, from the definitions that it answers.
    /// Numbers are not checked then, and a record id may be ahead of the next: which numbers were drawn,
    /// and which ids were imported, cannot be asked for. `None` when a definition cannot be one.
    pub(crate) fn live(
        partition: PartitionRef,
        (app, retention): (&message::App, Retention),
        definitions: &message::Definitions,
    ) -> Option<Self> {
        let record_ids = match app.record_ids {
            message::RecordIds::Single => RecordIds::single(),
            message::RecordIds::Split => RecordIds::split(),
        };
        let mut fixed = SINGLETON_FIRST..;
        let records = definitions.records.iter().map(|it| {
            let singleton = it.singleton.then(|| fixed.next()).flatten();
            let class = match it.class {
                message::RecordClass::C => RecordClass::C,
                message::RecordClass::O => RecordClass::O,
                message::RecordClass::W => RecordClass::W,
            };
            let name = Name::new(&it.name)?;
            let singleton = singleton.and_then(Number::new);
            Some((name.clone(), RecordDefinition { name, class, singleton }))
        });
        Some(Self {
            partition,
            partitions: app.partitions,
            retention,
            kinds: BTreeSet::from([Sequences::DEFAULT_KIND]),
            sequences: BTreeMap::new(),
            records: records.collect::<Option<_>>()?,
            id_spans: spans_of(&record_ids),
            record_ids,
            is_whole: false,
        })
    }

    /// The rules of a partition of an app whose steps are known.
    pub(crate) fn of_app(app: &App, partition: PartitionRef) -> Result<Self, &'static str> {
        Self::new(partition, &app.latest, app.steps.iter().map(|(_, step)| step))
    }

    /// The rules of the system app.
    pub(crate) fn of_system(partition: PartitionRef) -> Self {
        Self {
            partition,
            partitions: 1,
            retention: Retention::Forever,
            kinds: BTreeSet::from([Sequences::DEFAULT_KIND]),
            sequences: BTreeMap::new(),
            records: BTreeMap::new(),
            id_spans: spans_of(&RecordIds::single()),
            record_ids: RecordIds::single(),
            is_whole: true,
        }
    }

    fn new<'a>(
        partition: PartitionRef,
        definitions: &Definitions,
        steps: impl Iterator<Item = &'a Definition>,
    ) -> Result<Self, &'static str> {
        let kinds = definitions.kinds.iter().map(|kind| kind.id);
        let mut sequences = BTreeMap::new();
        for it in &definitions.sequences {
            let utc_offset = UtcOffset::from_minutes(it.utc_offset_minutes);
            let rule = SequenceRule {
                name: it.name.clone(),
                kind: it.kind,
                spans: Spans::new(it.ranges.clone()),
                reset: it.reset,
                utc_offset: utc_offset.ok_or("a sequence has a UTC offset that there is not")?,
                formats: Vec::new(),
            };
            sequences.insert(it.id, rule);
        }
        for step in steps {
            if let Definition::Sequence(it) = step {
                let format = Format::new(&it.format).map_err(|_| "a sequence has no format")?;
                if let Some(rule) = sequences.get_mut(&it.id) {
                    rule.formats.push(format);
                }
            }
        }
        let records = definitions.records.iter().map(|it| (it.name.clone(), it.clone()));
        let record_ids = match definitions.app.record_ids {
            RecordIdScheme::Single => RecordIds::single(),
            RecordIdScheme::Split => RecordIds::split(),
        };
        Ok(Self {
            partition,
            partitions: definitions.app.partitions,
            retention: definitions.app.retention,
            kinds: kinds.chain([Sequences::DEFAULT_KIND]).collect(),
            sequences,
            records: records.collect(),
            id_spans: spans_of(&record_ids),
            record_ids,
            is_whole: true,
        })
    }

    pub(crate) fn is_system(&self) -> bool {
        self.partition.app == SYSTEM_APP
    }

    pub(crate) fn has_kind(&self, kind: KindId) -> bool {
        self.kinds.contains(&kind)
    }

    pub(crate) fn sequence(&self, id: SequenceId) -> Option<&SequenceRule> {
        self.sequences.get(&id)
    }

    /// The id of a sequence, by its name.
    pub(crate) fn sequence_named(&self, name: &Name) -> Option<SequenceId> {
        self.sequences.iter().find(|(_, rule)| rule.name == *name).map(|(id, _)| *id)
    }

    pub(crate) fn record(&self, kind: &Name) -> Option<&RecordDefinition> {
        self.records.get(kind)
    }

    /// The sequence that gives ids to a class of records.
    pub(crate) fn sequence_of(&self, class: RecordClass) -> SequenceId {
        self.record_ids.sequence_of(class)
    }

    /// The ranges of any sequence whose numbers stand in a workspace's row.
    pub(crate) fn spans(&self, id: SequenceId) -> Option<&Spans> {
        let ids = self.id_spans.iter().find(|(sequence, _)| *sequence == id);
        ids.map(|(_, spans)| spans).or_else(|| self.sequence(id).map(|rule| &rule.spans))
    }
}

fn spans_of(record_ids: &RecordIds) -> Vec<(SequenceId, Spans)> {
    let spans = |class| {
        let ranges = record_ids.ranges_of(class).iter();
        let ranges = ranges.map(|(first, last)| (first.get(), last.get()));
        (record_ids.sequence_of(class), Spans::new(ranges.collect()))
    };
    // Classes o and w have the same sequence, whatever the scheme.
    [RecordClass::C, RecordClass::O].map(spans).into()
}

impl SequenceRule {
    /// The year whose series a number drawn at a time belongs to.
    pub(crate) fn year_at(&self, time: Time) -> Option<Year> {
        (self.reset == Reset::Yearly).then(|| self.utc_offset.year_of(time))
    }

    /// Whether a number was ever shown like this.
    pub(crate) fn shows(&self, number: Number, time: Time, text: &str) -> bool {
        let year = self.utc_offset.year_of(time);
        self.formats.iter().any(|format| format.show(number, year) == text)
    }
}

#[cfg(test)]
mod tests {
    use seriatim_core::system_settings;

    use super::*;

    #[test]
    fn limit_of_keys_is_another_one_and_one_that_can_be() {
        let at = |offset| PartitionOffset::new(offset).unwrap();
        let first = Definition::App(system_settings());
        let mut app = App::new(WorkspaceId(1), at(1), &first).unwrap();
        for (keys_max, can_follow) in [
            (None, false),
            (Some(7), true),
            (Some(7), false),
            (Some(0), false),
            (Some(KEYS_MAX + 1), false),
            (Some(KEYS_MAX), true),
            (None, true),
        ] {
            let stepped = app.step(at(2), &Definition::KeyLimit(keys_max));
            assert_eq!(stepped.is_ok(), can_follow, "{keys_max:?}");
        }
        assert_eq!((app.latest.version, app.latest.app.keys_max), (4, None));
    }
}
