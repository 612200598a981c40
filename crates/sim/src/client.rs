//! A client: the real pipeline, a connection or a request at a time, and keys that it has kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use seriatim_client::RetryPolicy;
use seriatim_client::parts::{Dice as RetryDice, Failure, Outcome, Pipeline, Target};
use seriatim_storage::faulty::Dice;
use seriatim_types::{ClientId, Command, PartitionRef, Receipt, Time};

use crate::agenda::Moment;

/// How long clients try before they give up.
const PATIENCE: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(8)];

/// How many commands a client has on their way at most.
const STREAM_ROOM: [usize; 3] = [4, 12, 64];
const ONE_SHOT_ROOM: [usize; 3] = [1, 3, 8];

/// How long a server asks to wait before trying again.
const RETRY_AFTER: Duration = Duration::from_millis(20);

/// How a client talks to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// All commands in one stream, in their order.
    Stream,
    /// A request each, which may be lost, doubled, and overtaken.
    OneShot,
}

/// A command that was asked for, and all that became of it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) client: usize,
    pub(crate) partition: PartitionRef,
    pub(crate) target: Arc<Target>,
    pub(crate) command: Command,
    /// Its rank among the commands of its client's process; `None` once it was sent by another.
    pub(crate) rank: Option<(u64, u64)>,
    pub(crate) asked_at: Moment,
    /// When it was handed to the client the last time.
    pub(crate) submitted_at: Moment,
    pub(crate) ended: Option<Ended>,
    /// All receipts that it got, as it was sent again.
    pub(crate) receipts: Vec<Receipt>,
    /// When the first of them came.
    pub(crate) done_at: Option<Moment>,
    pub(crate) ended_at: Option<Moment>,
    /// The latest time of any entry then.
    pub(crate) ended_time: Time,
    /// Whether an earlier call has left open what came of it.
    pub(crate) is_open: bool,
    /// Where its last attempt is.
    pub(crate) stage: Stage,
    /// How often it was turned away, since it was asked for.
    pub(crate) turned_away: u32,
    /// Attempts that are on their way to the server.
    pub(crate) under_way: u32,
    /// An end was claimed while an attempt was still on its way: what it claims may change.
    pub(crate) was_hasty: bool,
}

/// Where the last attempt of a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// With the client, which has not sent it, or will send it again.
    Waiting,
    ToServer,
    AtServer,
    /// It is carried out, and the disk has not said yet that it has it.
    Committing,
    Answered,
}

/// What a client has learned of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    Done(Receipt),
    Refused(String),
    NotWritten,
    Unknown,
}

/// A client. Its process ends now and then, and begins again.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) name: ClientId,
    pub(crate) style: Style,
    pub(crate) patience: Duration,
    /// How many commands it may have on their way.
    pub(crate) room: usize,
    /// Counts its processes.
    pub(crate) life: u64,
    pub(crate) is_up: bool,
    pub(crate) pipeline: Pipeline<usize>,
    /// Its stream, if it has one.
    pub(crate) stream: Option<u64>,
    /// Before this moment its process does not run.
    pub(crate) wakes_at: Moment,
    /// Not before this moment it connects again.
    pub(crate) connects_at: Moment,
    /// The requests that are under way, by the pipeline's number, and since when.
    pub(crate) attempts: BTreeMap<u64, (u64, Moment)>,
    /// What it has asked for and has no answer to. This is on its disk.
    pub(crate) kept: BTreeSet<usize>,
    /// The registers that it has read, by their workspace: version and value.
    pub(crate) known: BTreeMap<usize, (u64, Bytes)>,
    pub(crate) turns: u64,
    /// All moments are counted from here.
    begin: Instant,
}

impl Client {
    pub(crate) fn new(name: ClientId, style: Style, dice: &mut Dice) -> Self {
        let patience = PATIENCE.get(dice.index_below(PATIENCE.len())).copied().unwrap_or_default();
        let rooms = if style == Style::Stream { STREAM_ROOM } else { ONE_SHOT_ROOM };
        let room = rooms.get(dice.index_below(rooms.len())).copied().unwrap_or(1);
        let seed = dice.next_u64();
        Self {
            name,
            style,
            patience,
            room,
            life: 0,
            is_up: true,
            pipeline: pipeline(patience, seed),
            stream: None,
            wakes_at: Moment::ZERO,
            connects_at: Moment::ZERO,
            attempts: BTreeMap::new(),
            kept: BTreeSet::new(),
            known: BTreeMap::new(),
            turns: 0,
            begin: Instant::now(),
        }
    }

    /// Its process ends. What it has kept is still there.
    pub(crate) fn end(&mut self) {
        self.is_up = false;
        self.stream = None;
        self.attempts.clear();
        self.life = self.life.saturating_add(1);
    }

    /// Its process begins.
    pub(crate) fn begin(&mut self, seed: u64) {
        self.is_up = true;
        self.wakes_at = Moment::ZERO;
        self.pipeline = pipeline(self.patience, seed);
    }

    /// A moment as the pipeline knows it. Only differences count, so the run does not depend on
    /// when it is run.
    pub(crate) fn instant(&self, now: Moment) -> Instant {
        self.begin.checked_add(now).expect("a run is short")
    }
}

fn pipeline(patience: Duration, seed: u64) -> Pipeline<usize> {
    Pipeline::new(patience, RetryPolicy::default(), RetryDice(seed))
}

/// An error as the server would send it.
pub(crate) fn error(code: &str, outcome: Outcome, retryable: bool, reason: &str) -> Failure {
    let outcome = match outcome {
        Outcome::Refused => "refused",
        Outcome::NotWritten => "not_written",
        Outcome::Unknown => "unknown",
    };
    let reason = if reason.is_empty() { String::new() } else { format!(r#","reason":"{reason}""#) };
    let body = format!(
        r#"{{"code":"{code}","message":"","retryable":{retryable},"outcome":"{outcome}"{reason}}}"#
    );
    let error = Failure::of_body(body.as_bytes(), Some(RETRY_AFTER));
    error.expect("a body with a code and a message")
}
