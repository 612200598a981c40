//! A generator of random-looking numbers from a seed, ours so that it never changes.
//!
//! Seeds end up in the names of tests and in bug reports. A generator from a library may
//! change with its next major version, and every named seed would then test something else.
//! This is SplitMix64, a published algorithm of five lines.

/// Numbers from a seed.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The dice of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Independent dice for one of many uses of the same seed.
    #[must_use]
    pub fn fork(&self, stream: u64) -> Self {
        Self(mix(self.0 ^ mix(stream.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        // The bias is below end / 2^64: irrelevant for choosing faults.
        self.next_u64().checked_rem(end).expect("there is no number below 0")
    }

    /// As [`Dice::below`], for lengths and positions.
    pub fn index_below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("a length fits in u64");
        usize::try_from(self.below(end)).expect("below a length")
    }

    /// Fills a buffer.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let bytes = self.next_u64().to_le_bytes();
            for (to, from) in chunk.iter_mut().zip(bytes) {
                *to = from;
            }
        }
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vectors_of_the_algorithm_hold() {
        let mut dice = Dice::new(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| dice.next_u64()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn forks_of_one_seed_differ() {
        let dice = Dice::new(7);
        assert_ne!(dice.fork(0).next_u64(), dice.fork(1).next_u64());
        assert_eq!(dice.fork(1).next_u64(), dice.fork(1).next_u64());
    }
}
