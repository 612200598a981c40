//! A machine with short names for what the tests do with it.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

use seriatim_lanes::{
    Commit, Committed, Fence, Lanes, Lease, Place, ProjectionId, Ready, Settings, Sharing, Turn,
    WorkerId,
};
use seriatim_types::Time;

pub(crate) const PROJECTION: ProjectionId = ProjectionId(7);
pub(crate) const FENCE: Fence = Fence(3);
pub(crate) const WORKER: WorkerId = WorkerId(1);
/// A time of today, so that an hour back is a time too.
pub(crate) const START: u64 = 1_700_000_000_000;
pub(crate) const HOUR: u64 = 3_600_000;

pub(crate) fn at(ms: u64) -> Time {
    Time(START + ms)
}

pub(crate) fn place(place: u64) -> Place {
    Place::new(place).unwrap()
}

pub(crate) fn settings(runs_max: usize, sharing: Sharing) -> Settings {
    let runs_max = NonZeroUsize::new(runs_max).unwrap();
    Settings { runs_max, bytes_max: NonZeroU64::MAX, sharing }
}

/// A machine of one process with so many runs of two places.
pub(crate) fn lanes(runs: usize) -> Lanes {
    shared(runs, Sharing::OneProcess)
}

pub(crate) fn shared(runs: usize, sharing: Sharing) -> Lanes {
    let mut lanes = Lanes::resume(PROJECTION, None, FENCE, settings(runs.max(1), sharing));
    offer(&mut lanes, runs);
    lanes
}

pub(crate) fn offer(lanes: &mut Lanes, runs: usize) {
    for _ in 0..runs {
        lanes.offer(NonZeroU32::new(2).unwrap(), 100).unwrap();
    }
}

pub(crate) fn lease(lanes: &mut Lanes, ms: u64) -> Lease {
    lanes.lease(at(ms), WORKER).unwrap()
}

/// Finishes a lease whose turn has not come.
pub(crate) fn later(lanes: &mut Lanes, ms: u64, lease: Lease) -> Ready {
    match lanes.finish(at(ms), lease).unwrap() {
        Turn::Later(ready) => ready,
        Turn::Now(ready) => panic!("the turn of {ready:?} has come"),
    }
}

/// Finishes a lease whose turn has come.
pub(crate) fn now(lanes: &mut Lanes, ms: u64, lease: Lease) -> Ready {
    match lanes.finish(at(ms), lease).unwrap() {
        Turn::Now(ready) => ready,
        Turn::Later(ready) => panic!("the turn of {ready:?} has not come"),
    }
}

pub(crate) fn begin(lanes: &mut Lanes, ready: Ready) -> Commit {
    lanes.begin_commit(ready).unwrap()
}

/// Commits one run in a transaction of its own.
pub(crate) fn commit(lanes: &mut Lanes, ms: u64, ready: Ready) -> Committed {
    let commit = begin(lanes, ready);
    lanes.committed(at(ms), commit).unwrap()
}

/// Leases, finishes and commits the lowest run: its work takes this long, then it waits.
pub(crate) fn pass_through(lanes: &mut Lanes, ms: u64, work_ms: u64, wait_ms: u64) -> Committed {
    let lease = lease(lanes, ms);
    let ready = now(lanes, ms + work_ms, lease);
    commit(lanes, ms + work_ms + wait_ms, ready)
}

/// Everything that the machine knows.
pub(crate) fn state(lanes: &Lanes) -> String {
    format!("{lanes:?}")
}
