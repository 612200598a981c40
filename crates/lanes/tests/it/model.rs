//! Long random histories against the simplest possible thing: a list of places, one after another.
//!
//! The world keeps every lease, finished work and commit that it was ever given, also the worthless
//! ones, and tries them at random at random times. It knows which tokens are current from what the
//! machine said, and nothing else.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::num::NonZeroU32;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use seriatim_lanes::{
    BeginError, Commit, Failure, Fence, Lanes, Lease, Place, Ready, Released, RenewError,
    Resolution, Sharing, SplitError, Token, Turn, WorkerId,
};
use seriatim_types::Time;
use seriatim_types::limits::HANDLER_RETRY_MS_MAX;

use crate::world::{HOUR, PROJECTION, START, place, settings, state};

const RUNS_MAX: usize = 8;

/// What happens next. A number chooses among what there is.
#[derive(Debug, Clone)]
enum Op {
    Offer(u32),
    Lease,
    Renew(usize),
    Finish(usize),
    Release(usize, Failure),
    FailOften(usize),
    RenewReady(usize),
    Reopen(usize),
    Split(usize, u64),
    Begin(usize),
    Extend(usize, usize),
    Pass(usize, u64),
    Committed(usize),
    RolledBack(usize),
    Expire,
    Wait(u64),
    ClockForth,
    ClockBack,
    Restart,
    Reload,
}

fn ops() -> impl Strategy<Value = Op> {
    let any = any::<usize>;
    let failure =
        prop_oneof![Just(Failure::Stopped), Just(Failure::Handler), Just(Failure::Database)];
    prop_oneof![
        12 => (1_u32..5).prop_map(Op::Offer),
        20 => Just(Op::Lease),
        3 => any().prop_map(Op::Renew),
        20 => any().prop_map(Op::Finish),
        4 => (any(), failure).prop_map(|(it, failure)| Op::Release(it, failure)),
        2 => any().prop_map(Op::FailOften),
        2 => any().prop_map(Op::RenewReady),
        2 => any().prop_map(Op::Reopen),
        2 => (any(), 0_u64..6).prop_map(|(it, at)| Op::Split(it, at)),
        20 => any().prop_map(Op::Begin),
        10 => (any(), any()).prop_map(|(it, with)| Op::Extend(it, with)),
        3 => (any(), 0_u64..6).prop_map(|(it, at)| Op::Pass(it, at)),
        12 => any().prop_map(Op::Committed),
        4 => any().prop_map(Op::RolledBack),
        6 => Just(Op::Expire),
        10 => (0_u64..40_000).prop_map(Op::Wait),
        2 => Just(Op::ClockForth),
        2 => Just(Op::ClockBack),
        1 => Just(Op::Restart),
        3 => Just(Op::Reload),
    ]
}

struct World {
    lanes: Lanes,
    sharing: Sharing,
    now: u64,
    fence: Fence,
    leases: Vec<Lease>,
    readies: Vec<Ready>,
    commits: Vec<Commit>,
    /// The tokens that hold something, as far as the machine has said.
    current: BTreeSet<Token>,
    /// Those whose commit has begun.
    begun: BTreeSet<Token>,
    /// The tokens of finished work that were told that their turn has come.
    told: BTreeSet<Token>,
    /// The read model: places in the order in which they were applied or passed.
    applied: Vec<Place>,
    passed: BTreeMap<Place, Resolution>,
    /// Since the machine began.
    passed_here: u64,
    splits: usize,
    /// What has come up, of [`COMES_UP`].
    seen: BTreeSet<&'static str>,
}

