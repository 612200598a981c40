//! Runs are committed in the order of their places, and whoever waits is woken once.

use seriatim_lanes::{BeginError, PassError, Resolution, Turn};

use crate::world::{
    at, begin, commit, lanes, later, lease, now, offer, pass_through, place, state,
};

#[test]
fn a_run_is_not_committed_before_all_lower_places() {
    let mut lanes = lanes(3);
    let leases = [lease(&mut lanes, 0), lease(&mut lanes, 0), lease(&mut lanes, 0)];
    let [first, second, third] = leases;
    let third = later(&mut lanes, 1, third);
    let second = later(&mut lanes, 2, second);
    let before = state(&lanes);
    let error = lanes.begin_commit(third).unwrap_err();
    let BeginError::NotItsTurn { ready: third, expected } = error else { panic!("{error:?}") };
    assert_eq!((expected, state(&lanes)), (place(1), before));
    let first = now(&mut lanes, 3, first);
    for (ready, through) in [(first, 2), (second, 4), (third, 6)] {
        assert_eq!(lanes.next_ready().unwrap().token, ready.lease().token());
        assert_eq!(commit(&mut lanes, 4, ready).through, place(through));
    }
    assert_eq!(lanes.committed_through(), Some(place(6)));
}

/// A lease that was released or that expired still blocks: time passes no place.
#[test]
fn a_run_that_nobody_holds_blocks_those_above_it() {
    let mut lanes = lanes(2);
    let hung = lease(&mut lanes, 0);
    let other = lease(&mut lanes, 0);
    let other = later(&mut lanes, 0, other);
    assert_eq!(lanes.expire(hung.deadline()).len(), 1);
    assert_eq!(lanes.next_ready(), None);
    let error = lanes.begin_commit(other).unwrap_err();
    assert!(matches!(error, BeginError::NotItsTurn { .. }), "{error:?}");
}

#[test]
fn a_commit_wakes_the_holder_of_the_next_run_and_nobody_else() {
    let mut lanes = lanes(4);
    let leases: Vec<_> = (0..4).map(|_| lease(&mut lanes, 0)).collect();
    let mut leases = leases.into_iter();
    let first = leases.next().unwrap();
    let waiting: Vec<_> = leases.map(|lease| later(&mut lanes, 1, lease)).collect();
    let mut ready = now(&mut lanes, 2, first);
    for next in waiting {
        let wake = commit(&mut lanes, 2, ready).wake.unwrap();
        assert_eq!((wake.first, wake.token), (next.first(), next.lease().token()));
        ready = next;
    }
    assert_eq!(commit(&mut lanes, 2, ready).wake, None);
}

/// A waiter that registers before, while and after its blocker commits is told in each case, once.
#[test]
fn a_waiter_that_registers_as_its_blocker_commits_is_woken() {
    for moment in 0..4 {
        let mut lanes = lanes(2);
        let mut blocker = Some(lease(&mut lanes, 0));
        let mut waiter = Some(lease(&mut lanes, 0));
        let token = waiter.as_ref().unwrap().token();
        let (mut ready, mut open, mut told) = (None, None, 0);
        for step in 0..4 {
            if step == moment {
                let turn = lanes.finish(at(1), waiter.take().unwrap()).unwrap();
                told += usize::from(matches!(turn, Turn::Now(_)));
            }
            match step {
                0 => ready = Some(now(&mut lanes, 1, blocker.take().unwrap())),
                1 => open = Some(begin(&mut lanes, ready.take().unwrap())),
                2 => {
                    let committed = lanes.committed(at(2), open.take().unwrap()).unwrap();
                    told += committed.wake.iter().filter(|wake| wake.token == token).count();
                }
                _ => {}
            }
        }
        assert_eq!((told, lanes.next_ready().unwrap().token), (1, token), "at moment {moment}");
    }
}

