//! A store that wraps another one and makes it fail, by plan.
//!
//! ```text
//!              commit             sync
//!  caller ─────────────► inner ─────────►
//!            │                     │
//!            └► unsynced: frames   └► forget the frames that are durable now
//!                   │
//!        power loss ▼  cut the frames at any byte, spoil what follows
//!                 whole frames survive ─── the rest is undone in the inner store
//! ```
//!
//! Faults come from a schedule, a function of the call's number and kind. It may be
//! enumerated ([`at`]: one fault at each call of a run, one run per call) or drawn from a
//! seed ([`seeded`]). The same schedule and the same calls give the same faults.
//!
//! **Invariant:** the contract holds under every schedule. Losing power loses unsynced
//! batches from the end, whole; what a sync has acknowledged stays.

mod dice;
mod rot;
mod unsynced;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use seriatim_planted::{self as planted, Bug};

pub use self::dice::Dice;
use self::rot::{Rots, Whole};
use self::unsynced::Unsynced;
use crate::{
    Batch, CommitError, PoisonCell, Poisoned, Read, ReadError, Row, Scan, ScanEnd, ScanError,
    Schema, Snapshot, Stats, Store, SyncError, SyncGroup, Table,
};

/// A call of the store's interface, as the schedule sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Calls are numbered from 0.
    pub index: u64,
    /// Which method.
    pub kind: CallKind,
}

/// The methods that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the methods' names")]
pub enum CallKind {
    Get,
    GetMany,
    Scan,
    Snapshot,
    Commit,
    Sync,
    Stats,
}

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Other threads get this many turns before the call goes on.
    Delay(u32),
    /// A commit is refused for want of room; nothing was written and the store goes on.
    /// Other calls are not affected.
    Refuse,
    /// A read fails, a scan after a few rows. A commit fails before anything happened, and stops
    /// the store. So does a sync, after which some of what was to be written is on the disk, and all
    /// of it is called clean.
    Fail,
    /// A commit or sync does its work and then fails, and stops the store. Reads as with
    /// [`Fault::Fail`].
    FailAfter,
    /// A read finds a row with one bit flipped. The checksum beside it tells, as that of an engine's
    /// block does, so it is an error like any other. Other calls are not affected.
    Rot,
    /// Power is lost during the call. The store is dead; [`FaultyStore::reopen`] shows what
    /// is left.
    LosePower,
}

/// Decides about every call.
pub type Schedule = Box<dyn Fn(Call) -> Option<Fault> + Send + Sync>;

/// No faults.
#[must_use]
pub fn never() -> Schedule {
    Box::new(|_| None)
}

/// One fault, at the call with this number.
#[must_use]
pub fn at(index: u64, fault: Fault) -> Schedule {
    Box::new(move |call| (call.index == index).then_some(fault))
}

/// How often each fault happens, per thousand calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are those of the faults")]
pub struct Rates {
    pub delay: u32,
    pub refuse: u32,
    pub fail: u32,
    pub fail_after: u32,
    pub lose_power: u32,
}

/// Faults drawn from a seed. A call's fault depends on the seed and the call's number alone,
/// not on which thread came first.
#[must_use]
pub fn seeded(seed: u64, rates: Rates) -> Schedule {
    Box::new(move |call| {
        let mut dice = Dice::new(seed).fork(call.index);
        let mut roll = u32::try_from(dice.below(1_000)).expect("below a thousand");
        let faults = [
            (rates.delay, Fault::Delay(16)),
            (rates.refuse, Fault::Refuse),
            (rates.fail, Fault::Fail),
            (rates.fail_after, Fault::FailAfter),
            (rates.lose_power, Fault::LosePower),
        ];
        for (rate, fault) in faults {
            if roll < rate {
                return Some(fault);
            }
            roll = roll.saturating_sub(rate);
        }
        None
    })
}

/// What a loss of power did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PowerLoss {
    /// Unsynced batches that survived.
    pub kept: usize,
    /// Unsynced batches that are gone.
    pub lost: usize,
    /// Whether the first lost batch had been written in part.
    pub torn: bool,
}

/// A store with faults. Clones are handles to the same store.
#[derive(Clone)]
pub struct FaultyStore(Arc<Shared>);

struct Shared {
    inner: Arc<dyn Store>,
    schedule: Schedule,
    calls: AtomicU64,
    poison: PoisonCell,
    syncs: SyncGroup,
    /// Held for the whole of a commit, so that undoing sees what that commit saw.
    unsynced: Mutex<Unsynced>,
}

