//! Runs are offered, leased, renewed, released and taken over.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

use seriatim_lanes::{
    Failure, Idle, Lanes, OfferError, Place, Released, RenewError, Settings, Sharing, SplitError,
    WorkerId,
};
use seriatim_types::limits::{
    HANDLER_RETRIES_MAX, LANE_RUN_PLACES_MAX, LEASE_MS_FIRST, LEASE_MS_MAX, LEASE_MS_MIN,
    LEASE_RENEWALS_MAX,
};
use seriatim_types::{NUMBER_MAX, Time};

use crate::world::{
    FENCE, PROJECTION, WORKER, at, begin, commit, lanes, later, lease, now, offer, pass_through,
    place, settings, shared,
};

fn empty(settings: Settings) -> Lanes {
    Lanes::resume(PROJECTION, None, FENCE, settings)
}

fn places(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

#[test]
fn places_begin_after_the_read_model_and_follow_each_other() {
    let mut fresh = empty(Settings::default());
    assert_eq!(fresh.offer(places(3), 0), Ok(Place::FIRST..=place(3)));
    assert_eq!(fresh.offer(places(1), 0), Ok(place(4)..=place(4)));
    let mut resumed = Lanes::resume(PROJECTION, Some(place(41)), FENCE, Settings::default());
    assert_eq!(resumed.offer(places(2), 0), Ok(place(42)..=place(43)));
    assert_eq!(resumed.committed_through(), Some(place(41)));
    assert_eq!(resumed.offered_through(), Some(place(43)));
}

#[test]
fn the_lowest_free_run_is_leased_first_also_when_it_was_taken_back() {
    let mut lanes = lanes(3);
    let first = lease(&mut lanes, 0);
    let second = lease(&mut lanes, 0);
    assert_eq!((first.first(), first.last(), second.first()), (place(1), place(2), place(3)));
    assert!(matches!(lanes.release(at(1), first, Failure::Stopped), Ok(Released::Free)));
    let again = lease(&mut lanes, 1);
    assert_eq!((again.first(), again.last(), again.attempt()), (place(1), place(2), 2));
    assert_eq!(lease(&mut lanes, 1).first(), place(5));
    assert_eq!(second.attempt(), 1);
}

#[test]
fn tokens_rise_and_no_two_are_equal() {
    let mut lanes = lanes(3);
    let mut tokens = Vec::new();
    for ms in 0..3 {
        let lease = lease(&mut lanes, ms);
        tokens.push(lease.token());
        let _ = lanes.release(at(ms), lease, Failure::Stopped).unwrap();
        tokens.push(crate::world::lease(&mut lanes, ms).token());
    }
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
    assert!(tokens.iter().all(|token| token.fence() == FENCE));
}

#[test]
fn the_window_takes_so_many_runs_and_says_when_it_has_room_again() {
    let mut lanes = empty(settings(2, Sharing::OneProcess));
    offer(&mut lanes, 1);
    let first = lease(&mut lanes, 0);
    let until = Some(first.deadline());
    assert_eq!(lanes.lease(at(0), WORKER).unwrap_err(), Idle::Empty { until });
    offer(&mut lanes, 1);
    let second = lease(&mut lanes, 0);
    assert_eq!(lanes.lease(at(0), WORKER).unwrap_err(), Idle::Full { until });
    let ready = now(&mut lanes, 1, first);
    assert!(!commit(&mut lanes, 1, ready).has_room, "nobody was refused, so nobody waits");
    offer(&mut lanes, 1);
    assert_eq!(lanes.offer(places(2), 100), Err(OfferError::Full { runs: 2, bytes: 200 }));
    let ready = now(&mut lanes, 2, second);
    assert!(commit(&mut lanes, 2, ready).has_room);
    assert!(!pass_through(&mut lanes, 3, 0, 0).has_room, "it was told once");
    assert_eq!(lanes.counts().refused_full, 1);
}

#[test]
fn the_window_takes_so_many_bytes_and_one_run_of_any_size() {
    let bytes_max = NonZeroU64::new(1_000).unwrap();
    let runs_max = NonZeroUsize::new(10).unwrap();
    let mut lanes = empty(Settings { runs_max, bytes_max, sharing: Sharing::OneProcess });
    lanes.offer(places(1), 900).unwrap();
    let full = OfferError::Full { runs: 1, bytes: 900 };
    assert_eq!(lanes.offer(places(1), 101), Err(full));
    lanes.offer(places(1), 100).unwrap();
    assert!(pass_through(&mut lanes, 0, 0, 0).has_room);
    assert!(!pass_through(&mut lanes, 0, 0, 0).has_room);
    lanes.offer(places(1), 5_000).unwrap();
    assert_eq!(lanes.offer(places(1), 0), Err(OfferError::Full { runs: 1, bytes: 5_000 }));
    assert!(pass_through(&mut lanes, 0, 0, 0).has_room);
}

#[test]
fn a_run_has_at_most_512_places_and_an_order_has_an_end() {
    let mut lanes = empty(Settings::default());
    let too_many = LANE_RUN_PLACES_MAX + 1;
    let error = OfferError::TooManyPlaces { places: too_many, places_max: LANE_RUN_PLACES_MAX };
    assert_eq!(lanes.offer(places(too_many), 0), Err(error));
    assert!(lanes.offer(places(LANE_RUN_PLACES_MAX), 0).is_ok());
    let before = Place::new(NUMBER_MAX - 2);
    let mut lanes = Lanes::resume(PROJECTION, before, FENCE, Settings::default());
    assert_eq!(lanes.offer(places(3), 0), Err(OfferError::Exhausted));
    assert!(lanes.offer(places(2), 0).is_ok());
    assert_eq!(lanes.offer(places(1), 0), Err(OfferError::Exhausted));
    let _ = pass_through(&mut lanes, 0, 0, 0);
}

#[test]
fn a_lease_expires_at_its_deadline_and_not_a_millisecond_before() {
    let mut lanes = lanes(1);
    let held = lease(&mut lanes, 0);
    assert_eq!(held.deadline(), at(LEASE_MS_FIRST));
    assert_eq!(lanes.next_time(), Some(at(LEASE_MS_FIRST)));
    assert_eq!(lanes.expire(at(LEASE_MS_FIRST - 1)), []);
    let expired = lanes.expire(at(LEASE_MS_FIRST));
    let [expired] = expired.as_slice() else { panic!("{expired:?}") };
    assert_eq!((expired.first, expired.last), (place(1), place(2)));
    assert_eq!((expired.token, expired.worker), (held.token(), WORKER));
    assert_eq!((expired.deadline, expired.expiries), (held.deadline(), 1));
    assert_eq!(lanes.expire(at(LEASE_MS_FIRST)), [], "it expires once");
    assert_eq!(lanes.next_time(), None);
}

#[test]
fn expired_work_is_taken_over_at_the_same_place_with_a_longer_lease() {
    let mut lanes = lanes(2);
    let hung = lease(&mut lanes, 0);
    let other = lease(&mut lanes, 0);
    let ready = later(&mut lanes, 1, other);
    assert_eq!(lanes.expire(at(LEASE_MS_FIRST)).len(), 1);
    let taken = lanes.lease(at(LEASE_MS_FIRST), WorkerId(2)).unwrap();
    assert_eq!((taken.first(), taken.last()), (hung.first(), hung.last()));
    assert_eq!((taken.attempt(), taken.deadline()), (2, at(3 * LEASE_MS_FIRST)));
    assert!(taken.token() > hung.token());
    let taken = now(&mut lanes, LEASE_MS_FIRST, taken);
    let committed = commit(&mut lanes, LEASE_MS_FIRST, taken);
    assert_eq!(committed.wake.unwrap().token, ready.lease().token());
    assert_eq!(commit(&mut lanes, LEASE_MS_FIRST, ready).through, place(4));
}

#[test]
fn a_lease_is_renewed_six_times_and_then_hung_work_shows() {
    let mut lanes = lanes(1);
    let mut held = lease(&mut lanes, 0);
    let mut ms = 0;
    for _ in 0..LEASE_RENEWALS_MAX {
        ms += LEASE_MS_FIRST - 1;
        assert_eq!(lanes.renew(at(ms), &mut held), Ok(at(ms + LEASE_MS_FIRST)));
        assert_eq!(held.deadline(), at(ms + LEASE_MS_FIRST));
        assert_eq!(lanes.expire(at(ms)), []);
    }
    let too_often =
        RenewError::TooOften { renewals: LEASE_RENEWALS_MAX, deadline: held.deadline() };
    assert_eq!(lanes.renew(at(ms), &mut held), Err(too_often));
    assert_eq!(lanes.expire(held.deadline()).len(), 1);
    assert_eq!(lanes.health().expired, 1);
}

#[test]
fn finished_work_in_one_process_does_not_expire() {
    let mut lanes = lanes(2);
    let hung = lease(&mut lanes, 0);
    let other = lease(&mut lanes, 0);
    let ready = later(&mut lanes, 1, other);
    let expired = lanes.expire(at(100 * LEASE_MS_MAX));
    assert_eq!(expired.iter().map(|it| it.token).collect::<Vec<_>>(), [hung.token()]);
    let _ = pass_through(&mut lanes, 100 * LEASE_MS_MAX, 0, 0);
    assert_eq!(commit(&mut lanes, 100 * LEASE_MS_MAX, ready).through, place(4));
}

#[test]
fn finished_work_of_many_processes_expires_unless_its_holder_renews() {
    let mut lanes = shared(2, Sharing::ManyProcesses);
    let mut blocker = lease(&mut lanes, 0);
    let dead = lease(&mut lanes, 0);
    let dead = later(&mut lanes, 1, dead);
    lanes.renew(at(1_000), &mut blocker).unwrap();
    let expired = lanes.expire(at(LEASE_MS_FIRST));
    let tokens: Vec<_> = expired.iter().map(|expired| expired.token).collect();
    assert_eq!(tokens, [dead.lease().token()]);
    assert!(lanes.reopen(dead).is_err());
}

/// Waiting for others is not hanging. From its turn on a holder has as many renewals as it had left.
#[test]
fn finished_work_is_renewed_as_often_as_it_waits_until_its_turn_has_come() {
    for used in [0, LEASE_RENEWALS_MAX] {
        let mut lanes = shared(2, Sharing::ManyProcesses);
        let blocker = lease(&mut lanes, 0);
        let mut waiting = lease(&mut lanes, 0);
        for _ in 0..used {
            lanes.renew(at(0), &mut waiting).unwrap();
        }
        let mut waiting = later(&mut lanes, 1, waiting);
        let mut ms = 0;
        for _ in 0..3 * LEASE_RENEWALS_MAX {
            ms += LEASE_MS_FIRST - 1;
            assert_eq!(lanes.renew_ready(at(ms), &mut waiting), Ok(at(ms + LEASE_MS_FIRST)));
            lanes.expire(at(ms));
        }
        assert!(lanes.finish(at(ms), blocker).is_err());
        let committed = pass_through(&mut lanes, ms, 0, 0);
        assert_eq!(committed.wake.unwrap().token, waiting.lease().token());
        for _ in used..LEASE_RENEWALS_MAX {
            lanes.renew_ready(at(ms), &mut waiting).unwrap();
        }
        let error = lanes.renew_ready(at(ms), &mut waiting).unwrap_err();
        assert!(matches!(error, RenewError::TooOften { .. }), "{error:?}");
        assert_eq!(lanes.expire(at(ms + LEASE_MS_FIRST)).len(), 1);
    }
}

#[test]
fn a_lease_follows_the_durations_of_past_work() {
    let mut lanes = lanes(1);
    for _ in 0..100 {
        let _ = pass_through(&mut lanes, 0, 200_000, 0);
        offer(&mut lanes, 1);
    }
    // 100,000 ms for each of two places, doubled: between 400 and 500 seconds.
    let estimated = lease(&mut lanes, 0).deadline();
    assert!((at(400_000)..at(500_000)).contains(&estimated), "{estimated:?}");
}

#[test]
fn a_lease_after_quick_work_has_the_length_of_the_floor() {
    let mut lanes = lanes(1);
    for _ in 0..100 {
        let _ = pass_through(&mut lanes, 0, 1, 0);
        offer(&mut lanes, 1);
    }
    assert_eq!(lease(&mut lanes, 0).deadline(), at(LEASE_MS_MIN));
}

#[test]
fn a_failed_handler_is_retried_after_a_delay_at_the_same_place() {
    let mut lanes = lanes(2);
    let failed = lease(&mut lanes, 0);
    let released = lanes.release(at(0), failed, Failure::Handler).unwrap();
    assert!(matches!(released, Released::Retry(time) if time == at(100)), "{released:?}");
    assert_eq!(lanes.next_time(), Some(at(100)));
    // Others may work meanwhile.
    assert_eq!(lanes.lease(at(99), WORKER).unwrap().first(), place(3));
    let until = Some(at(100));
    assert_eq!(lanes.lease(at(99), WORKER).unwrap_err(), Idle::Full { until });
    let again = lanes.lease(at(100), WORKER).unwrap();
    assert_eq!((again.first(), again.attempt()), (place(1), 2));
}

#[test]
fn a_handler_that_fails_too_often_leaves_its_lease_to_the_policy() {
    let mut lanes = lanes(1);
    let mut ms = 0;
    for _ in 0..HANDLER_RETRIES_MAX {
        let lease = lease(&mut lanes, ms);
        let released = lanes.release(at(ms), lease, Failure::Handler).unwrap();
        assert!(matches!(released, Released::Retry(_)), "{released:?}");
        ms += 60_000;
        let _ = lanes.expire(at(ms));
    }
    let poison = lease(&mut lanes, ms);
    let token = poison.token();
    let released = lanes.release(at(ms), poison, Failure::Handler).unwrap();
    let Released::Poison(poison) = released else { panic!("{released:?}") };
    assert_eq!(poison.token(), token);
    // The lease still holds, so the policy can pass the place at its turn.
    let ready = now(&mut lanes, ms, poison);
    let mut commit = begin(&mut lanes, ready);
    commit.pass(place(2), seriatim_lanes::Resolution::Policy).unwrap();
    assert_eq!(lanes.committed(at(ms), commit).unwrap().through, place(2));
    assert_eq!(lanes.counts().passed, 1);
}

#[test]
fn the_database_is_retried_for_ever() {
    let mut lanes = lanes(1);
    let mut ms = 0;
    for _ in 0..1_000 {
        let lease = lanes.lease(at(ms), WORKER).unwrap();
        let released = lanes.release(at(ms), lease, Failure::Database).unwrap();
        let Released::Retry(Time(time)) = released else { panic!("{released:?}") };
        assert!(time > at(ms).0 && time <= at(ms).0 + 10_000, "{time}");
        ms += 10_000;
    }
    let _ = pass_through(&mut lanes, ms, 0, 0);
}

#[test]
fn a_split_run_commits_its_lower_part_alone() {
    let mut lanes = lanes(0);
    lanes.offer(places(10), 500).unwrap();
    let held = lease(&mut lanes, 0);
    let token = held.token();
    let ready = now(&mut lanes, 1, held);
    let error = lanes.split(ready, place(1)).unwrap_err();
    let SplitError::NotInside { at: place_1, ready } = error else { panic!("{error:?}") };
    assert_eq!(place_1, place(1));
    let error = lanes.split(ready, place(11)).unwrap_err();
    let SplitError::NotInside { ready, .. } = error else { panic!("{error:?}") };
    let (lower, upper) = lanes.split(ready, place(4)).unwrap();
    assert_eq!((lower.first(), lower.last()), (place(1), place(3)));
    assert_eq!((upper.first(), upper.last()), (place(4), place(10)));
    assert_eq!(lower.lease().token(), token);
    assert!(upper.lease().token() > token);
    assert_eq!(lanes.stored().runs.iter().map(|run| run.bytes).collect::<Vec<_>>(), [0, 500]);
    let committed = commit(&mut lanes, 1, lower);
    assert_eq!(committed.through, place(3));
    assert_eq!(committed.wake.unwrap().token, upper.lease().token());
    lanes.reopen(upper).unwrap();
    let again = lease(&mut lanes, 2);
    assert_eq!((again.first(), again.last()), (place(4), place(10)));
    let again = now(&mut lanes, 2, again);
    assert_eq!(commit(&mut lanes, 2, again).through, place(10));
    assert_eq!(lanes.runs_in_flight(), 0);
}
