//! One sequence of an app: whether each of its series is complete.
//!
//! Unlike the whole check this goes on behind a fault, and counts: whoever keeps books wants to know
//! of every series how many numbers it has, and that none is missing.

use seriatim_storage::{Read, Schema};
use seriatim_types::{
    AppId, Name, Number, PartitionId, PartitionOffset, PartitionRef, WorkspaceId, Year,
};

use crate::difference::{Difference, Error, Kind, Place};
use crate::offline::rows::Tables;
use crate::offline::{Options, Progress, Step, catalogue, each_event, partitions_of, prefix_of};
use crate::rules::Rules;
use crate::sort::{Item, Sorter};
use crate::spans::{Given, Spans, Wrong};
use crate::stored::workspace_name;

/// One series of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesReport {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its name, if it has one.
    pub workspace_name: Option<Name>,
    /// The year, of a sequence that begins anew with each.
    pub period: Option<Year>,
    /// The first number that was given.
    pub first: Number,
    /// The number that is furthest on.
    pub last: Number,
    /// How many numbers were given.
    pub count: u64,
    /// Numbers that were passed over.
    pub gaps: u64,
    /// Numbers that were given although they, or later ones, had been.
    pub repeats: u64,
    /// The first of these, or a number that the sequence cannot give.
    pub fault: Option<Fault>,
}

/// A number that does not follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The partition.
    pub partition: PartitionId,
    /// The event, in its partition's log.
    pub event: PartitionOffset,
    /// The number that comes next; `None` when there is none.
    pub expected: Option<Number>,
    /// The number that came.
    pub found: Number,
}

/// A sequence as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SequenceReport {
    /// How many series it has.
    pub series: u64,
    /// How many numbers were given.
    pub count: u64,
    /// Numbers that were passed over.
    pub gaps: u64,
    /// Numbers that were given although they, or later ones, had been.
    pub repeats: u64,
    /// Series with a fault.
    pub faults: u64,
}

impl SequenceReport {
    /// Whether every number was given once, in order, without a hole.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.faults == 0
    }
}

/// Reads the logs of an app, and shows each series of a sequence, by workspace and year.
///
/// # Errors
///
/// When there is no such app or sequence, or an event cannot be read.
pub fn verify_sequence(
    (read, schema): (&dyn Read, &Schema),
    (app, sequence): (&Name, &Name),
    options: &Options,
    visit: &mut dyn FnMut(&SeriesReport),
    progress: &mut dyn FnMut(Progress),
) -> Result<SequenceReport, Error> {
    let tables = Tables::new(read, schema);
    let catalogue = catalogue(tables)?;
    let found = catalogue.apps.values().find(|it| it.latest.app.name == *app);
    let found = found.ok_or_else(|| {
        let apps = catalogue.apps.values().map(|it| it.latest.app.name.clone());
        Error::NoApp { app: app.clone(), apps: apps.collect() }
    })?;
    let home = PartitionRef { app: found.latest.app.app, partition: PartitionId(0) };
    let rules = Rules::of_app(found, home)
        .map_err(|why| Difference::error(Kind::Definition, Place::of(home), "sequences", why))?;
    let id = rules.sequence_named(sequence).ok_or_else(|| {
        let sequences = found.latest.sequences.iter().map(|it| it.name.clone());
        Error::NoSequence { sequence: sequence.clone(), sequences: sequences.collect() }
    })?;
    let spans = rules.spans(id).expect("it was just found");
    let mut draws = Sorter::new(options.memory_bytes);
    let mut done = 0_u64;
    for partition in partitions_of(found) {
        each_event(tables, prefix_of(partition), &mut |event, _| {
            done = done.saturating_add(1);
            progress(Progress { step: Step::Events, done, total: done });
            for drawn in event.numbers.iter().filter(|drawn| drawn.sequence == id) {
                let key = key_of(event.workspace, drawn.year);
                let draw = Draw {
                    partition: partition.partition,
                    event: event.partition_offset,
                    number: drawn.number,
                };
                draws.push(&key, &draw.encode())?;
            }
            Ok(())
        })?;
    }
    report(tables, home.app, (draws, spans), visit)
}