impl FaultyStore {
    /// Wraps a store. Everything in it counts as durable.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, schedule: Schedule) -> Self {
        Self(Arc::new(Shared {
            inner,
            schedule,
            calls: AtomicU64::new(0),
            poison: PoisonCell::default(),
            syncs: SyncGroup::default(),
            unsynced: Mutex::new(Unsynced::default()),
        }))
    }

    /// How many calls were made, faulty ones included: the bound for enumerating [`at`].
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// How many handles and snapshots of this store there are, this one included.
    #[must_use]
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// How many batches are committed and not synced.
    #[must_use]
    pub fn unsynced_batches(&self) -> usize {
        self.0.unsynced().batches()
    }

    /// Loses power, if that has not happened yet: this handle and its snapshots are dead, and
    /// of what was not synced the seed decides how much is left. Returns the store as the
    /// next process finds it.
    ///
    /// # Errors
    ///
    /// When the inner store fails: it is not the one that is meant to.
    pub fn reopen(&self, seed: u64, schedule: Schedule) -> Result<(Self, PowerLoss), CommitError> {
        let mut unsynced = self.0.unsynced();
        self.0.poison.poison("loss of power", "power was lost");
        let loss = unsynced.lose_power(self.0.inner.as_ref(), &mut Dice::new(seed))?;
        Ok((Self::new(Arc::clone(&self.0.inner), schedule), loss))
    }

    /// The process is killed, and the machine goes on: this handle and its snapshots are dead. What
    /// was not synced is in the page cache, unless a sync has failed before and the cache has let it
    /// go since, which is as [a loss of power](Self::reopen). The next process writes anew what it
    /// finds there, so that it is durable. Returns the store as that process has it.
    ///
    /// # Errors
    ///
    /// When the inner store fails: it is not the one that is meant to.
    pub fn restart(&self, seed: u64, schedule: Schedule) -> Result<(Self, PowerLoss), CommitError> {
        let has_failed = self.0.poison.check().is_err_and(|poisoned| poisoned.operation == "sync");
        if has_failed && Dice::new(seed).fork(1).below(2) == 0 {
            return self.reopen(seed, schedule);
        }
        let mut unsynced = std::mem::take(&mut *self.0.unsynced());
        self.0.poison.poison("end of the process", "it was killed");
        let kept = match planted::is(Bug::TailTakenFromCache) {
            true => unsynced.batches(),
            false => unsynced.write_anew(),
        };
        let next = Self::new(Arc::clone(&self.0.inner), schedule);
        *next.0.unsynced() = unsynced;
        Ok((next, PowerLoss { kept, lost: 0, torn: false }))
    }
}

impl Shared {
    fn unsynced(&self) -> MutexGuard<'_, Unsynced> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the call and lets its delay pass.
    fn enter(&self, kind: CallKind) -> Result<(u64, Option<Fault>), Poisoned> {
        let index = self.calls.fetch_add(1, Ordering::Relaxed);
        self.poison.check()?;
        match (self.schedule)(Call { index, kind }) {
            Some(Fault::Delay(turns)) => {
                for _ in 0..turns {
                    std::thread::yield_now();
                }
                Ok((index, None))
            }
            fault => Ok((index, fault)),
        }
    }

    fn lose_power(&self) -> Poisoned {
        self.poison.poison("loss of power", "power was lost")
    }

    fn read<T: Rots>(
        &self,
        kind: CallKind,
        table: Option<Table>,
        read: impl FnOnce() -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        match self.enter(kind)? {
            (_, None | Some(Fault::Refuse | Fault::Delay(_))) => read(),
            (index, Some(Fault::Fail | Fault::FailAfter)) => Err(self.read_failure(index, table)),
            (index, Some(Fault::Rot)) => {
                let mut found = read()?;
                match found.rot(&mut Dice::new(index)) {
                    Whole::Yes => Ok(found),
                    Whole::No => Err(self.rotten(index, table)),
                }
            }
            (_, Some(Fault::LosePower)) => Err(self.lose_power().into()),
        }
    }

    fn rotten(&self, index: u64, table: Option<Table>) -> ReadError {
        let table = table.map_or("any", |table| self.inner.schema().name(table));
        let cause = format!("the checksum of a row is wrong, planned at call {index}");
        ReadError::Failed { table: table.to_owned(), cause }
    }

    fn read_failure(&self, index: u64, table: Option<Table>) -> ReadError {
        let table = table.map_or("any", |table| self.inner.schema().name(table));
        ReadError::Failed { table: table.to_owned(), cause: format!("planned at call {index}") }
    }

