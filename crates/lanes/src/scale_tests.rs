//! What calls cost, counted in runs that are looked at. Times would only show the machine.

#![expect(clippy::arithmetic_side_effects, reason = "helpers of tests: a panic fails the test")]

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

use seriatim_types::Time;

use crate::{
    Commit, Fence, Lanes, OfferError, ProjectionId, Ready, Settings, Sharing, Turn, WorkerId,
};

/// Runs behind the one that hangs.
const WAITING: usize = 10_000;
/// Looks of one call: at the run itself, at the one after it, at the state before.
const LOOKS_PER_CALL: u64 = 8;
const NOW: Time = Time(1_000);
const WORKER: WorkerId = WorkerId(1);

fn lanes(runs_max: usize) -> Lanes {
    let runs_max = NonZeroUsize::new(runs_max).unwrap();
    let settings = Settings { runs_max, bytes_max: NonZeroU64::MAX, sharing: Sharing::OneProcess };
    Lanes::resume(ProjectionId(1), None, Fence(1), settings)
}

fn offer(lanes: &mut Lanes) -> Result<(), OfferError> {
    lanes.offer(NonZeroU32::new(1).unwrap(), 100).map(|_| ())
}

fn finish(lanes: &mut Lanes) -> Ready {
    let lease = lanes.lease(NOW, WORKER).unwrap();
    match lanes.finish(NOW, lease).unwrap() {
        Turn::Now(ready) | Turn::Later(ready) => ready,
    }
}

/// The looks of one call.
fn looks<T>(lanes: &mut Lanes, call: impl FnOnce(&mut Lanes) -> T) -> (u64, T) {
    let before = lanes.runs.looks.get();
    let result = call(lanes);
    (lanes.runs.looks.get() - before, result)
}

/// Many runs that are finished, and the lowest one that is not.
fn behind_one(waiting: usize) -> (Lanes, crate::Lease, Vec<Ready>) {
    let mut lanes = lanes(waiting + 1);
    (0..=waiting).for_each(|_| offer(&mut lanes).unwrap());
    let hung = lanes.lease(NOW, WORKER).unwrap();
    let mut readies = Vec::new();
    for _ in 0..waiting {
        let (looks, ready) = looks(&mut lanes, finish);
        assert!(looks <= LOOKS_PER_CALL, "registering a waiter looks at {looks} runs");
        readies.push(ready);
    }
    (lanes, hung, readies)
}

#[test]
fn ten_thousand_runs_behind_one_are_committed_one_by_one_at_linear_cost() {
    let (mut lanes, hung, readies) = behind_one(WAITING);
    let mut turn = match lanes.finish(NOW, hung).unwrap() {
        Turn::Now(ready) => Some(ready),
        Turn::Later(ready) => panic!("{ready:?}"),
    };
    let (mut waiting, mut wakes, mut total) = (readies.into_iter(), 0, 0);
    while let Some(ready) = turn {
        let (looks, committed) = looks(&mut lanes, |lanes| {
            let commit = lanes.begin_commit(ready).unwrap();
            lanes.committed(NOW, commit).unwrap()
        });
        // The same however many wait.
        assert!(looks <= LOOKS_PER_CALL, "{looks} with {} in flight", lanes.runs.len());
        total += looks;
        turn = waiting.next();
        wakes += usize::from(committed.wake.is_some());
        let token = turn.as_ref().map(|ready| ready.lease().token());
        assert_eq!(committed.wake.map(|wake| wake.token), token);
    }
    assert_eq!((wakes, lanes.runs.len()), (WAITING, 0));
    assert!(total <= LOOKS_PER_CALL * (WAITING as u64 + 1), "{total}");
}

#[test]
fn ten_thousand_runs_behind_one_are_committed_together_at_linear_cost() {
    let (mut lanes, hung, readies) = behind_one(WAITING);
    let Turn::Now(first) = lanes.finish(NOW, hung).unwrap() else { panic!("it is the lowest") };
    let (looks, committed) = looks(&mut lanes, |lanes| {
        let mut commit: Commit = lanes.begin_commit(first).unwrap();
        for ready in readies {
            lanes.extend_commit(&mut commit, ready).unwrap();
        }
        lanes.committed(NOW, commit).unwrap()
    });
    assert!(looks <= LOOKS_PER_CALL * (WAITING as u64 + 1), "{looks}");
    assert_eq!((committed.wake, lanes.runs.len()), (None, 0));
}

#[test]
fn leasing_and_expiring_do_not_look_at_what_waits() {
    let (mut lanes, hung, _readies) = behind_one(WAITING);
    let (looked, expired) = looks(&mut lanes, |lanes| lanes.expire(hung.deadline()));
    assert!(looked <= LOOKS_PER_CALL && expired.len() == 1, "{looked}");
    let (looked, _) = looks(&mut lanes, |lanes| lanes.lease(NOW, WORKER).unwrap());
    assert!(looked <= LOOKS_PER_CALL, "{looked}");
    let (looked, _) = looks(&mut lanes, |lanes| lanes.expire(NOW));
    assert!(looked <= LOOKS_PER_CALL, "{looked}");
}

/// Everything that the machine keeps, counted.
fn entries(lanes: &Lanes) -> usize {
    lanes.runs.entries()
}

#[test]
fn memory_is_bounded_by_the_window_and_not_by_places() {
    let runs_max = 16;
    let mut lanes = lanes(runs_max);
    let mut most = 0;
    for round in 0..5_000_u64 {
        while offer(&mut lanes).is_ok() {}
        let _ = lanes.lease(Time(round), WORKER).unwrap();
        most = most.max(entries(&lanes));
        // Half of the work is lost and taken over.
        let _ = lanes.expire(Time(round + 1_000_000_000));
        let ready = finish(&mut lanes);
        let commit = lanes.begin_commit(ready).unwrap();
        let _ = lanes.committed(Time(round), commit).unwrap();
        most = most.max(entries(&lanes));
    }
    assert_eq!(lanes.committed_through().unwrap().get(), 5_000);
    assert!(most <= 2 * runs_max, "{most} entries");
    assert!(lanes.window.len() <= 1_024);
}
