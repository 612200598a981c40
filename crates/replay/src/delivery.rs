//! What code is shown next: the delivery order.
//!
//! ```text
//!  outputs  ──────────── O(seen 3) ── O(seen 3) ────── O(seen 7) ─────────────►
//!  inputs    2   3 ──►│                       5   7 ─►│            8   9 ─────►
//!                     └ then the outputs made here    └ then that  └ then these
//! ```
//!
//! **Invariant:** inputs are delivered in the order of their offsets, and `seen` never goes back.
//! So a run that is live and its replay show the same things in the same order.

use crate::book::{PendingInput, RecordedOutput, Status};
use crate::signals::Signal;
use crate::violation::Difference;
use crate::{Book, Class, Command, CommandId, Delivery, Input, Next, Settlement};

impl Book {
    /// What code is shown next. Call it again once code rests.
    // It is no iterator: what it gives depends on what code does in between.
    #[expect(clippy::should_implement_trait, reason = "code runs between two calls")]
    pub fn next(&mut self) -> Next {
        loop {
            match self.status {
                Status::Open => {}
                Status::Ended | Status::ClosedFromOutside => return Next::Closed,
                Status::Violated { .. } => return Next::Violated,
            }
            let due = self.outputs.front().map(|it| it.seen);
            let has_input = self.inputs.front().is_some_and(|it| match due {
                Some(seen) => it.offset <= seen,
                None => !self.unrecorded.holds_inputs(),
            });
            let delivery = match (has_input, due) {
                (true, _) => self.deliver_input(),
                (false, Some(_)) => self.pass_output(),
                (false, None) => return Next::Rest,
            };
            if let Some(delivery) = delivery {
                self.work.deliveries = self.work.deliveries.saturating_add(1);
                return Next::Deliver(delivery);
            }
        }
    }

    fn deliver_input(&mut self) -> Option<Delivery> {
        let PendingInput { offset, at, input } = self.inputs.pop_front()?;
        self.seen = offset;
        let is_signal = matches!(input, Input::SignalReceived { .. });
        self.now = self.now.max(at.filter(|_| !is_signal).unwrap_or(self.now));
        match input.settles() {
            Ok((id, settlement)) => self.deliver_settlement(id, settlement),
            Err(Input::SignalReceived { name, input }) => {
                let at = at.unwrap_or(self.now);
                self.signals.arrive(name.clone(), Signal { offset, at, input });
                Some(Delivery::Signal { name })
            }
            Err(Input::CancellationRequested { reason }) => {
                self.is_cancel_requested = true;
                Some(Delivery::CancellationRequested { reason })
            }
            Err(_) => {
                self.status = Status::ClosedFromOutside;
                None
            }
        }
    }

    fn deliver_settlement(&mut self, id: CommandId, settlement: Settlement) -> Option<Delivery> {
        // The first event that settles a promise counts. Code may come second with its own.
        if let CommandId::Promise(index) = id
            && !self.settled_promises.insert(index)
        {
            return None;
        }
        // Cancelled means settled for code. A child that was asked to cancel still answers.
        let is_over = !matches!(id, CommandId::ChildWorkflow(_)) && self.cancelled.contains(&id);
        (!is_over).then_some(Delivery::Settled { id, settlement })
    }

    /// The oldest recorded output: created already, a step's result, or missing.
    fn pass_output(&mut self) -> Option<Delivery> {
        self.skip_retired();
        if self.matched > 0 {
            self.matched = self.matched.saturating_sub(1);
            self.outputs.pop_front();
            return None;
        }
        let output = self.outputs.front()?;
        let Command::RecordOperation { index, name, .. } = &output.command else {
            self.violate_missing();
            return None;
        };
        let index = *index;
        let Some(slot) = self.steps.open(index) else {
            self.violate_missing();
            return None;
        };
        self.work.comparisons = self.work.comparisons.saturating_add(1);
        if slot.name != *name {
            let difference = Difference::new("name", name.as_str(), slot.name.as_str());
            let (id, offset, source) = (output.id, output.offset, slot.source.clone());
            self.violate(Class::Field, id, difference, Some(offset), source, None);
            return None;
        }
        self.steps.done(index);
        let RecordedOutput { id, command, .. } = self.outputs.pop_front()?;
        let Command::RecordOperation { result, worker_at, .. } = command else { return None };
        self.now = self.now.max(worker_at);
        Some(Delivery::Settled { id, settlement: Settlement::of(result) })
    }
}
