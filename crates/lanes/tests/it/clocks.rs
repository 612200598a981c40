//! Clocks that jump cost a wait or work that is done twice, never order or fencing.

use seriatim_lanes::{Failure, Idle, Released, Turn};
use seriatim_types::Time;
use seriatim_types::limits::{HANDLER_RETRY_MS_MAX, LEASE_MS_FIRST, LEASE_MS_MAX};

use crate::world::{HOUR, WORKER, at, commit, lanes, later, lease, now, pass_through, place};

#[test]
fn a_clock_an_hour_ahead_takes_work_over_early_and_the_former_holder_changes_nothing() {
    let mut lanes = lanes(2);
    let early = lease(&mut lanes, 0);
    let other = lease(&mut lanes, 0);
    let other = later(&mut lanes, 1, other);
    assert_eq!(lanes.expire(at(HOUR)).len(), 1);
    let taken = lease(&mut lanes, HOUR);
    // The clock is set right, and both holders finish.
    assert!(lanes.finish(at(2), early).is_err());
    let taken = now(&mut lanes, 3, taken);
    assert_eq!(commit(&mut lanes, 4, taken).through, place(2));
    assert_eq!(commit(&mut lanes, 5, other).through, place(4));
}

#[test]
fn a_clock_that_goes_back_an_hour_delays_a_take_over_by_the_longest_lease_at_most() {
    let mut lanes = lanes(1);
    let hung = lease(&mut lanes, HOUR);
    assert_eq!(hung.deadline(), at(HOUR + LEASE_MS_FIRST));
    assert_eq!(lanes.expire(at(0)), []);
    assert_eq!(lanes.next_time(), Some(at(LEASE_MS_MAX)));
    assert_eq!(lanes.expire(at(LEASE_MS_MAX - 1)), []);
    assert_eq!(lanes.expire(at(LEASE_MS_MAX)).len(), 1);
    assert!(lanes.finish(at(LEASE_MS_MAX), hung).is_err());
    assert_eq!(pass_through(&mut lanes, LEASE_MS_MAX, 0, 0).through, place(2));
}

#[test]
fn a_renewal_after_the_clock_went_back_counts_from_the_new_time() {
    let mut lanes = lanes(1);
    let mut held = lease(&mut lanes, HOUR);
    assert_eq!(lanes.renew(at(0), &mut held), Ok(at(LEASE_MS_FIRST)));
    assert_eq!(lanes.expire(at(LEASE_MS_FIRST)).len(), 1);
}

#[test]
fn a_clock_that_goes_back_an_hour_delays_a_retry_by_the_longest_delay_at_most() {
    let mut lanes = lanes(1);
    let failed = lease(&mut lanes, HOUR);
    let released = lanes.release(at(HOUR), failed, Failure::Handler).unwrap();
    assert!(matches!(released, Released::Retry(time) if time == at(HOUR + 100)));
    let until = Some(at(HANDLER_RETRY_MS_MAX));
    assert_eq!(lanes.lease(at(0), WORKER).unwrap_err(), Idle::Full { until });
    assert_eq!(lease(&mut lanes, HANDLER_RETRY_MS_MAX).first(), place(1));
}

#[test]
fn times_that_go_back_count_as_nothing_and_times_at_the_ends_do_not_overflow() {
    let mut lanes = lanes(4);
    let leases = [lease(&mut lanes, HOUR), lease(&mut lanes, 0)];
    let _ = lanes.lease(Time(u64::MAX), WORKER).unwrap();
    let _ = lanes.lease(Time(0), WORKER).unwrap();
    let [first, second] = leases;
    let second = later(&mut lanes, HOUR, second);
    let first = now(&mut lanes, 0, first);
    let _ = commit(&mut lanes, 0, first);
    let _ = commit(&mut lanes, 0, second);
    let health = lanes.health();
    assert!(health.average_wait_ms.abs() < f64::EPSILON, "{health:?}");
    assert_eq!(lanes.expire(Time(u64::MAX)).len(), 2);
    for _ in 0..2 {
        let held = lanes.lease(Time(u64::MAX), WORKER).unwrap();
        let turn = lanes.finish(Time(0), held).unwrap();
        let Turn::Now(ready) = turn else { panic!("{turn:?}") };
        let open = lanes.begin_commit(ready).unwrap();
        let _ = lanes.committed(Time(u64::MAX), open).unwrap();
    }
    assert_eq!(lanes.committed_through(), Some(place(8)));
    lanes.check_invariants();
}
