//! New idempotency keys: UUIDs of version 7, each above all that this process made before.
//!
//! Whoever stores keys in order puts new ones next to each other, and knows of one that is above all
//! it has that it is new. A clock that goes back does not take the keys with it: they go on from the
//! last one until the clock is there again.
//!
//! **Deliberately absent:** secrecy. Of one key the next can be guessed in part. A key needs to be unique
//! among those of its client, and no more.

use uuid::Uuid;

/// A new key.
///
/// # Panics
///
/// When the operating system has no random bytes to give. Weaker ones could make two commands one.
#[must_use]
pub fn new_key() -> [u8; 16] {
    Uuid::now_v7().into_bytes()
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn keys_of_several_threads_are_all_different_and_rise_in_each() {
        let make = || (0..10_000).map(|_| new_key()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(make)).collect();
        let made: Vec<Vec<_>> = threads.into_iter().map(|it| it.join().unwrap()).collect();
        assert!(made.iter().all(|keys| keys.is_sorted_by(|one, next| one < next)));
        let mut all = made.concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 40_000);
    }

    #[test]
    fn a_key_is_of_version_7_and_has_the_time_of_the_clock() {
        let milliseconds = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            since.as_millis()
        };
        let (before, key, after) = (milliseconds(), new_key(), milliseconds());
        let bits = u128::from_be_bytes(key);
        assert_eq!((bits >> 76 & 0xf, bits >> 62 & 0b11), (7, 0b10), "version and variant");
        assert!((before..=after).contains(&(bits >> 80)), "{before} {bits:032x} {after}");
    }
}
