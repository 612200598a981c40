//! `seriatim kind`.

use anyhow::Result;
use clap::Subcommand;
use seriatim_client::Kind;

use super::Made;
use crate::remote::{Remote, not_defined};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Defines a kind of workspaces beside `default`, which always exists.
    Define {
        /// The app.
        app: String,
        /// The name of the kind.
        name: String,
    },
}

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    let Task::Define { app, name } = task;
    let defined = remote.client.app(app).define_kind(name).await;
    let defined = defined.map_err(|error| not_defined(&error))?;
    Ok(remote.output.print(&Made { definition: Kind { name: name.clone() }, defined })?)
}
