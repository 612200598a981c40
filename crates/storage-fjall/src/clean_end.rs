//! The file `clean`: how far the store was when it was last closed in good order.
//!
//! ```text
//!  0      1               9              17
//!  ├──────┼───────────────┼──────────────┤
//!  │ 0x01 │ last commit   │ seal         │     big-endian u64
//!  └──────┴───────────────┴──────────────┘
//!  seal = xxh3-64 of the first 9 bytes, seeded with the store's random number
//! ```
//!
//! Everything up to that commit was durable when the file was written, and stays so. A journal that
//! ends earlier has lost its end, which no crash can do. The file is replaced at the next clean end
//! and stays true until then, however many crashes come in between.
//!
//! **Deliberately absent:** anything that is written at a start. A store that was killed has the
//! note of the clean end before, or none.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::marker::Nonce;

/// The file's name, and that of the file that replaces it.
pub(crate) const NAME: &str = "clean";
pub(crate) const NEW_NAME: &str = "clean.new";

const VERSION: u8 = 1;
const SAID_BYTES: usize = 9;
const BYTES: usize = 17;

/// The last commit of a store that was closed in good order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CleanEnd {
    pub(crate) commit: u64,
}

/// What the note of the last clean end says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noted {
    /// The store was never closed in good order, or by a build that leaves no note.
    Nothing,
    End(CleanEnd),
    /// The file is there and cannot be read. It is replaced as a whole, so no crash leaves that.
    Damaged,
}

impl CleanEnd {
    /// Reads the note of the store in a folder.
    pub(crate) fn read(path: &Path, nonce: Nonce) -> io::Result<Noted> {
        match fs::read(path.join(NAME)) {
            Ok(bytes) => Ok(Self::decode(&bytes, nonce).map_or(Noted::Damaged, Noted::End)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Noted::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Replaces the note. Everything that it speaks of must be durable.
    pub(crate) fn write(self, path: &Path, nonce: Nonce) -> io::Result<()> {
        let new = path.join(NEW_NAME);
        let mut file = File::create(&new)?;
        file.write_all(&self.encode(nonce))?;
        file.sync_all()?;
        fs::rename(new, path.join(NAME))?;
        File::open(path)?.sync_all()
    }

    fn encode(self, nonce: Nonce) -> [u8; BYTES] {
        let mut bytes = [VERSION; BYTES];
        let (said, seal) = bytes.split_at_mut(SAID_BYTES);
        let (_, commit) = said.split_at_mut(1);
        commit.copy_from_slice(&self.commit.to_be_bytes());
        seal.copy_from_slice(&nonce.seal(said).to_be_bytes());
        bytes
    }

    fn decode(bytes: &[u8], nonce: Nonce) -> Option<Self> {
        let (said, seal) = bytes.split_at_checked(SAID_BYTES)?;
        let commit = said.strip_prefix(&[VERSION])?;
        let is_ours = seal == nonce.seal(said).to_be_bytes();
        is_ours.then_some(Self { commit: u64::from_be_bytes(commit.try_into().ok()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_bytes_are_these_for_ever() {
        let bytes = CleanEnd { commit: 0x0102 }.encode(Nonce(0x0304));
        let said = [1, 0, 0, 0, 0, 0, 0, 1, 2];
        let seal = [14, 108, 123, 244, 20, 229, 172, 68];
        assert_eq!(bytes.to_vec(), [said.as_slice(), &seal].concat());
        assert_eq!(NAME, "clean");
    }

    #[test]
    fn a_flipped_bit_of_the_note_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let (end, nonce) = (CleanEnd { commit: 7 }, Nonce(3));
        assert_eq!(CleanEnd::read(folder.path(), nonce).unwrap(), Noted::Nothing);
        end.write(folder.path(), nonce).unwrap();
        assert_eq!(CleanEnd::read(folder.path(), nonce).unwrap(), Noted::End(end));
        assert_eq!(CleanEnd::read(folder.path(), Nonce(4)).unwrap(), Noted::Damaged);
        let file = folder.path().join(NAME);
        let whole = fs::read(&file).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&file, flipped).unwrap();
            assert_eq!(CleanEnd::read(folder.path(), nonce).unwrap(), Noted::Damaged, "bit {bit}");
        }
        fs::write(&file, &whole[..BYTES - 1]).unwrap();
        assert_eq!(CleanEnd::read(folder.path(), nonce).unwrap(), Noted::Damaged);
    }
}
