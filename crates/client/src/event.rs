//! What was committed.

use std::time::SystemTime;

use serde_json::Value;
use seriatim_api as api;

use crate::error::Error;
use crate::key::Key;
use crate::proof::Hash;
use crate::reads::{json, some};
use crate::receipt::{NumberDrawn, time_of};

/// An event, with every number that it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Where it stands in its workspace's log.
    pub offset: u64,
    /// The partition of its workspace.
    pub partition: u32,
    /// Where it stands in the partition's log.
    pub partition_offset: u64,
    /// Its workspace, by its name if it has one.
    pub workspace: String,
    /// The workspace's id.
    pub workspace_id: u64,
    /// Its name.
    pub name: String,
    /// Its arguments: a JSON object.
    pub args: Value,
    /// What it has changed, in order.
    pub changes: Vec<Change>,
    /// Whose command it comes from; `None` if it comes from none.
    pub origin: Option<Origin>,
    /// When it was committed, by the server's clock.
    pub committed_at: SystemTime,
    /// The hash of its leaf in the workspace's tree.
    pub hash: Hash,
}

/// The command that an event comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Who sent it.
    pub client: String,
    /// The client's own count of its commands in the workspace.
    pub client_sequence: u64,
    /// Its key.
    pub key: Key,
}

/// What an event has changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A record was created.
    Create {
        /// Its id.
        id: u64,
        /// Its kind.
        kind: String,
        /// The record that it belongs to.
        parent: Option<u64>,
        /// Its fields: a JSON object.
        fields: Value,
    },
    /// Fields of a record were replaced.
    Update {
        /// Its id.
        id: u64,
        /// The version that it has since.
        version: u64,
        /// The fields that were replaced: a JSON object.
        fields: Value,
    },
    /// A record was deleted.
    Delete {
        /// Its id.
        id: u64,
        /// The version that it had.
        version: u64,
    },
    /// An entity was written.
    Set {
        /// Its key.
        key: String,
        /// The version that it has since.
        version: u64,
        /// Its value.
        value: Value,
        /// From when on it is absent.
        expires_at: Option<SystemTime>,
    },
    /// An entity was removed.
    Unset {
        /// Its key.
        key: String,
        /// The version that it had; `None` if it was not there.
        version: Option<u64>,
    },
    /// A number was drawn.
    Draw(NumberDrawn),
    /// Something was defined; in events of the system app only.
    Define(Value),
}

/// A piece of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Events {
    /// The events, in order and without a hole.
    pub events: Vec<Event>,
    /// Where to go on.
    pub next: u64,
    /// The last offset of the log, 0 for none.
    pub last: u64,
}

impl TryFrom<api::ListEventsResponse> for Events {
    type Error = Error;

    fn try_from(answer: api::ListEventsResponse) -> Result<Self, Error> {
        let events = answer.events.into_iter().map(Event::try_from).collect::<Result<_, _>>()?;
        Ok(Self { events, next: answer.next, last: answer.last })
    }
}

impl TryFrom<api::Event> for Event {
    type Error = Error;

    fn try_from(event: api::Event) -> Result<Self, Error> {
        let changes = event.changes.into_iter().map(Change::try_from).collect::<Result<_, _>>()?;
        let origin = match event.key.as_ref() {
            [] => None,
            key => {
                let key = key.try_into().ok().and_then(|key| Key::from_bytes(key).ok());
                let key = key.ok_or_else(|| Error::bad_answer("a key has 16 bytes"))?;
                let (client, client_sequence) = (event.client, event.client_sequence);
                Some(Origin { client, client_sequence, key })
            }
        };
        Ok(Self {
            offset: event.offset,
            partition: event.partition,
            partition_offset: event.partition_offset,
            workspace: event.workspace,
            workspace_id: event.workspace_id,
            name: event.name,
            args: json(&event.args_json)?,
            changes,
            origin,
            committed_at: time_of(event.committed_at_ms),
            hash: event.hash.try_into()?,
        })
    }
}

impl TryFrom<api::Change> for Change {
    type Error = Error;

    fn try_from(change: api::Change) -> Result<Self, Error> {
        use api::change::Change as Wire;
        let change = change.change.ok_or_else(|| Error::bad_answer("a change without a kind"))?;
        Ok(match change {
            Wire::Create(api::Create { id, kind, parent, fields_json }) => {
                Self::Create { id, kind, parent: some(parent), fields: json(&fields_json)? }
            }
            Wire::Update(api::Update { id, fields_json, version, .. }) => {
                Self::Update { id, version, fields: json(&fields_json)? }
            }
            Wire::Delete(api::Delete { id, version, .. }) => Self::Delete { id, version },
            Wire::Set(api::Set { key, value_json, version, expires_at_ms, .. }) => {
                let expires_at = expires_at_ms.map(time_of);
                Self::Set { key, version, value: json(&value_json)?, expires_at }
            }
            Wire::Unset(api::Unset { key, version, .. }) => {
                Self::Unset { key, version: some(version) }
            }
            Wire::Draw(api::Draw { drawn, .. }) => {
                let drawn = drawn.ok_or_else(|| Error::bad_answer("a draw without its number"))?;
                Self::Draw(drawn.into())
            }
            Wire::DefineJson(definition) => Self::Define(json(&definition)?),
        })
    }
}
