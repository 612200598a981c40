//! A server and a worker in one: the log of a run, what is open in it, and a machine that is kept.
//!
//! ```text
//!  chance ─► input ─► log ─────────────► feed ─► machine
//!                      ▲                            │ take_turn
//!                      └── submit ◄── turn ◄────────┘        accepted, later
//! ```

use std::collections::{BTreeMap, BTreeSet};

use seriatim_replay::{
    Closing, Command, CommandId, Created, Event, Input, Machine, Offset, Output, Recorded, Started,
    StepStart, Then,
};
use seriatim_storage::faulty::Dice;
use seriatim_types::{Name, Time};

use crate::program::{Op, run};
use crate::support::{failure, json, name, started};

/// Chance, from a seed.
#[derive(Debug, Clone)]
pub(crate) struct Chance(Dice);

impl Chance {
    pub(crate) fn of(seed: u64) -> Self {
        Self(Dice::new(seed))
    }

    /// A number below `end`; 0 for none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.index_below(end.max(1))
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

pub(crate) struct World {
    pub(crate) chance: Chance,
    ops: Vec<Op>,
    pub(crate) log: Vec<Recorded>,
    pub(crate) machine: Machine,
    /// What is open at the server.
    open: BTreeSet<CommandId>,
    promises: BTreeMap<Name, CommandId>,
    counts: BTreeMap<&'static str, u32>,
    is_cancelled: bool,
    may_cancel: bool,
    pub(crate) is_closed: bool,
    /// So many events of the log were given to the machine.
    fed: usize,
    running: Vec<StepStart>,
    /// The submit whose answer is under way: the offset of its first event.
    in_flight: Option<(Offset, usize)>,
    clock: u64,
}

pub(crate) fn machine_of(started: Started, ops: &[Op]) -> Machine {
    let ops = ops.to_vec();
    Machine::new(started, move |ctx| run(ctx, ops)).expect("the version is known")
}

impl World {
    pub(crate) fn new(ops: &[Op], chance: Chance) -> Self {
        Self::resume(ops, chance, Vec::new())
    }

    /// A worker that knows nothing takes over a run with this log.
    pub(crate) fn resume(ops: &[Op], mut chance: Chance, log: Vec<Recorded>) -> Self {
        let may_cancel = chance.below(3) == 0;
        let mut world = Self {
            chance,
            ops: ops.to_vec(),
            log: Vec::new(),
            machine: machine_of(started(), ops),
            open: BTreeSet::new(),
            promises: BTreeMap::new(),
            counts: BTreeMap::new(),
            is_cancelled: false,
            may_cancel,
            is_closed: false,
            fed: 0,
            running: Vec::new(),
            in_flight: None,
            clock: 1_000,
        };
        for event in log {
            world.clock = event.at.0;
            world.append(event.event);
        }
        let log = world.log.clone();
        world.fed = log.len();
        world.machine.feed(log).expect("a log that a worker wrote is sound");
        world.machine.advance();
        world
    }

    /// Lets chance act until the run is closed.
    pub(crate) fn drive(&mut self) {
        for _ in 0..5_000 {
            if self.is_closed && self.in_flight.is_none() {
                return;
            }
            if self.chance.below(60) == 0 {
                self.replace_worker();
            }
            match self.chance.below(10) {
                0..=2 => self.input(),
                3 | 4 => self.push(),
                5 | 6 => self.submit(),
                7 => self.answer(),
                _ => self.step_done(),
            }
        }
        panic!("the run does not end: {:?} in {:#?}", self.machine.awaited(), self.log);
    }

    /// The worker dies, with what ran in it and with answers that it has not read. Another one
    /// replays the log.
    fn replace_worker(&mut self) {
        self.machine = machine_of(started(), &self.ops);
        self.machine.feed(self.log.clone()).expect("its own log is sound");
        self.machine.advance();
        self.running.clear();
        self.in_flight = None;
        self.fed = self.log.len();
    }

    /// Something happens outside.
    fn input(&mut self) {
        if self.is_closed {
            return;
        }
        self.clock += self.chance.below(3) as u64 * 500;
        let open: Vec<CommandId> = self.open.iter().copied().collect();
        let kind = self.chance.below(12);
        if kind == 0 && self.may_cancel && !self.is_cancelled && self.log.len() > 4 {
            self.is_cancelled = true;
            self.append(Event::Input(Input::CancellationRequested { reason: "no".to_owned() }));
        } else if kind < 3 || open.is_empty() {
            let signal = *self.chance.pick(&["go", "stop"]);
            let input = json(format!("{}", self.log.len()));
            self.append(Event::Input(Input::SignalReceived { name: name(signal), input }));
        } else {
            let id = *self.chance.pick(&open);
            let input = self.settlement(id);
            self.append(Event::Input(input));
        }
    }

