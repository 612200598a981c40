//! Everything together: what happens next, and what follows from it.
//!
//! ```text
//!  safety    so many steps, with everything that was drawn going wrong
//!  liveness  nothing goes wrong any more: everybody must come to an end, and it must be right
//! ```

mod asking;
pub(crate) mod contended;
mod covering;
mod faults;
mod following;
pub(crate) mod reading;
mod serving;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use seriatim_node::{Settings, State};
use seriatim_storage::faulty::Dice;
use seriatim_testkit::core::{Model, Requests};
use seriatim_types::{
    Declare, Define, DefineRequest, Fingerprint, Key, NUMBER_MAX, Name, PartitionRef, Reset,
    Retention, Time,
};

use crate::agenda::{Agenda, Moment};
use crate::answers::Answer;
use crate::client::{Asked, Client};
use crate::disk::Disk;
use crate::follower::Follower;
use crate::invariants::order::Chains;
use crate::invariants::{self, Violation};
use crate::network::Network;
use crate::oracle::Oracle;
use crate::rates::Rates;
use crate::server::{Clock, Server};
use crate::trace::Trace;

use self::contended::{COUNTER, Contended};
use self::covering::Years;
use self::reading::{Found, Reading, Taken};

/// How long everybody may take to come to an end when nothing goes wrong any more.
const HEALED_FOR: Duration = Duration::from_secs(120);

/// What a long run takes.
const HOURS: Duration = Duration::from_secs(2 * 3_600);

/// How long keys are kept, and how many: some are over within a run, some make the window full.
const WINDOWS: [(Retention, Option<u64>); 8] = [
    (Retention::Milliseconds(1_000), Some(30)),
    (Retention::Milliseconds(4_000), Some(100)),
    (Retention::Milliseconds(15_000), Some(40)),
    (Retention::Milliseconds(600_000), Some(100)),
    (Retention::Milliseconds(3_600_000), Some(10_000)),
    (Retention::Forever, Some(10_000)),
    (Retention::Forever, Some(10_000)),
    (Retention::Forever, None),
];

/// What happens.
#[derive(Debug)]
pub(crate) enum Happening {
    /// A partition is woken, soon after something was sent to it or by its timer.
    Wake {
        life: u64,
        partition: PartitionRef,
        timer: Option<Moment>,
    },
    /// The directory is woken.
    Direct {
        life: u64,
    },
    /// A sync ends: that of a partition, or the syncer's.
    Synced {
        life: u64,
        of: Option<PartitionRef>,
        begun: Result<(), String>,
        is_early: bool,
    },
    /// A command reaches the server.
    Command {
        connection: u64,
        generation: Option<u64>,
        id: u64,
        asked: usize,
    },
    /// A definition reaches the server.
    Define {
        number: u64,
    },
    /// Somebody's wish for the kind of a workspace reaches the server.
    Declare {
        declare: Declare,
    },
    /// An answer reaches a client.
    Answered {
        client: usize,
        life: u64,
        connection: u64,
        id: u64,
        asked: usize,
        answer: Answer,
    },
    /// An answer reaches whoever defines things.
    Defined {
        number: u64,
        came_to: DefinitionEnd,
    },
    /// A client does what it has to do.
    Client {
        client: usize,
        life: u64,
    },
    /// A client finds that its stream is broken.
    Broken {
        client: usize,
        connection: u64,
    },
    /// A read reaches the server, is carried out there, and its answer reaches the client.
    Read {
        reading: usize,
    },
    ReadRuns {
        life: u64,
        reading: usize,
        taken: Box<Taken>,
    },
    ReadAnswered {
        reading: usize,
        offset: u64,
        found: Found,
    },
    /// Whoever defines things sends the next definition, or the same once more.
    Definer,
    /// A follower is given what there is.
    Follow {
        follower: usize,
        connection: u64,
    },
    /// A page of events reaches a follower.
    Page {
        follower: usize,
        connection: u64,
        events: Vec<seriatim_types::Event>,
    },
    Crash,
    /// Somebody ends the process in good order.
    ShutDown,
    /// The process has had its time to end.
    ShutDownOver {
        life: u64,
    },
    Begin,
    Pause,
    /// Somebody looks after the server.
    Operator,
    Restart,
    Jump,
    Cut,
    ClientCrash,
    ClientBegin {
        client: usize,
    },
    FollowerBreaks,
    Lull,
}

