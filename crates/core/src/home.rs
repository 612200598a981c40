//! Where a partition stands, the keys of its rows, and which workspaces belong to it.
//!
//! ```text
//!  id below 2^40      chosen by callers        partition = id mod count
//!  a name             partition = hash mod count, id = the next from 2^40 on that the partition
//!                     has not given, congruent to it: so id mod count finds it too
//! ```

use seriatim_codec::{PartitionPrefix, Table};
use seriatim_planted::{self as planted, Bug};
use seriatim_types::limits::NAMED_WORKSPACE_FIRST;
use seriatim_types::{
    AppId, ClientId, EntityKey, Key, NUMBER_MAX, Name, Number, PartitionId, PartitionOffset,
    PartitionRef, Time, WorkspaceId,
};

use crate::rows::RowId;

/// The app that holds all apps and their definitions. It has one partition.
pub const SYSTEM_APP: AppId = AppId(0);

/// Its name, which no other app can have.
pub const SYSTEM_NAME: &str = "system";

/// The partition that a named workspace belongs to. The first eight bytes of the leaf hash of its
/// name decide: a hash that is here already, is spread evenly and never changes.
#[must_use]
pub fn partition_of_name(name: &Name, partitions: u16) -> PartitionId {
    let hash = seriatim_merkle::leaf_hash(name.as_str().as_bytes());
    let front = hash.0.first_chunk().expect("a hash has 32 bytes");
    partition_of(u64::from_be_bytes(*front), partitions)
}

/// The partition that a workspace belongs to.
#[must_use]
pub fn partition_of_id(workspace: WorkspaceId, partitions: u16) -> PartitionId {
    partition_of(workspace.0, partitions)
}

fn partition_of(number: u64, partitions: u16) -> PartitionId {
    let rest = number.checked_rem(u64::from(partitions)).expect("an app has partitions");
    PartitionId(u16::try_from(rest).expect("less than the count, which is a u16"))
}

/// A partition among those of its app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) prefix: PartitionPrefix,
    pub(crate) partitions: u16,
}

impl Home {
    /// The id of the workspace whose name is the `index`-th that the partition was given, from 0;
    /// `None` when there are no more ids.
    pub(crate) fn named(&self, index: u64) -> Option<WorkspaceId> {
        let steps = index.checked_mul(u64::from(self.partitions))?;
        let id = self.first_named().checked_add(steps)?;
        (id <= NUMBER_MAX).then_some(WorkspaceId(id))
    }

    /// The index of a named workspace.
    pub(crate) fn index_of_named(&self, workspace: WorkspaceId) -> Option<u64> {
        workspace.0.checked_sub(self.first_named())?.checked_div(u64::from(self.partitions))
    }

    fn first_named(&self) -> u64 {
        let partitions = u64::from(self.partitions);
        let partition = u64::from(self.prefix.partition.0);
        let base = NAMED_WORKSPACE_FIRST.checked_rem(partitions).expect("an app has partitions");
        // The distance from 2^40 to the first id that is congruent to the partition.
        let ahead = partitions.saturating_add(partition).saturating_sub(base);
        let ahead = ahead.checked_rem(partitions).expect("an app has partitions");
        NAMED_WORKSPACE_FIRST.saturating_add(ahead)
    }

    pub(crate) fn event(&self, offset: PartitionOffset) -> RowId {
        RowId { table: Table::Log, key: seriatim_codec::event_key(self.prefix, offset) }
    }

    pub(crate) fn workspace_log(&self, workspace: WorkspaceId, offset: Number) -> RowId {
        let key = seriatim_codec::workspace_log_key(self.prefix, workspace, offset);
        RowId { table: Table::WorkspaceLog, key }
    }

    pub(crate) fn record(&self, workspace: WorkspaceId, id: Number) -> RowId {
        let key = seriatim_codec::record_key(self.prefix, workspace, id);
        RowId { table: Table::Records, key }
    }

    pub(crate) fn record_of_kind(&self, workspace: WorkspaceId, kind: &Name, id: Number) -> RowId {
        let key = seriatim_codec::record_of_kind_key(self.prefix, workspace, kind, id);
        RowId { table: Table::Records, key }
    }

    pub(crate) fn entity(&self, workspace: WorkspaceId, key: &EntityKey) -> RowId {
        let key = seriatim_codec::entity_key(self.prefix, workspace, key);
        RowId { table: Table::Entities, key }
    }

