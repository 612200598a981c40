//! New idempotency keys: UUIDs of version 7, each above all that this process made before.
//!
//! ```text
//!  │ milliseconds since 1970: 48 bits │ 7 │ 12 bits │ 10 │ 62 bits │
//!                                           └──────┬──────────┘
//!            a millisecond begins at a random number below 2^73; within it, one more each time
//! ```
//!
//! Whoever stores keys in order puts new ones next to each other, and knows of one that is above all
//! it has that it is new. A random number per millisecond is asked of the operating system and not
//! one per key: asking is what making a key costs.
//!
//! A clock that goes back does not take the keys with it: they go on from the last one, in random
//! steps until the clock is there again.
//!
//! What is absent: secrecy. Of one key the next can be guessed. A key needs to be unique among those of
//! its client, and no more. And a copy of a running process, by a fork or of a whole machine: within the
//! millisecond of the copy both would make the same keys.

use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bits behind the milliseconds.
const TAIL_BITS: u32 = 74;

/// Bits of them that are random at first: the highest is left for counting.
const RANDOM_BITS: u32 = 73;

/// Bits of a step while the clock is behind the last key.
const STEP_BITS: u32 = 48;

/// Bits of them behind the variant.
const LOW_BITS: u32 = 62;

/// A new key.
///
/// # Panics
///
/// When the operating system has no random bytes to give. Weaker ones could make two commands one.
#[must_use]
pub fn new_key() -> [u8; 16] {
    static MAKER: Mutex<Maker> = Mutex::new(Maker { last: 0 });
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut maker = MAKER.lock().unwrap_or_else(PoisonError::into_inner);
    maker.next(since.as_millis(), random)
}

fn random() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    u128::from_be_bytes(bytes)
}

/// Makes keys one after the other.
struct Maker {
    /// The last one, without version and variant: milliseconds and tail.
    last: u128,
}

impl Maker {
    fn next(&mut self, milliseconds: u128, random: impl FnOnce() -> u128) -> [u8; 16] {
        // A millisecond that is full, which needs 2^73 keys, runs over into the next one.
        let behind = |step: u128| self.last.checked_add(step).expect("keys outlast all clocks");
        self.last = match milliseconds.cmp(&(self.last >> TAIL_BITS)) {
            Ordering::Greater => milliseconds << TAIL_BITS | random() & ones(RANDOM_BITS),
            Ordering::Equal => behind(1),
            // Whoever has a copy of this process from before goes on elsewhere.
            Ordering::Less => behind(random() & ones(STEP_BITS) | 1),
        };
        let (high, low) = (self.last >> LOW_BITS, self.last & ones(LOW_BITS));
        let (time, middle) = (high >> 12 & ones(48), high & ones(12));
        (time << 80 | 7 << 76 | middle << 64 | 0b10 << LOW_BITS | low).to_be_bytes()
    }
}

/// So many bits that are set, below 128.
fn ones(bits: u32) -> u128 {
    (1_u128 << bits).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(key: [u8; 16]) -> String {
        format!("{:032x}", u128::from_be_bytes(key))
    }

    #[test]
    fn a_key_has_its_time_its_version_its_variant_and_what_is_random_at_their_places() {
        let key = |milliseconds, random| hex(Maker { last: 0 }.next(milliseconds, || random));
        // The example of RFC 9562, but for its highest random bit, which is left for counting.
        let tail = 0xcc3 << 62 | 0x18c4_dc0c_0c07_398f;
        assert_eq!(key(0x017f_22e2_79b0, tail), "017f22e279b074c398c4dc0c0c07398f");
        assert_eq!(key(1, 0), "00000000000170008000000000000000");
        assert_eq!(key(ones(48), u128::MAX), "ffffffffffff77ffbfffffffffffffff");
    }

    #[test]
    fn keys_go_on_within_a_millisecond_and_behind_a_clock_that_goes_back() {
        let mut maker = Maker { last: 0 };
        let first = maker.next(1000, || ones(62));
        assert_eq!(hex(first), "0000000003e87000bfffffffffffffff");
        assert_eq!(hex(maker.next(1000, never)), "0000000003e870018000000000000000");
        assert_eq!(hex(maker.next(7, || 0x20)), "0000000003e870018000000000000021");
        assert_eq!(hex(maker.next(8, || u128::MAX)), "0000000003e870018001000000000020");
        assert_eq!(hex(maker.next(9, || 0)), "0000000003e870018001000000000021");
        assert_eq!(hex(maker.next(1001, || 5)), "0000000003e970008000000000000005");
    }

    fn never() -> u128 {
        panic!("a millisecond asks for one random number")
    }

    #[test]
    fn a_full_millisecond_runs_over_into_the_next() {
        let mut maker = Maker { last: 4 << TAIL_BITS | ones(TAIL_BITS) };
        assert_eq!(hex(maker.next(4, never)), "00000000000570008000000000000000");
        assert_eq!(hex(maker.next(5, never)), "00000000000570008000000000000001");
    }

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
    fn the_time_in_a_key_is_the_clocks() {
        let milliseconds = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            since.as_millis()
        };
        let (before, key, after) = (milliseconds(), new_key(), milliseconds());
        let time = u128::from_be_bytes(key) >> 80;
        assert!((before..=after).contains(&time), "{before} {time} {after}");
    }
}
