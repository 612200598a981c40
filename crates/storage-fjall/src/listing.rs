//! The engine's lists of files: which files each of its tables must have.
//!
//! ```text
//!  keyspaces/<id>/current ─► keyspaces/<id>/v<version> ─► keyspaces/<id>/tables/<number> …
//! ```
//!
//! On opening, the engine takes a table without `current` for one whose creation was cut short, and
//! deletes it; without the `current` of table 0, which has the names of all others, it deletes
//! everything. So what is missing must be known before the engine opens.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::journal;

/// The engine's own table, which has the names of the others.
const NAMES: u64 = 0;

/// The first file that a store lacks. `journaled` are the tables of which the journals hold rows.
///
/// The creation of a table makes its `current` before the engine knows its name, before anything is
/// committed to it, and before the next table is made. So one without it is left of a creation that
/// was cut short, and is nobody's loss, only if it is the last one and neither the journals nor files
/// of its own hold anything of it.
pub(crate) fn missing(engine: &Path, journaled: &BTreeSet<u64>) -> io::Result<Option<PathBuf>> {
    let mut folders = BTreeMap::new();
    for entry in fs::read_dir(engine.join("keyspaces"))? {
        let folder = entry?.path();
        let id = folder.file_name().and_then(|name| name.to_str()?.parse::<u64>().ok());
        folders.extend(id.map(|id| (id, folder)));
    }
    let last = folders.keys().next_back().copied().unwrap_or(NAMES);
    for id in journaled.iter().copied().chain([NAMES].into_iter().filter(|names| *names < last)) {
        folders.entry(id).or_insert_with(|| engine.join("keyspaces").join(id.to_string()));
    }
    for (id, folder) in &folders {
        let is_needed = *id < last || journaled.contains(id);
        if let Some(file) = missing_of_table(folder, is_needed)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

fn missing_of_table(folder: &Path, is_needed: bool) -> io::Result<Option<PathBuf>> {
    let (current, tables) = (folder.join("current"), folder.join("tables"));
    let Some(pointer) = read(&current)? else {
        let is_empty = !tables.try_exists()? || fs::read_dir(&tables)?.next().is_none();
        return Ok((is_needed || !is_empty).then_some(current));
    };
    // What cannot be read is not missing: the engine says what is wrong with it.
    let Some(Pointer { version, .. }) = Pointer::parse(&pointer) else { return Ok(None) };
    let version = folder.join(format!("v{version}"));
    let Some(listed) = read(&version)? else { return Ok(Some(version)) };
    for number in tables_of(&listed).unwrap_or_default().keys() {
        let file = tables.join(number.to_string());
        if !file.try_exists()? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

fn read(file: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The content of `current`: which version file holds, and its checksum.
pub(crate) struct Pointer {
    pub(crate) version: u64,
    pub(crate) checksum: u128,
}

impl Pointer {
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let version = u64::from_le_bytes(journal::take(&mut rest)?);
        let checksum = u128::from_le_bytes(journal::take(&mut rest)?);
        // The kind of checksum, of which there is one.
        (rest == [0]).then_some(Self { version, checksum })
    }
}

/// The tables that a version file lists, with their checksums. Its own checksum was compared, so
/// it is as the engine has written it; `None` all the same if it is of another form.
///
/// ```text
///  sections … │ "TOC!" │ count u32 │ ( position u64 │ length u64 │ name length u16 │ name ) …
///             │ "SFA!" │ 01 │ 00 │ checksum u128 │ position of the TOC u64 │ its length u64
///  tables     levels u8 ( runs u8 ( count u32 ( id u64 │ 00 │ checksum u128 │ seqno u64 ) … ) … ) …
/// ```
pub(crate) fn tables_of(version: &[u8]) -> Option<BTreeMap<u64, u128>> {
    const TRAILER_BYTES: usize = 38;
    let (_, mut trailer) = version.split_at_checked(version.len().checked_sub(TRAILER_BYTES)?)?;
    if journal::take(&mut trailer)? != *b"SFA!\x01\x00" {
        return None;
    }
    let _checksum: [u8; 16] = journal::take(&mut trailer)?;
    let position = usize::try_from(u64::from_le_bytes(journal::take(&mut trailer)?)).ok()?;
    let mut toc = version.get(position..)?;
    if journal::take(&mut toc)? != *b"TOC!" {
        return None;
    }
    let sections = u32::from_le_bytes(journal::take(&mut toc)?);
    for _ in 0..sections {
        let from = usize::try_from(u64::from_le_bytes(journal::take(&mut toc)?)).ok()?;
        let length = usize::try_from(u64::from_le_bytes(journal::take(&mut toc)?)).ok()?;
        let name = usize::from(u16::from_le_bytes(journal::take(&mut toc)?));
        if journal::take_slice(&mut toc, name)? == b"tables" {
            return parse_tables(version.get(from..from.checked_add(length)?)?);
        }
    }
    None
}

fn parse_tables(mut section: &[u8]) -> Option<BTreeMap<u64, u128>> {
    let rest = &mut section;
    let mut tables = BTreeMap::new();
    let [levels] = journal::take(rest)?;
    for _ in 0..levels {
        let [runs] = journal::take(rest)?;
        for _ in 0..runs {
            let count = u32::from_le_bytes(journal::take(rest)?);
            for _ in 0..count {
                let id = u64::from_le_bytes(journal::take(rest)?);
                let _kind: [u8; 1] = journal::take(rest)?;
                tables.insert(id, u128::from_le_bytes(journal::take(rest)?));
                let _seqno: [u8; 8] = journal::take(rest)?;
            }
        }
    }
    rest.is_empty().then_some(tables)
}
