//! What code can await: one leaf for each command that settles, found by its id.
//!
//! **Invariant:** a leaf is found in constant time, however long the history is.

use std::task::Waker;

use crate::command_id::CommandType;
use crate::scope::Serial;
use crate::{CommandId, Settlement, Source};

/// One thing that code can await.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) serial: Serial,
    pub(crate) source: Source,
    pub(crate) waker: Option<Waker>,
    settled: Option<(Settlement, u64)>,
}

/// All leaves, by type and position. One that was taken or dropped is gone.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    tasks: Vec<Option<Box<Leaf>>>,
    timers: Vec<Option<Box<Leaf>>>,
    children: Vec<Option<Box<Leaf>>>,
    steps: Vec<Option<Box<Leaf>>>,
    promises: Vec<Option<Box<Leaf>>>,
}

impl Leaf {
    pub(crate) const fn new(serial: Serial, source: Source) -> Self {
        Self { serial, source, waker: None, settled: None }
    }

    pub(crate) fn settle(&mut self, settlement: Settlement, delivery: u64) {
        self.settled = Some((settlement, delivery));
    }
}

impl Leaves {
    pub(crate) fn insert(&mut self, id: CommandId, leaf: Leaf) {
        let (Some(leaves), position) = self.of(id) else { return };
        if leaves.len() <= position {
            leaves.resize_with(position.saturating_add(1), || None);
        }
        if let Some(slot) = leaves.get_mut(position) {
            *slot = Some(Box::new(leaf));
        }
    }

    /// A leaf that is not settled.
    pub(crate) fn pending(&mut self, id: CommandId) -> Option<&mut Leaf> {
        self.get(id).filter(|leaf| leaf.settled.is_none())
    }

    /// The delivery that settled a leaf.
    pub(crate) fn delivery(&mut self, id: CommandId) -> Option<u64> {
        self.get(id)?.settled.as_ref().map(|(_, delivery)| *delivery)
    }

    pub(crate) fn take_settled(&mut self, id: CommandId) -> Option<Settlement> {
        self.get(id)?.settled.as_ref()?;
        self.remove(id)?.settled.map(|(settlement, _)| settlement)
    }

    pub(crate) fn remove(&mut self, id: CommandId) -> Option<Box<Leaf>> {
        let (leaves, position) = self.of(id);
        leaves?.get_mut(position)?.take()
    }

    fn get(&mut self, id: CommandId) -> Option<&mut Leaf> {
        let (leaves, position) = self.of(id);
        leaves?.get_mut(position)?.as_deref_mut()
    }

    fn of(&mut self, id: CommandId) -> (Option<&mut Vec<Option<Box<Leaf>>>>, usize) {
        let (of, position) = id.parts();
        let leaves = match of {
            CommandType::Task => Some(&mut self.tasks),
            CommandType::Timer => Some(&mut self.timers),
            CommandType::ChildWorkflow => Some(&mut self.children),
            CommandType::Operation => Some(&mut self.steps),
            CommandType::Promise => Some(&mut self.promises),
            CommandType::State
            | CommandType::CancelTask
            | CommandType::CancelTimer
            | CommandType::CancelChild
            | CommandType::ResolvePromise
            | CommandType::Signal
            | CommandType::Version
            | CommandType::Close => None,
        };
        (leaves, usize::try_from(position).unwrap_or(usize::MAX))
    }
}
