//! Damaged bytes: decoding never panics, and whatever it takes is what encoding would have made.

use bytes::Bytes;
use seriatim_codec::{
    OutboxPointer, PartitionPrefix, decode_event_key, decode_expiry_key, decode_number,
    decode_outbox_key, decode_record_of_kind_key, decode_workspace_log_key, encode_number,
    event_key, expiry_key, outbox_key, record_of_kind_key, workspace_log_key,
};
use seriatim_storage::faulty::Dice;
use seriatim_types::{Time, WorkspaceId};

use crate::samples::{self, Sample};

/// Of each of the two halves, which run side by side.
const MUTATIONS: u64 = 250_000;

#[test]
fn damaged_events_and_rows_are_errors_or_other_values() {
    let samples = [samples::events(), samples::rows()];
    fuzz(1, &samples.into_iter().flatten().collect::<Vec<_>>());
}

#[test]
fn damaged_entries_definitions_keys_and_pointers_are_errors_or_other_values() {
    let samples = [samples::definitions(), samples::entries(), keys_and_pointers()];
    fuzz(2, &samples.into_iter().flatten().collect::<Vec<_>>());
}

#[test]
fn random_bytes_are_errors_or_values() {
    let mut dice = Dice::new(3);
    let samples = samples::all();
    for _ in 0..20_000 {
        let sample = one_of(&mut dice, &samples);
        // Nearly all would fail at the version.
        let bytes = (0..dice.index_below(40)).map(|_| byte(&mut dice));
        let bytes: Bytes = std::iter::once(1).chain(bytes).collect();
        check(sample, &bytes);
    }
}

fn fuzz(seed: u64, samples: &[Sample]) {
    let mut dice = Dice::new(seed);
    let mut taken = 0_u64;
    for _ in 0..MUTATIONS {
        let sample = one_of(&mut dice, samples);
        let mut bytes = sample.bytes.to_vec();
        for _ in 0..=dice.index_below(3) {
            mutate(&mut dice, &mut bytes, samples);
        }
        taken += u64::from(check(sample, &bytes.into()));
    }
    // Otherwise only the outermost checks would be tried.
    assert!(taken > MUTATIONS / 50, "only {taken} of {MUTATIONS} were taken");
}

/// Whether the bytes are a value.
fn check(sample: &Sample, bytes: &Bytes) -> bool {
    let again = (sample.recode)(bytes);
    if let Ok(again) = &again {
        assert_eq!(again, bytes, "{} has two encodings", sample.name);
    }
    again.is_ok()
}

fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>, samples: &[Sample]) {
    let at = dice.index_below(bytes.len() + 1);
    let end = (at + 1 + dice.index_below(8)).min(bytes.len());
    match dice.index_below(8) {
        0 if at < bytes.len() => bytes[at] ^= 1 << dice.index_below(8),
        1 if at < bytes.len() => bytes[at] = *one_of(dice, &[0, 1, 0x0a, 0x7f, 0x80, 0xff]),
        2 if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(1),
        3 => bytes.insert(at, byte(dice)),
        4 => drop(bytes.drain(at..end)),
        5 => bytes.extend_from_within(at..end),
        6 => {
            let other = &one_of(dice, samples).bytes;
            let from = dice.index_below(other.len());
            let to = (from + dice.index_below(40)).min(other.len());
            drop(bytes.splice(at..end, other[from..to].iter().copied()));
        }
        _ => bytes.truncate(at),
    }
}

fn keys_and_pointers() -> Vec<Sample> {
    let (at, workspace) = (samples::prefix(), WorkspaceId(5));
    let (id, kind, entity) = (samples::number(7), samples::name("line"), samples::entity("a/b"));
    vec![
        Sample {
            name: "event key",
            bytes: event_key(at, samples::offset(7)).into(),
            recode: |key| {
                let offset = decode_event_key(key)?;
                Ok(event_key(prefix_of(key), offset).into())
            },
        },
        Sample {
            name: "workspace log key",
            bytes: workspace_log_key(at, workspace, id).into(),
            recode: |key| {
                let (workspace, offset) = decode_workspace_log_key(key)?;
                Ok(workspace_log_key(prefix_of(key), workspace, offset).into())
            },
        },
        Sample {
            name: "record of kind key",
            bytes: record_of_kind_key(at, workspace, &kind, id).into(),
            recode: |key| {
                let (workspace, kind, id) = decode_record_of_kind_key(key)?;
                Ok(record_of_kind_key(prefix_of(key), workspace, &kind, id).into())
            },
        },
        Sample {
            name: "expiry key",
            bytes: expiry_key(at, Time(9), workspace, &entity).into(),
            recode: |key| {
                let (time, workspace, entity) = decode_expiry_key(key)?;
                Ok(expiry_key(prefix_of(key), time, workspace, &entity).into())
            },
        },
        Sample {
            name: "outbox key",
            bytes: outbox_key(at, samples::neighbour(), 7).into(),
            recode: |key| {
                let (target, number) = decode_outbox_key(key)?;
                Ok(outbox_key(prefix_of(key), target, number).into())
            },
        },
        Sample {
            name: "number",
            bytes: encode_number(7),
            recode: |bytes| decode_number(bytes).map(encode_number),
        },
        Sample {
            name: "outbox pointer",
            bytes: OutboxPointer { event: samples::offset(7), change: 1 }.encode(),
            recode: |bytes| OutboxPointer::decode(bytes).map(OutboxPointer::encode),
        },
    ]
}

fn prefix_of(key: &[u8]) -> PartitionPrefix {
    PartitionPrefix::split(key).unwrap().0
}

fn byte(dice: &mut Dice) -> u8 {
    dice.next_u64().to_le_bytes()[0]
}

fn one_of<'a, T>(dice: &mut Dice, items: &'a [T]) -> &'a T {
    &items[dice.index_below(items.len())]
}
