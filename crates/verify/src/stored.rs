//! An event as it is stored, found by the hash of its bytes.

use seriatim_codec::{PartitionPrefix, Stored, Table as RowTable, event_key, workspace_row_key};
use seriatim_merkle::leaf_hash;
use seriatim_storage::{Read, Schema};
use seriatim_types::{
    Event, Hash, Name, PartitionId, PartitionOffset, PartitionRef, WorkspaceId, WorkspaceRow,
};

use crate::difference::{Difference, Error, Kind, Place};
use crate::offline::rows::Tables;
use crate::offline::{catalogue, prefix_of};

/// An event as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// The app whose event it is.
    pub app: Name,
    /// The name of its workspace, if that has one.
    pub workspace_name: Option<Name>,
    /// The event.
    pub event: Event,
}

/// Looks in every app for the event at a place whose stored bytes have this hash. The hash of a
/// proof's leaf finds no event but the one that the proof is about.
///
/// # Errors
///
/// When the store cannot be read, or not what is stored.
pub fn find_event(
    (read, schema): (&dyn Read, &Schema),
    (partition, offset): (PartitionId, PartitionOffset),
    leaf: Hash,
) -> Result<Option<StoredEvent>, Error> {
    let tables = Tables::new(read, schema);
    for settings in catalogue(tables)?.apps.into_values().map(|app| app.latest.app) {
        let place = PartitionRef { app: settings.app, partition };
        let key = event_key(prefix_of(place), offset);
        let bytes = tables.get(RowTable::Log, &key)?.filter(|bytes| leaf_hash(bytes) == leaf);
        let Some(bytes) = bytes else { continue };
        let event = Event::from_bytes(&bytes).map_err(|error| {
            let place = Place::of(place).row(RowTable::Log, &key).event(offset);
            Difference::error(Kind::EventUnreadable, place, "an event", error)
        })?;
        let workspace_name = workspace_name(tables, prefix_of(place), event.workspace)?;
        return Ok(Some(StoredEvent { app: settings.name, workspace_name, event }));
    }
    Ok(None)
}

/// The name of a workspace, if it has one.
pub(crate) fn workspace_name(
    tables: Tables<'_>,
    prefix: PartitionPrefix,
    workspace: WorkspaceId,
) -> Result<Option<Name>, Error> {
    let key = workspace_row_key(prefix, workspace);
    let Some(bytes) = tables.get(RowTable::Partition, &key)? else { return Ok(None) };
    let row = WorkspaceRow::from_bytes(&bytes).map_err(|error| {
        let PartitionPrefix { app, partition, .. } = prefix;
        let place = Place::of(PartitionRef { app, partition }).row(RowTable::Partition, &key);
        Difference::error(Kind::RowUnreadable, place, "a workspace", error)
    })?;
    Ok(row.name)
}
