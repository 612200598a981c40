//! Everything that can be asked of a workspace, from what is durable.

use std::time::Duration;

use bytes::Bytes;
use seriatim_api::message::Json;
use seriatim_core::{Committed, Refusal};
use seriatim_json::header;
use seriatim_node::{
    ClientState, Consistency, Head, Inclusion, Log, Reader, SequenceState, Workspace as Found,
};
use seriatim_types::limits::ENTITY_KEY_BYTES_MAX;
use seriatim_types::{
    EntityKey, Key, Name, Number, PartitionRef, Receipt, RecordClass, RecordRow, Time, Year,
};

use crate::app::{name_of, not_a_name};
use crate::error::{ReadError, refusal_of};
use crate::workspace::Workspace;
use crate::{key, service};

/// A numbered document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its id.
    pub id: Number,
    /// Its kind.
    pub kind: Name,
    /// The class of its kind.
    pub class: RecordClass,
    /// The record that it belongs to.
    pub parent: Option<Number>,
    /// Counts its changes, from 1.
    pub version: u64,
    /// Its fields: a JSON object.
    pub fields: Bytes,
    /// The event that changed it last, in the workspace's log.
    pub offset: Number,
}

/// A named document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Its key.
    pub key: EntityKey,
    /// Its value: JSON.
    pub value: Bytes,
    /// Counts its changes, from 1.
    pub version: u64,
    /// From when on it is absent.
    pub expires_at: Option<Time>,
    /// The event that wrote it, in the workspace's log.
    pub offset: Number,
}

/// Reads. Each sees everything that was acknowledged before it began.
impl Workspace {
    /// A record, by its id.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn record(&self, id: Number) -> Result<Option<Record>, ReadError> {
        self.read(|reader, found| Ok(reader.record(found.id, id)?.map(|row| Record::new(id, row))))
    }

    /// Records of a kind of class c, those with the lowest ids from `from` on, at most so many.
    ///
    /// # Errors
    ///
    /// `UNKNOWN_KIND`, `INVALID_ARGUMENT` for a kind of another class, or when they could not be read.
    pub fn records(&self, kind: &str, from: u64, limit: usize) -> Result<Vec<Record>, ReadError> {
        let kind = name_of("kind", kind)?;
        self.read(|reader, found| {
            service::check_listed(reader, &kind)?;
            let rows = reader.records(found.id, &kind, from, limit)?.into_iter();
            Ok(rows.map(|(id, row)| Record::new(id, row)).collect())
        })
    }

    /// An entity, unless its time is over.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn entity(&self, key: &str) -> Result<Option<Entity>, ReadError> {
        let key = EntityKey::new(key).ok_or_else(|| not_a_name("key", ENTITY_KEY_BYTES_MAX))?;
        let now = self.opened.now();
        self.read(|reader, found| {
            let Some(row) = reader.entity(found.id, &key, now)? else { return Ok(None) };
            let (value, version) = (row.value, row.version);
            let (expires_at, offset) = (row.expires_at, row.offset);
            Ok(Some(Entity { key, value, version, expires_at, offset }))
        })
    }

    /// Where a sequence stands: in a year, or in that of the partition's last command. `None` when
    /// the workspace has no such sequence, or a year is asked for and the sequence has none.
    ///
    /// # Errors
    ///
    /// When it could not be read, or the year does not lie between 1 and 9999.
    pub fn sequence(
        &self,
        name: &str,
        year: Option<u16>,
    ) -> Result<Option<SequenceState>, ReadError> {
        let name = name_of("sequence", name)?;
        let not_a_year = |year| Refusal::InvalidArgument {
            field: "year".to_owned(),
            why: format!("must lie between 1 and 9999, not {year}"),
        };
        let year = year.map(|year| Year::new(year).ok_or_else(|| not_a_year(year))).transpose()?;
        let now = self.opened.now();
        self.read(|reader, found| Ok(reader.sequence(found, &name, year, now)?))
    }

    /// Events from an offset on, in order and without a hole. 0 and 1 are the beginning. Fewer
    /// than the limit when they are large.
    ///
    /// # Errors
    ///
    /// When they could not be read.
    pub fn events(&self, from: u64, limit: usize) -> Result<Vec<Committed>, ReadError> {
        self.read(|reader, found| Ok(reader.events(found.id, from, limit)?))
    }

    /// The receipt of the command that a client sent with a key; `None` when it was not carried
    /// out, or its key's retention is over. A command that is under way may still be carried out:
    /// to resolve one, send it again with the same key.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn receipt(&self, client: &str, key: Key) -> Result<Option<Receipt>, ReadError> {
        let client = header::client(client).map_err(refusal_of)?;
        let (key, now) = (key::check(key)?, self.opened.now());
        self.read(|reader, found| Ok(reader.receipt(found.id, &client, key, now)?))
    }

    /// Where a client stands; `None` when nothing of it was carried out.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn client(&self, client: &str) -> Result<Option<ClientState>, ReadError> {
        let client = header::client(client).map_err(refusal_of)?;
        self.read(|reader, found| Ok(reader.client(found.id, &client)?))
    }

    /// How many events the log has, and the root of the tree over them (RFC 6962).
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn head(&self) -> Result<Head, ReadError> {
        self.read(|reader, found| Ok(reader.head(found.id)?))
    }

    /// The proof that an event is among the first `size` of the log. The size of the present log
    /// is that of its [`head`](Self::head).
    ///
    /// # Errors
    ///
    /// When there are not as many, or something could not be read.
    pub fn proof(&self, offset: Number, size: u64) -> Result<Inclusion, ReadError> {
        self.read(|reader, found| Ok(service::inclusion(reader, found, offset, Some(size))?.proof))
    }

    /// The proof that the log only grew from one size to another.
    ///
    /// # Errors
    ///
    /// When there are not as many events, or something could not be read.
    pub fn consistency(&self, from: u64, to: u64) -> Result<Consistency, ReadError> {
        self.read(|reader, found| Ok(service::consistency(reader, found, from, Some(to))?.proof))
    }

    /// Waits on this thread until the log has an offset. Returns its last one, which every read sees that
    /// begins afterwards: so a program reads what another has written, by the offset in its receipt.
    ///
    /// # Errors
    ///
    /// [`ReadError::NotReached`] when it has not within the time, or it could not be read.
    pub fn wait_for(&self, offset: u64, within: Duration) -> Result<u64, ReadError> {
        let log = Log::Workspace(self.workspace.clone());
        self.opened.wait_for(self.partition()?, &log, offset, within)
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Reader<'_>, &Found) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.read_partition(|reader| read(reader, &service::find(reader, &self.workspace)?))
    }

    /// Reads the workspace's partition as of now.
    pub(crate) fn read_partition<T>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.opened.read(self.partition()?, read)
    }

    fn partition(&self) -> Result<PartitionRef, ReadError> {
        Ok(self.opened.with(|node| node.partition_of(&self.app, &self.workspace))??)
    }
}

impl Record {
    fn new(id: Number, row: RecordRow) -> Self {
        let fields = Json::object(&row.fields).get().to_owned().into();
        let RecordRow { kind, class, parent, version, offset, .. } = row;
        Self { id, kind, class, parent, version, fields, offset }
    }
}
