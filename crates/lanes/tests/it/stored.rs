//! The machine as rows: what is written, and what is refused.

use seriatim_lanes::{
    BeginError, Failure, Fence, Lanes, ReloadError, Sharing, Stored, StoredLease, WorkerId,
};

use crate::world::{
    FENCE, PROJECTION, WORKER, at, begin, commit, later, lease, now, pass_through, place, settings,
    shared, state,
};

/// Another process with the same projection and nothing in memory.
fn process() -> Lanes {
    Lanes::resume(PROJECTION, None, FENCE, settings(10, Sharing::ManyProcesses))
}

#[test]
fn a_row_says_who_has_which_places_until_when() {
    let mut lanes = shared(3, Sharing::ManyProcesses);
    let mut held = lanes.lease(at(5), WorkerId(9)).unwrap();
    lanes.renew(at(6), &mut held).unwrap();
    let failed = lease(&mut lanes, 5);
    let _ = lanes.release(at(5), failed, Failure::Database).unwrap();
    let stored = lanes.stored();
    assert_eq!((stored.fence, stored.committed, stored.tokens_drawn), (FENCE, None, 2));
    let row = stored.runs[0];
    let lease = StoredLease {
        token_number: held.token().number(),
        worker: WorkerId(9),
        leased_at: at(5),
        deadline: at(60_006),
        renewals: 1,
    };
    assert_eq!((row.first, row.last, row.lease), (place(1), place(2), Some(lease)));
    assert_eq!((row.bytes, row.tries.attempts, row.not_before), (100, 1, None));
    assert_eq!((stored.runs[1].not_before, stored.runs[1].lease), (Some(at(105)), None));
    assert_eq!(stored.runs[1].tries.database_failures, 1);
    assert_eq!((stored.runs[2].tries.attempts, stored.runs[2].lease), (0, None));
}

#[test]
fn processes_that_share_rows_work_side_by_side_and_commit_in_order() {
    let (mut one, mut two) = (shared(2, Sharing::ManyProcesses), process());
    let first = lease(&mut one, 0);
    two.reload(&one.stored()).unwrap();
    let second = lease(&mut two, 0);
    assert_eq!(second.first(), place(3));
    let waiting = later(&mut two, 1, second);
    one.reload(&two.stored()).unwrap();
    let first = now(&mut one, 2, first);
    let committed = commit(&mut one, 2, first);
    assert_eq!((committed.through, committed.wake), (place(2), None), "a row says not who waits");
    // The other process looks again when it is notified, and finds that its turn has come.
    let wake = two.reload(&one.stored()).unwrap().unwrap();
    assert_eq!(wake.token, waiting.lease().token());
    assert_eq!(commit(&mut two, 3, waiting).through, place(4));
    assert_eq!(two.stored().runs, []);
}

#[test]
fn a_process_that_was_paused_beyond_its_deadline_changes_nothing() {
    let (mut one, mut two) = (shared(1, Sharing::ManyProcesses), process());
    let paused = lease(&mut one, 0);
    two.reload(&one.stored()).unwrap();
    assert_eq!(two.expire(paused.deadline()).len(), 1);
    let taken = lease(&mut two, 60_000);
    one.reload(&two.stored()).unwrap();
    let before = state(&one);
    assert!(one.finish(at(60_001), paused).is_err());
    assert_eq!(state(&one), before);
    two.reload(&one.stored()).unwrap();
    let taken = now(&mut two, 60_002, taken);
    assert_eq!(commit(&mut two, 60_003, taken).through, place(2));
}

/// What was finished under the former token says nothing of the work under the new one.
#[test]
fn finished_work_of_a_former_holder_is_not_taken_for_that_of_the_new_one() {
    let (mut one, mut two) = (shared(1, Sharing::ManyProcesses), process());
    let held = lease(&mut one, 0);
    let deadline = held.deadline();
    let stored = one.stored();
    let former = now(&mut one, 1, held);
    two.reload(&stored).unwrap();
    assert_eq!(two.expire(deadline).len(), 1);
    let taken = lease(&mut two, 60_000);
    assert_eq!(one.reload(&two.stored()), Ok(None));
    assert!(one.begin_commit(former).is_err());
    let taken = now(&mut two, 60_001, taken);
    assert_eq!(commit(&mut two, 60_001, taken).through, place(2));
}

#[test]
fn a_transaction_whose_outcome_is_unknown_is_settled_by_the_rows() {
    for is_committed in [false, true] {
        let mut lanes = shared(2, Sharing::ManyProcesses);
        let held = lease(&mut lanes, 0);
        let before = lanes.stored();
        let ready = now(&mut lanes, 1, held);
        let open = begin(&mut lanes, ready);
        let after = Stored {
            committed: Some(place(2)),
            runs: before.runs.iter().skip(1).copied().collect(),
            ..before.clone()
        };
        lanes.reload(if is_committed { &after } else { &before }).unwrap();
        if is_committed {
            assert!(lanes.not_committed(open).is_err(), "its places are in the read model");
        } else {
            let ready = lanes.not_committed(open).unwrap().pop().unwrap();
            assert_eq!(commit(&mut lanes, 2, ready).through, place(2));
        }
        assert_eq!(pass_through(&mut lanes, 2, 0, 0).through, place(4));
    }
}

