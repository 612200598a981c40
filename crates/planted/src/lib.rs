//! Bugs on purpose: a simulator that finds nothing has shown nothing, unless it would have found
//! these.
//!
//! ```text
//!  a normal build    is(…) is the constant false, and the compiler drops what hangs on it
//!  feature planted   choose(Some(bug)), for this thread ─► is(bug) in the code that it is about
//! ```
//!
//! A bug is one condition at the place where somebody could have erred:
//!
//! ```
//! use seriatim_planted::{self as planted, Bug};
//!
//! let (known, expected) = (8, 7);
//! let is_met = known == expected || planted::is(Bug::VersionAtLeast) && known >= expected;
//! assert!(!is_met);
//! ```
//!
//! **Invariant:** without the feature nothing of a bug is compiled, and there is nothing to choose.

mod bugs;

pub use bugs::{Bug, Law};

#[cfg(feature = "planted")]
thread_local! {
    static CHOSEN: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Whether this bug is planted: never, in a normal build.
#[cfg(not(feature = "planted"))]
#[inline]
#[must_use]
pub const fn is(_: Bug) -> bool {
    false
}

/// Whether this bug is planted, in what this thread does.
#[cfg(feature = "planted")]
#[must_use]
pub fn is(bug: Bug) -> bool {
    CHOSEN.get() == Some(bug)
}

/// Plants a bug in all that this thread does from here on, or none.
#[cfg(feature = "planted")]
pub fn choose(bug: Option<Bug>) {
    CHOSEN.set(bug);
}

/// A constant can be asked by the compiler. So this build does not compile if a bug is in it.
#[cfg(not(feature = "planted"))]
const _: () = assert!(!is(Bug::SkipDuplicateCheck), "a normal build has no bugs on purpose");