impl World {
    fn new(sharing: Sharing) -> Self {
        let lanes = Lanes::resume(PROJECTION, None, Fence(1), settings(RUNS_MAX, sharing));
        Self {
            lanes,
            sharing,
            now: START,
            fence: Fence(1),
            leases: Vec::new(),
            readies: Vec::new(),
            commits: Vec::new(),
            current: BTreeSet::new(),
            begun: BTreeSet::new(),
            told: BTreeSet::new(),
            applied: Vec::new(),
            passed: BTreeMap::new(),
            passed_here: 0,
            splits: 0,
            seen: BTreeSet::new(),
        }
    }

    fn time(&self) -> Time {
        Time(self.now)
    }

    fn step(&mut self, op: &Op) {
        match *op {
            Op::Offer(places) => drop(self.lanes.offer(NonZeroU32::new(places).unwrap(), 10)),
            Op::Lease => self.lease(),
            Op::Renew(it) => self.renew(it),
            Op::Finish(it) => self.finish(it),
            Op::Release(it, failure) => self.release(it, failure),
            Op::FailOften(it) => self.fail_often(it),
            Op::RenewReady(it) => self.renew_ready(it),
            Op::Reopen(it) => self.reopen(it),
            Op::Split(it, at) => self.split(it, at),
            Op::Begin(it) => self.begin(it),
            Op::Extend(it, with) => self.extend(it, with),
            Op::Pass(it, at) => self.pass(it, at),
            Op::Committed(it) => self.committed(it),
            Op::RolledBack(it) => self.rolled_back(it),
            Op::Expire => self.expire(),
            Op::Wait(ms) => self.now += ms,
            Op::ClockForth => self.now += HOUR,
            Op::ClockBack => self.now -= HOUR,
            Op::Restart => self.restart(),
            Op::Reload => self.reload(),
        }
        self.check();
    }

    fn lease(&mut self) {
        if let Ok(lease) = self.lanes.lease(self.time(), WorkerId(1)) {
            assert!(self.current.insert(lease.token()), "a token is drawn once");
            assert!(lease.deadline() > self.time());
            if lease.attempt() > 1 {
                self.seen.insert("taken over");
            }
            self.leases.push(lease);
        }
    }

    fn renew(&mut self, it: usize) {
        let Some(mut lease) = take(&mut self.leases, it) else { return };
        let (token, before) = (lease.token(), state(&self.lanes));
        let now = self.time();
        match self.lanes.renew(now, &mut lease) {
            Ok(_) | Err(RenewError::TooOften { .. }) => self.leases.push(lease),
            Err(RenewError::Fenced(_)) => self.is_worthless(token, &before),
        }
    }

    fn finish(&mut self, it: usize) {
        let Some(lease) = take(&mut self.leases, it) else { return };
        let (token, before) = (lease.token(), state(&self.lanes));
        match self.lanes.finish(self.time(), lease) {
            Ok(turn) => self.registered(turn),
            Err(_) => self.is_worthless(token, &before),
        }
    }

    fn registered(&mut self, turn: Turn) {
        let ready = match turn {
            Turn::Now(ready) => {
                self.told.insert(ready.lease().token());
                ready
            }
            Turn::Later(ready) => {
                self.seen.insert("waits");
                ready
            }
        };
        assert!(self.current.contains(&ready.lease().token()), "a former holder has no turn");
        self.readies.push(ready);
    }

    fn release(&mut self, it: usize, failure: Failure) {
        let Some(lease) = take(&mut self.leases, it) else { return };
        let (token, before) = (lease.token(), state(&self.lanes));
        match self.lanes.release(self.time(), lease, failure) {
            Ok(Released::Poison(lease)) => {
                self.seen.insert("poison");
                self.leases.push(lease);
            }
            Ok(Released::Free | Released::Retry(_)) => assert!(self.current.remove(&token)),
            Err(_) => self.is_worthless(token, &before),
        }
    }

    /// A handler that fails whenever it is tried.
    fn fail_often(&mut self, mut it: usize) {
        for _ in 0..8 {
            self.release(it, Failure::Handler);
            self.now += HANDLER_RETRY_MS_MAX;
            self.lease();
            it = self.leases.len().saturating_sub(1);
        }
    }

