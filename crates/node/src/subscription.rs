//! Following a log: first what is stored, then what is added, from the same place.
//!
//! ```text
//!   1 2 3 4 5 6 7 8 9 …      the log, as of the last durable commit
//!         └─ next            everything before it was given, in order, once
//! ```
//!
//! A subscription has a place in the log and nothing else: no queue that could overflow, so there
//! is no seam between stored and live at which an event could be lost or given twice, and a slow
//! subscriber costs no memory. Still nothing is silent: one that had caught up and has fallen too
//! far behind since is told so, with the place to go on from.

use std::sync::Arc;
use std::time::Instant;

use seriatim_codec::PartitionPrefix;
use seriatim_core::Committed;
use seriatim_planted::{self as planted, Bug};
use seriatim_storage::Schema;
use seriatim_types::{PartitionId, WorkspaceId, WorkspaceRef};

use crate::partition::State;
use crate::reads::{ReadFailed, Reader};
use crate::reply::Reason;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::watch::{Changed, Interest};

/// A log that can be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Log {
    /// That of a workspace, which needs not be there yet.
    Workspace(WorkspaceRef),
    /// That of a partition.
    Partition(PartitionId),
}

/// A place in a log, from which events are given as they become durable.
#[derive(Debug)]
pub struct Subscription {
    shared: Arc<Shared>,
    schema: Schema,
    prefix: PartitionPrefix,
    followed: Followed,
    next: u64,
    /// Whether it has given everything that there was at some time.
    is_live: bool,
    page_events: usize,
    lag_max: u64,
}

#[derive(Debug)]
enum Followed {
    Partition,
    /// A workspace that has no id yet, or whose id was not looked up.
    Named(WorkspaceRef),
    Workspace(WorkspaceId),
}

/// Why a subscription gives no more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubscribeError {
    /// It had caught up, and has fallen too far behind since. A new one from the given offset on
    /// misses nothing.
    #[error("the subscription is {behind} events behind: go on from {resume_from} with a new one")]
    Lagged {
        /// The first event that was not given.
        resume_from: u64,
        /// How many there are from that one on.
        behind: u64,
    },
    /// The log could not be read.
    #[error("the log cannot be read")]
    Read(#[from] ReadFailed),
    /// The partition has stopped, and everything before was given.
    #[error("the partition has stopped")]
    Stopped(#[source] Reason),
    /// The node has ended, and everything before was given.
    #[error("the node has ended")]
    Ended,
}

impl Subscription {
    #[doc(hidden)]
    #[must_use]
    pub fn new(
        shared: Arc<Shared>,
        schema: Schema,
        prefix: PartitionPrefix,
        log: Log,
        from: u64,
        settings: &Settings,
    ) -> Self {
        let followed = match log {
            Log::Partition(_) => Followed::Partition,
            Log::Workspace(workspace) => Followed::Named(workspace),
        };
        let back = u64::from(planted::is(Bug::SubscriptionRepeats));
        let next = from.saturating_sub(back).max(1);
        let (page_events, lag_max) = (settings.page_events.max(1), settings.subscription_lag_max);
        Self { shared, schema, prefix, followed, next, is_live: false, page_events, lag_max }
    }

    /// The offset of the next event that it gives.
    #[must_use]
    pub fn next_offset(&self) -> u64 {
        self.next
    }

    /// Told when [`take`](Self::take) may give more. Ask for it before taking, so that nothing
    /// comes in between.
    #[must_use]
    pub fn changed(&self) -> Changed {
        let interest = match &self.followed {
            Followed::Workspace(workspace) => Interest::Workspace(*workspace),
            Followed::Partition | Followed::Named(_) => Interest::Partition,
        };
        Changed::new(self.shared.clone(), interest)
    }

    /// Events that are durable and were not given yet, at most a page; none when there are none
    /// now.
    ///
    /// # Errors
    ///
    /// When it cannot go on.
    pub fn take(&mut self) -> Result<Vec<Committed>, SubscribeError> {
        let (is_over, state) = (self.shared.is_over(), self.shared.state());
        let events = self.read()?;
        match state {
            _ if !events.is_empty() => Ok(events),
            State::Stopped(reason) => Err(SubscribeError::Stopped(reason)),
            State::Actualizing(_) | State::Serving if is_over => Err(SubscribeError::Ended),
            State::Actualizing(_) | State::Serving => Ok(events),
        }
    }

    /// The last events that were [taken](Self::take), so many of them, are given again.
    pub fn give_back(&mut self, events: usize) {
        let events = u64::try_from(events).expect("a page is short");
        self.next = self.next.saturating_sub(events);
    }

    /// The next events, once there are some.
    ///
    /// # Errors
    ///
    /// When it cannot go on.
    pub async fn next(&mut self) -> Result<Vec<Committed>, SubscribeError> {
        loop {
            let changed = self.changed();
            let events = self.take()?;
            if !events.is_empty() {
                return Ok(events);
            }
            changed.await;
        }
    }

    /// The next events, once there are some; none if none came before the deadline.
    ///
    /// # Errors
    ///
    /// When it cannot go on.
    pub fn next_before(&mut self, deadline: Instant) -> Result<Vec<Committed>, SubscribeError> {
        loop {
            let changed = self.changed();
            let events = self.take()?;
            if !events.is_empty() || !changed.wait_until(deadline) {
                return Ok(events);
            }
        }
    }

    fn read(&mut self) -> Result<Vec<Committed>, SubscribeError> {
        let Some(view) = self.shared.view() else { return Ok(Vec::new()) };
        let reader = Reader::new(&view, self.prefix, &self.schema);
        if let Followed::Named(workspace) = &self.followed {
            let Some(found) = reader.workspace(workspace)? else { return Ok(Vec::new()) };
            self.followed = Followed::Workspace(found.id);
        }
        let (mut events, last) = match &self.followed {
            Followed::Workspace(workspace) => (
                reader.events(*workspace, self.next, self.page_events)?,
                reader.last_offset(*workspace)?,
            ),
            Followed::Partition | Followed::Named(_) => (
                reader.partition_events(self.next, self.page_events)?,
                view.offset.map_or(0, seriatim_types::PartitionOffset::get),
            ),
        };
        let behind = last.saturating_add(1).saturating_sub(self.next);
        if self.is_live && behind > self.lag_max {
            let late = u64::from(planted::is(Bug::LaggedSkips));
            let resume_from = self.next.saturating_add(late);
            return Err(SubscribeError::Lagged { resume_from, behind });
        }
        // A reader gives events without a hole, from the one that was asked for.
        let given = u64::try_from(events.len()).expect("a page is short");
        self.next = self.next.saturating_add(given);
        let catches_up = !self.is_live && self.next > last;
        self.is_live |= catches_up;
        let is_full = events.len() == self.page_events && self.page_events > 1;
        if catches_up && planted::is(Bug::SubscriptionSeam)
            || is_full && planted::is(Bug::FullPageDrops)
        {
            events.pop();
        }
        Ok(events)
    }
}
