//! Every setting: its name, what it takes, what it is for.

use seriatim_types::limits::{KEYS_MAX, PARTITIONS_MAX, RETENTION_MS_MAX};

use super::Settings;
use super::value::{Field, Kind, Value, names};
use crate::server_log::{LogFormat, LogLevel};

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
        "clock",
        "When a clock is believed that is more than ten minutes ahead of the newest time in the store. \
         One that is not believed is shown by `/readyz`, and commands are BUSY until it is set right or \
         accepted with `seriatim clock accept`.",
    ),
    (
        "apps",
        "What a new app gets that does not say otherwise. Apps that exist keep what they have, and \
         making one again that does not say otherwise is no error.",
    ),
    (
        "log",
        "What a server logs on standard error, a line for each event: see [the command line](cli.md#the-log).",
    ),
];

/// A row for each field. Its name is that of the field, unless the contract for clients calls it
/// otherwise.
macro_rules! settings {
    ($($($field:ident).+ $(as $name:literal)?: $kind:expr, $about:literal;)*) => {
        &[$(Setting {
            name: named!($($field).+ $(, $name)?),
            kind: $kind,
            about: $about,
            get: |settings| Field::value(&settings.$($field).+),
            set: |settings, value| Field::take(&mut settings.$($field).+, value),
        }),*]
    };
}

macro_rules! named {
    ($($field:ident).+, $name:literal) => {
        $name
    };
    ($field:ident) => {
        stringify!($field)
    };
    ($section:ident.$field:ident) => {
        concat!(stringify!($section), ".", stringify!($field))
    };
}

use Kind::{
    Address, Bytes, Choice, Count, CountOrNone, Flag, Folder, Hosts, Retention, Time, TimeOrNone,
};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;
const TIB: u64 = 1024 * GIB;

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