    fn renew_ready(&mut self, it: usize) {
        let Some(mut ready) = take(&mut self.readies, it) else { return };
        let (token, before) = (ready.lease().token(), state(&self.lanes));
        let now = self.time();
        match self.lanes.renew_ready(now, &mut ready) {
            Ok(_) | Err(RenewError::TooOften { .. }) => self.readies.push(ready),
            Err(RenewError::Fenced(_)) => self.is_worthless(token, &before),
        }
    }

    fn reopen(&mut self, it: usize) {
        let Some(ready) = take(&mut self.readies, it) else { return };
        let (token, before) = (ready.lease().token(), state(&self.lanes));
        match self.lanes.reopen(ready) {
            Ok(()) => assert!(self.current.remove(&token)),
            Err(_) => self.is_worthless(token, &before),
        }
    }

    fn split(&mut self, it: usize, at: u64) {
        let Some(ready) = take(&mut self.readies, it) else { return };
        let (token, before) = (ready.lease().token(), state(&self.lanes));
        let at = place(ready.first().get() + at);
        match self.lanes.split(ready, at) {
            Ok((lower, upper)) => {
                assert!(self.current.insert(upper.lease().token()), "a token is drawn once");
                self.splits += 1;
                self.readies.extend([lower, upper]);
            }
            Err(SplitError::NotInside { ready, .. }) => self.readies.push(ready),
            Err(SplitError::Fenced(_)) => self.is_worthless(token, &before),
        }
    }

    fn begin(&mut self, it: usize) {
        let Some(ready) = take(&mut self.readies, it) else { return };
        let (token, before) = (ready.lease().token(), state(&self.lanes));
        match self.lanes.begin_commit(ready) {
            Ok(commit) => {
                self.begun.insert(token);
                self.commits.push(commit);
            }
            Err(error) => self.not_begun(error, token, &before),
        }
    }

    fn extend(&mut self, it: usize, with: usize) {
        let Some(mut commit) = take(&mut self.commits, it) else { return };
        if let Some(ready) = take(&mut self.readies, with) {
            let (token, before) = (ready.lease().token(), state(&self.lanes));
            let is_known = self.is_known(&commit);
            match self.lanes.extend_commit(&mut commit, ready) {
                Ok(()) => {
                    assert!(is_known, "a commit that is not known takes no run");
                    self.begun.insert(token);
                }
                Err(error) => {
                    let is_lost = matches!(error, BeginError::CommitLost { .. });
                    assert_eq!(is_lost, !is_known);
                    self.not_begun(error, token, &before);
                }
            }
        }
        self.commits.push(commit);
    }

    fn not_begun(&mut self, error: BeginError, token: Token, before: &str) {
        self.is_unchanged(before);
        match error {
            BeginError::NotItsTurn { ready, .. } => {
                self.seen.insert("not its turn");
                self.readies.push(ready);
            }
            BeginError::CommitLost { ready } => {
                self.seen.insert("extends a commit of before");
                self.readies.push(ready);
            }
            BeginError::Fenced(_) => self.is_worthless(token, before),
        }
    }

    fn pass(&mut self, it: usize, at: u64) {
        let Some(mut commit) = take(&mut self.commits, it) else { return };
        let at = place(commit.first().get() + at);
        let _ = commit.pass(at, Resolution::Policy);
        self.commits.push(commit);
    }

