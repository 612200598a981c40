//! How a command ends: codes for programs, sentences for people.
//!
//! The codes are a contract: `docs/reference/cli.md` has them.

use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use serde_json::{Map, Value};
use seriatim_storage::OpenError;

use crate::document::{object, of};
use crate::output::shown;

/// What a process ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Something else failed.
    Failure = 1,
    /// What was asked for cannot be understood: arguments or configuration.
    Usage = 2,
    /// The server has refused it, and will again unless something changes.
    Refused = 3,
    /// It was not written. Trying again is safe.
    NotWritten = 4,
    /// It may have been written. Sending it again with the same key resolves it.
    Unknown = 5,
    /// What was checked is not what it should be.
    Difference = 6,
    /// Whether it is as it should be cannot be told from what is there.
    CannotTell = 7,
    /// In a simulated run something did not hold, or it was not the same twice.
    Violated = 8,
    /// Somebody has interrupted it, as with Ctrl-C.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Somebody has interrupted it, and need not be told.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub(crate) struct Interrupted;

/// Somebody was told by the log how it ended.
#[derive(Debug, thiserror::Error)]
#[error("logged")]
pub(crate) struct Logged(Exit);

/// Facts that are not shown to people.
const FOR_PROGRAMS: &[&str] = &["outcome", "field", "help"];

/// A failure that says more than a sentence.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// What happened.
    pub(crate) message: String,
    /// The stable code. Those that no server answers with stand in `docs/reference/cli-errors.md` and
    /// `docs/reference/verify.md`.
    pub(crate) code: Cow<'static, str>,
    /// Whether the same can succeed later without anybody changing anything.
    pub(crate) is_retryable: bool,
    /// What else is known, by name, as in the body of an error over HTTP.
    pub(crate) facts: Map<String, Value>,
    /// What to do next.
    pub(crate) advice: Option<String>,
}

impl Failure {
    /// A failure for which there is no code of its own.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        let code = if exit == Exit::Usage { "INVALID_ARGUMENT" } else { "FAILED" };
        let is_retryable = matches!(exit, Exit::NotWritten | Exit::Unknown | Exit::Interrupted);
        let (message, code) = (message.into(), code.into());
        Self { exit, message, code, is_retryable, facts: Map::new(), advice: None }
    }

    /// Wrong arguments or configuration.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn code(self, code: impl Into<Cow<'static, str>>) -> Self {
        Self { code: code.into(), ..self }
    }

    pub(crate) fn fact(mut self, name: &str, fact: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), fact.into());
        self
    }

    pub(crate) fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// Advice for a code that has none of its own everywhere.
    pub(crate) fn or_advise(self, code: &str, advice: &str) -> Self {
        let fits = self.code == code && self.advice.is_none();
        if fits { self.advise(advice) } else { self }
    }

    /// What has come of something that was to be written, as far as this failure tells.
    fn outcome(&self) -> &'static str {
        match self.exit {
            Exit::Usage | Exit::Refused => "refused",
            Exit::Unknown | Exit::Interrupted => "unknown",
            Exit::Done
            | Exit::Failure
            | Exit::NotWritten
            | Exit::Difference
            | Exit::CannotTell
            | Exit::Violated => "not_written",
        }
    }

    /// For people: what happened, the code, the facts, what to do.
    fn text(&self) -> String {
        // What has no code of its own is said by its sentence alone.
        let is_plain =
            matches!(&*self.code, "FAILED" | "INVALID_ARGUMENT") && self.facts.is_empty();
        let code = (!is_plain).then(|| ("code".to_owned(), self.code.to_string()));
        // Advice says what these mean.
        let facts = self.facts.iter().filter(|(name, _)| !FOR_PROGRAMS.contains(&name.as_str()));
        let facts = facts.map(|(name, value)| {
            let said = plain(value);
            // A line for a shell stays as it is: those are the words of whoever reads it.
            (name.replace('_', " "), if name == "again" { said } else { shown(&said) })
        });
        let advice = self.advice.iter().map(|advice| ("next".to_owned(), advice.clone()));
        let details = code.into_iter().chain(facts).chain(advice);
        let details: String = details.map(|(name, said)| format!("\n  {name}: {said}")).collect();
        let message = self.message.split('\n').map(shown).collect::<Vec<_>>().join("\n");
        format!("seriatim: {message}{details}")
    }

    /// For programs: the members of an error over HTTP, in their order. A command that writes always
    /// says what came of it.
    fn json(&self, is_write: bool) -> String {
        let outcome = is_write.then(|| self.outcome().into());
        let outcome = self.facts.get("outcome").cloned().or(outcome);
        let facts = self.facts.iter().filter(|(name, _)| *name != "outcome");
        let members = object([
            ("code", of(&*self.code)),
            ("message", of(self.message.as_str())),
            ("retryable", of(self.is_retryable)),
        ]);
        let members = members.with_some("outcome", outcome.map(of));
        let members = facts.fold(members, |it, (name, fact)| it.with(name, of(fact.clone())));
        members.with_some("advice", self.advice.as_deref().map(of)).to_string()
    }
}

