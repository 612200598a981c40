//! Reads the engine's journal before the engine does, and tells a torn tail from damage.
//!
//! On opening, the engine cuts its journal at the first bytes that it cannot parse, wherever
//! they are, and says nothing; at some others it refuses to open at all. Both are wrong for
//! somebody: a flipped bit in the middle would silently drop acknowledged commits, and a tail
//! torn by a power cut, which is normal, would keep the store shut.
//!
//! ```text
//!  batch 1 │ batch 2 │ batch 3 │ ▒▒▒▒▒▒▒▒▒ │ batch 5: "durable up to 3"     torn: cut at ▒
//!  batch 1 │ batch 2 │ ▒▒▒▒▒▒▒ │ batch 4: "durable up to 3"                 damaged: refuse
//! ```
//!
//! The format is the engine's own, version 3, which is why its version is pinned:
//!
//! ```text
//!  start   01 │ items: u32 │ seqno: u64
//!  item    02 │ kind: u8 │ compression: u8 │ table: u64 │ key: u16 │ value: u32 │ stored: u32 │ key │ value
//!  clear   04 │ table: u64
//!  end     03 │ xxh3 of all items: u64 │ "FJL" 03                  little-endian throughout
//! ```
//!
//! What follows the last batch is the zeroes that the file was created with.
//!
//! Reading a batch does not show that it is durable. After a failed fdatasync Linux keeps the pages in
//! its cache and calls them clean: the next process reads them, its own sync has nothing to write, and
//! a power cut takes them. So what is not known to be durable is written anew at a start.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "positions within a file that is held in memory, and counts of its batches"
)]

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use rustix::fs::SeekFrom;
use xxhash_rust::xxh3::xxh3_64;

use crate::disk::Disk;
use crate::marker::{self, Marker, Nonce};

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const MAGIC: [u8; 4] = *b"FJL\x03";

/// What the journals of a store say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inspection {
    /// The number of the last whole commit in the journals; `None` when they hold none.
    pub last_commit: Option<u64>,
    /// The number of the first commit in the journals.
    pub first_commit: Option<u64>,
    /// The number of the newest journal.
    pub newest_journal: u64,
    /// The highest commit that is known to be durable: by what a whole batch says, or the note of
    /// the last clean end.
    pub durable_commit: u64,
    /// Whole batches in the journals.
    pub batches: u64,
    /// Bytes of whole batches that are not known to be durable. A start writes them anew.
    pub unproven_bytes: u64,
    /// The file that commits are appended to, and the position behind its last whole batch.
    pub end: Option<(PathBuf, u64)>,
    /// Bytes behind that position that are not zero up to the last one that is not: what a
    /// crash left of batches that were never acknowledged.
    pub torn_bytes: u64,
    /// The engine's numbers of the tables that the journals hold rows of.
    pub(crate) tables: BTreeSet<u64>,
    /// The engine's own number of the last whole batch.
    pub(crate) last_seqno: Option<u64>,
    /// The first commit of each journal that holds one, with the journal's number, oldest first.
    pub(crate) first_commits: Vec<(u64, u64)>,
}

/// Why a journal cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// Acknowledged commits are damaged.
    #[error("{} is damaged at byte {position}: {what}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where the first bytes stand that are wrong.
        position: u64,
        /// Why they cannot be a torn tail.
        what: String,
    },
    /// The files could not be read.
    #[error("{} could not be read: {source}", file.display())]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// What the journals hold, with the bytes that a start writes anew.
#[derive(Debug, Default)]
pub(crate) struct Inspected {
    pub(crate) found: Inspection,
    /// By journal, oldest first.
    unproven: Vec<Unproven>,
}

/// Whole batches of a journal that are not known to be durable. They stand at its end.
#[derive(Debug)]
struct Unproven {
    file: PathBuf,
    position: u64,
    /// As they were read: a page that was never written can be gone at the next look.
    bytes: Vec<u8>,
    last_commit: u64,
}

