//! Point reads, against the same rows in memory.

use std::time::Instant;

use anyhow::{Result, ensure};
use seriatim_storage::faulty::Dice;
use seriatim_storage::{Read, Table as StoreTable};

use crate::Run;
use crate::filled::Filled;
use crate::report::Table;
use crate::rounds::Series;

const KEYS_PER_CALL: usize = 64;

type Keys<'a> = Vec<(StoreTable, &'a [u8])>;

pub(crate) fn measure(run: &Run<'_>, filled: &Filled) -> Result<Table> {
    let mut rows = Vec::new();
    for (table, is_there) in [("records", true), ("keys", true), ("keys", false)] {
        let figures = Figures::of(run, filled, table, is_there)?;
        let absent = if is_there { "" } else { ", absent" };
        rows.push((format!("get, {table}{absent}"), figures.row(&figures.single)));
        rows.push((format!("get_many of 64, {table}{absent}"), figures.row(&figures.many)));
    }
    Ok(Table {
        title: "point reads",
        meaning: "Keys of random commands, in a store that was reopened after it was filled; the \
                  files are in the page cache. Record keys ascend with the commands, the keys of \
                  `keys` are random bytes. The memory store holds the same rows in one tree, so \
                  its ratio is the price of files, blocks and filters. A call with 64 keys takes \
                  one view of the store instead of 64; its rate is counted in keys. Absent keys \
                  lie among those that are there, so that only the filters can tell.",
        columns: vec!["ours reads/s", "memory reads/s", "ours / memory", "against single gets"],
        rows,
    })
}

/// Reads per second of our store and of memory.
#[derive(Default)]
struct Figures {
    single: [Series; 2],
    many: [Series; 2],
}

impl Figures {
    fn of(run: &Run<'_>, filled: &Filled, table: &str, is_there: bool) -> Result<Self> {
        let mut figures = Self::default();
        let mut dice = Dice::new(4);
        let handle = filled.table(table);
        for number in 1..=run.sizes().rounds {
            run.progress(&format!("point reads, {table}, present: {is_there}, round {number}"));
            let first = if is_there { 0 } else { filled.commands };
            let keys = filled.keys(handle, &mut dice, first, run.sizes().reads);
            let keys: Keys<'_> = keys.iter().map(|key| (handle, key.as_slice())).collect();
            let stores: [&dyn Read; 2] = [&filled.store, &filled.memory];
            for ((store, one), many) in
                stores.into_iter().zip(&mut figures.single).zip(&mut figures.many)
            {
                one.push(single(store, &keys, is_there)?);
                many.push(in_calls(store, &keys, is_there)?);
            }
        }
        Ok(figures)
    }

    fn row(&self, [own, memory]: &[Series; 2]) -> Vec<f64> {
        let [single, _] = &self.single;
        vec![own.median(), memory.median(), own.ratio(memory), own.ratio(single)]
    }
}

fn single(store: &dyn Read, keys: &Keys<'_>, is_there: bool) -> Result<f64> {
    let started = Instant::now();
    for (table, key) in keys {
        ensure!(store.get(*table, key)?.is_some() == is_there, "a read went wrong");
    }
    Ok(keys.len() as f64 / started.elapsed().as_secs_f64())
}

fn in_calls(store: &dyn Read, keys: &Keys<'_>, is_there: bool) -> Result<f64> {
    let started = Instant::now();
    for keys in keys.chunks(KEYS_PER_CALL) {
        let values = store.get_many(keys)?;
        ensure!(values.iter().all(|it| it.is_some() == is_there), "a read went wrong");
    }
    Ok(keys.len() as f64 / started.elapsed().as_secs_f64())
}
