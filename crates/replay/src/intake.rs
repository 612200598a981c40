//! What history may look like: the checks that need no code.
//!
//! ```text
//!  Recorded ─► known already? ─► order, indices, terminals ─► Fresh │ Known │ Damaged
//! ```
//!
//! **Invariant:** a task, a timer and a child end once, and not before they were asked for.
//!
//! **Deliberately absent:** a check that offsets have no hole. A signal left to the next run is in
//! that run's history, so that of its predecessor may have one.

use std::collections::BTreeSet;

use crate::command_id::{CommandType, Counts};
use crate::{Command, CommandId, Event, Input, Offset, Output, Recorded};

/// Why history cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum FeedError {
    /// It was shown more than the code that made this event, or made something else.
    #[error(
        "history has {history} at offset {offset}, and this machine has gone another way: drop it \
         and replay the run from its beginning"
    )]
    Diverged { offset: Offset, history: CommandId },
    /// History is damaged, or was read in the wrong order.
    #[error("history is damaged at offset {offset}: {fault}; read it again")]
    Damaged { offset: Offset, fault: Fault },
    /// Nothing was handed out that could have been accepted.
    #[error("no turn is in flight: accept a turn once, after it was taken")]
    NoTurn,
}

/// What is wrong with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Fault {
    /// Code cannot have seen the future.
    #[error("its seen {seen} is not before it")]
    SeenAhead { seen: Offset },
    /// Code cannot forget what it has seen.
    #[error("its seen {seen} is before that of an earlier event, {earlier}")]
    SeenBack { seen: Offset, earlier: Offset },
    /// An event is absent, or belongs to another run.
    #[error("its index is {index} where {expected} is due")]
    Index { index: u32, expected: u32 },
    /// A step is recorded once.
    #[error("{0} is recorded twice")]
    Twice(CommandId),
    /// A result of nothing.
    #[error("{0} ends and was never asked for")]
    NeverAsked(CommandId),
    /// A closed run has no further events.
    #[error("it comes after the end of the run")]
    AfterEnd,
}

/// Whether an event is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admitted {
    New,
    Known,
}

/// How far history has been taken.
#[derive(Debug)]
pub(crate) struct Intake {
    input: Offset,
    output: Offset,
    seen: Offset,
    counts: Counts,
    ended: BTreeSet<CommandId>,
    /// Where the run ended.
    closed: Option<Offset>,
}

impl Intake {
    pub(crate) fn after(started: Offset) -> Self {
        Self {
            input: started,
            output: started,
            seen: started,
            counts: Counts::default(),
            ended: BTreeSet::new(),
            closed: None,
        }
    }

    /// Checks one event. `created` are the commands that code has created, which in a running
    /// execution are ahead of what is recorded.
    pub(crate) fn admit(
        &mut self,
        event: &Recorded,
        created: &Counts,
    ) -> Result<Admitted, FeedError> {
        let is_known = match event.event {
            Event::Input(_) => event.offset <= self.input,
            Event::Output(_) => event.offset <= self.output,
        };
        if is_known {
            return Ok(Admitted::Known);
        }
        if self.closed.is_some_and(|end| end < event.offset) {
            return Err(FeedError::Damaged { offset: event.offset, fault: Fault::AfterEnd });
        }
        let checked = match &event.event {
            Event::Input(input) => self.input(event.offset, input, created),
            Event::Output(output) => self.output(event.offset, output),
        };
        match checked {
            Ok(()) => Ok(Admitted::New),
            Err(fault) => Err(FeedError::Damaged { offset: event.offset, fault }),
        }
    }

    /// Takes an event that this machine made itself and that is durable now.
    pub(crate) fn accept(&mut self, offset: Offset, seen: Offset, id: CommandId) {
        self.output = offset;
        self.seen = seen;
        let (of, position) = id.parts();
        match of {
            CommandType::Operation => {
                self.ended.insert(id);
            }
            CommandType::Close => self.closed = Some(offset),
            CommandType::Task
            | CommandType::Timer
            | CommandType::ChildWorkflow
            | CommandType::Promise
            | CommandType::State
            | CommandType::CancelTask
            | CommandType::CancelTimer
            | CommandType::CancelChild
            | CommandType::ResolvePromise
            | CommandType::Signal
            | CommandType::Version => self.counts.raise(of, position.saturating_add(1)),
        }
    }

    /// What the last output that was taken is called.
    pub(crate) fn last_id_of(&self, command: &Command) -> CommandId {
        let (of, next) = self.next_id_of(command).parts();
        let is_counted = !matches!(of, CommandType::Operation | CommandType::Close);
        of.at(next.saturating_sub(u32::from(is_counted)))
    }

    /// What the next output is called.
    fn next_id_of(&self, command: &Command) -> CommandId {
        if let Command::RecordOperation { index, .. } = command {
            return CommandId::Operation(*index);
        }
        let of = CommandType::of(command);
        of.at(self.counts.get(of))
    }

    fn input(&mut self, offset: Offset, input: &Input, created: &Counts) -> Result<(), Fault> {
        if let Some(id) = input.settled() {
            let (of, position) = id.parts();
            if position >= self.counts.get(of).max(created.get(of)) {
                return Err(Fault::NeverAsked(id));
            }
            if !self.ended.insert(id) {
                return Err(Fault::Twice(id));
            }
        }
        if *input == Input::RunClosed {
            self.closed = Some(offset);
        }
        self.input = offset;
        Ok(())
    }

    fn output(&mut self, offset: Offset, output: &Output) -> Result<(), Fault> {
        let seen = output.seen;
        if seen >= offset {
            return Err(Fault::SeenAhead { seen });
        }
        if seen < self.seen {
            return Err(Fault::SeenBack { seen, earlier: self.seen });
        }
        let id = self.next_id_of(&output.command);
        let (of, expected) = id.parts();
        let has_index = of != CommandType::Close;
        if let Some(index) = output.index.filter(|index| has_index && *index != expected) {
            return Err(Fault::Index { index, expected });
        }
        if of == CommandType::Operation && self.ended.contains(&id) {
            return Err(Fault::Twice(id));
        }
        self.accept(offset, seen, id);
        Ok(())
    }
}
