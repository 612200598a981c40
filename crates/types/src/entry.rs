//! What a partition applies, one after the other.

use crate::{
    AppId, ClientId, Command, CommandLimits, Definition, EntityKey, Key, Name, PartitionId,
    PartitionOffset, RecordClass, RecordIdScheme, Reset, Retention, Time, TrustLevel, WorkspaceId,
    WorkspaceRef,
};

/// The unit that is committed and applied. Entries travel in groups, and nothing depends on how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When it was proposed, by its proposer's clock.
    pub time: Time,
    /// What it is.
    pub body: Body,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A client's command.
    Command(Command),
    /// The kind of a workspace.
    Declare(Declare),
    /// Time has passed.
    Tick(Tick),
    /// A message of another partition.
    Delivery(Delivery),
    /// Messages have reached another partition.
    Delivered(Delivered),
    /// A definition, in the system app only.
    Define(Define),
}

/// Settles the kind of a workspace before its first event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declare {
    /// The workspace.
    pub workspace: WorkspaceRef,
    /// Its kind.
    pub kind: Name,
}

/// Names what its proposer found to be due. Apply looks at each again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tick {
    /// Entities whose expiry may have come.
    pub entities: Vec<DueEntity>,
    /// Idempotency keys whose retention may have ended.
    pub keys: Vec<DueKey>,
    /// All keys of events up to this one are named, here or earlier.
    pub keys_through: Option<PartitionOffset>,
}

/// An entity whose expiry may have come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueEntity {
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// Its key.
    pub key: EntityKey,
    /// The expiry under which it was found.
    pub expires_at: Time,
}

/// An idempotency key whose retention may have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueKey {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The client.
    pub client: ClientId,
    /// The key.
    pub key: Key,
}

/// A partition of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartitionRef {
    /// The app.
    pub app: AppId,
    /// The partition.
    pub partition: PartitionId,
}

/// A message of another partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Who sends it.
    pub source: PartitionRef,
    /// Counts the messages from there to here, from 1.
    pub number: u64,
    /// The message.
    pub message: Message,
}

/// What one partition tells another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A step of the app's definitions.
    Definition {
        /// The version that it makes.
        version: u64,
        /// The step.
        definition: Box<Definition>,
    },
}

/// Messages have reached another partition and are durable there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// Where.
    pub target: PartitionRef,
    /// The first of them.
    pub first: u64,
    /// The last of them.
    pub through: u64,
}

/// A definition that somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Define {
    /// The app.
    pub app: Name,
    /// What is asked for.
    pub request: DefineRequest,
}

/// What can be asked for. Ids are given when it is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefineRequest {
    /// A new app.
    App {
        /// How many partitions it has.
        partitions: u16,
        /// How its records are numbered.
        record_ids: RecordIdScheme,
        /// How much its partitions trust their own numbers.
        trust_level: TrustLevel,
        /// How long idempotency keys are kept.
        retention: Retention,
        /// How many of them a partition keeps at most; `None` for no limit.
        keys_max: Option<u64>,
        /// What its commands may hold.
        limits: CommandLimits,
    },
    /// A kind of workspaces.
    Kind {
        /// Its name.
        name: Name,
    },
    /// A sequence.
    Sequence {
        /// Its name.
        name: Name,
        /// The kind of workspaces that has it.
        kind: Name,
        /// First and last number of each range, in the order of their use.
        ranges: Vec<(u64, u64)>,
        /// How its numbers are shown.
        format: String,
        /// Whether it begins anew.
        reset: Reset,
        /// Where its years turn, in minutes from UTC.
        utc_offset_minutes: i16,
    },
    /// A sequence of which some members may be left out.
    SequenceMembers {
        /// Its name.
        name: Name,
        /// What is said of it.
        members: SequenceMembers,
    },
    /// A kind of records of which some members may be left out.
    RecordMembers {
        /// Its name.
        name: Name,
        /// What is said of it.
        members: RecordMembers,
    },
    /// A kind of records.
    Record {
        /// Its name.
        name: Name,
        /// Its class.
        class: RecordClass,
        /// Whether a workspace has at most one.
        singleton: bool,
    },
    /// Another limit of idempotency keys for an app that is there.
    KeyLimit {
        /// How many a partition keeps at most; `None` for no limit.
        keys_max: Option<u64>,
    },
}

/// What a request says of a sequence. What it leaves out is the default of a new one, and stays as it
/// is of one that is there: only where the request is decided is it known which of the two holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SequenceMembers {
    /// The kind of workspaces that has it; `default`.
    pub kind: Option<Name>,
    /// First and last number of each range, in the order of their use; one range of all numbers.
    pub ranges: Option<Vec<(u64, u64)>>,
    /// How its numbers are shown; `{n}`.
    pub format: Option<String>,
    /// Whether it begins anew; never.
    pub reset: Option<Reset>,
    /// Where its years turn, in minutes from UTC; 0.
    pub utc_offset_minutes: Option<i16>,
}

/// The same of a kind of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordMembers {
    /// Its class; c.
    pub class: Option<RecordClass>,
    /// Whether a workspace has at most one; no.
    pub singleton: Option<bool>,
}
