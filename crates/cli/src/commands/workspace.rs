//! `seriatim workspace`.

use anyhow::Result;
use clap::Subcommand;

use crate::remote::{Remote, not_defined};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Settles the kind of a workspace, before its first use. Only needed for another than `default`.
    Declare {
        /// The app.
        app: String,
        /// The workspace: its name, or its id.
        workspace: String,
        /// The kind.
        kind: String,
    },
}

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    let Task::Declare { app, workspace, kind } = task;
    let declared = remote.client.app(app).workspace(workspace).declare(kind).await;
    let declared = declared.map_err(|error| not_defined(&error))?;
    Ok(remote.output.print(&declared)?)
}
