//! The disk: it outlives the server, and fails as it was drawn.
//!
//! ```text
//!  killed      what was not synced is in the page cache: the next process sees it, and writes it anew
//!              before anybody is shown it
//!  failed sync the disk has some of the pages, and the cache calls all of them clean: the next process
//!              sees what the cache shows, or what the disk has, and no later sync writes the rest
//!  power lost  what was not synced is cut off somewhere, torn or spoiled behind the cut
//!  a bad call  a read that fails, or in which a bit is flipped, which its checksum finds out; a
//!              commit or a sync that fails before or after it has done its work
//!  a full disk commits are refused, most of them, for a while
//! ```
//!
//! **Deliberately absent:** rows that are read wrongly every time.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use seriatim_node::schema;
use seriatim_storage::faulty::{Call, CallKind, Dice, Fault, FaultyStore, PowerLoss, Schedule};
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{KeyRange, Scan, ScanEnd, Store};

use crate::rates::{Rates, happens};

/// For how many commits a disk is full at least.
const FULL_COMMITS: u64 = 8;

/// The disk of the server.
pub(crate) struct Disk {
    rows: Arc<MemoryStore>,
    /// The store of the process that runs, or ran last.
    store: FaultyStore,
    rates: Rates,
    is_healed: Arc<AtomicBool>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Killed,
    PowerLost,
}

impl Disk {
    pub(crate) fn new(dice: &mut Dice, rates: &Rates) -> Self {
        let rows = Arc::new(MemoryStore::new(&schema()));
        let is_healed = Arc::new(AtomicBool::new(true));
        let schedule = schedule(dice.next_u64(), rates, &is_healed);
        let store = FaultyStore::new(rows.clone(), schedule);
        Self { rows, store, rates: rates.clone(), is_healed }
    }

    /// The store, as the process that runs sees it.
    pub(crate) fn store(&self) -> &FaultyStore {
        &self.store
    }

    /// From here on nothing fails, or things fail as it was drawn.
    pub(crate) fn set_healed(&self, is_healed: bool) {
        self.is_healed.store(is_healed, Ordering::Relaxed);
    }

    /// The process has ended. Returns how many commits are gone; all others are durable once the
    /// next process has begun.
    pub(crate) fn end(&mut self, dice: &mut Dice, end: End) -> PowerLoss {
        let next = schedule(dice.next_u64(), &self.rates, &self.is_healed);
        let seed = dice.next_u64();
        let reopened = match end {
            End::Killed => self.store.restart(seed, next),
            End::PowerLost => self.store.reopen(seed, next),
        };
        let (store, loss) = reopened.expect("the rows below do not fail");
        self.store = store;
        loss
    }

    /// All rows, by table and key, without any fault.
    pub(crate) fn rows(&self) -> &Arc<MemoryStore> {
        &self.rows
    }

    /// A row, without any fault.
    pub(crate) fn row(&self, table: &str, key: &[u8]) -> Option<bytes::Bytes> {
        let table = self.rows.schema().table(table).expect("a table of the node");
        let row = seriatim_storage::Read::get(&*self.rows, table, key);
        row.expect("rows in memory can be read")
    }

    /// Visits all rows of a table, without any fault.
    pub(crate) fn scan(&self, table: &str, mut visit: impl FnMut(&[u8], &bytes::Bytes)) {
        let schema = self.rows.schema();
        let table = schema.table(table).expect("a table of the node");
        let scan = Scan::new(table, KeyRange::prefix(&[]));
        let scanned = seriatim_storage::Read::scan(&*self.rows, &scan, &mut |row| {
            visit(&row.key, &row.value);
            ControlFlow::Continue(())
        });
        let end = scanned.expect("rows in memory can be read");
        assert_eq!(end, ScanEnd::Complete, "nobody stops it");
    }
}

/// The faults of one process.
fn schedule(seed: u64, rates: &Rates, is_healed: &Arc<AtomicBool>) -> Schedule {
    let (rates, is_healed) = (rates.clone(), is_healed.clone());
    let commits = AtomicU64::new(0);
    Box::new(move |Call { index, kind }| {
        if is_healed.load(Ordering::Relaxed) {
            return None;
        }
        let mut dice = Dice::new(seed).fork(index);
        let either = if dice.below(2) == 0 { Fault::Fail } else { Fault::FailAfter };
        match kind {
            CallKind::Snapshot => {
                // There are few of these, and what is committed by then is a maybe.
                happens(&mut dice, rates.read_fails.saturating_mul(8)).then_some(Fault::Fail)
            }
            CallKind::Get | CallKind::GetMany | CallKind::Scan => {
                let fails = happens(&mut dice, rates.read_fails).then_some(Fault::Fail);
                fails.or_else(|| happens(&mut dice, rates.read_rots).then_some(Fault::Rot))
            }
            CallKind::Commit => {
                let commit = commits.fetch_add(1, Ordering::Relaxed);
                let is_refused = is_full(seed, commit, &rates) && dice.below(8) > 0;
                let fails = || happens(&mut dice, rates.commit_fails).then_some(either);
                is_refused.then_some(Fault::Refuse).or_else(fails)
            }
            CallKind::Sync => happens(&mut dice, rates.sync_fails).then_some(either),
            CallKind::Stats => None,
        }
    })
}

/// Whether the disk is full at some commit. It stays so for a while, and is often found so by a process
/// that begins.
fn is_full(seed: u64, commit: u64, rates: &Rates) -> bool {
    let window = commit / FULL_COMMITS;
    let mut dice = Dice::new(seed.wrapping_add(1)).fork(window);
    let chance = if window == 0 { rates.disk_full.saturating_mul(16) } else { rates.disk_full };
    happens(&mut dice, chance)
}