    fn scan(
        &self,
        inner: &dyn Read,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        match self.enter(CallKind::Scan).map_err(ReadError::from)? {
            (_, None | Some(Fault::Refuse | Fault::Delay(_))) => inner.scan(scan, visit),
            (index, Some(Fault::Fail | Fault::FailAfter)) => {
                // A disk fails in the middle: show a few rows first.
                let rows = usize::try_from(index % 3).expect("below three").min(scan.limit);
                if inner.scan(&scan.clone().limit(rows), visit)? == ScanEnd::Stopped {
                    return Ok(ScanEnd::Stopped);
                }
                Err(self.read_failure(index, Some(scan.table)).into())
            }
            (index, Some(Fault::Rot)) => {
                let mut dice = Dice::new(index);
                let mut sound = dice.below(3);
                let mut is_rotten = false;
                let end = inner.scan(scan, &mut |mut row| {
                    let is_next = sound == 0 && row.value.rot(&mut dice) == Whole::No;
                    sound = sound.wrapping_sub(1);
                    is_rotten |= is_next;
                    if is_next { ControlFlow::Break(()) } else { visit(row) }
                })?;
                if is_rotten { Err(self.rotten(index, Some(scan.table)).into()) } else { Ok(end) }
            }
            (_, Some(Fault::LosePower)) => Err(ReadError::from(self.lose_power()).into()),
        }
    }

    fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        let (index, fault) = self.enter(CallKind::Commit)?;
        let failed = || {
            let cause = format!("planned at call {index}");
            CommitError::Failed(self.poison.poison("commit", cause))
        };
        match fault {
            Some(Fault::Refuse) => {
                return Err(CommitError::Full { free_bytes: 0, reserve_bytes: 0 });
            }
            Some(Fault::Fail) => return Err(failed()),
            None | Some(Fault::Delay(_) | Fault::FailAfter | Fault::Rot | Fault::LosePower) => {}
        }
        let mut unsynced = self.unsynced();
        // Power may have been lost while this call waited for its turn.
        self.poison.check()?;
        unsynced.commit(self.inner.as_ref(), batch)?;
        match fault {
            Some(Fault::FailAfter) => Err(failed()),
            Some(Fault::LosePower) => Err(CommitError::Failed(self.lose_power())),
            None | Some(Fault::Delay(_) | Fault::Refuse | Fault::Fail | Fault::Rot) => Ok(()),
        }
    }

    fn sync(&self) -> Result<(), SyncError> {
        let (index, fault) = self.enter(CallKind::Sync)?;
        // A planned fault is this caller's own, whether or not it would have made the trip.
        let failed = || {
            let cause = format!("planned at call {index}");
            SyncError::Failed(self.poison.poison("sync", cause))
        };
        match fault {
            Some(Fault::Fail) => {
                self.unsynced().sync_failed(&mut Dice::new(index));
                return Err(failed());
            }
            Some(Fault::LosePower) => return Err(SyncError::Failed(self.lose_power())),
            None | Some(Fault::Delay(_) | Fault::Refuse | Fault::FailAfter | Fault::Rot) => {}
        }
        self.syncs.sync(&self.poison, || {
            let batches = self.unsynced().batches();
            self.inner.sync().map_err(|error| error.to_string())?;
            self.unsynced().are_written(batches);
            Ok::<_, String>(())
        })?;
        if fault == Some(Fault::FailAfter) { Err(failed()) } else { Ok(()) }
    }
}

impl Read for FaultyStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.0.read(CallKind::Get, Some(table), || self.0.inner.get(table, key))
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        self.0.read(CallKind::GetMany, None, || self.0.inner.get_many(keys))
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        self.0.scan(self.0.inner.as_ref(), scan, visit)
    }
}

impl Store for FaultyStore {
    fn schema(&self) -> &Schema {
        self.0.inner.schema()
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, ReadError> {
        let inner = self.0.read(CallKind::Snapshot, None, || self.0.inner.snapshot())?;
        Ok(Box::new(FaultySnapshot { inner, shared: Arc::clone(&self.0) }))
    }

    fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        self.0.commit(batch)
    }

    fn sync(&self) -> Result<(), SyncError> {
        self.0.sync()
    }

    fn health(&self) -> Result<(), Poisoned> {
        self.0.poison.check()?;
        self.0.inner.health()
    }

    fn room(&self) -> Result<(), CommitError> {
        self.0.inner.room()
    }

    fn disk_free_bytes(&self) -> Option<u64> {
        self.0.inner.disk_free_bytes()
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        let stats = self.0.read(CallKind::Stats, None, || self.0.inner.stats())?;
        let (sync_calls, disk_syncs) = self.0.syncs.calls_and_trips();
        Ok(Stats { sync_calls, disk_syncs, ..stats })
    }
}

/// A snapshot with the faults, and the fate, of its store.
struct FaultySnapshot {
    inner: Box<dyn Snapshot>,
    shared: Arc<Shared>,
}

impl FaultySnapshot {
    fn rows(&self) -> &dyn Read {
        match planted::is(Bug::LiveSnapshot) {
            true => self.shared.inner.as_ref(),
            false => self.inner.as_ref(),
        }
    }
}

impl Read for FaultySnapshot {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.shared.read(CallKind::Get, Some(table), || self.rows().get(table, key))
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        self.shared.read(CallKind::GetMany, None, || self.rows().get_many(keys))
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        self.shared.scan(self.rows(), scan, visit)
    }
}

impl Snapshot for FaultySnapshot {}
