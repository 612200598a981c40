//! Point reads.

use seriatim_types::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

use super::rows::{bytes, get, open, put};
use super::{Place, Verdict, case_list};
use crate::Batch;

case_list![
    a_key_reads_as_it_was_last_put,
    empty_keys_and_values_are_rows_like_others,
    many_reads_answer_in_the_order_of_their_keys,
    tables_do_not_share_keys,
    large_keys_and_values_come_back_whole,
];

fn a_key_reads_as_it_was_last_put(place: &dyn Place) -> Verdict {
    let f = open(place);
    assert_eq!(get(&*f.store, f.a, b"k"), None, "a new store is empty");
    put(&*f.store, f.a, b"k", b"1");
    assert_eq!(get(&*f.store, f.a, b"k"), Some(b"1".to_vec()));
    put(&*f.store, f.a, b"k", b"2");
    assert_eq!(get(&*f.store, f.a, b"k"), Some(b"2".to_vec()), "a second put replaces the first");
    assert_eq!(get(&*f.store, f.a, b"k\0"), None, "a longer key is another key");
    assert_eq!(get(&*f.store, f.a, b""), None, "a prefix is another key");
    let mut batch = Batch::new();
    batch.delete(f.a, bytes(b"k"));
    batch.delete(f.a, bytes(b"never was"));
    f.store.commit(batch).expect("deleting what is not there is no error");
    assert_eq!(get(&*f.store, f.a, b"k"), None, "deleted");
    Verdict::Passed
}

fn empty_keys_and_values_are_rows_like_others(place: &dyn Place) -> Verdict {
    let f = open(place);
    put(&*f.store, f.a, b"", b"empty key");
    put(&*f.store, f.a, b"empty value", b"");
    put(&*f.store, f.b, b"", b"");
    assert_eq!(get(&*f.store, f.a, b""), Some(b"empty key".to_vec()));
    assert_eq!(get(&*f.store, f.a, b"empty value"), Some(vec![]), "empty is not absent");
    assert_eq!(get(&*f.store, f.b, b""), Some(vec![]));
    f.store.sync().expect("sync");
    drop(f);
    let f = open(place);
    assert_eq!(get(&*f.store, f.a, b""), Some(b"empty key".to_vec()), "reopened");
    assert_eq!(get(&*f.store, f.b, b""), Some(vec![]), "reopened");
    let mut batch = Batch::new();
    batch.delete(f.a, bytes(b""));
    f.store.commit(batch).expect("the empty key is deleted");
    assert_eq!(get(&*f.store, f.a, b""), None);
    Verdict::Passed
}

fn many_reads_answer_in_the_order_of_their_keys(place: &dyn Place) -> Verdict {
    let f = open(place);
    for n in 0..100_u8 {
        put(&*f.store, if n % 2 == 0 { f.a } else { f.b }, [n], [n, n]);
    }
    // Unsorted, repeated, absent, over two tables.
    let keys: Vec<[u8; 1]> = (0..200).map(|i: u32| [(i * 37 % 110).to_le_bytes()[0]]).collect();
    let asked: Vec<_> = keys
        .iter()
        .enumerate()
        .map(|(i, key)| (if i % 3 == 0 { f.a } else { f.b }, key.as_slice()))
        .collect();
    let answers = f.store.get_many(&asked).expect("many reads succeed");
    assert_eq!(answers.len(), asked.len());
    for ((table, key), answer) in asked.iter().zip(answers) {
        let n = key[0];
        let there = n < 100 && *table == if n % 2 == 0 { f.a } else { f.b };
        assert_eq!(answer.as_deref(), there.then_some([n, n].as_slice()), "key {n}");
    }
    assert_eq!(f.store.get_many(&[]).expect("no reads at all"), Vec::<Option<_>>::new());
    Verdict::Passed
}

fn tables_do_not_share_keys(place: &dyn Place) -> Verdict {
    let f = open(place);
    for (table, value) in [(f.a, b"a"), (f.b, b"b"), (f.c, b"c")] {
        put(&*f.store, table, b"same", value);
    }
    let mut batch = Batch::new();
    batch.delete(f.b, bytes(b"same"));
    f.store.commit(batch).expect("commit");
    assert_eq!(get(&*f.store, f.a, b"same"), Some(b"a".to_vec()));
    assert_eq!(get(&*f.store, f.b, b"same"), None);
    assert_eq!(get(&*f.store, f.c, b"same"), Some(b"c".to_vec()));
    Verdict::Passed
}

fn large_keys_and_values_come_back_whole(place: &dyn Place) -> Verdict {
    let pattern = |seed: usize, len: usize| -> Vec<u8> {
        (0..len).map(|i| (i.wrapping_mul(2_654_435_761) >> 13 ^ seed).to_le_bytes()[0]).collect()
    };
    let long_key = pattern(1, KEY_BYTES_MAX);
    let sizes = [1, 4_095, 4_096, 65_535, 65_536, 1 << 20, VALUE_BYTES_MAX];
    let mut f = open(place);
    put(&*f.store, f.a, &long_key, b"long key");
    for size in sizes {
        put(&*f.store, f.b, size.to_be_bytes(), pattern(size, size));
    }
    for time in ["at once", "after reopening"] {
        assert_eq!(get(&*f.store, f.a, &long_key), Some(b"long key".to_vec()), "{time}");
        for size in sizes {
            let value = get(&*f.store, f.b, &size.to_be_bytes()).expect("the value is there");
            assert!(value == pattern(size, size), "a value of {size} bytes changed {time}");
        }
        f.store.sync().expect("sync");
        drop(f);
        f = open(place);
    }
    Verdict::Passed
}