/// Reads all journals of the engine in `folder` and changes nothing. Everything up to commit
/// `durable` is known to be durable.
pub(crate) fn inspect(
    folder: &Path,
    nonce: Nonce,
    durable: u64,
) -> Result<Inspected, InspectError> {
    let mut journals = journal_files(folder)
        .map_err(|source| InspectError::Io { file: folder.to_owned(), source })?;
    let mut found = Inspection { durable_commit: durable, ..Inspection::default() };
    let mut unproven = Vec::new();
    let Some((newest, active)) = journals.pop() else {
        // The engine begins a journal before it removes the last one.
        let what = "there is no journal".to_owned();
        return Err(InspectError::Damaged { file: folder.to_owned(), position: 0, what });
    };
    found.newest_journal = newest;
    for (number, sealed) in journals {
        let bytes = read(&sealed)?;
        let (end, last_batches) = found.walk((number, &sealed), &bytes, nonce)?;
        unproven.extend(last_batches.cut_from(&bytes, &sealed, end));
        // A file is synced before the next one is begun: nothing in it can be torn.
        if let Some(position) = first_nonzero(&bytes, end) {
            let what = "a journal that is no longer written to has unreadable bytes".to_owned();
            return Err(InspectError::Damaged { file: sealed, position: to_u64(position), what });
        }
    }

    let bytes = read(&active)?;
    let (end, last_batches) = found.walk((newest, &active), &bytes, nonce)?;
    unproven.extend(last_batches.cut_from(&bytes, &active, end));
    // What is torn has no right checksum. Such bytes must not be cut off: they are all commits.
    if Frame::parse(bytes.get(end..).unwrap_or_default()).is_some() {
        let what = "a whole batch does not bear the seal of this store: the file `identity` is \
                    another store's or damaged";
        let (position, what) = (to_u64(end), what.to_owned());
        return Err(InspectError::Damaged { file: active, position, what });
    }
    let torn_until = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    found.torn_bytes = to_u64(torn_until.saturating_sub(end));
    if found.torn_bytes > 0
        && let Some(what) = found.acknowledged_loss(&bytes, end, nonce)
    {
        return Err(InspectError::Damaged { file: active, position: to_u64(end), what });
    }
    found.end = Some((active, to_u64(end)));
    // A later journal can prove what an earlier one could not.
    unproven.retain(|part| part.last_commit > found.durable_commit);
    found.unproven_bytes = unproven.iter().map(|part| to_u64(part.bytes.len())).sum();
    Ok(Inspected { found, unproven })
}

/// Makes the journals hold durably what [`inspect`] has read, and nothing else: writes anew what
/// is not known to be durable, and cuts off what is torn.
///
/// Power may be lost at any moment of it. What is written is what stands there already.
///
/// # Errors
///
/// When a file cannot be changed.
pub(crate) fn make_durable(inspected: &Inspected, disk: &dyn Disk) -> io::Result<()> {
    let Inspected { found, unproven } = inspected;
    for Unproven { file, position, bytes, .. } in unproven {
        let file = OpenOptions::new().read(true).write(true).open(file)?;
        disk.write_at(&file, bytes, *position)?;
        disk.sync_data(&file)?;
    }
    if let (Some((file, end)), 1..) = (&found.end, found.torn_bytes) {
        let file = OpenOptions::new().write(true).open(file)?;
        file.set_len(*end)?;
        file.sync_all()?;
    }
    Ok(())
}

/// Where the batches begin that were not known to be durable when they were read, oldest first.
#[derive(Debug, Default)]
struct LastBatches(VecDeque<(u64, usize)>);

impl LastBatches {
    fn push(&mut self, commit: u64, position: usize, durable: u64) {
        self.0.push_back((commit, position));
        while self.0.front().is_some_and(|(commit, _)| *commit <= durable) {
            self.0.pop_front();
        }
    }

    fn cut_from(&self, bytes: &[u8], file: &Path, end: usize) -> Option<Unproven> {
        let (_, position) = *self.0.front()?;
        let (last_commit, _) = *self.0.back()?;
        let bytes = bytes.get(position..end)?.to_vec();
        Some(Unproven { file: file.to_owned(), position: to_u64(position), bytes, last_commit })
    }
}

