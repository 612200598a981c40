//! Whether writers that wait for the disk at the same time share the wait.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};
use seriatim_storage::{Batch, Store};
use seriatim_storage_fjall::{FjallStore, Settings};
use seriatim_testkit::{CommandRows, command_schema};

use crate::Run;
use crate::contenders::ours;
use crate::report::Table;
use crate::rounds::Series;

const COMMANDS_PER_BATCH: u64 = 16;

pub(crate) fn measure(run: &Run<'_>) -> Result<Table> {
    let mut rates = [Series::default(), Series::default()];
    let mut shares = rates.clone();
    for number in 1..=run.sizes().rounds {
        run.progress(&format!("writers sharing syncs, round {number}"));
        for ((writers, rate), share) in [1, 4].into_iter().zip(&mut rates).zip(&mut shares) {
            let folder = run.folder()?;
            let store = ours(folder.path(), Settings::default())?;
            rate.push(round(&store, writers, run.sizes().shared_batches)?);
            let stats = store.stats()?;
            share.push(stats.sync_calls as f64 / stats.disk_syncs as f64);
        }
    }
    let [one, four] = &rates;
    let row = |rate: &Series, share: &Series| vec![rate.median(), rate.ratio(one), share.median()];
    let [one_share, four_share] = &shares;
    Ok(Table {
        title: "writers sharing syncs",
        meaning: "Each writer commits a batch of 16 commands and waits until it is durable, in \
                  a loop. Writers that wait at the same time share one trip to the disk: 4 \
                  writers that shared perfectly would make 4 calls per trip, or close to 2 where \
                  half of them commit while the other half wait. What keeps the rate of 4 \
                  writers below 4 times that of one is the part of a commit that only one writer \
                  can do at a time.",
        columns: vec!["commands/s", "against 1 writer", "sync calls per disk sync"],
        rows: vec![
            ("1 writer".to_owned(), row(one, one_share)),
            ("4 writers".to_owned(), row(four, four_share)),
        ],
    })
}

fn round(store: &FjallStore, writers: u16, batches: u64) -> Result<f64> {
    let prepared: Vec<Vec<Batch>> = (0..writers)
        .map(|writer| {
            let rows = CommandRows::new(&command_schema(), writer);
            let firsts = (0..batches).map(|number| number * COMMANDS_PER_BATCH);
            firsts.map(|first| rows.batch(first, COMMANDS_PER_BATCH)).collect()
        })
        .collect();
    let start = Barrier::new(prepared.len() + 1);
    let write = |batches: Vec<Batch>| -> Result<()> {
        start.wait();
        for batch in batches {
            store.commit(batch)?;
            store.sync()?;
        }
        Ok(())
    };
    let write = &write;
    let seconds = thread::scope(|scope| -> Result<f64> {
        let threads: Vec<_> =
            prepared.into_iter().map(|batches| scope.spawn(move || write(batches))).collect();
        start.wait();
        let started = Instant::now();
        for thread in threads {
            thread.join().map_err(|_| anyhow!("a writer panicked"))??;
        }
        Ok(started.elapsed().as_secs_f64())
    })?;
    Ok((u64::from(writers) * batches * COMMANDS_PER_BATCH) as f64 / seconds)
}
