//! The bugs: what each does, and which law it breaks.

/// Writes each bug once: its sentence, its name and its law stay together.
macro_rules! bugs {
    ($($(#[doc = $story:literal])+ $bug:ident: $name:literal, $law:ident;)+) => {
        /// A bug that somebody could have made.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Bug {
            $($(#[doc = $story])+ $bug,)+
        }

        impl Bug {
            /// All of them, by where they are planted.
            pub const ALL: &[Self] = &[$(Self::$bug),+];

            /// Its name, in kebab-case.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$bug => $name,)+
                }
            }

            /// What it does.
            #[must_use]
            pub fn story(self) -> &'static str {
                match self {
                    $(Self::$bug => concat!($($story),+).trim(),)+
                }
            }

            /// The law that it breaks.
            #[must_use]
            pub const fn law(self) -> Law {
                match self {
                    $(Self::$bug => Law::$law,)+
                }
            }
        }
    };
}

bugs! {
    // The core decides.
    /// A command whose key is known is carried out again.
    SkipDuplicateCheck: "skip-duplicate-check", DuplicatesDie;
    /// A key that was used for another command is as good as a new one; the model has the same mistake.
    KeyForEachContent: "key-for-each-content", DuplicatesDie;
    /// Clients of one workspace share their keys.
    KeyOfAnyClient: "key-of-any-client", DuplicatesDie;
    /// A key is forgotten ten seconds before its retention ends, to allow for other clocks.
    RetentionCutShort: "retention-cut-short", DuplicatesDie;
    /// Keys that were swept still count against the limit of the window.
    SweptKeysStillCount: "swept-keys-still-count", SameBytes;
    /// The limit of the window is not looked at.
    WindowLimitIgnored: "window-limit-ignored", Limits;
    /// An entity whose time is over is there until it is swept.
    ExpiredEntitySeen: "expired-entity-seen", SameBytes;
    /// An entity is still there at the millisecond at which it expires.
    ExpiryOneLate: "expiry-one-late", SameBytes;
    /// A tick removes the keys that it names, whether or not their time is over.
    TickOnTrust: "tick-on-trust", DuplicatesDie;
    /// A condition on a value is met by any of the same length; the model has the same mistake.
    ValueByLength: "value-by-length", Conditions;
    /// A condition on a version is met by any later version.
    VersionAtLeast: "version-at-least", Conditions;
    /// Removing an entity leaves its row in the list of those that expire.
    UnsetLeavesExpiry: "unset-leaves-expiry", SameBytes;
    /// Deleting a record leaves its row in the list of its kind.
    DeleteLeavesKindRow: "delete-leaves-kind-row", SameBytes;
    /// The parent of a record stays the raw id that the client chose.
    RawParentKept: "raw-parent-kept", BornAtCommit;
    /// An entry does not see what the entries before it in the same batch have written.
    OverlayForgotten: "overlay-forgotten", SameBytes;
    /// An entry's time is the proposer's clock, also when that was set back.
    TimeFromClock: "time-from-clock", SameBytes;
    /// A message that comes again is carried out again.
    DeliveryTwice: "delivery-twice", DuplicatesDie;
    /// Reading the log after a start leaves the frontier of the tree where the checkpoint had it.
    FrontierNotCarried: "frontier-not-carried", SameBytes;

    // The sequencer gives numbers.
    /// A refused command keeps its place in the log of its workspace.
    DrawForRefused: "draw-for-refused", BornAtCommit;
    /// The first number of every range but the first is left out; the model has the same mistake.
    RangeBeginsLate: "range-begins-late", BornAtCommit;
    /// An imported id does not raise the sequence past it.
    ImportDoesNotRaise: "import-does-not-raise", BornAtCommit;
    /// A yearly sequence begins anew when the year turns at UTC, not at the sequence's offset.
    YearAtUtc: "year-at-utc", SameBytes;
    /// When the log is read, the last number seen counts and not the highest.
    LastWinsMerge: "last-wins-merge", BornAtCommit;
    /// A row that waits for a checkpoint and was dropped from the cache is read from the store.
    UnflushedForgotten: "unflushed-forgotten", BornAtCommit;

    // The node commits, answers, and shows.
    /// The head of a checkpoint is committed on its own, before the rows that it speaks of.
    CheckpointHeadFirst: "checkpoint-head-first", BornAtCommit;
    /// The head of a checkpoint covers one event more than its rows.
    CheckpointOneTooFar: "checkpoint-one-too-far", BornAtCommit;
    /// A checkpoint has the rows of workspaces, and forgets those of clients.
    CheckpointForgetsClients: "checkpoint-forgets-clients", BornAtCommit;
    /// Nodes of trees stay in memory when a checkpoint holds them.
    NodesKept: "nodes-kept", Limits;
    /// The node of a tree is stored before its hash is worked out.
    TreeNodeEmpty: "tree-node-empty", SameBytes;
    /// The numbers of a commit are flushed from the last to the first.
    FlushBackwards: "flush-backwards", Order;
    /// The partition's own row is committed on its own, behind the events that it speaks of.
    PartitionRowLater: "partition-row-later", BornAtCommit;
    /// A commit that the disk had no room for is taken for one that was written.
    CommitErrorSwallowed: "commit-error-swallowed", DurableFirst;
    /// Rows in the cache are not brought up to date by a commit.
    StaleRowCache: "stale-row-cache", SameBytes;
    /// A key that is written is still taken for one that is not stored.
    WrittenKeyAbsent: "written-key-absent", DuplicatesDie;
    /// A partition that reads its log again after a failed commit keeps its cached rows.
    RestartKeepsCache: "restart-keeps-cache", SameBytes;
    /// A partition that is restarted counts one commit as on its way that never lands.
    RestartLeaksFlight: "restart-leaks-flight", Progress;
    /// Entries that do not fit into one commit are applied from the last to the first.
    BacklogReversed: "backlog-reversed", Order;
    /// Looking for entities that are over ends at the first one of a workspace with a name.
    SweepStarves: "sweep-starves", Progress;
    /// A partition whose commit met a full disk never leaves its pause.
    PauseForEver: "pause-for-ever", Progress;
    /// A commit that may have happened is answered as one that was not written.
    FailedIsNotWritten: "failed-is-not-written", ThreeAnswers;
    /// Numbers wait for a checkpoint until there is hardly room for more, also when they have been read.
    CheckpointHardlyEver: "checkpoint-hardly-ever", BoundedStart;
    /// Replies leave before the sync of their commit.
    AnswerBeforeSync: "answer-before-sync", DurableFirst;
    /// Refusals and repetitions leave at once, and not when what they were decided on is durable.
    RefusalBeforeSync: "refusal-before-sync", DurableFirst;
    /// Requests are queued however many wait already.
    QueueUnbounded: "queue-unbounded", Limits;
    /// A command that is not written does not hold up those behind it.
    ChainNotBroken: "chain-not-broken", Order;
    /// A command that finds its partition stopped does not hold up those behind it.
    StoppedDoesNotBreak: "stopped-does-not-break", Order;
    /// A partition that begins to serve is not sent what is in the outbox for it.
    OutboxNotSentAgain: "outbox-not-sent-again", NothingSilent;
    /// Of what is in the outbox only the first message is sent again.
    OutboxFirstOnly: "outbox-first-only", NothingSilent;
    /// A message leaves the outbox when it was sent, whether or not it was taken.
    OutboxForgets: "outbox-forgets", NothingSilent;
    /// The directory sends nothing again to a partition that serves again.
    ResendForgotten: "resend-forgotten", NothingSilent;
    /// A sync covers the newest commit that waits for one, and leaves the older ones to the next sync.
    FlightOvertakes: "flight-overtakes", Order;
    /// A commit of one command is synced and answered at once, while older commits wait for their sync.
    LoneSyncOvertakes: "lone-sync-overtakes", Order;
    /// A partition that is told to end drops what is queued without an answer.
    ShutdownDropsQueue: "shutdown-drops-queue", Progress;
    /// A subscription that catches up drops the last event before it is live.
    SubscriptionSeam: "subscription-seam", NothingSilent;
    /// A page of a subscription that is full lacks its last event.
    FullPageDrops: "full-page-drops", NothingSilent;
    /// A subscription begins one event before the place that was asked for.
    SubscriptionRepeats: "subscription-repeats", Order;
    /// A subscription that has fallen behind is told to go on one event too late.
    LaggedSkips: "lagged-skips", NothingSilent;
    /// Where a client stands is read as of the last checkpoint.
    ClientOfCheckpoint: "client-of-checkpoint", SameBytes;
    /// A reader is shown entities whose time is over.
    ReadSeesExpired: "read-sees-expired", SameBytes;
    /// The receipt of a repeated command has a proof against the log of today.
    ProofOfToday: "proof-of-today", DuplicatesDie;

    // The clock is believed, or not.
    /// A clock that is far ahead when the server starts is believed.
    ClockTrustedAtStart: "clock-trusted-at-start", DuplicatesDie;
    /// A clock that is not believed is not believed any more when the kernel vouches for it.
    ClockNeverTrusted: "clock-never-trusted", Progress;

    // The store keeps what it was given.
    /// A snapshot shows what is committed now, durable or not.
    LiveSnapshot: "live-snapshot", DurableFirst;
    /// The checksum of what is read is not looked at.
    RotServed: "rot-served", NothingSilent;
    /// A sync is content with a trip to the disk that ended before it was asked for.
    SyncRidesTooEarly: "sync-rides-too-early", DurableFirst;
    /// After a kill the page cache is believed: what is read there is not written anew.
    TailTakenFromCache: "tail-taken-from-cache", DurableFirst;

    // The client tells its caller what came of a command.
    /// An attempt whose connection broke is taken for one that was not written.
    UnknownIsNotWritten: "unknown-is-not-written", ThreeAnswers;
    /// What a command is told does not depend on its earlier attempts.
    EarlierAttemptForgotten: "earlier-attempt-forgotten", ThreeAnswers;
    /// A command that is turned away has all of its caller's patience again.
    PatienceRenewed: "patience-renewed", Limits;
    /// Commands that were turned away are sent again under the same generation.
    GenerationNotRaised: "generation-not-raised", ThreeAnswers;
    /// Of the commands that wait, the newest is sent first.
    NewestFirst: "newest-first", Order;
}

