//! From a command to its events, or to a refusal.
//!
//! ```text
//!  shape: look only ─► numbers: draw all ─► state: one change after the other, each on what
//!    │                   │                    │    the ones before it did
//!    └───────────────────┴────────────────────┴──► refusal: everything is dropped
//! ```

mod fill;
mod numbers;
mod shape;

use seriatim_sequencer::{Draws, Sequences, Series, built_in};
use seriatim_types::{
    Command, Event, KindId, Name, Origin, Time, TrustLevel, Unknown, WorkspaceId,
};

use crate::change::{self, At, Deciding};
use crate::defined::Defined;
use crate::effects::Fault;
use crate::home::Home;
use crate::receipt::RECEIPT_VERSION;
use crate::refusal::{Exhausted, Refusal};
use crate::rows::{Draft, Unreadable};

pub(crate) use fill::{fill, fill_fields};
pub(crate) use numbers::{Numbers, log_is_full};
pub(crate) use shape::at_most;

/// Why an entry comes to no events.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It is refused.
    Refused(Refusal),
    /// The partition cannot go on.
    Fault(Fault),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Unreadable> for Stop {
    fn from(unreadable: Unreadable) -> Self {
        Self::Fault(unreadable.into())
    }
}

/// The workspace that a command is for.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    pub(crate) id: WorkspaceId,
    pub(crate) kind: KindId,
    pub(crate) name: Option<Name>,
}

/// What a command is decided on.
pub(crate) struct Ground<'a> {
    pub(crate) home: Home,
    pub(crate) defined: &'a Defined,
    pub(crate) sequences: &'a Sequences,
    pub(crate) workspace: &'a Workspace,
    pub(crate) time: Time,
}

impl Ground<'_> {
    fn trust(&self) -> TrustLevel {
        self.defined.app().trust_level
    }
}

/// The events of a command that is no repetition. What its changes come to is in the draft.
pub(crate) fn decide(
    ground: &Ground<'_>,
    command: &Command,
    draws: &mut Draws,
    draft: &mut Draft<'_>,
) -> Result<Vec<Event>, Stop> {
    let Ground { home, defined, sequences, workspace, time } = *ground;
    shape::check(command, defined, sequences.record_ids(), workspace.kind)?;
    check_offset(command, draws)?;
    let numbers = numbers::draw(command, draws, sequences, defined, time)?;
    let client_sequence = draws
        .next_of_client(sequences)
        .map_err(|_| Refusal::SequenceExhausted { what: Exhausted::Client })?;
    let origin = Origin {
        client: command.client.clone(),
        client_sequence,
        key: command.key,
        fingerprint: command.fingerprint,
        deadline: command.deadline,
    };
    let deciding = Deciding { home, defined, numbers: &numbers, workspace: workspace.id, time };
    let count = u32::try_from(command.events.len()).expect("within the limit, which is a u32");
    let mut events = Vec::with_capacity(command.events.len());
    let mut args_bytes = 0_usize;
    for ((asked, given), index) in command.events.iter().zip(&numbers.events).zip(0..) {
        let mut parts = given.parts.iter();
        let args_part = parts.next().expect("the arguments are the first part");
        let drawn = given.drawn();
        let mut event = Event {
            partition_offset: given.offsets.partition,
            workspace: workspace.id,
            kind: workspace.kind,
            offset: given.offsets.workspace,
            time,
            workspace_name: workspace.name.clone().filter(|_| given.offsets.workspace.get() == 1),
            receipt_version: RECEIPT_VERSION,
            index,
            count,
            origin: Some(origin.clone()),
            name: asked.name.clone(),
            args: fill(&asked.args, &numbers, args_part),
            changes: Vec::with_capacity(asked.changes.len()),
            numbers: numbers.drawn.get(drawn.clone()).expect("a part lies inside").to_vec(),
            unknown: Unknown::default(),
        };
        let limits = &defined.app().limits;
        shape::at_most("bytes of a field", event.args.len(), limits.field_bytes)?;
        args_bytes = args_bytes.saturating_add(event.args.len());
        // A small command can rewrite large records, again and again.
        let check_written = |draft: &Draft<'_>| {
            let written = draft.written().saturating_add(args_bytes);
            shape::at_most("bytes written by a command", written, limits.written_bytes)
        };
        check_written(draft)?;
        for (asked, part) in asked.changes.iter().zip(parts) {
            let change = change::decide(&deciding, draft, asked, part, drawn.start)?;
            change::evolve(draft, home, ground.trust(), At::of(&event), &change)?;
            event.changes.push(change);
            check_written(draft)?;
        }
        events.push(event);
    }
    Ok(events)
}

/// The offset that the client has seen last must be the last. The place of the first event is
/// drawn already, and stands behind it.
fn check_offset(command: &Command, draws: &Draws) -> Result<(), Refusal> {
    let series = Series { sequence: built_in::WORKSPACE_OFFSETS, year: None };
    let first = draws.last(series).expect("the first event has its place");
    let current = first.get().saturating_sub(1);
    match command.if_offset {
        Some(seen) if seen != current => Err(Refusal::OffsetMismatch { current }),
        Some(_) | None => Ok(()),
    }
}
