//! From an event to rows.
//!
//! Everything that an event does to a partition's rows is here and in [`change`]: apply uses it
//! for events that were just decided, recovery, verification and import for stored ones.

use bytes::Bytes;
use seriatim_codec::{Stored, encode_number};
use seriatim_types::{Event, KeyRow, PartitionRow, TrustLevel, Unknown, WorkspaceRow};

use crate::change::{self, At};
use crate::effects::Fault;
use crate::home::Home;
use crate::rows::Draft;

impl At {
    pub(crate) fn of(event: &Event) -> Self {
        Self {
            workspace: event.workspace,
            offset: event.offset,
            partition_offset: event.partition_offset,
            index: 0,
        }
    }
}

/// Writes everything that an event comes to.
pub(crate) fn evolve(
    draft: &mut Draft<'_>,
    home: Home,
    trust: TrustLevel,
    partition: &mut PartitionRow,
    event: &Event,
    bytes: Bytes,
) -> Result<(), Fault> {
    let is_named = event.offset.get() == 1 && event.workspace_name.is_some();
    if is_named && home.index_of_named(event.workspace).is_none() {
        let why = "its workspace has a name, and an id that no name has";
        return Err(Fault::Unfounded { event: event.partition_offset, why });
    }
    for (change, index) in event.changes.iter().zip(0..) {
        change::evolve(draft, home, trust, At { index, ..At::of(event) }, change)?;
    }
    evolve_event(draft, home, trust, partition, event, bytes);
    Ok(())
}

/// The same without the changes.
pub(crate) fn evolve_event(
    draft: &mut Draft<'_>,
    home: Home,
    trust: TrustLevel,
    partition: &mut PartitionRow,
    event: &Event,
    bytes: Bytes,
) {
    let is_checked = trust < TrustLevel::Two;
    draft.insert(home.event(event.partition_offset), bytes, is_checked);
    let pointer = encode_number(event.partition_offset.get());
    draft.insert(home.workspace_log(event.workspace, event.offset), pointer, is_checked);
    if event.offset.get() == 1 {
        evolve_birth(draft, home, partition, event);
    }
    evolve_key(draft, home, partition, event);
    partition.offset = Some(event.partition_offset);
    partition.time = partition.time.max(Some(event.time));
}

/// A workspace comes into being with its first event, if it was not declared before.
fn evolve_birth(draft: &mut Draft<'_>, home: Home, partition: &mut PartitionRow, event: &Event) {
    let (workspace, name) = (event.workspace, event.workspace_name.clone());
    if let Some(name) = &name {
        draft.put(home.name(name), encode_number(workspace.0));
        let index = home.index_of_named(workspace).expect("a name's id is one of the partition");
        partition.names = partition.names.max(index.saturating_add(1));
    }
    let row = WorkspaceRow { kind: event.kind, name, unknown: Unknown::default() };
    draft.put(home.workspace(workspace), row.to_bytes());
}

/// The first event of a client's command stands for its idempotency key.
fn evolve_key(draft: &mut Draft<'_>, home: Home, partition: &mut PartitionRow, event: &Event) {
    let Some(origin) = event.origin.as_ref().filter(|_| event.index == 0) else { return };
    let key = home.key(event.workspace, &origin.client, origin.key);
    // A key whose time is over and that was not swept yet is replaced, and not counted twice.
    if draft.get(Some(event.workspace), &key).is_none() {
        partition.keys = partition.keys.saturating_add(1);
    }
    let row = KeyRow {
        first: event.partition_offset,
        count: event.count,
        fingerprint: origin.fingerprint,
        time: event.time,
        unknown: Unknown::default(),
    };
    draft.put(key, row.to_bytes());
}
