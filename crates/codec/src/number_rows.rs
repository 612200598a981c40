//! The rows in which a partition keeps its numbers, behind the partition's prefix.
//!
//! ```text
//!  key    │ prefix 10 │ 01 │                                      the head of the checkpoint
//!         │ prefix 10 │ 02 │ workspace u64 │                      a workspace's numbers
//!         │ prefix 10 │ 03 │ workspace u64 │ client 1..=255 │     a client's number
//!
//!  head   │ 01 │ epoch u64 │ offset u64, 0 for none │
//!  row    │ 01 │ ( sequence u16 │ year u16, 0 for none │ last u64 ) … │
//! ```
//!
//! All numbers are big-endian. Series stand in ascending order, each once.

use seriatim_types::{ClientId, Epoch, Number, PartitionOffset, SequenceId, WorkspaceId, Year};

use crate::PartitionPrefix;

const VERSION: u8 = 1;
const HEAD: u8 = 1;
const WORKSPACE: u8 = 2;
const CLIENT: u8 = 3;
const NO_YEAR: u16 = 0;

/// A stored value that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a stored row of numbers cannot be read: {what}")]
pub struct NumberRowError {
    /// What is wrong with it.
    pub what: &'static str,
}

/// Who wrote the last checkpoint, and what it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointHead {
    /// The owner.
    pub epoch: Epoch,
    /// The last event that the rows cover; `None` before the first.
    pub through: Option<PartitionOffset>,
}

/// One series of a row: sequence, year if it has one, last number.
pub type SeriesLast = (SequenceId, Option<Year>, Number);

/// The key of the head.
#[must_use]
pub fn head_key(prefix: PartitionPrefix) -> Vec<u8> {
    key(prefix, HEAD, &[])
}

/// The key of a workspace's row.
#[must_use]
pub fn workspace_key(prefix: PartitionPrefix, workspace: WorkspaceId) -> Vec<u8> {
    key(prefix, WORKSPACE, &[&workspace.0.to_be_bytes()])
}

/// The key of a client's row.
#[must_use]
pub fn client_key(prefix: PartitionPrefix, workspace: WorkspaceId, client: &ClientId) -> Vec<u8> {
    key(prefix, CLIENT, &[&workspace.0.to_be_bytes(), client.as_bytes()])
}

fn key(prefix: PartitionPrefix, tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    [prefix.encode().as_slice(), &[tag], &parts.concat()].concat()
}

impl CheckpointHead {
    /// The stored bytes.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        let offset = self.through.map_or(0, PartitionOffset::get);
        [[VERSION].as_slice(), &self.epoch.0.to_be_bytes(), &offset.to_be_bytes()].concat()
    }

    /// Reads the stored bytes.
    ///
    /// # Errors
    ///
    /// When they are something else.
    pub fn decode(bytes: &[u8]) -> Result<Self, NumberRowError> {
        let mut rest = versioned(bytes)?;
        let epoch = Epoch(u64::from_be_bytes(take(&mut rest)?));
        let offset = u64::from_be_bytes(take(&mut rest)?);
        let through = PartitionOffset::new(offset);
        if !rest.is_empty() || (through.is_none() && offset != 0) {
            return Err(NumberRowError { what: "a head of another form" });
        }
        Ok(Self { epoch, through })
    }
}

/// The stored bytes of a row. The series must be ascending.
pub fn encode_row(series: impl IntoIterator<Item = SeriesLast>) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    for (sequence, year, last) in series {
        bytes.extend_from_slice(&sequence.0.to_be_bytes());
        bytes.extend_from_slice(&year.map_or(NO_YEAR, Year::get).to_be_bytes());
        bytes.extend_from_slice(&last.get().to_be_bytes());
    }
    bytes
}

/// Reads the stored bytes of a row.
///
/// # Errors
///
/// When they are something else.
pub fn decode_row(bytes: &[u8]) -> Result<Vec<SeriesLast>, NumberRowError> {
    let mut rest = versioned(bytes)?;
    let mut series: Vec<SeriesLast> = Vec::with_capacity(rest.len() / 12);
    while !rest.is_empty() {
        let one = take_series(&mut rest)?;
        if series.last().is_some_and(|last| (last.0, last.1) >= (one.0, one.1)) {
            return Err(NumberRowError { what: "series out of order" });
        }
        series.push(one);
    }
    Ok(series)
}

