//! `seriatim partition`.

use anyhow::Result;
use clap::{Args, Subcommand};
use serde::Serialize;
use seriatim_client::PartitionStatus;

use crate::output::Table;
use crate::remote::{Remote, missing, not_defined, not_found, not_read};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Lists all partitions, and what they are doing.
    List,
    /// Shows what one partition is doing.
    Status(PartitionArgs),
    /// Lets a partition read its log again. One that has stopped serves again, or stops again.
    Restart(PartitionArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PartitionArgs {
    /// The app.
    app: String,
    /// The partition, from 0.
    partition: u16,
}

/// What to do about a number that no partition has.
const LIST: &str = "`seriatim partition list` shows all partitions";

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    match task {
        Task::List => {
            #[derive(Serialize)]
            struct Partitions {
                partitions: Vec<PartitionStatus>,
            }
            let all = Partitions { partitions: all(remote).await? };
            let columns = ["app", "partition", "state", "done", "total", "reason"];
            let columns = columns.map(|name| (name, name));
            Ok(remote.output.print_as(&all, || Table::rows(columns, &all.partitions))?)
        }
        Task::Status(args) => show(remote, args).await,
        Task::Restart(args) => {
            let restarted = remote.client.app(&args.app).partition(args.partition).restart().await;
            restarted.map_err(|error| not_defined(&error).or_advise("NOT_FOUND", LIST))?;
            show(remote, args).await
        }
    }
}

async fn all(remote: &Remote) -> Result<Vec<PartitionStatus>> {
    Ok(remote.client.partitions().await.map_err(|error| not_read(&error))?)
}

async fn show(remote: &Remote, PartitionArgs { app, partition }: &PartitionArgs) -> Result<()> {
    let all = all(remote).await?;
    let found = all.iter().find(|it| it.app == *app && it.partition == *partition);
    let missing = || match all.iter().any(|it| it.app == *app) {
        true => not_found(format!("partition {partition} of {app}")).advise(LIST),
        false => missing("APP_NOT_FOUND", format!("app {app}")),
    };
    Ok(remote.output.print(found.ok_or_else(missing)?)?)
}
