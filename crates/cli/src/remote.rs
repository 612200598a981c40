//! A server somewhere else: connecting to it, and what its errors mean for whoever types.

use std::io;
use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Context, Result};
use seriatim_client::{Client, ClientBuilder, Error, Outcome, SubmitError};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::address::Address;
use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::output::Form;
use crate::signals::interruptible;

/// How long a connection may take before nobody is there.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// A server, and how its answers are printed.
pub(crate) struct Remote {
    pub(crate) client: Client,
    pub(crate) output: Form,
}

/// Asks a server something.
pub(crate) fn ask(common: &Common, ask: impl AsyncFnOnce(Remote) -> Result<()>) -> Result<()> {
    run(interruptible(async {
        let client = connect(&common.server, Client::builder().deadline(common.timeout.0)).await?;
        ask(Remote { client, output: common.output }).await
    }))
}

/// Runs what waits for a server, on half of the cores: the server may be on the same machine, and
/// clients that take turns with it on every core wake each other more than they send.
pub(crate) fn run(task: impl Future<Output = Result<()>>) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads((cores / 2).max(1)).enable_all().build();
    let runtime = runtime.context("threads cannot be started")?;
    let done = runtime.block_on(task);
    // Nobody waits for a name that is still looked up.
    runtime.shutdown_background();
    done
}

/// A client of a server that is there. The client itself would wait for one to come, which is right
/// for programs and looks like a hang to people.
pub(crate) async fn connect(server: &str, builder: ClientBuilder) -> Result<Client, Failure> {
    let client = client(server, builder)?;
    reach(server).await.map_err(|error| {
        let failure = Failure::new(Exit::NotWritten, cannot_reach(server, &error));
        failure.code(Error::UNAVAILABLE).advise(format!(
            "is a server running there? {}, or name another with --server",
            start_one(server)
        ))
    })?;
    Ok(client)
}

/// A client of a server that may come yet.
pub(crate) fn client(server: &str, builder: ClientBuilder) -> Result<Client, Failure> {
    Address::of(server)?;
    builder.connect(server).map_err(|error| Failure::usage(error.to_string()))
}

fn start_one(server: &str) -> String {
    Address::of(server).map_or_else(|failure| failure.message, |it| it.start_one())
}

fn cannot_reach(server: &str, error: &io::Error) -> String {
    format!("cannot reach {server}: {error}")
}

/// Why a server cannot be reached, if it cannot.
pub(crate) async fn unreachable(server: &str) -> Option<String> {
    reach(server).await.err().map(|error| cannot_reach(server, &error))
}

/// Never blocks: whoever is interrupted meanwhile ends at once.
async fn reach(server: &str) -> io::Result<()> {
    let address = Address::of(server).map_err(io::Error::other)?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in lookup_host(address.to_string()).await? {
        match timeout(CONNECT_WITHIN, TcpStream::connect(address)).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::Error::new(io::ErrorKind::TimedOut, "connection timed out"),
        }
    }
    Err(last)
}

/// Why a read was not answered. Asking again is always safe.
pub(crate) fn not_read(error: &Error) -> Failure {
    let exit = if error.is_retryable() { Exit::NotWritten } else { Exit::Refused };
    failure(exit, error, error.message().to_owned())
}

/// Why a definition was not made, or may not have been. Defining the same again changes nothing.
pub(crate) fn not_defined(error: &Error) -> Failure {
    match error.outcome() {
        Some(Outcome::NotWritten) => {
            let message = format!("not written: {}", error.message());
            return failure(Exit::NotWritten, error, message);
        }
        Some(Outcome::Unknown) if error.is_retryable() => {}
        _ => return failure(Exit::Refused, error, error.message().to_owned()),
    }
    let failure = failure(Exit::Unknown, error, format!("perhaps done: {}", error.message()));
    let resolve = "the same again shows what came of it, and changes nothing if it was done";
    failure.advise(match error.code() {
        Error::DEADLINE_EXCEEDED => format!("{resolve}; wait longer with --timeout"),
        _ => resolve.to_owned(),
    })
}

/// What came of a command instead of a receipt.
pub(crate) fn not_submitted(error: &SubmitError) -> Failure {
    let (exit, what, outcome) = match error {
        SubmitError::Refused { .. } => (Exit::Refused, "refused", "refused"),
        SubmitError::NotWritten { .. } => (Exit::NotWritten, "not written", "not_written"),
        SubmitError::Unknown { .. } => (Exit::Unknown, "perhaps written", "unknown"),
    };
    let failure = failure(exit, error.error(), format!("{what}: {}", error.error().message()));
    // A refusal may name the key of an entity.
    failure.fact("outcome", outcome).fact("idempotency_key", error.key().to_string())
}

/// The same of a command that a command line sends again.
pub(crate) async fn not_submitted_yet(error: &SubmitError, server: &str, again: Again) -> Failure {
    let failure = not_submitted(error);
    let (what, send) = match error {
        SubmitError::Refused { .. } => return failure,
        SubmitError::NotWritten { .. } => ("not written", again.send),
        SubmitError::Unknown { .. } => ("perhaps written", again.resolve()),
    };
    let last = failure.facts.get(LAST_CODE).and_then(|it| it.as_str());
    let is_broken = last.unwrap_or(error.code()) == Error::UNAVAILABLE;
    let is_never_answered = last.is_none() && error.error().is_retryable();
    let mut failure = failure.fact("again", again.line);
    match unreachable(server).await {
        None => match failure.advice.take().filter(|_| !error.error().is_retryable()) {
            Some(first) => failure.advise(format!("{first}; then {send}")),
            None if is_broken => failure.advise(format!(
                "look whether something else listens there, and name the server with --server; else {send}"
            )),
            None => failure.advise(send),
        },
        Some(why) => {
            let message = format!("{what}: {why}");
            // Nobody was there to be too late. What a server has said by itself stays so.
            if is_broken || (is_never_answered && error.code() == Error::DEADLINE_EXCEEDED) {
                failure.facts.remove(LAST_CODE);
                failure.code = Error::UNAVAILABLE.into();
            }
            let advice = format!("{}, then {send}", start_one(server));
            Failure { message, ..failure }.advise(advice)
        }
    }
}

