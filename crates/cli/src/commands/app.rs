//! `seriatim app`.

use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use seriatim_client::{AppInfo, AppOptions, Definitions, RecordIds, Retention};

use crate::args::from_one;
use crate::document::{Json, object, of};
use crate::output::Table;
use crate::remote::{Remote, missing, not_defined, not_read};
use crate::{config, twins};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Makes an app. None of it can be changed later; the same app again is no error.
    Create(CreateArgs),
    /// Lists all apps.
    List,
    /// Shows one app.
    Show {
        /// The app.
        name: String,
    },
    /// Shows everything that is defined for an app.
    Definitions {
        /// The app.
        name: String,
    },
}

/// What is not given takes the server's default.
#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// Its name.
    name: String,
    /// How many partitions it has. This and the rest take the server's default if not given.
    #[arg(long, value_name = "COUNT", value_parser = from_one::<u32>)]
    partitions: Option<u32>,
    /// Whether one sequence gives all record ids, or one per class.
    #[arg(long, value_enum)]
    record_ids: Option<Numbers>,
    /// What is checked to be new before it is written: 0 events and records, 1 events, 2 nothing.
    #[arg(long)]
    trust_level: Option<u32>,
    /// How long a command that is sent again is known by its key: 24h, or forever.
    #[arg(long, value_name = "TIME", value_parser = retention)]
    idempotency_retention: Option<Retention>,
    /// How many keys a partition keeps at most.
    #[arg(long, value_name = "COUNT", value_parser = from_one::<u64>)]
    idempotency_keys_max: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Numbers {
    Single,
    Split,
}

fn retention(text: &str) -> Result<Retention, String> {
    Ok(match config::retention(text)? {
        seriatim_types::Retention::Forever => Retention::Forever,
        seriatim_types::Retention::Milliseconds(ms) => Retention::For(Duration::from_millis(ms)),
    })
}

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    match task {
        Task::Create(args) => create(remote, args).await,
        Task::List => {
            let apps = remote.client.apps().await.map_err(|error| not_read(&error))?;
            let document = object([("apps", Json::List(apps.iter().map(twins::app).collect()))]);
            Ok(remote.output.print_as(&document, || table(&apps))?)
        }
        Task::Show { name } => {
            let app = info(remote, name).await?;
            Ok(remote.output.print(&twins::app(&app))?)
        }
        Task::Definitions { name } => {
            let definitions = remote.client.app(name).definitions().await;
            let definitions = definitions.map_err(|error| not_read(&error))?;
            let document = twins::definitions(&definitions);
            Ok(remote.output.print_as(&document, || tables(&definitions))?)
        }
    }
}

async fn create(remote: &Remote, args: &CreateArgs) -> Result<()> {
    let options = AppOptions {
        partitions: args.partitions,
        record_ids: args.record_ids.map(|it| match it {
            Numbers::Single => RecordIds::Single,
            Numbers::Split => RecordIds::Split,
        }),
        trust_level: args.trust_level,
        retention: args.idempotency_retention,
        keys_max: args.idempotency_keys_max,
    };
    let app = remote.client.app(&args.name);
    let is_new = app.create(options).await.map_err(|error| not_defined(&error))?;
    let info = info(remote, &args.name).await?;
    Ok(remote.output.print(&twins::app(&info).with("created", of(is_new)))?)
}

async fn info(remote: &Remote, name: &str) -> Result<AppInfo> {
    let app = remote.client.app(name).info().await.map_err(|error| not_read(&error))?;
    Ok(app.ok_or_else(|| missing("APP_NOT_FOUND", format!("app {name}")))?)
}

fn table(apps: &[AppInfo]) -> Table {
    let columns = ["name", "partitions", "record ids", "trust level", "retention", "keys max"];
    Table::list(columns, apps.iter().map(|app| twins::app(app).plain_first()))
}

/// A table for each kind of definition.
fn tables(definitions: &Definitions) -> String {
    let kinds = definitions.kinds.iter().map(|name| [name.clone()]);
    let kinds = Table::list(["workspace kind"], kinds);
    let sequences = super::sequence::table(&definitions.sequences);
    let records = definitions.records.iter().map(twins::record_kind);
    let records = records.map(|it| it.plain_members(["name", "class", "singleton"]));
    let records = Table::list(["record kind", "class", "singleton"], records);
    format!("version {}\n\n{kinds}\n{sequences}\n{records}", definitions.version)
}
