//! One partition with all that is decided around it: when it commits, who syncs, when it ends.
//!
//! A lone request is synced by the thread that committed it: every hop between threads costs more
//! than the commit. As soon as two wait, the next commit is prepared while the last one is on its
//! way to the disk, and requests that arrive meanwhile form the next batch. There is no timer. Where
//! several shared the last commit, whoever was woken gives way once before it looks at all that waits:
//! those that were about to bring more come first and the batch grows. A lone request gives way to
//! nobody, or a flood in another partition would hold it up.

use std::sync::Arc;
use std::time::Duration;

use seriatim_planted::{self as planted, Bug};
use seriatim_storage::Store;
use seriatim_types::Time;

use super::events::PartitionEvents;
use super::{
    Address, Caller, DirectoryMailbox, Landing, ReplyTo, ToDirectory, ToPartition, give,
    shutting_down,
};
use crate::clock::ClockAhead;
use crate::partition::{Partition, State};
use crate::reply::{Busy, Reason, Reply, RequestError};
use crate::settings::Settings;

/// One partition with all that is decided around it.
///
/// A driver [takes](Self::take) what was sent, lets it [work](Self::work), syncs what that asks for,
/// and [rests](Self::rest) as long as that says.
pub struct PartitionHost<C> {
    partition: Partition<ReplyTo<C>>,
    address: Arc<Address<C>>,
    directory: DirectoryMailbox<C>,
    store: Arc<dyn Store>,
    settings: Settings,
    /// Whether several requests shared the last commit.
    is_crowded: bool,
    has_more: bool,
    /// When readers were last given a view.
    viewed_at: Duration,
    /// Whether something may be committed that no sync has covered, because the partition could not see
    /// what came of it. It is so until the partition serves again and what it has read has landed.
    is_uncertain: bool,
    /// When it ends in any case, once it was told to end.
    ends_at: Option<Duration>,
    /// Whether nothing but a checkpoint was left before the last work.
    was_settled: bool,
    has_ended: bool,
    events: PartitionEvents,
}

/// A commit that must be synced, and who does it.
pub enum SyncBy<C> {
    /// By the driver of the partition, before it does anything else: the shortest way to the disk. What
    /// [`Landing::land`] returns is [taken](PartitionHost::take) then.
    Owner(Landing<C>),
    /// By the [`Syncer`](super::Syncer).
    Syncer(Landing<C>),
}

/// When a partition works again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// At once, with whatever was sent meanwhile.
    Now,
    /// When something is sent, and after this time in any case.
    Within(Duration),
    /// Never. Whatever is sent is still [taken](PartitionHost::take), and answered.
    End,
}

impl<C: Caller> PartitionHost<C> {
    /// A partition that others know by this address.
    pub fn new(
        partition: Partition<ReplyTo<C>>,
        address: Arc<Address<C>>,
        directory: DirectoryMailbox<C>,
        store: Arc<dyn Store>,
        settings: Settings,
        now: Duration,
    ) -> Self {
        Self {
            partition,
            address,
            directory,
            store,
            settings,
            is_crowded: false,
            has_more: true,
            viewed_at: now,
            is_uncertain: false,
            ends_at: None,
            was_settled: false,
            has_ended: false,
            events: PartitionEvents::new(now),
        }
    }

    /// The partition itself.
    #[must_use]
    pub fn partition(&self) -> &Partition<ReplyTo<C>> {
        &self.partition
    }

