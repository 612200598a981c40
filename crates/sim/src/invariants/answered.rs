//! Whoever asks is answered, as long as the process runs.

use super::Violation;
use crate::server::Seen;

/// Nothing that waits for an answer is dropped.
pub(crate) fn check(seen: &Seen) -> Result<(), Violation> {
    let Seen::Unanswered { asker } = seen else { return Ok(()) };
    Err(Violation::new("answered", format!("{asker:?} is dropped without an answer")))
}
