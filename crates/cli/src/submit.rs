//! `seriatim submit`.

use std::fs;
use std::io::{self, Read};
use std::time::SystemTime;

use anyhow::{Context, Result};
use clap::Args;
use serde::de::IgnoredAny;
use seriatim_client::{Command, Key, Submitted};

use crate::args::{Common, Within};
use crate::document::of;
use crate::exit::Failure;
use crate::nouns::receipt;
use crate::output::Table;
use crate::remote::{self, not_submitted};
use crate::twins;

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// The app.
    app: String,
    /// The workspace: its name, or its id. It comes into being by being used.
    workspace: String,
    /// The name of the event, of a command that has one.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    event: Option<String>,
    /// The arguments of the event: a JSON object. {"$next": "s"} in it draws a number.
    #[arg(long, value_name = "JSON", requires = "event")]
    args: Option<String>,
    /// A whole command, as the HTTP contract has it. - is standard input.
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
    /// The idempotency key. Sent again with the same key, a command is carried out once.
    #[arg(long, value_name = "UUID")]
    key: Option<Key>,
    /// Who sends it. Keys belong to their client.
    #[arg(long, env = "SERIATIM_CLIENT", hide_env_values = true, default_value = "cli")]
    client: String,
    /// Only if this is the last offset of the workspace; 0 for none.
    #[arg(long, value_name = "OFFSET")]
    if_offset: Option<u64>,
    /// Has a proof come with the receipt.
    #[arg(long)]
    proof: bool,
    /// When it is too late to carry it out, from now on.
    #[arg(long, value_name = "TIME")]
    deadline: Option<Within>,
}

/// Sends a command and prints its receipt.
pub(crate) fn run(common: &Common, args: &SubmitArgs) -> Result<()> {
    let command = args.command()?;
    let key = args.key.unwrap_or_else(Key::random);
    remote::ask(common, Some(&args.client), async |remote| {
        let workspace = remote.client.app(&args.app).workspace(&args.workspace);
        let submitted = workspace.submit_with_key(key, command).await;
        let submitted = submitted.map_err(|error| not_submitted(&error))?;
        let document = twins::receipt(&submitted.receipt)
            .with("key", of(key.to_string()))
            .with("replayed", of(submitted.is_replayed));
        Ok(remote.output.print_as(&document, || table(&submitted))?)
    })
}

impl SubmitArgs {
    fn command(&self) -> Result<Command> {
        let document = match &self.file {
            Some(file) => read(file)?,
            None => self.one_event()?,
        };
        let command = Command::from_json(&document);
        let mut command = command.map_err(|error| {
            Failure::usage(format!("this is no command: {}", error.message()))
                .advise("docs/reference/http.md shows what one looks like")
        })?;
        if let Some(offset) = self.if_offset {
            command = command.if_offset(offset);
        }
        if self.proof {
            command = command.with_proof();
        }
        if let Some(deadline) = self.deadline.and_then(|it| SystemTime::now().checked_add(it.0)) {
            command = command.deadline(deadline);
        }
        Ok(command)
    }

    /// A command with one event, whose arguments are left as they were written.
    fn one_event(&self) -> Result<String> {
        let name = self.event.as_deref().context("there is a name, or a file")?;
        let args = self.args.as_deref().unwrap_or("{}");
        let checked: Result<IgnoredAny, _> = serde_json::from_str(args);
        checked.map_err(|error| Failure::usage(format!("--args is no JSON: {error}")))?;
        let name = serde_json::Value::from(name);
        Ok(format!(r#"{{"events":[{{"name":{name},"args":{args}}}]}}"#))
    }
}

fn read(file: &str) -> Result<String> {
    if file != "-" {
        return fs::read_to_string(file).with_context(|| format!("cannot read {file}"));
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
    Ok(text)
}

fn table(submitted: &Submitted) -> Table {
    let replayed = if submitted.is_replayed { "yes: it was carried out before" } else { "no" };
    let key = ("key".to_owned(), submitted.key.to_string());
    let replayed = ("replayed".to_owned(), replayed.to_owned());
    Table::members(receipt::lines(&submitted.receipt).into_iter().chain([key, replayed]))
}
