//! Closing, crashing and opening again.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};

use super::rows::{get, open, put, schema};
use super::{Place, Verdict, case_list, workload};
use crate::faulty::Dice;
use crate::{OpenError, Schema};

case_list![
    a_clean_close_keeps_what_was_synced,
    one_handle_at_a_time,
    a_table_that_the_schema_lacks_is_not_dropped_silently,
    a_table_can_be_added_and_the_list_reordered,
    after_losing_power_everything_acknowledged_is_there,
    after_sigkill_everything_acknowledged_is_there,
];

fn a_clean_close_keeps_what_was_synced(place: &dyn Place) -> Verdict {
    for round in 0..5_u64 {
        let f = open(place);
        for earlier in 0..round {
            for key in [earlier * 1_000, earlier * 1_000 + 99] {
                let there = get(&*f.store, f.a, &key.to_be_bytes());
                assert_eq!(there, Some(key.to_be_bytes().to_vec()), "round {round}");
            }
        }
        for n in round * 1_000..round * 1_000 + 100 {
            put(&*f.store, f.a, n.to_be_bytes(), n.to_be_bytes());
        }
        f.store.sync().expect("sync");
    }
    Verdict::Passed
}

fn one_handle_at_a_time(place: &dyn Place) -> Verdict {
    let f = open(place);
    put(&*f.store, f.a, b"k", b"v");
    f.store.sync().expect("sync");
    match place.open(&schema()) {
        Err(OpenError::InUse { .. }) => {}
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("two writers would have been at work on the same files"),
    }
    assert_eq!(get(&*f.store, f.a, b"k"), Some(b"v".to_vec()), "the first handle goes on");
    drop(f);
    let f = open(place);
    assert_eq!(get(&*f.store, f.a, b"k"), Some(b"v".to_vec()));
    Verdict::Passed
}

fn a_table_that_the_schema_lacks_is_not_dropped_silently(place: &dyn Place) -> Verdict {
    let f = open(place);
    put(&*f.store, f.c, b"k", b"v");
    f.store.sync().expect("sync");
    drop(f);
    let fewer = Schema::new(["a", "b"]).expect("two good names");
    match place.open(&fewer) {
        Err(OpenError::UnknownTable { table, .. }) => assert_eq!(table, "c"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("an older build opened a newer store"),
    }
    let f = open(place);
    assert_eq!(get(&*f.store, f.c, b"k"), Some(b"v".to_vec()), "nothing was changed");
    Verdict::Passed
}

fn a_table_can_be_added_and_the_list_reordered(place: &dyn Place) -> Verdict {
    let f = open(place);
    put(&*f.store, f.b, b"k", b"in b");
    f.store.sync().expect("sync");
    drop(f);
    let more = Schema::new(["new", "c", "b", "a"]).expect("four good names");
    let store = place.open(&more).expect("a newer build opens an older store");
    let b = more.table("b").expect("b is there");
    assert_eq!(get(&*store, b, b"k"), Some(b"in b".to_vec()), "rows stay with their table's name");
    let new = more.table("new").expect("new is there");
    assert_eq!(store.first_key(new, &crate::KeyRange::all()), Ok(None));
    put(&*store, new, b"k", b"in new");
    assert_eq!(get(&*store, new, b"k"), Some(b"in new".to_vec()));
    Verdict::Passed
}

fn after_losing_power_everything_acknowledged_is_there(place: &dyn Place) -> Verdict {
    let writers = usize::from(workload::WRITERS);
    let mut acked = vec![0; writers];
    let mut lost = 0;
    for round in 0..25 {
        let mut dice = Dice::new(round).fork(4);
        let store = place.open(&workload::schema()).expect("the store opens");
        let mut next: Vec<u64> =
            (0..workload::WRITERS).map(|w| workload::next_batch_of(&*store, w)).collect();
        for _ in 0..dice.below(60) {
            let writer = dice.index_below(writers);
            let name = writer.to_le_bytes()[0];
            workload::commit(&*store, name, next[writer]).expect("commit");
            next[writer] += 1;
            if dice.below(5) == 0 {
                store.sync().expect("sync");
                acked = next.iter().map(|next| next - 1).collect();
            }
        }
        let begun: Vec<u64> = next.iter().map(|next| next - 1).collect();
        if !place.lose_power(store, round) {
            return Verdict::NotApplicable;
        }
        let store = place.open(&workload::schema()).expect("the store opens after the loss");
        let last = workload::check(store, &acked, &begun);
        lost += begun.iter().sum::<u64>() - last.iter().sum::<u64>();
        // What was found is the truth from now on, and must not change again.
        acked = last;
    }
    assert!(lost > 0, "in 25 rounds no unsynced batch was ever lost: this tests nothing");
    Verdict::Passed
}

fn after_sigkill_everything_acknowledged_is_there(place: &dyn Place) -> Verdict {
    let writers = usize::from(workload::WRITERS);
    let mut acked = vec![0; writers];
    for round in 0..6_u64 {
        let Some(mut child) = place.spawn_writer() else { return Verdict::NotApplicable };
        let mut lines = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let enough = 20 + Dice::new(round).below(200);
        for _ in 0..enough {
            assert!(read_ack(&mut lines, &mut acked), "the writer ended by itself");
        }
        kill(&mut child);
        while read_ack(&mut lines, &mut acked) {}
        let begun: Vec<u64> = acked.iter().map(|acked| acked + 1).collect();
        let store = place.open(&workload::schema()).expect("the store opens after SIGKILL");
        acked = workload::check(store, &acked, &begun);
    }
    Verdict::Passed
}

fn kill(child: &mut Child) {
    child.kill().expect("SIGKILL is delivered");
    child.wait().expect("the process ends");
}

/// Reads one line of a writer's; a line that was cut off by the kill does not count.
fn read_ack(lines: &mut BufReader<ChildStdout>, acked: &mut [u64]) -> bool {
    let mut line = String::new();
    lines.read_line(&mut line).expect("the pipe is read");
    let Some(line) = line.strip_suffix('\n') else { return false };
    let mut words = line.split(' ');
    assert_eq!(words.next(), Some("acked"), "{line:?}");
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).expect("a number");
    let (writer, batch) = (usize::try_from(number()).expect("a small number"), number());
    assert_eq!(acked[writer] + 1, batch, "a writer goes on where it stopped");
    acked[writer] = batch;
    true
}
