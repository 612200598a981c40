//! What a node counts, for `/metrics`.
//!
//! **Invariants**
//! - Counting costs a few relaxed additions for each batch or commit, and nothing for each command: no
//!   lock, no allocation.
//! - Nothing is decided by a counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use seriatim_types::Body;

/// The upper bound of the first bucket of durations. The last bound is 8.4 s.
const FIRST_DURATION: Duration = Duration::from_micros(16);

/// How many buckets a histogram has. There is one more for what is above all bounds.
const BUCKETS: usize = 20;

/// What a node counts. Whoever has it may read it at any time.
#[derive(Debug)]
pub struct NodeCounters {
    entries: [AtomicU64; EntryKind::ALL.len()],
    lookups: [Lookups; Cache::ALL.len()],
    /// Entries that were applied together.
    pub batch_entries: Histogram,
    /// Commits of the store, in nanoseconds.
    pub commits: Histogram,
    /// Syncs of the store, in nanoseconds.
    pub syncs: Histogram,
    lag_rows: AtomicUsize,
    /// Whether it was logged that the store has stopped.
    is_store_stop_logged: AtomicBool,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A client's command.
    Command,
    /// The kind of a workspace is settled.
    Declare,
    /// A definition is decided.
    Define,
    /// Messages have reached another partition.
    Delivered,
    /// A message of another partition.
    Delivery,
    /// Time has passed.
    Tick,
}

/// A cache of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Idempotency keys that are known to be absent.
    AbsentKeys,
    /// Rows of numbers, in the sequencer.
    Numbers,
    /// Rows of workspaces.
    Workspaces,
}

/// Rows that were looked for in a cache.
#[derive(Debug, Default)]
struct Lookups {
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Rows that a batch has looked for, not yet counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BatchLookups {
    counts: [(u64, u64); Cache::ALL.len()],
}

/// Values in buckets whose upper bounds double.
#[derive(Debug)]
pub struct Histogram {
    /// The upper bound of the first bucket.
    first: u64,
    /// One of the unit in which values are shown.
    unit: u64,
    buckets: [AtomicU64; BUCKETS],
    above: AtomicU64,
    sum: AtomicU64,
}

/// The share of one partition in a sum over all of them. It is taken back when this is dropped.
#[derive(Debug)]
pub(crate) struct LagRows {
    counters: Arc<NodeCounters>,
    rows: usize,
}

impl Default for NodeCounters {
    fn default() -> Self {
        let first = u64::try_from(FIRST_DURATION.as_nanos()).expect("a short time");
        let second = 1_000_000_000;
        Self {
            entries: Default::default(),
            lookups: Default::default(),
            batch_entries: Histogram::new(1, 1),
            commits: Histogram::new(first, second),
            syncs: Histogram::new(first, second),
            lag_rows: AtomicUsize::new(0),
            is_store_stop_logged: AtomicBool::new(false),
        }
    }
}

impl NodeCounters {
    /// Entries that were applied, refused ones too.
    #[must_use]
    pub fn entries(&self, kind: EntryKind) -> u64 {
        self.entries.get(kind as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Rows that a cache had, and rows that it had not.
    #[must_use]
    pub fn hits_and_misses(&self, cache: Cache) -> (u64, u64) {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        self.lookups.get(cache as usize).map_or((0, 0), |it| (count(&it.hits), count(&it.misses)))
    }

    /// Rows of numbers that no checkpoint holds yet, of all partitions.
    #[must_use]
    pub fn lag_rows(&self) -> usize {
        self.lag_rows.load(Ordering::Relaxed)
    }

    /// These were applied together.
    pub(crate) fn count_batch<'b>(&self, batch: impl Iterator<Item = &'b Body>) {
        let mut counts = [0_u64; EntryKind::ALL.len()];
        let mut total = 0_u64;
        for body in batch {
            if let Some(count) = counts.get_mut(EntryKind::of(body) as usize) {
                *count = count.saturating_add(1);
            }
            total = total.saturating_add(1);
        }
        for (counter, count) in self.entries.iter().zip(counts) {
            add(counter, count);
        }
        self.batch_entries.observe(total);
    }

    pub(crate) fn count_lookups(&self, lookups: &BatchLookups) {
        for (counter, (hits, misses)) in self.lookups.iter().zip(lookups.counts) {
            add(&counter.hits, hits);
            add(&counter.misses, misses);
        }
    }

    /// Whether it is yet to be logged that the store has stopped: once, whichever partition is the
    /// first to meet it.
    pub(crate) fn claim_store_stop(&self) -> bool {
        !self.is_store_stop_logged.swap(true, Ordering::Relaxed)
    }
}

impl EntryKind {
    /// All kinds, by name.
    pub const ALL: [Self; 6] =
        [Self::Command, Self::Declare, Self::Define, Self::Delivered, Self::Delivery, Self::Tick];

    /// What it is called in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Declare => "declare",
            Self::Define => "define",
            Self::Delivered => "delivered",
            Self::Delivery => "delivery",
            Self::Tick => "tick",
        }
    }

    fn of(body: &Body) -> Self {
        match body {
            Body::Command(_) => Self::Command,
            Body::Declare(_) => Self::Declare,
            Body::Define(_) => Self::Define,
            Body::Delivered(_) => Self::Delivered,
            Body::Delivery(_) => Self::Delivery,
            Body::Tick(_) => Self::Tick,
        }
    }
}

impl Cache {
    /// All caches, by name.
    pub const ALL: [Self; 3] = [Self::AbsentKeys, Self::Numbers, Self::Workspaces];

