//! `seriatim clock`.

use anyhow::Result;
use clap::Subcommand;

use crate::remote::{Remote, not_defined};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Vouches for the server's clock: commands that were BUSY because it is far ahead are carried out.
    /// Look at the clock first. Keys, expiries and years end by it, and no time is ever taken back.
    Accept,
}

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    let Task::Accept = task;
    let time = remote.client.accept_clock().await.map_err(|error| not_defined(&error))?;
    Ok(remote.output.print(&time)?)
}
