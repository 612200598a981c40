//! The torture: a real server process, concurrent clients, SIGKILL at random moments.
//!
//! ```text
//!  start ─► ready ─► insist on what was told ─► clients, a definer, followers ─► SIGKILL ─┐
//!    ▲                                                                                    │
//!    └──────────────── perhaps take away what no sync has covered ◄───────────────────────┘
//!  at the end: every receipt, every log, every number, every proof
//! ```
//!
//! A client that loses its connection does not know what became of its command, and finds out by
//! sending it again with the same key. What it was told once, it insists on for ever.
//!
//! **Invariant:** all choices come from one seed. What a kill meets does not: threads, disk and
//! clock decide it, so the same seed gives the same commands and not the same run.
//!
//! **Deliberately absent:** knowledge of how the server works. What is checked is what a client
//! can see over HTTP; only the power cut knows of files.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "counts of a run that are far below any limit, and JSON, which is null where it has \
              nothing"
)]

mod checks;
mod client;
mod definer;
mod follower;
mod history;
mod power_cut;
mod process;
mod progress;
mod report;
mod run;
pub mod serve;
mod workload;

pub use history::Counts;
pub use process::Program;
pub use report::{Summary, markdown};
pub use run::{Plan, run};
