//! Receipts.
//!
//! **Invariant:** what a version of receipts looks like never changes, to the byte: a repeated
//! command is answered with the bytes of the first time, by whatever release is running then.

use seriatim_types::{Name, PartitionId, Receipt};

use super::object::{Object, object, write_object};
use super::reads::Inclusion;

/// The body that answers a command, with the proof that its receipt has.
///
/// # Panics
///
/// If the receipt has a version that this release cannot have made.
#[must_use]
pub fn receipt(receipt: &Receipt, app: &Name, workspace: &str, partition: PartitionId) -> Vec<u8> {
    object(|object| {
        write_members(object, receipt, app, workspace, partition);
        if let Some(proof) = &receipt.proof {
            let (offset, size) = (receipt.last_offset, receipt.last_offset.get());
            let (leaf, path, root) = (&proof.leaf, &proof.path, &proof.root);
            object.object("head", |head| {
                head.number("size", size);
                head.hash("root", root);
            });
            let proof = Inclusion { offset, size, leaf, path, root };
            object.object("proof", |object| proof.write(object));
        }
    })
}

fn write_members(
    object: &mut Object<'_>,
    receipt: &Receipt,
    app: &Name,
    workspace: &str,
    partition: PartitionId,
) {
    assert_eq!(receipt.version, 1, "a receipt is made of events by a version that is known");
    object.text("app", app.as_str());
    object.text("workspace", workspace);
    object.number("workspace_id", receipt.workspace.0);
    object.number("partition", u64::from(partition.0));
    object.number("first_offset", receipt.first_offset.get());
    object.number("last_offset", receipt.last_offset.get());
    object.number("first_partition_offset", receipt.first_partition_offset.get());
    object.number("last_partition_offset", receipt.last_partition_offset.get());
    object.number("client_sequence", receipt.client_sequence.get());
    object.object("ids", |ids| {
        for (raw, id) in &receipt.ids {
            ids.number(&raw.to_string(), id.get());
        }
    });
    object.list("numbers", &receipt.numbers, |out, drawn| {
        write_object(out, |number| number.number_drawn(drawn));
    });
    object.time("committed_at", receipt.committed_at);
}
