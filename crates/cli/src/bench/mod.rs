//! `seriatim bench`: many clients at once, and afterwards the proof of what they got.
//!
//! ```text
//!  clients ─ one or some commands at a time ─► server    for some seconds: rate, latencies
//!  log of every workspace ◄──────────────────            gaps, repeats, every receipt in its place
//!  some commands once more, with their keys ─►           the same receipts
//! ```
//!
//! A server that is killed and comes back is waited for, up to `--timeout`: every command is sent
//! again with its key, as a good client does, and the proof afterwards is the same.
//!
//! Every run uses workspaces of its own, so that runs do not disturb each other. They stay in the
//! app, because nothing is ever removed from a log.

mod door;
mod http;
mod load;
mod proof;
mod report;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use seriatim_client::{Client, Error, Key, NewSequence};

use self::load::Load;
use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::remote::{self, Remote, not_defined, unreachable};

/// The sequence that every command draws a number from.
const SEQUENCE: &str = "order";

/// Commands that are on their way at once, of all clients: as many as one client of the library keeps.
const ON_THEIR_WAY_MAX: u32 = 65_536;

#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// How many clients send at the same time.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    clients: u32,
    /// How many commands each client has on their way. With 1 it waits for each answer. http has 1.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    in_flight: u32,
    /// For how long.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// How commands are sent: all of a connection in one stream, or a gRPC call or HTTP request each.
    #[arg(long, value_enum, default_value = "stream")]
    mode: Mode,
    /// Among how many workspaces they are spread.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    workspaces: u32,
    /// Connections that the clients share. With http each client has its own.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Bytes of text in each event.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    bytes: u32,
    /// The app that is used. It is made if it is not there.
    #[arg(long, default_value = "bench")]
    app: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Stream,
    Unary,
    Http,
}

/// What everybody who sends knows.
#[derive(Debug)]
struct Plan {
    server: String,
    app: String,
    mode: Mode,
    clients: u32,
    in_flight: u32,
    connections: u32,
    seconds: u64,
    workspaces: u32,
    /// How long a command is tried.
    patience: Duration,
    /// Tells this run from others.
    run: String,
    filling: String,
}

/// What is in the event of every command.
#[derive(Debug, Serialize)]
struct Args<'a> {
    filling: &'a str,
    nth: u64,
    number: Next,
}

#[derive(Debug, Serialize)]
struct Next {
    #[serde(rename = "$next")]
    sequence: &'static str,
}

impl Args<'_> {
    fn text(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are JSON")
    }
}

pub(crate) fn run(common: &Common, args: &BenchArgs) -> Result<()> {
    if args.mode == Mode::Http && args.in_flight > 1 {
        let why = "a connection of HTTP/1.1 has one request on its way: --in-flight is for others";
        return Err(Failure::usage(why).advise("take more --clients").into());
    }
    if args.clients.saturating_mul(args.in_flight) > ON_THEIR_WAY_MAX {
        let why = format!("at most {ON_THEIR_WAY_MAX} commands can be on their way");
        return Err(Failure::usage(why).advise("take fewer --clients or --in-flight").into());
    }
    // The end of a key is random, its beginning the time.
    let run: String = Key::random().to_string().chars().skip(28).collect();
    let plan = Arc::new(Plan {
        server: common.server.clone(),
        app: args.app.clone(),
        mode: args.mode,
        clients: args.clients,
        in_flight: args.in_flight,
        connections: match args.mode {
            Mode::Stream | Mode::Unary => args.connections.min(args.clients),
            Mode::Http => args.clients,
        },
        seconds: args.seconds,
        workspaces: args.workspaces,
        patience: common.timeout.0,
        run,
        filling: "x".repeat(usize::try_from(args.bytes)?),
    });
    remote::ask(common, async |remote| {
        prepare(&remote, &plan.app).await?;
        let mut load = Load::run(&plan).await?;
        let proof = match load.done.failure.take() {
            None => proof::prove(&plan, &remote, &load).await,
            Some(failure) => Err(gave_up(&plan, failure).await.into()),
        };
        report::print(remote.output, &plan, &load, proof.as_ref().ok())?;
        proof?.check()
    })
}

/// Why a run has ended early.
async fn gave_up(plan: &Plan, failure: Failure) -> Failure {
    let failure = match unreachable(&plan.server).await {
        Some(why) => Failure::new(Exit::NotWritten, why).code(Error::UNAVAILABLE),
        None => failure,
    };
    let message = format!("the bench gave up: {}", failure.message);
    Failure { message, ..failure }
        .advise("the figures are those up to then, and nothing was proven: run it again")
}

async fn prepare(remote: &Remote, app: &str) -> Result<()> {
    let app = remote.client.app(app);
    let info = app.info().await.map_err(|error| not_defined(&error))?;
    if info.is_none() {
        app.create(Default::default()).await.map_err(|error| not_defined(&error))?;
    }
    let defined = app.define_sequence(SEQUENCE, NewSequence::continuous("{n}")).await;
    defined.map_err(|error| not_defined(&error))?;
    Ok(())
}

impl Plan {
    fn workspace(&self, index: u32) -> String {
        format!("{}-{index}", self.run)
    }

    fn client_id(&self, client: u32) -> String {
        format!("bench-{client}")
    }

    /// A connection of its own for the client library.
    fn connect(&self, id: &str) -> Result<Client> {
        let builder = Client::builder().client_id(id).deadline(self.patience);
        Ok(remote::client(&self.server, builder)?)
    }

    /// The arguments of every command: its place in the work of its client, and the next number.
    fn args(&self, nth: u64) -> Args<'_> {
        Args { filling: &self.filling, nth, number: Next { sequence: SEQUENCE } }
    }
}
