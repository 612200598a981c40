//! Conditions: all or nothing, named culprits, and exactly one winner of every race.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use super::rows::{Fixture, bytes, get, open, put, rows};
use super::{Place, Verdict, case_list};
use crate::faulty::Dice;
use crate::{Batch, CommitError, ConditionFailed, Expected, KeyRange, Outcome, Row, Table};

case_list![
    a_failed_condition_commits_nothing_and_names_table_and_key,
    a_condition_that_holds_lets_the_whole_batch_through,
    a_condition_sees_the_operations_before_it,
    random_batches_agree_with_a_plain_model,
    of_many_inserts_of_one_key_exactly_one_wins,
    swaps_that_race_lose_no_increment,
    appends_that_race_leave_no_hole_and_no_repeat,
];

fn row(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Row {
    Row { key: bytes(key), value: bytes(value) }
}

fn a_failed_condition_commits_nothing_and_names_table_and_key(place: &dyn Place) -> Verdict {
    let f = open(place);
    put(&*f.store, f.b, b"there", b"1");
    let mut attempts: Vec<(Batch, &[u8], Expected)> = Vec::new();
    let mut add = |key, expected, condition: &dyn Fn(&mut Batch)| {
        let mut batch = Batch::new();
        batch.put(f.a, bytes(b"before"), bytes(b"x"));
        batch.delete(f.b, bytes(b"unrelated"));
        condition(&mut batch);
        batch.put(f.c, bytes(b"behind"), bytes(b"x"));
        attempts.push((batch, key, expected));
    };
    add(b"there", Expected::Absent, &|batch| {
        batch.insert_if_absent(f.b, bytes(b"there"), bytes(b"2"));
    });
    add(b"there", Expected::EmptyRange, &|batch| {
        let range = KeyRange::half_open(b"t", b"u");
        batch.insert_range_if_absent(f.b, range, [row(b"tz", b"2")]);
    });
    add(b"there", Expected::SameValue, &|batch| {
        batch.compare_and_swap(f.b, bytes(b"there"), Some(bytes(b"")), Some(bytes(b"2")));
    });
    add(b"there", Expected::Absent, &|batch| {
        batch.compare_and_swap(f.b, bytes(b"there"), None, Some(bytes(b"2")));
    });
    add(b"not there", Expected::SameValue, &|batch| {
        batch.compare_and_swap(f.b, bytes(b"not there"), Some(bytes(b"1")), None);
    });
    for (batch, key, expected) in attempts {
        let error = f.store.commit(batch).expect_err("the condition does not hold");
        assert_eq!(error.outcome(), Outcome::NotWritten);
        let failed = ConditionFailed { table: "b".to_owned(), key: bytes(key), expected };
        assert_eq!(error, CommitError::Condition(failed));
        assert!(rows(&*f.store, f.a).is_empty() && rows(&*f.store, f.c).is_empty());
        assert_eq!(get(&*f.store, f.b, b"there"), Some(b"1".to_vec()));
        f.store.health().expect("a failed condition does not stop the store");
    }
    Verdict::Passed
}

fn a_condition_that_holds_lets_the_whole_batch_through(place: &dyn Place) -> Verdict {
    let f = open(place);
    put(&*f.store, f.a, b"swap", b"1");
    put(&*f.store, f.a, b"swap away", b"");
    put(&*f.store, f.b, b"04", b"below");
    put(&*f.store, f.b, b"10", b"above");
    let mut batch = Batch::new();
    batch.insert_if_absent(f.a, bytes(b"new"), bytes(b"1"));
    batch.compare_and_swap(f.a, bytes(b"swap"), Some(bytes(b"1")), Some(bytes(b"2")));
    batch.compare_and_swap(f.a, bytes(b"swap away"), Some(bytes(b"")), None);
    batch.compare_and_swap(f.a, bytes(b"swap in"), None, Some(bytes(b"1")));
    // The range ends exactly where its neighbours stand.
    let range = KeyRange::new(Bound::Excluded(b"04"), Bound::Excluded(b"10"));
    batch.insert_range_if_absent(f.b, range, [row(b"05", b"5"), row(b"09", b"9")]);
    f.store.commit(batch).expect("every condition holds");
    let of = |table| rows(&*f.store, table).into_keys().collect::<Vec<_>>();
    assert_eq!(of(f.a), [b"new".to_vec(), b"swap".to_vec(), b"swap in".to_vec()]);
    assert_eq!(of(f.b), [b"04".to_vec(), b"05".to_vec(), b"09".to_vec(), b"10".to_vec()]);
    assert_eq!(get(&*f.store, f.a, b"swap"), Some(b"2".to_vec()));
    Verdict::Passed
}

fn a_condition_sees_the_operations_before_it(place: &dyn Place) -> Verdict {
    let f = open(place);
    put(&*f.store, f.a, b"k", b"1");
    let mut batch = Batch::new();
    batch.delete(f.a, bytes(b"k"));
    batch.insert_range_if_absent(f.a, KeyRange::all(), [row(b"k", b"2")]);
    batch.compare_and_swap(f.a, bytes(b"k"), Some(bytes(b"2")), Some(bytes(b"3")));
    f.store.commit(batch).expect("each condition holds at its place");
    assert_eq!(get(&*f.store, f.a, b"k"), Some(b"3".to_vec()));

    let mut batch = Batch::new();
    batch.put(f.a, bytes(b"new"), bytes(b""));
    batch.insert_if_absent(f.a, bytes(b"new"), bytes(b""));
    let error = f.store.commit(batch).expect_err("the batch itself wrote the key before");
    assert!(matches!(error, CommitError::Condition(_)), "{error}");

    // Two fail: the first one in the order of the batch is named.
    let mut batch = Batch::new();
    batch.insert_if_absent(f.a, bytes(b"z"), bytes(b""));
    batch.insert_range_if_absent(f.a, KeyRange::prefix(b"k"), []);
    batch.insert_if_absent(f.a, bytes(b"k"), bytes(b""));
    let error = f.store.commit(batch).expect_err("two conditions fail");
    let failed =
        ConditionFailed { table: "a".to_owned(), key: bytes(b"k"), expected: Expected::EmptyRange };
    assert_eq!(error, CommitError::Condition(failed));
    Verdict::Passed
}

type Tables = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

/// One random operation, done to the batch and to the model. `false` when its condition does
/// not hold in the model.
fn random_operation(dice: &mut Dice, f: &Fixture, batch: &mut Batch, model: &mut Tables) -> bool {
    let table = [f.a, f.b, f.c][dice.index_below(3)];
    let key = dice.below(12).to_be_bytes()[7 - dice.index_below(2)..].to_vec();
    let value = vec![dice.next_u64().to_le_bytes()[0]; dice.index_below(40)];
    let at = (table, key.clone());
    match dice.below(10) {
        0..=3 => {
            batch.put(table, bytes(&key), bytes(&value));
            model.insert(at, value);
            true
        }
        4 => {
            batch.delete(table, bytes(&key));
            model.remove(&at);
            true
        }
        5 | 6 => {
            batch.insert_if_absent(table, bytes(&key), bytes(&value));
            model.insert(at, value).is_none()
        }
        7 | 8 => {
            // Mostly the right expectation, sometimes a wrong one.
            let current = model.get(&at).cloned();
            let expected = if dice.below(8) == 0 { Some(value.clone()) } else { current.clone() };
            let new = (dice.below(3) > 0).then_some(value);
            batch.compare_and_swap(
                table,
                key,
                expected.clone().map(Into::into),
                new.clone().map(Into::into),
            );
            model.remove(&at);
            model.extend(new.map(|new| (at, new)));
            expected == current
        }
        _ => {
            let range = KeyRange::prefix(&key);
            let rows = [row([&*key, b"-1"].concat(), b"r"), row([&*key, b"-2"].concat(), b"r")];
            batch.insert_range_if_absent(table, range.clone(), rows.clone());
            let empty = !model.keys().any(|(t, k)| *t == table && range.contains(k));
            model.extend(rows.map(|r| ((table, r.key.to_vec()), r.value.to_vec())));
            empty
        }
    }
}

fn random_batches_agree_with_a_plain_model(place: &dyn Place) -> Verdict {
    let mut f = open(place);
    let mut dice = Dice::new(20_261_115);
    let mut model = Tables::new();
    let (mut committed, mut refused) = (0, 0);
    for round in 0..1_500 {
        let mut batch = Batch::new();
        let mut after = model.clone();
        let mut holds = true;
        for _ in 0..=dice.below(5) {
            holds &= random_operation(&mut dice, &f, &mut batch, &mut after);
        }
        match f.store.commit(batch) {
            Ok(()) => {
                assert!(holds, "round {round}: a condition did not hold and was let through");
                model = after;
                committed += 1;
            }
            Err(CommitError::Condition(failed)) => {
                assert!(!holds, "round {round}: refused without reason: {failed}");
                refused += 1;
            }
            Err(other) => panic!("round {round}: {other}"),
        }
        if round % 50 == 0 || round == 1_499 {
            if round % 500 == 0 {
                f.store.sync().expect("sync");
                drop(f);
                f = open(place);
            }
            let stored = [f.a, f.b, f.c].into_iter().flat_map(|table| {
                rows(&*f.store, table).into_iter().map(move |(key, value)| ((table, key), value))
            });
            assert_eq!(stored.collect::<Tables>(), model, "round {round}");
        }
    }
    assert!(committed > 300 && refused > 300, "{committed} committed, {refused} refused");
    Verdict::Passed
}

fn of_many_inserts_of_one_key_exactly_one_wins(place: &dyn Place) -> Verdict {
    const THREADS: u32 = 8;
    const ROUNDS: u32 = 150;
    let f = open(place);
    let winners: Vec<AtomicU32> = (0..ROUNDS).map(|_| AtomicU32::new(0)).collect();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (f, winners) = (&f, &winners);
            scope.spawn(move || {
                for (round, won) in winners.iter().enumerate() {
                    let mut batch = Batch::new();
                    let key = bytes(round.to_be_bytes());
                    batch.put(f.b, [&*key, &thread.to_be_bytes()].concat(), bytes(b""));
                    batch.insert_if_absent(f.a, key, bytes(thread.to_be_bytes()));
                    match f.store.commit(batch) {
                        Ok(()) => assert_eq!(won.fetch_add(1, Ordering::Relaxed), 0, "two won"),
                        Err(CommitError::Condition(failed)) => {
                            assert_eq!(failed.key, bytes(round.to_be_bytes()));
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            });
        }
    });
    assert!(winners.iter().all(|won| won.load(Ordering::Relaxed) == 1), "nobody won a round");
    // What stands beside the winner's row is the winner's, and nothing of the losers'.
    let (won, beside) = (rows(&*f.store, f.a), rows(&*f.store, f.b));
    let expected: Vec<Vec<u8>> =
        won.iter().map(|(round, thread)| [&**round, thread].concat()).collect();
    assert_eq!(beside.into_keys().collect::<Vec<_>>(), expected);
    Verdict::Passed
}

fn swaps_that_race_lose_no_increment(place: &dyn Place) -> Verdict {
    const THREADS: u64 = 4;
    const INCREMENTS: u64 = 100;
    let f = open(place);
    put(&*f.store, f.a, b"counter", 0_u64.to_be_bytes());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..INCREMENTS {
                    loop {
                        let old = f.store.get(f.a, b"counter").expect("read").expect("is there");
                        let number = u64::from_be_bytes(old.as_ref().try_into().expect("8 bytes"));
                        let new = bytes((number + 1).to_be_bytes());
                        let mut batch = Batch::new();
                        batch.compare_and_swap(f.a, bytes(b"counter"), Some(old), Some(new));
                        match f.store.commit(batch) {
                            Ok(()) => break,
                            Err(CommitError::Condition(_)) => {}
                            Err(other) => panic!("{other}"),
                        }
                    }
                }
            });
        }
    });
    let expected = (THREADS * INCREMENTS).to_be_bytes().to_vec();
    assert_eq!(get(&*f.store, f.a, b"counter"), Some(expected));
    Verdict::Passed
}

