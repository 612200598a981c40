//! What trust costs: the same load at each level, and with a proof for every command.

use anyhow::{Result, ensure};
use seriatim_types::{Command, TrustLevel};

use super::load::{drive, drive_and};
use super::shop::{Sales, Shop, WORKSPACES, open_shop, open_store};
use super::{NodeSizes, progress_of};
use crate::Run;
use crate::report::Table;
use crate::rounds::Series;

const SUBMITTERS: u64 = 64;

pub(crate) fn measure(run: &Run<'_>, sizes: &NodeSizes) -> Result<Table> {
    let [mut zero, mut one, mut two, mut proofs]: [Series; 4] = Default::default();
    for round in 1..=sizes.rounds {
        progress_of(run, sizes, "trust levels and proofs", round);
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
                  without asking. The last row is level 0 where every command asks for a proof \
                  against the head of its own commit; its ratio is to level 0 without.",
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
    let command = |number| Command {
        include_proof: with_proofs,
        ..sales.command(WORKSPACES + number, 1 + number % WORKSPACES)
    };
    let load = drive_and(&node, SUBMITTERS, sizes.commands, command, |_, receipt| {
        ensure!(receipt.proof.is_some() == with_proofs, "a proof comes when it is asked for");
        Ok(())
    })?;
    Ok(load.per_second())
}
