//! The row at the end of every batch: which commit it is and what is durable already.
//!
//! ```text
//!  key    "commit"
//!  value  0      1               9              17             25
//!         ├──────┼───────────────┼──────────────┼──────────────┤
//!         │ 0x01 │ this commit   │ durable up to│ seal         │     big-endian u64
//!         └──────┴───────────────┴──────────────┴──────────────┘
//!         seal = xxh3-64 of the first 17 bytes, seeded with the store's random number
//! ```
//!
//! A marker found in the journal behind a damaged batch proves, by what it says is durable,
//! whether that batch had been acknowledged. The seal shows that the marker itself is whole and
//! ours: nobody outside knows the seed, so a value that was made to look like one is none.

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The engine's table for our own rows. No table of a schema can have this name.
pub(crate) const TABLE: &str = "_seriatim";

/// The key of the row.
pub(crate) const KEY: &[u8] = b"commit";

/// The key of the row that says that a table was created.
pub(crate) fn key_of_table(table: &str) -> Bytes {
    Bytes::from([TABLE_PREFIX, table].concat())
}

/// What the keys of such rows begin with.
pub(crate) const TABLE_PREFIX: &str = "table/";

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

/// The random number of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nonce(pub(crate) u64);

impl Nonce {
    pub(crate) fn seal(self, said: &[u8]) -> u64 {
        xxh3_64_with_seed(said, self.0)
    }
}

/// Length of a marker's value.
pub(crate) const VALUE_BYTES: usize = 25;

impl Marker {
    pub(crate) fn encode(self, nonce: Nonce) -> [u8; VALUE_BYTES] {
        assert!(self.durable < self.commit, "a commit is not durable before it is made");
        let mut bytes = [VERSION; VALUE_BYTES];
        let (said, seal) = bytes.split_at_mut(17);
        let (_, numbers) = said.split_at_mut(1);
        for (place, number) in numbers.chunks_mut(8).zip([self.commit, self.durable]) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        seal.copy_from_slice(&nonce.seal(said).to_be_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8], nonce: Nonce) -> Option<Self> {
        let (said, seal) = bytes.split_at_checked(17)?;
        let (version, numbers) = said.split_first()?;
        let (commit, durable) = numbers.split_first_chunk()?;
        let marker = Self {
            commit: u64::from_be_bytes(*commit),
            durable: u64::from_be_bytes(durable.try_into().ok()?),
        };
        let is_ours = *version == VERSION && seal == nonce.seal(said).to_be_bytes();
        (is_ours && marker.durable < marker.commit).then_some(marker)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_stored_bytes_are_these_for_ever() {
        let bytes = Marker { commit: 0x0102, durable: 0xff }.encode(Nonce(0x0304));
        let said = [1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0xff];
        let seal = [211, 134, 120, 28, 139, 206, 46, 96];
        assert_eq!(bytes.to_vec(), [said.as_slice(), &seal].concat());
        assert_eq!(KEY, b"commit");
        assert_eq!(TABLE, "_seriatim");
        assert_eq!(key_of_empty_row("records"), b"empty/records".as_slice());
        assert_eq!(key_of_table("records"), b"table/records".as_slice());
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(commit in 1..=u64::MAX, back in 1..=u64::MAX) {
            let marker = Marker { commit, durable: commit.saturating_sub(back) };
            let bytes = marker.encode(Nonce(7));
            prop_assert_eq!(Marker::decode(&bytes, Nonce(7)), Some(marker));
            prop_assert_eq!(Marker::decode(&bytes, Nonce(8)), None, "another store's");
        }

        #[test]
        fn other_bytes_are_refused_and_never_a_panic(bytes: Vec<u8>) {
            if let Some(marker) = Marker::decode(&bytes, Nonce(0)) {
                prop_assert_eq!(marker.encode(Nonce(0)).to_vec(), bytes);
            }
        }
    }
}
