//! What an operator must know of the machine: its disk and its clock. And what a server says at its end
//! if something has stopped.
//!
//! Whether the disk has room and whether the clock is believed is asked, so somebody must look. What
//! happens to partitions is logged by the node where it happens.
//!
//! **Invariant:** one line when something begins and, for what passes by itself, one when it is over;
//! never one for each request.

use std::collections::BTreeMap;
use std::time::Duration;

use seriatim_api::message::Timestamp;
use seriatim_node::{Ahead, ClockAhead, Jump, Node, Reason, State};
use seriatim_server::describe_clock;
use seriatim_storage::CommitError;
use seriatim_types::PartitionRef;

/// What becomes of requests meanwhile.
const EFFECT: &str = "commands are turned away, and reads go on";

/// What was said already.
#[derive(Default)]
pub(crate) struct Alerts {
    is_full: bool,
    is_stalled: bool,
    is_clock_ahead: bool,
}

/// Something that has begun, or is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Alert {
    DiskFull(CommitError),
    DiskHasRoom,
    DiskStalled { pending: Duration, reason: String },
    DiskAnswers,
    ClockAhead(ClockAhead),
    ClockBelieved,
}

impl Alerts {
    /// What has changed. This does not wait for the disk.
    pub(crate) fn look(&mut self, node: &Node) -> Vec<Alert> {
        let mut alerts = Vec::new();
        let full = node.room().err();
        let is_full = full.is_some();
        alerts.extend(full.filter(|_| !self.is_full).map(Alert::DiskFull));
        alerts.extend((self.is_full && !is_full).then_some(Alert::DiskHasRoom));
        self.is_full = is_full;
        let stalled = node.check_sync().err();
        let is_stalled = stalled.is_some();
        alerts.extend(stalled.filter(|_| !self.is_stalled).map(|stalled| Alert::DiskStalled {
            pending: stalled.pending,
            reason: stalled.to_string(),
        }));
        alerts.extend((self.is_stalled && !is_stalled).then_some(Alert::DiskAnswers));
        self.is_stalled = is_stalled;
        let ahead = node.time().err();
        let is_clock_ahead = ahead.is_some();
        alerts.extend(ahead.filter(|_| !self.is_clock_ahead).map(Alert::ClockAhead));
        let is_believed = self.is_clock_ahead && !is_clock_ahead;
        alerts.extend(is_believed.then_some(Alert::ClockBelieved));
        self.is_clock_ahead = is_clock_ahead;
        alerts
    }
}

impl Alert {
    /// Logs it. The end of something is seen by whoever saw its beginning.
    pub(crate) fn log(&self) {
        match self {
            Self::DiskFull(full) => {
                let reason = full.to_string();
                if let CommitError::Full { free_bytes, reserve_bytes } = full {
                    let effect = EFFECT;
                    tracing::warn!(free_bytes, reserve_bytes, reason, effect, "disk almost full");
                } else {
                    tracing::warn!(reason, effect = EFFECT, "disk almost full");
                }
            }
            Self::DiskHasRoom => tracing::warn!("disk has room again"),
            Self::DiskStalled { pending, reason } => {
                let pending_ms = u64::try_from(pending.as_millis()).unwrap_or(u64::MAX);
                tracing::error!(pending_ms, reason, "disk does not answer");
            }
            Self::DiskAnswers => tracing::warn!("disk answers again: the sync has returned"),
            Self::ClockAhead(ahead) => {
                let [time, last_time] =
                    [ahead.time, ahead.last_time].map(|time| Timestamp::from(time).to_string());
                let reason = describe_clock(*ahead);
                tracing::warn!(time, last_time, reason, effect = EFFECT, "clock not believed");
            }
            Self::ClockBelieved => tracing::warn!("clock believed again"),
        }
    }
}

