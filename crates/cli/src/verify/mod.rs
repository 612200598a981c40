//! `seriatim verify`: is everything as the events say?
//!
//! ```text
//!  --data FOLDER    every byte and every row of a store that no server has open
//!  --proof FILE     a proof on its own, without a store or a server
//!  otherwise        a live server, through what it answers
//! ```

mod live;
mod offline;
mod proof;
mod series;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::remote;

pub(crate) use offline::check;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The folder of a store that no server has open. Without it, the server is asked.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Takes bytes behind the last whole commit for what a crash has left.
    #[arg(long, requires = "data")]
    accept_torn_tail: bool,
    /// Only one sequence: shows that each of its series is complete. Needs --app.
    #[arg(long, value_name = "NAME", requires = "app")]
    sequence: Option<String>,
    /// The app of the sequence.
    #[arg(long, requires = "sequence")]
    app: Option<String>,
    /// A proof, a consistency proof, or a receipt with a proof, as JSON.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "sequence"])]
    proof: Option<PathBuf>,
    /// The event that the proof must be about, as JSON.
    #[arg(long, value_name = "FILE", requires = "proof")]
    event: Option<PathBuf>,
}

pub(crate) fn run(common: &Common, args: &VerifyArgs) -> Result<()> {
    let sequence = args.app.as_deref().zip(args.sequence.as_deref());
    match (&args.proof, &args.data, sequence) {
        (Some(file), _, _) => proof::run(common.output, file, args.event.as_deref()),
        (None, Some(data), None) => offline::run(common.output, data, args.accept_torn_tail),
        (None, Some(data), Some((app, name))) => offline::sequence(common.output, data, app, name),
        (None, None, None) => remote::ask(common, None, async |remote| live::run(&remote).await),
        (None, None, Some((app, name))) => {
            remote::ask(common, None, async |remote| live::sequence(&remote, app, name).await)
        }
    }
}

/// That something is not as it should be.
fn different(code: &str, message: impl Into<String>) -> Failure {
    let code = Some(code.to_owned());
    Failure { code, ..Failure::new(Exit::Difference, message) }
}
