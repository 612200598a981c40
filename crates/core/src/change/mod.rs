//! The kinds of changes, one file each: how it is decided, and what rows it comes to.
//!
//! ```text
//!  CommandChange ──decide──► Change ──evolve──► writes
//!                   │                   ▲
//!                   └ refusal           └ all that recovery, verification and import need
//! ```
//!
//! **Invariant:** `evolve` refuses nothing and decides nothing. What it needs to know stands in
//! the change, or in the rows that earlier changes made.

mod create;
mod define;
mod delete;
mod draw;
mod key_limit;
mod set;
mod unset;
mod update;

use std::ops::Range;

use seriatim_planted::{self as planted, Bug};
use seriatim_types::{
    Change, CommandChange, CommandLimits, EntityKey, EntityRow, Number, RecordRow, Time,
    TrustLevel, WorkspaceId,
};

use crate::decide::{Numbers, Stop};
use crate::defined::Defined;
use crate::effects::Fault;
use crate::home::Home;
use crate::rows::{Draft, Unreadable};

pub(crate) use define::{check_settings, definition_of, outbox_targets};
pub(crate) use key_limit::contradiction as key_limit_contradiction;

/// The event that a change belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At {
    pub(crate) workspace: WorkspaceId,
    /// Its place in the workspace's log.
    pub(crate) offset: Number,
    pub(crate) partition_offset: seriatim_types::PartitionOffset,
    /// The place of the change in its event.
    pub(crate) index: u32,
}

impl At {
    /// That the event changes what is not there.
    fn unfounded(&self, why: &'static str) -> Fault {
        Fault::Unfounded { event: self.partition_offset, why }
    }
}

/// What deciding a change goes by.
pub(crate) struct Deciding<'a> {
    pub(crate) home: Home,
    pub(crate) defined: &'a Defined,
    pub(crate) numbers: &'a Numbers,
    pub(crate) workspace: WorkspaceId,
    pub(crate) time: Time,
}

impl Deciding<'_> {
    fn limits(&self) -> &CommandLimits {
        &self.defined.app().limits
    }

    fn record(&self, draft: &Draft<'_>, id: Number) -> Result<Option<RecordRow>, Unreadable> {
        draft.read(Some(self.workspace), &self.home.record(self.workspace, id))
    }

    /// An entity that is there: one whose time is over is not, whether or not it was removed.
    fn entity(&self, draft: &Draft<'_>, key: &EntityKey) -> Result<Option<EntityRow>, Unreadable> {
        let row = draft.read(Some(self.workspace), &self.home.entity(self.workspace, key))?;
        let is_seen = planted::is(Bug::ExpiredEntitySeen);
        let late = u64::from(planted::is(Bug::ExpiryOneLate));
        let now = Time(self.time.0.saturating_sub(late));
        Ok(row.filter(|row: &EntityRow| is_seen || row.is_present_at(now)))
    }
}

/// What a change comes to, or why it cannot be. `part` says which draws are its own, counted
/// over the whole command, and `first` is the first draw of its event.
pub(crate) fn decide(
    deciding: &Deciding<'_>,
    draft: &Draft<'_>,
    change: &CommandChange,
    part: &Range<usize>,
    first: usize,
) -> Result<Change, Stop> {
    match change {
        CommandChange::Create { id, kind, parent, fields } => {
            let create = create::Create { id: *id, kind, parent: *parent, fields };
            create::decide(deciding, draft, create, part)
        }
        CommandChange::Update { id, fields, if_version } => {
            update::decide(deciding, draft, (*id, *if_version), fields, part)
        }
        CommandChange::Delete { id, if_version } => {
            delete::decide(deciding, draft, *id, *if_version)
        }
        CommandChange::Set { key, value, condition, expires_at } => {
            let set =
                set::Set { key, value, condition: condition.as_ref(), expires_at: *expires_at };
            set::decide(deciding, draft, set, part)
        }
        CommandChange::Unset { key, condition } => {
            unset::decide(deciding, draft, key, condition.as_ref())
        }
        CommandChange::Draw { .. } => Ok(draw::decide(part, first)),
    }
}

/// Writes what a change comes to.
pub(crate) fn evolve(
    draft: &mut Draft<'_>,
    home: Home,
    trust: TrustLevel,
    at: At,
    change: &Change,
) -> Result<(), Fault> {
    match change {
        Change::Create { id, kind, class, parent, fields, .. } => {
            let row = RecordRow {
                kind: kind.clone(),
                class: *class,
                parent: *parent,
                version: 1,
                offset: at.offset,
                fields: fields.clone(),
                unknown: seriatim_types::Unknown::default(),
            };
            create::evolve(draft, home, trust, at.workspace, *id, &row);
            Ok(())
        }
        Change::Update { id, version, fields } => {
            update::evolve(draft, home, at, *id, *version, fields)
        }
        Change::Delete { id, .. } => delete::evolve(draft, home, at, *id),
        Change::Set { key, version, value, expires_at } => {
            let row = EntityRow {
                version: *version,
                expires_at: *expires_at,
                offset: at.offset,
                value: value.clone(),
                unknown: seriatim_types::Unknown::default(),
            };
            set::evolve(draft, home, at.workspace, key, &row)
        }
        Change::Unset { key, .. } => unset::evolve(draft, home, at.workspace, key),
        // The number is in the event, and its last one in the checkpoint's row.
        Change::Draw { .. } => Ok(()),
        Change::Define(definition) => define::evolve(draft, home, at, definition),
    }
}
