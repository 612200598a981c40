//! `seriatim proof`.

use anyhow::Result;
use clap::Subcommand;

use super::WorkspaceArgs;
use crate::args::from_one;
use crate::remote::{Remote, not_read};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Shows the proof that an event is in a log. With -o json it is what `verify --proof` takes.
    Get {
        #[command(flatten)]
        workspace: WorkspaceArgs,
        /// The event's offset.
        offset: u64,
        /// How many events the log has in the proof. Without it, all.
        #[arg(long, value_parser = from_one::<u64>)]
        size: Option<u64>,
    },
    /// Shows the proof that a log only grew from one size to another.
    Consistency {
        #[command(flatten)]
        workspace: WorkspaceArgs,
        /// The smaller size.
        from: u64,
        /// The larger size. Without it, all events.
        #[arg(value_parser = from_one::<u64>)]
        to: Option<u64>,
    },
    /// Shows how many events a log has, and the root of the tree over them.
    Head {
        #[command(flatten)]
        workspace: WorkspaceArgs,
    },
}

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    let not_proven = |error| {
        let head = "`seriatim proof head APP WORKSPACE` shows how many events the log has";
        not_read(&error).or_advise("NOT_FOUND", head)
    };
    match task {
        Task::Get { workspace, offset, size } => {
            let proof = workspace.of(remote).proof(*offset, size.unwrap_or(0)).await;
            remote.output.print(&proof.map_err(not_proven)?)?;
        }
        Task::Consistency { workspace, from, to } => {
            let proof = workspace.of(remote).consistency(*from, to.unwrap_or(0)).await;
            remote.output.print(&proof.map_err(not_proven)?)?;
        }
        Task::Head { workspace } => {
            let head = workspace.of(remote).head().await;
            remote.output.print(&head.map_err(not_proven)?)?;
        }
    }
    Ok(())
}
