//! Heads of workspaces' logs, and proofs about them.
//!
//! Levels of a tree that are stored come with checkpoints. A node that no checkpoint holds yet is
//! made of the sixteen below it, down to the events if need be, so a lag costs time and nothing
//! else.

use seriatim_codec::{DecodeError, Problem, Table as RowTable, tree_node_key};
use seriatim_core::RowId;
use seriatim_merkle::{
    Frontier, LEVELS_PER_STORED, NodeId, Nodes, ProofError, consistency_proof, inclusion_proof,
    root_at,
};
use seriatim_types::{Hash, Inclusion, Number, WorkspaceId};

use super::{ReadFailed, Reader};

/// Nodes below a stored one, or events below the lowest.
const CHILDREN: u64 = 1 << LEVELS_PER_STORED;

/// The size and the root of a workspace's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// How many events the log has.
    pub size: u64,
    /// The root of their tree.
    pub root: Hash,
}

/// That a workspace's log only grew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consistency {
    /// The hashes that lead from one root to the other.
    pub path: Vec<Hash>,
    /// The root of the earlier log.
    pub from_root: Hash,
    /// The root of the later log.
    pub to_root: Hash,
}

/// Why there is no proof: it is about more than there is, or something could not be read.
pub type ProofFailed = ProofError<ReadFailed>;

impl Reader<'_> {
    /// The head of a workspace's log.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn head(&self, workspace: WorkspaceId) -> Result<Head, ReadFailed> {
        let size = self.last_offset(workspace)?;
        let root = root_at(size, &mut Tree { reader: self, workspace })?;
        Ok(Head { size, root })
    }

    /// The proof that an event is among the first `size` of a workspace's log.
    ///
    /// # Errors
    ///
    /// When it is not, when there are not as many, or when something could not be read.
    pub fn inclusion(
        &self,
        workspace: WorkspaceId,
        offset: Number,
        size: u64,
    ) -> Result<Inclusion, ProofFailed> {
        self.check_size(workspace, size)?;
        // Said here in offsets: the tree counts its leaves from 0.
        if offset.get() > size {
            return Err(ProofFailed::OutOfRange { asked: offset.get(), size });
        }
        let mut tree = Tree { reader: self, workspace };
        let leaf = self.leaf(workspace, offset)?;
        let path = inclusion_proof(size, offset.get().saturating_sub(1), &mut tree)?;
        let root = root_at(size, &mut tree)?;
        Ok(Inclusion { leaf, path, root })
    }

    /// The proof that the first `from` events of a workspace's log are the beginning of its first
    /// `to`.
    ///
    /// # Errors
    ///
    /// When there are not as many, when `from` is the larger one, or when something could not be
    /// read.
    pub fn consistency(
        &self,
        workspace: WorkspaceId,
        from: u64,
        to: u64,
    ) -> Result<Consistency, ProofFailed> {
        self.check_size(workspace, to)?;
        let mut tree = Tree { reader: self, workspace };
        let path = consistency_proof(from, to, &mut tree)?;
        let (from_root, to_root) = (root_at(from, &mut tree)?, root_at(to, &mut tree)?);
        Ok(Consistency { path, from_root, to_root })
    }

    fn check_size(&self, workspace: WorkspaceId, asked: u64) -> Result<(), ProofFailed> {
        let size = self.last_offset(workspace)?;
        if asked > size { Err(ProofFailed::OutOfRange { asked, size }) } else { Ok(()) }
    }
}

/// The tree over a workspace's log.
struct Tree<'r> {
    reader: &'r Reader<'r>,
    workspace: WorkspaceId,
}

impl Nodes for Tree<'_> {
    type Error = ReadFailed;

    fn get(&mut self, node: NodeId) -> Result<Hash, ReadFailed> {
        let Some(level) = node.level.checked_sub(LEVELS_PER_STORED) else {
            let offset = Number::new(node.index.saturating_add(1));
            let offset = offset.expect("proofs are about events that there are");
            return self.reader.leaf(self.workspace, offset);
        };
        if let Some(hash) = self.stored(node)? {
            return Ok(hash);
        }
        let first = node.index.saturating_mul(CHILDREN);
        let mut below = Frontier::default();
        for index in first..first.saturating_add(CHILDREN) {
            below.push(self.get(NodeId { level, index })?, &mut |_, _| ());
        }
        Ok(below.root())
    }
}

impl Tree<'_> {
    /// A node as a checkpoint has written it.
    fn stored(&self, node: NodeId) -> Result<Option<Hash>, ReadFailed> {
        let key = tree_node_key(self.reader.prefix, self.workspace, node.level, node.index);
        let row = RowId { table: RowTable::Tree, key };
        let Some(bytes) = self.reader.get(&row)? else { return Ok(None) };
        let hash = <[u8; 32]>::try_from(&*bytes).map_err(|_| {
            let problem = Problem::Invalid("a hash");
            let source = DecodeError { message: "tree node", field: None, problem };
            self.reader.unreadable(row, source)
        });
        Ok(Some(Hash(hash?)))
    }
}