/// Logs that the clock is believed although it is far ahead and nobody vouches for it.
pub(crate) fn log_jump(Jump { from, to }: Jump) {
    let reason = format!(
        "the machine's clock is {} ahead of the newest time in the store, and is believed, as \
         clock.jump_max allows",
        Ahead(to, from)
    );
    let next = "if it is wrong, stop the server and set the clock right: keys, expiries and years end by it";
    let [last_time, time] = [from, to].map(|time| Timestamp::from(time).to_string());
    tracing::warn!(time, last_time, reason, next, "clock far ahead is believed");
}

/// Something that has stopped.
struct Stopped {
    /// What, and why.
    what: String,
    reason: Reason,
}

/// What is said at the end if something has stopped, and what to do about it.
pub(crate) fn at_end(node: &Node) -> Option<(String, &'static str)> {
    let stopped: Vec<Stopped> = stopped(node).into_values().collect();
    let is_damaged = |it: &&Stopped| matches!(it.reason, Reason::Unreadable { .. });
    let most = stopped.iter().find(is_damaged).or(stopped.first())?;
    let next = most.reason.advice();
    let stopped: Vec<&str> = stopped.iter().map(|it| it.what.as_str()).collect();
    Some((format!("ended, but not in good order: {}", stopped.join("; ")), next))
}

/// What has stopped: partitions, or (`None`) the store with all of them.
fn stopped(node: &Node) -> BTreeMap<Option<PartitionRef>, Stopped> {
    let mut stopped = BTreeMap::new();
    for (partition, state) in node.partitions() {
        let State::Stopped(reason) = state else { continue };
        if matches!(reason, Reason::Store { .. }) {
            let what = reason.to_string();
            stopped.entry(None).or_insert(Stopped { what, reason });
            continue;
        }
        let PartitionRef { app, partition: number } = partition;
        let app = node.app_name(app).map_or_else(|| app.to_string(), |name| format!("app {name}"));
        let what = format!("{number} of {app} has stopped: {reason}");
        stopped.insert(Some(partition), Stopped { what, reason });
    }
    stopped
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Condvar, Mutex};
    use std::time::{Duration, Instant};

    use seriatim_node::{Settings, SystemClock, schema};
    use seriatim_storage::hooked::HookedStore;
    use seriatim_storage::memory::MemoryStore;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// Looks until something is to be said.
    fn next(alerts: &mut Alerts, node: &Node) -> Vec<Alert> {
        let begun = Instant::now();
        loop {
            let found = alerts.look(node);
            if !found.is_empty() {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "nothing is said");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_sync_that_hangs_is_said_once_when_it_is_noticed_and_once_when_it_is_over() {
        let gate = Arc::new((Mutex::new(true), Condvar::new()));
        let held = gate.clone();
        let store = HookedStore::new(Arc::new(MemoryStore::new(&schema()))).sync_by(move |store| {
            drop(held.1.wait_while(held.0.lock().unwrap(), |is_held| *is_held).unwrap());
            store.sync()
        });
        let sync_stalled_after = Duration::from_millis(50);
        let settings = Settings { sync_stalled_after, ..Settings::default() };
        // Whatever a start finds is synced before it is shown.
        let node = Node::open(Arc::new(store), Arc::new(SystemClock::new()), settings);
        let mut alerts = Alerts::default();
        let said = next(&mut alerts, &node);
        let [Alert::DiskStalled { pending, reason }] = said.as_slice() else { panic!("{said:?}") };
        assert!(*pending >= sync_stalled_after && reason.starts_with("the disk does not answer"));
        assert!(!node.is_ready());
        assert!((0..10).all(|_| alerts.look(&node).is_empty()), "once");
        *gate.0.lock().unwrap() = false;
        gate.1.notify_all();
        let said = next(&mut alerts, &node);
        assert_eq!(said, [Alert::DiskAnswers]);
        assert!(node.wait_until_ready(PATIENCE));
        assert!(alerts.look(&node).is_empty(), "once");
    }
}
