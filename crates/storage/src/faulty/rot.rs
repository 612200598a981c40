//! Bits that flip while something is read, and the checksum that tells.
//!
//! ```text
//!  row, and its checksum ─► one bit flips ─► the checksum is worked out again ─► not the same: an error
//! ```
//!
//! **Invariant:** a flipped bit is never handed on as data, as with an engine that has a checksum for
//! each block of its files.
//!
//! **Deliberately absent:** rot that lasts. The next read finds the row sound again; one that never
//! does is a store that is restored from a copy.

use bytes::Bytes;
use seriatim_planted::{self as planted, Bug};

use super::Dice;
use crate::{Snapshot, Stats};

/// Whether the checksum of what was read is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    Yes,
    No,
}

/// Something that is read, of which a bit may flip.
pub(super) trait Rots {
    /// Flips a bit, if there is one, and looks at the checksum.
    fn rot(&mut self, dice: &mut Dice) -> Whole;
}

impl Rots for Bytes {
    fn rot(&mut self, dice: &mut Dice) -> Whole {
        let checksum = crc32fast::hash(self);
        let mut spoilt = self.to_vec();
        let at = dice.index_below(spoilt.len().max(1));
        if let Some(byte) = spoilt.get_mut(at) {
            *byte ^= 1_u8.rotate_left(u32::try_from(dice.below(8)).expect("below eight"));
        }
        *self = Self::from(spoilt);
        let is_whole = crc32fast::hash(self) == checksum || planted::is(Bug::RotServed);
        if is_whole { Whole::Yes } else { Whole::No }
    }
}

impl Rots for Option<Bytes> {
    fn rot(&mut self, dice: &mut Dice) -> Whole {
        self.as_mut().map_or(Whole::Yes, |value| value.rot(dice))
    }
}

/// One of them.
impl Rots for Vec<Option<Bytes>> {
    fn rot(&mut self, dice: &mut Dice) -> Whole {
        let mut there: Vec<_> = self.iter_mut().flatten().collect();
        let chosen = dice.index_below(there.len().max(1));
        there.get_mut(chosen).map_or(Whole::Yes, |value| value.rot(dice))
    }
}

/// Nothing is read yet.
impl Rots for Box<dyn Snapshot> {
    fn rot(&mut self, _: &mut Dice) -> Whole {
        Whole::Yes
    }
}

impl Rots for Stats {
    fn rot(&mut self, _: &mut Dice) -> Whole {
        Whole::Yes
    }
}
