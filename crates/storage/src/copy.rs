//! Copies all rows under a key prefix into another store, as of one moment.
//!
//! The source goes on taking commits: the copy reads a snapshot. The target is written in
//! bounded batches and synced once at the end, so the copy is not atomic there. Whoever needs
//! that writes under a prefix that nothing points to yet and flips a pointer row afterwards.

use std::ops::ControlFlow;

use bytes::{Bytes, BytesMut};

use crate::{
    Batch, Cancel, CommitError, KeyRange, ReadError, Row, Scan, ScanEnd, ScanError, Snapshot,
    Store, SyncError, Table,
};

/// Keys and values per batch: large enough that commits cost little, small enough that the
/// target's other writers are not held up.
const COPY_BATCH_BYTES: usize = 1024 * 1024;

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyReport {
    /// Rows.
    pub rows: u64,
    /// Keys and values, added up.
    pub bytes: u64,
}

/// A copy did not finish. The target may hold a part of the rows; they are all under the
/// target prefix, which was empty before.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The target has rows under the target prefix already. Nothing was copied.
    #[error("the copy's target has rows already, the first in table {table}")]
    TargetNotEmpty {
        /// The first table with such a row.
        table: String,
    },
    /// The target has no table of this name. Nothing was copied.
    #[error("the copy's target has no table {table}")]
    NoSuchTable {
        /// The table that the source has.
        table: String,
    },
    /// The token was cancelled.
    #[error("the copy was cancelled")]
    Cancelled,
    /// The source could not be read.
    #[error("the copy's source failed")]
    Source(#[source] ReadError),
    /// The target could not be read.
    #[error("the copy's target failed")]
    Target(#[source] ReadError),
    /// The target did not take a batch.
    #[error("the copy's target took no more rows")]
    Commit(#[source] CommitError),
    /// The target could not make the rows durable.
    #[error("the copy could not be made durable")]
    Sync(#[source] SyncError),
}

/// Copies the rows of every table of `source` whose key begins with `prefix` into the table
/// of the same name of `target`, with `target_prefix` in place of `prefix`. When it returns,
/// the rows are durable there. `progress` hears of every batch.
///
/// # Errors
///
/// When the target is not empty under its prefix or lacks a table; when either store fails;
/// when the token is cancelled.
pub fn copy_prefix(
    source: &dyn Store,
    prefix: &[u8],
    target: &dyn Store,
    target_prefix: &[u8],
    cancel: &Cancel,
    progress: &mut dyn FnMut(CopyReport),
) -> Result<CopyReport, CopyError> {
    let tables = matching_tables(source, target)?;
    for (_, to) in &tables {
        let range = KeyRange::prefix(target_prefix);
        if !target.is_range_empty(*to, &range).map_err(CopyError::Target)? {
            let table = target.schema().name(*to).to_owned();
            return Err(CopyError::TargetNotEmpty { table });
        }
    }

    let snapshot = source.snapshot().map_err(CopyError::Source)?;
    let mut copy = Copy {
        target,
        prefix_bytes: prefix.len(),
        target_prefix,
        batch: Batch::new(),
        report: CopyReport::default(),
        progress,
    };
    for (from, to) in tables {
        copy.table(snapshot.as_ref(), from, to, prefix, cancel)?;
    }
    copy.flush()?;
    target.sync().map_err(CopyError::Sync)?;
    Ok(copy.report)
}

fn matching_tables(
    source: &dyn Store,
    target: &dyn Store,
) -> Result<Vec<(Table, Table)>, CopyError> {
    let schema = source.schema();
    let pair = |from: Table| {
        let name = schema.name(from);
        let to = target.schema().table(name);
        to.map(|to| (from, to)).ok_or_else(|| CopyError::NoSuchTable { table: name.to_owned() })
    };
    schema.tables().map(pair).collect()
}

struct Copy<'a> {
    target: &'a dyn Store,
    prefix_bytes: usize,
    target_prefix: &'a [u8],
    batch: Batch,
    report: CopyReport,
    progress: &'a mut dyn FnMut(CopyReport),
}

impl Copy<'_> {
    fn table(
        &mut self,
        snapshot: &dyn Snapshot,
        from: Table,
        to: Table,
        prefix: &[u8],
        cancel: &Cancel,
    ) -> Result<(), CopyError> {
        let mut failed = None;
        let scan = Scan::new(from, KeyRange::prefix(prefix)).cancel(cancel);
        let end = snapshot.scan(&scan, &mut |row| match self.row(to, row) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        });
        match (end, failed) {
            (_, Some(error)) => Err(error),
            (Ok(ScanEnd::Complete), None) => Ok(()),
            (Ok(ScanEnd::Limit | ScanEnd::Stopped), None) => {
                unreachable!("a scan without a limit stops early only for a failed row")
            }
            (Err(ScanError::Cancelled { .. }), None) => Err(CopyError::Cancelled),
            (Err(ScanError::Read(error)), None) => Err(CopyError::Source(error)),
        }
    }

    fn row(&mut self, table: Table, row: Row) -> Result<(), CopyError> {
        let size = row.key.len().saturating_add(row.value.len());
        self.report.rows = self.report.rows.saturating_add(1);
        self.report.bytes =
            self.report.bytes.saturating_add(u64::try_from(size).unwrap_or(u64::MAX));
        let key = self.with_target_prefix(&row.key);
        self.batch.put(table, key, row.value);
        if self.batch.bytes() >= COPY_BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn with_target_prefix(&self, key: &Bytes) -> Bytes {
        let rest = key.slice(self.prefix_bytes..);
        let mut whole =
            BytesMut::with_capacity(self.target_prefix.len().saturating_add(rest.len()));
        whole.extend_from_slice(self.target_prefix);
        whole.extend_from_slice(&rest);
        whole.freeze()
    }

    fn flush(&mut self) -> Result<(), CopyError> {
        let batch = std::mem::take(&mut self.batch);
        self.target.commit(batch).map_err(CopyError::Commit)?;
        (self.progress)(self.report);
        Ok(())
    }
}
