//! What can be written behind `seriatim`.

use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::bench::BenchArgs;
use crate::commands::{
    app, client, clock, entity, kind, log, partition, proof, receipt, record, sequence, workspace,
};
use crate::config;
use crate::output::Form;
use crate::settings::{ConfigTask, DevArgs, ServeArgs};
use crate::sim::SimArgs;
use crate::submit::{self, SubmitArgs};
use crate::verify::VerifyArgs;

/// An event-sourcing server: every command gets its place, exactly once.
#[derive(Debug, Parser)]
#[command(name = "seriatim", version, after_help = FIRST_STEPS)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) task: Task,
}

const FIRST_STEPS: &str = "\
`seriatim dev` runs a server and says what to try first; `seriatim demo` shows everything by itself.";

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Common {
    /// The server to talk to. SERIATIM_SERVER sets another default.
    #[arg(long, global = true, default_value_t = server(), value_name = "URL")]
    pub(crate) server: String,
    /// Tables for people, or JSON for programs: one document, or one per line where a log is followed.
    #[arg(short, long, global = true, value_enum, default_value = "table", value_name = "FORM")]
    pub(crate) output: Form,
    /// How long to try before giving up. `submit` waits so long for a server that is not there,
    /// `bench` for one that has gone away.
    #[arg(long, global = true, default_value = DEFAULT_TIMEOUT, value_name = "TIME")]
    pub(crate) timeout: Within,
}

/// The server of whoever has started one without further ado.
pub(crate) const DEFAULT_SERVER: &str = "http://127.0.0.1:7600";

/// What sets another one.
pub(crate) const SERVER_VARIABLE: &str = "SERIATIM_SERVER";

/// How long to try, unless something else is asked for.
pub(crate) const DEFAULT_TIMEOUT: &str = "10s";

fn server() -> String {
    or_variable(SERVER_VARIABLE, DEFAULT_SERVER)
}

/// A default that a variable of the environment replaces, unless it is empty. The parser would
/// write an option that has a variable into every usage line as if it were required.
pub(crate) fn or_variable(name: &str, default: &str) -> String {
    let set = std::env::var(name).ok().filter(|value| !value.is_empty());
    set.unwrap_or_else(|| default.to_owned())
}

/// Reads counts and offsets that begin with 1. On the wire 0 stands for what was not given.
pub(crate) fn from_one<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number >= T::from(1));
    number.ok_or_else(|| "it is a whole number from 1 on".to_owned())
}

/// A time with its unit, such as 10s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Within(pub(crate) Duration);

impl FromStr for Within {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        config::time(text).map(Self)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Runs a server for development: no configuration, no authentication, data kept.
    Dev(DevArgs),
    /// Runs a server as it was configured.
    Serve(ServeArgs),
    /// Apps: what tenants have, each with its own workspaces and definitions.
    #[command(subcommand)]
    App(app::Task),
    /// Sequences, from which commands draw numbers without gaps.
    #[command(subcommand)]
    Sequence(sequence::Task),
    /// Kinds of workspaces.
    #[command(subcommand)]
    Kind(kind::Task),
    /// Workspaces: units of order, each with its own log and its own numbers.
    #[command(subcommand)]
    Workspace(workspace::Task),
    /// Sends a command and prints its receipt: all numbers that it was given.
    #[command(after_help = submit::EXAMPLE)]
    Submit(SubmitArgs),
    /// Logs of workspaces and partitions.
    #[command(subcommand)]
    Log(log::Task),
    /// Records: numbered documents.
    #[command(subcommand)]
    Record(record::Task),
    /// Entities: named documents.
    #[command(subcommand)]
    Entity(entity::Task),
    /// Receipts of commands.
    #[command(subcommand)]
    Receipt(receipt::Task),
    /// Clients, and how many of their commands were carried out.
    #[command(subcommand)]
    Client(client::Task),
    /// Partitions: what they are doing.
    #[command(subcommand)]
    Partition(partition::Task),
    /// The server's clock.
    #[command(subcommand)]
    Clock(clock::Task),
    /// Proofs over the log of a workspace.
    #[command(subcommand)]
    Proof(proof::Task),
    /// Recomputes everything from the events alone, and reports the first difference.
    Verify(VerifyArgs),
    /// Drives a server with many clients, and proves what it got.
    Bench(BenchArgs),
    /// Runs the real code on virtual time, network and disk, under faults, all from a seed.
    Sim(SimArgs),
    /// A small invoicing shop that runs by itself, kills its server, and goes on.
    Demo,
    /// The configuration of a server.
    #[command(subcommand)]
    Config(ConfigTask),
    /// Prints what makes a shell complete `seriatim`.
    Completion {
        /// The shell.
        shell: Shell,
    },
    /// Says which version this is.
    Version,
}