fn appends_that_race_leave_no_hole_and_no_repeat(place: &dyn Place) -> Verdict {
    const THREADS: u8 = 4;
    const APPENDS: u32 = 60;
    let f = open(place);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let f = &f;
            scope.spawn(move || {
                for _ in 0..APPENDS {
                    // Two rows at the end of a log, if nothing is at or behind it yet.
                    loop {
                        let next = u32::try_from(rows(&*f.store, f.a).len()).expect("a short log");
                        let from = next.to_be_bytes();
                        let range = KeyRange::at_or_after(&from);
                        let two = [next, next + 1].map(|n| row(n.to_be_bytes(), [thread]));
                        let mut batch = Batch::new();
                        batch.insert_range_if_absent(f.a, range, two);
                        match f.store.commit(batch) {
                            Ok(()) => break,
                            Err(CommitError::Condition(failed)) => {
                                assert_eq!(failed.expected, Expected::EmptyRange);
                                assert!(failed.key >= from.as_slice(), "a key of the range");
                            }
                            Err(other) => panic!("{other}"),
                        }
                    }
                }
            });
        }
    });
    let log = rows(&*f.store, f.a);
    let expected = u32::from(THREADS) * APPENDS * 2;
    let numbers: Vec<Vec<u8>> = (0..expected).map(|n| n.to_be_bytes().to_vec()).collect();
    assert_eq!(log.keys().cloned().collect::<Vec<_>>(), numbers);
    let writers: Vec<&Vec<u8>> = log.values().collect();
    assert!(writers.chunks(2).all(|pair| pair[0] == pair[1]), "an append was torn apart");
    Verdict::Passed
}
