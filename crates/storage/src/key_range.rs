//! Ranges of keys with exact bounds.

use std::ops::{Bound, RangeBounds};

use bytes::Bytes;

/// A range of keys. Either end may be included, excluded or open.
///
/// A range whose start lies behind its end holds no key. It is not an error: a reader that
/// has caught up asks for exactly that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    start: Bound<Bytes>,
    end: Bound<Bytes>,
}

impl KeyRange {
    /// Every key.
    #[must_use]
    pub fn all() -> Self {
        Self { start: Bound::Unbounded, end: Bound::Unbounded }
    }

    /// The keys between two bounds.
    #[must_use]
    pub fn new(start: Bound<&[u8]>, end: Bound<&[u8]>) -> Self {
        Self { start: start.map(Bytes::copy_from_slice), end: end.map(Bytes::copy_from_slice) }
    }

    /// The keys from `start` on that are below `end`.
    #[must_use]
    pub fn half_open(start: &[u8], end: &[u8]) -> Self {
        Self::new(Bound::Included(start), Bound::Excluded(end))
    }

    /// The keys from `start` on.
    #[must_use]
    pub fn at_or_after(start: &[u8]) -> Self {
        Self::new(Bound::Included(start), Bound::Unbounded)
    }

    /// The keys that begin with `prefix`. An empty prefix is every key.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        let end = successor_of_prefix(prefix).map_or(Bound::Unbounded, Bound::Excluded);
        Self { start: Bound::Included(Bytes::copy_from_slice(prefix)), end }
    }

    /// Where the range starts.
    #[must_use]
    pub fn start(&self) -> Bound<&[u8]> {
        self.start.as_ref().map(AsRef::as_ref)
    }

    /// Where the range ends.
    #[must_use]
    pub fn end(&self) -> Bound<&[u8]> {
        self.end.as_ref().map(AsRef::as_ref)
    }

    /// Whether the key lies in the range.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        RangeBounds::<[u8]>::contains(&(self.start(), self.end()), key)
    }

    /// Whether the whole range lies behind the key.
    #[must_use]
    pub fn starts_after(&self, key: &[u8]) -> bool {
        match self.start() {
            Bound::Unbounded => false,
            Bound::Included(start) => key < start,
            Bound::Excluded(start) => key <= start,
        }
    }

    /// Whether no key at all can lie in the range. Ordered maps panic on some such ranges,
    /// so backends ask first.
    #[must_use]
    pub fn is_vacant(&self) -> bool {
        match (self.start(), self.end()) {
            (Bound::Unbounded, Bound::Excluded(end)) => end.is_empty(),
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(start), Bound::Included(end)) => start > end,
            (Bound::Included(start), Bound::Excluded(end))
            | (Bound::Excluded(start), Bound::Included(end)) => start >= end,
            // The key that follows `start` is `start` with a zero byte behind it.
            (Bound::Excluded(start), Bound::Excluded(end)) => {
                start >= end || end.strip_prefix(start) == Some(&[0])
            }
        }
    }
}

/// The first key behind all keys that begin with `prefix`, if there is one.
fn successor_of_prefix(prefix: &[u8]) -> Option<Bytes> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut successor = prefix.get(..=last)?.to_vec();
    let byte = successor.last_mut()?;
    *byte = byte.checked_add(1)?;
    Some(successor.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
        let key = proptest::collection::vec(0_u8..3, 0..3);
        prop_oneof![
            Just(Bound::Unbounded),
            key.clone().prop_map(Bound::Included),
            key.prop_map(Bound::Excluded),
        ]
    }

    #[test]
    fn a_prefix_of_highest_bytes_is_open_at_the_end() {
        assert_eq!(KeyRange::prefix(b"").end(), Bound::Unbounded);
        assert_eq!(KeyRange::prefix(&[0xff, 0xff]).end(), Bound::Unbounded);
        assert_eq!(KeyRange::prefix(&[1, 0xff]).end(), Bound::Excluded([2].as_slice()));
    }

    proptest! {
        #[test]
        fn a_prefix_range_holds_exactly_the_keys_with_that_prefix(
            prefix in proptest::collection::vec(prop_oneof![Just(0xff_u8), any::<u8>()], 0..4),
            key in proptest::collection::vec(prop_oneof![Just(0xff_u8), any::<u8>()], 0..6),
        ) {
            prop_assert_eq!(KeyRange::prefix(&prefix).contains(&key), key.starts_with(&prefix));
        }

        #[test]
        fn a_vacant_range_is_one_that_no_key_lies_in(start in bound(), end in bound()) {
            let range = KeyRange::new(
                start.as_ref().map(Vec::as_slice),
                end.as_ref().map(Vec::as_slice),
            );
            // Keys of up to three bytes below 4 include a neighbour of every bound above.
            let mut keys = vec![vec![]];
            for length in 1..=3_u32 {
                keys.extend((0..4_u32.pow(length)).map(|n| {
                    (0..length).map(|i| u8::try_from(n >> 2_u32.saturating_mul(i) & 3).unwrap()).collect()
                }));
            }
            let inhabited = keys.iter().any(|key: &Vec<u8>| range.contains(key));
            prop_assert_eq!(range.is_vacant(), !inhabited);
        }
    }
}
