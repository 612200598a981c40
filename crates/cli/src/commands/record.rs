//! `seriatim record`.

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use seriatim_client::{RecordClass, RecordKind, Records};

use super::{Made, WorkspaceArgs};
use crate::args::from_one;
use crate::output::Table;
use crate::remote::{Remote, missing, not_defined, not_read};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Defines a kind of records.
    Define(DefineArgs),
    /// Shows a record.
    Get {
        #[command(flatten)]
        workspace: WorkspaceArgs,
        /// Its id.
        id: u64,
    },
    /// Lists the records of a kind, by their ids. Only kinds of class c can be listed.
    List(ListArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DefineArgs {
    /// The app.
    app: String,
    /// The kind of records.
    kind: String,
    /// Its class. Only records of class c can be listed.
    #[arg(long, value_enum)]
    class: Class,
    /// A workspace has at most one.
    #[arg(long)]
    singleton: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    workspace: WorkspaceArgs,
    /// The kind of records.
    kind: String,
    /// The lowest id.
    #[arg(long, value_name = "ID", default_value_t = 1, value_parser = from_one::<u64>)]
    from: u64,
    /// How many at most.
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = from_one::<u32>)]
    limit: u32,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Class {
    C,
    O,
    W,
}

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    match task {
        Task::Define(args) => define(remote, args).await,
        Task::Get { workspace, id } => {
            let record =
                workspace.of(remote).record(*id).await.map_err(|error| not_read(&error))?;
            let what = format!("record {id} in {}", workspace.workspace);
            let record = record.ok_or_else(|| missing("RECORD_NOT_FOUND", what))?;
            Ok(remote.output.print(&record)?)
        }
        Task::List(ListArgs { workspace, kind, from, limit }) => {
            let records = workspace.of(remote).records(kind, *from, *limit).await;
            let records = records.map_err(|error| not_read(&error))?;
            Ok(remote.output.print_as(&records, || table(&records))?)
        }
    }
}

async fn define(remote: &Remote, args: &DefineArgs) -> Result<()> {
    let DefineArgs { app, kind, singleton, .. } = args;
    let class = match args.class {
        Class::C => RecordClass::C,
        Class::O => RecordClass::O,
        Class::W => RecordClass::W,
    };
    let app = remote.client.app(app);
    let defined = match singleton {
        true => app.define_singleton(kind, class).await,
        false => app.define_record(kind, class).await,
    };
    let defined = defined.map_err(|error| not_defined(&error))?;
    let definition = RecordKind { name: kind.clone(), class, singleton: *singleton };
    Ok(remote.output.print(&Made { definition, defined })?)
}

fn table(records: &Records) -> String {
    let columns = ["id", "version", "parent", "offset", "fields"].map(|name| (name, name));
    let table = Table::rows(columns, &records.records);
    let next = records.next.map(|next| format!("There are more: --from {next}\n"));
    format!("{table}{}", next.unwrap_or_default())
}
