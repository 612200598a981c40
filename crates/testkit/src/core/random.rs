//! Random histories of two partitions: that of the system app, and one of the app `shop`.
//!
//! ```text
//!  dice ─► an entry that could come now ─► the history
//!    ▲                                         │
//!    └─────── what is there: the model ◄───────┘
//! ```
//!
//! Entries are made on what the model knows: most commands can be carried out, and the others
//! fail by one thing more often than by many.
//!
//! **Invariant:** a seed gives the same history every time.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "whatever is wrong here is found by the first test"
)]

mod command;
mod definition;

pub use seriatim_storage::faulty::Dice;
use seriatim_types::{
    AppId, Body, ClientId, Command, Declare, Delivered, Delivery, DueEntity, DueKey, Entry, Key,
    PartitionId, PartitionOffset, PartitionRef, Retention, Tick, Time, WorkspaceId, WorkspaceRef,
};

pub(super) use self::command::Writer;
pub use self::definition::Requests;
use super::model::{Model, name_hash};
use super::name;

/// What two partitions are given, each in its order.
#[derive(Debug, Clone)]
pub struct History {
    /// Which partition of the app it is.
    shop: PartitionRef,
    shop_entries: Vec<Entry>,
    system_entries: Vec<Entry>,
}

impl History {
    /// A history of so many steps. A step is an entry or a few.
    #[must_use]
    pub fn random(seed: u64, steps: usize) -> Self {
        let mut random = Random::new(Dice::new(seed));
        random.open();
        for _ in 0..steps {
            random.step();
        }
        random.history
    }

    /// Both partitions with their entries.
    #[must_use]
    pub fn partitions(&self) -> [(PartitionRef, &[Entry]); 2] {
        [(SYSTEM, &self.system_entries), (self.shop, &self.shop_entries)]
    }
}

const SYSTEM: PartitionRef = PartitionRef { app: AppId(0), partition: PartitionId(0) };
/// Clocks begin here: the middle of 2026.
const START: u64 = 1_782_000_000_000;
/// The turns of three years, at UTC.
const NEW_YEARS: [u64; 3] = [1_798_761_600_000, 1_830_297_600_000, 1_861_920_000_000];
const HOUR: u64 = 3_600_000;
/// At most so many partitions the app has.
const PARTITIONS: [PartitionId; 3] = [PartitionId(0), PartitionId(1), PartitionId(2)];
const CLIENTS: [&str; 3] = ["pos-1", "pos-2", "büro"];
/// How far back commands are repeated.
const REPEATED: usize = 40;

struct Random {
    dice: Dice,
    now: u64,
    history: History,
    shop: Model,
    system: Model,
    partitions: u64,
    requests: Requests,
    /// All messages to the partition, in their order.
    messages: Vec<Delivery>,
    /// Ticks that were made and not sent yet.
    ticks: Vec<Entry>,
    sent: Vec<Command>,
    keys_given: u128,
}

impl Random {
    fn new(mut dice: Dice) -> Self {
        let partitions = pick(&mut dice, &[1_u8, 3]);
        let partition = pick(&mut dice, &PARTITIONS[..partitions.into()]);
        let shop = PartitionRef { app: AppId(1), partition };
        let requests = Requests::new(&mut dice, partitions.into());
        Self {
            dice,
            now: START,
            history: History { shop, shop_entries: Vec::new(), system_entries: Vec::new() },
            shop: Model::new(shop),
            system: Model::new(SYSTEM),
            partitions: partitions.into(),
            requests,
            messages: Vec::new(),
            ticks: Vec::new(),
            sent: Vec::new(),
            keys_given: 0,
        }
    }

    /// The app is defined, and used too early.
    fn open(&mut self) {
        let early = self.declare();
        self.tell_shop(early);
        self.send_command();
        for define in self.requests.opening() {
            self.tell_system(Body::Define(define));
        }
        self.deliver_all();
    }

    fn step(&mut self) {
        self.pass_time();
        match self.dice.below(100) {
            0..54 => self.send_command(),
            54..66 => self.repeat_command(),
            66..72 => {
                let declare = self.declare();
                self.tell_shop(declare);
            }
            72..84 => self.tick(),
            84..91 => self.define(),
            91..95 => self.deliver(),
            95..98 => {
                let delivered = self.delivered();
                self.tell_system(delivered);
            }
            _ => self.mistake(),
        }
    }

    fn tell_shop(&mut self, body: Body) {
        let entry = Entry { time: self.clock(), body };
        self.shop.apply(&entry);
        self.history.shop_entries.push(entry);
    }