    /// Whether whoever is woken for it gives way once before it looks at all that was sent.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.is_crowded
    }

    /// Takes what was sent to it.
    pub fn take(&mut self, message: ToPartition<C>) {
        let replies = match message {
            ToPartition::Request(_, to) if self.has_ended => vec![(to, Err(shutting_down()))],
            ToPartition::Request(_, ReplyTo::Caller(ticket, caller)) if ticket.is_behind() => {
                vec![(ReplyTo::Caller(ticket, caller), Err(Busy::Behind.into()))]
            }
            ToPartition::Request(body, to) => match self.partition.take(body, to) {
                Ok(()) => Vec::new(),
                Err(refused) => vec![refused],
            },
            ToPartition::Landed => {
                self.partition.landed();
                Vec::new()
            }
            ToPartition::Stop(reason) => self.partition.stop(reason),
            ToPartition::Damaged(reason) => self.stop_damaged(reason),
            ToPartition::Restart => {
                self.events.restart(&self.address);
                self.partition.restart()
            }
            ToPartition::Shutdown { by } => {
                self.ends_at = Some(by);
                if planted::is(Bug::ShutdownDropsQueue) {
                    drop(self.partition.turn_away(&shutting_down()));
                }
                Vec::new()
            }
        };
        self.give(replies);
    }

    /// Stops the partition, unless it has stopped: the first reason is kept.
    fn stop_damaged(&mut self, reason: Reason) -> Vec<(ReplyTo<C>, Reply)> {
        let replies = if self.has_stopped() { Vec::new() } else { self.partition.stop(reason) };
        // In this order: nobody sees it serve in between.
        self.show_state();
        self.address.shared().damage().handled();
        replies
    }

    /// Does one unit of work: reads a part of the log, or carries out what is queued, up to one
    /// commit.
    pub fn work(&mut self, time: Result<Time, ClockAhead>) -> Option<SyncBy<C>> {
        self.was_settled = self.is_settled();
        // Nothing is proposed by a clock that cannot be believed. What needs no time goes on.
        let time = time.unwrap_or_else(|ahead| {
            let replies = self.partition.turn_away(&RequestError::Busy(Busy::Clock(ahead)));
            self.give(replies);
            Time(0)
        });
        if self.ends_at.is_some() {
            self.partition.want_checkpoint();
        }
        let had_stopped = self.has_stopped();
        let work = self.partition.work(time);
        let state = self.partition.state();
        if !had_stopped && matches!(state, State::Stopped(Reason::Unreadable { .. })) {
            self.address.shared().damage().count();
        }
        // Whoever is told that it has stopped sees it.
        self.show_state();
        self.give(work.replies);
        self.has_more = work.has_more;
        let flight = work.flight?;
        // Commits land in their order: this one lands here only if it is alone. Where several
        // requests wait for it, more will come, and this thread should be free for them.
        self.is_crowded = flight.replies.len() > 1;
        let is_alone = self.partition.in_flight() == 1 || planted::is(Bug::LoneSyncOvertakes);
        let is_lone = is_alone && !self.is_crowded && !work.has_more;
        let landing = Landing::new(flight, self.address.clone(), self.directory.clone());
        Some(if is_lone { SyncBy::Owner(landing) } else { SyncBy::Syncer(landing) })
    }

    /// Says when it works again.
    pub fn rest(&mut self, now: Duration) -> Next {
        self.show_state();
        let counters = self.partition.counters();
        self.events.look(&self.address, self.partition.state(), now, counters);
        self.renew_view(now);
        if let Some(at) = self.ends_at
            && (now >= at || !self.has_more && self.is_done())
        {
            // What is queued was not carried out.
            self.has_ended = true;
            let replies = self.partition.end(&shutting_down());
            self.give(replies);
            return Next::End;
        }
        let Settings { view_renewal, checkpoint_delay, .. } = self.settings;
        match self.has_more {
            true => Next::Now,
            false if self.partition.is_idle() => Next::Within(view_renewal),
            false => Next::Within(checkpoint_delay),
        }
    }

    /// A partition in which nothing happens shows what it did, by a younger snapshot: the store keeps
    /// everything that was written over since the oldest one, and this partition's may be it.
    fn renew_view(&mut self, now: Duration) {
        if self.partition.in_flight() > 0 {
            self.viewed_at = now;
            return;
        }
        if now.saturating_sub(self.viewed_at) < self.settings.view_renewal {
            return;
        }
        self.viewed_at = now;
        self.is_uncertain &= self.partition.state() != State::Serving;
        if self.is_uncertain {
            return;
        }
        if let Ok(snapshot) = self.store.snapshot() {
            self.address.shared().renew(Arc::from(snapshot));
        }
    }

    /// Whether it is to end, and nothing waits but a checkpoint.
    fn is_settled(&self) -> bool {
        self.ends_at.is_some()
            && self.partition.held().queued == 0
            && self.partition.in_flight() == 0
    }

    /// Whether nothing is left to be done. A checkpoint that could not be written, as on a disk that
    /// is almost full, is not tried again: the next start reads the log instead.
    fn is_done(&self) -> bool {
        match self.partition.state() {
            State::Serving if self.was_settled && self.is_settled() => true,
            State::Serving => self.partition.is_idle() && self.partition.in_flight() == 0,
            State::Actualizing(_) | State::Stopped(_) => true,
        }
    }

    fn has_stopped(&self) -> bool {
        matches!(self.partition.state(), State::Stopped(_))
    }

    fn show_state(&mut self) {
        self.is_uncertain |= matches!(self.partition.state(), State::Stopped(Reason::Store { .. }));
        let has_changed = self.address.shared().set_state(self.partition.state());
        if has_changed && self.has_stopped() {
            (self.directory)(ToDirectory::Stopped(self.address.name()));
        }
    }

    fn give(&self, replies: Vec<(ReplyTo<C>, Reply)>) {
        give(replies, &self.directory);
    }
}
