//! What is logged of partitions and of what goes between them.
//!
//! The events are emitted where the state changes, so that embedders have them too and none is missed
//! between two looks. Without a subscriber they are nothing, and they decide nothing.
//!
//! **Invariant:** a state is logged when it begins, never for each request that meets it.

use std::time::Duration;

use seriatim_types::PartitionRef;

use super::Address;
use crate::metrics::NodeCounters;
use crate::partition::State;
use crate::reply::{Reason, RequestError};

/// What to do when something has stopped.
const NEXT: &str = "what was acknowledged is on disk, and nothing more is written there: remove the \
                    cause (make room, if the disk is full) and start the server again; `seriatim \
                    verify` tells whether what is stored is sound";

/// The same when a stored row could not be read.
const NEXT_DAMAGED: &str = "nothing more is written to this partition, and rows that can be read are \
                            still answered: stop the server, run `seriatim verify --data FOLDER` to \
                            find all damage, and restore the folder from a copy";

impl Reason {
    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => NEXT_DAMAGED,
            Self::Violation { .. } | Self::Unready { .. } | Self::Store { .. } => NEXT,
        }
    }
}

/// What was logged of a partition.
#[derive(Debug)]
pub(super) struct PartitionEvents {
    recovery: Recovery,
    is_stopped: bool,
}

/// How far a recovery is that is to be logged. A partition that reads its log again because a commit was
/// refused, as on a full disk, does so many times, and that is not logged.
#[derive(Debug)]
enum Recovery {
    None,
    Requested,
    Reading { since: Duration, events: u64 },
}

impl PartitionEvents {
    /// A partition that reads its log from now on.
    pub(super) fn new(now: Duration) -> Self {
        Self { recovery: Recovery::Reading { since: now, events: 0 }, is_stopped: false }
    }

    /// It is to read its log again.
    pub(super) fn restart<C>(&mut self, address: &Address<C>) {
        restarts(address);
        self.recovery = Recovery::Requested;
    }

    /// It does this now.
    pub(super) fn look<C>(
        &mut self,
        address: &Address<C>,
        state: State,
        now: Duration,
        counters: &NodeCounters,
    ) {
        match state {
            State::Stopped(_) if self.is_stopped => return,
            State::Stopped(reason) => {
                stopped(address, &reason, counters);
                self.recovery = Recovery::None;
                self.is_stopped = true;
                return;
            }
            State::Actualizing(progress) => match &mut self.recovery {
                Recovery::None => {}
                Recovery::Reading { events, .. } => *events = progress.total,
                recovery @ Recovery::Requested => {
                    *recovery = Recovery::Reading { since: now, events: progress.total };
                }
            },
            State::Serving => {
                if let Recovery::Reading { since, events } = self.recovery {
                    let took = now.saturating_sub(since);
                    recovered(address, events, took);
                    self.recovery = Recovery::None;
                }
            }
        }
        self.is_stopped = false;
    }
}

/// Somebody has asked for a partition to read its log again, or to be started anew.
pub(super) fn restarts<C>(address: &Address<C>) {
    let PartitionRef { app, partition } = address.name();
    let name = address.app_name();
    tracing::info!(app = name, app_id = app.0, partition = partition.0, "partition restarts");
}

fn recovered<C>(address: &Address<C>, events: u64, took: Duration) {
    let PartitionRef { app, partition } = address.name();
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    tracing::info!(
        app = address.app_name(),
        app_id = app.0,
        partition = partition.0,
        events,
        took_ms,
        "partition recovered"
    );
}

/// A partition has stopped. Where the store has, all of them have, and that is logged once.
pub(crate) fn stopped<C>(address: &Address<C>, reason: &Reason, counters: &NodeCounters) {
    let next = reason.advice();
    let PartitionRef { app, partition } = address.name();
    let is_store = matches!(reason, Reason::Store { .. });
    let reason = reason.to_string();
    if !is_store {
        tracing::error!(
            app = address.app_name(),
            app_id = app.0,
            partition = partition.0,
            reason,
            next,
            "partition stopped"
        );
    } else if counters.claim_store_stop() {
        tracing::error!(reason, next, "store stopped");
    }
}

/// A message was not applied where it belongs. One that was only not taken is sent again as soon as the
/// partition serves. Returns whether it has failed.
pub(super) fn not_delivered<C>(address: &Address<C>, number: u64, error: &RequestError) -> bool {
    let PartitionRef { app, partition } = address.name();
    let name = address.app_name();
    let reason = match error {
        RequestError::Busy(_) | RequestError::NotWritten { .. } => {
            let (app_id, partition) = (app.0, partition.0);
            tracing::debug!(app = name, app_id, partition, number, "delivery waits");
            return false;
        }
        RequestError::Refused(_) | RequestError::Unknown { .. } | RequestError::Stopped(_) => {
            error.to_string()
        }
    };
    tracing::warn!(
        app = name,
        app_id = app.0,
        partition = partition.0,
        number,
        reason,
        next = "it is delivered again when the partition serves",
        "delivery failed"
    );
    true
}

/// Messages are applied again where they belong.
pub(super) fn delivered_again<C>(address: &Address<C>) {
    let PartitionRef { app, partition } = address.name();
    let name = address.app_name();
    tracing::warn!(app = name, app_id = app.0, partition = partition.0, "deliveries go on");
}
