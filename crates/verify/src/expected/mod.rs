//! What the events of a partition come to, row by row.
//!
//! Facts come in the order of the rows that they are about, and those of one row in the order of
//! the log. Each row is folded by itself: the laws of its versions and numbers are checked on the
//! way, and what is left at the end is what must be stored.
//!
//! ```text
//!  workspaces ─► clients ─► records ─► entities ─► keys        the order of visits
//! ```
//!
//! **Invariant:** one row is held in memory at a time.

mod client;
mod documents;
mod key;
mod workspace;

use seriatim_codec::{PartitionPrefix, decode_idempotency_key};
use seriatim_merkle::NodeId;
use seriatim_types::{
    ClientId, EntityKey, EntityRow, Hash, Key, KeyRow, KindId, Name, Number, PartitionOffset,
    RecordRow, SequenceId, WorkspaceId, Year,
};

use crate::difference::{Difference, Error, Kind, Place};
use crate::rules::Rules;
use crate::sort::{Item, Sorted};

pub(crate) use key::is_over;

/// What the events of a partition come to.
#[derive(Debug)]
pub struct Expected {
    rules: Rules,
    facts: Sorted,
    total: u64,
}

/// Is shown what must be there, in the order of the rows. What is not of interest can be left out.
pub trait Visitor {
    /// An event's place in its workspace's log.
    ///
    /// # Errors
    ///
    /// Whatever ends the visit; so it is with all others.
    fn place(
        &mut self,
        workspace: WorkspaceId,
        offset: Number,
        event: PartitionOffset,
    ) -> Result<(), Error> {
        let _ = (workspace, offset, event);
        Ok(())
    }

    /// A node of a workspace's tree, of a level that is stored.
    ///
    /// # Errors
    ///
    /// Whatever ends the visit.
    fn node(&mut self, node: &Node) -> Result<(), Error> {
        let _ = node;
        Ok(())
    }

    /// A workspace, behind all its places and nodes.
    ///
    /// # Errors
    ///
    /// Whatever ends the visit.
    fn workspace(&mut self, workspace: &Workspace) -> Result<(), Error> {
        let _ = workspace;
        Ok(())
    }

    /// A client of a workspace.
    ///
    /// # Errors
    ///
    /// Whatever ends the visit.
    fn client(&mut self, client: &Client) -> Result<(), Error> {
        let _ = client;
        Ok(())
    }

    /// A record; `None` for one that was deleted.
    ///
    /// # Errors
    ///
    /// Whatever ends the visit.
    fn record(
        &mut self,
        workspace: WorkspaceId,
        id: Number,
        row: Option<&RecordRow>,
    ) -> Result<(), Error> {
        let _ = (workspace, id, row);
        Ok(())
    }

    /// An entity; `None` for one that was removed. One that has expired is shown as it was.
    ///
    /// # Errors
    ///
    /// Whatever ends the visit.
    fn entity(
        &mut self,
        workspace: WorkspaceId,
        key: &EntityKey,
        row: Option<&EntityRow>,
    ) -> Result<(), Error> {
        let _ = (workspace, key, row);
        Ok(())
    }

    /// An idempotency key.
    ///
    /// # Errors
    ///
    /// Whatever ends the visit.
    fn key(&mut self, key: &UsedKey) -> Result<(), Error> {
        let _ = key;
        Ok(())
    }

    /// So many of so many facts were looked at.
    fn progress(&mut self, done: u64, total: u64) {
        let _ = (done, total);
    }
}

/// A node of the tree over a workspace's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Which node.
    pub node: NodeId,
    /// Its hash.
    pub hash: Hash,
    /// Whether the checkpoint covers it.
    pub is_covered: bool,
}

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// Its kind.
    pub kind: KindId,
    /// Its name, if it has one.
    pub name: Option<Name>,
    /// Its numbers behind its last event.
    pub now: Numbers,
    /// Its numbers behind the last event that the checkpoint covers, if it covers one.
    pub covered: Option<Numbers>,
}

/// The numbers of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Numbers {
    /// The last number of each series, ascending, the workspace's offsets among them.
    pub series: Vec<(SequenceId, Option<Year>, Number)>,
    /// The tree over its log.
    pub tree: seriatim_merkle::Frontier,
}

