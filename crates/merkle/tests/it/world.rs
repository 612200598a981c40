//! Events, and a store that holds what a real one would.

use std::collections::BTreeMap;
use std::convert::Infallible;

use seriatim_merkle::{Frontier, NodeId, Nodes, leaf_hash};
use seriatim_types::Hash;

/// Events of different bytes and lengths.
pub(crate) fn events(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|index| format!("event {index}").into_bytes()).collect()
}

/// The leaves, and the nodes that a frontier reported. Being asked for any other fails the test.
#[derive(Clone, Default)]
pub(crate) struct Store {
    pub(crate) nodes: BTreeMap<NodeId, Hash>,
    pub(crate) asked_count: usize,
}

impl Store {
    pub(crate) fn of(events: &[Vec<u8>]) -> Self {
        let mut store = Self::default();
        let mut frontier = Frontier::default();
        for event in events {
            let leaf = leaf_hash(event);
            store.nodes.insert(NodeId { level: 0, index: frontier.size() }, leaf);
            frontier.push(leaf, &mut |node, hash| {
                store.nodes.insert(node, hash);
            });
        }
        store
    }

    /// What it was asked for since the last time.
    pub(crate) fn take_asked_count(&mut self) -> usize {
        std::mem::take(&mut self.asked_count)
    }
}

impl Nodes for Store {
    type Error = Infallible;

    fn get(&mut self, node: NodeId) -> Result<Hash, Infallible> {
        self.asked_count += 1;
        Ok(self.nodes[&node])
    }
}
