//! What a power cut takes away, after a SIGKILL that takes nothing.
//!
//! The page cache outlives a killed process, so a server that never syncs passes any torture by
//! SIGKILL alone. Here the server notes what its syncs have covered, and the harness spoils the
//! rest before the next start.
//!
//! ```text
//!  journal   ████████████████████▒▒▒▒▒▒▒▒▒▒
//!            covered by a sync   │ written │     cut short, zeroed, garbled, or with pages missing
//!                         noted ─┘
//! ```
//!
//! What is covered: the newest journal, which holds everything that was committed since the
//! engine last wrote out its tables. Older journals are whole, because the engine syncs one before
//! it begins the next. What is not covered: files that the engine syncs on handles of its own
//! (tables, their lists, new journals, folders) are taken to be durable as soon as they are
//! written. And a process that dies before its store is open loses nothing: it has committed
//! nothing that anybody was told of.
//!
//! **Invariant:** a note is never ahead of the disk. The length is taken before the sync and noted
//! after it, with one write to the end of a file that the kill leaves alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use seriatim_storage::faulty::Dice;
use seriatim_storage_fjall::{Disk, FjallStore};

const PAGE_BYTES: usize = 4096;

/// Notes what a server's syncs have covered.
pub(crate) struct Notes {
    file: Mutex<File>,
    /// Where the search for the end of the newest journal goes on.
    reached: Mutex<(PathBuf, u64)>,
}

impl Notes {
    pub(crate) fn create(file: &Path) -> Result<Arc<Self>> {
        let file = OpenOptions::new().create(true).append(true).open(file)?;
        Ok(Arc::new(Self { file: Mutex::new(file), reached: Mutex::default() }))
    }

    /// To be called when the store was opened and nothing was committed since: a start makes
    /// durable what it finds.
    pub(crate) fn note_opened(&self, data: &Path) -> Result<()> {
        let found = FjallStore::inspect(data)?;
        let (journal, end) = found.end.context("an open store has a journal")?;
        Ok(self.note(&journal, end)?)
    }

    /// Which journal it is, and how far it is written.
    fn end_of(&self, journal: &File) -> io::Result<(PathBuf, u64)> {
        let path = fs::read_link(format!("/proc/self/fd/{}", journal.as_raw_fd()))?;
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        if reached.0 != path {
            *reached = (path, 0);
        }
        reached.1 = end_of_written(journal, reached.1)?;
        Ok(reached.clone())
    }

    fn note(&self, journal: &Path, end: u64) -> io::Result<()> {
        let name = journal.file_name().unwrap_or_default().to_string_lossy();
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(format!("{name} {end}\n").as_bytes())
    }
}

impl Disk for Notes {
    fn sync_data(&self, journal: &File) -> io::Result<()> {
        let (path, end) = self.end_of(journal)?;
        journal.sync_data()?;
        self.note(&path, end)
    }
}

