//! An open transaction of a runtime.

use seriatim_sequencer::{Drawn, Draws, EventOffsets, ImportError, NextError, RecordClass};
use seriatim_types::{Number, SequenceId};

use crate::runtime::{Shared, State};
use crate::sync::MutexGuard;

/// An open transaction. It ends with [`Started::flush`], with [`Started::actualize`], or by
/// being dropped, which forgets its numbers and nothing else.
#[must_use = "dropping a transaction forgets its numbers"]
pub struct Started<'a> {
    shared: &'a Shared,
    state: MutexGuard<'a, State>,
    draws: Draws,
}

impl<'a> Started<'a> {
    pub(crate) fn new(shared: &'a Shared, state: MutexGuard<'a, State>, draws: Draws) -> Self {
        Self { shared, state, draws }
    }

    /// The places of the current event. A transaction begins with its first.
    #[must_use]
    pub fn event(&self) -> EventOffsets {
        self.draws.event()
    }

    /// Goes on to the next event of the command.
    ///
    /// # Errors
    ///
    /// When a log can hold no more.
    pub fn next_event(&mut self) -> Result<EventOffsets, NextError> {
        self.draws.next_event(self.state.sequencer.sequences())
    }

    /// Draws the next number of a sequence.
    ///
    /// # Errors
    ///
    /// When the workspace has no such sequence, or it has given all its numbers.
    pub fn next(&mut self, sequence: SequenceId) -> Result<Drawn, NextError> {
        self.draws.next(self.state.sequencer.sequences(), sequence)
    }

    /// Draws the id of a new record.
    ///
    /// # Errors
    ///
    /// When all ids of its class are given.
    pub fn next_record_id(&mut self, class: RecordClass) -> Result<Number, NextError> {
        let sequence = self.state.sequencer.sequences().record_ids().sequence_of(class);
        self.next(sequence).map(|drawn| drawn.number)
    }

    /// Draws the next number of the transaction's client.
    ///
    /// # Errors
    ///
    /// When the transaction has no client, or the client has sent more than can be counted.
    pub fn next_of_client(&mut self) -> Result<Number, NextError> {
        self.draws.next_of_client(self.state.sequencer.sequences())
    }

    /// Raises a sequence past a number that comes from outside.
    ///
    /// # Errors
    ///
    /// When the number is none that the sequence could give.
    pub fn import(&mut self, sequence: SequenceId, number: Number) -> Result<(), ImportError> {
        self.draws.import(self.state.sequencer.sequences(), sequence, number)
    }

    /// The events are in the log: their numbers are used, and go into the next checkpoint.
    pub fn flush(self) {
        let Self { shared, mut state, draws } = self;
        let ticket = state.sequencer.stage(draws).expect("nobody staged while it was locked");
        state.sequencer.flush(ticket).expect("nothing else is staged");
        drop(state);
        shared.notify();
    }

    /// The events may or may not be in the log: the numbers are read from it again, and
    /// refused until then.
    pub fn actualize(self) {
        let Self { shared, mut state, .. } = self;
        state.wants_reading = true;
        drop(state);
        shared.notify();
    }
}
