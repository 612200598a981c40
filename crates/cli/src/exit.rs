//! How a command ends: codes for programs, sentences for people.
//!
//! The codes are a contract: `docs/reference/cli.md` has them.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use serde_json::{Map, Value};

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

/// Facts that are not shown to people.
const FOR_PROGRAMS: &[&str] = &["retryable", "outcome", "field"];

/// A failure that says more than a sentence.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// What happened.
    pub(crate) message: String,
    /// The stable code, if there is one.
    pub(crate) code: Option<String>,
    /// What else is known, by name, as in the body of an error over HTTP.
    pub(crate) facts: Map<String, Value>,
    /// What to do next.
    pub(crate) advice: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { exit, message, code: None, facts: Map::new(), advice: None }
    }

    /// Wrong arguments or configuration.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// For people: what happened, the code, the facts, what to do.
    fn text(&self) -> String {
        let code = self.code.iter().map(|code| ("code".to_owned(), code.clone()));
        // Advice says what these mean.
        let facts = self.facts.iter().filter(|(name, _)| !FOR_PROGRAMS.contains(&name.as_str()));
        let facts = facts.map(|(name, value)| (name.replace('_', " "), plain(value)));
        let advice = self.advice.iter().map(|advice| ("next".to_owned(), advice.clone()));
        let details = code.chain(facts).chain(advice);
        let details: String = details.map(|(name, said)| format!("\n  {name}: {said}")).collect();
        format!("seriatim: {}{details}", self.message)
    }

    /// For programs: the members of an error over HTTP.
    fn json(&self) -> String {
        let mut members = self.facts.clone();
        let texts = [("code", &self.code), ("advice", &self.advice)];
        for (name, text) in texts {
            members.extend(text.clone().map(|text| (name.to_owned(), text.into())));
        }
        if self.exit == Exit::Usage {
            members.entry("code").or_insert_with(|| "INVALID_ARGUMENT".into());
        }
        members.insert("message".to_owned(), self.message.as_str().into());
        Value::Object(members).to_string()
    }
}

/// Says why a command has failed, and what its process ends with.
pub(crate) fn report(error: &anyhow::Error, as_json: bool) -> Exit {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    if io.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        // Whoever was reading has seen enough, and nobody is left to tell.
        return Exit::Done;
    }
    if error.is::<Interrupted>() {
        return Exit::Interrupted;
    }
    let other;
    let failure = match error.downcast_ref::<Failure>() {
        Some(failure) => failure,
        None => {
            other = Failure::new(Exit::Failure, format!("{error:#}"));
            &other
        }
    };
    let said = if as_json { failure.json() } else { failure.text() };
    // Nobody is told when nobody listens.
    drop(writeln!(std::io::stderr(), "{said}"));
    failure.exit
}

/// A fact as people read it: texts without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Failure {
        let facts = serde_json::json!({ "key": "stock/A-7", "current_version": 8 });
        Failure {
            code: Some("VERSION_MISMATCH".to_owned()),
            facts: facts.as_object().unwrap().clone(),
            ..Failure::new(Exit::Refused, "refused: stock/A-7 has version 8")
                .advise("read it again")
        }
    }

    #[test]
    fn people_get_lines_and_programs_get_members() {
        assert_eq!(
            refused().text(),
            "seriatim: refused: stock/A-7 has version 8\n  code: VERSION_MISMATCH\n  \
             current version: 8\n  key: stock/A-7\n  next: read it again"
        );
        assert_eq!(
            refused().json(),
            r#"{"advice":"read it again","code":"VERSION_MISMATCH","current_version":8,"key":"stock/A-7","message":"refused: stock/A-7 has version 8"}"#
        );
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let closed = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let error = anyhow::Error::new(closed).context("cannot write");
        assert_eq!(report(&error, false), Exit::Done);
        assert_eq!(report(&anyhow::anyhow!("else"), false), Exit::Failure);
        assert_eq!(report(&refused().into(), true), Exit::Refused);
    }
}