pub(crate) fn take_series(rest: &mut &[u8]) -> Result<SeriesLast, NumberRowError> {
    let sequence = SequenceId(u16::from_be_bytes(take(rest)?));
    let year = match u16::from_be_bytes(take(rest)?) {
        NO_YEAR => None,
        year => Some(Year::new(year).ok_or(NumberRowError { what: "no year" })?),
    };
    let last = Number::new(u64::from_be_bytes(take(rest)?));
    Ok((sequence, year, last.ok_or(NumberRowError { what: "no number" })?))
}

pub(crate) fn versioned(bytes: &[u8]) -> Result<&[u8], NumberRowError> {
    match bytes.split_first() {
        Some((&VERSION, rest)) => Ok(rest),
        Some(_) | None => Err(NumberRowError { what: "an unknown version" }),
    }
}

pub(crate) fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], NumberRowError> {
    let (chunk, behind) = rest.split_first_chunk().ok_or(NumberRowError { what: "cut off" })?;
    *rest = behind;
    Ok(*chunk)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use seriatim_types::{AppId, Incarnation, PartitionId};

    use super::*;

    fn prefix() -> PartitionPrefix {
        PartitionPrefix { app: AppId(1), partition: PartitionId(2), incarnation: Incarnation(3) }
    }

    fn series(sequence: u16, year: Option<u16>, last: u64) -> SeriesLast {
        (SequenceId(sequence), year.and_then(Year::new), Number::new(last).unwrap())
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_golden_file_still_holds() {
        let client = ClientId::new(b"pos-4").unwrap();
        let head = |through| CheckpointHead { epoch: Epoch(7), through };
        let row = [series(1, None, 13), series(2, None, 200_019), series(300, Some(2026), 7)];
        let now = [
            ("key of the head", head_key(prefix())),
            ("key of workspace 1099511627778", workspace_key(prefix(), WorkspaceId((1 << 40) + 2))),
            ("key of client pos-4 in workspace 5", client_key(prefix(), WorkspaceId(5), &client)),
            ("head of epoch 7, no event", head(None).encode()),
            ("head of epoch 7, event 101", head(PartitionOffset::new(101)).encode()),
            ("row without numbers", encode_row([])),
            ("row 1: 13, 2: 200019, 300 in 2026: 7", encode_row(row)),
        ];
        let now: String =
            now.iter().map(|(name, bytes)| format!("{name}: {}\n", hex(bytes))).collect();
        assert_eq!(now, include_str!("../golden/number_rows.txt"), "stored bytes changed");
    }

    #[test]
    fn malformed_values_are_errors() {
        for bad in ["", "02", "0100", "01000100000000000000000000", "0100010000002000000000000000"]
        {
            let bytes: Vec<u8> = (0..bad.len() / 2)
                .map(|at| u8::from_str_radix(&bad[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            assert!(decode_row(&bytes).is_err(), "{bad}");
            assert!(CheckpointHead::decode(&bytes).is_err(), "{bad}");
        }
        let twice = [series(1, None, 1), series(1, None, 2)];
        assert!(decode_row(&encode_row(twice)).is_err(), "one series twice");
    }

    proptest! {
        #[test]
        fn keys_of_different_owners_never_meet(
            a: (u32, u16, u32, u64, Option<[u8; 3]>),
            b: (u32, u16, u32, u64, Option<[u8; 3]>),
        ) {
            let key = |x: &(u32, u16, u32, u64, Option<[u8; 3]>)| {
                let prefix = PartitionPrefix {
                    app: AppId(x.0),
                    partition: PartitionId(x.1),
                    incarnation: Incarnation(x.2),
                };
                match x.4 {
                    None => workspace_key(prefix, WorkspaceId(x.3)),
                    Some(name) => {
                        client_key(prefix, WorkspaceId(x.3), &ClientId::new(&name).unwrap())
                    }
                }
            };
            prop_assert_eq!(a == b, key(&a) == key(&b));
        }

        #[test]
        fn a_row_is_read_as_it_was_written(
            map: std::collections::BTreeMap<(u16, u8), u32>,
        ) {
            let row: Vec<SeriesLast> = map
                .iter()
                .map(|((sequence, year), last)| {
                    let year = (*year > 0).then(|| 2_000 + u16::from(*year));
                    series(*sequence, year, u64::from(*last) + 1)
                })
                .collect();
            prop_assert_eq!(decode_row(&encode_row(row.clone())), Ok(row));
        }

        #[test]
        fn any_bytes_are_a_row_or_an_error(bytes: Vec<u8>) {
            if let Ok(row) = decode_row(&bytes) {
                prop_assert_eq!(encode_row(row), bytes.clone());
            }
            if let Ok(head) = CheckpointHead::decode(&bytes) {
                prop_assert_eq!(head.encode(), bytes);
            }
        }
    }
}
