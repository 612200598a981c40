//! The node on its real storage.

mod flood;
mod levels;
mod load;
pub(crate) mod lone;
pub mod ready;
mod recording;
mod shop;
mod throughput;
mod window;

use anyhow::Result;

use crate::Run;
use crate::report::Table;

/// The sizes of the measurements of the node.
#[derive(Debug, Clone)]
pub struct NodeSizes {
    /// How many times the contenders take turns.
    pub rounds: u64,
    /// Commands per round.
    pub commands: u64,
    /// Commands per round of a submitter that is alone.
    pub lone: u64,
    /// Keys in the window.
    pub keys: u64,
    /// Retries of them.
    pub retries: u64,
    /// Events and workspaces of the nodes that are killed; the small one and the large one.
    pub killed: [(u64, u64); 2],
}

impl NodeSizes {
    /// About a minute.
    #[must_use]
    pub fn short() -> Self {
        Self {
            rounds: 3,
            commands: 20_000,
            lone: 1_000,
            keys: 50_000,
            retries: 2_000,
            killed: [(10_000, 5_000), (100_000, 50_000)],
        }
    }

    /// What reports are made of.
    #[must_use]
    pub fn long() -> Self {
        Self {
            rounds: 5,
            commands: 60_000,
            lone: 4_000,
            keys: 1_000_000,
            retries: 10_000,
            killed: [(1_000_000, 500_000), (10_000_000, 5_000_000)],
        }
    }
}

pub(crate) fn measure(run: &Run<'_>, sizes: &NodeSizes) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    let measures =
        [throughput::measure, lone::measure, levels::measure, flood::measure, window::measure];
    for measure in measures {
        let table = measure(run, sizes)?;
        // The last ones take long: what is known is shown before.
        run.show(&table);
        tables.push(table);
    }
    tables.extend(ready::measure(run, sizes)?);
    Ok(tables)
}

fn progress_of(run: &Run<'_>, sizes: &NodeSizes, what: &str, round: u64) {
    run.progress(&format!("{what}, round {round} of {}", sizes.rounds));
}
