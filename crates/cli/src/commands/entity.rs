//! `seriatim entity`.

use anyhow::Result;
use clap::Subcommand;

use super::WorkspaceArgs;
use crate::remote::{Remote, not_found, not_read};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Shows an entity.
    Get {
        #[command(flatten)]
        workspace: WorkspaceArgs,
        /// Its key.
        key: String,
    },
}

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    let Task::Get { workspace, key } = task;
    let entity = workspace.of(remote).entity(key).await.map_err(|error| not_read(&error))?;
    let missing = || {
        let missing = not_found(format!("entity {key} in {}", workspace.workspace));
        missing.advise("`seriatim log read APP WORKSPACE` shows which keys were set and unset")
    };
    Ok(remote.output.print(&entity.ok_or_else(missing)?)?)
}