/// Everything there is in a run.
pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) rates: Rates,
    /// What goes wrong from some moment on: from the first one, or once the app is defined.
    pub(crate) trouble: Option<Rates>,
    pub(crate) agenda: Agenda<Happening>,
    pub(crate) trace: Trace,
    pub(crate) network: Network,
    pub(crate) disk: Disk,
    pub(crate) settings: Settings,
    /// The longest time that numbers wait for a checkpoint, by the settings of any process.
    pub(crate) checkpoint_delay_max: Duration,
    pub(crate) clock: Clock,
    /// The process that runs, if one does.
    pub(crate) server: Option<Server>,
    /// Counts the processes.
    pub(crate) life: u64,
    /// Until when the process stands still.
    pub(crate) paused_until: Moment,
    /// How often the next end of the process still waits for commits in flight.
    pub(crate) crash_patience: u32,
    /// Until when everybody rests.
    pub(crate) quiet_until: Moment,
    /// What it has missed meanwhile.
    pub(crate) missed: VecDeque<Happening>,
    pub(crate) partitions: u16,
    pub(crate) clients: Vec<Client>,
    pub(crate) asked: Vec<Asked>,
    pub(crate) keys: u128,
    /// The commands by what tells them apart: nobody asks for the same thing under a key twice.
    pub(crate) numbers: BTreeMap<(Key, Fingerprint), usize>,
    pub(crate) contended: Vec<Contended>,
    pub(crate) readings: Vec<Reading>,
    /// How many events are in a partition's log behind each commit, and when that was, by the world's
    /// clock and by the server's.
    pub(crate) committed: BTreeMap<PartitionRef, Vec<(usize, Moment, Time)>>,
    /// How much of a partition's log somebody knows.
    pub(crate) known: BTreeMap<PartitionRef, u64>,
    /// The latest time of any entry.
    pub(crate) latest: Time,
    pub(crate) retention: Retention,
    pub(crate) years: Years,
    pub(crate) followers: Vec<Follower>,
    pub(crate) definer: Definer,
    pub(crate) oracle: Oracle,
    /// What the server has answered to the commands of each stream.
    pub(crate) chains: Chains,
    pub(crate) is_healed: bool,
}

/// Whoever defines things, one after the other.
pub(crate) struct Definer {
    pub(crate) requests: Requests,
    /// What the app begins with and is not defined yet, the next one last.
    pub(crate) opening: Vec<Define>,
    pub(crate) current: Option<Define>,
    pub(crate) number: u64,
    /// How seldom something is defined once the app is there.
    pub(crate) rest: u64,
}

/// What came of a definition.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DefinitionEnd {
    /// All partitions of the app have it, or it was refused.
    Done,
    /// Whoever has asked asks again.
    Open,
}

