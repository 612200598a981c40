//! The matcher: history beside the commands that code creates, in any language.
//!
//! ```text
//!  recorded events ─► feed ─► inputs, outputs
//!                                 │ next: deliver an input or a step's result, one at a time
//!                                 ▼
//!  code ── create ─► the next recorded output must be it ─► unrecorded: new work ─► turn
//!                          └► violation, kept in here          ▲ accepted │
//! ```
//!
//! Delivery order: for each recorded output, by offset, first every input up to its `seen`, then
//! the output. A step's result is delivered there; any other output must have been created by
//! then. After the last output the other inputs follow, and what code creates is new work.
//!
//! **Invariants**
//! - Recorded outputs and created commands are one and the same order. What code creates before
//!   the last recorded output either is that output or a violation.
//! - Unchanged code is never in violation, and at every position it sees what it saw first.
//! - After a violation nothing is delivered, and what code creates is ignored.
//! - Every event is looked at a bounded number of times.
//!
//! **Deliberately absent:** futures. [`Machine`](crate::Machine) has them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use seriatim_types::{Name, Time};

use crate::command_id::{CommandType, Counts};
use crate::intake::Intake;
use crate::random::Random;
use crate::signals::{Signal, Signals};
use crate::steps::Steps;
use crate::suspect::Suspect;
use crate::turn::Unrecorded;
use crate::{
    Command, CommandId, Created, Failure, Input, MATCHING_VERSION, Offset, OnOrphans, Payload,
    RunNumber, Settlement, Source, Started, Then, Turn, Violation, Work,
};

/// The matcher of one run.
#[derive(Debug)]
pub struct Book {
    pub(crate) id: Name,
    pub(crate) run: RunNumber,
    pub(crate) on_orphans: OnOrphans,
    pub(crate) intake: Intake,
    pub(crate) inputs: VecDeque<PendingInput>,
    pub(crate) outputs: VecDeque<RecordedOutput>,
    /// So many of the first `outputs` are created by code already.
    pub(crate) matched: usize,
    /// So many outputs code has created since the beginning.
    pub(crate) matched_ever: u64,
    pub(crate) unrecorded: Unrecorded,
    pub(crate) counts: Counts,
    pub(crate) steps: Steps,
    pub(crate) seen: Offset,
    pub(crate) now: Time,
    pub(crate) signals: Signals,
    pub(crate) state: BTreeMap<Name, Payload>,
    /// Promises by name: of history, and of code.
    pub(crate) recorded_promises: BTreeMap<Name, u32>,
    pub(crate) promises: BTreeMap<Name, u32>,
    pub(crate) settled_promises: BTreeSet<u32>,
    pub(crate) cancelled: BTreeSet<CommandId>,
    pub(crate) is_cancel_requested: bool,
    pub(crate) versions: BTreeMap<Name, u32>,
    pub(crate) recorded_markers: BTreeSet<Name>,
    pub(crate) retired: BTreeSet<Name>,
    pub(crate) random: Random,
    /// Whether the closure of a recorded value is being called.
    pub(crate) is_recording: bool,
    pub(crate) status: Status,
    /// What code created last, for violations that are about nothing that it created.
    pub(crate) last: (CommandId, Source),
    pub(crate) work: Work,
}

/// History was made by rules that this build does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the run was recorded by matching version {version}, and this build knows {MATCHING_VERSION}: \
     replay it with a newer build"
)]
pub struct UnknownMatching {
    /// The version that history names.
    pub version: u32,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Show this to the code, and let it run until it rests.
    Deliver(Delivery),
    /// Everything recorded was delivered.
    Rest,
    /// Code has ended, or the run was closed from outside.
    Closed,
    /// Code does not follow its history.
    Violated,
}

/// Something that code sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// What code awaits under this id is settled.
    Settled {
        /// What is settled.
        id: CommandId,
        /// How.
        settlement: Settlement,
    },
    /// A signal of this name can be taken.
    Signal {
        /// Its name.
        name: Name,
    },
    /// The run shall end. What code awaits settles as cancelled, in the order of creation: its
    /// tasks, timers and children are cancelled by commands, its steps are
    /// [withdrawn](Book::withdraw_step). A [`Machine`](crate::Machine) does that itself.
    CancellationRequested {
        /// Why.
        reason: String,
    },
}

/// A step that cannot be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{id} does not run: report a step once, after it was started")]
pub struct NotRunning {
    /// The step.
    pub id: CommandId,
}

#[derive(Debug)]
pub(crate) enum Status {
    Open,
    Ended,
    ClosedFromOutside,
    Violated { violation: Box<Violation>, suspect: Option<Suspect> },
}

#[derive(Debug)]
pub(crate) struct PendingInput {
    pub(crate) offset: Offset,
    /// Absent if the workflow resolved a promise: its own events do not move its time.
    pub(crate) at: Option<Time>,
    pub(crate) input: Input,
}

#[derive(Debug)]
pub(crate) struct RecordedOutput {
    pub(crate) offset: Offset,
    pub(crate) seen: Offset,
    pub(crate) id: CommandId,
    pub(crate) command: Command,
}

