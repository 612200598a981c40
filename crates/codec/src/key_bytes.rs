//! The bytes of a row's key.
//!
//! Nearly all keys are short, and a command looks a dozen of them up: memory of its own for each would
//! cost more than the looking.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use bytes::Bytes;

/// Keys up to this length lie in the value itself: a key of the idempotency table with a client that
/// is a UUID has 72 bytes.
const INLINE_MAX: usize = 78;

/// The bytes of a row's key. Two are equal, and ordered, as their bytes are.
#[derive(Clone)]
pub struct KeyBytes(Inner);

#[derive(Clone)]
enum Inner {
    /// The first so many bytes.
    Inline(u8, [u8; INLINE_MAX]),
    Shared(Bytes),
}

impl KeyBytes {
    /// The parts, one behind the other.
    #[must_use]
    pub fn concat<'a>(parts: impl Iterator<Item = &'a [u8]> + Clone) -> Self {
        let length = parts.clone().map(<[u8]>::len).fold(0, usize::saturating_add);
        let short = u8::try_from(length).ok().filter(|_| length <= INLINE_MAX);
        let Some(short) = short else {
            let mut bytes = Vec::with_capacity(length);
            parts.for_each(|part| bytes.extend_from_slice(part));
            return Self(Inner::Shared(bytes.into()));
        };
        let mut bytes = [0; INLINE_MAX];
        let mut room = bytes.as_mut_slice();
        for part in parts {
            let (place, rest) = room.split_at_mut(part.len());
            place.copy_from_slice(part);
            room = rest;
        }
        Self(Inner::Inline(short, bytes))
    }
}

impl Deref for KeyBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Inner::Inline(length, bytes) => {
                bytes.get(..usize::from(*length)).expect("it was just as long when it was made")
            }
            Inner::Shared(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for KeyBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for KeyBytes {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl From<&[u8]> for KeyBytes {
    fn from(bytes: &[u8]) -> Self {
        Self::concat([bytes].into_iter())
    }
}

impl From<Bytes> for KeyBytes {
    fn from(bytes: Bytes) -> Self {
        if bytes.len() <= INLINE_MAX { Self::from(&*bytes) } else { Self(Inner::Shared(bytes)) }
    }
}

impl From<Vec<u8>> for KeyBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(Bytes::from(bytes))
    }
}

impl From<KeyBytes> for Bytes {
    fn from(key: KeyBytes) -> Self {
        match key.0 {
            Inner::Inline(..) => Self::copy_from_slice(&key),
            Inner::Shared(bytes) => bytes,
        }
    }
}

impl PartialEq for KeyBytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for KeyBytes {}

impl PartialEq<KeyBytes> for Bytes {
    fn eq(&self, other: &KeyBytes) -> bool {
        **self == **other
    }
}

impl PartialOrd for KeyBytes {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyBytes {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for KeyBytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for KeyBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bytes::copy_from_slice(self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    use super::*;

    /// Around the length at which keys have memory of their own.
    #[test]
    fn keys_of_any_length_are_what_their_bytes_are() {
        let text: Vec<u8> = (0..=255).cycle().take(300).collect();
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let mut keys = BTreeSet::new();
        for length in [0, 1, 10, 77, 78, 79, 100, 255, 256, 257, 300] {
            let bytes = &text[..length];
            let (front, back) = bytes.split_at(length / 3);
            let key = KeyBytes::concat([front, &[], back].into_iter());
            assert_eq!(&*key, bytes);
            assert_eq!(Bytes::from(key.clone()), bytes);
            assert_eq!(KeyBytes::from(bytes.to_vec()), key);
            assert_eq!(KeyBytes::from(Bytes::copy_from_slice(bytes)), key);
            assert_eq!(hasher.hash_one(&key), hasher.hash_one(bytes));
            assert_eq!(format!("{key:?}"), format!("{:?}", Bytes::copy_from_slice(bytes)));
            keys.insert(key);
        }
        assert!(keys.iter().map(|key| key.to_vec()).is_sorted());
        assert_eq!(keys.len(), 11);
    }
}