impl World {
    pub(crate) fn new(seed: u64, trace: Trace) -> Self {
        let mut dice = Dice::new(seed);
        let rates = Rates::draw(&mut dice);
        let partitions = u16::try_from(dice.below(4)).expect("below four").saturating_add(1);
        let requests = Requests::new(&mut dice, partitions);
        let window = WINDOWS.get(dice.index_below(WINDOWS.len()));
        let (retention, keys_max) = window.copied().expect("one of them");
        let opening = opening(&requests, retention, keys_max);
        let rest = if dice.below(3) == 0 { 1 } else { 8 };
        let definer = Definer { requests, opening, current: None, number: 0, rest };
        let disk = Disk::new(&mut dice, &rates);
        let settings = faults::settings(&mut dice);
        let mut world = Self {
            dice,
            rates: Rates::calm(),
            trouble: Some(rates),
            agenda: Agenda::new(),
            trace,
            network: Network::default(),
            disk,
            settings,
            checkpoint_delay_max: Duration::ZERO,
            clock: Clock::default(),
            server: None,
            life: 0,
            paused_until: Duration::ZERO,
            crash_patience: faults::CRASH_WAITS,
            quiet_until: Duration::ZERO,
            missed: VecDeque::new(),
            partitions,
            clients: Vec::new(),
            asked: Vec::new(),
            keys: 0,
            numbers: BTreeMap::new(),
            contended: Vec::new(),
            readings: Vec::new(),
            committed: BTreeMap::new(),
            known: BTreeMap::new(),
            latest: Time(0),
            retention,
            years: Years::default(),
            followers: Vec::new(),
            definer,
            oracle: Oracle::default(),
            chains: Chains::default(),
            is_healed: false,
        };
        world.agenda.after(Duration::ZERO, Happening::Begin);
        world.agenda.after(Duration::from_millis(1), Happening::Definer);
        world.invite_clients();
        world.invite_followers();
        if world.dice.below(4) == 0 {
            world.begin_trouble();
        }
        world
    }

    /// Lets so many things happen, with faults, and then everybody come to an end.
    pub(crate) fn run(&mut self, steps: u64) -> Result<(), Violation> {
        for _ in 0..steps {
            self.step()?;
        }
        self.heal()?;
        // Who rests comes back when the rest is over.
        let deadline = self.agenda.now().max(self.quiet_until).saturating_add(HEALED_FOR);
        while !self.is_over() {
            if self.agenda.now() > deadline {
                let left = invariants::swept::check(self).err();
                return Err(left.unwrap_or_else(|| invariants::progress::stuck(self)));
            }
            self.step()?;
        }
        if self.agenda.now() > HOURS {
            self.count("covered_hours");
        }
        invariants::at_the_end(self)?;
        let (histories, maybes) = invariants::linearizable::check(self)?;
        self.count_more("histories", histories);
        self.count_more("covered_history_with_a_maybe", maybes);
        Ok(())
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        self.count_more(what, 1);
    }

    fn count_more(&mut self, what: &'static str, more: u64) {
        if more > 0 {
            self.trace.count(what, more);
        }
    }

    /// A partition as it should be, with all that was applied.
    pub(crate) fn model(&mut self, partition: PartitionRef) -> &Model {
        self.oracle.ahead(partition)
    }

    /// For whoever looks at the trace alone.
    pub(crate) fn tell_how_far(&self) {
        let events = self.oracle.settled().map(|(_, model)| model.log().len()).sum();
        self.trace.stands_at(self.agenda.now(), events);
    }

