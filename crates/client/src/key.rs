//! Idempotency keys.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// The key that a command is known by: 16 bytes that are not all zeros, a UUID as a rule. With the
/// same key, client id and workspace a command is carried out once, however often it is sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Uuid);

/// A text or bytes that are no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key is a UUID with hyphens, and not the nil one")]
pub struct NotAKey;

impl Key {
    /// A new key: a UUID of version 7, random but for the time in front, and above all that this
    /// process made before. Keep it with what you are about to do, before you send the command; then
    /// sending it again is right, whatever happens.
    ///
    /// # Panics
    ///
    /// When the operating system has no random bytes to give. Weaker ones could make two commands
    /// one.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::from_bytes(seriatim_keys::new_key()))
    }

    /// The key that consists of these bytes.
    ///
    /// # Errors
    ///
    /// They are all zeros: what somebody sends who forgot to make a key.
    pub fn from_bytes(bytes: [u8; 16]) -> Result<Self, NotAKey> {
        Uuid::from_bytes(bytes).try_into()
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

/// Random bytes of the operating system.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

impl FromStr for Key {
    type Err = NotAKey;

    /// Reads a UUID with hyphens, in any case.
    fn from_str(text: &str) -> Result<Self, NotAKey> {
        // The library also reads UUIDs without hyphens, in braces and as URNs.
        let is_hyphenated = text.len() == uuid::fmt::Hyphenated::LENGTH;
        let key = Uuid::try_parse(text).ok().filter(|_| is_hyphenated);
        key.ok_or(NotAKey)?.try_into()
    }
}

impl TryFrom<Uuid> for Key {
    type Error = NotAKey;

    fn try_from(uuid: Uuid) -> Result<Self, NotAKey> {
        if uuid.is_nil() { Err(NotAKey) } else { Ok(Self(uuid)) }
    }
}

impl From<Key> for Uuid {
    fn from(key: Key) -> Self {
        key.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_is_a_uuid_of_version_7_above_the_one_before_and_reads_back() {
        let key = Key::random();
        assert!(key < Key::random());
        let text = key.to_string();
        assert_eq!((text.len(), text.as_bytes()[14]), (36, b'7'));
        assert!(b"89ab".contains(&text.as_bytes()[19]), "{text}");
        assert_eq!(text.parse(), Ok(key));
        assert_eq!(text.to_uppercase().parse(), Ok(key));
        assert_eq!(Key::from_bytes(*key.as_bytes()), Ok(key));
    }

    #[test]
    fn what_is_no_uuid_or_the_nil_one_is_no_key() {
        for text in [
            "",
            "0b0e8a4e5f0a4c3e9d6b7a1c2d3e4f50",
            "0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f5",
            "0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f500",
            "+b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50",
            "0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f5g",
            "{0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50}",
            "00000000-0000-0000-0000-000000000000",
        ] {
            assert_eq!(text.parse::<Key>(), Err(NotAKey), "{text}");
        }
        assert_eq!(Key::from_bytes([0; 16]), Err(NotAKey));
    }
}
