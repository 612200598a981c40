//! The row at the end of every batch: which commit it is and what is durable already.
//!
//! ```text
//!  key    "commit"
//!  value  0      1               9              17
//!         ├──────┼───────────────┼──────────────┤
//!         │ 0x01 │ this commit   │ durable up to│     numbers big-endian
//!         └──────┴───────────────┴──────────────┘
//! ```
//!
//! A batch found in the journal behind a damaged one proves, by what it says is durable,
//! whether the damaged one had been acknowledged.

use bytes::Bytes;

/// The engine's table for our own rows. No table of a schema can have this name.
pub(crate) const TABLE: &str = "_seriatim";

/// The key of the row.
pub(crate) const KEY: &[u8] = b"commit";

/// The key under which the row with the empty key of a table is kept.
pub(crate) fn key_of_empty_row(table: &str) -> Bytes {
    Bytes::from(["empty/", table].concat())
}

const VERSION: u8 = 1;

/// What the row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marker {
    /// The number of the commit that wrote the row.
    pub(crate) commit: u64,
    /// Every commit up to this one was durable when the row was written.
    pub(crate) durable: u64,
}

impl Marker {
    pub(crate) fn encode(self) -> [u8; 17] {
        assert!(self.durable < self.commit, "a commit is not durable before it is made");
        let mut bytes = [VERSION; 17];
        let (_, numbers) = bytes.split_at_mut(1);
        let (commit, durable) = numbers.split_at_mut(8);
        commit.copy_from_slice(&self.commit.to_be_bytes());
        durable.copy_from_slice(&self.durable.to_be_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let ([VERSION], numbers) = bytes.split_first_chunk()? else { return None };
        let (commit, durable) = numbers.split_first_chunk()?;
        let marker = Self {
            commit: u64::from_be_bytes(*commit),
            durable: u64::from_be_bytes(durable.try_into().ok()?),
        };
        (marker.durable < marker.commit).then_some(marker)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_stored_bytes_are_these_for_ever() {
        let bytes = Marker { commit: 0x0102, durable: 0xff }.encode();
        let expected = [1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0xff];
        assert_eq!(bytes, expected);
        assert_eq!(KEY, b"commit");
        assert_eq!(TABLE, "_seriatim");
        assert_eq!(key_of_empty_row("records"), b"empty/records".as_slice());
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(commit in 1..=u64::MAX, back in 1..=u64::MAX) {
            let marker = Marker { commit, durable: commit.saturating_sub(back) };
            prop_assert_eq!(Marker::decode(&marker.encode()), Some(marker));
        }

        #[test]
        fn other_bytes_are_refused_and_never_a_panic(bytes: Vec<u8>) {
            if let Some(marker) = Marker::decode(&bytes) {
                prop_assert_eq!(marker.encode().to_vec(), bytes);
            }
        }
    }
}
