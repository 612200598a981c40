//! What others see of a partition: its view, its state, and whether it has ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use seriatim_storage::Snapshot;
use seriatim_types::WorkspaceId;

use crate::damage::Damage;
use crate::partition::{State, View};
use crate::reply::RequestError;
use crate::watch::{Changed, Interest, Slot, Watchers};

/// What others see of a partition.
#[derive(Debug)]
pub struct Shared {
    seen: Mutex<Seen>,
    /// What its readers report. Views carry it.
    damage: Arc<Damage>,
}

#[derive(Debug)]
struct Seen {
    view: Option<View>,
    state: State,
    is_over: bool,
    watchers: Watchers,
}

impl Shared {
    /// A partition that was not seen yet.
    #[must_use]
    pub fn new(state: State) -> Self {
        Self::reporting_to(state, Damage::default())
    }

    /// The same, with an owner who acts on what readers report.
    pub(crate) fn reporting_to(state: State, damage: Damage) -> Self {
        let watchers = Watchers::default();
        let seen = Mutex::new(Seen { view: None, state, is_over: false, watchers });
        Self { seen, damage: Arc::new(damage) }
    }

    /// What readers may see; `None` before the partition has served for the first time.
    pub fn view(&self) -> Option<View> {
        self.seen().view.clone()
    }

    /// What it is doing. From the moment at which a reader reports damage it is stopped, also while
    /// its owner has not heard of it.
    pub fn state(&self) -> State {
        let state = self.seen().state.clone();
        if matches!(state, State::Stopped(_)) {
            return state;
        }
        self.damage.pending().map_or(state, State::Stopped)
    }

    pub(crate) fn damage(&self) -> &Damage {
        &self.damage
    }

    /// Whether its thread has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.seen().is_over
    }

    /// Whether it takes requests, and can be read.
    pub fn serves(&self) -> bool {
        let seen = self.seen();
        let serves = seen.view.is_some() && seen.state == State::Serving && !seen.is_over;
        serves && self.damage.pending().is_none()
    }

    /// Whether it can be read: what a request is answered if not.
    ///
    /// # Errors
    ///
    /// The answer.
    pub fn check_readable(&self) -> Result<(), RequestError> {
        if self.view().is_some() { Ok(()) } else { Err(self.state().unreadable()) }
    }

    /// Waits until `is_enough` of what is seen, or until the deadline. Returns whether it was.
    pub(crate) fn wait(
        self: &Arc<Self>,
        deadline: Instant,
        mut is_enough: impl FnMut(&Self) -> bool,
    ) -> bool {
        loop {
            let changed = Changed::new(self.clone(), Interest::Partition);
            if is_enough(self) {
                return true;
            }
            if self.is_over() || !changed.wait_until(deadline) {
                return is_enough(self);
            }
        }
    }

    /// Shows what is durable now, and tells those who wait for it.
    pub fn publish(&self, view: View, touched: &[WorkspaceId]) {
        let view = View { damage: Some(self.damage.clone()), ..view };
        let mut seen = self.seen();
        // The old one may be the last to hold its snapshot. It goes when the lock is free.
        let before = seen.view.replace(view);
        let told = seen.watchers.take(touched);
        drop(seen);
        told.iter().for_each(|slot| slot.tell());
        drop(before);
    }

    /// Shows the same as before, by a younger snapshot.
    pub fn renew(&self, snapshot: Arc<dyn Snapshot>) {
        let mut seen = self.seen();
        let before = seen.view.take();
        seen.view = before.as_ref().map(|view| View { snapshot, ..view.clone() });
        drop(seen);
        drop(before);
    }

    /// It does this now. Returns whether it did something else before.
    pub fn set_state(&self, state: State) -> bool {
        let mut seen = self.seen();
        let has_changed = seen.state != state;
        if has_changed {
            seen.state = state;
            Self::tell_all(seen);
        }
        has_changed
    }

    /// Its thread has ended.
    pub fn end(&self) {
        let mut seen = self.seen();
        seen.is_over = true;
        Self::tell_all(seen);
    }

    pub(crate) fn add_watcher(&self, interest: Interest, slot: Arc<Slot>) -> u64 {
        self.seen().watchers.add(interest, slot)
    }

    pub(crate) fn remove_watcher(&self, interest: Interest, number: u64) {
        self.seen().watchers.remove(interest, number);
    }

    fn tell_all(mut seen: MutexGuard<'_, Seen>) {
        let told = seen.watchers.take_all();
        drop(seen);
        told.iter().for_each(|slot| slot.tell());
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
