//! What came of a command that was carried out.

use std::time::{Duration, SystemTime};

use seriatim_api as api;

use crate::error::Error;
use crate::key::Key;
use crate::proof::Proof;

/// What came of a command that was carried out, now or when it was first sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The key that it was sent with.
    pub key: Key,
    /// All numbers that it was given.
    pub receipt: Receipt,
    /// Whether it had been carried out before, by an attempt whose answer got lost or an earlier
    /// call with the same key, so that nothing happened now.
    pub is_replayed: bool,
}

/// The answer to a command: all numbers that it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The app.
    pub app: String,
    /// The workspace, by its name if it has one.
    pub workspace: String,
    /// The workspace's id.
    pub workspace_id: u64,
    /// The partition that the workspace belongs to.
    pub partition: u32,
    /// The first event, in the workspace's log.
    pub first_offset: u64,
    /// The last event, in the workspace's log.
    pub last_offset: u64,
    /// The first event, in the partition's log.
    pub first_partition_offset: u64,
    /// The last event, in the partition's log.
    pub last_partition_offset: u64,
    /// The client's own count of its commands in the workspace.
    pub client_sequence: u64,
    /// Raw ids with the ids that they have become.
    pub ids: Vec<(u32, u64)>,
    /// Numbers that were drawn, in the order of the command.
    pub numbers: Vec<NumberDrawn>,
    /// When it was carried out, by the server's clock.
    pub committed_at: SystemTime,
    /// If it was asked for: that the last event is in the log as it was right behind that event.
    pub proof: Option<Box<Proof>>,
}

/// A number that was drawn from a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberDrawn {
    /// The sequence.
    pub sequence: String,
    /// The year of a yearly sequence.
    pub period: Option<u32>,
    /// The number.
    pub number: u64,
    /// How the sequence presents it.
    pub text: String,
}

impl Submitted {
    /// The id of the record that the command created under a raw id.
    #[must_use]
    pub fn id(&self, raw: u16) -> Option<u64> {
        self.receipt.ids.iter().find(|(known, _)| *known == u32::from(raw)).map(|(_, id)| *id)
    }

    /// The first number that the command drew from a sequence.
    #[must_use]
    pub fn number(&self, sequence: &str) -> Option<&NumberDrawn> {
        self.receipt.numbers.iter().find(|drawn| drawn.sequence == sequence)
    }
}

impl TryFrom<api::SubmitResponse> for Receipt {
    type Error = Error;

    fn try_from(response: api::SubmitResponse) -> Result<Self, Error> {
        let receipt = response.receipt;
        let receipt = receipt.ok_or_else(|| Error::bad_answer("an answer without its receipt"))?;
        Ok(Self {
            app: receipt.app,
            workspace: receipt.workspace,
            workspace_id: receipt.workspace_id,
            partition: receipt.partition,
            first_offset: receipt.first_offset,
            last_offset: receipt.last_offset,
            first_partition_offset: receipt.first_partition_offset,
            last_partition_offset: receipt.last_partition_offset,
            client_sequence: receipt.client_sequence,
            ids: receipt.ids.into_iter().map(|given| (given.raw, given.id)).collect(),
            numbers: receipt.numbers.into_iter().map(NumberDrawn::from).collect(),
            committed_at: time_of(receipt.committed_at_ms),
            proof: receipt.proof.map(|proof| proof.try_into().map(Box::new)).transpose()?,
        })
    }
}

impl From<api::DrawnNumber> for NumberDrawn {
    fn from(drawn: api::DrawnNumber) -> Self {
        let api::DrawnNumber { sequence, period, number, text } = drawn;
        Self { sequence, period: (period != 0).then_some(period), number, text }
    }
}

/// A time in milliseconds since 1970. One that no clock can show is the beginning.
pub(crate) fn time_of(ms: u64) -> SystemTime {
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms));
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}
