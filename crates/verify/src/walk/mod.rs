//! The log of one partition, event by event: what holds in the order of the log is checked here,
//! and everything else is taken apart into facts, to be looked at row by row.
//!
//! ```text
//!  event ─► laws of the log ─► facts ─► sorted by row ─► Expected: laws of each row, and the row
//!            one after the other          bounded memory
//! ```
//!
//! Where the events come from is the caller's: a store that is closed, or a live server that shows
//! them (`live`).
//!
//! **Invariant:** memory does not grow with the log: one event is held, and a sorter of a fixed
//! size.
//!
//! **Deliberately absent:** the code that made the rows. What an event must be is said here again,
//! as a law, so that a bug that wrote a wrong row does not agree with itself.

pub(crate) mod facts;
mod laws;

use seriatim_codec::{
    PartitionPrefix, client_key, entity_key, idempotency_key, record_key, workspace_key,
};
use seriatim_types::{Change, Event, Hash, KindId, Origin, PartitionOffset, Time, WorkspaceId};

use crate::difference::{Difference, Error, Kind, Place};
use crate::expected::Expected;
use crate::rules::Rules;
use crate::sort::Sorter;
use facts::{ChangeFact, ClientFact, KeyFact, NumberFact, WorkspaceFact};

/// A partition whose events are read in the order of its log.
#[derive(Debug)]
pub(crate) struct Walk {
    rules: Rules,
    prefix: PartitionPrefix,
    last: Option<Last>,
    facts: Sorter,
}

/// What the next event is compared with.
#[derive(Debug)]
struct Last {
    offset: PartitionOffset,
    time: Time,
    /// What it has in common with the next, if its command has more events.
    open: Option<Open>,
}

/// A command of which events are missing still.
#[derive(Debug, PartialEq, Eq)]
struct Open {
    /// The place of the next one in the command.
    index: u32,
    count: u32,
    workspace: WorkspaceId,
    kind: KindId,
    time: Time,
    receipt_version: u32,
    origin: Option<Origin>,
}

impl Open {
    fn before(event: &Event) -> Self {
        Self {
            index: event.index,
            count: event.count,
            workspace: event.workspace,
            kind: event.kind,
            time: event.time,
            receipt_version: event.receipt_version,
            origin: event.origin.clone(),
        }
    }
}

impl Walk {
    /// A log of which nothing was read. Facts that take more than `memory_bytes` are put aside in
    /// temporary files.
    pub(crate) fn new(rules: Rules, prefix: PartitionPrefix, memory_bytes: usize) -> Self {
        Self { rules, prefix, last: None, facts: Sorter::new(memory_bytes) }
    }

    /// Takes in the next event, with the hash of its stored bytes.
    pub(crate) fn event(&mut self, event: &Event, leaf: Hash) -> Result<(), Error> {
        self.follow(event)?;
        laws::check(&self.rules, event)?;
        self.note_workspace(event, leaf)?;
        if let Some(origin) = &event.origin {
            let client = client_key(self.prefix, event.workspace, &origin.client);
            let fact = ClientFact {
                event: event.partition_offset,
                offset: event.offset,
                sequence: origin.client_sequence,
                is_first: event.index == 0,
            };
            self.facts.push(&client, &fact.encode())?;
            if event.index == 0 {
                let fact = KeyFact {
                    event: event.partition_offset,
                    count: event.count,
                    fingerprint: origin.fingerprint,
                    time: event.time,
                };
                let key = idempotency_key(self.prefix, event.workspace, &origin.client, origin.key);
                self.facts.push(&key, &fact.encode())?;
            }
        }
        for change in &event.changes {
            let (prefix, workspace) = (self.prefix, event.workspace);
            let key = match change {
                Change::Create { id, .. }
                | Change::Update { id, .. }
                | Change::Delete { id, .. } => record_key(prefix, workspace, *id),
                Change::Set { key, .. } | Change::Unset { key, .. } => {
                    entity_key(prefix, workspace, key)
                }
                Change::Draw { .. } | Change::Define(_) => continue,
            };
            self.facts.push(&key, &ChangeFact::encode(event, change))?;
        }
        Ok(())
    }

    /// The last event that was read.
    pub(crate) fn last(&self) -> Option<(PartitionOffset, Time)> {
        self.last.as_ref().map(|last| (last.offset, last.time))
    }

    /// The log ends here: what its events come to.
    pub(crate) fn finish(self) -> Result<Expected, Error> {
        if let Some(Last { offset, open: Some(open), .. }) = &self.last {
            let place = self.place().event(*offset);
            let expected = format!("{} events of the last command", open.count);
            return Err(Difference::error(Kind::Command, place, expected, open.index));
        }
        let total = self.facts.pushed();
        Ok(Expected::new(self.rules, self.facts.finish()?, total))
    }

    fn place(&self) -> Place {
        Place::of(self.rules.partition)
    }

    /// The event comes behind the last one: by its offset, its time and its command.
    fn follow(&mut self, event: &Event) -> Result<(), Error> {
        let place = || self.place().event(event.partition_offset);
        let next = self.last.as_ref().map_or(Some(PartitionOffset::FIRST), |it| it.offset.next());
        if Some(event.partition_offset) != next {
            let expected =
                next.map_or("the end of the log".to_owned(), |next| format!("event {next}"));
            let found = format!("event {}", event.partition_offset);
            return Err(Difference::error(Kind::LogGap, place(), expected, found));
        }
        if let Some(last) = self.last.as_ref().filter(|last| event.time < last.time) {
            let expected = format!("a time from {} on", last.time.0);
            return Err(Difference::error(Kind::Time, place(), expected, event.time.0));
        }
        let broken = |expected: &str| {
            let found = format!("event {} of {}, {:?}", event.index, event.count, event.origin);
            Err(Difference::error(Kind::Command, place(), expected, found))
        };
        match self.last.as_ref().and_then(|last| last.open.as_ref()) {
            None if event.index != 0 => return broken("the first event of a command"),
            Some(open) if *open != Open::before(event) => {
                return broken("the next event of the same command");
            }
            None | Some(_) => {}
        }
        if event.index >= event.count {
            return broken("fewer events before it than its command has");
        }
        let index = event.index.saturating_add(1);
        let open = (index < event.count).then(|| Open { index, ..Open::before(event) });
        self.last = Some(Last { offset: event.partition_offset, time: event.time, open });
        Ok(())
    }

    fn note_workspace(&mut self, event: &Event, leaf: Hash) -> Result<(), Error> {
        let drawn = event.numbers.iter().map(|drawn| NumberFact {
            sequence: drawn.sequence,
            year: drawn.year,
            number: drawn.number.get(),
            is_import: false,
        });
        let mut numbers: Vec<NumberFact> = drawn.collect();
        for change in &event.changes {
            if let Change::Create { raw, id, kind, class, .. } = change {
                let is_fixed = self.rules.record(kind).is_some_and(|it| it.singleton.is_some());
                if !is_fixed {
                    let (sequence, number) = (self.rules.sequence_of(*class), id.get());
                    let is_import = raw.is_none() || !self.rules.is_whole;
                    numbers.push(NumberFact { sequence, year: None, number, is_import });
                }
            }
        }
        let fact = WorkspaceFact {
            event: event.partition_offset,
            offset: event.offset,
            kind: event.kind,
            leaf,
            name: event.workspace_name.clone(),
            numbers,
        };
        self.facts.push(&workspace_key(self.prefix, event.workspace), &fact.encode())?;
        Ok(())
    }
}
