//! Everything that can be asked of a workspace.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde_json::Value;
use seriatim_api as api;

use crate::client::ask;
use crate::definitions::RecordClass;
use crate::error::Error;
use crate::event::Events;
use crate::key::Key;
use crate::proof::{Consistency, Head, Proof};
use crate::receipt::{Receipt, time_of};
use crate::submitter::Target;
use crate::workspace::Workspace;

/// The longest that a server lets a read wait.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A numbered document.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its id.
    pub id: u64,
    /// Its kind.
    pub kind: String,
    /// The class of its kind.
    pub class: RecordClass,
    /// The record that it belongs to.
    pub parent: Option<u64>,
    /// Counts its changes, from 1.
    pub version: u64,
    /// Its fields: a JSON object.
    pub fields: Value,
    /// The event that changed it last, in the workspace's log.
    pub offset: u64,
}

/// A piece of a list of records.
#[derive(Debug, Clone, PartialEq)]
pub struct Records {
    /// The records, by their ids.
    pub records: Vec<Record>,
    /// The id from which to go on; `None` when there are no more.
    pub next: Option<u64>,
}

/// A named document.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Counts its changes, from 1.
    pub version: u64,
    /// From when on it is absent.
    pub expires_at: Option<SystemTime>,
    /// The event that wrote it, in the workspace's log.
    pub offset: u64,
}

/// Where a sequence stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceState {
    /// Its name.
    pub name: String,
    /// The year of a yearly sequence.
    pub period: Option<u32>,
    /// The last number that was drawn.
    pub last: Option<u64>,
    /// The next number and how it will be presented; `None` when the sequence is exhausted.
    pub next: Option<(u64, String)>,
}

/// Where a client stands in a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientState {
    /// Its id.
    pub client: String,
    /// Its own count of its commands.
    pub last_client_sequence: u64,
    /// Its last event, in the workspace's log.
    pub last_offset: u64,
}

/// Reads. Each sees everything that was acknowledged before it began. What is not there is `None`,
/// no error.
impl Workspace {
    /// The same workspace, whose reads wait until it has this offset: as long as the client tries
    /// anything, and then fail with `NOT_YET`. The offset comes from a receipt, an event or a
    /// head that somebody else has seen.
    #[must_use]
    pub fn min_offset(&self, offset: u64) -> Self {
        Self { min_offset: offset, ..self.clone() }
    }

