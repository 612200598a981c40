//! What an answer comes to, in view of the attempts before it.
//!
//! An attempt whose connection broke, or whose answer says so, may have been written. What a later
//! attempt with the same key is told then depends on whether the server has looked at the key:
//!
//! | this attempt | none before may be written | one before may be written |
//! |---|---|---|
//! | a receipt | done | done |
//! | refused behind the key | refused | refused: a written one had been replayed |
//! | refused before the key was looked at | refused | unknown |
//! | not written, decided behind the key | not written | not written |
//! | not written, retryable | again | again |
//! | not written, not retryable | not written | unknown |
//! | unknown, retryable; connection broken | again, in the right column | again |
//! | unknown, not retryable | unknown | unknown |
//! | deadline, nothing under way | not written | unknown |
//! | deadline, an attempt under way | unknown | unknown |

use crate::error::Outcome;
use crate::failure::Failure;

/// Codes that are found only after a command's key was looked up and not found, or found with
/// another command. The order in which the server looks is part of its contract.
pub const BEHIND_THE_KEY: &[&str] = &[
    "IDEMPOTENCY_KEY_REUSED",
    "DEADLINE_EXCEEDED",
    "KEY_WINDOW_FULL",
    "UNKNOWN_KIND",
    "UNKNOWN_SEQUENCE",
    "OFFSET_MISMATCH",
    "SEQUENCE_EXHAUSTED",
    "RECORD_EXISTS",
    "SINGLETON_EXISTS",
    "RECORD_NOT_FOUND",
    "KEY_EXISTS",
    "KEY_NOT_FOUND",
    "VERSION_MISMATCH",
    "VALUE_MISMATCH",
];

/// What comes of a failed attempt.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// The answer to the caller.
    Final(Failure),
    /// To be sent again with the same key.
    Again(Failure),
}

/// Judges an attempt that got an answer. `may_be_written` is about the attempts before it.
pub(super) fn judge(may_be_written: bool, failure: Failure) -> Verdict {
    let is_decided = BEHIND_THE_KEY.contains(&failure.error.code());
    let resolved = |outcome| if may_be_written && !is_decided { Outcome::Unknown } else { outcome };
    match failure.outcome {
        Outcome::Refused => {
            Verdict::Final(Failure { outcome: resolved(Outcome::Refused), ..failure })
        }
        // It was the command's turn, so those behind it have not been held up: sent again, it
        // would come after them.
        Outcome::NotWritten if is_decided => Verdict::Final(failure),
        Outcome::NotWritten | Outcome::Unknown if failure.error.is_retryable() => {
            Verdict::Again(failure)
        }
        outcome @ (Outcome::NotWritten | Outcome::Unknown) => {
            Verdict::Final(Failure { outcome: resolved(outcome), ..failure })
        }
    }
}

/// What a command comes to that is given up: nothing of it was written, or nobody knows.
pub(super) fn given_up(may_be_written: bool) -> Outcome {
    if may_be_written { Outcome::Unknown } else { Outcome::NotWritten }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn failure(code: &'static str, outcome: Outcome, is_retryable: bool) -> Failure {
        let error = Error::new(code, "as it is");
        Failure { error: if is_retryable { error.retryable(None) } else { error }, outcome }
    }

    /// What the answer comes to without and with an earlier attempt that may be written; `None` is
    /// again.
    fn check(answer: Failure, expected: [Option<Outcome>; 2]) {
        for (may_be_written, expected) in [(false, expected[0]), (true, expected[1])] {
            let found = match judge(may_be_written, answer.clone()) {
                Verdict::Final(verdict) => Some(verdict.outcome),
                Verdict::Again(_) => None,
            };
            assert_eq!(found, expected, "{answer:?} after {may_be_written}");
        }
    }

    #[test]
    fn the_table_holds() {
        use Outcome::{NotWritten, Refused, Unknown};
        for code in BEHIND_THE_KEY {
            check(failure(code, Refused, false), [Some(Refused), Some(Refused)]);
        }
        for code in ["INVALID_ARGUMENT", "TOO_LARGE", "APP_NOT_FOUND", "PERMISSION_DENIED", "NEW"] {
            check(failure(code, Refused, false), [Some(Refused), Some(Unknown)]);
        }
        let late = failure("DEADLINE_EXCEEDED", NotWritten, false);
        check(late, [Some(NotWritten), Some(NotWritten)]);
        let full = failure("KEY_WINDOW_FULL", NotWritten, true);
        check(full, [Some(NotWritten), Some(NotWritten)]);
        check(failure("BUSY", NotWritten, true), [None, None]);
        let stopped = failure("PARTITION_STOPPED", NotWritten, false);
        check(stopped, [Some(NotWritten), Some(Unknown)]);
        check(failure("DEADLINE_EXCEEDED", Unknown, true), [None, None]);
        check(failure("PARTITION_STOPPED", Unknown, true), [None, None]);
        check(failure("UNIMPLEMENTED", Unknown, false), [Some(Unknown), Some(Unknown)]);
    }
}
