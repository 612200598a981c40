//! What a worker submits: the commands that no history has yet.
//!
//! ```text
//!  create ─► waiting ── turn ──► in flight ── accepted ──► recorded
//!               ▲ one turn in flight at a time; a step starts only when nothing waits
//! ```
//!
//! **Invariant:** a closure starts only when everything that code did before is durable. A crash
//! could otherwise give an earlier step another value after a later one has acted on it.

use std::collections::VecDeque;

use seriatim_types::Name;
use seriatim_types::limits::{COMMAND_BYTES_MAX, EVENTS_PER_COMMAND_MAX};

use crate::{Closing, Command, CommandId, Offset, Payload, Source};

/// What to do now. Either commands or steps, never both: what a step may depend on is durable
/// before it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// What to submit, in order. At most what one submit may hold.
    pub commands: Vec<Created>,
    /// The closures to start.
    pub steps: Vec<StepStart>,
    /// How to submit it.
    pub then: Then,
    /// The last offset that code has been shown, if nothing is left for a later turn. A submit
    /// without commands says that it was seen, and so does the end of one with commands.
    pub seen: Offset,
}

/// What follows a submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Then {
    /// Nothing more until something arrives from outside.
    #[default]
    Wait,
    /// More will come of this worker: a step runs, or commands are left.
    Continue,
    /// The last command closes the run.
    Close,
}

/// A command that code created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// Its type and position.
    pub id: CommandId,
    /// The last offset that code had been shown.
    pub seen: Offset,
    /// What it asks for.
    pub command: Command,
    /// Where the code is.
    pub source_location: Source,
}

/// A closure to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepStart {
    /// `Operation(n)`.
    pub id: CommandId,
    /// Its name.
    pub name: Name,
    /// The same however often the closure is called: for idempotent requests.
    pub key: [u8; 16],
}

/// Commands that are created and not recorded.
#[derive(Debug, Default)]
pub(crate) struct Unrecorded {
    commands: VecDeque<Created>,
    in_flight: usize,
    resolves_in_flight: usize,
}

impl Unrecorded {
    pub(crate) fn push(&mut self, created: Created) {
        self.commands.push_back(created);
    }

    pub(crate) fn len(&self) -> usize {
        self.commands.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight > 0
    }

    /// Whether inputs must wait. A promise that code resolves is settled at the offset of its
    /// event, among the inputs, and that offset is not known before the turn is accepted.
    pub(crate) fn holds_inputs(&self) -> bool {
        self.resolves_in_flight > 0
    }

    pub(crate) fn front_mut(&mut self) -> Option<&mut Created> {
        self.commands.front_mut()
    }

    /// Removes the oldest command: it is recorded now.
    pub(crate) fn pop(&mut self) -> Option<Created> {
        let created = self.commands.pop_front()?;
        if self.in_flight > 0 {
            self.in_flight = self.in_flight.saturating_sub(1);
            let is_resolve = usize::from(is_resolve(&created));
            self.resolves_in_flight = self.resolves_in_flight.saturating_sub(is_resolve);
        }
        Some(created)
    }

    /// As many commands as one submit may hold, which are in flight from now on.
    pub(crate) fn hand_out(&mut self) -> Vec<Created> {
        let (events_max, bytes_max) = (EVENTS_PER_COMMAND_MAX as usize, COMMAND_BYTES_MAX as usize);
        let mut bytes = 0_usize;
        let mut commands = Vec::new();
        for created in self.commands.iter().take(events_max) {
            bytes = bytes.saturating_add(size(&created.command));
            if bytes > bytes_max && !commands.is_empty() {
                break;
            }
            commands.push(created.clone());
        }
        self.in_flight = commands.len();
        self.resolves_in_flight = commands.iter().filter(|it| is_resolve(it)).count();
        commands
    }

    pub(crate) fn take_in_flight(&mut self) -> Vec<Created> {
        let count = std::mem::take(&mut self.in_flight);
        self.resolves_in_flight = 0;
        self.commands.drain(..count).collect()
    }
}

fn is_resolve(created: &Created) -> bool {
    matches!(created.command, Command::ResolvePromise { .. })
}

/// About how many bytes a command takes in a submit: its payloads, and room for names and syntax.
fn size(command: &Command) -> usize {
    const NAMES_AND_SYNTAX: usize = 1536;
    let payload = |it: &Payload| it.0.len();
    let payloads = match command {
        Command::ScheduleTask { input, .. }
        | Command::StartChild { input, .. }
        | Command::SendSignal { input, .. }
        | Command::Close(Closing::ContinueAsNew { input: Some(input), .. }) => payload(input),
        Command::ResolvePromise { value, .. } | Command::SetState { value, .. } => payload(value),
        Command::RecordOperation { result: Ok(result), .. }
        | Command::Close(Closing::Complete { result, .. }) => payload(result),
        Command::RecordOperation { result: Err(failure), .. }
        | Command::Close(Closing::Fail(failure)) => {
            payload(&failure.details).saturating_add(failure.message.len())
        }
        Command::CancelTask { .. }
        | Command::StartTimer { .. }
        | Command::CancelTimer { .. }
        | Command::CancelChild { .. }
        | Command::CreatePromise { .. }
        | Command::ClearState { .. }
        | Command::MarkVersion { .. }
        | Command::Close(Closing::Cancel | Closing::ContinueAsNew { input: None, .. }) => 0,
    };
    payloads.saturating_add(NAMES_AND_SYNTAX)
}
