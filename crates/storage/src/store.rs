//! The traits that a backend implements.

use std::ops::ControlFlow;

use bytes::Bytes;

use crate::{
    Batch, CommitError, KeyRange, Poisoned, ReadError, Row, Scan, ScanEnd, ScanError, Schema,
    Stats, SyncError, Table,
};

/// Reading. On a [`Store`] each call sees the latest commit as of the call, durable or not;
/// on a [`Snapshot`] all calls see the moment at which it was taken.
pub trait Read {
    /// The value of one key.
    ///
    /// # Errors
    ///
    /// When the store is poisoned or the bytes could not be read.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError>;

    /// The values of many keys, in the order of the keys, all as of one point in time.
    ///
    /// # Errors
    ///
    /// When the store is poisoned or any of the values could not be read.
    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError>;

    /// Shows each row of a range to `visit`, in order, until the range, the limit or the
    /// visitor ends it. All rows are as of one point in time.
    ///
    /// # Errors
    ///
    /// When the scan was cancelled, the store is poisoned or a row could not be read.
    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError>;

    /// Whether a range holds no row.
    ///
    /// # Errors
    ///
    /// When the store is poisoned or the bytes could not be read.
    fn is_range_empty(&self, table: Table, range: &KeyRange) -> Result<bool, ReadError> {
        Ok(self.first_key(table, range)?.is_none())
    }

    /// The lowest key of a range.
    ///
    /// # Errors
    ///
    /// When the store is poisoned or the bytes could not be read.
    fn first_key(&self, table: Table, range: &KeyRange) -> Result<Option<Bytes>, ReadError> {
        let mut first = None;
        let scan = Scan::new(table, range.clone()).limit(1);
        let end = self.scan(&scan, &mut |row| {
            first = Some(row.key);
            ControlFlow::Continue(())
        });
        match end {
            Ok(ScanEnd::Complete | ScanEnd::Limit | ScanEnd::Stopped) => Ok(first),
            Err(ScanError::Read(error)) => Err(error),
            Err(ScanError::Cancelled { .. }) => unreachable!("nobody else has this scan's token"),
        }
    }
}

/// Implements [`Read`] for a store around another one, which reads all of it from that one, its own
/// ways of doing so included.
#[macro_export]
macro_rules! read_through {
    ($around:ty, $store:ident) => {
        impl $crate::Read for $around {
            fn get(
                &self,
                table: $crate::Table,
                key: &[u8],
            ) -> Result<Option<::bytes::Bytes>, $crate::ReadError> {
                self.$store.get(table, key)
            }

            fn get_many(
                &self,
                keys: &[($crate::Table, &[u8])],
            ) -> Result<Vec<Option<::bytes::Bytes>>, $crate::ReadError> {
                self.$store.get_many(keys)
            }

            fn scan(
                &self,
                scan: &$crate::Scan,
                visit: &mut dyn FnMut($crate::Row) -> ::std::ops::ControlFlow<()>,
            ) -> Result<$crate::ScanEnd, $crate::ScanError> {
                self.$store.scan(scan, visit)
            }

            fn is_range_empty(
                &self,
                table: $crate::Table,
                range: &$crate::KeyRange,
            ) -> Result<bool, $crate::ReadError> {
                self.$store.is_range_empty(table, range)
            }

            fn first_key(
                &self,
                table: $crate::Table,
                range: &$crate::KeyRange,
            ) -> Result<Option<::bytes::Bytes>, $crate::ReadError> {
                self.$store.first_key(table, range)
            }
        }
    };
}

/// The whole store as of one moment, for as long as this value lives. Later commits leave it
/// alone. It keeps old rows from being cleaned up, so it should not be kept for hours.
pub trait Snapshot: Read + Send + Sync {}

/// A store. Dropping it closes it; what was not synced then may be lost.
pub trait Store: Read + Send + Sync {
    /// The tables.
    fn schema(&self) -> &Schema;

    /// A consistent view of all tables, as of now.
    ///
    /// # Errors
    ///
    /// When the store is poisoned.
    fn snapshot(&self) -> Result<Box<dyn Snapshot>, ReadError>;

    /// Applies the batch, all of it or none. Returns as soon as reads can see it, without
    /// waiting for the disk.
    ///
    /// # Errors
    ///
    /// [`CommitError::outcome`] tells apart what was certainly not written from what only a
    /// reopened store can tell.
    fn commit(&self, batch: Batch) -> Result<(), CommitError>;

    /// Waits until everything that was committed before this call is durable. Callers that
    /// wait at the same time share one wait for the disk.
    ///
    /// # Errors
    ///
    /// When the store is or becomes poisoned. A failed sync is never tried again: the
    /// operating system may have dropped the bytes it could not write.
    fn sync(&self) -> Result<(), SyncError>;

    /// Whether the store still accepts work. Does not wait for a commit that is held up, so
    /// that somebody can find out why it is.
    ///
    /// # Errors
    ///
    /// The first failure, once there was one.
    fn health(&self) -> Result<(), Poisoned>;

    /// Whether the disk has room for a commit. One that is committed may find it gone all the same.
    ///
    /// # Errors
    ///
    /// [`CommitError::Full`].
    fn room(&self) -> Result<(), CommitError> {
        Ok(())
    }

    /// How much of the disk is free, for this store and everybody else. It is told also by a store
    /// that is poisoned. `None` where there is no disk, or it does not say.
    fn disk_free_bytes(&self) -> Option<u64> {
        None
    }

    /// How large the store is.
    ///
    /// # Errors
    ///
    /// When the store is poisoned or the sizes could not be read.
    fn stats(&self) -> Result<Stats, ReadError>;
}
