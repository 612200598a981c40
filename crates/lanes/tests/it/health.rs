//! Every metric, and every threshold at its value and right next to it.

use seriatim_lanes::{Alert, Failure, Health, Lanes, Sharing};
use seriatim_types::limits::LEASE_WINDOW;

use crate::world::{at, begin, commit, lanes, later, lease, now, offer, pass_through, shared};

fn empty() -> Lanes {
    shared(0, Sharing::OneProcess)
}

/// So many leases that are committed, each waiting so long.
fn commits(lanes: &mut Lanes, count: u64, wait_ms: u64) {
    for _ in 0..count {
        offer(lanes, 1);
        let _ = pass_through(lanes, 0, 0, wait_ms);
    }
}

/// So many leases that expire. Their run is left to be taken over, and committed in the end.
fn expiries(lanes: &mut Lanes, count: u64) {
    offer(lanes, 1);
    for _ in 0..count {
        let deadline = lease(lanes, 0).deadline();
        assert_eq!(lanes.expire(deadline).len(), 1);
    }
    let _ = pass_through(lanes, 0, 0, 0);
}

#[test]
fn a_machine_that_has_done_nothing_is_healthy() {
    let health = empty().health();
    let expected = Health {
        is_healthy: true,
        alerts: Vec::new(),
        active: 0,
        waiting: 0,
        expired: 0,
        committed: 0,
        average_wait_ms: 0.0,
        utilisation: 0.0,
        efficiency: 1.0,
        gaps: 0,
    };
    assert_eq!(health, expected);
}

#[test]
fn active_waiting_and_gaps_follow_each_lease() {
    let mut lanes = lanes(5);
    let gauges = |lanes: &Lanes| {
        let health = lanes.health();
        [health.active, health.waiting, health.gaps]
    };
    assert_eq!(gauges(&lanes), [0, 0, 0], "a free run is neither");
    let mut leases: Vec<_> = (0..4).map(|_| lease(&mut lanes, 0)).collect();
    assert_eq!(gauges(&lanes), [4, 0, 0]);
    // The fourth is ready, and three below are not.
    let fourth = later(&mut lanes, 1, leases.pop().unwrap());
    assert_eq!(gauges(&lanes), [4, 1, 3]);
    let third = leases.pop().unwrap();
    let _ = lanes.release(at(1), third, Failure::Stopped).unwrap();
    assert_eq!(gauges(&lanes), [3, 1, 3], "a run that was given back is a gap as well");
    let second = later(&mut lanes, 1, leases.pop().unwrap());
    assert_eq!(gauges(&lanes), [3, 2, 2]);
    let first = now(&mut lanes, 1, leases.pop().unwrap());
    assert_eq!(gauges(&lanes), [3, 2, 1], "whose turn it is does not wait");
    let open = begin(&mut lanes, first);
    assert_eq!(gauges(&lanes), [3, 2, 1]);
    assert_eq!(lanes.committed(at(2), open).unwrap().wake.unwrap().first, second.first());
    assert_eq!(gauges(&lanes), [2, 1, 1]);
    let _ = commit(&mut lanes, 2, second);
    assert_eq!(gauges(&lanes), [1, 1, 1]);
    let third = lease(&mut lanes, 2);
    let third = now(&mut lanes, 2, third);
    assert_eq!(gauges(&lanes), [2, 1, 0]);
    let _ = commit(&mut lanes, 2, third);
    let _ = commit(&mut lanes, 2, fourth);
    assert_eq!(gauges(&lanes), [0, 0, 0], "the fifth run is above the highest ready one");
}

#[test]
fn expired_and_committed_are_counted_since_the_start_and_releases_are_not() {
    let mut lanes = empty();
    commits(&mut lanes, 3, 0);
    expiries(&mut lanes, 2);
    offer(&mut lanes, 1);
    let released = lease(&mut lanes, 0);
    let _ = lanes.release(at(0), released, Failure::Handler).unwrap();
    let health = lanes.health();
    assert_eq!((health.committed, health.expired), (4, 2));
    assert!((health.efficiency - 4.0 / 6.0).abs() < 1e-12, "{health:?}");
    assert_eq!(lanes.counts().released, 1);
}

#[test]
fn the_average_wait_is_from_ready_to_committed() {
    let mut lanes = empty();
    for (work_ms, wait_ms) in [(900, 0), (50, 1), (0, 0), (0, 0), (7, 1)] {
        offer(&mut lanes, 1);
        let _ = pass_through(&mut lanes, 0, work_ms, wait_ms);
    }
    assert!((lanes.health().average_wait_ms - 0.4).abs() < 1e-12, "{:?}", lanes.health());
    // An expired lease has not waited, and is no zero in the average either.
    expiries(&mut lanes, 1);
    assert!((lanes.health().average_wait_ms - 2.0 / 6.0).abs() < 1e-12, "{:?}", lanes.health());
}