    /// What it is called in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AbsentKeys => "absent_keys",
            Self::Numbers => "numbers",
            Self::Workspaces => "workspaces",
        }
    }
}

impl BatchLookups {
    pub(crate) fn count(&mut self, cache: Cache, hits: usize, misses: usize) {
        if let Some((its_hits, its_misses)) = self.counts.get_mut(cache as usize) {
            *its_hits = its_hits.saturating_add(u64::try_from(hits).unwrap_or(u64::MAX));
            *its_misses = its_misses.saturating_add(u64::try_from(misses).unwrap_or(u64::MAX));
        }
    }
}

impl Histogram {
    fn new(first: u64, unit: u64) -> Self {
        let buckets = Default::default();
        Self { first, unit, buckets, above: AtomicU64::new(0), sum: AtomicU64::new(0) }
    }

    pub(crate) fn observe(&self, value: u64) {
        let above_first = value.saturating_sub(1).checked_div(self.first).unwrap_or(0);
        let index = u64::BITS.saturating_sub(above_first.leading_zeros());
        let bucket = usize::try_from(index).ok().and_then(|index| self.buckets.get(index));
        bucket.unwrap_or(&self.above).fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    pub(crate) fn observe_duration(&self, took: Duration) {
        self.observe(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// The upper bound of each bucket, and how many values are in it and in no lower one. The last
    /// bound is that of all values, `f64::MAX`.
    #[must_use]
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        let mut bound = self.first;
        let mut buckets = Vec::with_capacity(BUCKETS.saturating_add(1));
        for count in &self.buckets {
            buckets.push((self.shown(bound), count.load(Ordering::Relaxed)));
            bound = bound.saturating_mul(2);
        }
        buckets.push((f64::MAX, self.above.load(Ordering::Relaxed)));
        buckets
    }

    /// All values together.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.shown(self.sum.load(Ordering::Relaxed))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "2^53 ns are a hundred days, and it is only shown"
    )]
    fn shown(&self, value: u64) -> f64 {
        value as f64 / self.unit as f64
    }
}

impl LagRows {
    pub(crate) fn new(counters: Arc<NodeCounters>) -> Self {
        Self { counters, rows: 0 }
    }

    /// As many rows wait now.
    pub(crate) fn set(&mut self, rows: usize) {
        if rows != self.rows {
            // The sum wraps as the shares do, so it is right again whatever comes first.
            let change = rows.wrapping_sub(self.rows);
            self.counters.lag_rows.fetch_add(change, Ordering::Relaxed);
            self.rows = rows;
        }
    }
}

impl Drop for LagRows {
    fn drop(&mut self) {
        self.set(0);
    }
}

fn add(counter: &AtomicU64, count: u64) {
    if count > 0 {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use seriatim_types::{Entry, Tick, Time};

    use super::*;

    fn counted(histogram: &Histogram) -> Vec<(f64, u64)> {
        histogram.buckets().into_iter().filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn values_are_in_the_lowest_bucket_that_holds_them() {
        let histogram = Histogram::new(1, 1);
        [0, 1, 2, 3, 4, 5, 256, 257, 524_288, 524_289, u64::MAX / 2]
            .into_iter()
            .for_each(|value| histogram.observe(value));
        let expected = [
            (1.0, 2),
            (2.0, 1),
            (4.0, 2),
            (8.0, 1),
            (256.0, 1),
            (512.0, 1),
            (524_288.0, 1),
            (f64::MAX, 2),
        ];
        assert_eq!(counted(&histogram), expected);
    }

    #[test]
    fn durations_are_shown_in_seconds() {
        let NodeCounters { commits, .. } = NodeCounters::default();
        for micros in [16, 17, 1000, 9_000_000] {
            commits.observe_duration(Duration::from_micros(micros));
        }
        let expected = [(0.000_016, 1), (0.000_032, 1), (0.001_024, 1), (f64::MAX, 1)];
        assert_eq!(counted(&commits), expected);
        assert!((commits.sum() - 9.001_033).abs() < 1e-9, "{}", commits.sum());
    }

    #[test]
    fn entries_are_counted_by_kind_and_batches_by_size() {
        let counters = NodeCounters::default();
        let tick = Entry { time: Time(1), body: Body::Tick(Tick::default()) };
        let batch = [tick.clone(), tick];
        counters.count_batch(batch.iter().map(|entry| &entry.body));
        assert_eq!(counters.entries(EntryKind::Tick), 2);
        assert_eq!(counters.entries(EntryKind::Command), 0);
        assert_eq!(counted(&counters.batch_entries), [(2.0, 1)]);
    }

    #[test]
    fn partition_that_is_gone_has_no_lag() {
        let counters = Arc::new(NodeCounters::default());
        let (mut one, mut other) = (LagRows::new(counters.clone()), LagRows::new(counters.clone()));
        one.set(7);
        other.set(5);
        one.set(3);
        assert_eq!(counters.lag_rows(), 8);
        drop(one);
        assert_eq!(counters.lag_rows(), 5);
    }

    #[test]
    fn names_are_different_and_in_their_order() {
        let kinds = EntryKind::ALL.map(EntryKind::name);
        assert!(kinds.is_sorted() && kinds.len() == 6, "{kinds:?}");
        assert!(EntryKind::ALL.iter().enumerate().all(|(index, kind)| *kind as usize == index));
        assert!(Cache::ALL.iter().enumerate().all(|(index, cache)| *cache as usize == index));
    }
}
