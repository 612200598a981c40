//! `seriatim app`.

use std::str::FromStr;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use seriatim_client::{AppInfo, Definitions, NewApp, RecordIds};

use crate::args::from_one;
use crate::config;
use crate::output::Table;
use crate::remote::{Remote, missing, not_defined, not_read};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Makes an app. Only the limit of its keys can be changed later; the same app again is no error.
    Create(CreateArgs),
    /// Changes an app.
    Set(SetArgs),
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
    #[arg(long, value_name = "COUNT", value_parser = from_one::<u16>)]
    partitions: Option<u16>,
    /// Whether one sequence gives all record ids, or one per class.
    #[arg(long, value_enum)]
    record_ids: Option<Numbers>,
    /// What is checked to be new before it is written: 0 events and records, 1 events, 2 nothing.
    #[arg(long)]
    trust_level: Option<u8>,
    /// How long a command that is sent again is known by its key: 24h, or forever.
    #[arg(long, value_name = "TIME", value_parser = retention)]
    idempotency_retention: Option<String>,
    /// How many keys a partition keeps at most, or none for no limit.
    #[arg(long, value_name = "COUNT")]
    idempotency_keys_max: Option<KeysMax>,
}

#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// The app.
    name: String,
    /// How many keys a partition keeps at most, or none for no limit.
    #[arg(long, value_name = "COUNT")]
    idempotency_keys_max: KeysMax,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Numbers {
    Single,
    Split,
}

/// A limit of keys; nothing is no limit.
#[derive(Debug, Clone, Copy)]
struct KeysMax(Option<u64>);

impl FromStr for KeysMax {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            text => {
                let count = from_one(text).map_err(|error| format!("{error}, or none"));
                Ok(Self(Some(count?)))
            }
        }
    }
}

/// The retention as it is written, if it is one.
fn retention(text: &str) -> Result<String, String> {
    config::retention(text)?;
    Ok(text.to_owned())
}

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    match task {
        Task::Create(args) => create(remote, args).await,
        Task::Set(SetArgs { name, idempotency_keys_max: KeysMax(keys_max) }) => {
            let app = remote.client.app(name).set_keys_max(*keys_max).await;
            Ok(remote.output.print(&app.map_err(|error| not_defined(&error))?)?)
        }
        Task::List => {
            #[derive(Serialize)]
            struct Apps<'a> {
                apps: &'a [AppInfo],
            }
            let apps = remote.client.apps().await.map_err(|error| not_read(&error))?;
            Ok(remote.output.print_as(&Apps { apps: &apps }, || table(&apps))?)
        }
        Task::Show { name } => Ok(remote.output.print(&info(remote, name).await?)?),
        Task::Definitions { name } => {
            let definitions = remote.client.app(name).definitions().await;
            let definitions = definitions.map_err(|error| not_read(&error))?;
            Ok(remote.output.print_as(&definitions, || tables(&definitions))?)
        }
    }
}

async fn create(remote: &Remote, args: &CreateArgs) -> Result<()> {
    /// An app, and whether it was there before.
    #[derive(Serialize)]
    struct Created {
        #[serde(flatten)]
        app: AppInfo,
        created: bool,
    }
    let options = NewApp {
        name: String::new(),
        partitions: args.partitions,
        record_ids: args.record_ids.map(|it| match it {
            Numbers::Single => RecordIds::Single,
            Numbers::Split => RecordIds::Split,
        }),
        trust_level: args.trust_level,
        idempotency_retention: args.idempotency_retention.clone(),
        idempotency_keys_max: args.idempotency_keys_max.map(|KeysMax(keys_max)| keys_max),
    };
    let app = remote.client.app(&args.name);
    let created = app.create(options).await.map_err(|error| not_defined(&error))?;
    let app = info(remote, &args.name).await?;
    Ok(remote.output.print(&Created { app, created })?)
}

async fn info(remote: &Remote, name: &str) -> Result<AppInfo> {
    let app = remote.client.app(name).info().await.map_err(|error| not_read(&error))?;
    Ok(app.ok_or_else(|| missing("APP_NOT_FOUND", format!("app {name}")))?)
}

fn table(apps: &[AppInfo]) -> Table {
    let columns = [
        ("name", "name"),
        ("partitions", "partitions"),
        ("record ids", "record_ids"),
        ("trust level", "trust_level"),
        ("retention", "idempotency_retention"),
        ("keys max", "idempotency_keys_max"),
    ];
    Table::rows(columns, apps)
}

/// A table for each kind of definition.
fn tables(definitions: &Definitions) -> String {
    let kinds = Table::rows([("workspace kind", "name")], &definitions.kinds);
    let sequences = super::sequence::table(&definitions.sequences);
    let columns = [("record kind", "name"), ("class", "class"), ("singleton", "singleton")];
    let records = Table::rows(columns, &definitions.records);
    format!("version {}\n\n{kinds}\n{sequences}\n{records}", definitions.version)
}
