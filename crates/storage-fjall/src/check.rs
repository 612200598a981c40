//! Every byte of a store that nobody has open, against a checksum or a rule.
//!
//! ```text
//!  identity, journal,    ours: their form, and what the journals say
//!  clean
//!  fjall/version, lock   their whole content
//!  fjall/*.jnl           batches: framed, checksummed, sealed, numbered; behind them zeroes
//!  fjall/keyspaces/N/current ─ xxh3 ─► vK ─ xxh3 ─► tables/…
//! ```
//!
//! The engine writes a checksum of every table file into the version file that lists it, and one of
//! the version file into `current`, and reads neither: it checks a block when it happens to read
//! it. Here each file is read whole.
//!
//! **Invariant:** nothing is changed, and the engine sees no file before it was checked: some
//! damaged lengths make it panic.
//!
//! **What cannot be told.** The engine's number of a batch is under no checksum. It lies between two
//! bounds and above that of the batch before; within these another number leaves the order of the
//! batches, and so the content, as it is. A file that nothing refers to is what a crash leaves
//! behind, or the engine until it is opened again, if it is called as the engine calls its files: it
//! is named, its bytes mean nothing, and the engine removes it. A note of an earlier journal while nothing in the newest is known to be
//! durable is what a crash leaves as well.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use seriatim_storage::OpenError;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use crate::clean_end;
use crate::files::{self, Found};
use crate::journal::{self, InspectError, Inspection};
use crate::listing::{Pointer, tables_of};
use crate::store;

/// What a check of all files came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilesReport {
    /// Files that were read.
    pub files: u64,
    /// Their bytes, without what was never written.
    pub bytes: u64,
    /// Bytes behind the last whole commit: what a crash left of commits that were never
    /// acknowledged, or what damage made of the last one.
    pub torn_bytes: u64,
    /// Where they begin.
    pub torn_at: Option<(PathBuf, u64)>,
    /// Files that nothing refers to. A crash and a long run leave such, and the next start removes them.
    pub leftovers: Vec<PathBuf>,
}

const VERSION_FILE: &[u8] = b"FJL\x03";
const READ_BYTES: usize = 1024 * 1024;

/// What is wrong with a file.
struct Wrong {
    file: PathBuf,
    what: String,
}

impl Wrong {
    fn new(file: &Path, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), what: what.into() }
    }
}

/// Checks all files of the store in a folder. `progress` is told how many bytes were read.
pub(crate) fn check(path: &Path, progress: &mut dyn FnMut(u64)) -> Result<FilesReport, OpenError> {
    let name = || path.display().to_string();
    let damaged = |what: String| OpenError::Damaged { path: name(), what };
    let io = |error: io::Error| OpenError::Failed { path: name(), cause: error.to_string() };
    // Before anything is made there, as taking the lock would.
    let nonce = match files::look(path).map_err(io)? {
        Found::Store(nonce) => nonce,
        // Where nothing has an identity, there never was a store.
        Found::Nothing if !path.join("identity").try_exists().map_err(io)? => {
            return Err(OpenError::Missing { path: name() });
        }
        Found::Nothing => return Err(damaged("the engine's files are missing".to_owned())),
        Found::Damaged(what) => return Err(damaged(what.to_owned())),
    };
    // What somebody keeps there says nothing of the store's own files.
    if let Some(found) = files::beside(path).map_err(io)? {
        return Err(OpenError::Foreign { path: name(), found: found.display().to_string() });
    }
    let _lock = files::lock(path)?;
    let wrong = |Wrong { file, what }| damaged(format!("{}: {what}", file.display()));
    let mut check = Check { report: FilesReport::default(), versions: 0, progress };
    check.folder(path).map_err(wrong)?;
    let engine = files::engine_folder(path);
    check.engine(&engine).map_err(wrong)?;
    let bad = |error| match error {
        InspectError::Damaged { .. } => damaged(error.to_string()),
        InspectError::Io { source, .. } => io(source),
    };
    let found = store::inspect(path, nonce).map_err(bad)?.found;
    check.journals(path, &found).map_err(wrong)?;
    found.check_end().map_err(bad)?;
    Ok(check.report)
}

