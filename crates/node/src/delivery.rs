//! Messages from one partition to another: definitions, and that they have arrived.
//!
//! ```text
//!  system: decided, durable ─► carry ─► target: applied, durable ─► "delivered" ─► system forgets it
//!                                 └ not taken? everything in the outbox goes again, in order,
//!                                   as soon as the target serves
//! ```
//!
//! **Invariant:** a message stays in its outbox until it is durable where it belongs, and a
//! partition that begins to serve is sent everything that is there for it. So nothing needs a
//! timer, and nothing is lost by a crash at any point.

use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

use seriatim_codec::{
    OutboxPointer, Stored, Table as RowTable, decode_outbox_key, event_key, outbox_prefix,
};
use seriatim_core::{Outcome, Outgoing};
use seriatim_storage::{KeyRange, Row, Scan};
use seriatim_types::{
    AppSettings, Body, Change, Delivered, Delivery, Event, Message, PartitionRef,
};

use crate::direct::Post;
use crate::hosted::{Hosted, SYSTEM, partitions_of, prefix_of};
use crate::partition::View;
use crate::reply::Reply;

/// Carries messages between the partitions of a process.
pub(crate) struct Carrier {
    hosted: Weak<Hosted>,
}

impl Carrier {
    pub(crate) fn new(hosted: &Arc<Hosted>) -> Self {
        Self { hosted: Arc::downgrade(hosted) }
    }
}

impl Post for Carrier {
    fn carry(&self, messages: Vec<Outgoing>) {
        if let Some(hosted) = self.hosted.upgrade() {
            messages.into_iter().for_each(|message| hosted.deliver(message));
        }
    }

    fn serves(&self, partition: PartitionRef) {
        let Some(hosted) = self.hosted.upgrade() else { return };
        if partition == SYSTEM {
            hosted.resume_apps();
        } else {
            hosted.deliver_outbox(partition, None);
        }
    }
}

impl Hosted {
    /// Starts the partitions of all apps. Those that serve already are sent what is in the outbox.
    fn resume_apps(self: &Arc<Self>) {
        for definitions in self.apps() {
            let AppSettings { app, partitions, .. } = definitions.app;
            for partition in partitions_of(app, partitions) {
                if self.start(partition).shared.serves() {
                    self.deliver_outbox(partition, None);
                }
            }
        }
        self.resumed();
    }

    /// Delivers what is in the outbox for a partition, in order, if it begins with the message that
    /// the partition waits for: without that one, the others would all be out of order.
    fn deliver_outbox(self: &Arc<Self>, target: PartitionRef, expected: Option<u64>) {
        let view = self.running(SYSTEM).and_then(|system| system.shared.view());
        let messages = view.map(|view| self.outbox(&view, target)).unwrap_or_default();
        let first = messages.first().map(|first| first.delivery.number);
        if expected.is_none_or(|expected| first.is_some_and(|first| first <= expected)) {
            messages.into_iter().for_each(|message| self.deliver(message));
        }
    }

    /// Delivers a message, and tells its source when it is durable where it belongs.
    fn deliver(self: &Arc<Self>, message: Outgoing) {
        let Outgoing { target, delivery } = message;
        let number = delivery.number;
        let hosted = Arc::downgrade(self);
        let answer = move |reply| {
            let Some(hosted) = Weak::upgrade(&hosted) else { return };
            match reply {
                Reply::Applied(Outcome::Received { .. }) => {
                    let delivered = Delivered { target, first: number, through: number };
                    if let Some(system) = hosted.running(SYSTEM) {
                        system.request(Body::Delivered(delivered), |_| ());
                    }
                }
                // It has overtaken others, which the partition was sent when it began to serve.
                Reply::Applied(Outcome::OutOfOrder { expected }) => {
                    hosted.deliver_outbox(target, Some(expected));
                }
                // It stays in the outbox until the partition serves.
                Reply::Applied(_)
                | Reply::Busy(_)
                | Reply::NotWritten { .. }
                | Reply::Unknown { .. }
                | Reply::Stopped(_) => {}
            }
        };
        self.start(target).request(Body::Delivery(delivery), answer);
    }

    /// Messages to a partition that are in the outbox of the system partition.
    fn outbox(&self, view: &View, target: PartitionRef) -> Vec<Outgoing> {
        let system = prefix_of(SYSTEM);
        let range = KeyRange::prefix(&outbox_prefix(system, target));
        let scan = Scan::new(self.tables.handle(RowTable::Partition), range);
        let mut rows = Vec::new();
        let scanned = view.snapshot.scan(&scan, &mut |row| {
            rows.push(row);
            ControlFlow::Continue(())
        });
        if scanned.is_err() {
            return Vec::new();
        }
        let outgoing = |row: Row| {
            let (_, number) = decode_outbox_key(&row.key).ok()?;
            let pointer = OutboxPointer::decode(&row.value).ok()?;
            let key = event_key(system, pointer.event);
            let bytes = view.snapshot.get(self.tables.handle(RowTable::Log), &key).ok()??;
            let event = Event::from_bytes(&bytes).ok()?;
            let change = event.changes.get(usize::try_from(pointer.change).ok()?)?;
            let Change::Define(definition) = change else { return None };
            let version = event.offset.get();
            let message = Message::Definition { version, definition: definition.clone() };
            Some(Outgoing { target, delivery: Delivery { source: SYSTEM, number, message } })
        };
        rows.into_iter().filter_map(outgoing).collect()
    }
}
