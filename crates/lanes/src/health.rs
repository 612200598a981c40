//! How a projection's leases do: what is shown, when it is well, and when somebody should look.
//!
//! | | over the last 1,024 leases that ended | now |
//! |---|---|---|
//! | shown | average wait, utilisation, efficiency | active, waiting, gaps |
//! | healthy | efficiency > 0.95 and average wait < 1 s | |
//! | alerts | expired > 5 %, wait > 5 s | active > 1000, gaps > 100 |
//!
//! **Invariant:** thresholds are compared as integers. At a threshold nothing is raised, and nothing
//! is healthy.
//!
//! **Deliberately absent:** a clock. Time goes by only when a lease ends.

use std::fmt;

use crate::window::Sums;

const HEALTHY_EFFICIENCY_PERCENT: u64 = 95;
const HEALTHY_WAIT_MS: u64 = 1_000;
const ALERT_EXPIRED_PERCENT: u64 = 5;
const ALERT_WAIT_MS: u64 = 5_000;
const ALERT_ACTIVE: u64 = 1_000;
const ALERT_GAPS: u64 = 100;

/// The metrics of a projection's leases. A lease is of a run, and runs are what is counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Health {
    /// Whether efficiency is above 0.95 and the average wait below one second.
    pub is_healthy: bool,
    /// What has passed its threshold.
    pub alerts: Vec<Alert>,
    /// Leases that are held, of finished work too.
    pub active: u64,
    /// Runs that are ready and whose turn has not come.
    pub waiting: u64,
    /// Leases that expired since the machine began.
    pub expired: u64,
    /// Leases that were committed since the machine began.
    pub committed: u64,
    /// From ready to committed, in milliseconds.
    pub average_wait_ms: f64,
    /// The share of the leased time in which work was done; 0 before a lease has ended.
    pub utilisation: f64,
    /// `committed / (committed + expired)`; 1 before a lease has ended.
    pub efficiency: f64,
    /// Runs below the highest ready one that are not ready.
    pub gaps: u64,
}

/// A threshold that was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alert {
    /// More than 5 % of leases expired: they are too short, or workers hang.
    Expired,
    /// Finished work waits more than 5 seconds on average: the work before it is too slow.
    Wait,
    /// More than 1000 leases are held: memory.
    Active,
    /// More than 100 runs below a ready one are not: something low hangs.
    Gaps,
}

/// What there is now, and what was counted since the machine began.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Gauges {
    pub(crate) active: u64,
    pub(crate) waiting: u64,
    pub(crate) gaps: u64,
    pub(crate) expired: u64,
    pub(crate) committed: u64,
}

impl Health {
    pub(crate) fn of(now: Gauges, window: Sums) -> Self {
        let ended = window.committed.saturating_add(window.expired);
        Self {
            is_healthy: is_healthy(window),
            alerts: alerts(now, window),
            active: now.active,
            waiting: now.waiting,
            expired: now.expired,
            committed: now.committed,
            average_wait_ms: ratio(window.wait_ms, window.committed).unwrap_or(0.0),
            utilisation: ratio(window.used_ms, window.leased_ms).unwrap_or(0.0),
            efficiency: ratio(window.committed, ended).unwrap_or(1.0),
            gaps: now.gaps,
        }
    }
}

fn is_healthy(window: Sums) -> bool {
    let ended = window.committed.saturating_add(window.expired);
    let is_efficient = ended == 0 || is_above(window.committed, HEALTHY_EFFICIENCY_PERCENT, ended);
    let is_quick =
        window.committed == 0 || window.wait_ms < HEALTHY_WAIT_MS.saturating_mul(window.committed);
    is_efficient && is_quick
}

fn alerts(now: Gauges, window: Sums) -> Vec<Alert> {
    let ended = window.committed.saturating_add(window.expired);
    let raised = [
        (Alert::Expired, is_above(window.expired, ALERT_EXPIRED_PERCENT, ended)),
        (Alert::Wait, window.wait_ms > ALERT_WAIT_MS.saturating_mul(window.committed)),
        (Alert::Active, now.active > ALERT_ACTIVE),
        (Alert::Gaps, now.gaps > ALERT_GAPS),
    ];
    raised.into_iter().filter(|(_, is_raised)| *is_raised).map(|(alert, _)| alert).collect()
}

/// Whether a part is more than so many hundredths of the whole.
fn is_above(part: u64, percent: u64, whole: u64) -> bool {
    part.saturating_mul(100) > percent.saturating_mul(whole)
}

#[expect(clippy::cast_precision_loss, reason = "shown, never compared")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Alert {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Expired, Self::Wait, Self::Active, Self::Gaps];

    /// The name by which it is shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Wait => "wait",
            Self::Active => "active",
            Self::Gaps => "gaps",
        }
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