#[test]
fn many_runs_share_a_transaction_and_are_one_step() {
    let mut lanes = lanes(4);
    let leases: Vec<_> = (0..4).map(|_| lease(&mut lanes, 0)).collect();
    let mut readies: Vec<_> = leases
        .into_iter()
        .map(|lease| match lanes.finish(at(1), lease).unwrap() {
            Turn::Now(ready) | Turn::Later(ready) => ready,
        })
        .collect();
    let last = readies.pop().unwrap();
    let third = readies.pop().unwrap();
    let second = readies.pop().unwrap();
    let mut transaction = begin(&mut lanes, readies.pop().unwrap());
    let error = lanes.extend_commit(&mut transaction, third).unwrap_err();
    let BeginError::NotItsTurn { ready: third, expected } = error else { panic!("{error:?}") };
    assert_eq!(expected, place(3));
    lanes.extend_commit(&mut transaction, second).unwrap();
    lanes.extend_commit(&mut transaction, third).unwrap();
    assert_eq!((transaction.first(), transaction.last()), (place(1), place(6)));
    assert_eq!((transaction.places(), transaction.leases().count()), (6, 3));
    // Nothing has moved yet, and the next run is not let in beside it.
    assert_eq!((lanes.committed_through(), lanes.next_ready()), (None, None));
    let error = lanes.begin_commit(last).unwrap_err();
    let BeginError::NotItsTurn { ready: last, expected } = error else { panic!("{error:?}") };
    assert_eq!(expected, place(1));
    let committed = lanes.committed(at(2), transaction).unwrap();
    assert_eq!(committed.wake.unwrap().token, last.lease().token());
    assert_eq!((lanes.counts().committed, lanes.runs_in_flight()), (3, 1));
}

#[test]
fn a_transaction_that_was_rolled_back_leaves_the_turn_where_it_was() {
    let mut lanes = lanes(2);
    let (first, second) = (lease(&mut lanes, 0), lease(&mut lanes, 0));
    let second = later(&mut lanes, 1, second);
    let first = now(&mut lanes, 1, first);
    let before = state(&lanes);
    let mut transaction = begin(&mut lanes, first);
    lanes.extend_commit(&mut transaction, second).unwrap();
    let readies = lanes.not_committed(transaction).unwrap();
    assert_eq!(state(&lanes), before);
    let [first, second] = <[_; 2]>::try_from(readies).unwrap();
    assert_eq!(commit(&mut lanes, 2, first).wake.unwrap().token, second.lease().token());
    assert_eq!(commit(&mut lanes, 2, second).through, place(4));
}

#[test]
fn a_run_in_a_transaction_does_not_expire() {
    let mut lanes = crate::world::shared(1, seriatim_lanes::Sharing::ManyProcesses);
    let held = lease(&mut lanes, 0);
    let deadline = held.deadline();
    let ready = now(&mut lanes, 1, held);
    let transaction = begin(&mut lanes, ready);
    assert_eq!((lanes.next_time(), lanes.expire(deadline)), (None, Vec::new()));
    let readies = lanes.not_committed(transaction).unwrap();
    assert_eq!((readies.len(), lanes.expire(deadline).len()), (1, 1));
}

#[test]
fn a_place_is_passed_only_inside_of_a_commit_and_with_its_resolution() {
    let mut lanes = lanes(2);
    let (first, second) = (lease(&mut lanes, 0), lease(&mut lanes, 0));
    let second = later(&mut lanes, 1, second);
    let first = now(&mut lanes, 1, first);
    let mut transaction = begin(&mut lanes, first);
    let outside = PassError::Outside { place: place(3), first: place(1), last: place(2) };
    assert_eq!(transaction.pass(place(3), Resolution::Skip), Err(outside));
    transaction.pass(place(2), Resolution::Policy).unwrap();
    let already = PassError::Already { place: place(2) };
    assert_eq!(transaction.pass(place(2), Resolution::Skip), Err(already));
    transaction.pass(place(1), Resolution::Skip).unwrap();
    let passed: Vec<_> = transaction.passed().collect();
    assert_eq!(passed, [(place(1), Resolution::Skip), (place(2), Resolution::Policy)]);
    assert_eq!(lanes.counts().passed, 0, "nothing is passed before its commit");
    assert!(lanes.committed(at(2), transaction).unwrap().wake.is_some());
    assert_eq!(lanes.counts().passed, 2);
    // A rolled back transaction has passed nothing.
    let mut transaction = begin(&mut lanes, second);
    transaction.pass(place(4), Resolution::Policy).unwrap();
    let second = lanes.not_committed(transaction).unwrap().pop().unwrap();
    assert_eq!(begin(&mut lanes, second).passed().count(), 0);
    assert_eq!(lanes.counts().passed, 2);
}

#[test]
fn an_empty_machine_waits_for_offers_and_goes_on() {
    let mut lanes = lanes(0);
    assert_eq!((lanes.next_ready(), lanes.next_time()), (None, None));
    for round in 1..=3 {
        offer(&mut lanes, 1);
        assert_eq!(pass_through(&mut lanes, 0, 0, 0).through, place(2 * round));
    }
}
