//! A process that embeds Seriatim is killed without warning, again and again.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use seriatim::{Committed, Seriatim, Workspace};

use crate::world::{ORDER, key, shop};

const KILLS: u64 = 5;
const ACKNOWLEDGED_BEFORE_A_KILL: usize = 60;

/// The number that each command was told, by its key.
type Acknowledged = BTreeMap<u128, u64>;

/// Runs the process, and kills it once it has acknowledged enough.
fn run_and_kill(folder: &Path, acknowledged: &mut Acknowledged) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_seriatim-embedder"))
        .arg(folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut note = |line: String| {
        // The kill may cut the last line short.
        if let Some((key, number)) = line.strip_suffix(';').and_then(|line| line.split_once(' ')) {
            let before = acknowledged.insert(key.parse().unwrap(), number.parse().unwrap());
            assert_eq!(before, None, "a key is acknowledged once");
        }
    };
    lines.by_ref().take(ACKNOWLEDGED_BEFORE_A_KILL).for_each(&mut note);
    process.kill().unwrap();
    lines.for_each(note);
    process.wait().unwrap();
}

/// The number of every command in the log, by its key, if numbers have no hole.
fn read_log(store: &Workspace) -> Acknowledged {
    let size = usize::try_from(store.head().unwrap().size).unwrap();
    let events: Vec<Committed> =
        store.subscribe(1).unwrap().map(Result::unwrap).take(size).collect();
    let mut numbers = Acknowledged::new();
    for (expected, committed) in (1..).zip(&events) {
        assert_eq!(committed.event.numbers[0].number.get(), expected);
        let key = u128::from_be_bytes(committed.event.origin.as_ref().unwrap().key.0);
        assert_eq!(numbers.insert(key, expected), None, "a command is carried out once");
    }
    numbers
}

#[test]
fn what_was_acknowledged_survives_a_kill_and_what_was_not_is_resolved_by_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Acknowledged::new();
    for kill in 1..=KILLS {
        run_and_kill(folder.path(), &mut acknowledged);
        assert!(acknowledged.len() >= ACKNOWLEDGED_BEFORE_A_KILL * usize::try_from(kill).unwrap());

        let seriatim = Seriatim::open(folder.path()).unwrap();
        let store = shop(&seriatim).workspace("store-1").unwrap();
        let stored = read_log(&store);
        for (sent, number) in &acknowledged {
            assert_eq!(stored.get(sent), Some(number), "key {sent}");
        }
        // Of each writer one command may have been under way: sent again, it has one outcome.
        for writer in 0..3 {
            let client = format!("writer-{writer}");
            let carried_out = store.client(&client).unwrap().unwrap().last_client_sequence.get();
            for count in [carried_out, carried_out + 1] {
                let unknown = u128::from(count) * 10 + writer;
                let resolved = store.submit(&client, key(unknown), ORDER).unwrap();
                assert_eq!(resolved.is_replayed, stored.contains_key(&unknown));
                acknowledged.insert(unknown, resolved.number("ticket").unwrap().number.get());
            }
        }
        assert_eq!(read_log(&store), acknowledged, "everything is known again");
        seriatim.close().unwrap();
    }
}
