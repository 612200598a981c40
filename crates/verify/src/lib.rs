//! Recomputes everything from the events alone, and reports the first difference.
//!
//! ```text
//!  files ── every byte ─┐                     store on disk: verify_files
//!  log ─► Walk ─► facts, sorted ─► Expected ─► beside every stored row          verify
//!  live ─► LiveWalk ─► …………………………… Expected ─► beside what the server answers   the caller's
//!  log ─► numbers of one sequence ─► each series: first, last, gaps, repeats    verify_sequence
//!  proof, receipt ─► holds or not                                               check_proof
//!  log ─► the event of a proof, by the hash of its bytes                        find_event
//! ```
//!
//! What an event must be, and what comes of it, is said here a second time, as laws: the next number
//! is the last one and one more, a version is the one before and one more, a row is what is left of
//! its changes. Encodings, hashes and the layout of keys are shared with what is checked; the code
//! that decides and writes is not.
//!
//! **Invariants**
//! - Every row of every table is compared, both ways: missing, extra, different.
//! - Memory is bounded by the options, not by events or workspaces.
//! - Nothing that is read makes this panic.
//!
//! **Deliberately absent:** repair. A difference is for a person to look at.
//!
//! **What no check of rows can tell**, because no event says it: by how much time has passed since
//! the last event, how far keys whose retention is over were removed, the kind of a workspace that
//! was declared and has no event, and what an event behind the checkpoint once said instead. The
//! checksums of the files cover all of these on disk.

mod describe;
mod difference;
mod expected;
mod files;
mod live;
mod offline;
mod proof;
mod rules;
mod sequence;
mod sort;
mod spans;
mod stored;
mod walk;

pub use difference::{Difference, Error, Kind, Place};
pub use expected::{Client, Expected, Node, Numbers, UsedKey, Visitor, Workspace};
pub use files::{Verified, open, verify_files};
pub use live::LiveWalk;
pub use offline::{Options, Progress, Step, Totals, verify};
pub use proof::{ProofProblem, Proved, check_proof, parse_hash};
pub use sequence::{Fault, SequenceReport, SeriesReport, verify_sequence};
pub use seriatim_storage_fjall::FilesReport;
pub use stored::{StoredEvent, find_event};