/// What the last attempt came to, of a command that was sent until there was no time left.
const LAST_CODE: &str = "last_code";

/// How to send a command again.
pub(crate) struct Again {
    /// The command line.
    pub(crate) line: String,
    /// What it takes.
    pub(crate) send: String,
}

impl Again {
    /// What to do with a command that may have been written.
    pub(crate) fn resolve(&self) -> String {
        format!("{}: its key resolves it", self.send)
    }
}

/// That something does not exist.
pub(crate) fn not_found(what: impl std::fmt::Display) -> Failure {
    missing("NOT_FOUND", what)
}

/// That something does not exist for which there is a code.
pub(crate) fn missing(code: &'static str, what: impl std::fmt::Display) -> Failure {
    let failure = Failure::new(Exit::Refused, format!("there is no {what}")).code(code);
    Failure { advice: advice(code).map(str::to_owned), ..failure }
}

fn failure(exit: Exit, error: &Error, message: String) -> Failure {
    let (code, facts) = (error.code().to_owned().into(), error.facts().clone());
    let is_clock = facts.get("reason").is_some_and(|reason| reason == "clock");
    let advice = if is_clock { Some(CLOCK) } else { advice(error.code()) };
    let (is_retryable, advice) = (error.is_retryable(), advice.map(str::to_owned));
    Failure { exit, message, code, is_retryable, facts, advice }
}

/// What to do about a clock that is not believed.
const CLOCK: &str = "look at the clock of the server's machine: set it right, or say that it is right \
                     with `seriatim clock accept`";

/// What to do about an error.
fn advice(code: &str) -> Option<&'static str> {
    Some(match code {
        "UNAVAILABLE" => {
            "the connection broke: is the server still running, or does something else listen there? \
             try again"
        }
        "APP_NOT_FOUND" => {
            "`seriatim app list` shows the apps, `seriatim app create NAME` makes one"
        }
        "APP_EXISTS" => "`seriatim app show NAME` shows what it is; choose another name",
        "UNKNOWN_SEQUENCE" => "define it with `seriatim sequence define APP NAME`",
        "UNKNOWN_KIND" => "`seriatim app definitions APP` shows what is defined",
        "DEFINITION_CONFLICT" => {
            "`seriatim app definitions APP` shows what is defined; only the format of a sequence can change"
        }
        "PARTITION_STOPPED" => {
            "`seriatim partition list` says why; `seriatim partition restart APP P` tries again"
        }
        "BUSY" | "RATE_LIMITED" => "try again in a moment",
        "OUTCOME_UNKNOWN" => "send the same again with the same --key: that tells what came of it",
        "NOT_YET" => "the offset was not reached in time: try again, or wait longer with --timeout",
        "DEADLINE_EXCEEDED" => "try again, or wait longer with --timeout",
        "VERSION_MISMATCH" | "VALUE_MISMATCH" | "KEY_EXISTS" | "KEY_NOT_FOUND"
        | "OFFSET_MISMATCH" => {
            "somebody was faster: read it again, and decide by what is there now"
        }
        "IDEMPOTENCY_KEY_REUSED" => "another command has this key: leave --key out for a new one",
        "KEY_WINDOW_FULL" => {
            "keys are kept for their retention: wait if they expire, or raise the limit of the app"
        }
        "TOO_LARGE" => {
            "send less: split it, or keep large documents elsewhere and store where they are"
        }
        "KIND_CONFLICT" => {
            "the kind of a workspace stays: declare another one before its first command"
        }
        "RECORD_NOT_FOUND" => {
            "`seriatim record list APP WORKSPACE KIND` shows which there are, of kinds of class c"
        }
        "RECORD_EXISTS" => {
            "it may be your own import; otherwise give a raw id from 1 to 65535, and it is drawn"
        }
        "SINGLETON_EXISTS" => "there is one and no more: update it",
        "SEQUENCE_EXHAUSTED" => {
            "its ranges stay as they are: define a sequence with larger ones under a new name"
        }
        "LAGGED" => "begin again at the offset that it says",
        "PERMISSION_DENIED" => {
            "the app `system` is Seriatim's own; anything else is about web pages: see server.hosts in \
             `seriatim config reference`"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use seriatim_api::code::ErrorCode;

    use super::advice;

    /// What a server says by itself what to do about, or does not say yet.
    const SELF_EXPLAINING: [&str; 5] =
        ["INVALID_ARGUMENT", "METHOD_NOT_ALLOWED", "NOT_FOUND", "NOT_LEADER", "UNAUTHENTICATED"];

    #[test]
    fn every_code_of_a_server_comes_with_advice() {
        for code in ErrorCode::ALL {
            let code = code.as_str();
            assert_eq!(advice(code).is_none(), SELF_EXPLAINING.contains(&code), "{code}");
        }
    }
}
