//! The walk over events as a live server answers them.
//!
//! ```text
//!  message::Event ─► command by command ─► Event, as far as the contract shows it ─► Walk ─► Expected
//! ```
//!
//! What an answer does not show takes no part in the laws: kinds of workspaces, numbers that were drawn
//! inside of documents, raw ids, fingerprints. Of how many events a command consists is told by those
//! that follow, so the events of one command are held until it is over.
//!
//! **Deliberately absent:** asking a server. The caller reads the events, and compares what is
//! expected with what it is answered.

use std::collections::BTreeMap;

use bytes::Bytes;
use seriatim_api::message::{self, App, Definitions, Json};
use seriatim_sequencer::Sequences;
use seriatim_types::limits::NAMED_WORKSPACE_FIRST;
use seriatim_types::{
    Change, ClientId, EntityKey, Event, FieldName, Fields, Fingerprint, Hash, Key, Name, Number,
    Origin, PartitionOffset, PartitionRef, RecordClass, Retention, Time, Unknown, WorkspaceId,
};

use crate::difference::{Difference, Error, Kind, Place};
use crate::expected::Expected;
use crate::offline::prefix_of;
use crate::rules::Rules;
use crate::walk::Walk;

/// A partition of a live server, whose events are read in the order of its log.
#[derive(Debug)]
pub struct LiveWalk {
    partition: PartitionRef,
    rules: Rules,
    walk: Walk,
    /// The events of the command that may have more.
    command: Vec<(Event, Hash)>,
}

impl LiveWalk {
    /// A log of which nothing was read. The definitions must be newer than its last event that will be:
    /// they only grow. Facts that take more than `memory_bytes` are put aside in temporary files.
    ///
    /// # Errors
    ///
    /// When a definition cannot be one.
    pub fn new(
        partition: PartitionRef,
        (app, retention): (&App, Retention),
        definitions: &Definitions,
        memory_bytes: usize,
    ) -> Result<Self, Error> {
        let rules = Rules::live(partition, (app, retention), definitions).ok_or_else(|| {
            let what = "definitions with names and sizes that can be";
            Difference::error(Kind::Definition, Place::of(partition), what, "others")
        })?;
        let walk = Walk::new(rules.clone(), prefix_of(partition), memory_bytes);
        Ok(Self { partition, rules, walk, command: Vec::new() })
    }

    /// Takes in the next event.
    ///
    /// # Errors
    ///
    /// When an event breaks a law, or a temporary file cannot be written.
    pub fn event(&mut self, shown: &message::Event) -> Result<(), Error> {
        let event = self.stored(shown).ok_or_else(|| {
            let place = Place::of(self.partition);
            let found = format!("event {}, offset {}", shown.partition_offset, shown.offset);
            let expected = "numbers, names and fields that an event can have";
            Difference::error(Kind::EventUnreadable, place, expected, found)
        })?;
        let is_same = |(last, _): &(Event, Hash)| {
            last.workspace == event.workspace
                && last.origin.is_some()
                && last.origin == event.origin
        };
        if !self.command.last().is_some_and(is_same) {
            self.end_command()?;
        }
        self.command.push((event, Hash(shown.hash.0)));
        Ok(())
    }

    /// The log ends here: what its events come to.
    ///
    /// # Errors
    ///
    /// When an event breaks a law, or a temporary file cannot be used.
    pub fn finish(mut self) -> Result<Expected, Error> {
        self.end_command()?;
        self.walk.finish()
    }

    fn end_command(&mut self) -> Result<(), Error> {
        let count = u32::try_from(self.command.len()).unwrap_or(u32::MAX);
        for ((event, leaf), index) in self.command.drain(..).zip(0..) {
            self.walk.event(&Event { index, count, ..event }, leaf)?;
        }
        Ok(())
    }

    /// As much of the stored event as is shown; `None` if something in it can be no event's.
    fn stored(&self, shown: &message::Event) -> Option<Event> {
        let workspace = WorkspaceId(shown.workspace_id);
        let is_named = workspace.0 >= NAMED_WORKSPACE_FIRST && shown.offset == 1;
        let origin = match (&shown.client, shown.client_sequence, shown.key) {
            (Some(client), Some(sequence), Some(key)) => Some(Origin {
                client: ClientId::new(client.as_bytes())?,
                client_sequence: Number::new(sequence)?,
                key: Key(key.into_bytes()),
                fingerprint: Fingerprint { version: 0, hash: [0; 16] },
                deadline: None,
            }),
            _ => None,
        };
        let is_of_row = |it: &&message::Change| {
            !matches!(it, message::Change::Draw(_) | message::Change::Define(_))
        };
        let changes = shown.changes.iter().filter(is_of_row).map(|it| self.change(it));
        Some(Event {
            partition_offset: PartitionOffset::new(shown.partition_offset)?,
            workspace,
            kind: Sequences::DEFAULT_KIND,
            offset: Number::new(shown.offset)?,
            time: Time::from(shown.committed_at),
            workspace_name: if is_named { Some(Name::new(&shown.workspace)?) } else { None },
            receipt_version: 0,
            index: 0,
            count: 1,
            origin,
            name: Name::new(&shown.name)?,
            args: Bytes::new(),
            changes: changes.collect::<Option<_>>()?,
            numbers: Vec::new(),
            unknown: Unknown::default(),
        })
    }

    /// A change of a record or an entity, unless it can be none.
    fn change(&self, shown: &message::Change) -> Option<Change> {
        Some(match shown {
            message::Change::Create(it) => {
                let kind = Name::new(&it.kind)?;
                let class = self.rules.record(&kind).map_or(RecordClass::C, |known| known.class);
                let parent = match it.parent {
                    Some(parent) => Some(Number::new(parent)?),
                    None => None,
                };
                let (id, fields) = (Number::new(it.id)?, fields(&it.fields)?);
                Change::Create { raw: None, id, kind, class, parent, fields }
            }
            message::Change::Update(it) => {
                let (id, fields) = (Number::new(it.id)?, fields(&it.fields)?);
                Change::Update { id, version: it.version, fields }
            }
            message::Change::Delete(it) => {
                Change::Delete { id: Number::new(it.id)?, version: it.version }
            }
            message::Change::Set(it) => Change::Set {
                key: EntityKey::new(&it.key)?,
                version: it.version,
                value: bytes_of(&it.value),
                expires_at: it.expires_at.map(Time::from),
            },
            message::Change::Unset(it) => {
                Change::Unset { key: EntityKey::new(&it.key)?, version: it.version }
            }
            message::Change::Draw(_) | message::Change::Define(_) => return None,
        })
    }
}

fn fields(shown: &Json) -> Option<Fields> {
    let named = shown.members()?.into_iter();
    let named = named.map(|(name, value)| Some((FieldName::new(&name)?, bytes_of(&value))));
    Some(named.collect::<Option<BTreeMap<_, _>>>()?.into_iter().collect())
}

fn bytes_of(json: &Json) -> Bytes {
    Bytes::copy_from_slice(json.get().as_bytes())
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
