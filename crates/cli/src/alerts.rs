//! What an operator is told on standard error while the server runs.
//!
//! **Invariant:** one line when something begins and, for what passes by itself, one when it is over;
//! never one for each request.

use std::collections::BTreeMap;

use seriatim_json::write::moment;
use seriatim_node::{Ahead, Jump, Node, Reason, State};
use seriatim_server::describe_clock;
use seriatim_types::PartitionRef;

/// What to do when something has stopped.
const NEXT: &str = "what was acknowledged is on disk, and nothing more is written there: remove the \
                    cause (make room, if the disk is full) and start the server again; `seriatim \
                    verify` tells whether what is stored is sound";

/// The same when a stored row could not be read.
const NEXT_DAMAGED: &str = "nothing more is written to this partition, and rows that can be read are \
                            still answered: stop the server, run `seriatim verify --data FOLDER` to \
                            find all damage, and restore the folder from a copy";

/// What was said already.
#[derive(Default)]
pub(crate) struct Alerts {
    is_full: bool,
    is_stalled: bool,
    is_clock_ahead: bool,
    stopped: BTreeMap<Option<PartitionRef>, Stopped>,
}

/// Something that has stopped.
struct Stopped {
    /// What, and why.
    what: String,
    /// What to do about it.
    next: &'static str,
}

impl Alerts {
    /// The lines that are to be said now. This does not wait for the disk.
    pub(crate) fn look(&mut self, node: &Node) -> Vec<String> {
        let mut lines = Vec::new();
        let full = node.room().err();
        match &full {
            Some(full) if !self.is_full => lines.push(format!(
                "seriatim: {full}; meanwhile commands are turned away, and reads go on"
            )),
            None if self.is_full => lines.push("seriatim: the disk has room again".to_owned()),
            Some(_) | None => {}
        }
        self.is_full = full.is_some();
        let stalled = node.check_sync().err();
        match &stalled {
            Some(stalled) if !self.is_stalled => lines.push(format!("seriatim: {stalled}")),
            None if self.is_stalled => {
                lines.push("seriatim: the disk answers again: the sync has returned".to_owned());
            }
            Some(_) | None => {}
        }
        self.is_stalled = stalled.is_some();
        let ahead = node.time().err();
        match ahead {
            Some(ahead) if !self.is_clock_ahead => lines.push(format!(
                "seriatim: {}. Meanwhile commands are turned away, and reads go on",
                describe_clock(ahead)
            )),
            None if self.is_clock_ahead => {
                lines.push("seriatim: the machine's clock is believed again".to_owned());
            }
            Some(_) | None => {}
        }
        self.is_clock_ahead = ahead.is_some();
        let stopped = stopped(node);
        for (which, Stopped { what, next }) in &stopped {
            // Once for each cause. The store has one, whichever partition was the first to meet it.
            let is_said = |it: &Stopped| which.is_none() || it.what == *what;
            if !self.stopped.get(which).is_some_and(is_said) {
                lines.push(format!("seriatim: {what}; next: {next}"));
            }
        }
        self.stopped = stopped;
        lines
    }
}

/// That the clock is believed although it is far ahead and nobody vouches for it.
pub(crate) fn clock_jump(Jump { from, to }: Jump) -> String {
    format!(
        "seriatim: the machine's clock is {} ahead of the newest time in the store, {}, and is believed, \
         as clock.jump_max allows. If it is wrong, stop the server and set the clock right: keys, expiries \
         and years end by it",
        Ahead(to, from),
        moment(from)
    )
}

/// What is said at the end if something has stopped, and what to do about it.
pub(crate) fn at_end(node: &Node) -> Option<(String, &'static str)> {
    let stopped: Vec<Stopped> = stopped(node).into_values().collect();
    let next = stopped.iter().map(|it| it.next).max_by_key(|next| *next == NEXT_DAMAGED)?;
    let stopped: Vec<String> = stopped.into_iter().map(|it| it.what).collect();
    Some((format!("ended, but not in good order: {}", stopped.join("; ")), next))
}

/// What has stopped: partitions, or (`None`) the store with all of them.
fn stopped(node: &Node) -> BTreeMap<Option<PartitionRef>, Stopped> {
    let mut stopped = BTreeMap::new();
    for (partition, state) in node.partitions() {
        let State::Stopped(reason) = state else { continue };
        if matches!(reason, Reason::Store { .. }) {
            stopped.entry(None).or_insert_with(|| Stopped { what: reason.to_string(), next: NEXT });
            continue;
        }
        let PartitionRef { app, partition: number } = partition;
        let app = node.app_name(app).map_or_else(|| app.to_string(), |name| format!("app {name}"));
        let is_damaged = matches!(reason, Reason::Unreadable { .. });
        let next = if is_damaged { NEXT_DAMAGED } else { NEXT };
        let what = format!("{number} of {app} has stopped: {reason}");
        stopped.insert(Some(partition), Stopped { what, next });
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
    fn next(alerts: &mut Alerts, node: &Node) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let lines = alerts.look(node);
            if !lines.is_empty() {
                return lines;
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
        let [line] = said.as_slice() else { panic!("{said:?}") };
        assert!(line.starts_with("seriatim: the disk does not answer: a sync has been"), "{line}");
        assert!(!node.is_ready());
        assert!((0..10).all(|_| alerts.look(&node).is_empty()), "once");
        *gate.0.lock().unwrap() = false;
        gate.1.notify_all();
        let said = next(&mut alerts, &node);
        assert_eq!(said, ["seriatim: the disk answers again: the sync has returned"]);
        assert!(node.wait_until_ready(PATIENCE));
        assert!(alerts.look(&node).is_empty(), "once");
    }
}
