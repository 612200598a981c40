//! What conditions cost, against plain puts of the same rows.

use std::time::Instant;

use anyhow::Result;
use seriatim_storage::{Batch, KeyRange, Row, Store, Table as StoreTable};

use crate::Run;
use crate::filled::Filled;
use crate::report::Table;
use crate::rounds::{Series, percentile};

const COMMANDS_PER_BATCH: u64 = 16;

/// How the rows of a batch are written.
#[derive(Clone, Copy)]
enum Kind {
    Puts,
    EachNewRow,
    EachAscendingRow,
    RangeOfAscendingRows,
}

const KINDS: [(Kind, &str, f64); 4] = [
    (Kind::Puts, "puts", 0.0),
    (Kind::EachNewRow, "insert_if_absent: events, records, keys", 48.0),
    (Kind::EachAscendingRow, "insert_if_absent: events, records", 32.0),
    (Kind::RangeOfAscendingRows, "insert_range_if_absent: events, records", 2.0),
];

pub(crate) fn measure(run: &Run<'_>, filled: &Filled) -> Result<Table> {
    let mut rates = KINDS.map(|_| Series::default());
    let mut first = filled.commands;
    for number in 1..=run.sizes().rounds {
        run.progress(&format!("conditions, round {number}"));
        let batches = (0..run.sizes().condition_batches).flat_map(|_| KINDS).map(|(kind, ..)| {
            first += COMMANDS_PER_BATCH;
            batch(filled, kind, first)
        });
        let prepared: Vec<Batch> = batches.collect();
        // The kinds take turns with every commit, and the middle of each counts: the engine
        // merges tables all the while, and its stalls are longer than what is looked for.
        let mut latencies = KINDS.map(|_| Vec::new());
        for (place, batch) in prepared.into_iter().enumerate() {
            let called = Instant::now();
            filled.store.commit(batch)?;
            let latencies = latencies.get_mut(place % KINDS.len()).expect("one per kind");
            latencies.push(called.elapsed().as_secs_f64());
        }
        filled.store.sync()?;
        for (rate, latencies) in rates.iter_mut().zip(&latencies) {
            rate.push(COMMANDS_PER_BATCH as f64 / percentile(latencies, 0.5));
        }
    }
    let [puts, ..] = &rates;
    let row = |((_, name, checks), rate): (&(Kind, &str, f64), &Series)| {
        ((*name).to_owned(), vec![1.0 + checks, rate.median(), rate.ratio(puts)])
    };
    Ok(Table {
        title: "conditions",
        meaning: "Commits of 16 commands without a sync, which would hide the difference, into \
                  the store of the measurements above. The rates are those of the p50 of a \
                  commit. All write the same kind of rows; the workspaces row is overwritten \
                  again and again and so is a put in all of them, and the keys of `keys` are \
                  random, so no range can stand for them. The first column counts what the \
                  engine is asked per commit: the write itself and one read per condition.",
        columns: vec!["engine calls per commit", "commands/s", "against puts"],
        rows: KINDS.iter().zip(&rates).map(row).collect(),
    })
}

fn batch(filled: &Filled, kind: Kind, first: u64) -> Batch {
    let mut batch = Batch::new();
    let names = ["events", "records", "workspaces", "keys"];
    for (table, name) in names.map(|name| (filled.table(name), name)) {
        let rows = rows_of(filled, table, first);
        match (kind, name) {
            (Kind::EachNewRow, "events" | "records" | "keys")
            | (Kind::EachAscendingRow, "events" | "records") => {
                rows.into_iter().for_each(|row| batch.insert_if_absent(table, row.key, row.value));
            }
            (Kind::RangeOfAscendingRows, "events" | "records") => {
                let start = rows.first().expect("a batch has commands").key.clone();
                let next = rows_of(filled, table, first + COMMANDS_PER_BATCH);
                let end = next.first().expect("a batch has commands").key.clone();
                batch.insert_range_if_absent(table, KeyRange::half_open(&start, &end), rows);
            }
            _ => rows.into_iter().for_each(|row| batch.put(table, row.key, row.value)),
        }
    }
    batch
}

/// The rows that a batch of commands has in one table.
fn rows_of(filled: &Filled, table: StoreTable, first: u64) -> Vec<Row> {
    let rows = (first..first + COMMANDS_PER_BATCH).flat_map(|number| filled.rows.rows(number));
    rows.filter(|(of, ..)| *of == table)
        .map(|(_, key, value)| Row { key: key.into(), value: value.into() })
        .collect()
}