pub(super) const TABLE: &[Setting] = settings! {
    listen: Address,
        "The address to listen on. Only one that other machines cannot reach, because there is no \
         authentication yet. Port 0 takes any that is free.";
    data: Folder,
        "The folder that holds the data. It is made if it is not there. One server at a time uses it.";

    server.hosts: Hosts,
        "Names under which the server may be asked, beside addresses and localhost; * for any. So a \
         web page cannot reach it by binding a name of its own to this machine's address.";
    server.connections_max: Count(1..=100_000),
        "Connections that may be open at the same time. Further ones wait to be accepted.";
    server.header_within: Time(SECOND..=HOUR),
        "How long a client may take for the head of a request, and before its first one.";
    server.headers_max: Count(1..=1000),
        "Headers that a request may have.";
    server.header_bytes_max: Bytes(8 * KIB..=MIB),
        "Bytes that the head of a request may have.";
    server.body_within: Time(SECOND..=HOUR),
        "How long a client may take for the body of a request, or for a message of a stream that it has begun.";
    server.unread_within: Time(SECOND..=HOUR),
        "How long a client may read nothing while something is to be written to it. Then its \
         connection is closed.";
    server.held_bytes_max: Bytes(16 * MIB..=TIB),
        "Memory for requests received in part (a quarter), for reads under way (three eighths) and for large \
         answers that are not sent yet (three eighths), of all clients together. A list reserves 24 MiB to be \
         read, and its own size until it is sent. What does not fit is refused as RATE_LIMITED.";
    server.reserve_within: Time(0..=MINUTE),
        "How long a read waits for its share of held_bytes_max, in turn, before it is refused as \
         RATE_LIMITED. One with wait_ms has the rest of that time if it is longer.";
    server.streams_per_connection_max: Count(1..=100_000),
        "Requests that may be open at the same time on one connection of HTTP/2.";
    server.subscriptions_max: Count(1..=100_000),
        "Subscriptions that may be open at the same time. Further ones are refused as RATE_LIMITED.";
    server.submit_streams_max: Count(1..=100_000),
        "Streams of commands that may be open at the same time. Further ones are refused as RATE_LIMITED.";
    server.stream_in_flight_max: Count(1..=1_000_000),
        "Commands of one stream that may be on their way. Further ones are not read.";
    server.stream_bytes_max: Bytes(1..=GIB),
        "Bytes of those commands in memory at which no further one is read.";
    server.answer_within: Time(SECOND..=HOUR),
        "How long the answer to a command or a definition is waited for. Then its outcome is unknown.";
    server.offset_within: Time(1..=MINUTE),
        "How long a read waits for its min_offset when it does not say how long.";
    server.keep_alive: Time(SECOND..=HOUR),
        "How often a subscription without events says that it is alive, and a connection of HTTP/2 is \
         asked whether it is.";
    server.end_within: Time(1..=HOUR),
        "How long answers in flight may take once the server is to end.";

    node.partitions_max: Count(1..=16_384),
        "Partitions of all apps together, a thread each. An app that would bring more is refused as \
         TOO_LARGE. Those that are there are served.";
    node.batch_entries_max: Count(1..=4096),
        "Entries that one commit may hold.";
    node.commit_bytes: Bytes(1..=32 * MIB),
        "Bytes of rows at which a commit takes no more entries. One entry may come on top.";
    node.queue_max: Count(1..=1_000_000),
        "Requests that wait for a partition's answer. Further ones are answered BUSY.";
    node.queue_bytes_max: Bytes(1..=TIB),
        "Bytes of commands in memory that wait for a partition's answer. Further ones are answered BUSY.";
    node.commits_in_flight_max: Count(1..=64),
        "Commits that may wait for the disk at the same time.";
    node.sync_stalled_after: Time(1..=HOUR),
        "How long a sync may be pending before `/readyz` is 503 and standard error says so.";
    node.slow_after: Time(0..=HOUR),
        "How long a commit or a sync may take before it is logged as slow.";
    node.cached_rows_max: Count(1..=100_000_000),
        "Rows of numbers that the sequencer keeps in memory.";
    node.cached_workspaces_max: Count(1..=100_000_000),
        "Rows of workspaces that are kept in memory, and clients of which some keys are known to be new.";
    node.unflushed_rows_max: Count(1..=1_000_000),
        "Rows of numbers that may wait for a checkpoint before commands are answered BUSY. Those of \
         four commits are always allowed.";
    node.checkpoint_delay: Time(0..=MINUTE),
        "How long numbers wait for a checkpoint at least.";
    node.tick_interval: Time(1..=MINUTE),
        "How often a partition looks for what is due, such as entities that expire.";
    node.due_items_max: Count(1..=512),
        "Entities, and as many events whose keys are over, that are removed in one step.";
    node.actualize_events: Count(1..=1_000_000),
        "Events that are read in one go while numbers are read from the log.";
    node.view_renewal: Time(1..=HOUR),
        "How long readers of a partition in which nothing happens are shown the same snapshot.";
    node.page_events: Count(1..=4096),
        "Events that a subscription gives at a time.";
    node.subscription_lag_max: Count(1..=1_000_000_000),
        "Events that a subscription that had caught up may fall behind before it ends as LAGGED.";

    storage.memtable_bytes: Bytes(64 * KIB..=GIB),
        "New rows that a table keeps in memory before it writes them to a file. Small ones mean \
         short stalls and a fast start after a crash.";
    storage.journal_bytes_max: Bytes(64 * MIB..=TIB),
        "Journal above which tables that lag behind are written out. This bounds what is read again \
         after a crash.";
    storage.cache_bytes: Bytes(0..=TIB),
        "Blocks of files that are kept in memory, for all tables together.";
    storage.disk_reserve_bytes: Bytes(0..=TIB),
        "Free disk below which commands are answered BUSY.";
    storage.worker_threads: Count(1..=64),
        "Threads that write out and merge tables.";

    clock.jump_max: TimeOrNone(0..=RETENTION_MS_MAX),
        "How far the clock may be ahead although nobody vouches for it: as long as a server may be down or \
         idle before it is started again. All steps of one run together. `dev` has no limit.";
    clock.trust_kernel: Flag,
        "Whether a clock is believed, however far ahead, that the kernel calls synchronised.";

    apps.partitions: Count(1..=PARTITIONS_MAX as u64),
        "Partitions of a new app, a thread and about 1.2 MiB each. It can never be changed later.";
    apps.trust_level: Count(0..=2),
        "What is checked to be new before it is written: 0 events and new records, 1 events, 2 nothing.";
    apps.retention as "apps.idempotency_retention": Retention,
        "How long a command that is sent again is known by its key.";
    apps.keys_max as "apps.idempotency_keys_max": CountOrNone(1..=KEYS_MAX),
        "Keys that a partition keeps at most. At this many, new commands are refused as \
         KEY_WINDOW_FULL. It can be changed later (`PATCH /v1/apps/{app}`).";

    log.format: Choice(|| names(LogFormat::NAMED)),
        "Lines for people, or a JSON object for each.";
    log.level: Choice(|| names(LogLevel::NAMED)),
        "The least severe events that are logged. `dev` logs from warn on.";
};
