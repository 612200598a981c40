//! An open transaction of a runtime.

use seriatim_sequencer::{
    Drawn, Draws, EventOffsets, ImportError, NextError, RecordClass, Sequences,
};
use seriatim_types::{Number, SequenceId};

use crate::runtime::Shared;

/// An open transaction. It ends with [`Started::flush`], with [`Started::actualize`], or by
/// being dropped, which forgets its numbers and nothing else.
#[must_use = "dropping a transaction forgets its numbers"]
pub struct Started<'a> {
    shared: &'a Shared,
    /// Taken when the transaction ends.
    draws: Option<Draws>,
}

impl<'a> Started<'a> {
    pub(crate) fn new(shared: &'a Shared, draws: Draws) -> Self {
        Self { shared, draws: Some(draws) }
    }

    /// The places of the current event. A transaction begins with its first.
    ///
    /// # Panics
    ///
    /// Never: the draws are there until the transaction ends.
    #[must_use]
    pub fn event(&self) -> EventOffsets {
        self.draws.as_ref().expect("the transaction has not ended").event()
    }

    /// Goes on to the next event of the command.
    ///
    /// # Errors
    ///
    /// When a log can hold no more.
    pub fn next_event(&mut self) -> Result<EventOffsets, NextError> {
        self.with(|draws, sequences| draws.next_event(sequences))
    }

    /// Draws the next number of a sequence.
    ///
    /// # Errors
    ///
    /// When the workspace has no such sequence, or it has given all its numbers.
    pub fn next(&mut self, sequence: SequenceId) -> Result<Drawn, NextError> {
        self.with(|draws, sequences| draws.next(sequences, sequence))
    }

    /// Draws the id of a new record.
    ///
    /// # Errors
    ///
    /// When all ids of its class are given.
    pub fn next_record_id(&mut self, class: RecordClass) -> Result<Number, NextError> {
        self.with(|draws, sequences| {
            let sequence = sequences.record_ids().sequence_of(class);
            draws.next(sequences, sequence).map(|drawn| drawn.number)
        })
    }

    /// Draws the next number of the transaction's client.
    ///
    /// # Errors
    ///
    /// When the transaction has no client, or the client has sent more than can be counted.
    pub fn next_of_client(&mut self) -> Result<Number, NextError> {
        self.with(Draws::next_of_client)
    }

    /// Raises a sequence past a number that comes from outside.
    ///
    /// # Errors
    ///
    /// When the number is none that the sequence could give.
    pub fn import(&mut self, sequence: SequenceId, number: Number) -> Result<(), ImportError> {
        self.with(|draws, sequences| draws.import(sequences, sequence, number))
    }

    /// The events are in the log: their numbers are used, and go into the next checkpoint.
    ///
    /// # Panics
    ///
    /// Never: nobody else can stage while the transaction is open.
    pub fn flush(mut self) {
        let draws = self.draws.take().expect("the transaction has not ended");
        let mut state = self.shared.lock();
        state.is_open = false;
        let ticket = state.sequencer.stage(draws).expect("no other transaction was open");
        state.sequencer.flush(ticket).expect("nothing else is staged");
        drop(state);
        self.shared.notify();
    }

    /// The events may or may not be in the log: the numbers are read from it again, and
    /// refused until then.
    pub fn actualize(mut self) {
        self.draws = None;
        let mut state = self.shared.lock();
        state.is_open = false;
        state.wants_reading = true;
        drop(state);
        self.shared.notify();
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut Draws, &Sequences) -> T) -> T {
        let draws = self.draws.as_mut().expect("the transaction has not ended");
        act(draws, self.shared.lock().sequencer.sequences())
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        if self.draws.is_some() {
            self.shared.lock().is_open = false;
            self.shared.notify();
        }
    }
}
