//! Why an entry is not carried out.
//!
//! A refusal is a result like any other: the same state and the same entry give the same refusal,
//! and it leaves no trace. When several things are wrong, this is the order in which they are
//! found, and only the first is told:
//!
//! ```text
//!  1  the workspace          INVALID_ARGUMENT
//!  2  the idempotency key    a repetition, IDEMPOTENCY_KEY_REUSED
//!  3  the deadline           DEADLINE_EXCEEDED
//!  4  the key window         KEY_WINDOW_FULL
//!  5  limits                 TOO_LARGE
//!  6  the shape, in order    INVALID_ARGUMENT, UNKNOWN_KIND, UNKNOWN_SEQUENCE
//!  7  the place              OFFSET_MISMATCH
//!  8  numbers, in order      SEQUENCE_EXHAUSTED
//!  9  the state, in order    RECORD_EXISTS, SINGLETON_EXISTS, RECORD_NOT_FOUND, KEY_EXISTS,
//!                            KEY_NOT_FOUND, VERSION_MISMATCH, VALUE_MISMATCH, TOO_LARGE
//! ```
//!
//! *In order* means the order of the document: events, in each its arguments before its changes.
//! Changes see what the changes before them did.

use bytes::Bytes;
use seriatim_types::{EntityKey, Fields, Name, Number, PartitionOffset, Time};

/// Why an entry is not carried out. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Something that cannot be meant.
    #[error("{field}: {why}")]
    InvalidArgument {
        /// Where it stands.
        field: String,
        /// What is wrong with it.
        why: String,
    },
    /// A sequence that the workspace does not have.
    #[error(
        "there is no sequence {:?} for this kind of workspace: define it, or correct the name", name.as_str())]
    UnknownSequence {
        /// Its name.
        name: Name,
        /// Where it stands.
        field: String,
    },
    /// A kind of workspaces or records that is not defined.
    #[error("there is no kind {:?}: define it, or correct the name", name.as_str())]
    UnknownKind {
        /// Its name.
        name: Name,
        /// Where it stands.
        field: String,
    },
    /// Not for callers to do.
    #[error("{why}")]
    PermissionDenied {
        /// What is not allowed.
        why: &'static str,
    },
    /// An app that does not exist. `None` where only its number is known: to a partition that does not
    /// have the app's definition yet. Whoever knows the name [adds it](Self::of_app).
    #[error("{}", no_app(.0.as_ref()))]
    AppNotFound(Option<NoApp>),
    /// A record that does not exist.
    #[error("there is no record {id}")]
    RecordNotFound {
        /// Its id.
        id: u64,
    },
    /// An app that exists with other settings.
    #[error("the app exists with another `{setting}`, which cannot be changed")]
    AppExists {
        /// The first setting that differs, as over HTTP.
        setting: &'static str,
    },
    /// A definition that contradicts an earlier one.
    #[error("{:?} is defined otherwise: {why}", name.as_str())]
    DefinitionConflict {
        /// What is defined.
        name: Name,
        /// What cannot be changed.
        why: &'static str,
    },
    /// A workspace that has another kind.
    #[error("the workspace is of kind {:?} and stays so", current.as_str())]
    KindConflict {
        /// The kind that it has.
        current: Name,
    },
    /// An imported id that a record has.
    #[error("there is a record {id} already")]
    RecordExists {
        /// The id.
        id: Number,
    },
    /// A second record of a kind that has at most one.
    #[error("the workspace has its one record of kind {:?} already: it is {id}", kind.as_str())]
    SingletonExists {
        /// The kind.
        kind: Name,
        /// The fixed id.
        id: Number,
    },
    /// A sequence that has given all its numbers.
    #[error("{what} can give no more numbers")]
    SequenceExhausted {
        /// Which one.
        what: Exhausted,
    },
    /// An entity that was to be absent.
    #[error("{:?} exists", key.as_str())]
    KeyExists {
        /// Its key.
        key: EntityKey,
        /// What it is now.
        current: Current,
    },
    /// An entity that was to be there, in whatever version and with whatever value.
    #[error("{:?} does not exist", key.as_str())]
    KeyNotFound {
        /// Its key.
        key: EntityKey,
    },
    /// Another version than was expected.
    #[error("{subject} has another version")]
    VersionMismatch {
        /// What it is about.
        subject: Subject,
        /// What it is now.
        current: Current,
    },
    /// Another value than was expected.
    #[error("{:?} has another value", key.as_str())]
    ValueMismatch {
        /// Its key.
        key: EntityKey,
        /// What it is now.
        current: Current,
    },
    /// The workspace has moved on.
    #[error("the last offset of the workspace is {current}")]
    OffsetMismatch {
        /// Its last offset; 0 for none.
        current: u64,
    },
    /// More than a limit allows.
    #[error("{what}: {found} is more than the limit of {max}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        max: u64,
        /// How much there is.
        found: u64,
    },
    /// The same key came with another request before.
    #[error("this idempotency key belongs to another request: send a new request with a new key")]
    KeyReused {
        /// The first event of the other request.
        first: PartitionOffset,
    },
    /// The partition keeps as many idempotency keys as it may.
    #[error(
        "the partition keeps {max} idempotency keys, as many as it may: {}raise or remove the app's \
         idempotency_keys_max", if *.keys_expire { "wait until some expire, or " } else { "" }
    )]
    KeyWindowFull {
        /// How many it may keep.
        max: u64,
        /// Whether waiting makes room.
        keys_expire: bool,
    },
    /// Too late.
    #[error("the deadline has passed")]
    DeadlineExceeded {
        /// The deadline.
        deadline: Time,
        /// The time of the entry.
        time: Time,
    },
}

