//! Trees and heads agree with the log: the root that a reader is told is the root of all leaves.

use std::collections::BTreeMap;

use seriatim_codec::Stored as _;
use seriatim_merkle::{empty_root, leaf_hash, node_hash, verify_inclusion};
use seriatim_node::Reader;
use seriatim_node::parts::prefix_of;
use seriatim_storage::Store as _;
use seriatim_testkit::core::Model;
use seriatim_types::{Hash, Inclusion, Number, PartitionRef, WorkspaceId};

use super::{Violation, show_partition};
use crate::world::World;

pub(crate) fn check(
    world: &World,
    partition: PartitionRef,
    model: &Model,
) -> Result<(), Violation> {
    let Some(server) = &world.server else { return Ok(()) };
    let Some(view) = server.shared(partition).and_then(|shared| shared.view()) else {
        return Ok(());
    };
    let reader = Reader::new(&view, prefix_of(partition), server.store().schema());
    let mut leaves: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in model.log() {
        leaves.entry(event.workspace).or_default().push(leaf_hash(&event.to_bytes()));
    }
    for (workspace, leaves) in leaves {
        let head = reader.head(workspace);
        let root = root_of(&leaves);
        let is_right = head.as_ref().is_ok_and(|head| {
            head.root == root && usize::try_from(head.size).ok() == Some(leaves.len())
        });
        if !is_right {
            let partition = show_partition(partition);
            let what = format!("partition {partition}, workspace {workspace:?}: {head:?}");
            return Err(Violation::new("trees", what));
        }
        for index in [0, leaves.len() / 2, leaves.len().saturating_sub(1)] {
            if !is_proved(&reader, workspace, &leaves, index, &root) {
                let partition = show_partition(partition);
                let what = format!("partition {partition}, workspace {workspace:?}: event {index}");
                return Err(Violation::new("trees", format!("{what} is not proved to be there")));
            }
        }
    }
    Ok(())
}

/// Whether a reader is given a proof that the event with that leaf is in the tree.
fn is_proved(
    reader: &Reader<'_>,
    workspace: WorkspaceId,
    leaves: &[Hash],
    index: usize,
    root: &Hash,
) -> bool {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let (at, size) = (number(index), number(leaves.len()));
    let Some(offset) = Number::new(at.saturating_add(1)) else { return false };
    let proof = reader.inclusion(workspace, offset, size);
    proof.is_ok_and(|Inclusion { leaf, path, root: claimed }| {
        leaves.get(index) == Some(&leaf)
            && claimed == *root
            && verify_inclusion(&leaf, at, size, &path, root).is_ok()
    })
}

/// The root of a tree, by the words of RFC 6962, section 2.1.
pub(super) fn root_of(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => empty_root(),
        [leaf] => *leaf,
        _ => {
            let half = leaves.len().next_power_of_two() / 2;
            let (left, right) = leaves.split_at(half);
            node_hash(&root_of(left), &root_of(right))
        }
    }
}
