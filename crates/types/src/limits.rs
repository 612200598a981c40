//! Every limit of the system, in one place. Nothing is unbounded.
//!
//! A limit is checked where bytes enter and asserted where they are used. Raising one is
//! allowed; lowering one can make stored data unreadable and needs a migration.
//!
//! What a command may hold is part of the definitions of its app, so that all replicas go by the
//! same; the values here are what a new app gets. The other limits that apply goes by (items of a
//! tick, messages of an entry, how much can be defined) must not change without a version of the
//! definitions that says so: replicas of different releases would come to different states.

/// Longest key of a stored row. Far above any key that we build, and below the 65,535
/// bytes at which storage engines stop.
pub const KEY_BYTES_MAX: usize = 8 * 1024;

/// Longest value of a stored row.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Keys and values of one storage batch, added up. A batch is held in memory whole and
/// becomes visible whole, so it must stay well below the memory of a small machine.
pub const BATCH_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Rows that one storage batch may write.
pub const BATCH_ROWS_MAX: usize = 1024 * 1024;

/// Ranges that one storage batch may ask to be empty. Each is looked up while all other
/// writers wait.
pub const BATCH_RANGES_MAX: usize = 16 * 1024;

/// Tables of one store.
pub const TABLES_MAX: usize = 64;

/// Longest name of a table.
pub const TABLE_NAME_BYTES_MAX: usize = 64;

/// Longest name of a client: characters, of which each has up to four bytes.
pub const CLIENT_ID_CHARS_MAX: usize = 255;

/// Sequences that one kind of workspaces may have, the built-in ones included. They are kept
/// in one row and searched one by one.
pub const SEQUENCES_PER_KIND_MAX: usize = 64;

/// Ranges of one sequence.
pub const RANGES_MAX: usize = 16;

/// Longest presentation of a sequence, as it is written in its definition.
pub const FORMAT_BYTES_MAX: usize = 128;

/// Record kinds of an app that are singletons: as many as there are fixed ids.
pub const SINGLETONS_MAX: usize = 512;

/// Longest name of an app, a workspace, a kind, a sequence or an event.
pub const NAME_BYTES_MAX: usize = 255;

/// Longest key of an entity.
pub const ENTITY_KEY_BYTES_MAX: usize = 1024;

/// Longest name of a record's field.
pub const FIELD_NAME_BYTES_MAX: usize = 255;

/// How deep the arrays and objects of a command's JSON may be nested. The whole request counts.
pub const JSON_DEPTH_MAX: usize = 64;

/// Events of one command.
pub const EVENTS_PER_COMMAND_MAX: u32 = 256;

/// Changes of all events of one command.
pub const CHANGES_PER_COMMAND_MAX: u32 = 4096;

/// Numbers that one command draws. With the longest presentation, their texts still fit into a
/// stored row.
pub const DRAWS_PER_COMMAND_MAX: u32 = 4096;

/// Holes that one command may have.
pub const HOLES_PER_COMMAND_MAX: u32 = 16_384;

/// Names, keys and values of one command, added up.
pub const COMMAND_BYTES_MAX: u32 = 1024 * 1024;

/// One field of a record, one value of an entity, the arguments of one event.
pub const FIELD_BYTES_MAX: u32 = 512 * 1024;

/// Fields of one record.
pub const FIELDS_PER_RECORD_MAX: u32 = 1024;

/// All fields of one record. Updates add fields, so a record can outgrow a command.
pub const RECORD_BYTES_MAX: u32 = 1024 * 1024;

/// Arguments and rows that one command writes, every change counted: a small command can rewrite
/// many large records. What a command comes to always fits into one storage batch, and its events
/// into rows.
pub const WRITTEN_BYTES_PER_COMMAND_MAX: u32 = 8 * 1024 * 1024;

/// Items of one tick: bounded steps, so that a tick never holds up commands for long.
pub const TICK_ITEMS_MAX: usize = 1024;

/// Messages that one entry removes from the outbox.
pub const DELIVERED_MAX: u64 = 1024;

/// Partitions of one app.
pub const PARTITIONS_MAX: u16 = 1024;

/// Kinds of workspaces of one app, the default one included.
pub const WORKSPACE_KINDS_MAX: usize = 256;

/// Kinds of records of one app.
pub const RECORD_KINDS_MAX: usize = 4096;

/// Sequences of one app, of all its kinds.
pub const SEQUENCES_MAX: usize = 4096;

/// Longest finite retention of idempotency keys: ten years, in milliseconds.
pub const RETENTION_MS_MAX: u64 = 10 * 366 * 24 * 60 * 60 * 1000;

/// Highest limit of idempotency keys that an app may set for its partitions. Without one there is
/// no limit.
pub const KEYS_MAX: u64 = 1_000_000_000;

/// The first workspace id that belongs to a name; those below are chosen by callers.
pub const NAMED_WORKSPACE_FIRST: u64 = 1 << 40;

/// Places of one run, the unit in which a projection's work is leased. A hop between threads costs
/// about 90 microseconds, which is little for so many events. No command has more events, so a run
/// can end where a command ends.
pub const LANE_RUN_PLACES_MAX: u32 = 512;

/// Bytes of events after which a run ends, at the end of the command that passes it.
pub const LANE_RUN_BYTES: u64 = 1024 * 1024;

/// Runs of one projection that are offered and not committed, unless a setting says otherwise.
pub const LANE_RUNS_DEFAULT: usize = 64;

/// What that setting may say at most.
pub const LANE_RUNS_MAX: usize = 4096;

/// Bytes of events in those runs. A single run may be larger, or it could never be done.
pub const LANE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Shortest lease. Shorter ones expire under a worker that the operating system held up.
pub const LEASE_MS_MIN: u64 = 10 * 1000;

/// Longest lease, and longest extension by one renewal.
pub const LEASE_MS_MAX: u64 = 10 * 60 * 1000;

/// Lease of a projection with too few samples to estimate from.
pub const LEASE_MS_FIRST: u64 = 60 * 1000;

/// Samples from which on a lease is estimated.
pub const LEASE_SAMPLES_MIN: u64 = 32;

/// Samples after which the histogram is halved, so that old ones lose weight.
pub const LEASE_SAMPLES_MAX: u64 = 4096;

/// Renewals of one lease. Work that needs more is taken for hung, and expires.
pub const LEASE_RENEWALS_MAX: u32 = 6;

/// Finished leases over which averages and ratios are taken.
pub const LEASE_WINDOW: usize = 1024;

/// Retries of an event that its handler fails.
pub const HANDLER_RETRIES_MAX: u32 = 5;

/// First delay before a failed handler is called again. It doubles each time.
pub const HANDLER_RETRY_MS_MIN: u64 = 100;

/// Longest delay before a failed handler is called again.
pub const HANDLER_RETRY_MS_MAX: u64 = 30 * 1000;

/// First delay after a failure of the database. It doubles each time.
pub const DATABASE_RETRY_MS_MIN: u64 = 100;

/// Longest delay after a failure of the database, which is retried for ever.
pub const DATABASE_RETRY_MS_MAX: u64 = 10 * 1000;

/// Commands of a workflow run that may wait to be recorded. More than this is a loop that creates
/// commands and awaits nothing.
pub const UNRECORDED_COMMANDS_MAX: usize = 100_000;

/// Polls of workflow code for one delivery. More than this is code that wakes itself for ever.
pub const POLLS_PER_DELIVERY_MAX: u32 = 100_000;

/// Longest part of a value that a determinism violation shows.
pub const VIOLATION_VALUE_BYTES_MAX: usize = 1024;