#[test]
fn utilisation_is_used_time_divided_by_leased_time() {
    let mut lanes = empty();
    offer(&mut lanes, 1);
    // A first lease is 60 s long; waiting is not using.
    let _ = pass_through(&mut lanes, 0, 15_000, 500_000);
    assert!((lanes.health().utilisation - 0.25).abs() < 1e-12, "{:?}", lanes.health());
    offer(&mut lanes, 1);
    // Late, but not taken over: it has used its lease and no more.
    let _ = pass_through(&mut lanes, 0, 90_000, 0);
    assert!((lanes.health().utilisation - 75.0 / 120.0).abs() < 1e-12, "{:?}", lanes.health());
    offer(&mut lanes, 1);
    let deadline = lease(&mut lanes, 0).deadline();
    let _ = lanes.expire(deadline);
    assert!((lanes.health().utilisation - 135.0 / 180.0).abs() < 1e-12, "{:?}", lanes.health());
}

#[test]
fn a_renewed_lease_is_leased_until_its_last_deadline() {
    let mut lanes = lanes(1);
    let mut held = lease(&mut lanes, 0);
    lanes.renew(at(60_000), &mut held).unwrap();
    let ready = now(&mut lanes, 90_000, held);
    let _ = commit(&mut lanes, 90_000, ready);
    assert!((lanes.health().utilisation - 90.0 / 120.0).abs() < 1e-12, "{:?}", lanes.health());
}

#[test]
fn five_percent_expired_raise_no_alert_and_one_more_does() {
    // The run that expires is committed in the end: 19 and 1, 18 and 1.
    let mut lanes = empty();
    commits(&mut lanes, 18, 0);
    expiries(&mut lanes, 1);
    assert_eq!((lanes.health().committed, lanes.health().expired), (19, 1));
    assert_eq!(lanes.health().alerts, []);
    let mut lanes = empty();
    commits(&mut lanes, 17, 0);
    expiries(&mut lanes, 1);
    assert_eq!((lanes.health().committed, lanes.health().expired), (18, 1));
    assert_eq!(lanes.health().alerts, [Alert::Expired]);
}

#[test]
fn an_efficiency_of_95_percent_is_not_healthy_and_a_little_more_is() {
    let mut lanes = empty();
    commits(&mut lanes, 18, 0);
    expiries(&mut lanes, 1);
    assert!((lanes.health().efficiency - 0.95).abs() < 1e-12 && !lanes.health().is_healthy);
    commits(&mut lanes, 1, 0);
    assert!(lanes.health().efficiency > 0.95 && lanes.health().is_healthy);
}

#[test]
fn an_average_wait_of_a_second_is_not_healthy_and_a_little_less_is() {
    let mut lanes = empty();
    commits(&mut lanes, 1, 1_000);
    assert!(!lanes.health().is_healthy);
    assert_eq!(lanes.health().alerts, []);
    let mut lanes = empty();
    commits(&mut lanes, 1, 999);
    assert!(lanes.health().is_healthy);
    // Over many leases it is the sum that counts.
    commits(&mut lanes, 9, 1_000);
    assert!(lanes.health().is_healthy);
    commits(&mut lanes, 1, 1_001);
    assert!(!lanes.health().is_healthy);
}

#[test]
fn an_average_wait_of_five_seconds_raises_no_alert_and_a_little_more_does() {
    let mut lanes = empty();
    commits(&mut lanes, 100, 5_000);
    assert_eq!(lanes.health().alerts, []);
    commits(&mut lanes, 1, 5_001);
    assert_eq!(lanes.health().alerts, [Alert::Wait]);
}

#[test]
fn a_thousand_active_leases_raise_no_alert_and_one_more_does() {
    let mut lanes = lanes(1_001);
    let mut leases: Vec<_> = (0..1_000).map(|_| lease(&mut lanes, 0)).collect();
    assert_eq!((lanes.health().active, lanes.health().alerts), (1_000, vec![]));
    leases.push(lease(&mut lanes, 0));
    assert_eq!((lanes.health().active, lanes.health().alerts), (1_001, vec![Alert::Active]));
    let _ = lanes.release(at(0), leases.pop().unwrap(), Failure::Stopped).unwrap();
    assert_eq!(lanes.health().alerts, []);
}

#[test]
fn a_hundred_gaps_raise_no_alert_and_one_more_does() {
    for (gaps, alerts) in [(100, vec![]), (101, vec![Alert::Gaps])] {
        let mut lanes = lanes(gaps + 1);
        let mut leases: Vec<_> = (0..=gaps).map(|_| lease(&mut lanes, 0)).collect();
        let _ready = later(&mut lanes, 1, leases.pop().unwrap());
        let health = lanes.health();
        assert_eq!((health.gaps, health.alerts), (u64::try_from(gaps).unwrap(), alerts));
    }
}

#[test]
fn ratios_forget_what_is_older_than_1024_leases() {
    let mut lanes = empty();
    expiries(&mut lanes, 60);
    assert_eq!(lanes.health().alerts, [Alert::Expired]);
    let window = u64::try_from(LEASE_WINDOW).unwrap();
    commits(&mut lanes, window - 2, 0);
    let health = lanes.health();
    assert!(health.efficiency < 1.0, "one expired lease is still in the window: {health:?}");
    commits(&mut lanes, 1, 0);
    let health = lanes.health();
    assert!((health.efficiency - 1.0).abs() < f64::EPSILON && health.is_healthy, "{health:?}");
    assert_eq!((health.expired, health.committed), (60, window), "counters forget nothing");
}

#[test]
fn alerts_have_the_names_that_are_shown() {
    assert_eq!(Alert::ALL.map(Alert::name), ["expired", "wait", "active", "gaps"]);
}
