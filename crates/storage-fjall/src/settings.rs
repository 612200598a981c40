//! What can be set, and what was measured to be a good default.

/// Settings of a [`FjallStore`](crate::FjallStore). The defaults suit a server with a few GiB
/// of memory; none of them changes what is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of new rows that a table keeps in memory before it writes them to a file, at
    /// least 64 KiB. Small memtables mean short stalls and a fast start after a crash.
    pub memtable_bytes: u64,
    /// Bytes of journal above which tables that lag behind are written out, at least 64 MiB: a
    /// journal is begun anew at that size. This bounds what is read again after a crash.
    pub journal_bytes_max: u64,
    /// Bytes of file blocks kept in memory, shared by all tables.
    pub cache_bytes: u64,
    /// Bytes of free disk below which commits are refused.
    pub disk_reserve_bytes: u64,
    /// Threads that write out and merge tables, at least 1. Of several, the engine's first one only
    /// writes out, and turns in circles while there is more to merge than the others can take up.
    pub worker_threads: usize,
}

const MIB: u64 = 1024 * 1024;
const JOURNAL_BYTES_MIN: u64 = 64 * MIB;
const MEMTABLE_BYTES_MIN: u64 = 64 * 1024;

impl Settings {
    /// Says what is out of range, if something is. The engine would panic.
    pub(crate) fn check(self) -> Result<(), String> {
        let Self { memtable_bytes, journal_bytes_max, worker_threads, .. } = self;
        if memtable_bytes < MEMTABLE_BYTES_MIN {
            return Err(format!(
                "memtable_bytes is {memtable_bytes}, it must be at least {MEMTABLE_BYTES_MIN}"
            ));
        }
        if journal_bytes_max < JOURNAL_BYTES_MIN {
            return Err(format!(
                "journal_bytes_max is {journal_bytes_max}, it must be at least {JOURNAL_BYTES_MIN}"
            ));
        }
        if worker_threads == 0 {
            return Err("worker_threads is 0, it must be at least 1".to_owned());
        }
        Ok(())
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            memtable_bytes: 32 * MIB,
            journal_bytes_max: 64 * MIB,
            cache_bytes: 64 * MIB,
            disk_reserve_bytes: 256 * MIB,
            worker_threads: 4,
        }
    }
}