impl Book {
    /// The matcher of a run, before any of its events.
    #[track_caller]
    pub fn open(started: Started) -> Result<Self, UnknownMatching> {
        if started.matching != MATCHING_VERSION {
            return Err(UnknownMatching { version: started.matching });
        }
        let mut signals = Signals::default();
        for it in started.carried {
            signals.arrive(it.name, Signal { offset: it.offset, at: it.at, input: it.input });
        }
        Ok(Self {
            id: started.id,
            run: started.run,
            on_orphans: started.on_orphans,
            intake: Intake::after(started.offset),
            inputs: VecDeque::new(),
            outputs: VecDeque::new(),
            matched: 0,
            matched_ever: 0,
            unrecorded: Unrecorded::default(),
            counts: Counts::default(),
            steps: Steps::default(),
            seen: started.offset,
            now: started.at,
            signals,
            state: BTreeMap::new(),
            recorded_promises: BTreeMap::new(),
            promises: BTreeMap::new(),
            settled_promises: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            is_cancel_requested: false,
            versions: BTreeMap::new(),
            recorded_markers: BTreeSet::new(),
            retired: BTreeSet::new(),
            random: Random::of(started.workspace, started.run),
            is_recording: false,
            status: Status::Open,
            last: (CommandId::Close, Source::here()),
            work: Work::default(),
        })
    }

    /// Code creates a command. The position is taken here. Whether it follows from history shows
    /// in [`turn`](Self::turn), never here.
    pub fn create(&mut self, mut command: Command, source: Source) -> CommandId {
        let id = self.counts.take(CommandType::of(&command));
        self.name_child(id, &mut command);
        if let Status::Violated { violation, suspect: Some(suspect) } = &mut self.status {
            suspect.note(id, &command, violation);
        }
        if !self.may_create(id, &source) {
            return id;
        }
        self.remember(id, &command);
        self.align(id, command, source);
        id
    }

    /// What to submit or to start now. Call it once code rests. It is empty while another turn is
    /// in flight.
    pub fn turn(&mut self) -> Result<Turn, Box<Violation>> {
        if let Status::Violated { violation, .. } = &self.status {
            return Err(violation.clone());
        }
        let is_behind = !self.outputs.is_empty();
        if self.unrecorded.is_in_flight()
            || is_behind
            || matches!(self.status, Status::ClosedFromOutside)
        {
            let (commands, steps, then) = (Vec::new(), Vec::new(), Then::Wait);
            return Ok(Turn { commands, steps, then, seen: self.seen });
        }
        let commands = self.unrecorded.hand_out();
        let is_last = commands.len() == self.unrecorded.len();
        let may_start = commands.is_empty() && self.is_open();
        let steps = if may_start { self.steps.start(&self.random) } else { Vec::new() };
        // A promise that code resolves is settled by the answer, so this worker goes on with it.
        let is_resolve = |it: &Created| matches!(it.command, Command::ResolvePromise { .. });
        let has_more = !is_last || self.steps.has_open() || commands.iter().any(is_resolve);
        let is_end = is_last && matches!(self.status, Status::Ended);
        let then = match (is_end, has_more) {
            (true, _) => Then::Close,
            (false, true) => Then::Continue,
            (false, false) => Then::Wait,
        };
        let left = commands.last().filter(|_| !is_last);
        let seen = left.map_or(self.seen, |it| it.seen);
        Ok(Turn { commands, steps, then, seen })
    }

    /// A step that was started is done, at a time of the worker's clock.
    pub fn step_done(
        &mut self,
        id: CommandId,
        result: Result<Payload, Failure>,
        at: Time,
    ) -> Result<Delivery, NotRunning> {
        let is_open = self.is_open();
        let CommandId::Operation(index) = id else { return Err(NotRunning { id }) };
        let slot = self.steps.running(index).filter(|_| is_open).ok_or(NotRunning { id })?;
        let (name, source_location) = (slot.name.clone(), slot.source.clone());
        self.steps.done(index);
        let command =
            Command::RecordOperation { index, name, result: result.clone(), worker_at: at };
        self.unrecorded.push(Created { id, seen: self.seen, command, source_location });
        self.now = self.now.max(at);
        Ok(Delivery::Settled { id, settlement: Settlement::of(result) })
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.status, Status::Open)
    }

    /// Code will not run any more: what its values do when they are dropped is ignored.
    pub(crate) fn abandon(&mut self) {
        if self.is_open() {
            self.status = Status::ClosedFromOutside;
        }
    }

    /// Whether code may create something now.
    pub(crate) fn may_create(&mut self, id: CommandId, source: &Source) -> bool {
        self.check_recording(source);
        self.last = (id, source.clone());
        self.is_open()
    }

    /// A recorded value must not be made of anything that counts: on replay nobody makes it.
    pub(crate) fn check_recording(&mut self, source: &Source) {
        if self.is_recording {
            let rule = "the closure of `record` used the workflow's context; move that outside";
            self.violate_unreplayable(rule, source.clone());
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "of the others nothing is asked later")]
    fn remember(&mut self, id: CommandId, command: &Command) {
        let (_, position) = id.parts();
        match command {
            Command::SetState { key, value } => {
                self.state.insert(key.clone(), value.clone());
            }
            Command::ClearState { key } => {
                self.state.remove(key);
            }
            Command::CreatePromise { name, .. } => {
                self.promises.entry(name.clone()).or_insert(position);
            }
            Command::CancelTask { target }
            | Command::CancelTimer { target }
            | Command::CancelChild { target } => {
                self.cancelled.insert(*target);
            }
            _ => {}
        }
    }

    /// A child without an id has one that follows from its parent.
    fn name_child(&self, child: CommandId, command: &mut Command) {
        if let Command::StartChild { id: id @ None, .. } = command {
            let (_, position) = child.parts();
            *id = Name::new(&format!("{}/{}.{position}", self.id.as_str(), self.run.0));
        }
    }
}