/// Takes away what no sync has covered, or a part of it, and forgets the notes. Returns how many
/// bytes were written and not covered.
pub(crate) fn cut(data: &Path, notes: &Path, dice: &mut Dice) -> Result<u64> {
    let said = match fs::read_to_string(notes) {
        Ok(said) => said,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    fs::remove_file(notes)?;
    let journal = newest_journal(data)?.context("there is a journal")?;
    let Some(covered) = covered_of(&said, &journal) else { return Ok(0) };
    let file = OpenOptions::new().read(true).write(true).open(&journal)?;
    let end = end_of_written(&file, covered)?;
    let mut lost = vec![0; usize::try_from(end - covered)?];
    file.read_exact_at(&mut lost, covered)?;
    match spoil(&mut lost, dice) {
        Spoiled::Shorter(length) => file.set_len(covered + u64::try_from(length)?)?,
        Spoiled::Changed => file.write_all_at(&lost, covered)?,
    }
    Ok(end - covered)
}

/// Up to where a journal is covered; `None` when nothing was noted at all. A note that the kill
/// broke off has no end and does not count.
fn covered_of(notes: &str, journal: &Path) -> Option<u64> {
    let (whole, _) = notes.rsplit_once('\n')?;
    let name = journal.file_name()?.to_str()?;
    let covered = |line: &str| line.strip_prefix(name)?.trim_start().parse().ok();
    // A journal that was begun since the last sync is not covered at all.
    Some(whole.lines().rev().find_map(covered).unwrap_or(0))
}

enum Spoiled {
    /// Only so many bytes are left.
    Shorter(usize),
    Changed,
}

/// What a power cut can leave of bytes that no sync has covered.
fn spoil(bytes: &mut [u8], dice: &mut Dice) -> Spoiled {
    let keep = dice.index_below(bytes.len() + 1);
    let (_, lost) = bytes.split_at_mut(keep);
    match dice.below(4) {
        // The file ends in the middle of a write.
        0 => return Spoiled::Shorter(keep),
        // Its length is there, its last bytes are not.
        1 => lost.fill(0),
        // The last sector holds something else.
        2 => {
            lost.fill(0);
            let garbled = dice.index_below(512).min(lost.len());
            dice.fill(lost.split_at_mut(garbled).0);
        }
        // Later pages reached the disk and earlier ones did not.
        _ => {
            let pages = bytes.chunks_mut(PAGE_BYTES);
            pages.filter(|_| dice.below(3) == 0).for_each(|page| page.fill(0));
        }
    }
    Spoiled::Changed
}

/// Behind the last byte of a journal that is not 0, looked for from `from` on. A journal is
/// created with zeroes, and a batch never ends with one.
fn end_of_written(journal: &File, from: u64) -> io::Result<u64> {
    let mut chunk = vec![0; 16 * PAGE_BYTES];
    let (mut at, mut end) = (from, from);
    loop {
        let count = journal.read_at(&mut chunk, at)?;
        let mut read = chunk.iter().take(count);
        let Some(last) = read.rposition(|byte| *byte != 0) else { return Ok(end) };
        end = at + u64::try_from(last).map_err(io::Error::other)? + 1;
        at += u64::try_from(count).map_err(io::Error::other)?;
    }
}

fn newest_journal(data: &Path) -> io::Result<Option<PathBuf>> {
    let mut newest: Option<(u64, PathBuf)> = None;
    for entry in fs::read_dir(data.join("fjall"))? {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".jnl"));
        let number = number.and_then(|number| number.parse::<u64>().ok());
        newest = newest.max(number.map(|number| (number, path)));
    }
    Ok(newest.map(|(_, path)| path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(folder: &Path, covered: &[u8], written: &[u8]) -> PathBuf {
        let path = folder.join("fjall/3.jnl");
        fs::create_dir_all(folder.join("fjall")).unwrap();
        fs::write(folder.join("fjall/2.jnl"), b"older").unwrap();
        let zeroes = vec![0; 300_000];
        fs::write(&path, [covered, written, &zeroes].concat()).unwrap();
        path
    }

    #[test]
    fn what_was_covered_stays_and_the_rest_is_spoiled() {
        let folder = tempfile::tempdir().unwrap();
        let notes = folder.path().join("synced");
        let (covered, written) = (vec![7; 100_000], vec![9; 20_000]);
        let mut intact = 0;
        for seed in 0..40 {
            let path = journal(folder.path(), &covered, &written);
            // The last note was broken off.
            fs::write(&notes, "3.jnl 99999\n2.jnl 5\n3.jnl 100000\n3.jnl 12").unwrap();
            assert_eq!(cut(folder.path(), &notes, &mut Dice::new(seed)).unwrap(), 20_000);
            let left = fs::read(&path).unwrap();
            assert_eq!(left[..100_000], covered);
            intact += u32::from(left.get(100_000..120_000) == Some(written.as_slice()));
            assert!(!notes.exists(), "the next process begins its own");
            assert_eq!(fs::read(folder.path().join("fjall/2.jnl")).unwrap(), b"older");
        }
        assert!(intact < 4, "{intact} of 40 cuts took nothing");
    }

    #[test]
    fn without_a_note_nothing_is_lost_and_a_new_journal_is_lost_whole() {
        let folder = tempfile::tempdir().unwrap();
        let notes = folder.path().join("synced");
        journal(folder.path(), b"", b"new");
        let cut = || cut(folder.path(), &notes, &mut Dice::new(1)).unwrap();
        assert_eq!(cut(), 0);
        fs::write(&notes, "2.jnl 5\n").unwrap();
        assert_eq!(cut(), 3);
    }

    #[test]
    fn a_note_is_made_of_what_was_written_before_the_sync() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("synced");
        let path = journal(folder.path(), &[5; 70_000], b"");
        let notes = Notes::create(&file).unwrap();
        let sync = || notes.sync_data(&File::open(&path).unwrap()).unwrap();
        sync();
        OpenOptions::new().write(true).open(&path).unwrap().write_all_at(b"x", 70_000).unwrap();
        sync();
        assert_eq!(fs::read_to_string(&file).unwrap(), "3.jnl 70000\n3.jnl 70001\n");
    }
}
