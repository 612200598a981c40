//! `GET /metrics`: what the server counts, as OpenMetrics text.
//!
//! **Invariant:** names and labels are public for ever, and the values of a label are few: routes
//! and not paths, codes and not messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use seriatim_api::code::ErrorCode;
use seriatim_api::error::BUSY_REASONS;
use seriatim_node::Node;

use crate::context::Context;
use crate::error::{ApiError, Fact};
use crate::node_metrics::NodeMetrics;
use crate::partitions::word;

/// What the server counts.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    command_seconds: Histogram,
    commands: Family<Code, Counter>,
    busy: Family<Reason, Counter>,
    partitions: Family<Doing, Gauge>,
    damaged_reads: Counter,
    sync_pending: Gauge<f64, AtomicU64>,
    subscriptions: Gauge,
    subscriptions_lagged: Counter,
    of_node: NodeMetrics,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Code {
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Doing {
    state: &'static str,
}

/// A subscription that is counted as long as this is held.
pub(crate) struct Open(Gauge);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    pub(crate) fn new(node: &Node) -> Self {
        let mut registry = Registry::with_prefix("seriatim");
        // From a quarter of a millisecond, a fast disk's sync, to eight seconds.
        let command_seconds = Histogram::new(exponential_buckets(0.000_25, 2.0, 16));
        let metrics = Self {
            requests: Family::default(),
            command_seconds,
            commands: Family::default(),
            busy: Family::default(),
            partitions: Family::default(),
            damaged_reads: Counter::default(),
            sync_pending: Gauge::default(),
            subscriptions: Gauge::default(),
            subscriptions_lagged: Counter::default(),
            of_node: NodeMetrics::new(node),
            registry: Registry::default(),
        };
        let Self { requests, commands, busy, partitions, .. } = &metrics;
        let help = "Requests that were answered";
        registry.register("http_requests", help, requests.clone());
        let help = "From the arrival of a command to its answer";
        let histogram = metrics.command_seconds.clone();
        registry.register_with_unit("command_duration", help, Unit::Seconds, histogram);
        let help = "Commands by what came of them: COMMITTED, REPLAYED or the code of the error";
        registry.register("commands", help, commands.clone());
        registry.register("busy", "Commands that were not taken, by reason", busy.clone());
        registry.register("partitions", "Partitions by what they are doing", partitions.clone());
        let help =
            "Reads that found a stored row damaged or missing; the first stops its partition";
        registry.register("damaged_reads", help, metrics.damaged_reads.clone());
        let help =
            "How long the oldest sync that has not returned has been pending; 0 when none is";
        let gauge = metrics.sync_pending.clone();
        registry.register_with_unit("sync_pending", help, Unit::Seconds, gauge);
        let help = "Subscriptions that are open";
        registry.register("subscriptions_open", help, metrics.subscriptions.clone());
        let help = "Subscriptions that fell too far behind";
        registry.register("subscriptions_lagged", help, metrics.subscriptions_lagged.clone());
        registry.register_collector(Box::new(metrics.of_node.clone()));
        // All are shown from the start, so that a first one is seen as a rise.
        for reason in BUSY_REASONS {
            drop(busy.get_or_create(&Reason { reason: (*reason).to_owned() }));
        }
        Self { registry, ..metrics }
    }

    /// A request was answered.
    pub(crate) fn answered(&self, request: CountedAs, status: StatusCode) {
        let CountedAs { method, route } = request;
        let route = route.as_ref().map_or("none", MatchedPath::as_str).to_owned();
        let status = status.as_u16();
        self.requests.get_or_create(&Answered { method, route, status }).inc();
    }

    /// A command was answered.
    pub(crate) fn command(&self, code: &'static str, after: Duration) {
        self.command_seconds.observe(after.as_secs_f64());
        self.commands.get_or_create(&Code { code }).inc();
    }

    /// A command was not taken, if that is what the error says.
    pub(crate) fn busy(&self, error: &ApiError) {
        let reason =
            error.facts.iter().find(|(name, _)| error.code == ErrorCode::Busy && *name == "reason");
        if let Some((_, Fact::Text(reason))) = reason {
            self.busy.get_or_create(&Reason { reason: reason.clone() }).inc();
        }
    }

    pub(crate) fn open_subscription(&self) -> Open {
        self.subscriptions.inc();
        Open(self.subscriptions.clone())
    }

    pub(crate) fn lagged(&self) {
        self.subscriptions_lagged.inc();
    }
}

/// All of it, as text.
pub(crate) async fn get(State(context): State<Arc<Context>>) -> Response {
    let partitions = &context.metrics.partitions;
    let doing = context.node.partitions();
    for state in ["actualizing", "serving", "stopped"] {
        let count = doing.iter().filter(|(_, doing)| word(doing) == state).count();
        let count = i64::try_from(count).expect("few partitions");
        partitions.get_or_create(&Doing { state }).set(count);
    }
    let damaged_reads = context.node.damaged_reads();
    context.metrics.damaged_reads.inner().fetch_max(damaged_reads, Ordering::Relaxed);
    let sync_pending = context.node.sync_pending().unwrap_or_default();
    context.metrics.sync_pending.set(sync_pending.as_secs_f64());
    context.metrics.of_node.measure(&context).await;
    let mut body = String::new();
    text::encode(&mut body, &context.metrics.registry).expect("a text takes all that is written");
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], body).into_response()
}

/// What a request is counted as, before it is known how it is answered.
pub(crate) struct CountedAs {
    method: &'static str,
    route: Option<MatchedPath>,
}

impl CountedAs {
    pub(crate) fn of(request: &Request) -> Self {
        let method = match *request.method() {
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            Method::POST => "POST",
            Method::PUT => "PUT",
            Method::PATCH => "PATCH",
            _ => "other",
        };
        Self { method, route: request.extensions().get::<MatchedPath>().cloned() }
    }
}
