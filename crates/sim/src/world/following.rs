//! What followers do: they are given pages, lose their connections, and go on where they were.

use std::time::Duration;

use seriatim_node::parts::prefix_of;
use seriatim_node::{Log, SubscribeError, Subscription};
use seriatim_storage::Store as _;
use seriatim_types::{Event, Name, PartitionId, PartitionRef, WorkspaceId, WorkspaceRef};

use super::serving::SHOP;
use super::{Happening, World};
use crate::follower::Follower;
use crate::invariants::{self, Violation};
use crate::rates::{happens, part_of};

/// How often a follower looks, at most.
const LOOK: Duration = Duration::from_millis(30);

impl World {
    pub(super) fn invite_followers(&mut self) {
        for partition in 0..self.partitions {
            let partition = PartitionRef { app: SHOP, partition: PartitionId(partition) };
            let log = Log::Partition(partition.partition);
            self.followers.push(Follower::new(partition, log));
        }
        let hot = WorkspaceRef::Id(WorkspaceId(7));
        let partition = self.partition_of(&hot);
        self.followers.push(Follower::new(partition, Log::Workspace(hot)));
        let named = WorkspaceRef::Name(Name::new("store-0").expect("a short name"));
        let partition = self.partition_of(&named);
        self.followers.push(Follower::new(partition, Log::Workspace(named)));
        for follower in 0..self.followers.len() {
            self.reconnect(follower);
        }
    }

    /// A new connection, that goes on behind the last event that was taken.
    pub(super) fn reconnect(&mut self, index: usize) {
        let Some(follower) = self.followers.get_mut(index) else { return };
        follower.connection = follower.connection.saturating_add(1);
        follower.subscription = None;
        let connection = follower.connection;
        let delay = part_of(&mut self.dice, Duration::from_millis(200));
        self.agenda.after(delay, Happening::Follow { follower: index, connection });
    }

    /// The server gives a follower what there is.
    pub(super) fn follow(&mut self, index: usize, connection: u64) -> Result<(), Violation> {
        let now = self.agenda.now();
        let again = Happening::Follow { follower: index, connection };
        let Some(follower) = self.followers.get_mut(index) else { return Ok(()) };
        if follower.connection != connection {
            return Ok(());
        }
        let shared = self.server.as_ref().and_then(|server| server.shared(follower.partition));
        if let (None, Some(shared), Some(server)) = (&follower.subscription, shared, &self.server) {
            let (prefix, log) = (prefix_of(follower.partition), follower.log.clone());
            let (shared, schema) = (shared.clone(), server.store().schema().clone());
            let from = follower.next();
            let settings = server.settings();
            let subscription = Subscription::new(shared, schema, prefix, log, from, settings);
            follower.page_events = settings.page_events;
            follower.subscription = Some(subscription);
        }
        let taken = follower.subscription.as_mut().map(Subscription::take);
        match taken {
            Some(Ok(events)) if !events.is_empty() => {
                let (count, most) = (events.len(), follower.page_events);
                invariants::bounded::check_page(follower.partition, count, most)?;
                if count == most && most > 1 {
                    self.trace.count("covered_page_full", 1);
                }
                let events: Vec<Event> = events.into_iter().map(|it| it.event).collect();
                let delay = part_of(&mut self.dice, self.rates.way);
                let page = Happening::Page { follower: index, connection, events };
                // The next page comes behind this one.
                self.agenda.after(delay, page);
                self.agenda.at(now.saturating_add(delay), again);
            }
            Some(Err(SubscribeError::Lagged { resume_from, .. })) => {
                invariants::subscriptions::check_lagged(follower, resume_from)?;
                self.count("covered_follower_lagged");
                self.reconnect(index);
            }
            Some(Err(_)) => self.reconnect(index),
            Some(Ok(_)) | None => {
                let delay = part_of(&mut self.dice, LOOK).saturating_add(Duration::from_millis(1));
                self.agenda.after(self.quiet_for().saturating_add(delay), again);
            }
        }
        Ok(())
    }

    pub(super) fn page_arrives(
        &mut self,
        index: usize,
        connection: u64,
        events: Vec<Event>,
    ) -> Result<(), Violation> {
        let now = self.agenda.now();
        let Some(follower) = self.followers.get_mut(index) else { return Ok(()) };
        if follower.connection != connection {
            return Ok(());
        }
        let count = events.len();
        self.trace.line(now, format_args!("follower {index}: is given {count} events"));
        for event in events {
            invariants::subscriptions::check_next(follower, &event)?;
            follower.given.push(event);
        }
        invariants::subscriptions::check_durable(follower, &self.oracle)?;
        if happens(&mut self.dice, self.rates.snap) {
            self.reconnect(index);
        }
        Ok(())
    }

    pub(super) fn follower_breaks(&mut self) {
        self.plan(self.rates.cut_every, Happening::FollowerBreaks);
        let index = self.dice.index_below(self.followers.len().max(1));
        self.reconnect(index);
    }

    /// Whether every follower has all that is durable.
    pub(super) fn have_followers_all(&self) -> bool {
        self.followers.iter().all(|follower| {
            let settled = self.oracle.settled().find(|(name, _)| *name == follower.partition);
            let last =
                settled.map_or(0, |(_, model)| invariants::subscriptions::last(follower, model));
            follower.next() > last
        })
    }
}
