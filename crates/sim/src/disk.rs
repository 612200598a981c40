//! The disk: it outlives the server, and fails as it was drawn.
//!
//! ```text
//!  killed      what was committed is in the page cache, and stays
//!  power lost  what was not synced is cut off somewhere, torn or spoiled behind the cut
//!  a bad call  a read that fails (also what a checksum has found out), a commit or a sync that
//!              fails before or after it has done its work, a disk that is full for a while
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use seriatim_node::schema;
use seriatim_storage::faulty::{Call, CallKind, Dice, Fault, FaultyStore, PowerLoss, Schedule};
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{KeyRange, Scan, ScanEnd, Store};

use crate::rates::{Rates, happens};

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

    /// The process has ended. Returns which commits are gone.
    pub(crate) fn end(&mut self, dice: &mut Dice, end: End) -> PowerLoss {
        let next = schedule(dice.next_u64(), &self.rates, &self.is_healed);
        match end {
            End::Killed => {
                self.store = FaultyStore::new(self.rows.clone(), next);
                PowerLoss::default()
            }
            End::PowerLost => {
                let reopened = self.store.reopen(dice.next_u64(), next);
                let (store, loss) = reopened.expect("the rows below do not fail");
                self.store = store;
                loss
            }
        }
    }

    /// All rows, by table and key, without any fault.
    pub(crate) fn rows(&self) -> &Arc<MemoryStore> {
        &self.rows
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
    Box::new(move |Call { index, kind }| {
        if is_healed.load(Ordering::Relaxed) {
            return None;
        }
        let mut dice = Dice::new(seed).fork(index);
        let either = if dice.below(2) == 0 { Fault::Fail } else { Fault::FailAfter };
        match kind {
            CallKind::Get | CallKind::GetMany | CallKind::Scan | CallKind::Snapshot => {
                happens(&mut dice, rates.read_fails).then_some(Fault::Fail)
            }
            CallKind::Commit if happens(&mut dice, rates.disk_full) => Some(Fault::Refuse),
            CallKind::Commit => happens(&mut dice, rates.commit_fails).then_some(either),
            CallKind::Sync => happens(&mut dice, rates.sync_fails).then_some(either),
            CallKind::Stats => None,
        }
    })
}
