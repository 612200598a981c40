//! What trust costs: the same load at each level, and with a proof for every command.

use anyhow::{Context, Result};
use seriatim_node::{Node, Reader};
use seriatim_types::{Number, TrustLevel, WorkspaceId, WorkspaceRef};

use super::load::{drive, drive_and};
use super::shop::{Sales, Shop, WORKSPACES, app_name, open_shop, open_store};
use super::{NodeSizes, progress_of};
use crate::Run;
use crate::report::Table;
use crate::rounds::Series;

const SUBMITTERS: u64 = 64;

pub(crate) fn measure(run: &Run<'_>, sizes: &NodeSizes) -> Result<Table> {
    let [mut zero, mut one, mut two, mut proofs]: [Series; 4] = Default::default();
    for round in 1..=run.sizes().rounds {
        progress_of(run, "trust levels and proofs", round);
        two.push(load(run, sizes, TrustLevel::Two, false)?);
        zero.push(load(run, sizes, TrustLevel::Zero, false)?);
        one.push(load(run, sizes, TrustLevel::One, false)?);
        proofs.push(load(run, sizes, TrustLevel::Zero, true)?);
    }
    let row = |label: &str, series: &Series, to: &Series| {
        (label.to_owned(), vec![series.median(), series.ratio(to)])
    };
    Ok(Table {
        title: "trust levels and proofs",
        meaning: "64 submitters, one partition. The ratio of a level is to level 2, which writes \
                  without asking. The last row is level 0 with a proof for every command, made \
                  from the tree as of its own commit on the thread that takes the answers; its \
                  ratio is to level 0 without.",
        columns: vec!["commands/s", "ratio"],
        rows: vec![
            row("level 2", &two, &two),
            row("level 1", &one, &two),
            row("level 0", &zero, &two),
            row("level 0 with proofs", &proofs, &zero),
        ],
    })
}

fn load(
    run: &Run<'_>,
    sizes: &NodeSizes,
    trust_level: TrustLevel,
    with_proofs: bool,
) -> Result<f64> {
    let folder = run.folder()?;
    let shop = Shop { trust_level, ..Shop::default() };
    let node = open_shop(open_store(&folder.path().join("node"))?, shop)?;
    let sales = Sales::new();
    drive(&node, SUBMITTERS, WORKSPACES, |number| sales.command(number, 1 + number))?;
    let command = |number| sales.command(WORKSPACES + number, 1 + number % WORKSPACES);
    let load = drive_and(&node, SUBMITTERS, sizes.commands, command, |_, receipt| {
        if with_proofs { prove(&node, receipt.workspace, receipt.last_offset) } else { Ok(()) }
    })?;
    Ok(load.per_second())
}

/// The proof that the last event of a command is in the tree as of its own commit.
fn prove(node: &Node, workspace: WorkspaceId, offset: Number) -> Result<()> {
    let partition = node.partition_of(&app_name(), &WorkspaceRef::Id(workspace))?;
    let (view, prefix) = node.view(partition).context("the partition serves")?;
    let reader = Reader::new(&view, prefix, node.schema());
    reader.inclusion(workspace, offset, offset.get())?;
    Ok(())
}
