//! The default backend: tables on disk, by the embedded engine fjall.
//!
//! ```text
//!  commit ─► room? ─► pressure? ─► conditions ─► journal (page cache) ─► memtables ─► visible
//!                                                   │
//!  sync ────────────────────────────── fdatasync ───┘      commits go on meanwhile
//! ```
//!
//! The engine is used by rules that were measured, and guarded where it is known to be weak:
//!
//! - Every batch ends with a row that holds its number and the highest number known to be
//!   durable. These are read before the engine opens, so a torn tail is cut off, and damage to
//!   the journal of anything acknowledged is an error and never a silent loss.
//! - At a start, whatever is not known to be durable is written anew and synced before it is read: a
//!   sync that failed before may have left pages in the cache that the disk does not have.
//! - A store that is closed notes its last commit, so that a journal that has lost its end is told
//!   from one that was never longer.
//! - Readers see the state after a commit that we have published, never the engine's own
//!   present one: while it writes out a table it shows a batch that is still being applied.
//! - What is missing is found before the engine opens: it deletes what it cannot place.
//! - We say when a memtable is written out, and sync the journal first: the engine can put a
//!   table on disk that is ahead of its journal.
//! - `sync` waits for the disk on a file handle of its own, so that commits do not wait for
//!   it.
//! - Commits are refused while the disk has less than a reserve free: an engine that runs into
//!   the end of the disk stops.
//!
//! **Invariant:** commits are numbered 1, 2, 3 …; a reopened store holds exactly the batches up
//! to some number, and that number is at least the highest one that a sync acknowledged.
//!
//! **Deliberately absent:** a second journal in front of the engine's (measured: it gains
//! nothing), and clearing whole tables (the engine keeps journals for ever after it).

mod check;
mod clean_end;
mod disk;
mod engine_log;
mod files;
mod journal;
mod listing;
mod marker;
mod pack;
mod permissions;
mod pressure;
mod settings;
mod store;
mod tables;

pub use check::FilesReport;
pub use disk::{Disk, SystemDisk};
pub use engine_log::keep_engine_errors;
pub use journal::{InspectError, Inspection};
pub use settings::Settings;
pub use store::FjallStore;