/// The journals of a folder, oldest first, with their numbers.
fn journal_files(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let Some(number) = number_of(&path) {
            files.push((number, path));
        }
    }
    files.sort();
    Ok(files)
}

/// The number of a journal; `None` for any other file.
fn number_of(path: &Path) -> Option<u64> {
    path.extension().filter(|extension| *extension == "jnl")?;
    path.file_stem()?.to_str()?.parse().ok()
}

/// Whether a file is a journal.
pub(crate) fn is_journal(path: &Path) -> bool {
    number_of(path).is_some()
}

/// How much of a journal was ever written.
pub(crate) fn data_bytes(path: &Path) -> io::Result<u64> {
    end_of_data(&File::open(path)?)
}

/// Whether no journal of a folder holds anything.
pub(crate) fn is_blank(folder: &Path) -> io::Result<bool> {
    for (_, path) in journal_files(folder)? {
        if fs::read(path)?.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The number of the journal that is written to.
pub(crate) fn newest(folder: &Path) -> io::Result<u64> {
    let newest = journal_files(folder)?.pop();
    newest.map(|(number, _)| number).ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn read(path: &Path) -> Result<Vec<u8>, InspectError> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let mut bytes = vec![0; usize::try_from(end_of_data(&file)?).unwrap_or(usize::MAX)];
        file.rewind()?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|source| InspectError::Io { file: path.to_owned(), source })
}

/// Where the zeroes begin that were never written: a new journal is 64 MiB of them, and
/// reading those would be most of the time it takes to open a small store.
fn end_of_data(file: &File) -> io::Result<u64> {
    let mut end = 0;
    loop {
        match rustix::fs::seek(file, SeekFrom::Data(end)) {
            Ok(data) => end = rustix::fs::seek(file, SeekFrom::Hole(data))?,
            Err(rustix::io::Errno::NXIO) => return Ok(end),
            Err(error) => return Err(error.into()),
        }
    }
}

impl Inspection {
    /// Whether everything is there that is known to have been durable. Where the journals hold no
    /// commit at all, the tables tell once they are open.
    pub(crate) fn check_end(&self) -> Result<(), InspectError> {
        match (self.last_commit, &self.end) {
            (Some(last), Some((file, position))) if last < self.durable_commit => {
                let closed = self.durable_commit;
                let what = format!(
                    "the journal ends with commit {last}, and the store was closed after commit \
                     {closed}"
                );
                Err(InspectError::Damaged { file: file.clone(), position: *position, what })
            }
            _ => Ok(()),
        }
    }

    /// What markers behind a gap say about the commits in the gap, if it is bad.
    fn acknowledged_loss(&mut self, bytes: &[u8], gap: usize, nonce: Nonce) -> Option<String> {
        let markers = markers_behind(bytes, gap, nonce);
        let Marker { commit, durable } = *markers.iter().max_by_key(|marker| marker.durable)?;
        self.durable_commit = self.durable_commit.max(durable);
        // The first commit in the gap. Where no whole one stands before it, only the last one
        // in it is known; the tables tell the rest once they are open.
        let lost = match self.last_commit {
            Some(last) => last + 1,
            None => markers.first()?.commit - 1,
        };
        (durable >= lost).then(|| {
            format!(
                "commit {commit} stands further on and says that everything up to commit \
                 {durable} was acknowledged"
            )
        })
    }

    /// Takes in the whole batches from the start of a file. Returns where they end, and which of them
    /// are not known to be durable.
    fn walk(
        &mut self,
        (number, file): (u64, &Path),
        bytes: &[u8],
        nonce: Nonce,
    ) -> Result<(usize, LastBatches), InspectError> {
        let mut end = 0;
        let mut last_batches = LastBatches::default();
        while let Some(batch) = Batch::parse(bytes.get(end..).unwrap_or_default(), nonce) {
            let commit = batch.marker.commit;
            let damaged = |what| {
                let position = to_u64(end);
                Err(InspectError::Damaged { file: file.to_owned(), position, what })
            };
            if let Some(last) = self.last_commit.filter(|last| last + 1 != commit) {
                return damaged(format!("commit {commit} follows commit {last}"));
            }
            // The engine's checksum does not cover this number, and the engine orders by it.
            if self.last_seqno.is_some_and(|last| last >= batch.seqno) {
                return damaged(format!("commit {commit} is not behind the one before it"));
            }
            self.last_seqno = Some(batch.seqno);
            self.first_commit.get_or_insert(commit);
            if end == 0 {
                self.first_commits.push((number, commit));
            }
            self.durable_commit = self.durable_commit.max(batch.marker.durable);
            last_batches.push(commit, end, self.durable_commit);
            end += batch.bytes;
            self.tables.extend(batch.tables);
            self.batches += 1;
            self.last_commit = Some(commit);
        }
        Ok((end, last_batches))
    }
}

/// Every marker of this store behind `from`, also of batches that are not whole: what it says
/// was true when it was written. One pass, whatever the bytes are.
fn markers_behind(bytes: &[u8], from: usize, nonce: Nonce) -> Vec<Marker> {
    let rest = bytes.get(from..).unwrap_or_default();
    let rows = rest.windows(marker::KEY.len() + marker::VALUE_BYTES);
    let value = |row: &[u8]| Marker::decode(row.strip_prefix(marker::KEY)?, nonce);
    rows.filter_map(value).collect()
}

fn first_nonzero(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.iter().position(|byte| *byte != 0).map(|at| from + at)
}

fn to_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// A whole batch: framed, checksummed and numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Batch {
    bytes: usize,
    /// The engine's own order of batches.
    seqno: u64,
    /// The engine's numbers of the tables that it is about.
    tables: BTreeSet<u64>,
    marker: Marker,
}

