//! A whole store that nobody writes to, beside what its events come to.
//!
//! ```text
//!  system app's log ─► Catalogue ─► for each app, for each partition: log ─► rows
//!         └ its own rows: outboxes, definitions                    rows of nobody
//! ```
//!
//! **Invariant:** every row of every table is looked at: it belongs to a partition that there is,
//! and is what that partition's events say, or it is a difference.

mod compared;
mod log;
mod partition;
pub(crate) mod rows;
mod totals;

use std::ops::Bound;

use seriatim_codec::{
    OutboxPointer, PartitionPrefix, Stored, Table as RowTable, app_key, decode_number,
    definitions_key, encode_number, inbox_key, outbox_head_key, outbox_key, partition_key,
};
use seriatim_core::SYSTEM_APP;
use seriatim_storage::{KeyRange, Read, Schema};
use seriatim_types::limits::NAMED_WORKSPACE_FIRST;
use seriatim_types::{AppId, Change, Event, Incarnation, PartitionId, PartitionRef, PartitionRow};

use crate::difference::{Difference, Error, Kind, Place};
use crate::rules::{App, Catalogue, Rules};
pub(crate) use log::each_event;
use partition::{Partition, Single, Singles};
use rows::{Tables, tags};
pub use totals::{Progress, Step, Totals};

/// How a store is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Memory for what has to be sorted, twice. What does not fit goes into temporary files.
    pub memory_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { memory_bytes: 128 * 1024 * 1024 }
    }
}

/// The one life that partitions have so far.
const INCARNATION: Incarnation = Incarnation(1);

const SYSTEM: PartitionRef = PartitionRef { app: SYSTEM_APP, partition: PartitionId(0) };

/// Recomputes everything from the events and compares it with what is stored. `read` must not
/// change meanwhile: a snapshot, or a store that nobody writes to.
///
/// # Errors
///
/// The first difference, or why there is no telling.
pub fn verify(
    read: &dyn Read,
    schema: &Schema,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Result<Totals, Error> {
    let tables = Tables::new(read, schema);
    let mut check = Check { tables, options, done: 0, total: 0, progress };
    let mut catalogue = Catalogue::default();
    let system =
        Partition { tables, prefix: prefix_of(SYSTEM), rules: Rules::of_system(SYSTEM), options };
    let (walk, said, mut totals) = system.walk(&mut |event| check.define(&mut catalogue, event))?;
    let singles = system_singles(tables, &catalogue)?;
    totals.add(system.compare((walk, said), singles, check.progress)?);
    totals.partitions = 1;
    check.total = events_said(tables, &catalogue)?;
    for app in catalogue.apps.values() {
        totals.add(Totals { apps: 1, ..Totals::default() });
        for partition in partitions_of(app) {
            totals.add(check.partition(app, partition)?);
        }
    }
    check_strangers(tables, &catalogue)?;
    Ok(totals)
}

/// All apps, as the log of the system app has them.
pub(crate) fn catalogue(tables: Tables<'_>) -> Result<Catalogue, Error> {
    let mut catalogue = Catalogue::default();
    each_event(tables, prefix_of(SYSTEM), &mut |event, _| take_definition(&mut catalogue, &event))?;
    Ok(catalogue)
}

struct Check<'a> {
    tables: Tables<'a>,
    options: &'a Options,
    /// Events that were read, and how many there should be.
    done: u64,
    total: u64,
    progress: &'a mut dyn FnMut(Progress),
}

impl Check<'_> {
    fn define(&mut self, catalogue: &mut Catalogue, event: &Event) -> Result<(), Error> {
        self.count();
        take_definition(catalogue, event)
    }

    fn count(&mut self) {
        self.done = self.done.saturating_add(1);
        let (done, total) = (self.done, self.total.max(self.done));
        (self.progress)(Progress { step: Step::Events, done, total });
    }

    fn partition(&mut self, app: &App, partition: PartitionRef) -> Result<Totals, Error> {
        let prefix = prefix_of(partition);
        let received = received(self.tables, partition)?;
        let mut singles = Singles::new();
        let rules = match app.at(received) {
            // Before its first definition, a partition has no event and no row.
            None if received == 0 => Rules::of_app(app, partition),
            None => {
                let place = Place::of(partition);
                let place = place.row(RowTable::Partition, &inbox_key(prefix, SYSTEM));
                let expected = format!("at most {} definitions", app.latest.version);
                return Err(Difference::error(Kind::Definition, place, expected, received));
            }
            Some(defined) => {
                let definitions = defined.latest.to_bytes();
                let rows = [
                    (definitions_key(prefix), definitions),
                    (inbox_key(prefix, SYSTEM), encode_number(received)),
                ];
                let single = |value| Single { value, is_required: true };
                singles.extend(rows.map(|(key, value)| (key, single(value))));
                Rules::of_app(&defined, partition)
            }
        };
        let rules = rules.map_err(|why| {
            Difference::error(Kind::Definition, Place::of(partition), "rules", why)
        })?;
        let (tables, options) = (self.tables, self.options);
        let checked = Partition { tables, prefix, rules, options };
        let (walk, said, mut totals) = checked.walk(&mut |_| {
            self.count();
            Ok(())
        })?;
        totals.add(checked.compare((walk, said), singles, self.progress)?);
        totals.partitions = 1;
        Ok(totals)
    }
}

