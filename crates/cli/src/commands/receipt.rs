//! `seriatim receipt`, and how receipts look.

use anyhow::Result;
use clap::Subcommand;
use seriatim_client::{Key, Receipt};

use super::WorkspaceArgs;
use crate::output::Table;
use crate::remote::{Remote, not_found, not_read};

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Shows the receipt of a command.
    Get {
        #[command(flatten)]
        workspace: WorkspaceArgs,
        /// The client that has sent it.
        client: String,
        /// Its idempotency key.
        key: Key,
    },
}

pub(crate) async fn run(remote: &Remote, task: &Task) -> Result<()> {
    let Task::Get { workspace, client, key } = task;
    let receipt = workspace.of(remote).receipt(client, *key).await;
    let receipt = receipt.map_err(|error| not_read(&error))?.ok_or_else(|| {
        let missing = not_found(format!("receipt of client {client} for the key {key}"));
        missing.advise(
            "send the command again with this key, if it was first sent within the app's \
             idempotency_retention: that resolves it; later, look for the key in the log",
        )
    })?;
    Ok(remote.output.print_as(&receipt, || Table::members(lines(&receipt)))?)
}

/// A receipt for people.
pub(crate) fn lines(receipt: &Receipt) -> Vec<(String, String)> {
    let line = |name: &str, value: String| (name.to_owned(), value);
    let mut lines = vec![
        line("workspace", format!("{} (id {})", receipt.workspace, receipt.workspace_id)),
        line("offset", span(receipt.first_offset, receipt.last_offset)),
        line("partition", {
            let offset = span(receipt.first_partition_offset, receipt.last_partition_offset);
            format!("{}, offset {offset}", receipt.partition)
        }),
        line("client's command", receipt.client_sequence.to_string()),
    ];
    for drawn in &receipt.numbers {
        lines.push(line(&drawn.sequence, format!("{} = {}", drawn.number, drawn.text)));
    }
    for (raw, id) in &receipt.ids {
        lines.push(line("record", format!("{raw} is {id}")));
    }
    lines.push(line("committed at", receipt.committed_at.to_string()));
    if let Some(head) = &receipt.head {
        lines.push(line("head", format!("{} events, root {}", head.size, head.root)));
    }
    lines
}

fn span(first: u64, last: u64) -> String {
    if first == last { first.to_string() } else { format!("{first} to {last}") }
}