    fn tell_system(&mut self, body: Body) {
        let entry = Entry { time: self.clock(), body };
        let to_shop = self.system.apply(&entry).messages.into_iter();
        let to_shop = to_shop.filter(|(target, _)| *target == self.history.shop);
        self.messages.extend(to_shop.map(|(_, delivery)| delivery));
        self.history.system_entries.push(entry);
    }

    /// What the clock of a proposer shows. Some are late.
    fn clock(&mut self) -> Time {
        let is_late = one_in(&mut self.dice, 12);
        Time(self.now - if is_late { self.dice.below(HOUR) } else { 0 })
    }

    fn pass_time(&mut self) {
        self.now += match self.dice.below(100) {
            0..80 => self.dice.below(1_500),
            80..96 => 0,
            96..98 => self.retention(),
            98 => self.dice.below(10 * HOUR),
            _ => {
                // To an hour in which some sequence's year turns: at +01:00, at UTC, at -12:00.
                let around = |turn: u64| [turn - HOUR, turn, turn + 12 * HOUR];
                let mut turns = NEW_YEARS.into_iter().flat_map(around);
                let next = turns.find(|turn| *turn > self.now + HOUR);
                next.map_or(0, |turn| turn - self.now - self.dice.below(2_000))
            }
        };
        if one_in(&mut self.dice, 30) {
            // The clock is set back.
            self.now -= self.dice.below(20_000);
        }
    }

    /// After so long, everything that is known now is forgotten.
    fn retention(&self) -> u64 {
        match self.shop.state.definitions.as_ref().map(|it| it.app.retention) {
            Some(Retention::Milliseconds(ms)) => ms,
            Some(Retention::Forever) | None => HOUR,
        }
    }

    fn send_command(&mut self) {
        let command = self.command();
        self.sent.push(command.clone());
        self.tell_shop(Body::Command(command));
    }

    fn command(&mut self) -> Command {
        let workspace = self.workspace();
        self.keys_given += 1;
        let key = Key(self.keys_given.to_be_bytes());
        let client = ClientId::new(pick(&mut self.dice, &CLIENTS).as_bytes()).expect("a client");
        let time = self.shop.state.time.max(Time(self.now));
        let dice = Dice::new(self.dice.next_u64());
        Writer::new(dice, &self.shop.state, &workspace, time).command(workspace, client, key)
    }

    /// Something that was sent comes again, or something else under the same key.
    fn repeat_command(&mut self) {
        let recent = &self.sent[self.sent.len().saturating_sub(REPEATED)..];
        let mut command = pick(&mut self.dice, recent);
        match self.dice.below(10) {
            0..6 => {}
            6 => command.deadline = Some(Time(self.now - 1)),
            7 => {
                let other = self.command();
                (command.events, command.if_offset) = (other.events, other.if_offset);
                command.fingerprint = other.fingerprint;
            }
            8 => command.client = ClientId::new(b"somebody").expect("a client"),
            _ => command.workspace = self.workspace(),
        }
        self.sent.push(command.clone());
        self.tell_shop(Body::Command(command));
    }

    fn declare(&mut self) -> Body {
        let workspace = self.workspace();
        let kind = name(pick(&mut self.dice, &["default", "warehouse", "depot", "nowhere"]));
        Body::Declare(Declare { workspace, kind })
    }

    /// Few workspaces, so that much happens in each; some that are new, and some that cannot be.
    fn workspace(&mut self) -> WorkspaceRef {
        let partitions = self.partitions;
        let here = |number| number * partitions + u64::from(self.history.shop.partition.0);
        let id = |id| WorkspaceRef::Id(WorkspaceId(id));
        let named: Vec<u64> = self.shop.state.names.values().copied().collect();
        let dice = &mut self.dice;
        match dice.below(100) {
            0..48 => id(here(1 + dice.below(3))),
            48..85 => WorkspaceRef::Name(name_of(dice.below(3), partitions, here(0))),
            85..86 if !named.is_empty() => id(pick(dice, &named)),
            86..91 => id(here(100 + dice.below(100))),
            91..96 => WorkspaceRef::Name(name_of(3 + dice.below(50), partitions, here(0))),
            96 => id(here(1) + 1),
            97 => WorkspaceRef::Name(name(pick(dice, &["a", "b", "c", "123"]))),
            98 => id(here(1 << 50)),
            _ => id(1 << 53),
        }
    }

