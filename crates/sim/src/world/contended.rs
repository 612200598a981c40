//! Contended workspaces: everybody uses them, a register and a counter each, for a while.
//!
//! **Invariant:** a contended workspace is used for so many calls and no more, so that what was done there can be
//! searched for an order.

use seriatim_types::{
    CommandChange, CommandEvent, Condition, EntityKey, Name, Template, WorkspaceId,
};

use super::World;
use super::reading::Found;
use crate::agenda::Moment;
use crate::invariants::linearizable::CALLS_MAX;

/// How many contended workspaces are in use at a time.
const CONTENDED: usize = 2;

/// Workspaces from here on are contended. Nothing else is done there.
const FIRST: u64 = 1_000;

/// The sequence that is a counter.
pub(crate) const COUNTER: &str = "counter";

/// A workspace with a register and a counter, and what was done there.
#[derive(Debug)]
pub(crate) struct Contended {
    pub(crate) workspace: WorkspaceId,
    /// The commands that were sent there.
    pub(crate) asked: Vec<usize>,
    /// What was read there: from when to when, and what it was.
    pub(crate) reads: Vec<(Moment, Moment, Found)>,
    /// How many calls there were, answered or not.
    calls: usize,
}

impl World {
    /// A contended workspace to do something at.
    pub(super) fn some_contended(&mut self) -> usize {
        while self.contended.len() < CONTENDED {
            self.add_contended();
        }
        let newest = self.contended.len().saturating_sub(CONTENDED);
        let mut at = newest.saturating_add(self.dice.index_below(CONTENDED));
        if self.contended.get(at).is_none_or(|contended| contended.calls >= CALLS_MAX) {
            self.add_contended();
            at = self.contended.len().saturating_sub(1);
        }
        if let Some(contended) = self.contended.get_mut(at) {
            contended.calls = contended.calls.saturating_add(1);
        }
        at
    }

    fn add_contended(&mut self) {
        let number = u64::try_from(self.contended.len()).unwrap_or(u64::MAX);
        let workspace = WorkspaceId(FIRST.saturating_add(number));
        let (asked, reads) = (Vec::new(), Vec::new());
        self.contended.push(Contended { workspace, asked, reads, calls: 0 });
    }

    /// What a client does at a contended workspace: it draws a number, or writes the register, mostly in view of
    /// what it has read there.
    pub(super) fn something_contended(
        &mut self,
        client: usize,
        contended: usize,
    ) -> Vec<CommandEvent> {
        let known =
            self.clients.get(client).and_then(|client| client.known.get(&contended)).cloned();
        let number = self.asked.len();
        let value = Template::plain(number.to_string());
        let condition = match (self.dice.below(6), known) {
            (0, _) => None,
            (1, _) => Some(Condition::Exists),
            (2 | 3, Some((version, _))) => Some(Condition::Version(version)),
            (_, Some((_, value))) => Some(Condition::Value(value)),
            (2, None) => Some(Condition::Absent),
            (_, None) => None,
        };
        let key = register();
        let change = match self.dice.below(12) {
            0..5 => CommandChange::Draw { sequence: Name::new(COUNTER).expect("a short name") },
            5 => CommandChange::Unset { key, condition },
            _ => CommandChange::Set { key, value, condition, expires_at: None },
        };
        let (name, args) = (Name::new("Used").expect("a short name"), Template::plain("null"));
        vec![CommandEvent { name, args, changes: vec![change] }]
    }
}

/// The entity that is a register.
pub(super) fn register() -> EntityKey {
    EntityKey::new("register").expect("a short key")
}