    fn step(&mut self) -> Result<(), Violation> {
        self.tell_how_far();
        // What a process that stood still has missed comes first, in its order.
        let is_awake = self.agenda.now() >= self.paused_until;
        let missed = if is_awake { self.missed.pop_front() } else { None };
        let Some(what) = missed.or_else(|| self.agenda.next()) else {
            return Err(Violation::new("progress", "nothing happens any more".to_owned()));
        };
        let is_asleep = self.agenda.now() < self.paused_until || !self.missed.is_empty();
        if !is_awake && is_asleep && what.is_of_server() {
            self.missed.push_back(what);
            return Ok(());
        }
        if self.is_healed && what.is_trouble() {
            return Ok(());
        }
        match what {
            Happening::Wake { life, partition, timer } => self.wake(life, partition, timer),
            Happening::Direct { life } => self.direct(life),
            Happening::Synced { life, of, begun, is_early } => {
                self.synced(life, of, begun, is_early);
            }
            Happening::Command { connection, generation, id, asked } => {
                self.command_arrives(connection, generation, id, asked);
            }
            Happening::Define { number } => self.define_arrives(number),
            Happening::Declare { declare } => self.declare_arrives(declare),
            Happening::Answered { client, life, connection, id, asked, answer } => {
                self.answer_arrives((client, life), connection, (id, asked), answer)?;
            }
            Happening::Defined { number, came_to } => self.defined(number, came_to),
            Happening::Client { client, life } => self.client_acts(client, life)?,
            Happening::Broken { client, connection } => self.stream_breaks(client, connection),
            Happening::Read { reading } => self.read_arrives(reading)?,
            Happening::ReadRuns { life, reading, taken } => {
                self.read_runs(life, reading, &taken)?
            }
            Happening::ReadAnswered { reading, offset, found } => {
                self.read_answered(reading, offset, found)?;
            }
            Happening::Definer => self.definer_acts(),
            Happening::Follow { follower, connection } => self.follow(follower, connection)?,
            Happening::Page { follower, connection, events } => {
                self.page_arrives(follower, connection, events)?;
            }
            Happening::Crash => self.crash_rather_in_flight()?,
            Happening::ShutDown => self.shut_down(),
            Happening::ShutDownOver { life } => self.shut_down_over(life)?,
            Happening::Begin => self.begin_server(),
            Happening::Pause => self.pause(),
            Happening::Operator => self.operator_looks()?,
            Happening::Restart => self.restart_some(),
            Happening::Jump => self.jump(),
            Happening::Cut => self.cut(),
            Happening::ClientCrash => self.client_crashes(),
            Happening::ClientBegin { client } => self.client_begins(client),
            Happening::FollowerBreaks => self.follower_breaks(),
            Happening::Lull => self.lull(),
        }
        self.fulfil()
    }

    /// Whether everybody has come to an end.
    fn is_over(&self) -> bool {
        let is_idle = self.server.as_ref().is_some_and(|server| {
            !server.is_syncing()
                && !server.is_ending()
                && server.states().all(|(_, state)| state == State::Serving)
        });
        is_idle
            && self.definer.current.is_none()
            && self.clients.iter().all(|client| client.is_up && client.kept.is_empty())
            && self.clients.iter().all(|client| client.pipeline.unsettled() == 0)
            && self.have_followers_all()
            && self.server.as_ref().is_some_and(Server::is_quiet)
            && invariants::swept::check(self).is_ok()
    }
}

/// What the app begins with, the first one last.
fn opening(requests: &Requests, window: Retention, most: Option<u64>) -> Vec<Define> {
    let mut opening = requests.opening();
    for define in &mut opening {
        if let DefineRequest::App { retention, keys_max, .. } = &mut define.request {
            (*retention, *keys_max) = (window, most);
        }
    }
    let name = |text| Name::new(text).expect("a short name");
    let request = DefineRequest::Sequence {
        name: name(COUNTER),
        kind: name("default"),
        ranges: vec![(1, NUMBER_MAX)],
        format: "{n}".to_owned(),
        reset: Reset::Never,
        utc_offset_minutes: 0,
    };
    opening.insert(1, Define { app: name("shop"), request });
    opening.reverse();
    opening
}

impl Happening {
    /// Whether it is of what goes wrong.
    fn is_trouble(&self) -> bool {
        matches!(
            self,
            Self::Crash
                | Self::ShutDown
                | Self::Pause
                | Self::Operator
                | Self::Restart
                | Self::Jump
                | Self::Cut
                | Self::ClientCrash
                | Self::FollowerBreaks
                | Self::Lull
        )
    }

    /// Whether a process that stands still does not do it.
    fn is_of_server(&self) -> bool {
        matches!(
            self,
            Self::Wake { .. }
                | Self::Direct { .. }
                | Self::Synced { .. }
                | Self::Command { .. }
                | Self::Read { .. }
                | Self::ReadRuns { .. }
                | Self::Define { .. }
                | Self::Declare { .. }
                | Self::Follow { .. }
        )
    }
}
