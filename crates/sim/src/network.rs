//! The network: streams that break, and single messages that are lost, doubled and overtaken.
//!
//! **Invariants**
//! - What is sent over one stream arrives in its order, up to where the stream breaks.
//! - A new stream of a client carries nothing before the old one's last message has arrived or is
//!   lost: the server reads what lies in a socket before it accepts the next.
//! - A stream ends with the server's process, also one that its client has given up before.

use std::collections::{BTreeMap, BTreeSet};

use seriatim_storage::faulty::Dice;

use crate::agenda::Moment;
use crate::rates::{Rates, happens, part_of};

/// From whom to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    ToServer,
    FromServer,
}

/// The ways between the server and its clients.
#[derive(Debug, Default)]
pub(crate) struct Network {
    /// Until when nothing gets through, by client.
    cuts: BTreeMap<(usize, Way), Moment>,
    /// When the last message of a client's streams arrives.
    last: BTreeMap<(usize, Way), Moment>,
    broken: BTreeSet<u64>,
    connections: u64,
    /// Streams up to this number have ended with a process of the server.
    ended: u64,
}

impl Network {
    /// A number for a new connection.
    pub(crate) fn connect(&mut self) -> u64 {
        self.connections = self.connections.saturating_add(1);
        self.connections
    }

    /// What is on its way over a connection is lost from here on.
    pub(crate) fn break_off(&mut self, connection: u64) {
        self.broken.insert(connection);
    }

    /// The server's process has ended, and with it all streams to it.
    pub(crate) fn end_streams(&mut self) {
        self.ended = self.connections;
    }

    pub(crate) fn has_ended(&self, stream: u64) -> bool {
        stream <= self.ended
    }

    pub(crate) fn is_broken(&self, connection: u64) -> bool {
        self.broken.contains(&connection)
    }

    /// Nothing gets through one way, for a while.
    pub(crate) fn cut(&mut self, client: usize, way: Way, until: Moment) {
        self.cuts.insert((client, way), until);
    }

    /// Everything gets through.
    pub(crate) fn heal(&mut self) {
        self.cuts.clear();
    }

    /// When a message of a stream arrives. It waits while the way is cut.
    pub(crate) fn stream(
        &mut self,
        (client, way): (usize, Way),
        now: Moment,
        dice: &mut Dice,
        rates: &Rates,
    ) -> Moment {
        let cut = self.cuts.get(&(client, way)).copied().unwrap_or_default();
        let arrival = now.max(cut).saturating_add(part_of(dice, rates.way));
        let last = self.last.entry((client, way)).or_default();
        *last = arrival.max(*last);
        *last
    }

    /// When a single message arrives: never, once, or twice.
    pub(crate) fn single(
        &mut self,
        (client, way): (usize, Way),
        now: Moment,
        dice: &mut Dice,
        rates: &Rates,
    ) -> Vec<Moment> {
        let is_cut = self.cuts.get(&(client, way)).is_some_and(|until| now < *until);
        if is_cut || happens(dice, rates.lose) {
            return Vec::new();
        }
        let mut copies = vec![now.saturating_add(part_of(dice, rates.way))];
        if happens(dice, rates.double) {
            copies.push(now.saturating_add(part_of(dice, rates.way.saturating_mul(20))));
        }
        if happens(dice, rates.linger) {
            let late = now.saturating_add(part_of(dice, rates.linger_for));
            copies.iter_mut().for_each(|copy| *copy = (*copy).max(late));
        }
        copies
    }
}
