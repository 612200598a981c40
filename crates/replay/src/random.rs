//! Random numbers that are the same on every replay, in every language.
//!
//! ```text
//!  block(purpose, n) = SHA-256("seriatim replay 1" · purpose · workspace · run · n)     integers little-endian
//!  random number: the first 8 bytes, little-endian      uuid, key: the first 16 bytes
//! ```
//!
//! **Invariant:** each purpose counts by itself, so that a further uuid shifts no random number.

use seriatim_types::WorkspaceId;
use sha2::{Digest, Sha256};

use crate::RunNumber;

const DOMAIN: &[u8] = b"seriatim replay 1";

/// What a block is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Number = 1,
    Uuid = 2,
    Key = 3,
    /// Its count is the position of the step.
    StepKey = 4,
}

/// The generator of one run.
#[derive(Debug)]
pub(crate) struct Random {
    workspace: WorkspaceId,
    run: RunNumber,
    numbers: u64,
    uuids: u64,
    keys: u64,
}

impl Random {
    pub(crate) const fn of(workspace: WorkspaceId, run: RunNumber) -> Self {
        Self { workspace, run, numbers: 0, uuids: 0, keys: 0 }
    }

    pub(crate) fn number(&mut self) -> u64 {
        let block = self.block(Purpose::Number, self.numbers);
        self.numbers = self.numbers.wrapping_add(1);
        u64::from_le_bytes(first(&block))
    }

    /// A UUID of version 4.
    pub(crate) fn uuid(&mut self) -> [u8; 16] {
        let mut uuid = first(&self.block(Purpose::Uuid, self.uuids));
        self.uuids = self.uuids.wrapping_add(1);
        mark_as_version_4(&mut uuid);
        uuid
    }

    /// A key for an idempotent request.
    pub(crate) fn key(&mut self) -> [u8; 16] {
        let mut key = first(&self.block(Purpose::Key, self.keys));
        self.keys = self.keys.wrapping_add(1);
        mark_as_version_4(&mut key);
        key
    }

    /// The key of a step: the same however often its closure is called.
    pub(crate) fn step_key(&self, position: u32) -> [u8; 16] {
        let mut key = first(&self.block(Purpose::StepKey, u64::from(position)));
        mark_as_version_4(&mut key);
        key
    }

    fn block(&self, purpose: Purpose, count: u64) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update([purpose as u8]);
        hash.update(self.workspace.0.to_le_bytes());
        hash.update(self.run.0.to_le_bytes());
        hash.update(count.to_le_bytes());
        hash.finalize().into()
    }
}

fn first<const N: usize>(block: &[u8; 32]) -> [u8; N] {
    *block.first_chunk().expect("a block has 32 bytes, and nobody asks for more than 16")
}

fn mark_as_version_4(uuid: &mut [u8; 16]) {
    uuid[6] = (uuid[6] & 0x0f) | 0x40;
    uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other languages compute the same, so these values never change.
    #[test]
    fn the_series_is_that_of_every_release() {
        let mut random = Random::of(WorkspaceId(1_099_511_627_778), RunNumber(1));
        let numbers = [random.number(), random.number()];
        assert_eq!(numbers, GOLDEN_NUMBERS);
        assert_eq!(random.uuid(), GOLDEN_UUID);
        assert_eq!(random.step_key(0), GOLDEN_STEP_KEY);
    }

    const GOLDEN_NUMBERS: [u64; 2] = [2_281_638_368_391_326_389, 9_522_195_662_216_746_008];
    const GOLDEN_UUID: [u8; 16] = u128::to_be_bytes(0xd746d422_dcad4372_9b9d5ddc_8ddfa203);
    const GOLDEN_STEP_KEY: [u8; 16] = u128::to_be_bytes(0xe191cc91_b1eb4786_98492f40_eb2ba5e4);

    #[test]
    fn each_purpose_and_each_run_has_a_series_of_its_own() {
        let mut one = Random::of(WorkspaceId(7), RunNumber(1));
        let mut two = Random::of(WorkspaceId(7), RunNumber(1));
        let _ = (two.uuid(), two.key());
        assert_eq!(one.number(), two.number());
        assert_ne!(one.number(), Random::of(WorkspaceId(7), RunNumber(2)).number());
        assert_ne!(one.uuid(), one.key());
        assert_eq!(one.uuid()[6] >> 4, 4);
        assert_ne!(one.number(), one.number());
        assert_ne!(one.uuid(), one.uuid());
        assert_ne!(one.key(), one.key());
        assert_ne!(one.step_key(0), one.step_key(1));
    }
}
