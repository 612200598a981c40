//! `seriatim sequence`.

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use seriatim_client::{NewSequence, Reset, SequenceDefinition};

use super::{Made, WorkspaceArgs};
use crate::output::Table;
use crate::remote::{Remote, not_defined, not_found, not_read};

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
    utc_offset: Option<String>,
    /// First and last number. Several ranges are used one after the other. A new one counts from 1.
    #[arg(long = "range", value_name = "FIRST..LAST", value_parser = range)]
    ranges: Vec<[u64; 2]>,
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
    period: Option<u16>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Begins {
    Never,
    Yearly,
}

fn range(text: &str) -> Result<[u64; 2], String> {
    let ends = text.split_once("..");
    let ends = ends.and_then(|(first, last)| Some([first.parse().ok()?, last.parse().ok()?]));
    ends.ok_or_else(|| "write FIRST..LAST, such as 1..999999".to_owned())
}

/// An offset as it is written, if it looks like one.
fn utc_offset(text: &str) -> Result<String, String> {
    let is_digit = |digit: &u8| digit.is_ascii_digit();
    let is_offset = match text.as_bytes() {
        [b'+' | b'-', hours @ .., b':', ten, one] => {
            hours.len() == 2 && hours.iter().chain([ten, one]).all(is_digit)
        }
        _ => false,
    };
    is_offset.then(|| text.to_owned()).ok_or_else(|| "write ±HH:MM, such as +01:00".to_owned())
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
            Ok(remote.output.print(&state.ok_or_else(missing)?)?)
        }
        Task::List { app } => {
            #[derive(Serialize)]
            struct Sequences {
                sequences: Vec<SequenceDefinition>,
            }
            let all = Sequences { sequences: defined(remote, app).await? };
            Ok(remote.output.print_as(&all, || table(&all.sequences))?)
        }
    }
}

async fn define(remote: &Remote, args: &DefineArgs) -> Result<()> {
    let sequence = NewSequence {
        kind: args.kind.clone(),
        ranges: Some(args.ranges.clone()).filter(|ranges| !ranges.is_empty()),
        format: args.format.clone(),
        reset: args.reset.map(|reset| match reset {
            Begins::Never => Reset::Never,
            Begins::Yearly => Reset::Yearly,
        }),
        utc_offset: args.utc_offset.clone(),
    };
    let made = remote.client.app(&args.app).define_sequence(&args.name, sequence).await;
    let made = made.map_err(|error| not_defined(&error))?;
    // With what was not given.
    let found = defined(remote, &args.app).await?.into_iter().find(|it| it.name == args.name);
    let missing = || not_found(format!("sequence {} in {}", args.name, args.app));
    Ok(remote.output.print(&Made { definition: found.ok_or_else(missing)?, defined: made })?)
}

async fn defined(remote: &Remote, app: &str) -> Result<Vec<SequenceDefinition>> {
    let definitions = remote.client.app(app).definitions().await;
    Ok(definitions.map_err(|error| not_read(&error))?.sequences)
}

pub(super) fn table(sequences: &[SequenceDefinition]) -> Table {
    let columns = [
        ("sequence", "name"),
        ("format", "format"),
        ("reset", "reset"),
        ("utc offset", "utc_offset"),
        ("kind", "kind"),
        ("ranges", "ranges"),
    ];
    Table::rows(columns, sequences)
}