/// Shows each series.
fn report(
    tables: Tables<'_>,
    app: AppId,
    (draws, spans): (Sorter, &Spans),
    visit: &mut dyn FnMut(&SeriesReport),
) -> Result<SequenceReport, Error> {
    let mut draws = draws.finish()?;
    let mut whole = SequenceReport::default();
    while let Some(Item { key, payload, .. }) = draws.next()? {
        let draw = Draw::decode(&payload);
        let prefix = prefix_of(PartitionRef { app, partition: draw.partition });
        let (mut series, mut given) = SeriesReport::begin(&key, draw, spans);
        while let Some(item) = draws.next_of(&key)? {
            series.take(&mut given, Draw::decode(&item.payload), spans);
        }
        whole.series = whole.series.saturating_add(1);
        whole.count = whole.count.saturating_add(series.count);
        whole.gaps = whole.gaps.saturating_add(series.gaps);
        whole.repeats = whole.repeats.saturating_add(series.repeats);
        whole.faults = whole.faults.saturating_add(u64::from(series.fault.is_some()));
        series.workspace_name = workspace_name(tables, prefix, series.workspace)?;
        visit(&series);
    }
    Ok(whole)
}

impl SeriesReport {
    fn begin(key: &[u8], draw: Draw, spans: &Spans) -> (Self, Given) {
        let (workspace, period) = read_key(key);
        let (first, last) = (draw.number, draw.number);
        let (count, gaps, repeats, fault) = (0, 0, 0, None);
        let workspace_name = None;
        let mut series =
            Self { workspace, workspace_name, period, first, last, count, gaps, repeats, fault };
        let mut given = Given::default();
        series.take(&mut given, draw, spans);
        (series, given)
    }

    fn take(&mut self, given: &mut Given, draw: Draw, spans: &Spans) {
        let Draw { partition, event, number } = draw;
        let expected = given.next(spans).and_then(Number::new);
        let taken = given.draw(spans, number.get());
        self.count = self.count.saturating_add(1);
        self.last = given.last(spans).and_then(Number::new).unwrap_or(number);
        let Err(wrong) = taken else { return };
        match wrong {
            Wrong::Gap(missing) => self.gaps = self.gaps.saturating_add(missing),
            Wrong::Repeat => self.repeats = self.repeats.saturating_add(1),
            Wrong::Outside => {}
        }
        self.fault.get_or_insert(Fault { partition, event, expected, found: number });
    }
}

/// One number that was drawn.
struct Draw {
    partition: PartitionId,
    event: PartitionOffset,
    number: Number,
}

impl Draw {
    fn encode(&self) -> [u8; 18] {
        let mut bytes = [0; 18];
        let (partition, numbers) = bytes.split_at_mut(2);
        partition.copy_from_slice(&self.partition.0.to_be_bytes());
        for (place, value) in numbers.chunks_mut(8).zip([self.event.get(), self.number.get()]) {
            place.copy_from_slice(&value.to_be_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Self {
        let read = || {
            let (partition, rest) = bytes.split_first_chunk()?;
            let (event, number) = rest.split_first_chunk()?;
            Some(Self {
                partition: PartitionId(u16::from_be_bytes(*partition)),
                event: PartitionOffset::new(u64::from_be_bytes(*event))?,
                number: Number::new(u64::from_be_bytes(number.try_into().ok()?))?,
            })
        };
        read().expect("a draw is read as it was written")
    }
}

fn key_of(workspace: WorkspaceId, year: Option<Year>) -> [u8; 10] {
    let mut key = [0; 10];
    let (id, of) = key.split_at_mut(8);
    id.copy_from_slice(&workspace.0.to_be_bytes());
    of.copy_from_slice(&year.map_or(0, Year::get).to_be_bytes());
    key
}

fn read_key(key: &[u8]) -> (WorkspaceId, Option<Year>) {
    let read = || {
        let (id, year) = key.split_first_chunk()?;
        let year = Year::new(u16::from_be_bytes(year.try_into().ok()?));
        Some((WorkspaceId(u64::from_be_bytes(*id)), year))
    };
    read().expect("a key is read as it was written")
}