/// Says why a command has failed, and what its process ends with. `is_write` is whether it was to
/// write something.
pub(crate) fn report(error: anyhow::Error, as_json: bool, is_write: bool) -> Exit {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    if io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        // Whoever was reading has seen enough, and nobody is left to tell.
        return Exit::Done;
    }
    if let Some(Logged(exit)) = error.downcast_ref() {
        return *exit;
    }
    if error.is::<Interrupted>() {
        // People know what they have done.
        if as_json {
            let failure = Failure::new(Exit::Interrupted, "interrupted").code("INTERRUPTED");
            drop(writeln!(std::io::stderr(), "{}", failure.json(is_write)));
        }
        return Exit::Interrupted;
    }
    let failure = error.downcast().unwrap_or_else(|error| of_this_machine(&error));
    let said = if as_json { failure.json(is_write) } else { failure.text() };
    // Nobody is told when nobody listens.
    drop(writeln!(std::io::stderr(), "{said}"));
    failure.exit
}

/// Logs what a server ends with.
pub(crate) fn logged(error: anyhow::Error) -> anyhow::Error {
    let failure = error.downcast().unwrap_or_else(|error| of_this_machine(&error));
    let Failure { exit, message: reason, code, advice: next, .. } = failure;
    tracing::error!(code = &*code, reason, next, "server ended with an error");
    Logged(exit).into()
}

/// The failure for what this machine has denied: a folder, a file, an address.
fn of_this_machine(error: &anyhow::Error) -> Failure {
    let failure = Failure::new(Exit::Failure, format!("{error:#}"));
    let store = error.chain().find_map(|cause| cause.downcast_ref::<OpenError>());
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    match (store, io.map(std::io::Error::kind)) {
        (Some(store), _) => failure.code(code_of_store(store)),
        (None, Some(ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable)) => {
            failure.code("ADDRESS_UNUSABLE")
        }
        (None, Some(ErrorKind::NotFound)) => {
            failure.code("IO_FAILED").advise("look whether the path is right")
        }
        (None, Some(_)) => failure.code("IO_FAILED"),
        (None, None) => failure,
    }
}

/// The code for a store that cannot be opened.
pub(crate) fn code_of_store(error: &OpenError) -> &'static str {
    match error {
        OpenError::InUse { .. } => "STORE_IN_USE",
        OpenError::Missing { .. } => "NOT_FOUND",
        OpenError::Occupied { .. } | OpenError::Foreign { .. } => "FOLDER_OCCUPIED",
        OpenError::UnknownTable { .. } => "STORE_TOO_NEW",
        OpenError::Damaged { .. } => "FILE_DAMAGED",
        OpenError::Failed { .. } => "STORE_UNREADABLE",
    }
}

/// A fact as people read it: texts without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Failure {
        Failure::new(Exit::Refused, "refused: stock/A-7 has version 8")
            .code("VERSION_MISMATCH")
            .fact("key", "stock/A-7")
            .fact("current_version", 8)
            .advise("read it again")
    }

    #[test]
    fn people_get_lines_and_programs_get_members() {
        assert_eq!(
            refused().text(),
            "seriatim: refused: stock/A-7 has version 8\n  code: VERSION_MISMATCH\n  \
             current version: 8\n  key: stock/A-7\n  next: read it again"
        );
        assert_eq!(
            refused().json(true),
            r#"{"code":"VERSION_MISMATCH","message":"refused: stock/A-7 has version 8","retryable":false,"outcome":"refused","current_version":8,"key":"stock/A-7","advice":"read it again"}"#
        );
        let stored = Failure::new(Exit::Refused, "found \u{1b}[31m").fact("found", "\u{1b}[2J");
        assert_eq!(
            stored.text(),
            "seriatim: found \\u001b[31m\n  code: FAILED\n  found: \\u001b[2J"
        );
        assert!(!refused().json(false).contains("outcome"));
        let known = refused().fact("outcome", "unknown").json(true);
        assert!(known.contains(r#""retryable":false,"outcome":"unknown","current_version""#));
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let closed = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let error = anyhow::Error::new(closed).context("cannot write");
        assert_eq!(report(error, false, false), Exit::Done);
        assert_eq!(report(anyhow::anyhow!("else"), false, false), Exit::Failure);
        assert_eq!(report(refused().into(), true, true), Exit::Refused);
    }

    #[test]
    fn what_this_machine_denies_has_a_code() {
        let path = || "data".to_owned();
        let in_use = anyhow::Error::new(OpenError::InUse { path: path() }).context("cannot start");
        assert_eq!(of_this_machine(&in_use).code, "STORE_IN_USE");
        let taken = std::io::Error::from(ErrorKind::AddrInUse);
        let taken = anyhow::Error::new(taken).context("cannot listen");
        assert_eq!(of_this_machine(&taken).code, "ADDRESS_UNUSABLE");
        let missing = anyhow::Error::new(std::io::Error::from(ErrorKind::NotFound));
        let missing = of_this_machine(&missing);
        assert_eq!((&*missing.code, missing.advice.is_some()), ("IO_FAILED", true));
        let other = of_this_machine(&anyhow::anyhow!("else"));
        assert_eq!(
            (&*other.code, other.exit, other.is_retryable),
            ("FAILED", Exit::Failure, false)
        );
    }
}
