//! Idempotency keys: made at random, or read from the text of a UUID.

use seriatim_core::Refusal;
use seriatim_json::header;
use seriatim_types::Key;

use crate::error::refusal_of;

/// A new key for one command: a UUID of version 7, random but for the time in front, and above all
/// that this process made before. Keep it until the command is answered for certain, and longer if the
/// process can end in between: sent again with the same key, the command is still carried out once.
///
/// # Panics
///
/// When the operating system has no random bytes to give. Weaker ones could make two commands one.
#[must_use]
pub fn random_key() -> Key {
    Key(seriatim_keys::new_key())
}

/// The key that a text stands for: a hyphenated UUID in any case, as [`Key`] is displayed.
///
/// # Errors
///
/// It is none, or the nil one.
pub fn parse_key(text: &str) -> Result<Key, Refusal> {
    header::key(text).map_err(refusal_of)
}

/// The nil key is what somebody sends who forgot to make one.
pub(crate) fn check(key: Key) -> Result<Key, Refusal> {
    if key.0 == [0; 16] {
        let why = "must not be the nil UUID: make a key for each command".to_owned();
        return Err(Refusal::InvalidArgument { field: "key".to_owned(), why });
    }
    Ok(key)
}