    pub(crate) fn expiry(&self, time: Time, workspace: WorkspaceId, key: &EntityKey) -> RowId {
        let key = seriatim_codec::expiry_key(self.prefix, time, workspace, key);
        RowId { table: Table::Entities, key }
    }

    pub(crate) fn key(&self, workspace: WorkspaceId, client: &ClientId, key: Key) -> RowId {
        let key = match planted::is(Bug::KeyOfAnyClient) {
            true => {
                let anybody = ClientId::new(b"anybody").expect("a short name");
                seriatim_codec::idempotency_key(self.prefix, workspace, &anybody, key)
            }
            false => seriatim_codec::idempotency_key(self.prefix, workspace, client, key),
        };
        RowId { table: Table::Keys, key }
    }

    pub(crate) fn partition(&self) -> RowId {
        RowId { table: Table::Partition, key: seriatim_codec::partition_key(self.prefix) }
    }

    pub(crate) fn definitions(&self) -> RowId {
        RowId { table: Table::Partition, key: seriatim_codec::definitions_key(self.prefix) }
    }

    pub(crate) fn workspace(&self, workspace: WorkspaceId) -> RowId {
        let key = seriatim_codec::workspace_row_key(self.prefix, workspace);
        RowId { table: Table::Partition, key }
    }

    pub(crate) fn name(&self, name: &Name) -> RowId {
        let key = seriatim_codec::workspace_name_key(self.prefix, name);
        RowId { table: Table::Partition, key }
    }

    pub(crate) fn inbox(&self, source: PartitionRef) -> RowId {
        let key = seriatim_codec::inbox_key(self.prefix, source);
        RowId { table: Table::Partition, key }
    }

    pub(crate) fn outbox(&self, target: PartitionRef, number: u64) -> RowId {
        let key = seriatim_codec::outbox_key(self.prefix, target, number);
        RowId { table: Table::Partition, key }
    }

    pub(crate) fn outbox_head(&self, target: PartitionRef) -> RowId {
        let key = seriatim_codec::outbox_head_key(self.prefix, target);
        RowId { table: Table::Partition, key }
    }

    pub(crate) fn app(&self, workspace: WorkspaceId) -> RowId {
        RowId { table: Table::Partition, key: seriatim_codec::app_key(self.prefix, workspace) }
    }
}

#[cfg(test)]
mod tests {
    use seriatim_types::Incarnation;

    use super::*;

    fn home(partition: u16, partitions: u16) -> Home {
        let (app, incarnation) = (AppId(1), Incarnation(1));
        let prefix = PartitionPrefix { app, partition: PartitionId(partition), incarnation };
        Home { prefix, partitions }
    }

    #[test]
    fn no_two_names_share_an_id_and_every_id_leads_to_its_partition() {
        for partitions in [1, 2, 3, 7, 1000, 1024] {
            let mut seen = std::collections::BTreeSet::new();
            for partition in 0..partitions {
                let home = home(partition, partitions);
                for index in 0..5 {
                    let id = home.named(index).unwrap();
                    assert!(id.0 >= NAMED_WORKSPACE_FIRST && id.0 < NAMED_WORKSPACE_FIRST + 8000);
                    assert_eq!(partition_of_id(id, partitions), PartitionId(partition));
                    assert_eq!(home.index_of_named(id), Some(index));
                    assert!(seen.insert(id), "{id:?} was given twice");
                }
            }
        }
    }

    #[test]
    fn ids_of_names_end_where_numbers_do() {
        let home = home(0, 1);
        let last = NUMBER_MAX - NAMED_WORKSPACE_FIRST;
        assert_eq!(home.named(last), Some(WorkspaceId(NUMBER_MAX)));
        assert_eq!(home.named(last + 1), None);
        assert_eq!(home.named(u64::MAX), None);
    }

    #[test]
    fn a_name_belongs_to_the_same_partition_for_ever() {
        let of = |name: &str| partition_of_name(&Name::new(name).unwrap(), 4).0;
        assert_eq!(["store-1", "store-2", "ü", "a b"].map(of), GOLDEN);
        let mut counts = [0; 4];
        for index in 0..4000 {
            counts[usize::from(of(&format!("store-{index}")))] += 1;
        }
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
    }

    /// Stored names are found by these for ever.
    const GOLDEN: [u16; 4] = [3, 1, 2, 3];
}
