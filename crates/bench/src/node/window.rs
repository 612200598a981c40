//! Many keys in the window, and retries of any of them.

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use seriatim_core::CommandOutcome;

use seriatim_storage::faulty::Dice;

use super::NodeSizes;
use super::load::drive_and;
use super::shop::{PATIENCE, Sales, Shop, WORKSPACES, app_name, open_shop, open_store};
use crate::Run;
use crate::report::Table;

pub(crate) fn measure(run: &Run<'_>, sizes: &NodeSizes) -> Result<Table> {
    let keys = sizes.keys;
    run.progress(&format!("{keys} keys in the window"));
    let folder = run.folder()?;
    let node = open_shop(open_store(&folder.path().join("node"))?, Shop::default())?;
    let sales = Sales::new();
    let command = |number| sales.command(number, 1 + number % WORKSPACES);
    let mut originals = vec![None; usize::try_from(keys)?];
    let load = drive_and(&node, 256, keys, command, |number, receipt| {
        let original = originals.get_mut(usize::try_from(number)?);
        *original.context("a command that was sent")? = Some(receipt.first_partition_offset);
        Ok(())
    })?;
    let (mut dice, started) = (Dice::new(11), Instant::now());
    for _ in 0..sizes.retries {
        let number = dice.below(keys);
        let reply = node.submit_and_wait(&app_name(), command(number), PATIENCE)?;
        let Ok(CommandOutcome::Duplicate { first, count: 1 }) = reply else {
            bail!("command {number} was sent again and got {reply:?}")
        };
        let original = originals.get(usize::try_from(number)?).copied().flatten();
        ensure!(original == Some(first), "command {number} was {original:?} and is now {first}");
    }
    let seconds = started.elapsed().as_secs_f64();
    let retries = sizes.retries as f64;
    Ok(Table {
        title: "retries",
        meaning: "Commands that fill the window of one partition, then random ones of them again.",
        columns: vec!["keys", "commands/s", "retries", "originals", "retries/s"],
        rows: vec![(
            "one at a time".to_owned(),
            vec![keys as f64, load.per_second(), retries, retries, retries / seconds],
        )],
    })
}