    fn committed(&mut self, it: usize) {
        let Some(commit) = take(&mut self.commits, it) else { return };
        let is_known = self.is_known(&commit);
        let before = state(&self.lanes);
        let places: Vec<Place> = (commit.first().get()..=commit.last().get()).map(place).collect();
        let passed: Vec<_> = commit.passed().collect();
        let tokens: Vec<Token> = commit.leases().map(Lease::token).collect();
        let Ok(committed) = self.lanes.committed(self.time(), commit) else {
            assert!(!is_known, "a commit that began can end");
            self.seen.insert("ends a commit of before");
            return self.is_unchanged(&before);
        };
        assert!(is_known, "a former owner's commit changes nothing");
        assert_eq!(Some(&committed.through), places.last());
        self.applied.extend(places);
        if !passed.is_empty() {
            self.seen.insert("passed");
        }
        self.passed_here += passed.len() as u64;
        self.passed.extend(passed);
        assert!(tokens.iter().all(|token| self.current.remove(token)));
        self.begun.clear();
        if tokens.len() > 1 {
            self.seen.insert("several runs in a commit");
        }
        if let Some(wake) = committed.wake {
            self.seen.insert("woken");
            assert!(self.current.contains(&wake.token), "a former holder is not woken");
            self.told.insert(wake.token);
        }
    }

    fn rolled_back(&mut self, it: usize) {
        let Some(commit) = take(&mut self.commits, it) else { return };
        let is_current = self.is_current(&commit);
        let tokens: Vec<Token> = commit.leases().map(Lease::token).collect();
        let before = state(&self.lanes);
        if let Ok(readies) = self.lanes.not_committed(commit) {
            assert!(is_current, "a former owner's commit gives nothing back");
            // Whoever began it knows that the turn of the first has come.
            self.seen.insert("rolled back");
            self.told.extend(tokens.first());
            self.readies.extend(readies);
            self.begun.retain(|token| !tokens.contains(token));
        } else {
            assert!(!is_current, "a commit that began can end");
            self.is_unchanged(&before);
        }
    }

    fn expire(&mut self) {
        for expired in self.lanes.expire(self.time()) {
            self.seen.insert(if self.finished(expired.token) {
                "finished work expired"
            } else {
                "expired"
            });
            assert!(self.current.remove(&expired.token), "what expires was held");
        }
    }

    fn finished(&self, token: Token) -> bool {
        self.readies.iter().any(|ready| ready.lease().token() == token)
    }

    /// A crash of the engine: what it had in memory is gone, what workers have is not.
    fn restart(&mut self) {
        self.fence = Fence(self.fence.0 + 1);
        let settings = settings(RUNS_MAX, self.sharing);
        let committed = self.applied.last().copied();
        self.lanes = Lanes::resume(PROJECTION, committed, self.fence, settings);
        self.current.clear();
        self.begun.clear();
        (self.splits, self.passed_here) = (0, 0);
    }

    /// Through rows and back. Many processes may do so in the middle of a transaction, whose work
    /// is then lost until it expires.
    fn reload(&mut self) {
        if self.sharing == Sharing::OneProcess && !self.begun.is_empty() {
            return;
        }
        let stored = self.lanes.stored();
        let wake = self.lanes.reload(&stored).unwrap();
        assert_eq!(self.lanes.stored(), stored);
        self.told.extend(wake.map(|wake| wake.token));
        self.begun.clear();
    }

    /// Whether the machine knows that this commit began.
    fn is_known(&self, commit: &Commit) -> bool {
        commit.leases().all(|lease| self.begun.contains(&lease.token()))
    }

    fn is_current(&self, commit: &Commit) -> bool {
        commit.leases().all(|lease| self.current.contains(&lease.token()))
    }

    fn is_worthless(&mut self, token: Token, before: &str) {
        self.seen.insert(if token.fence() == self.fence {
            "fenced"
        } else {
            "fenced by a restart"
        });
        assert!(!self.current.contains(&token), "the holder of {token} is a current one");
        self.is_unchanged(before);
    }

    fn is_unchanged(&self, before: &str) {
        assert_eq!(state(&self.lanes), before, "who is refused changes nothing");
    }

