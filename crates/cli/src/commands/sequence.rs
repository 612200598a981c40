//! `seriatim sequence`.

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use seriatim_client::{Numbering, Reset};

use super::WorkspaceArgs;
use crate::document::{Json, object};
use crate::output::Table;
use crate::remote::{Remote, not_defined, not_found, not_read};
use crate::twins;

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Defines a sequence, or changes its format: what is not given stays as it is.
    #[command(after_help = DEFINE_EXAMPLE)]
    Define(DefineArgs),
    /// Shows where a sequence stands in a workspace.
    Show(ShowArgs),
    /// Lists the sequences of an app.
    List {
        /// The app.
        app: String,
    },
}

const DEFINE_EXAMPLE: &str = "\
Each workspace has a series of its own. Only the format can be changed later.

Example: seriatim sequence define shop invoice --format 'INV-{yyyy}-{n:06}' --reset yearly";

#[derive(Debug, Args)]
pub(crate) struct DefineArgs {
    /// The app.
    app: String,
    /// The name of the sequence.
    name: String,
    /// How numbers are shown: {n:06} is the number with at least six digits, {yyyy} the year, {{ and
    /// }} are braces. A new one shows the number alone.
    #[arg(long)]
    format: Option<String>,
    /// Whether it begins anew with each year. A new one never does.
    #[arg(long, value_enum)]
    reset: Option<Begins>,
    /// Where its years turn, as an offset from UTC. For a new one it is +00:00.
    #[arg(long, value_name = "±HH:MM", value_parser = utc_offset, allow_hyphen_values = true)]
    utc_offset: Option<i32>,
    /// First and last number. Several ranges are used one after the other. A new one counts from 1.
    #[arg(long = "range", value_name = "FIRST..LAST", value_parser = range)]
    ranges: Vec<(u64, u64)>,
    /// The kind of workspaces that has it. For a new one it is `default`.
    #[arg(long)]
    kind: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    workspace: WorkspaceArgs,
    /// The name of the sequence.
    name: String,
    /// The year of a yearly sequence. Without it, the current one.
    #[arg(long, value_name = "YEAR")]
    period: Option<u32>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Begins {
    Never,
    Yearly,
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let ends = text.split_once("..");
    let ends = ends.and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    ends.ok_or_else(|| "write FIRST..LAST, such as 1..999999".to_owned())
}

fn utc_offset(text: &str) -> Result<i32, String> {
    let minutes = || {
        let (sign, size) = text.split_at_checked(1)?;
        let (hours, minutes) = size.split_once(':')?;
        let size = hours.parse::<u8>().ok().map(i32::from)?.checked_mul(60)?;
        let size = size.checked_add(i32::from(minutes.parse::<u8>().ok()?))?;
        match sign {
            "+" => Some(size),
            "-" => size.checked_neg(),
            _ => None,
        }
    };
    minutes().ok_or_else(|| "write ±HH:MM, such as +01:00".to_owned())
}

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    match task {
        Task::Define(args) => define(remote, args).await,
        Task::Show(ShowArgs { workspace, name, period }) => {
            let state = workspace.of(remote).sequence(name, *period).await;
            let state = state.map_err(|error| not_read(&error))?;
            let missing = || {
                let of_year = if period.is_some() { " with periods" } else { "" };
                not_found(format!("sequence {name}{of_year} in {}", workspace.workspace)).advise(
                    "`seriatim sequence list APP` shows which there are, of which kind of workspaces, \
                     and which have periods",
                )
            };
            Ok(remote.output.print(&twins::sequence(&state.ok_or_else(missing)?))?)
        }
        Task::List { app } => {
            let sequences = defined(remote, app).await?;
            let documents = sequences.iter().map(|(name, it)| twins::sequence_definition(name, it));
            let document = object([("sequences", Json::List(documents.collect()))]);
            Ok(remote.output.print_as(&document, || table(&sequences))?)
        }
    }
}

async fn define(remote: &Remote, args: &DefineArgs) -> Result<()> {
    let existing =
        defined(remote, &args.app).await?.into_iter().find(|(name, _)| *name == args.name);
    let existing = existing.map_or_else(|| Numbering::continuous("{n}"), |(_, existing)| existing);
    let ranges = Some(args.ranges.clone()).filter(|ranges| !ranges.is_empty());
    let reset = args.reset.map(|reset| match reset {
        Begins::Never => Reset::Never,
        Begins::Yearly => Reset::Yearly,
    });
    let numbering = Numbering {
        format: args.format.clone().unwrap_or(existing.format),
        reset: reset.unwrap_or(existing.reset),
        utc_offset_minutes: args.utc_offset.unwrap_or(existing.utc_offset_minutes),
        ranges: ranges.unwrap_or(existing.ranges),
        kind: args.kind.clone().unwrap_or(existing.kind),
    };
    let defined = remote.client.app(&args.app).define_sequence(&args.name, numbering.clone()).await;
    let defined = defined.map_err(|error| not_defined(&error))?;
    let document = twins::sequence_definition(&args.name, &numbering);
    Ok(remote.output.print(&twins::defined(document, defined))?)
}

async fn defined(remote: &Remote, app: &str) -> Result<Vec<(String, Numbering)>> {
    let definitions = remote.client.app(app).definitions().await;
    Ok(definitions.map_err(|error| not_read(&error))?.sequences)
}

pub(super) fn table(sequences: &[(String, Numbering)]) -> Table {
    let members = ["name", "format", "reset", "utc_offset", "kind", "ranges"];
    let rows = sequences.iter().map(|(name, it)| twins::sequence_definition(name, it));
    let rows = rows.map(|it| it.plain_members(members));
    Table::list(["sequence", "format", "reset", "utc offset", "kind", "ranges"], rows)
}
