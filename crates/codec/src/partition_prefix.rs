//! The ten bytes at the front of every key that belongs to a partition.
//!
//! ```text
//!  0        4     6        10
//!  ├────────┼─────┼────────┼──── the rest of the key
//!  │ app    │ par │ incarn │
//!  └────────┴─────┴────────┘     all big-endian, so that byte order is number order
//! ```
//!
//! Because app, partition and incarnation come first, a partition is one contiguous key
//! range: a snapshot of it is a scan, and dropping an old incarnation is one too.

use seriatim_types::{AppId, Incarnation, PartitionId};

/// Which partition, and which life of it, a key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionPrefix {
    /// The app.
    pub app: AppId,
    /// The partition within the app.
    pub partition: PartitionId,
    /// The life of the partition's data on this node.
    pub incarnation: Incarnation,
}

/// A key is too short to hold a partition prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a partition key has at least {} bytes, this one has {bytes}", PartitionPrefix::BYTES)]
pub struct PrefixError {
    /// The length that was found.
    pub bytes: usize,
}

impl PartitionPrefix {
    /// Length of the encoded prefix.
    pub const BYTES: usize = 10;

    /// The prefix as it stands in a key.
    #[must_use]
    pub fn encode(self) -> [u8; Self::BYTES] {
        let [a, b, c, d] = self.app.0.to_be_bytes();
        let [e, f] = self.partition.0.to_be_bytes();
        let [g, h, i, j] = self.incarnation.0.to_be_bytes();
        [a, b, c, d, e, f, g, h, i, j]
    }

    /// Takes a key apart into its prefix and the rest.
    ///
    /// # Errors
    ///
    /// When the key is shorter than a prefix.
    pub fn split(key: &[u8]) -> Result<(Self, &[u8]), PrefixError> {
        let Some((&[a, b, c, d, e, f, g, h, i, j], rest)) = key.split_first_chunk() else {
            return Err(PrefixError { bytes: key.len() });
        };
        let prefix = Self {
            app: AppId(u32::from_be_bytes([a, b, c, d])),
            partition: PartitionId(u16::from_be_bytes([e, f])),
            incarnation: Incarnation(u32::from_be_bytes([g, h, i, j])),
        };
        Ok((prefix, rest))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prefix(app: u32, partition: u16, incarnation: u32) -> PartitionPrefix {
        PartitionPrefix {
            app: AppId(app),
            partition: PartitionId(partition),
            incarnation: Incarnation(incarnation),
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_golden_file_still_holds() {
        let samples = [
            prefix(0, 0, 0),
            prefix(1, 2, 3),
            prefix(0x0102_0304, 0x0506, 0x0708_090a),
            prefix(u32::MAX, u16::MAX, u32::MAX),
        ];
        let now: String = samples
            .iter()
            .map(|p| {
                let PartitionPrefix { app, partition, incarnation } = p;
                format!("{app}, {partition}, {incarnation}: {}\n", hex(&p.encode()))
            })
            .collect();
        assert_eq!(now, include_str!("../golden/partition_prefix.txt"), "stored keys changed");
    }

    #[test]
    fn every_short_key_is_an_error_and_never_a_panic() {
        for bytes in 0..PartitionPrefix::BYTES {
            let key = vec![0xff; bytes];
            assert_eq!(PartitionPrefix::split(&key), Err(PrefixError { bytes }));
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded_and_the_rest_is_left_alone(
            app: u32, partition: u16, incarnation: u32, rest: Vec<u8>,
        ) {
            let written = prefix(app, partition, incarnation);
            let key = [written.encode().as_slice(), &rest].concat();
            prop_assert_eq!(PartitionPrefix::split(&key), Ok((written, rest.as_slice())));
        }

        #[test]
        fn keys_sort_as_their_values_do(a: (u32, u16, u32), b: (u32, u16, u32)) {
            let (a, b) = (prefix(a.0, a.1, a.2), prefix(b.0, b.1, b.2));
            prop_assert_eq!(a.cmp(&b), a.encode().cmp(&b.encode()));
        }
    }
}
