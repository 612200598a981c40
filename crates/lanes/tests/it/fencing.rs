//! A former holder changes nothing, whatever it does later.

use seriatim_lanes::{
    BeginError, Failure, Fence, Fenced, Lanes, Lease, ProjectionId, Ready, RenewError, Settings,
    Sharing, SplitError, Turn,
};

use crate::world::{
    FENCE, PROJECTION, at, begin, commit, lanes, later, lease, now, offer, place, shared, state,
};

/// What a holder of unfinished work may try.
const WITH_A_LEASE: [fn(&mut Lanes, u64, Lease) -> Fenced; 3] = [
    |lanes, ms, mut lease| match lanes.renew(at(ms), &mut lease).unwrap_err() {
        RenewError::Fenced(fenced) => fenced,
        other @ RenewError::TooOften { .. } => panic!("{other}"),
    },
    |lanes, ms, lease| lanes.finish(at(ms), lease).unwrap_err(),
    |lanes, ms, lease| lanes.release(at(ms), lease, Failure::Handler).unwrap_err(),
];

/// What a holder of finished work may try.
const WHEN_READY: [fn(&mut Lanes, u64, Ready) -> Fenced; 4] = [
    |lanes, ms, mut ready| match lanes.renew_ready(at(ms), &mut ready).unwrap_err() {
        RenewError::Fenced(fenced) => fenced,
        other @ RenewError::TooOften { .. } => panic!("{other}"),
    },
    |lanes, _, ready| lanes.reopen(ready).unwrap_err(),
    |lanes, _, ready| match lanes.split(ready, place(2)).unwrap_err() {
        SplitError::Fenced(fenced) => fenced,
        other @ SplitError::NotInside { .. } => panic!("{other}"),
    },
    |lanes, _, ready| match lanes.begin_commit(ready).unwrap_err() {
        BeginError::Fenced(fenced) => fenced,
        other @ (BeginError::NotItsTurn { .. } | BeginError::CommitLost { .. }) => {
            panic!("{other}")
        }
    },
];

/// What may have happened to the run since: nothing, taken over, finished, being committed, gone.
fn go_on(lanes: &mut Lanes, ms: u64, steps: usize) {
    if steps == 0 {
        return;
    }
    let taken = lease(lanes, ms);
    if steps == 1 {
        return;
    }
    let ready = now(lanes, ms, taken);
    match steps {
        2 => assert_eq!(lanes.next_ready().unwrap().first, ready.first()),
        3 => assert_eq!(begin(lanes, ready).first(), place(1)),
        _ => assert_eq!(commit(lanes, ms, ready).through, place(2)),
    }
}

#[test]
fn an_expired_lease_changes_nothing_whatever_became_of_its_run() {
    for (attempt, steps) in (0..WITH_A_LEASE.len()).flat_map(|it| (0..5).map(move |to| (it, to))) {
        let mut lanes = lanes(2);
        let zombie = lease(&mut lanes, 0);
        let (token, deadline) = (zombie.token(), zombie.deadline());
        assert_eq!(lanes.expire(deadline).len(), 1);
        go_on(&mut lanes, 70_000, steps);
        let before = state(&lanes);
        let lost = Fenced::Lost { first: place(1), last: place(2), token };
        assert_eq!(WITH_A_LEASE[attempt](&mut lanes, 80_000, zombie), lost);
        assert_eq!(state(&lanes), before, "attempt {attempt} after {steps} steps");
    }
}

#[test]
fn expired_finished_work_changes_nothing_whatever_became_of_its_run() {
    for (attempt, steps) in (0..WHEN_READY.len()).flat_map(|it| (0..5).map(move |to| (it, to))) {
        let mut lanes = shared(2, Sharing::ManyProcesses);
        let held = lease(&mut lanes, 0);
        let (token, deadline) = (held.token(), held.deadline());
        let zombie = now(&mut lanes, 1, held);
        assert_eq!(lanes.expire(deadline).len(), 1);
        go_on(&mut lanes, 70_000, steps);
        let before = state(&lanes);
        let lost = Fenced::Lost { first: place(1), last: place(2), token };
        assert_eq!(WHEN_READY[attempt](&mut lanes, 80_000, zombie), lost);
        assert_eq!(state(&lanes), before, "attempt {attempt} after {steps} steps");
    }
}

/// The deadline alone takes nothing away: somebody has to be told, and then it is final.
#[test]
fn a_late_holder_whose_run_nobody_took_back_still_has_it() {
    let mut lanes = lanes(1);
    let held = lease(&mut lanes, 0);
    let ready = now(&mut lanes, 999_999, held);
    assert_eq!(commit(&mut lanes, 999_999, ready).through, place(2));
}

#[test]
fn a_lease_of_another_projection_is_refused() {
    let mut other = Lanes::resume(ProjectionId(8), None, FENCE, Settings::default());
    offer(&mut other, 1);
    for attempt in WITH_A_LEASE {
        let mut lanes = lanes(1);
        let lease = lease(&mut lanes, 0);
        let before = state(&other);
        let fenced = Fenced::OtherProjection { held: PROJECTION, this: ProjectionId(8) };
        assert_eq!(attempt(&mut other, 1, lease), fenced);
        assert_eq!(state(&other), before);
    }
}

/// An engine that starts again raises the fence, so a token of before is never drawn again.
#[test]
fn leases_and_commits_from_before_a_restart_change_nothing() {
    let mut old = lanes(3);
    let (first, second, third) = (lease(&mut old, 0), lease(&mut old, 0), lease(&mut old, 0));
    let second = later(&mut old, 1, second);
    let first = now(&mut old, 1, first);
    let open = begin(&mut old, first);
    let mut new = Lanes::resume(PROJECTION, None, Fence(FENCE.0 + 1), Settings::default());
    offer(&mut new, 3);
    let again = [lease(&mut new, 0), lease(&mut new, 0), lease(&mut new, 0)];
    let tokens = [open.leases().next().unwrap().token(), second.lease().token(), third.token()];
    let numbers = tokens.map(|token| token.number());
    assert_eq!(again.each_ref().map(|lease| lease.token().number()), numbers);
    let before = state(&new);
    assert!(matches!(new.begin_commit(second), Err(BeginError::Fenced(_))));
    assert!(new.finish(at(2), third).is_err());
    assert!(new.committed(at(2), open).is_err());
    assert_eq!(state(&new), before);
}

#[test]
fn a_commit_from_before_a_restart_takes_no_run_and_gives_none_back() {
    let mut old = lanes(2);
    let mut opens = Vec::new();
    for _ in 0..2 {
        let mut machine = lanes(2);
        let held = lease(&mut machine, 0);
        let ready = now(&mut machine, 1, held);
        opens.push(begin(&mut machine, ready));
    }
    // The same tokens in the machine that goes on: its first run is committed by itself.
    let held = lease(&mut old, 0);
    let next = lease(&mut old, 0);
    let ready = now(&mut old, 1, held);
    let _ = commit(&mut old, 1, ready);
    let next = match old.finish(at(2), next).unwrap() {
        Turn::Now(ready) | Turn::Later(ready) => ready,
    };
    let before = state(&old);
    let mut stale = opens.pop().unwrap();
    let error = old.extend_commit(&mut stale, next).unwrap_err();
    let BeginError::CommitLost { ready: next } = error else { panic!("{error:?}") };
    assert!(old.not_committed(stale).is_err());
    assert!(old.committed(at(2), opens.pop().unwrap()).is_err());
    assert_eq!(state(&old), before);
    assert_eq!(commit(&mut old, 2, next).through, place(4));
}
