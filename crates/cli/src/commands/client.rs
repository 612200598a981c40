//! `seriatim client`.

use anyhow::Result;
use clap::Subcommand;

use super::WorkspaceArgs;
use crate::remote::{Remote, not_found, not_read};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Shows how many commands of a client were carried out in a workspace.
    Show {
        #[command(flatten)]
        workspace: WorkspaceArgs,
        /// The client's id.
        client: String,
    },
}

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    let Task::Show { workspace, client } = task;
    let state = workspace.of(remote).client(client).await.map_err(|error| not_read(&error))?;
    let missing = || {
        let missing = not_found(format!("command of client {client} in {}", workspace.workspace));
        missing.advise("`seriatim log read APP WORKSPACE` shows whose commands were carried out")
    };
    Ok(remote.output.print(&state.ok_or_else(missing)?)?)
}
