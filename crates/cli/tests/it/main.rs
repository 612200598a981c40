//! The real binary, from outside.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking, and say so briefly")]

mod dev;
mod process;
mod wrong;
