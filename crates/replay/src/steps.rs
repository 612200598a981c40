//! Steps: closures whose results are recorded once and that no replay calls.
//!
//! ```text
//!  created ─► running ─► done          live: started when nothing before it is unrecorded
//!     └──────────────────► done        replayed: its result is delivered where history has it
//!     └─► withdrawn ─────► done        the run was cancelled while code awaited it: not started
//! ```
//!
//! **Invariant:** a step that is recorded is never started. One that was started and not recorded
//! before its worker died starts again, under the same key.

use std::collections::BTreeSet;

use seriatim_types::{Name, Time};

use crate::book::{Book, Status};
use crate::command_id::CommandType;
use crate::matching::{Comparison, compare};
use crate::random::Random;
use crate::violation::Difference;
use crate::{Class, Command, CommandId, Created, Payload, Source, StepStart};

/// A step that code created.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) name: Name,
    pub(crate) source: Source,
    /// How many outputs code had created before it.
    pub(crate) matched_before: u64,
}

/// The steps of a run, by position.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    slots: Vec<Slot>,
    created: BTreeSet<u32>,
    running: BTreeSet<u32>,
    /// These have not begun here and will not. History may have them from a worker that began.
    withdrawn: BTreeSet<u32>,
}

/// A value that code records without a step of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedValue {
    /// History has it.
    Known(Payload),
    /// Compute it, and hand it to [`Book::value_recorded`].
    Unknown(CommandId),
}

impl Book {
    /// Code creates a step. Its result comes from history, or it is started by a later
    /// [`turn`](Self::turn).
    pub fn create_step(&mut self, name: Name, source: Source) -> CommandId {
        let id = self.counts.take(CommandType::Operation);
        if let Status::Violated { violation, suspect: Some(suspect) } = &mut self.status {
            suspect.note_step(id, &name, violation);
        }
        let may_create = self.may_create(id, &source);
        let matched_before = self.matched_ever;
        self.steps.push(Slot { name, source, matched_before }, may_create);
        id
    }

    /// Code wants a value recorded that has no effect outside: it is answered at once, and goes
    /// out with the next turn.
    pub fn record(&mut self, name: Name, source: Source) -> RecordedValue {
        let id = self.counts.take(CommandType::Operation);
        if let Status::Violated { violation, suspect: Some(suspect) } = &mut self.status {
            suspect.note_step(id, &name, violation);
        }
        let may_create = self.may_create(id, &source);
        let matched_before = self.matched_ever;
        let slot = Slot { name: name.clone(), source: source.clone(), matched_before };
        self.steps.push(slot, false);
        if !may_create {
            return RecordedValue::Unknown(id);
        }
        self.skip_retired();
        let (_, index) = id.parts();
        let code = Command::RecordOperation {
            index,
            name,
            result: Ok(Payload::null()),
            worker_at: self.now,
        };
        let recorded = self.outputs.get(self.matched);
        let same = recorded.filter(|it| it.id == id);
        let same = same.filter(|it| matches!(compare(&it.command, &code), Comparison::Same));
        let known = same.and_then(|it| value_of(&it.command));
        let is_new = recorded.is_none();
        if is_new {
            self.is_recording = true;
            return RecordedValue::Unknown(id);
        }
        self.align(id, code, source);
        match known {
            Some((value, at)) => {
                self.now = self.now.max(at);
                RecordedValue::Known(value)
            }
            None => {
                self.violate_no_value(id);
                RecordedValue::Unknown(id)
            }
        }
    }

    /// History has a step of this name here, and it failed: there is no value to answer with.
    fn violate_no_value(&mut self, id: CommandId) {
        let code = format!("{id} recorded as a value");
        let difference = Difference { field: "event", history: format!("{id} failed"), code };
        let source = self.last.1.clone();
        let offset = self.matched.checked_sub(1).and_then(|it| self.outputs.get(it));
        let offset = offset.map(|it| it.offset);
        self.violate(Class::Type, id, difference, offset, source, None);
    }

    /// The run was cancelled while code awaited a step. If it was not started, it will not be.
    pub fn withdraw_step(&mut self, id: CommandId) {
        if let CommandId::Operation(index) = id
            && self.steps.created.remove(&index)
        {
            self.steps.withdrawn.insert(index);
        }
    }

    /// The value of [`RecordedValue::Unknown`] was computed.
    pub fn value_recorded(&mut self, id: CommandId, value: Payload) {
        let was_recording = std::mem::take(&mut self.is_recording);
        let CommandId::Operation(index) = id else { return };
        let Some(slot) = self.steps.get(index).filter(|_| was_recording) else { return };
        if !self.is_open() {
            return;
        }
        let (name, source_location) = (slot.name.clone(), slot.source.clone());
        let (seen, result, worker_at) = (self.seen, Ok(value), self.now);
        let command = Command::RecordOperation { index, name, result, worker_at };
        self.unrecorded.push(Created { id, seen, command, source_location });
    }
}

fn value_of(command: &Command) -> Option<(Payload, Time)> {
    let Command::RecordOperation { result: Ok(value), worker_at, .. } = command else {
        return None;
    };
    Some((value.clone(), *worker_at))
}

impl Steps {
    fn push(&mut self, slot: Slot, is_open: bool) {
        if is_open {
            let position = u32::try_from(self.slots.len()).ok();
            self.created.insert(position.expect("positions were counted in 32 bits before"));
        }
        self.slots.push(slot);
    }

    pub(crate) fn get(&self, index: u32) -> Option<&Slot> {
        self.slots.get(usize::try_from(index).ok()?)
    }

    /// A step that has no result yet.
    pub(crate) fn open(&self, index: u32) -> Option<&Slot> {
        let is_open =
            [&self.created, &self.running, &self.withdrawn].iter().any(|it| it.contains(&index));
        self.get(index).filter(|_| is_open)
    }

    pub(crate) fn running(&self, index: u32) -> Option<&Slot> {
        self.get(index).filter(|_| self.running.contains(&index))
    }

    /// The steps that were not started, by position.
    pub(crate) fn created(&self) -> impl DoubleEndedIterator<Item = (CommandId, &Slot)> {
        let slot = |index: &u32| Some((CommandId::Operation(*index), self.get(*index)?));
        self.created.iter().filter_map(slot)
    }

    pub(crate) fn has_open(&self) -> bool {
        !self.created.is_empty() || !self.running.is_empty()
    }

    pub(crate) fn done(&mut self, index: u32) {
        self.created.remove(&index);
        self.running.remove(&index);
        self.withdrawn.remove(&index);
    }

    /// Starts what was not started.
    pub(crate) fn start(&mut self, random: &Random) -> Vec<StepStart> {
        let created = std::mem::take(&mut self.created);
        let start = |index: u32| {
            let name = self.get(index)?.name.clone();
            Some(StepStart { id: CommandId::Operation(index), name, key: random.step_key(index) })
        };
        let starts = created.iter().copied().filter_map(start).collect();
        self.running.extend(created);
        starts
    }
}
