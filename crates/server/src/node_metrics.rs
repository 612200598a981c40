//! The part of `/metrics` that the node and its store tell.
//!
//! Counters are read as they are. Sizes are measured for each scrape, off the async threads, and a disk
//! that does not answer leaves the last ones.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use seriatim_node::{Cache, EntryKind, Histogram, Node, NodeCounters, Queued};

use crate::context::Context;

/// How long a scrape waits for the sizes of the store.
const SIZES_WITHIN: Duration = Duration::from_secs(1);

/// What the node and its store tell.
#[derive(Clone)]
pub(crate) struct NodeMetrics(Arc<Inner>);

struct Inner {
    counters: Arc<NodeCounters>,
    measured: Mutex<Measured>,
    /// Whether the store is being measured: a disk that hangs costs one thread and not one for each
    /// scrape.
    is_measuring: AtomicBool,
}

/// What is measured for each scrape.
#[derive(Debug, Clone, Default)]
struct Measured {
    queued: Queued,
    sizes: Option<Sizes>,
    disk_free_bytes: Option<u64>,
}

#[derive(Debug, Clone)]
struct Sizes {
    /// The tables with their bytes, by name.
    tables: Vec<(String, u64)>,
    journal_bytes: u64,
}

impl NodeMetrics {
    pub(crate) fn new(node: &Node) -> Self {
        let (measured, is_measuring) = (Mutex::default(), AtomicBool::new(false));
        Self(Arc::new(Inner { counters: node.counters().clone(), measured, is_measuring }))
    }

    /// Measures what the next scrape shows.
    pub(crate) async fn measure(&self, context: &Context) {
        self.set(|it| it.queued = context.node.queued());
        if self.0.is_measuring.swap(true, Ordering::AcqRel) {
            return;
        }
        let (metrics, node) = (self.clone(), context.node.clone());
        let measuring = context.readers.spawn(move || {
            metrics.measure_store(&node);
            metrics.0.is_measuring.store(false, Ordering::Release);
        });
        // What comes later is shown by the scrape after this one.
        drop(tokio::time::timeout(SIZES_WITHIN, measuring).await);
    }

    fn measure_store(&self, node: &Node) {
        let store = node.store();
        let disk_free_bytes = store.disk_free_bytes();
        // A store that has stopped says nothing of its sizes. Its last ones are shown.
        let sizes = store.stats().ok().map(|stats| Sizes {
            tables: stats.tables.into_iter().map(|table| (table.name, table.bytes)).collect(),
            journal_bytes: stats.journal_bytes,
        });
        self.set(|it| {
            it.disk_free_bytes = disk_free_bytes;
            it.sizes = sizes.or(it.sizes.take());
        });
    }

    fn set(&self, change: impl FnOnce(&mut Measured)) {
        change(&mut self.0.measured.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn measured(&self) -> Measured {
        self.0.measured.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Collector for NodeMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Out(&mut encoder);
        let counters = &self.0.counters;
        let kinds = EntryKind::ALL.map(|kind| (kind.name(), counters.entries(kind)));
        let help = "Entries that were applied, refused ones too, by kind";
        out.counters("entries", help, "kind", kinds)?;
        let help = "Entries that were applied together: what shares one commit and one sync";
        out.histogram("batch", help, &Unit::Other("entries".to_owned()), &counters.batch_entries)?;
        let help = "How long a commit of the store takes, before its sync";
        out.histogram("commit_duration", help, &Unit::Seconds, &counters.commits)?;
        let help = "How long a sync of the store takes";
        out.histogram("sync_duration", help, &Unit::Seconds, &counters.syncs)?;
        let lookups = Cache::ALL.map(|cache| (cache.name(), counters.hits_and_misses(cache)));
        let hits = lookups.map(|(name, (hits, _))| (name, hits));
        let misses = lookups.map(|(name, (_, misses))| (name, misses));
        out.counters("cache_hits", "Rows that a cache had", "cache", hits)?;
        out.counters("cache_misses", "Rows that a cache had not", "cache", misses)?;
        let help = "Rows of numbers that no checkpoint holds yet, of all partitions";
        let unit = Unit::Other("rows".to_owned());
        out.gauge("checkpoint_lag", help, Some(&unit), wide(counters.lag_rows()))?;
        let Measured { queued, sizes, disk_free_bytes } = self.measured();
        let Queued { requests, requests_max, bytes } = queued;
        let help = "Requests that wait for a partition's answer, of all partitions";
        out.gauge("queue_requests", help, None, wide(requests))?;
        let help = "The same of the partition that has most";
        out.gauge("queue_requests_max", help, None, wide(requests_max))?;
        let help = "Memory of the commands among them, of all partitions";
        out.gauge("in_flight", help, Some(&Unit::Bytes), wide(bytes))?;
        if let Some(Sizes { tables, journal_bytes }) = sizes {
            let help = "Tables of the store, in memory or on disk";
            out.gauges("table", help, &Unit::Bytes, "table", &tables)?;
            let help = "Files of the store's write-ahead log";
            out.gauge("journal", help, Some(&Unit::Bytes), journal_bytes)?;
        }
        if let Some(free) = disk_free_bytes {
            let help = "Free bytes of the disk that holds the data";
            out.gauge("disk_free", help, Some(&Unit::Bytes), free)?;
        }
        Ok(())
    }
}

/// Where metrics are written to.
struct Out<'o, 'e>(&'o mut DescriptorEncoder<'e>);

impl Out<'_, '_> {
    fn begin<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        unit: Option<&'s Unit>,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, unit, kind)
    }

    fn counters<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        counts: [(&str, u64); N],
    ) -> fmt::Result {
        let mut metric = self.begin(name, help, None, MetricType::Counter)?;
        for (value, count) in counts {
            ConstCounter::new(count).encode(metric.encode_family(&[(label, value)])?)?;
        }
        Ok(())
    }

    fn gauge(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: u64) -> fmt::Result {
        ConstGauge::new(value).encode(self.begin(name, help, unit, MetricType::Gauge)?)
    }

    fn gauges(
        &mut self,
        name: &str,
        help: &str,
        unit: &Unit,
        label: &str,
        values: &[(String, u64)],
    ) -> fmt::Result {
        let mut metric = self.begin(name, help, Some(unit), MetricType::Gauge)?;
        for (value, bytes) in values {
            ConstGauge::new(*bytes).encode(metric.encode_family(&[(label, value.as_str())])?)?;
        }
        Ok(())
    }

    fn histogram(
        &mut self,
        name: &str,
        help: &str,
        unit: &Unit,
        histogram: &Histogram,
    ) -> fmt::Result {
        let buckets = histogram.buckets();
        let count = buckets.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
        let mut metric = self.begin(name, help, Some(unit), MetricType::Histogram)?;
        metric.encode_histogram::<NoLabelSet>(histogram.sum(), count, &buckets, None)
    }
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

impl fmt::Debug for NodeMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeMetrics").finish_non_exhaustive()
    }
}