    /// What must hold after every step.
    fn check(&self) {
        self.lanes.check_invariants();
        // The serial model: places one after another, each once.
        let serial: Vec<Place> = (1..=self.applied.len()).map(|at| place(at as u64)).collect();
        assert_eq!(self.applied, serial, "places are committed in order, exactly once");
        assert_eq!(self.lanes.committed_through(), self.applied.last().copied());
        // No wake-up is lost: whose turn it is has been told so.
        if let Some(next) = self.lanes.next_ready() {
            assert!(self.told.contains(&next.token), "{next:?} sleeps for ever");
        }
        let health = self.lanes.health();
        assert_eq!(health.active, self.current.len() as u64);
        // Splitting makes runs without asking the window.
        assert!(self.lanes.runs_in_flight() <= RUNS_MAX + self.splits);
        assert_eq!(self.lanes.counts().passed, self.passed_here);
    }

    /// From here on nothing goes wrong: everything that was offered is committed, in a bounded
    /// number of steps.
    fn drain(&mut self) {
        while let Some(commit) = self.commits.pop() {
            self.commits.push(commit);
            self.rolled_back(0);
        }
        let offered = self.lanes.offered_through();
        let steps_max = 20 * (self.lanes.runs_in_flight() + 1);
        for _ in 0..steps_max {
            if self.lanes.committed_through() == offered {
                return self.check();
            }
            // Whoever was told acts; nobody else is asked whether their turn has come.
            let told = |ready: &Ready| self.told.contains(&ready.lease().token());
            if let Some(it) = self.readies.iter().position(told) {
                self.begin(it);
                let last = self.commits.len().saturating_sub(1);
                self.committed(last);
            } else {
                self.now += 11 * 60 * 1_000;
                self.expire();
                self.lease();
                let last = self.leases.len().saturating_sub(1);
                self.finish(last);
            }
            self.check();
        }
        panic!("{:?} are committed of {offered:?}", self.lanes.committed_through());
    }
}

/// Takes one of them, whichever the number says.
fn take<T>(from: &mut Vec<T>, it: usize) -> Option<T> {
    let index = it.checked_rem(from.len())?;
    Some(from.swap_remove(index))
}

fn history(sharing: Sharing, ops: &[Op]) -> BTreeSet<&'static str> {
    let mut world = World::new(sharing);
    ops.iter().for_each(|op| world.step(op));
    world.drain();
    world.seen
}

/// What random histories must run into, or they would show little.
const COMES_UP: [&str; 14] = [
    "ends a commit of before",
    "expired",
    "extends a commit of before",
    "fenced",
    "fenced by a restart",
    "finished work expired",
    "not its turn",
    "passed",
    "poison",
    "rolled back",
    "several runs in a commit",
    "taken over",
    "waits",
    "woken",
];

/// Runs the same histories each time; `PROPTEST_CASES` asks for more of them. Says what came up.
fn random_histories(sharing: Sharing) -> BTreeSet<&'static str> {
    let default = ProptestConfig::default();
    let cases = env::var("PROPTEST_CASES").map_or(400, |_| default.cases);
    let rng_seed = RngSeed::Fixed(0x5e41_a71a);
    let config = ProptestConfig { cases, rng_seed, failure_persistence: None, ..default };
    let seen = RefCell::new(BTreeSet::new());
    let run = |ops: Vec<Op>| {
        seen.borrow_mut().extend(history(sharing, &ops));
        Ok(())
    };
    if let Err(error) = TestRunner::new(config).run(&vec(ops(), 1..300), run) {
        panic!("{error}");
    }
    seen.into_inner()
}

#[test]
fn random_histories_in_one_process_commit_every_place_once_in_order() {
    let mut expected = BTreeSet::from(COMES_UP);
    expected.remove("finished work expired");
    assert_eq!(random_histories(Sharing::OneProcess), expected);
}

#[test]
fn random_histories_of_many_processes_commit_every_place_once_in_order() {
    assert_eq!(random_histories(Sharing::ManyProcesses), BTreeSet::from(COMES_UP));
}