/// An event of the system app is a step of the definitions of the app whose workspace it is in.
fn take_definition(catalogue: &mut Catalogue, event: &Event) -> Result<(), Error> {
    let place = || {
        let about = format!("app of workspace {}", event.workspace.0);
        Place::of(SYSTEM).event(event.partition_offset).about(about)
    };
    let wrong = |why: &str, found: String| Difference::error(Kind::Definition, place(), why, found);
    let [Change::Define(step)] = event.changes.as_slice() else {
        let found = format!("{} changes", event.changes.len());
        return Err(wrong("one definition", found));
    };
    // Apps are counted from 1, as their names come.
    let index = event.workspace.0.checked_sub(NAMED_WORKSPACE_FIRST);
    let id = index.and_then(|index| u32::try_from(index.checked_add(1)?).ok()).map(AppId);
    let id = id.ok_or_else(|| wrong("a workspace of an app", event.workspace.0.to_string()))?;
    let defined = format!("{step:?}");
    match catalogue.apps.get_mut(&id) {
        Some(app) => app.step(event.partition_offset, step).map_err(|why| wrong(why, defined)),
        None => {
            let app = App::new(event.workspace, event.partition_offset, step);
            let app = app.map_err(|why| wrong(why, defined))?;
            let settings = &app.latest.app;
            let is_its_own = settings.app == id
                && settings.partitions > 0
                && Some(&settings.name) == event.workspace_name.as_ref();
            if !is_its_own {
                return Err(wrong("an app with its own id and name", format!("{settings:?}")));
            }
            catalogue.apps.insert(id, app);
            Ok(())
        }
    }
}

/// What the system app keeps beside its log: the definitions of each app, and what is to be sent.
fn system_singles(tables: Tables<'_>, catalogue: &Catalogue) -> Result<Singles, Error> {
    let prefix = prefix_of(SYSTEM);
    let mut singles = Singles::new();
    for app in catalogue.apps.values() {
        let value = app.latest.to_bytes();
        singles.insert(app_key(prefix, app.workspace), Single { value, is_required: true });
        for target in partitions_of(app) {
            let received = received(tables, target)?;
            for ((event, _), number) in app.steps.iter().zip(1_u64..) {
                let value = OutboxPointer { event: *event, change: 0 }.encode();
                // What has arrived is removed at some time, or not yet.
                let is_required = number > received;
                singles.insert(outbox_key(prefix, target, number), Single { value, is_required });
            }
            let value = encode_number(app.latest.version);
            singles.insert(outbox_head_key(prefix, target), Single { value, is_required: true });
        }
    }
    Ok(singles)
}

/// How many definitions a partition has received.
fn received(tables: Tables<'_>, partition: PartitionRef) -> Result<u64, Error> {
    let key = inbox_key(prefix_of(partition), SYSTEM);
    let Some(bytes) = tables.get(RowTable::Partition, &key)? else { return Ok(0) };
    decode_number(&bytes).map_err(|error| {
        let place = Place::of(partition).row(RowTable::Partition, &key);
        Difference::error(Kind::RowUnreadable, place, "a number", error)
    })
}

/// How many events there are, as the partitions say themselves: for the progress alone.
fn events_said(tables: Tables<'_>, catalogue: &Catalogue) -> Result<u64, Error> {
    let mut total = 0_u64;
    for partition in catalogue.apps.values().flat_map(partitions_of).chain([SYSTEM]) {
        let row = tables.get(RowTable::Partition, &partition_key(prefix_of(partition)))?;
        let row = row.and_then(|bytes| PartitionRow::from_bytes(&bytes).ok());
        let offset = row.and_then(|row| row.offset).map_or(0, |offset| offset.get());
        total = total.saturating_add(offset);
    }
    Ok(total)
}

/// No table has a row that belongs to no partition, or that is of no kind.
fn check_strangers(tables: Tables<'_>, catalogue: &Catalogue) -> Result<(), Error> {
    let partitions: Vec<PartitionRef> =
        [SYSTEM].into_iter().chain(catalogue.apps.values().flat_map(partitions_of)).collect();
    for (table, (first, last)) in RowTable::ALL.into_iter().zip(TAGS) {
        let mut behind = Bound::Unbounded;
        let known = partitions.iter().map(|partition| tags(prefix_of(*partition), first, last));
        for known in known.map(Some).chain([None]) {
            let end = match known.as_ref().map(KeyRange::start) {
                Some(Bound::Included(start)) => Bound::Excluded(start),
                Some(Bound::Excluded(_) | Bound::Unbounded) | None => Bound::Unbounded,
            };
            let gap = KeyRange::new(behind.as_ref().map(Vec::as_slice), end);
            if let Some(key) = tables.first_key(table, &gap)? {
                let place = Place::default().row(table, &key);
                let found = format!("key {}", crate::describe::hex(&key));
                let expected = "no row of another partition or kind";
                return Err(Difference::error(Kind::RowExtra, place, expected, found));
            }
            behind = match known.as_ref().map(KeyRange::end) {
                Some(Bound::Excluded(end)) => Bound::Included(end.to_vec()),
                Some(Bound::Included(_) | Bound::Unbounded) | None => Bound::Unbounded,
            };
        }
    }
    Ok(())
}

/// The tags of each table, in the order of [`RowTable::ALL`].
const TAGS: [(u8, u8); RowTable::ALL.len()] = [
    (0x05, 0x05),
    (0x06, 0x06),
    (0x07, 0x08),
    (0x09, 0x0a),
    (0x0b, 0x0b),
    (0x0c, 0x13),
    (0x01, 0x03),
    (0x14, 0x14),
];

pub(crate) fn prefix_of(partition: PartitionRef) -> PartitionPrefix {
    let PartitionRef { app, partition } = partition;
    PartitionPrefix { app, partition, incarnation: INCARNATION }
}

/// All partitions of an app, ascending.
pub(crate) fn partitions_of(app: &App) -> impl Iterator<Item = PartitionRef> + use<> {
    let (app, count) = (app.latest.app.app, app.latest.app.partitions);
    (0..count).map(move |index| PartitionRef { app, partition: PartitionId(index) })
}