/// A law of the design, as far as a bug breaks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// Nothing before commit owns a number, and a refused command leaves no trace.
    BornAtCommit,
    /// A command is carried out once under its key, and answered with the same bytes again.
    DuplicatesDie,
    /// What is stored follows from the entries alone.
    SameBytes,
    /// What is answered or shown was durable before.
    DurableFirst,
    /// Refused, not written and unknown are three answers, and each is true.
    ThreeAnswers,
    /// Nothing is lost without a word.
    NothingSilent,
    /// A command whose condition does not hold is refused.
    Conditions,
    /// What was sent one after another happens one after another.
    Order,
    /// Everything has a limit.
    Limits,
    /// Start-up does not grow with the log.
    BoundedStart,
    /// What nothing keeps any more goes on.
    Progress,
}

impl Law {
    /// The law in a few words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::BornAtCommit => "a number is born at commit",
            Self::DuplicatesDie => "duplicates die at apply",
            Self::SameBytes => "same input, same bytes",
            Self::DurableFirst => "durable before answered, durable before seen",
            Self::ThreeAnswers => "three answers",
            Self::NothingSilent => "nothing is silent",
            Self::Conditions => "a condition holds or the command is refused",
            Self::Order => "one after another, in order",
            Self::Limits => "everything has a limit",
            Self::BoundedStart => "start-up does not grow with the log",
            Self::Progress => "what nothing keeps any more goes on",
        }
    }
}

impl Bug {
    /// The bug of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|bug| bug.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_is_found_by_its_name_and_by_no_other() {
        for bug in Bug::ALL {
            assert_eq!(Bug::from_name(bug.name()), Some(*bug));
            let is_kebab = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(bug.name().bytes().all(is_kebab), "{bug:?}");
        }
        assert_eq!(Bug::from_name("a-bug-of-another-kind"), None);
    }

    #[test]
    fn every_story_is_a_sentence() {
        for bug in Bug::ALL {
            let story = bug.story();
            let first = story.chars().next();
            assert!(first.is_some_and(char::is_uppercase) && story.ends_with('.'), "{story}");
        }
    }
}