/// A sequence that has given all its numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// One of the app's own.
    #[error("sequence {:?}", .0.as_str())]
    Sequence(Name),
    /// That of the ids of records, one of which a record of this kind was to get.
    #[error("record ids of kind {:?}", .0.as_str())]
    RecordIds(Name),
    /// The offsets of a log.
    #[error("the log")]
    Log,
    /// The numbers of a client's commands.
    #[error("the client's own sequence")]
    Client,
    /// The ids of workspaces that have names.
    #[error("the ids of named workspaces")]
    Workspaces,
    /// The ids of apps.
    #[error("the ids of apps")]
    Apps,
}

/// What a refusal is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// An entity.
    Entity(EntityKey),
    /// A record.
    Record(Number),
}

/// What something is at the moment of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// Its version.
    pub version: u64,
    /// What it holds.
    pub value: CurrentValue,
}

/// An app that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoApp {
    /// The name that was asked for.
    pub name: Name,
    /// An app that may have been meant.
    pub similar: Option<Name>,
}

impl std::fmt::Display for NoApp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, similar } = self;
        write!(f, "there is no app {:?}", name.as_str())?;
        match similar {
            Some(similar) => write!(f, "; did you mean {:?}?", similar.as_str()),
            None => Ok(()),
        }
    }
}

fn no_app(app: Option<&NoApp>) -> String {
    app.map_or_else(|| "the app has no definition here yet".to_owned(), NoApp::to_string)
}

/// What something holds at the moment of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CurrentValue {
    /// The value of an entity.
    Entity(Bytes),
    /// The fields of a record.
    Record(Fields),
}

/// The code of each refusal. One row per variant, so that [`Refusal::CODES`] has all of them.
macro_rules! codes {
    ($($variant:ident => $code:literal,)*) => {
        impl Refusal {
            /// The codes of all refusals.
            pub const CODES: &[&str] = &[$($code),*];

            /// The stable code that clients go by.
            #[must_use]
            pub fn code(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $code),* }
            }
        }
    };
}

codes! {
    InvalidArgument => "INVALID_ARGUMENT",
    UnknownSequence => "UNKNOWN_SEQUENCE",
    UnknownKind => "UNKNOWN_KIND",
    PermissionDenied => "PERMISSION_DENIED",
    AppNotFound => "APP_NOT_FOUND",
    RecordNotFound => "RECORD_NOT_FOUND",
    AppExists => "APP_EXISTS",
    DefinitionConflict => "DEFINITION_CONFLICT",
    KindConflict => "KIND_CONFLICT",
    RecordExists => "RECORD_EXISTS",
    SingletonExists => "SINGLETON_EXISTS",
    SequenceExhausted => "SEQUENCE_EXHAUSTED",
    KeyExists => "KEY_EXISTS",
    KeyNotFound => "KEY_NOT_FOUND",
    VersionMismatch => "VERSION_MISMATCH",
    ValueMismatch => "VALUE_MISMATCH",
    OffsetMismatch => "OFFSET_MISMATCH",
    TooLarge => "TOO_LARGE",
    KeyReused => "IDEMPOTENCY_KEY_REUSED",
    KeyWindowFull => "KEY_WINDOW_FULL",
    DeadlineExceeded => "DEADLINE_EXCEEDED",
}

impl Refusal {
    /// The same with the name of the app that was asked for, where it has none.
    #[must_use]
    pub fn of_app(self, app: &Name) -> Self {
        if self == Self::AppNotFound(None) {
            return Self::AppNotFound(Some(NoApp { name: app.clone(), similar: None }));
        }
        self
    }

    /// Whether the same request can succeed later without anybody changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::KeyWindowFull { keys_expire: true, .. })
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Entity(key) => write!(f, "{:?}", key.as_str()),
            Self::Record(id) => write!(f, "record {id}"),
        }
    }
}
