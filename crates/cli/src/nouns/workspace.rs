//! `seriatim workspace`.

use anyhow::Result;
use clap::Subcommand;

use crate::document::{object, of};
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
    declared.map_err(|error| not_defined(&error))?;
    // Digits are an id, and ids have no zeroes in front.
    let called = workspace.parse::<u64>().map_or(workspace.clone(), |id| id.to_string());
    let document = object([("workspace", of(called)), ("kind", of(kind.as_str()))]);
    Ok(remote.output.print(&document)?)
}
