//! What was found: where, what should be there, what is there.

use std::fmt;

use seriatim_codec::Table;
use seriatim_storage::{OpenError, ReadError};
use seriatim_types::{AppId, Name, PartitionId, PartitionOffset, PartitionRef};

/// Why a store is not what its events say, or why that cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something differs. It is the first in the order of checking.
    #[error(transparent)]
    Different(#[from] Box<Difference>),
    /// A byte of a file is not what it should be, or the files cannot be read: which of the two, it says
    /// itself.
    #[error(transparent)]
    Files(OpenError),
    /// There are bytes behind the last whole commit.
    #[error(
        "{bytes} bytes behind byte {position} of {file} are no whole commit: a crash leaves such \
         bytes, and so does damage to the last commit; a start of the server cuts them off"
    )]
    TornTail {
        /// The journal.
        file: String,
        /// Where its last whole commit ends.
        position: u64,
        /// How many bytes there are, up to the last that is not zero.
        bytes: u64,
    },
    /// A row cannot be read.
    #[error("the store cannot be read")]
    Read(#[from] ReadError),
    /// There is no such app.
    #[error("there is no app {app}")]
    NoApp {
        /// The app that was asked for.
        app: Name,
        /// Those that there are.
        apps: Vec<Name>,
    },
    /// The app has no such sequence.
    #[error("there is no sequence {sequence}")]
    NoSequence {
        /// The sequence that was asked for.
        sequence: Name,
        /// Those that there are.
        sequences: Vec<Name>,
    },
    /// What does not fit into memory could not be put aside.
    #[error("a temporary file cannot be used")]
    Scratch(#[from] std::io::Error),
}

impl Error {
    /// The stable code of what was found.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Different(difference) => difference.kind.code(),
            Self::Files(OpenError::Foreign { .. }) => "FOLDER_OCCUPIED",
            Self::Files(_) => "FILE_DAMAGED",
            Self::TornTail { .. } => "TORN_TAIL",
            Self::Read(_) => "STORE_UNREADABLE",
            Self::NoApp { .. } => "APP_NOT_FOUND",
            Self::NoSequence { .. } => "NOT_FOUND",
            Self::Scratch(_) => "SCRATCH_FAILED",
        }
    }
}

/// One difference between what the events say and what is stored, or between an event and a law.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} at {place}: expected {expected}, found {found}", kind.code())]
pub struct Difference {
    /// What kind of difference.
    pub kind: Kind,
    /// Where.
    pub place: Place,
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

/// Where something was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The app.
    pub app: Option<AppId>,
    /// The partition.
    pub partition: Option<PartitionId>,
    /// The event, in the partition's log.
    pub offset: Option<PartitionOffset>,
    /// The table.
    pub table: Option<Table>,
    /// The row, in words.
    pub row: Option<String>,
}

impl Place {
    /// A partition.
    #[must_use]
    pub fn of(partition: PartitionRef) -> Self {
        let PartitionRef { app, partition } = partition;
        Self { app: Some(app), partition: Some(partition), ..Self::default() }
    }

    /// An event of it.
    #[must_use]
    pub fn event(self, offset: PartitionOffset) -> Self {
        Self { offset: Some(offset), ..self }
    }

    /// A row of a table, by its key.
    #[must_use]
    pub fn row(self, table: Table, key: &[u8]) -> Self {
        Self { table: Some(table), row: Some(crate::describe::key(key)), ..self }
    }

    /// Something that has a name, but no row.
    #[must_use]
    pub fn about(self, what: String) -> Self {
        Self { row: Some(what), ..self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.app.map(|app| app.to_string()),
            self.partition.map(|partition| partition.to_string()),
            self.offset.map(|offset| format!("event {offset}")),
            self.table.map(|table| format!("table {}", table.name())),
            self.row.clone(),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(if parts.is_empty() { "the store" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

impl Difference {
    /// A difference, ready to be returned.
    pub(crate) fn error(
        kind: Kind,
        place: Place,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Error {
        let (expected, found) = (expected.to_string(), found.to_string());
        Error::Different(Box::new(Self { kind, place, expected, found }))
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal),* $(,)?) => {
        /// What kind of difference.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $name,)*
        }

        impl Kind {
            /// Its stable code.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }
        }
    };
}

kinds! {
    /// An event that should come next in a partition's log is not there.
    LogGap = "LOG_GAP",
    /// A stored event cannot be read.
    EventUnreadable = "EVENT_UNREADABLE",
    /// An event says that it stands somewhere else.
    EventMisplaced = "EVENT_MISPLACED",
    /// An event is earlier than the one before it, or a time is one that cannot have come yet.
    Time = "TIME",
    /// The events of a command do not belong together.
    Command = "COMMAND",
    /// An event holds something that its app has not defined, or that it may not hold.
    Undefined = "UNDEFINED",
    /// A step of an app's definitions does not follow.
    Definition = "DEFINITION",
    /// A workspace is in a partition that is not its own, or changes what never changes.
    Workspace = "WORKSPACE",
    /// An offset of a workspace's log is missing.
    OffsetGap = "OFFSET_GAP",
    /// An offset of a workspace's log is given twice.
    OffsetRepeated = "OFFSET_REPEATED",
    /// A number of a series is missing.
    NumberGap = "NUMBER_GAP",
    /// A number of a series is given twice.
    NumberRepeated = "NUMBER_REPEATED",
    /// A number is none that its sequence gives, or is of another year.
    NumberOutside = "NUMBER_OUTSIDE",
    /// A number is shown as its sequence does not show it.
    NumberText = "NUMBER_TEXT",
    /// A record id is missing.
    RecordIdGap = "RECORD_ID_GAP",
    /// A record id is given twice.
    RecordIdRepeated = "RECORD_ID_REPEATED",
    /// A record id is none that the kind of record can have.
    RecordIdOutside = "RECORD_ID_OUTSIDE",
    /// A record is changed in another version than it has, or is not there, or is there already.
    RecordVersion = "RECORD_VERSION",
    /// An entity is changed in another version than it has.
    EntityVersion = "ENTITY_VERSION",
    /// A command of a client is missing from its count.
    ClientSequenceGap = "CLIENT_SEQUENCE_GAP",
    /// A client's count gives a number twice.
    ClientSequenceRepeated = "CLIENT_SEQUENCE_REPEATED",
    /// A key was carried out twice within its retention.
    KeyRepeated = "KEY_REPEATED",
    /// A row is not there.
    RowMissing = "ROW_MISSING",
    /// A row is there that should not be.
    RowExtra = "ROW_EXTRA",
    /// A row holds something else.
    RowDifferent = "ROW_DIFFERENT",
    /// A row cannot be read.
    RowUnreadable = "ROW_UNREADABLE",
    /// A hash of a workspace's tree is not that of its events: one of them was changed.
    TreeDifferent = "TREE_DIFFERENT",
    /// A checkpoint covers events that are not there.
    CheckpointAhead = "CHECKPOINT_AHEAD",
}
