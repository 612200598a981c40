//! The newest time in a store: what a clock is held against when a process begins.

use std::sync::Arc;

use seriatim_codec::Stored;
use seriatim_core::Machine;
use seriatim_storage::Store;
use seriatim_types::{PartitionRef, PartitionRow, Time};

use crate::host::{SYSTEM, partitions_of, prefix_of};
use crate::partition::View;
use crate::reads::{ReadFailed, Reader};
use crate::tables::Tables;

/// The time of the last entry of any partition; `None` in a store without entries.
///
/// One row for each partition is read. One that cannot be read is passed over: its partition stops
/// when it is opened, and says why. Where nothing can be read, the answer is the earliest time there
/// is, so that no clock is believed by mistake.
#[must_use]
pub fn newest_time(store: &Arc<dyn Store>) -> Option<Time> {
    times(store).unwrap_or_else(|_| vec![Some(Time(0))]).into_iter().flatten().max()
}

/// The time of the last entry of each partition, with the earliest for one that cannot be read.
fn times(store: &Arc<dyn Store>) -> Result<Vec<Option<Time>>, ReadFailed> {
    let tables = Tables::new(store.clone());
    let snapshot = Arc::from(store.snapshot().map_err(ReadFailed::Store)?);
    let view = View { snapshot, offset: None, time: None, damage: None };
    let apps = Reader::new(&view, prefix_of(SYSTEM), store.schema()).apps()?;
    let partitions = apps.iter().flat_map(|app| partitions_of(app.app.app, app.app.partitions));
    let time_of = |partition: PartitionRef| {
        let row = Machine::partition_row_id(prefix_of(partition));
        let (table, key) = tables.place(&row);
        let row =
            view.snapshot.get(table, key).map(|row| row.map(|it| PartitionRow::from_bytes(&it)));
        match row {
            Ok(Some(Ok(row))) => row.time,
            Ok(None) => None,
            Ok(Some(Err(_))) | Err(_) => Some(Time(0)),
        }
    };
    Ok(std::iter::once(SYSTEM).chain(partitions).map(time_of).collect())
}
