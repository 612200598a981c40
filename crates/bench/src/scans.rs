//! Scans, against the same rows in memory.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Result, ensure};
use seriatim_storage::faulty::Dice;
use seriatim_storage::{KeyRange, Read, Scan};

use crate::Run;
use crate::filled::Filled;
use crate::report::Table;
use crate::rounds::Series;

const SHORT_SCAN_ROWS: usize = 100;

pub(crate) fn measure(run: &Run<'_>, filled: &Filled) -> Result<Table> {
    let events = filled.table("events");
    let all = Scan::new(events, KeyRange::all());
    let names = ["all events, forward", "all events, backward", "100 events from a random one"];
    let mut rates = names.map(|_| [Series::default(), Series::default()]);
    let mut dice = Dice::new(5);
    for number in 1..=run.sizes().rounds {
        run.progress(&format!("scans, round {number}"));
        let starts = filled.keys(events, &mut dice, 0, run.sizes().short_scans);
        let short =
            |key: &Vec<u8>| Scan::new(events, KeyRange::at_or_after(key)).limit(SHORT_SCAN_ROWS);
        let scans =
            [vec![all.clone()], vec![all.clone().backward()], starts.iter().map(short).collect()];
        for (scans, [own, memory]) in scans.iter().zip(&mut rates) {
            let (own_rows, own_rate) = rows_per_second(&filled.store, scans)?;
            let (memory_rows, memory_rate) = rows_per_second(&filled.memory, scans)?;
            ensure!(own_rows == memory_rows, "{own_rows} rows on disk, {memory_rows} in memory");
            own.push(own_rate);
            memory.push(memory_rate);
        }
    }
    let row = |[own, memory]: &[Series; 2]| vec![own.median(), memory.median(), own.ratio(memory)];
    Ok(Table {
        title: "scans",
        meaning: "Rows of the events table, about 300 bytes each, shown to a visitor one by one. \
                  Long scans show what a row costs, short ones what it costs to begin.",
        columns: vec!["ours rows/s", "memory rows/s", "ours / memory"],
        rows: names.map(str::to_owned).into_iter().zip(rates.iter().map(row)).collect(),
    })
}

fn rows_per_second(store: &dyn Read, scans: &[Scan]) -> Result<(usize, f64)> {
    let (mut rows, mut bytes) = (0, 0);
    let started = Instant::now();
    for scan in scans {
        let _: seriatim_storage::ScanEnd = store.scan(scan, &mut |row| {
            rows += 1;
            bytes += row.key.len() + row.value.len();
            ControlFlow::Continue(())
        })?;
    }
    let seconds = started.elapsed().as_secs_f64();
    ensure!(bytes > 0, "a scan of a filled table shows rows");
    Ok((rows, rows as f64 / seconds))
}