#[test]
fn after_a_reload_only_the_rows_say_that_a_commit_happened() {
    let mut lanes = shared(1, Sharing::ManyProcesses);
    let held = lease(&mut lanes, 0);
    let ready = now(&mut lanes, 1, held);
    let open = begin(&mut lanes, ready);
    let stored = lanes.stored();
    lanes.reload(&stored).unwrap();
    assert!(lanes.committed(at(2), open).is_err());
    assert_eq!(lanes.committed_through(), None);
}

/// The rows of before: the process has drawn a token that was never stored.
#[test]
fn a_token_of_a_transaction_that_was_rolled_back_is_not_drawn_again() {
    let mut lanes = shared(1, Sharing::ManyProcesses);
    let before = lanes.stored();
    let dropped = lease(&mut lanes, 0);
    lanes.reload(&before).unwrap();
    let again = lease(&mut lanes, 0);
    assert!(again.token() > dropped.token());
    assert!(lanes.finish(at(1), dropped).is_err());
    assert_eq!(now(&mut lanes, 1, again).first(), place(1));
}

/// PostgreSQL may lose its last commits: the high-water mark goes back, and so does everybody.
#[test]
fn rows_that_have_gone_back_are_taken_as_they_are() {
    let mut lanes = shared(2, Sharing::ManyProcesses);
    let before = lanes.stored();
    let (first, second) = (lease(&mut lanes, 0), lease(&mut lanes, 0));
    let second = later(&mut lanes, 1, second);
    let first = now(&mut lanes, 1, first);
    let _ = commit(&mut lanes, 1, first);
    let open = begin(&mut lanes, second);
    assert_eq!(lanes.reload(&before), Ok(None));
    assert!(lanes.not_committed(open).is_err());
    assert_eq!(pass_through(&mut lanes, 2, 0, 0).through, place(2));
    assert_eq!(pass_through(&mut lanes, 2, 0, 0).through, place(4));
}

#[test]
fn metrics_durations_and_what_is_finished_stay_in_the_process() {
    let mut lanes = shared(3, Sharing::ManyProcesses);
    let _ = pass_through(&mut lanes, 0, 10, 3);
    let deadline = lease(&mut lanes, 0).deadline();
    assert_eq!(lanes.expire(deadline).len(), 1);
    let third = lease(&mut lanes, 0);
    let second = lease(&mut lanes, 0);
    let _ready = (later(&mut lanes, 1, second), third);
    let (before, stored) = (state(&lanes), lanes.stored());
    assert_eq!(lanes.reload(&stored), Ok(None));
    assert_eq!(state(&lanes), before);
}

#[test]
fn another_owner_is_noticed_before_anything_changes() {
    let mut lanes = shared(1, Sharing::ManyProcesses);
    let before = state(&lanes);
    let stored = Stored { fence: Fence(4), ..lanes.stored() };
    assert_eq!(lanes.reload(&stored), Err(ReloadError::Fenced { stored: 4, this: 3 }));
    assert_eq!(state(&lanes), before);
}

#[test]
fn rows_that_contradict_each_other_are_refused_and_change_nothing() {
    let mut lanes = shared(3, Sharing::ManyProcesses);
    for _ in 0..3 {
        let _ = lanes.lease(at(0), WORKER).unwrap();
    }
    let before = state(&lanes);
    let refused = |lanes: &mut Lanes, change: fn(&mut Stored)| {
        let mut stored = lanes.stored();
        change(&mut stored);
        let error = lanes.reload(&stored).unwrap_err();
        assert_eq!(state(lanes), before, "{error}");
        error
    };
    let gap = |found| ReloadError::Gap { found: place(found) };
    assert_eq!(refused(&mut lanes, |it| it.runs.retain(|run| run.first != place(3))), gap(5));
    assert_eq!(refused(&mut lanes, |it| it.runs.retain(|run| run.first != place(1))), gap(3));
    assert_eq!(refused(&mut lanes, |it| it.runs.swap(0, 1)), gap(3));
    assert_eq!(refused(&mut lanes, |it| it.runs[1].first = place(2)), gap(2));
    assert_eq!(refused(&mut lanes, |it| it.runs[2].last = place(4)), gap(5));
    assert_eq!(refused(&mut lanes, |it| it.committed = Some(place(1))), gap(1));
    let token = |number, drawn| ReloadError::Token { number, drawn };
    assert_eq!(refused(&mut lanes, |it| it.tokens_drawn = 2), token(3, 2));
    let twice = refused(&mut lanes, |it| it.runs[1].lease = it.runs[0].lease);
    assert_eq!(twice, token(1, 3));
}

#[test]
fn work_whose_turn_has_not_come_is_not_committed_after_a_reload_either() {
    let mut lanes = shared(2, Sharing::ManyProcesses);
    let _first = lease(&mut lanes, 0);
    let second = lease(&mut lanes, 0);
    let second = later(&mut lanes, 1, second);
    let stored = lanes.stored();
    lanes.reload(&stored).unwrap();
    let error = lanes.begin_commit(second).unwrap_err();
    assert!(matches!(error, BeginError::NotItsTurn { .. }), "{error:?}");
}
