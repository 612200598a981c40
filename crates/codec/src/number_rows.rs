//! The rows in which a partition keeps its numbers, behind the partition's prefix.
//!
//! ```text
//!  key    │ prefix 10 │ 01 │                                      the head of the checkpoint
//!         │ prefix 10 │ 02 │ workspace u64 │                      a workspace's numbers
//!         │ prefix 10 │ 03 │ workspace u64 │ client 1..=1020 │    a client's number
//!
//!  head   │ 01 │ epoch u64 │ offset u64, 0 for none │
//!  row    │ 01 │ ( sequence u16 │ year u16, 0 for none │ last u64 ) … │
//!         │ 02 │ count u16 │ ( sequence … ) … │ ( hash 32 ) … │        with a frontier
//! ```
//!
//! All numbers are big-endian. Series stand in ascending order, each once. The hashes are the
//! frontier of the tree over the workspace's log, largest subtree first.

use seriatim_types::{
    ClientId, Epoch, Hash, Number, PartitionOffset, SequenceId, WorkspaceId, Year,
};

use crate::PartitionPrefix;

const VERSION: u8 = 1;
const WITH_FRONTIER: u8 = 2;
const HEAD: u8 = 1;
const WORKSPACE: u8 = 2;
const CLIENT: u8 = 3;
const NO_YEAR: u16 = 0;
const SERIES_BYTES: usize = 12;

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
pub fn encode_row(series: impl ExactSizeIterator<Item = SeriesLast>, frontier: &[Hash]) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    if !frontier.is_empty() {
        let count = u16::try_from(series.len()).expect("a row holds far fewer series");
        bytes = vec![WITH_FRONTIER];
        bytes.extend_from_slice(&count.to_be_bytes());
    }
    for (sequence, year, last) in series {
        bytes.extend_from_slice(&sequence.0.to_be_bytes());
        bytes.extend_from_slice(&year.map_or(NO_YEAR, Year::get).to_be_bytes());
        bytes.extend_from_slice(&last.get().to_be_bytes());
    }
    frontier.iter().for_each(|hash| bytes.extend_from_slice(&hash.0));
    bytes
}

/// Reads the stored bytes of a row: its series and its frontier.
///
/// # Errors
///
/// When they are something else.
pub fn decode_row(bytes: &[u8]) -> Result<(Vec<SeriesLast>, Vec<Hash>), NumberRowError> {
    let Some((&WITH_FRONTIER, mut rest)) = bytes.split_first() else {
        let rest = versioned(bytes)?;
        let count = rest.len().div_ceil(SERIES_BYTES);
        return Ok((take_all_series(&mut { rest }, count)?, Vec::new()));
    };
    let count = u16::from_be_bytes(take(&mut rest)?);
    let series = take_all_series(&mut rest, usize::from(count))?;
    if rest.is_empty() {
        return Err(NumberRowError { what: "a frontier without hashes" });
    }
    let mut frontier = Vec::with_capacity(rest.len().div_ceil(size_of::<Hash>()));
    while !rest.is_empty() {
        frontier.push(Hash(take(&mut rest)?));
    }
    Ok((series, frontier))
}

fn take_all_series(rest: &mut &[u8], count: usize) -> Result<Vec<SeriesLast>, NumberRowError> {
    let mut series: Vec<SeriesLast> = Vec::with_capacity(count.min(rest.len()));
    for _ in 0..count {
        let one = take_series(rest)?;
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
            ("row without numbers", encode_row([].into_iter(), &[])),
            ("row 1: 13, 2: 200019, 300 in 2026: 7", encode_row(row.into_iter(), &[])),
            (
                "the same with a frontier",
                encode_row(row.into_iter(), &[Hash([7; 32]), Hash([8; 32])]),
            ),
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
        assert!(decode_row(&encode_row(twice.into_iter(), &[])).is_err(), "one series twice");
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
            frontier in proptest::collection::vec(any::<[u8; 32]>().prop_map(Hash), 0..5),
        ) {
            let row: Vec<SeriesLast> = map
                .iter()
                .map(|((sequence, year), last)| {
                    let year = (*year > 0).then(|| 2_000 + u16::from(*year));
                    series(*sequence, year, u64::from(*last) + 1)
                })
                .collect();
            let bytes = encode_row(row.clone().into_iter(), &frontier);
            prop_assert_eq!(decode_row(&bytes), Ok((row, frontier)));
        }

        #[test]
        fn any_bytes_are_a_row_or_an_error(bytes: Vec<u8>) {
            if let Ok((row, frontier)) = decode_row(&bytes) {
                prop_assert_eq!(encode_row(row.into_iter(), &frontier), bytes.clone());
            }
            if let Ok(head) = CheckpointHead::decode(&bytes) {
                prop_assert_eq!(head.encode(), bytes);
            }
        }
    }
}
