//! Signals that arrived and that code has not taken.
//!
//! **Invariant:** a signal has no effect before it is taken, not even on the time that code sees.
//! One that is left to the next run is in no history of this one, and replay must not miss it.

use std::collections::{BTreeMap, VecDeque};

use seriatim_types::{Name, Time};

use crate::{Offset, Payload};

/// A signal that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Signal {
    pub(crate) offset: Offset,
    pub(crate) at: Time,
    pub(crate) input: Payload,
}

/// By name, each in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Signals(BTreeMap<Name, VecDeque<Signal>>);

impl Signals {
    pub(crate) fn arrive(&mut self, name: Name, signal: Signal) {
        self.0.entry(name).or_default().push_back(signal);
    }

    pub(crate) fn take(&mut self, name: &Name) -> Option<Signal> {
        self.0.get_mut(name)?.pop_front()
    }

    /// The offsets of what is left, in the order of the log.
    pub(crate) fn unread(&self) -> Vec<Offset> {
        let mut offsets: Vec<Offset> = self.0.values().flatten().map(|it| it.offset).collect();
        offsets.sort_unstable();
        offsets
    }
}