    fn settlement(&mut self, id: CommandId) -> Input {
        let way = self.chance.below(3);
        let value = json(format!("{}", self.log.len()));
        match (id, way) {
            (CommandId::Task(index), 0) => Input::TaskFailed { index, failure: failure("lost") },
            (CommandId::Task(index), _) => Input::TaskCompleted { index, result: value },
            (CommandId::Timer(index), _) => Input::TimerFired { index },
            (CommandId::ChildWorkflow(index), 0) => Input::ChildCancelled { index },
            (CommandId::ChildWorkflow(index), 1) => {
                Input::ChildFailed { index, failure: failure("lost") }
            }
            (CommandId::ChildWorkflow(index), _) => Input::ChildCompleted { index, result: value },
            (CommandId::Promise(index), 0) => {
                Input::PromiseRejected { index, message: "no".to_owned() }
            }
            (CommandId::Promise(index), 1) => Input::PromiseTimedOut { index },
            (CommandId::Promise(index), _) => Input::PromiseResolved { index, value },
            (other, _) => panic!("{other} is never open"),
        }
    }

    /// The worker is pushed some of what is new.
    fn push(&mut self) {
        // A stream keeps the order of the log: what stands after a submit comes after its answer.
        let end = self.in_flight.map_or(self.log.len(), |(first, _)| first.0 as usize - 2);
        let count = 1 + self.chance.below(3);
        let events: Vec<Recorded> = self.log[self.fed..end].iter().take(count).cloned().collect();
        self.fed += events.len();
        self.machine.feed(events).expect("its own log is sound");
        self.machine.advance();
    }

    fn submit(&mut self) {
        if self.in_flight.is_some() {
            return;
        }
        let turn = self.machine.take_turn().expect("unchanged code follows its history");
        self.running.extend(turn.steps);
        if turn.commands.is_empty() || self.is_closed {
            return;
        }
        self.clock += 10;
        let first = Offset(self.log.len() as u64 + 2);
        let count = turn.commands.len();
        assert!((turn.then == Then::Close) == is_close(turn.commands.last()));
        for created in turn.commands {
            let output = Output { seen: created.seen, index: None, command: created.command };
            self.append(Event::Output(output));
        }
        self.in_flight = Some((first, count));
    }

    /// The answer of the submit arrives, with what was recorded since and is not of it.
    fn answer(&mut self) {
        let Some((first, count)) = self.in_flight.take() else { return };
        if self.chance.below(4) == 0 {
            // The answer is lost, and the worker polls the history instead.
            self.machine.feed(self.log.clone()).expect("what it submitted is what it made");
            self.fed = self.log.len();
            self.machine.advance();
            return;
        }
        let own = first.0..first.0 + count as u64;
        let events: Vec<Recorded> =
            self.log[self.fed..].iter().filter(|it| !own.contains(&it.offset.0)).cloned().collect();
        self.fed = self.log.len();
        self.machine.accepted(first, events).expect("its own submit is sound");
        self.machine.advance();
    }

    fn step_done(&mut self) {
        if self.running.is_empty() || self.is_closed {
            return;
        }
        let index = self.chance.below(self.running.len());
        let step = self.running.swap_remove(index);
        let result = match self.chance.below(4) {
            0 => Err(failure("step")),
            _ => Ok(json(format!("{}", self.chance.below(100)))),
        };
        let at = Time(self.clock + self.chance.below(2_000) as u64);
        // Code may have ended while the closure ran.
        let _ = self.machine.step_done(step.id, result, at);
    }

    fn append(&mut self, event: Event) {
        match &event {
            Event::Input(input) => self.close_settled(input),
            Event::Output(output) => self.open_created(&output.command),
        }
        let offset = Offset(self.log.len() as u64 + 2);
        self.log.push(Recorded { offset, at: Time(self.clock), event });
    }

    fn close_settled(&mut self, input: &Input) {
        let id = match input {
            Input::TaskCompleted { index, .. } | Input::TaskFailed { index, .. } => {
                CommandId::Task(*index)
            }
            Input::TimerFired { index } => CommandId::Timer(*index),
            Input::ChildCompleted { index, .. }
            | Input::ChildFailed { index, .. }
            | Input::ChildCancelled { index } => CommandId::ChildWorkflow(*index),
            Input::PromiseResolved { index, .. }
            | Input::PromiseRejected { index, .. }
            | Input::PromiseTimedOut { index } => CommandId::Promise(*index),
            Input::CancellationRequested { .. } => {
                self.is_cancelled = true;
                return;
            }
            Input::SignalReceived { .. } | Input::RunClosed => return,
        };
        assert!(self.open.remove(&id), "{id} ends once");
    }

    fn open_created(&mut self, command: &Command) {
        let mut next = |of| {
            let count = self.counts.entry(of).or_insert(0);
            *count += 1;
            *count - 1
        };
        let id = match command {
            Command::ScheduleTask { .. } => CommandId::Task(next("task")),
            Command::StartTimer { .. } => CommandId::Timer(next("timer")),
            Command::StartChild { .. } => CommandId::ChildWorkflow(next("child")),
            Command::CreatePromise { name, .. } => {
                let id = CommandId::Promise(next("promise"));
                self.promises.insert(name.clone(), id);
                id
            }
            Command::CancelTask { target } | Command::CancelTimer { target } => {
                self.open.remove(target);
                return;
            }
            Command::ResolvePromise { name, .. } => {
                self.open.remove(&self.promises[name]);
                return;
            }
            Command::Close(Closing::Complete { .. }) => {
                self.is_closed = true;
                return;
            }
            _ => return,
        };
        self.open.insert(id);
    }
}

fn is_close(created: Option<&Created>) -> bool {
    created.is_some_and(|it| it.id == CommandId::Close)
}