struct Check<'a> {
    report: FilesReport,
    /// How often the lists of tables changed, over all tables.
    versions: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl Check<'_> {
    /// The store's own folder.
    fn folder(&mut self, path: &Path) -> Result<(), Wrong> {
        for (name, entry) in list(path)? {
            match name.as_str() {
                // Their content was read when the store was looked at, or is compared below.
                "identity" | "journal" | clean_end::NAME => drop(self.read(&entry)?),
                clean_end::NEW_NAME => self.report.leftovers.push(entry),
                "lock" => self.expect(&entry, b"")?,
                "fjall" => {}
                _ => return Err(Wrong::new(&entry, "a file that no store has")),
            }
        }
        Ok(())
    }

    /// The engine's folder.
    fn engine(&mut self, engine: &Path) -> Result<(), Wrong> {
        for (name, entry) in list(engine)? {
            match name.as_str() {
                "version" => self.expect(&entry, VERSION_FILE)?,
                "lock" => self.expect(&entry, b"")?,
                "keyspaces" => {
                    for keyspace in list(&entry)?.values() {
                        self.keyspace(keyspace)?;
                    }
                }
                _ if journal::is_journal(&entry) => {
                    let bytes = journal::data_bytes(&entry)
                        .map_err(|error| Wrong::new(&entry, error.to_string()))?;
                    self.count(bytes);
                }
                _ => return Err(Wrong::new(&entry, "a file that the engine does not have")),
            }
        }
        Ok(())
    }

    /// One table of the store, as the engine keeps it.
    fn keyspace(&mut self, folder: &Path) -> Result<(), Wrong> {
        let current = folder.join("current");
        let bytes = self.read(&current)?;
        let pointer = Pointer::parse(&bytes).ok_or_else(|| Wrong::new(&current, "malformed"))?;
        let version = folder.join(format!("v{}", pointer.version));
        let listed = self.read(&version)?;
        if xxh3_128(&listed) != pointer.checksum {
            let what = format!("its checksum is not the one in {}", current.display());
            return Err(Wrong::new(&version, what));
        }
        self.versions = self.versions.saturating_add(pointer.version);
        let tables = tables_of(&listed);
        let tables = tables.ok_or_else(|| Wrong::new(&version, "it has no list of tables"))?;
        for (name, entry) in list(folder)? {
            match name.as_str() {
                "current" => {}
                "tables" => self.tables(&entry, &tables)?,
                _ if entry == version => {}
                _ if name.starts_with('.') || name.strip_prefix('v').is_some_and(is_number) => {
                    self.report.leftovers.push(entry);
                }
                _ => return Err(Wrong::new(&entry, "a file that the engine does not have")),
            }
        }
        Ok(())
    }

    fn tables(&mut self, folder: &Path, tables: &BTreeMap<u64, u128>) -> Result<(), Wrong> {
        for (number, checksum) in tables {
            let file = folder.join(number.to_string());
            if self.checksum(&file)? != *checksum {
                return Err(Wrong::new(&file, "its checksum is not the one in the list of tables"));
            }
        }
        let is_listed = |name: &str| name.parse().is_ok_and(|number| tables.contains_key(&number));
        for (name, file) in list(folder)?.into_iter().filter(|(name, _)| !is_listed(name)) {
            if !is_number(&name) {
                return Err(Wrong::new(&file, "a file that the engine does not have"));
            }
            self.report.leftovers.push(file);
        }
        Ok(())
    }

    /// The journals were read whole; what they say must fit to everything else.
    fn journals(&mut self, path: &Path, found: &Inspection) -> Result<(), Wrong> {
        let note = path.join("journal");
        let noted = files::noted_journal(path);
        let noted = noted.map_err(|error| Wrong::new(&note, error.to_string()))?;
        let noted = noted.ok_or_else(|| Wrong::new(&note, "it cannot be read"))?;
        let newest = found.newest_journal;
        let durable = found.first_commits.iter().rev();
        let relied_on = durable
            .into_iter()
            .find(|(_, first)| *first <= found.durable_commit)
            .map(|(it, _)| *it);
        if noted > newest || relied_on.is_some_and(|relied_on| noted < relied_on) {
            let what = format!(
                "it notes journal {noted}; {newest} is the newest, and syncs relied on {relied_on:?}"
            );
            return Err(Wrong::new(&note, what));
        }
        if let (Some(commit), Some(seqno)) = (found.last_commit, found.last_seqno) {
            // Commits and changes of the lists of tables each take one of the engine's numbers.
            let least = commit.saturating_sub(1);
            let most = least.saturating_add(self.versions);
            if !(least..=most).contains(&seqno) {
                let file = found.end.as_ref().map_or(path, |(file, _)| file);
                let what = format!(
                    "commit {commit} has the engine's number {seqno}, not {least} to {most}"
                );
                return Err(Wrong::new(file, what));
            }
        }
        self.report.torn_bytes = found.torn_bytes;
        self.report.torn_at = found.end.clone().filter(|_| found.torn_bytes > 0);
        Ok(())
    }

    fn expect(&mut self, file: &Path, content: &[u8]) -> Result<(), Wrong> {
        let is_same = self.read(file)? == content;
        if is_same { Ok(()) } else { Err(Wrong::new(file, "its content is another")) }
    }

    /// A small file.
    fn read(&mut self, file: &Path) -> Result<Vec<u8>, Wrong> {
        let bytes = fs::read(file).map_err(|error| Wrong::new(file, error.to_string()))?;
        self.count(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(bytes)
    }

    /// The checksum of a file of any size.
    fn checksum(&mut self, file: &Path) -> Result<u128, Wrong> {
        let failed = |error: io::Error| Wrong::new(file, error.to_string());
        let mut source = File::open(file).map_err(failed)?;
        let mut hasher = Xxh3Default::new();
        let mut buffer = vec![0; READ_BYTES];
        let mut total = 0_u64;
        loop {
            let count = source.read(&mut buffer).map_err(failed)?;
            let Some(read) = buffer.get(..count).filter(|read| !read.is_empty()) else { break };
            hasher.update(read);
            total = total.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        }
        self.count(total);
        Ok(hasher.digest128())
    }

    fn count(&mut self, bytes: u64) {
        self.report.files = self.report.files.saturating_add(1);
        self.report.bytes = self.report.bytes.saturating_add(bytes);
        (self.progress)(self.report.bytes);
    }
}

/// Whether a name is a number, as those of the engine's tables and versions are.
fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// What is in a folder, by name.
fn list(folder: &Path) -> Result<BTreeMap<String, PathBuf>, Wrong> {
    let failed = |error: io::Error| Wrong::new(folder, error.to_string());
    let mut entries = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        entries.insert(name, path);
    }
    Ok(entries)
}
