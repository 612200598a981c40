//! The contract as a suite that any backend can be put through.
//!
//! A backend author implements [`Place`], somewhere a store can live, and calls
//! [`run_all`] with a function that makes new places:
//!
//! ```
//! use seriatim_storage::conformance::{self, Place};
//! use seriatim_storage::memory::{MemoryDisk, MemoryStore};
//! use seriatim_storage::{OpenError, Schema, Store};
//!
//! struct InMemory(MemoryDisk);
//!
//! impl Place for InMemory {
//!     fn open(&self, schema: &Schema) -> Result<Box<dyn Store>, OpenError> {
//!         Ok(Box::new(MemoryStore::open(&self.0, schema)?))
//!     }
//! }
//!
//! let report = conformance::run_all(&|| Box::new(InMemory(MemoryDisk::new())));
//! // Nothing to kill and no power to lose: these cases say so instead of passing.
//! assert!(report.not_applicable.contains(&"after_sigkill_everything_acknowledged_is_there"));
//! ```
//!
//! Each case gets a new place. A case that a place cannot support is reported as not
//! applicable, never as passed; a backend's own test should pin down that list.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "this is test code over small constants: an overflow fails the case, as it should"
)]

mod commits;
mod conditions;
mod copies;
mod crashes;
mod full_disk;
mod reads;
mod rows;
mod scans;
mod snapshots;
pub mod workload;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Child;

use crate::{OpenError, Schema, Store};

/// Somewhere a store can live. Opening it twice finds the same rows.
pub trait Place {
    /// Opens the store, creating it if there is none. Dropping it closes it.
    ///
    /// # Errors
    ///
    /// As the backend has them.
    fn open(&self, schema: &Schema) -> Result<Box<dyn Store>, OpenError>;

    /// Takes the power away from an open store: what it had not synced may be gone, its last
    /// write may be torn, as the seed decides. Returns whether this place can do that.
    fn lose_power(&self, store: Box<dyn Store>, seed: u64) -> bool {
        drop(store);
        let _ = seed;
        false
    }

    /// Starts a process that opens the store with [`workload::schema`] and calls
    /// [`workload::write_until_killed`], with its standard output piped. `None` when stores
    /// of this kind do not outlive a process.
    fn spawn_writer(&self) -> Option<Child> {
        None
    }

    /// Opens the store with room for only about this many bytes more. `None` when this place
    /// cannot limit itself.
    ///
    /// # Errors
    ///
    /// As the backend has them.
    fn open_with_room(
        &self,
        schema: &Schema,
        room_bytes: u64,
    ) -> Option<Result<Box<dyn Store>, OpenError>> {
        let _ = (schema, room_bytes);
        None
    }

    /// Takes the limit of [`Place::open_with_room`] away.
    fn make_room(&self) {}
}

/// One case of the suite.
pub struct Case {
    /// What it shows.
    pub name: &'static str,
    /// Panics when the contract is broken.
    pub run: fn(&dyn Place) -> Verdict,
}

/// How a case ended that did not panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The contract holds.
    Passed,
    /// The place cannot do what the case needs.
    NotApplicable,
}

/// What [`run_all`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Cases that passed.
    pub passed: Vec<&'static str>,
    /// Cases that the place cannot support.
    pub not_applicable: Vec<&'static str>,
    /// Cases that failed, with what they said.
    pub failed: Vec<(&'static str, String)>,
}

/// Every case, in the order in which they build on each other.
pub fn cases() -> impl Iterator<Item = Case> {
    [
        reads::CASES,
        scans::CASES,
        commits::CASES,
        conditions::CASES,
        snapshots::CASES,
        copies::CASES,
        crashes::CASES,
        full_disk::CASES,
    ]
    .into_iter()
    .flatten()
    .map(|case| Case { name: case.name, run: case.run })
}

/// Runs every case and reports.
///
/// # Panics
///
/// When a case fails, after all have run, naming every one that did.
pub fn run_all(new_place: &dyn Fn() -> Box<dyn Place>) -> Report {
    let report = examine(new_place);
    assert!(
        report.failed.is_empty(),
        "{} of {} cases failed: {:#?}",
        report.failed.len(),
        cases().count(),
        report.failed
    );
    report
}

/// Runs every case and reports, failures included.
pub fn examine(new_place: &dyn Fn() -> Box<dyn Place>) -> Report {
    let mut report = Report::default();
    for case in cases() {
        let outcome = catch_unwind(AssertUnwindSafe(|| (case.run)(new_place().as_ref())));
        match outcome {
            Ok(Verdict::Passed) => report.passed.push(case.name),
            Ok(Verdict::NotApplicable) => report.not_applicable.push(case.name),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                report.failed.push((case.name, text.unwrap_or("panicked").to_owned()));
            }
        }
    }
    report
}

macro_rules! case_list {
    ($($name:ident),+ $(,)?) => {
        pub(super) const CASES: &[crate::conformance::Case] = &[$(
            crate::conformance::Case { name: stringify!($name), run: $name }
        ),+];
    };
}
use case_list;
