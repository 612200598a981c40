//! The proposing half of a partition: requests in, entries with their time out.
//!
//! ```text
//!  take ─► queue ─► propose(now) ─► entries
//!           ▲
//!  tick ────┘ in front of what waits
//! ```
//!
//! **Invariant:** a request has no time before it is proposed and keeps its time afterwards.

use std::collections::VecDeque;

use seriatim_types::{Body, Entry, Tick, Time};

use super::applier::Applier;
use super::due::Due;
use super::{Replies, has_passed, is_told};
use crate::reply::{Reason, RequestError};
use crate::settings::Settings;

/// The proposing half of a partition.
pub(super) struct Proposer<R> {
    settings: Settings,
    /// Requests, and ticks, which nobody waits for.
    queue: VecDeque<(Body, Option<R>)>,
    ticked_at: Time,
    /// Whether the last tick was full, so that more is due.
    has_more_due: bool,
}

impl<R> Proposer<R> {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, queue: VecDeque::new(), ticked_at: Time(0), has_more_due: false }
    }

    /// Takes a request that was admitted.
    pub(super) fn take(&mut self, body: Body, handle: R) {
        self.queue.push_back((body, Some(handle)));
    }

    /// Gives the oldest requests their time, as many as one batch may hold.
    pub(super) fn propose(&mut self, now: Time) -> impl Iterator<Item = (Entry, Option<R>)> {
        let count = self.queue.len().min(self.settings.batch_entries_max);
        self.queue.drain(..count).map(move |(body, handle)| (Entry { time: now, body }, handle))
    }

    /// Puts a tick into the queue if it is time and something is due.
    pub(super) fn propose_tick(&mut self, applier: &Applier<R>, now: Time) -> Result<(), Reason> {
        if !has_passed(self.ticked_at, now, self.settings.tick_interval) {
            return Ok(());
        }
        let Due { entities, keys, keys_through, is_full } = applier.due(now)?;
        // A full step is followed by the next one at once.
        self.has_more_due = is_full;
        if !is_full {
            self.ticked_at = now;
        }
        if !entities.is_empty() || keys_through.is_some() {
            let tick = Tick { entities, keys, keys_through };
            // Before what waits: room that it makes may be what a command waits for.
            self.queue.push_front((Body::Tick(tick), None));
        }
        Ok(())
    }

    /// Answers what callers have queued. Messages of other partitions stay.
    pub(super) fn turn_away(&mut self, error: &RequestError) -> Replies<R> {
        let queue = std::mem::take(&mut self.queue);
        let (told, asked): (VecDeque<_>, VecDeque<_>) =
            queue.into_iter().partition(|(body, _)| is_told(body));
        self.queue = told;
        let handles = asked.into_iter().filter_map(|(_, handle)| handle);
        handles.map(|handle| (handle, Err(error.clone()))).collect()
    }

    /// Answers everything that is queued.
    pub(super) fn drain(&mut self, error: &RequestError) -> Replies<R> {
        let handles = self.queue.drain(..).filter_map(|(_, handle)| handle);
        handles.map(|handle| (handle, Err(error.clone()))).collect()
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Whether there is something to propose at once.
    pub(super) fn has_more(&self) -> bool {
        !self.queue.is_empty() || self.has_more_due
    }
}
