//! The stored bytes as they are for ever.

use seriatim_codec::{OutboxPointer, decode_number, encode_number};

use crate::samples::{self, Sample, offset};

#[test]
fn the_golden_file_of_events_still_holds() {
    check(&samples::events(), include_str!("../../golden/events.txt"));
}

#[test]
fn the_golden_file_of_rows_still_holds() {
    check(&samples::rows(), include_str!("../../golden/rows.txt"));
}

#[test]
fn the_golden_file_of_definitions_still_holds() {
    check(&samples::definitions(), include_str!("../../golden/definitions.txt"));
}

#[test]
fn the_golden_file_of_entries_still_holds() {
    check(&samples::entries(), include_str!("../../golden/entries.txt"));
}

#[test]
fn the_golden_file_of_key_limits_still_holds() {
    check(&samples::key_limits(), include_str!("../../golden/key_limits.txt"));
}

#[test]
fn the_golden_file_of_members_still_holds() {
    check(&samples::members(), include_str!("../../golden/members.txt"));
}

#[test]
fn the_golden_file_of_pointers_still_holds() {
    let pointer = OutboxPointer { event: offset(101), change: 7 };
    let now = [
        ("number 0", encode_number(0)),
        ("number 1099511627778", encode_number((1 << 40) + 2)),
        ("outbox pointer to change 7 of event 101", pointer.encode()),
    ];
    let now: String = now.iter().map(|(name, bytes)| line(name, bytes)).collect();
    assert_eq!(now, include_str!("../../golden/pointers.txt"), "stored bytes changed");
    assert_eq!(OutboxPointer::decode(&pointer.encode()), Ok(pointer));
    assert_eq!(decode_number(&encode_number((1 << 40) + 2)), Ok((1 << 40) + 2));
}

pub(crate) fn line(name: &str, bytes: &[u8]) -> String {
    format!("{name}: {}\n", hex(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check(samples: &[Sample], golden: &str) {
    let now: String = samples.iter().map(|it| line(it.name, &it.bytes)).collect();
    assert_eq!(now, golden, "stored bytes changed");
    for sample in samples {
        assert_eq!((sample.recode)(&sample.bytes), Ok(sample.bytes.clone()), "{}", sample.name);
    }
}
