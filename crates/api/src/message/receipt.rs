//! The answer to a command.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use seriatim_types as types;

use super::{InclusionProof, Root, Timestamp};

/// The answer to a command: every number that it was given. Sent again within the retention, the
/// command is answered with the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The app.
    pub app: String,
    /// The workspace, by its name if it has one.
    pub workspace: String,
    /// The workspace's id.
    pub workspace_id: u64,
    /// The partition that the workspace belongs to.
    pub partition: u16,
    /// The first event, in the workspace's log.
    pub first_offset: u64,
    /// The last event, in the workspace's log.
    pub last_offset: u64,
    /// The first event, in the partition's log.
    pub first_partition_offset: u64,
    /// The last event, in the partition's log.
    pub last_partition_offset: u64,
    /// The client's own count of its commands in the workspace.
    pub client_sequence: u64,
    /// Raw ids with the ids that they have become.
    pub ids: BTreeMap<u16, u64>,
    /// Numbers that were drawn, in the order of the command.
    pub numbers: Vec<NumberDrawn>,
    /// When it was committed, by the server's clock.
    pub committed_at: Timestamp,
    /// The tree over the log right after the command, if `include_proof` was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Root>,
    /// That the last event is in that tree, if `include_proof` was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<InclusionProof>>,
}

/// A number that was drawn from a sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NumberDrawn {
    /// The sequence.
    pub sequence: String,
    /// The year of a yearly sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<u16>,
    /// The number.
    pub number: u64,
    /// How the sequence presents it.
    pub text: String,
}

impl Receipt {
    /// The receipt as the contract writes it.
    ///
    /// # Panics
    ///
    /// If the receipt has a version that this release cannot have made.
    #[must_use]
    pub fn new(
        receipt: &types::Receipt,
        app: &types::Name,
        workspace: String,
        partition: types::PartitionId,
    ) -> Self {
        assert_eq!(receipt.version, 1, "a receipt is made of events by a version that is known");
        let size = receipt.last_offset.get();
        let proof = receipt.proof.as_deref();
        Self {
            app: app.as_str().to_owned(),
            workspace,
            workspace_id: receipt.workspace.0,
            partition: partition.0,
            first_offset: receipt.first_offset.get(),
            last_offset: size,
            first_partition_offset: receipt.first_partition_offset.get(),
            last_partition_offset: receipt.last_partition_offset.get(),
            client_sequence: receipt.client_sequence.get(),
            ids: receipt.ids.iter().map(|(raw, id)| (*raw, id.get())).collect(),
            numbers: receipt.numbers.iter().map(NumberDrawn::from).collect(),
            committed_at: receipt.committed_at.into(),
            head: proof.map(|it| Root { size, root: it.root.into() }),
            proof: proof.map(|it| Box::new(InclusionProof::new(size, size, it))),
        }
    }
}

impl From<&types::NumberDrawn> for NumberDrawn {
    fn from(drawn: &types::NumberDrawn) -> Self {
        Self {
            sequence: drawn.name.as_str().to_owned(),
            period: drawn.year.map(types::Year::get),
            number: drawn.number.get(),
            text: drawn.text.clone(),
        }
    }
}