impl Batch {
    /// The batch at the front of `input`, if there is one.
    fn parse(input: &[u8], nonce: Nonce) -> Option<Self> {
        let Frame { bytes, seqno, tables, last } = Frame::parse(input)?;
        let marker = last.filter(|item| item.key == marker::KEY)?;
        let marker = Marker::decode(marker.value, nonce)?;
        Some(Self { bytes, seqno, tables, marker })
    }
}

/// A batch as the engine knows it: framed and checksummed.
struct Frame<'a> {
    bytes: usize,
    seqno: u64,
    tables: BTreeSet<u64>,
    last: Option<Item<'a>>,
}

impl<'a> Frame<'a> {
    fn parse(input: &'a [u8]) -> Option<Self> {
        let mut rest = input;
        if take(&mut rest)? != [START] {
            return None;
        }
        let count = u32::from_le_bytes(take(&mut rest)?);
        let seqno = u64::from_le_bytes(take(&mut rest)?);
        let items = rest;
        let (mut tables, mut last) = (BTreeSet::new(), None);
        for _ in 0..count {
            let item = Item::parse(&mut rest)?;
            tables.insert(item.table);
            last = Some(item);
        }
        let items = items.get(..items.len() - rest.len())?;
        if take(&mut rest)? != [END] {
            return None;
        }
        let checksum = u64::from_le_bytes(take(&mut rest)?);
        if take(&mut rest)? != MAGIC || xxh3_64(items) != checksum {
            return None;
        }
        Some(Self { bytes: input.len() - rest.len(), seqno, tables, last })
    }
}

struct Item<'a> {
    table: u64,
    key: &'a [u8],
    value: &'a [u8],
}

impl<'a> Item<'a> {
    fn parse(rest: &mut &'a [u8]) -> Option<Self> {
        if take(rest)? != [ITEM] {
            return None;
        }
        let [_kind, _compression] = take(rest)?;
        let table = u64::from_le_bytes(take(rest)?);
        let key = usize::from(u16::from_le_bytes(take(rest)?));
        let _value: [u8; 4] = take(rest)?;
        let stored = usize::try_from(u32::from_le_bytes(take(rest)?)).ok()?;
        Some(Self { table, key: take_slice(rest, key)?, value: take_slice(rest, stored)? })
    }
}

pub(crate) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (chunk, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*chunk)
}

pub(crate) fn take_slice<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (slice, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(slice)
}
