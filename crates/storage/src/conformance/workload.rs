//! Writers whose every batch can be recognised afterwards, whole or in part.
//!
//! Batch *n* of a writer has a fixed content: a few rows over three tables, some of them
//! large, and one row that swaps the writer's last number from *n - 1* to *n*. After a crash
//! [`check`] knows from that last number which rows must be there, byte for byte, and that
//! there must be no other.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Mutex;
use std::thread;

use bytes::Bytes;

use super::rows::{Fixture, fixture, rows};
use crate::faulty::Dice;
use crate::{Batch, CommitError, Schema, Store, Table};

/// How many writers [`write_until_killed`] starts.
pub const WRITERS: u8 = 3;

/// The tables that the writers use.
#[must_use]
pub fn schema() -> Schema {
    super::rows::schema()
}

/// What the next batch of a writer is to be: one more than the last that is there.
///
/// # Panics
///
/// When the store cannot be read.
#[must_use]
pub fn next_batch_of(store: &dyn Store, writer: u8) -> u64 {
    let table = store.schema().table("a").expect("the workload's schema");
    let last = store.get(table, &[writer]).expect("the last number is read");
    last.map_or(0, |last| u64::from_be_bytes(last.as_ref().try_into().expect("8 bytes"))) + 1
}

/// Commits batch `number` of a writer.
///
/// # Errors
///
/// As the store has them; a failed condition means that the previous batch is not there.
///
/// # Panics
///
/// When the store has another schema than [`schema`].
pub fn commit(store: &dyn Store, writer: u8, number: u64) -> Result<(), CommitError> {
    let tables: Vec<Table> = store.schema().tables().collect();
    let mut batch = Batch::new();
    for ((table, key), value) in rows_of_batch(writer, number) {
        batch.insert_if_absent(tables[table], key, value);
    }
    let expected = (number > 1).then(|| Bytes::copy_from_slice(&(number - 1).to_be_bytes()));
    let new = Bytes::copy_from_slice(&number.to_be_bytes());
    batch.compare_and_swap(tables[0], vec![writer], expected, Some(new));
    store.commit(batch)
}

/// Runs [`WRITERS`] writers at once, each going on where the store says it stopped, and
/// writes a line `acked <writer> <batch>` for every batch once it is durable. Returns only
/// when `out` can no longer be written to, or the store fails.
///
/// # Errors
///
/// When the output is gone.
///
/// # Panics
///
/// When the store fails.
pub fn write_until_killed(store: &dyn Store, out: impl Write + Send) -> io::Result<()> {
    let out = Mutex::new(out);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let out = &out;
                scope.spawn(move || -> io::Result<()> {
                    for number in next_batch_of(store, writer).. {
                        commit(store, writer, number).expect("the batch is committed");
                        store.sync().expect("the batch is durable");
                        let mut out = out.lock().expect("no writer panics with the lock");
                        writeln!(out, "acked {writer} {number}")?;
                        out.flush()?;
                    }
                    Ok(())
                })
            })
            .collect();
        writers.into_iter().try_for_each(|writer| writer.join().expect("no writer panics"))
    })
}

/// Checks that for each writer the store holds a run of whole batches from the first on, at
/// least up to `acked` and at most up to `begun`, and nothing else. Returns the last batch of
/// each writer.
///
/// # Panics
///
/// When something acknowledged is lost, or a batch is there in part.
pub fn check(store: Box<dyn Store>, acked: &[u64], begun: &[u64]) -> Vec<u64> {
    let Fixture { store, a, b, c } = fixture(store);
    let mut expected: BTreeMap<(usize, Vec<u8>), Vec<u8>> = BTreeMap::new();
    let mut lasts = Vec::new();
    for (writer, (acked, begun)) in (0..).zip(acked.iter().zip(begun)) {
        let last = next_batch_of(&*store, writer) - 1;
        assert!(last >= *acked, "writer {writer}: {acked} was acknowledged, {last} is the last");
        assert!(last <= *begun, "writer {writer}: batch {last} is there, {begun} was the last");
        for number in 1..=last {
            expected.extend(rows_of_batch(writer, number));
        }
        if last > 0 {
            expected.insert((0, vec![writer]), last.to_be_bytes().to_vec());
        }
        lasts.push(last);
    }
    for (index, table) in [a, b, c].into_iter().enumerate() {
        let stored = rows(&*store, table);
        let expected = expected.iter().filter(|((t, _), _)| *t == index);
        let expected: BTreeMap<_, _> = expected.map(|((_, k), v)| (k.clone(), v.clone())).collect();
        let missing = expected.iter().find(|(key, value)| stored.get(*key) != Some(value));
        assert_eq!(missing.map(|(key, _)| key), None, "a row is missing or changed: half a batch");
        let extra = stored.keys().find(|key| !expected.contains_key(*key));
        assert_eq!(extra, None, "a row of a batch that is not there: half a batch");
    }
    lasts
}

fn rows_of_batch(writer: u8, number: u64) -> BTreeMap<(usize, Vec<u8>), Vec<u8>> {
    let mut dice = Dice::new(number).fork(writer.into());
    (0..=dice.below(4))
        .map(|index| {
            let table = usize::try_from((number + index) % 3).expect("below three");
            let key = [&[writer], number.to_be_bytes().as_slice(), &index.to_be_bytes()].concat();
            // Mostly small, sometimes many pages.
            let bytes = if dice.below(10) == 0 { 20_000 } else { dice.index_below(600) };
            let mut value = vec![0; bytes];
            dice.fill(&mut value);
            ((table, key), value)
        })
        .collect()
}