    /// Events from an offset on, in order and without a hole, at most so many. 0 and 1 are the
    /// beginning.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn events(&self, from: u64, limit: u32) -> Result<Events, Error> {
        let (log, min_offset) = (Some(self.log()), self.min_offset);
        let wait_ms = self.wait_ms().unwrap_or_default();
        let request = api::ListEventsRequest { log, from, limit, wait_ms, min_offset };
        ask!(self.client, ReadServiceClient::list_events, request)?.try_into()
    }

    /// A record, by its id.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn record(&self, id: u64) -> Result<Option<Record>, Error> {
        let request = api::GetRecordRequest { asked: self.asked(), id };
        found(ask!(self.client, ReadServiceClient::get_record, request))
    }

    /// Records of a kind of class c, those with the lowest ids from `from` on, at most so many.
    ///
    /// # Errors
    ///
    /// `UNKNOWN_KIND`, `INVALID_ARGUMENT` for one of another class, or when there is no answer.
    pub async fn records(&self, kind: &str, from: u64, limit: u32) -> Result<Records, Error> {
        let (asked, kind) = (self.asked(), kind.to_owned());
        let request = api::ListRecordsRequest { asked, kind, from, limit };
        let answer = ask!(self.client, ReadServiceClient::list_records, request)?;
        let records = answer.records.into_iter().map(Record::try_from).collect::<Result<_, _>>()?;
        Ok(Records { records, next: some(answer.next) })
    }

    /// An entity, unless its time is over.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn entity(&self, key: &str) -> Result<Option<Entity>, Error> {
        let request = api::GetEntityRequest { asked: self.asked(), key: key.to_owned() };
        found(ask!(self.client, ReadServiceClient::get_entity, request))
    }

    /// Where a sequence stands: in a year, or in the current one. `None` when the workspace has no
    /// such sequence, or a year is asked for and the sequence has none.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn sequence(
        &self,
        name: &str,
        period: Option<u32>,
    ) -> Result<Option<SequenceState>, Error> {
        let (asked, name) = (self.asked(), name.to_owned());
        let request = api::GetSequenceRequest { asked, name, period };
        found(ask!(self.client, ReadServiceClient::get_sequence, request))
    }

    /// Where a client stands; `None` when nothing of it was carried out.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn client(&self, client: &str) -> Result<Option<ClientState>, Error> {
        let request = api::GetClientRequest { asked: self.asked(), client: client.to_owned() };
        found(ask!(self.client, ReadServiceClient::get_client, request))
    }

    /// The receipt of the command that a client sent with a key; `None` when it was not carried
    /// out, or its key's retention is over. A command that is under way may still be carried out:
    /// `None` is final once its [deadline](crate::Command::deadline) has passed. To resolve one at
    /// once, send it again with the same key.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn receipt(&self, client: &str, key: Key) -> Result<Option<Receipt>, Error> {
        let key = Bytes::copy_from_slice(key.as_bytes());
        let (asked, client) = (self.asked(), client.to_owned());
        let request = api::GetReceiptRequest { asked, client, key };
        found(ask!(self.client, CommandServiceClient::get_receipt, request))
    }

    /// How many events the log has, and the root of the tree over them.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn head(&self) -> Result<Head, Error> {
        let request = api::GetHeadRequest { asked: self.asked() };
        ask!(self.client, ReadServiceClient::get_head, request)?.try_into()
    }

    /// The proof that an event is among the first `size` of the log; 0 stands for all there are.
    ///
    /// # Errors
    ///
    /// When there are not as many, or no answer.
    pub async fn proof(&self, offset: u64, size: u64) -> Result<Proof, Error> {
        let request = api::GetProofRequest { asked: self.asked(), offset, size };
        ask!(self.client, ReadServiceClient::get_proof, request)?.try_into()
    }

    /// The proof that the log only grew from one size to another; 0 stands for all there are.
    ///
    /// # Errors
    ///
    /// When there are not as many, or no answer.
    pub async fn consistency(&self, from: u64, to: u64) -> Result<Consistency, Error> {
        let request = api::GetConsistencyRequest { asked: self.asked(), from, to };
        ask!(self.client, ReadServiceClient::get_consistency, request)?.try_into()
    }

    fn asked(&self) -> Option<api::WorkspaceAsked> {
        let Target { app, workspace } = (*self.target).clone();
        let (min_offset, wait_ms) = (self.min_offset, self.wait_ms());
        Some(api::WorkspaceAsked { app, workspace, min_offset, wait_ms })
    }

    /// How long the server lets a read wait for its offset.
    fn wait_ms(&self) -> Option<u32> {
        // Its answer has to come back before this client gives up.
        let wait = self.client.inner.patience.mul_f64(0.8).min(WAIT_MAX);
        (self.min_offset > 0).then(|| u32::try_from(wait.as_millis()).expect("at most a minute"))
    }
}

impl TryFrom<api::Record> for Record {
    type Error = Error;

    fn try_from(record: api::Record) -> Result<Self, Error> {
        let class = record.class().into();
        let api::Record { id, kind, parent, version, fields_json, offset, .. } = record;
        let fields = json(&fields_json)?;
        Ok(Self { id, kind, class, parent: some(parent), version, fields, offset })
    }
}

impl TryFrom<api::Entity> for Entity {
    type Error = Error;

    fn try_from(entity: api::Entity) -> Result<Self, Error> {
        let api::Entity { key, value_json, version, expires_at_ms, offset } = entity;
        let (value, expires_at) = (json(&value_json)?, expires_at_ms.map(time_of));
        Ok(Self { key, value, version, expires_at, offset })
    }
}

impl TryFrom<api::Sequence> for SequenceState {
    type Error = Error;

    fn try_from(sequence: api::Sequence) -> Result<Self, Error> {
        let api::Sequence { name, period, last, next, next_text } = sequence;
        let period = (period != 0).then_some(period);
        let next = some(next).map(|next| (next, next_text));
        Ok(Self { name, period, last: some(last), next })
    }
}

impl TryFrom<api::Client> for ClientState {
    type Error = Error;

    fn try_from(client: api::Client) -> Result<Self, Error> {
        let api::Client { client, last_client_sequence, last_offset } = client;
        Ok(Self { client, last_client_sequence, last_offset })
    }
}

/// What was found, or that it is not there.
fn found<A, T: TryFrom<A, Error = Error>>(answer: Result<A, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => answer.try_into().map(Some),
        Err(error) if matches!(error.code(), "NOT_FOUND" | "RECORD_NOT_FOUND") => Ok(None),
        Err(error) => Err(error),
    }
}

/// Offsets, ids and numbers start at 1, so 0 stands for none.
pub(crate) fn some(number: u64) -> Option<u64> {
    (number != 0).then_some(number)
}

pub(crate) fn json(text: &[u8]) -> Result<Value, Error> {
    let bad = |error| Error::bad_answer(format!("what is stored comes as JSON: {error}"));
    serde_json::from_slice(text).map_err(bad)
}
