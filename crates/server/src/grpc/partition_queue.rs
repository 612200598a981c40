//! The commands of one stream that go to one partition, in their order.
//!
//! ```text
//!   first ──► [ answered, waiting, answered, waiting ] ◄── next
//!                │ leaves: it is at the front
//! ```
//!
//! **Invariant:** answers leave in the order in which the commands came, and each command is
//! answered once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use seriatim_api::grpc::StreamResponse;
use seriatim_node::PartitionOrder;
use seriatim_types::PartitionRef;

use crate::commands::Target;

/// The commands of one partition.
pub(super) struct PartitionQueue {
    pub(super) partition: PartitionRef,
    pub(super) order: PartitionOrder,
    /// The number of the command at the front. They are counted from 0 on.
    first: u64,
    commands: VecDeque<InFlight>,
}

/// A command that waits for what comes of it.
pub(super) struct Waiting {
    /// By which the client knows it.
    pub(super) id: u64,
    pub(super) since: Instant,
    pub(super) target: Arc<Target>,
    pub(super) include_proof: bool,
    /// What the command takes of the stream's room.
    pub(super) bytes: usize,
}

enum InFlight {
    Waiting(Waiting),
    Answered(StreamResponse),
}

impl InFlight {
    /// Returns the room that it leaves.
    fn answer(&mut self, answer: StreamResponse) -> usize {
        match std::mem::replace(self, Self::Answered(answer)) {
            Self::Waiting(waiting) => waiting.bytes,
            Self::Answered(_) => 0,
        }
    }
}

impl PartitionQueue {
    pub(super) fn new(partition: PartitionRef) -> Self {
        Self { partition, order: PartitionOrder::default(), first: 0, commands: VecDeque::new() }
    }

    /// The number of the next command.
    pub(super) fn next(&self) -> u64 {
        let count = u64::try_from(self.commands.len()).expect("what is in flight is bounded");
        self.first.saturating_add(count)
    }

    pub(super) fn wait(&mut self, command: Waiting) {
        self.commands.push_back(InFlight::Waiting(command));
    }

    /// A command that is answered where it stands.
    pub(super) fn answer_next(&mut self, answer: StreamResponse) {
        self.commands.push_back(InFlight::Answered(answer));
    }

    /// The command with a number, if it still waits.
    pub(super) fn waiting(&self, number: u64) -> Option<&Waiting> {
        match self.commands.get(self.index(number)?)? {
            InFlight::Waiting(waiting) => Some(waiting),
            InFlight::Answered(_) => None,
        }
    }

    /// Answers a command that waits. Returns the room that it leaves.
    pub(super) fn answer(&mut self, number: u64, answer: StreamResponse) -> usize {
        let index = self.index(number).expect("the command is in flight");
        let command = self.commands.get_mut(index).expect("the command is in flight");
        command.answer(answer)
    }

    /// Lets go what is answered at the front. Returns how many.
    pub(super) fn release(&mut self, into: &mut VecDeque<StreamResponse>) -> usize {
        let before = self.commands.len();
        while let Some(InFlight::Answered(_)) = self.commands.front() {
            if let Some(InFlight::Answered(answer)) = self.commands.pop_front() {
                into.push_back(answer);
                self.first = self.first.saturating_add(1);
            }
        }
        before.saturating_sub(self.commands.len())
    }

    /// Answers commands that have waited for so long. Returns the room that they leave, and since when
    /// the next one waits.
    pub(super) fn give_up(
        &mut self,
        within: Duration,
        late: impl Fn(&Waiting) -> StreamResponse,
    ) -> (usize, Option<Instant>) {
        let mut left = 0_usize;
        for command in &mut self.commands {
            if let InFlight::Waiting(waiting) = command {
                if waiting.since.elapsed() < within {
                    return (left, Some(waiting.since));
                }
                let answer = late(waiting);
                left = left.saturating_add(command.answer(answer));
            }
        }
        (left, None)
    }

    fn index(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }
}