    /// A tick as it is due, one that was due earlier, or one that names what it should not.
    fn tick(&mut self) {
        let count_max = pick(&mut self.dice, &[1, 3, 20]);
        let fresh = self.shop.tick(self.shop.state.time.max(Time(self.now)), count_max);
        let tick = match self.dice.below(10) {
            0..6 => fresh,
            6 => {
                self.ticks.push(fresh);
                return;
            }
            7 | 8 => self.ticks.pop().unwrap_or(fresh),
            _ => Entry { time: Time(self.now), body: Body::Tick(self.wrong_tick()) },
        };
        self.shop.apply(&tick);
        self.history.shop_entries.push(tick);
    }

    /// Entities that expire at another time or not at all, keys that were just used, too many of
    /// them, or more of the log than there is.
    fn wrong_tick(&mut self) -> Tick {
        let dice = &mut self.dice;
        let mut tick = Tick::default();
        for (workspace, held) in &self.shop.state.workspaces {
            for (key, entity) in &held.entities {
                let (workspace, key) = (WorkspaceId(*workspace), key.clone());
                let expires_at = entity.expires_at.map_or(self.now, |at| at.0 - dice.below(2));
                tick.entities.push(DueEntity { workspace, key, expires_at: Time(expires_at) });
            }
        }
        let recent = if one_in(dice, 2) { 5 } else { 0 };
        for command in self.sent.iter().rev().take(recent) {
            let WorkspaceRef::Id(workspace) = command.workspace else { continue };
            let (client, key) = (command.client.clone(), command.key);
            tick.keys.push(DueKey { workspace, client, key });
        }
        if let Some(last) = tick.keys.last().cloned().filter(|_| one_in(dice, 3)) {
            tick.keys.resize(1_025, last);
        }
        let beyond = if one_in(dice, 8) { 1_000 } else { 0 };
        let through = self.shop.state.offset.min(dice.below(30)) + beyond;
        Tick { keys_through: PartitionOffset::new(through), ..tick }
    }

    fn define(&mut self) {
        let define = self.requests.next(&mut self.dice);
        self.tell_system(Body::Define(define));
        if !one_in(&mut self.dice, 4) {
            self.deliver_all();
        }
    }

    fn received(&self) -> usize {
        let last = self.shop.state.received.get(&SYSTEM);
        usize::try_from(last.copied().unwrap_or(0)).expect("few messages")
    }

    fn deliver_all(&mut self) {
        for message in self.messages.split_off(self.received()) {
            self.messages.push(message.clone());
            self.tell_shop(Body::Delivery(message));
        }
    }

    /// The next message, one that came before, one that comes too early, or one of a stranger.
    fn deliver(&mut self) {
        let next = self.received();
        let mut message = pick(&mut self.dice, &self.messages);
        match self.dice.below(4) {
            0 if next < self.messages.len() => message = self.messages[next].clone(),
            1 => message.number += 1_000,
            2 => {
                message.source.partition = PartitionId(9);
                message.number += 1;
            }
            _ => {}
        }
        self.tell_shop(Body::Delivery(message));
    }

    fn delivered(&mut self) -> Body {
        let target = PartitionRef { app: AppId(1), partition: pick(&mut self.dice, &PARTITIONS) };
        let first = self.dice.below(20);
        let through = first + self.dice.below(4);
        Body::Delivered(Delivered { target, first, through })
    }

    /// An entry for the other app, or one that says nothing.
    fn mistake(&mut self) {
        match self.dice.below(5) {
            0 => {
                let command = self.command();
                self.tell_system(Body::Command(command));
            }
            1 => {
                let declare = self.declare();
                self.tell_system(declare);
            }
            2 => {
                let define = self.requests.next(&mut self.dice);
                self.tell_shop(Body::Define(define));
            }
            3 => {
                let delivered = self.delivered();
                self.tell_shop(delivered);
            }
            _ => self.tell_system(Body::Tick(Tick::default())),
        }
    }
}

/// The name of a workspace that belongs to a partition.
fn name_of(index: u64, partitions: u64, partition: u64) -> seriatim_types::Name {
    let names = (0..).map(|attempt| name(&format!("store-{index}-{attempt}")));
    let mut here = names.filter(|name| name_hash(name) % partitions == partition);
    here.next().expect("every few names")
}

fn pick<T: Clone>(dice: &mut Dice, from: &[T]) -> T {
    from[dice.index_below(from.len())].clone()
}

fn one_in(dice: &mut Dice, count: u64) -> bool {
    dice.below(count) == 0
}
