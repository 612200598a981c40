//! The two calls that decide what is durable, behind a trait so that tests can fail them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Writes journals and makes them durable: the operating system, or a test in its place.
pub trait Disk: Send + Sync {
    /// Makes the bytes of a file durable.
    ///
    /// # Errors
    ///
    /// When the operating system cannot. What was written since the last call may be lost then, also
    /// when a later call succeeds.
    fn sync_data(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// Writes bytes at a position, so that the next [`Disk::sync_data`] has them to write.
    ///
    /// # Errors
    ///
    /// When the operating system cannot.
    fn write_at(&self, file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
        file.write_all_at(bytes, position)
    }
}

/// The operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {}
