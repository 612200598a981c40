//! `seriatim log`.

use anyhow::Result;
use clap::{Args, Subcommand};
use seriatim_client::{Change, Error, Event, Events, Subscription};

use crate::args::from_one;
use crate::output::{self, Form, Table, shown};
use crate::remote::{Remote, not_read};
use crate::welcome::complain;

/// How many letters of an event's arguments a table shows.
const SHOWN_MAX: usize = 60;

/// The last offset that a log can have.
const OFFSET_MAX: u64 = (1 << 53) - 1;

/// How many events before the end a log is followed from.
const TAIL: u64 = 10;

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Prints events of a log.
    Read {
        #[command(flatten)]
        log: LogArgs,
        /// The first offset.
        #[arg(long, value_name = "OFFSET", default_value_t = 1, value_parser = from_one::<u64>)]
        from: u64,
        /// How many events at most.
        #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = from_one::<u32>)]
        limit: u32,
        /// Waits until the workspace has this offset.
        #[arg(long, value_name = "OFFSET", default_value_t = 0, hide_default_value = true)]
        #[arg(conflicts_with = "partition")]
        min_offset: u64,
    },
    /// Follows a log: prints its last events, and then those that come.
    Tail {
        #[command(flatten)]
        log: LogArgs,
        /// The first offset. Without it, ten before the end.
        #[arg(long, value_name = "OFFSET", value_parser = from_one::<u64>)]
        from: Option<u64>,
        /// Ends after so many events.
        #[arg(long, value_parser = from_one::<u64>)]
        count: Option<u64>,
    },
}

/// Which log.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// The app.
    app: String,
    /// The workspace: its name, or its id.
    #[arg(required_unless_present = "partition", conflicts_with = "partition")]
    workspace: Option<String>,
    /// The log of a partition instead of one of a workspace.
    #[arg(long, value_name = "NUMBER")]
    partition: Option<u16>,
}

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    match task {
        Task::Read { log, from, limit, min_offset } => {
            let events = log.events(remote, *from, *limit, *min_offset).await;
            let events = events.map_err(|error| not_read(&error))?;
            remote.output.print_as(&events, || table(log, &events))?;
            if remote.output == Form::Table && events.next <= events.last {
                complain(format!("There are more, up to {}: --from {}", events.last, events.next));
            }
            Ok(())
        }
        Task::Tail { log, from, count } => tokio::select! {
            ended = tail(remote, log, *from, *count) => ended,
            abandoned = output::abandoned() => Err(abandoned.into()),
        },
    }
}

async fn tail(remote: &Remote, log: &LogArgs, from: Option<u64>, count: Option<u64>) -> Result<()> {
    // The end of a log is what a reading behind it says.
    let end = log.events(remote, OFFSET_MAX, 1, 0).await.map_err(|error| not_read(&error))?.last;
    if end == 0 && remote.output == Form::Table {
        // A name that is mistyped is a workspace too, one that is never used.
        complain(format!("{} has no events yet: waiting for the first one.", log.noun()));
    }
    let from = from.unwrap_or_else(|| end.saturating_sub(TAIL).saturating_add(1));
    let mut events = log.subscribe(remote, from);
    let mut printed = 0;
    while count.is_none_or(|count| printed < count) {
        let event = events.next().await.map_err(|error| not_read(&error))?;
        let line = || row(log, &event).map(|cell| shown(&cell)).join("  ");
        remote.output.print_as(&event, line)?;
        printed = printed.saturating_add(1);
    }
    Ok(())
}

impl LogArgs {
    async fn events(
        &self,
        remote: &Remote,
        from: u64,
        limit: u32,
        min_offset: u64,
    ) -> Result<Events, Error> {
        let app = remote.client.app(&self.app);
        match self.partition {
            Some(number) => app.partition(number).events(from, limit).await,
            None => {
                let workspace = app.workspace(self.workspace()).min_offset(min_offset);
                workspace.events(from, limit).await
            }
        }
    }

    fn subscribe(&self, remote: &Remote, from: u64) -> Subscription {
        let app = remote.client.app(&self.app);
        match self.partition {
            Some(number) => app.partition(number).subscribe(from),
            None => app.workspace(self.workspace()).subscribe(from),
        }
    }

    /// The log's owner, at the beginning of a sentence.
    fn noun(&self) -> String {
        match self.partition {
            Some(number) => format!("Partition {number}"),
            None => format!("Workspace {}", shown(self.workspace())),
        }
    }

    fn workspace(&self) -> &str {
        self.workspace.as_deref().expect("there is one, or a partition")
    }
}

fn table(log: &LogArgs, events: &Events) -> Table {
    let columns = ["offset", "committed at", "workspace", "client", "event", "args", "changes"];
    Table::list(columns, events.events.iter().map(|event| row(log, event)))
}

fn row(log: &LogArgs, event: &Event) -> [String; 7] {
    let offset = if log.partition.is_some() { event.partition_offset } else { event.offset };
    let client = event.client.as_deref().unwrap_or("-");
    let changes: Vec<String> = event.changes.iter().map(change).collect();
    [
        offset.to_string(),
        event.committed_at.to_string(),
        event.workspace.clone(),
        client.to_owned(),
        event.name.clone(),
        cut(&event.args.to_string()),
        if changes.is_empty() { "-".to_owned() } else { cut(&changes.join(", ")) },
    ]
}

fn change(change: &Change) -> String {
    match change {
        Change::Create(it) => format!("create {} {}", it.kind, it.id),
        Change::Update(it) => format!("update {} to version {}", it.id, it.version),
        Change::Delete(it) => format!("delete {}", it.id),
        Change::Set(it) => format!("set {} to version {}", it.key, it.version),
        Change::Unset(it) => format!("unset {}", it.key),
        Change::Draw(drawn) => format!("draw {} {}", drawn.sequence, drawn.text),
        Change::Define(_) => "define".to_owned(),
    }
}

/// As much of a text as fits into a line. All of it is in the JSON.
fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((at, _)) => format!("{}…", text.split_at(at).0),
        None => text.to_owned(),
    }
}
