//! Taking history: what others recorded, and what became of this machine's own commands.
//!
//! ```text
//!  input ───────────────────────────────► inputs, by offset
//!  output ─► nothing is unrecorded ─────► outputs, which code must create
//!         └► it is the oldest unrecorded ► recorded          anything else: diverged
//! ```
//!
//! **Invariant:** what code was shown cannot be taken back. Events that contradict it are refused,
//! and the run is replayed from its beginning. That is no violation: another worker went on.

use crate::book::{PendingInput, RecordedOutput};
use crate::intake::Admitted;
use crate::matching::{Comparison, compare};
use crate::{Book, Command, CommandId, Event, FeedError, Input, Offset, Output, Recorded};

impl Book {
    /// Takes events, by offset. Those that are known already are skipped, so a worker that kept
    /// the run may be given all of it. What was recorded by one submit belongs into one call,
    /// or into several without [`next`](Self::next) in between.
    pub fn feed(&mut self, events: impl IntoIterator<Item = Recorded>) -> Result<(), FeedError> {
        for event in events {
            self.work.events = self.work.events.saturating_add(1);
            if self.intake.admit(&event, &self.counts)? == Admitted::Known {
                continue;
            }
            let Recorded { offset, at, event } = event;
            match event {
                Event::Input(input) => self.insert(PendingInput { offset, at: Some(at), input }),
                Event::Output(output) => self.take_output(offset, output)?,
            }
        }
        Ok(())
    }

    /// The turn in flight is durable. `first` is the offset of its first event, `events` what the
    /// answer brought: everything after the last `seen` that is not of this turn.
    pub fn accepted(
        &mut self,
        first: Offset,
        events: impl IntoIterator<Item = Recorded>,
    ) -> Result<(), FeedError> {
        let created = self.unrecorded.take_in_flight();
        if created.is_empty() {
            return Err(FeedError::NoTurn);
        }
        for (created, offset) in created.into_iter().zip(first.0..) {
            self.intake.accept(Offset(offset), created.seen, created.id);
            self.note_recorded(Offset(offset), created.id, &created.command);
        }
        self.feed(events)
    }

    /// A recorded output: what this machine made itself, or what code must still create.
    fn take_output(&mut self, offset: Offset, output: Output) -> Result<(), FeedError> {
        let Output { seen, command, .. } = output;
        let id = self.intake.last_id_of(&command);
        if !self.unrecorded.is_empty() {
            if !self.take_own_output(id, seen, &command) {
                return Err(FeedError::Diverged { offset, history: id });
            }
            self.note_recorded(offset, id, &command);
            return Ok(());
        }
        // Whoever made it had been shown less. What this machine was shown cannot be taken back.
        if seen < self.seen {
            return Err(FeedError::Diverged { offset, history: id });
        }
        self.note_recorded(offset, id, &command);
        self.outputs.push_back(RecordedOutput { offset, seen, id, command });
        Ok(())
    }

    /// Whether the oldest unrecorded command is what was recorded. Then it is removed.
    fn take_own_output(&mut self, id: CommandId, seen: Offset, command: &Command) -> bool {
        let Some(own) = self.unrecorded.front_mut() else { return false };
        // A closure that was called twice may have given two results.
        let is_step = matches!(command, Command::RecordOperation { .. });
        let is_same = own.id == id
            && own.seen == seen
            && (!is_step || own.command == *command)
            && matches!(compare(command, &own.command), Comparison::Same);
        if is_same {
            self.unrecorded.pop();
        }
        is_same
    }

    /// What follows from a recorded output, whoever made it.
    fn note_recorded(&mut self, offset: Offset, id: CommandId, command: &Command) {
        if let Command::CreatePromise { name, .. } = command {
            let (_, index) = id.parts();
            self.recorded_promises.entry(name.clone()).or_insert(index);
        }
        if let Command::MarkVersion { name, .. } = command {
            self.recorded_markers.insert(name.clone());
        }
        // It settles the promise where it stands in the log, as a client's event would.
        if let Command::ResolvePromise { name, value } = command
            && let Some(index) = self.recorded_promises.get(name).copied()
        {
            let input = Input::PromiseResolved { index, value: value.clone() };
            self.insert(PendingInput { offset, at: None, input });
        }
    }

    /// Inserts an input by its offset. Nearly always it is the last.
    fn insert(&mut self, input: PendingInput) {
        let after = self.inputs.partition_point(|it| it.offset < input.offset);
        self.inputs.insert(after, input);
    }
}
