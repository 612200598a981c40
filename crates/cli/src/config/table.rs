//! Every setting: its name, what it takes, what it is for.

use seriatim_types::limits::{KEYS_MAX, PARTITIONS_MAX};

use super::Settings;
use super::value::{Field, Kind, Value};

/// A row of the table.
pub(super) struct Setting {
    /// Its section and its own name, with a dot between them.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What it is for, in one or two sentences.
    pub(super) about: &'static str,
    get: fn(&Settings) -> Value,
    set: fn(&mut Settings, Value),
}

impl Setting {
    /// Its value among settings, as it is written in a file.
    pub(super) fn show(&self, settings: &Settings) -> serde_json::Value {
        self.kind.show(&(self.get)(settings))
    }

    pub(super) fn set(&self, settings: &mut Settings, value: Value) {
        (self.set)(settings, value);
    }

    /// Its section, which is empty for those that stand at the top, and its own name.
    pub(super) fn section_and_key(&self) -> (&'static str, &'static str) {
        self.name.split_once('.').unwrap_or(("", self.name))
    }
}

/// What each section is about, in the order in which they are shown.
pub(super) const SECTIONS: &[(&str, &str)] = &[
    ("", "Where the server listens and where its data lies."),
    (
        "server",
        "Who may ask the server and how much at the same time, and how long clients are waited for.",
    ),
    (
        "node",
        "The partitions of this node, each for itself: batches, queues, numbers, subscriptions.",
    ),
    ("storage", "The tables on disk."),
    (
        "apps",
        "What a new app gets that does not say otherwise. Apps that exist keep what they have.",
    ),
];

macro_rules! settings {
    ($($kind:expr, $name:literal = $($field:ident).+, $about:literal;)*) => {
        &[$(Setting {
            name: $name,
            kind: $kind,
            about: $about,
            get: |settings| settings.$($field).+.value(),
            set: |settings, value| settings.$($field).+.take(value),
        }),*]
    };
}

use Kind::{Address, Bytes, Count, Folder, Hosts, Retention, Time};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;
const TIB: u64 = 1024 * GIB;

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

pub(super) const TABLE: &[Setting] = settings! {
    Address, "listen" = listen,
        "The address to listen on. Only one that other machines cannot reach, because there is no \
         authentication yet. Port 0 takes any that is free.";
    Folder, "data" = data,
        "The folder that holds the data. It is made if it is not there. One server at a time uses it.";

    Hosts, "server.hosts" = server.hosts,
        "Names under which the server may be asked, beside addresses and localhost; * for any. So a \
         web page cannot reach it by binding a name of its own to this machine's address.";
    Count(1..=100_000), "server.connections_max" = server.connections_max,
        "Connections that may be open at the same time. Further ones wait to be accepted.";
    Time(SECOND..=HOUR), "server.header_within" = server.header_within,
        "How long a client may take for the head of a request, and before its first one.";
    Count(1..=1000), "server.headers_max" = server.headers_max,
        "Headers that a request may have.";
    Bytes(8 * KIB..=MIB), "server.header_bytes_max" = server.header_bytes_max,
        "Bytes that the head of a request may have.";
    Time(SECOND..=HOUR), "server.body_within" = server.body_within,
        "How long a client may take for the body of a request. Streams have no end in time.";
    Count(1..=100_000), "server.streams_per_connection_max" = server.streams_per_connection_max,
        "Requests that may be open at the same time on one connection of HTTP/2.";
    Count(1..=100_000), "server.subscriptions_max" = server.subscriptions_max,
        "Subscriptions that may be open at the same time. Further ones are refused as RATE_LIMITED.";
    Count(1..=1_000_000), "server.stream_in_flight_max" = server.stream_in_flight_max,
        "Commands of one stream that may be on their way. Further ones are not read.";
    Time(SECOND..=HOUR), "server.answer_within" = server.answer_within,
        "How long the answer to a command or a definition is waited for. Then its outcome is unknown.";
    Time(1..=MINUTE), "server.offset_within" = server.offset_within,
        "How long a read waits for its min_offset when it does not say how long.";
    Time(SECOND..=HOUR), "server.keep_alive" = server.keep_alive,
        "How often a subscription without events says that it is alive, and a connection of HTTP/2 is \
         asked whether it is.";
    Time(1..=HOUR), "server.end_within" = server.end_within,
        "How long answers in flight may take once the server is to end.";

    Count(1..=4096), "node.batch_entries_max" = node.batch_entries_max,
        "Entries that one commit may hold.";
    Count(1..=1_000_000), "node.queue_max" = node.queue_max,
        "Requests that wait for a partition's answer. Further ones are answered BUSY.";
    Count(1..=64), "node.commits_in_flight_max" = node.commits_in_flight_max,
        "Commits that may wait for the disk at the same time.";
    Count(1..=100_000_000), "node.cached_rows_max" = node.cached_rows_max,
        "Rows of numbers that the sequencer keeps in memory.";
    Count(1..=100_000_000), "node.cached_workspaces_max" = node.cached_workspaces_max,
        "Rows of workspaces that are kept in memory.";
    Count(1..=1_000_000), "node.unflushed_rows_max" = node.unflushed_rows_max,
        "Rows of numbers that may wait for a checkpoint before commands are answered BUSY. Those of \
         four commits are always allowed.";
    Time(0..=MINUTE), "node.checkpoint_delay" = node.checkpoint_delay,
        "How long numbers wait for a checkpoint at least.";
    Time(1..=MINUTE), "node.tick_interval" = node.tick_interval,
        "How often a partition looks for what is due, such as entities that expire.";
    Count(1..=1_000_000), "node.actualize_events" = node.actualize_events,
        "Events that are read in one go while numbers are read from the log.";
    Time(1..=HOUR), "node.view_renewal" = node.view_renewal,
        "How long readers of a partition in which nothing happens are shown the same snapshot.";
    Count(1..=1_000_000_000), "node.subscription_lag_max" = node.subscription_lag_max,
        "Events that a subscription that had caught up may fall behind before it ends as LAGGED.";

    Bytes(64 * KIB..=GIB), "storage.memtable_bytes" = storage.memtable_bytes,
        "New rows that a table keeps in memory before it writes them to a file. Small ones mean \
         short stalls and a fast start after a crash.";
    Bytes(64 * MIB..=TIB), "storage.journal_bytes_max" = storage.journal_bytes_max,
        "Journal above which tables that lag behind are written out. This bounds what is read again \
         after a crash.";
    Bytes(0..=TIB), "storage.cache_bytes" = storage.cache_bytes,
        "Blocks of files that are kept in memory, for all tables together.";
    Bytes(0..=TIB), "storage.disk_reserve_bytes" = storage.disk_reserve_bytes,
        "Free disk below which commands are answered BUSY.";
    Count(1..=64), "storage.worker_threads" = storage.worker_threads,
        "Threads that write out and merge tables.";

    Count(1..=PARTITIONS_MAX as u64), "apps.partitions" = apps.partitions,
        "Partitions of a new app. It can never be changed later.";
    Count(0..=2), "apps.trust_level" = apps.trust_level,
        "What is checked to be new before it is written: 0 events and new records, 1 events, 2 nothing.";
    Retention, "apps.idempotency_retention" = apps.retention,
        "How long a command that is sent again is known by its key.";
    Count(1..=KEYS_MAX), "apps.idempotency_keys_max" = apps.keys_max,
        "Keys that a partition keeps at most. At this many, new commands are refused as \
         KEY_WINDOW_FULL.";
};
