//! `seriatim verify`: is everything as the events say?
//!
//! ```text
//!  --data FOLDER    every byte and every row of a store that no server has open
//!  --proof FILE     a proof on its own, without a store or a server; with --event and --data also
//!                   that an event says what is stored
//!  otherwise        a live server, through what it answers
//! ```

mod live;
mod offline;
mod proof;
mod series;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use seriatim_types::Hash;

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::remote;
use crate::signals;

pub(crate) use offline::check;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The folder of a store that no server has open. Without it, the server is asked.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Takes bytes behind the last whole commit for what a crash has left, and cuts them off, as a
    /// start of the server does. Keep a copy of the folder if they may be evidence.
    #[arg(long, requires = "data")]
    accept_torn_tail: bool,
    /// Only one sequence: shows that each of its series is complete. Needs --app.
    #[arg(long, value_name = "NAME", requires = "app")]
    sequence: Option<String>,
    /// The app of the sequence.
    #[arg(long, requires = "sequence")]
    app: Option<String>,
    /// A proof, a consistency proof, or a receipt with a proof, as JSON.
    #[arg(long, value_name = "FILE", conflicts_with = "sequence")]
    proof: Option<PathBuf>,
    /// The root that the proof must lead to: one that you kept, of a consistency proof either one.
    #[arg(long, value_name = "HASH", requires = "proof", value_parser = root)]
    root: Option<Hash>,
    /// The event that the proof must be about, as JSON. It is compared with what --data has stored:
    /// the proof is about stored bytes, and the JSON of an event does not show them all.
    #[arg(long, value_name = "FILE", requires_all = ["proof", "data"])]
    event: Option<PathBuf>,
}

fn root(text: &str) -> Result<Hash, String> {
    seriatim_verify::parse_hash(text).ok_or_else(|| "write 64 hexadecimal digits".to_owned())
}

pub(crate) fn run(common: &Common, args: &VerifyArgs) -> Result<()> {
    if args.data.is_some() {
        signals::end_when_interrupted()?;
    }
    let output = common.output;
    let sequence = args.app.as_deref().zip(args.sequence.as_deref());
    match (&args.proof, &args.data, sequence) {
        (Some(_), Some(_), _) if args.event.is_none() => {
            Err(Failure::usage("--data beside --proof is for --event, and there is none").into())
        }
        (Some(file), data, _) => {
            let event = args.event.as_deref().zip(data.as_deref());
            proof::run(output, file, args.root, event)
        }
        (None, Some(data), None) => offline::run(output, data, args.accept_torn_tail),
        (None, Some(data), Some((app, name))) => offline::sequence(output, data, app, name),
        (None, None, None) => remote::ask(common, async |remote| live::run(&remote).await),
        (None, None, Some((app, name))) => {
            remote::ask(common, async |remote| live::sequence(&remote, app, name).await)
        }
    }
}

/// That something is not as it should be.
fn different(code: &'static str, message: impl Into<String>) -> Failure {
    Failure::new(Exit::Difference, message).code(code)
}