/// A client of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its name.
    pub client: ClientId,
    /// The count of its commands and the offset of its last event.
    pub now: (Number, Number),
    /// The same behind the last event that the checkpoint covers.
    pub covered: Option<(Number, Number)>,
}

/// An idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedKey {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The client.
    pub client: ClientId,
    /// The key.
    pub key: Key,
    /// The row of its latest use.
    pub row: KeyRow,
    /// The first event of its first use.
    pub first_use: PartitionOffset,
}

impl Expected {
    pub(crate) fn new(rules: Rules, facts: Sorted, total: u64) -> Self {
        Self { rules, facts, total }
    }

    /// Shows everything that must be there. `covered` is the last event that the checkpoint covers.
    ///
    /// # Errors
    ///
    /// When events break a law, when the visitor ends the visit, or when a temporary file cannot be
    /// read.
    pub fn visit(
        mut self,
        covered: Option<PartitionOffset>,
        visitor: &mut dyn Visitor,
    ) -> Result<(), Error> {
        let mut done = 0_u64;
        let mut fold = Fold { rules: &self.rules, facts: &mut self.facts, covered, visitor };
        while let Some(first) = fold.facts.next()? {
            let count = match RowKey::of(&first.key) {
                RowKey::Workspace(id) => fold.workspace(id, first)?,
                RowKey::Client(id, client) => fold.client(id, client, first)?,
                RowKey::Record(id, record) => fold.record(id, record, first)?,
                RowKey::Entity(id, key) => fold.entity(id, &key, first)?,
                RowKey::Key(id, client, key) => fold.key((id, client, key), first)?,
            };
            done = done.saturating_add(count);
            fold.visitor.progress(done, self.total);
        }
        Ok(())
    }
}

/// The facts of one row after the other.
struct Fold<'a> {
    rules: &'a Rules,
    facts: &'a mut Sorted,
    covered: Option<PartitionOffset>,
    visitor: &'a mut dyn Visitor,
}

impl Fold<'_> {
    /// Shows all facts of a row to a fold. Returns how many there were.
    fn each(
        &mut self,
        first: Item,
        mut take: impl FnMut(&mut dyn Visitor, Vec<u8>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let Item { key, payload, .. } = first;
        take(self.visitor, payload)?;
        let mut count = 1_u64;
        while let Some(item) = self.facts.next_of(&key)? {
            take(self.visitor, item.payload)?;
            count = count.saturating_add(1);
        }
        Ok(count)
    }
}

/// That an event breaks a law.
fn breach(
    rules: &Rules,
    kind: Kind,
    (event, about): (PartitionOffset, String),
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> Error {
    let place = Place::of(rules.partition).event(event).about(about);
    Difference::error(kind, place, expected, found)
}

/// What a fact is about.
enum RowKey {
    Workspace(WorkspaceId),
    Client(WorkspaceId, ClientId),
    Record(WorkspaceId, Number),
    Entity(WorkspaceId, EntityKey),
    Key(WorkspaceId, ClientId, Key),
}

impl RowKey {
    /// Reads a key that a walk has made.
    fn of(key: &[u8]) -> Self {
        let read = || {
            let (_, rest) = key.split_at_checked(PartitionPrefix::BYTES)?;
            let (tag, rest) = rest.split_first()?;
            let (workspace, rest) = rest.split_first_chunk()?;
            let workspace = WorkspaceId(u64::from_be_bytes(*workspace));
            Some(match tag {
                0x02 => Self::Workspace(workspace),
                0x03 => Self::Client(workspace, ClientId::new(rest)?),
                0x07 => {
                    let id = u64::from_be_bytes(rest.try_into().ok()?);
                    Self::Record(workspace, Number::new(id)?)
                }
                0x09 => Self::Entity(workspace, EntityKey::new(str::from_utf8(rest).ok()?)?),
                _ => {
                    let (workspace, client, key) = decode_idempotency_key(key).ok()?;
                    Self::Key(workspace, client, key)
                }
            })
        };
        read().expect("facts are about rows of five kinds")
    }
}
