//! The keys of a partition's rows: the partition's prefix, a tag, and what is looked for.
//!
//! ```text
//!  log            │ prefix 10 │ 05 │ partition offset u64 │
//!  workspace_log  │ prefix 10 │ 06 │ workspace u64 │ offset u64 │
//!  records        │ prefix 10 │ 07 │ workspace u64 │ id u64 │
//!                 │ prefix 10 │ 08 │ workspace u64 │ kind length u8 │ kind │ id u64 │
//!  entities       │ prefix 10 │ 09 │ workspace u64 │ key 1..=1024 │
//!                 │ prefix 10 │ 0a │ expiry u64 │ workspace u64 │ key 1..=1024 │
//!  keys           │ prefix 10 │ 0b │ workspace u64 │ client length u8 │ client 1..=255 │ key 16 │
//!                 │ prefix 10 │ 0b │ workspace u64 │ 00 │ length u16 │ client 256..=1020 │ key 16 │
//!  partition      │ prefix 10 │ 0c │                                      the partition itself
//!                 │ prefix 10 │ 0d │                                      its definitions
//!                 │ prefix 10 │ 0e │ workspace u64 │                      a workspace
//!                 │ prefix 10 │ 0f │ name 1..=255 │                       the workspace of a name
//!                 │ prefix 10 │ 10 │ app u32 │ partition u16 │            received from there
//!                 │ prefix 10 │ 11 │ app u32 │ partition u16 │ number u64 │     to be sent there
//!                 │ prefix 10 │ 12 │ app u32 │ partition u16 │            the last of these
//!                 │ prefix 10 │ 13 │ workspace u64 │                      definitions of an app
//!                 │ prefix 10 │ 16 │                                      its position
//!  tree           │ prefix 10 │ 14 │ workspace u64 │ level u8 │ index u64 │
//! ```
//!
//! Numbers are big-endian, so that keys stand in the order of what they hold. A text that is
//! followed by something has its length in front: all records of a kind stand together, and no
//! kind is taken for the beginning of another. Among such texts the shorter ones come first, but for
//! clients of more than 255 bytes, which come before all others: no client is empty, so the length 0
//! says that two bytes of length follow.

use seriatim_types::{
    AppId, ClientId, EntityKey, Key, Name, Number, PartitionId, PartitionOffset, PartitionRef,
    Time, WorkspaceId,
};

use crate::{DecodeError, KeyBytes, PartitionPrefix, Problem};

const EVENT: u8 = 0x05;
const WORKSPACE_LOG: u8 = 0x06;
const RECORD: u8 = 0x07;
const RECORD_OF_KIND: u8 = 0x08;
const ENTITY: u8 = 0x09;
const EXPIRY: u8 = 0x0a;
const IDEMPOTENCY: u8 = 0x0b;
const PARTITION: u8 = 0x0c;
const DEFINITIONS: u8 = 0x0d;
const WORKSPACE_ROW: u8 = 0x0e;
const WORKSPACE_NAME: u8 = 0x0f;
const INBOX: u8 = 0x10;
const OUTBOX: u8 = 0x11;
const OUTBOX_HEAD: u8 = 0x12;
const APP: u8 = 0x13;
const TREE_NODE: u8 = 0x14;
const POSITION: u8 = 0x16;

/// The key of an event.
#[must_use]
pub fn event_key(prefix: PartitionPrefix, offset: PartitionOffset) -> KeyBytes {
    key(prefix, EVENT, &[&offset.get().to_be_bytes()])
}

/// What the keys of all events begin with.
#[must_use]
pub fn events_prefix(prefix: PartitionPrefix) -> KeyBytes {
    key(prefix, EVENT, &[])
}

/// Reads the key of an event.
///
/// # Errors
///
/// When it is another key.
pub fn decode_event_key(key: &[u8]) -> Result<PartitionOffset, DecodeError> {
    let mut parts = Parts::new("event key", EVENT, key)?;
    let offset = parts.u64()?;
    parts.end()?;
    PartitionOffset::new(offset).ok_or_else(|| parts.invalid("an offset"))
}

/// The key of a place in a workspace's log.
#[must_use]
pub fn workspace_log_key(
    prefix: PartitionPrefix,
    workspace: WorkspaceId,
    offset: Number,
) -> KeyBytes {
    key(prefix, WORKSPACE_LOG, &[&workspace.0.to_be_bytes(), &offset.get().to_be_bytes()])
}

/// What the keys of a workspace's log begin with.
#[must_use]
pub fn workspace_log_prefix(prefix: PartitionPrefix, workspace: WorkspaceId) -> KeyBytes {
    key(prefix, WORKSPACE_LOG, &[&workspace.0.to_be_bytes()])
}

/// Reads the key of a place in a workspace's log.
///
/// # Errors
///
/// When it is another key.
pub fn decode_workspace_log_key(key: &[u8]) -> Result<(WorkspaceId, Number), DecodeError> {
    let mut parts = Parts::new("workspace log key", WORKSPACE_LOG, key)?;
    let (workspace, offset) = (WorkspaceId(parts.u64()?), parts.number()?);
    parts.end()?;
    Ok((workspace, offset))
}

/// The key of a record.
#[must_use]
pub fn record_key(prefix: PartitionPrefix, workspace: WorkspaceId, id: Number) -> KeyBytes {
    key(prefix, RECORD, &[&workspace.0.to_be_bytes(), &id.get().to_be_bytes()])
}

/// The key under which a record is found by its kind.
#[must_use]
pub fn record_of_kind_key(
    prefix: PartitionPrefix,
    workspace: WorkspaceId,
    kind: &Name,
    id: Number,
) -> KeyBytes {
    let kind = kind.as_str().as_bytes();
    let parts: [&[u8]; 4] =
        [&workspace.0.to_be_bytes(), &[length(kind)], kind, &id.get().to_be_bytes()];
    key(prefix, RECORD_OF_KIND, &parts)
}

/// What the keys of all records of a kind begin with.
#[must_use]
pub fn records_of_kind_prefix(
    prefix: PartitionPrefix,
    workspace: WorkspaceId,
    kind: &Name,
) -> KeyBytes {
    let kind = kind.as_str().as_bytes();
    key(prefix, RECORD_OF_KIND, &[&workspace.0.to_be_bytes(), &[length(kind)], kind])
}

/// Reads the key under which a record is found by its kind.
///
/// # Errors
///
/// When it is another key.
pub fn decode_record_of_kind_key(key: &[u8]) -> Result<(WorkspaceId, Name, Number), DecodeError> {
    let mut parts = Parts::new("record of kind key", RECORD_OF_KIND, key)?;
    let workspace = WorkspaceId(parts.u64()?);
    let [length] = parts.take()?;
    let kind = parts.bytes(length.into())?;
    let id = parts.number()?;
    parts.end()?;
    let kind = str::from_utf8(kind).ok().and_then(Name::new);
    Ok((workspace, kind.ok_or_else(|| parts.invalid("a name"))?, id))
}

/// The key of an entity.
#[must_use]
pub fn entity_key(prefix: PartitionPrefix, workspace: WorkspaceId, entity: &EntityKey) -> KeyBytes {
    key(prefix, ENTITY, &[&workspace.0.to_be_bytes(), entity.as_str().as_bytes()])
}

/// What the keys of a workspace's entities begin with.
#[must_use]
pub fn entities_prefix(prefix: PartitionPrefix, workspace: WorkspaceId) -> KeyBytes {
    key(prefix, ENTITY, &[&workspace.0.to_be_bytes()])
}

/// The key under which an entity is found when it expires.
#[must_use]
pub fn expiry_key(
    prefix: PartitionPrefix,
    expires_at: Time,
    workspace: WorkspaceId,
    entity: &EntityKey,
) -> KeyBytes {
    let parts: [&[u8]; 3] =
        [&expires_at.0.to_be_bytes(), &workspace.0.to_be_bytes(), entity.as_str().as_bytes()];
    key(prefix, EXPIRY, &parts)
}

/// What the keys of all expiries begin with.
#[must_use]
pub fn expiries_prefix(prefix: PartitionPrefix) -> KeyBytes {
    key(prefix, EXPIRY, &[])
}

/// Reads the key under which an entity is found when it expires.
///
/// # Errors
///
/// When it is another key.
pub fn decode_expiry_key(key: &[u8]) -> Result<(Time, WorkspaceId, EntityKey), DecodeError> {
    let mut parts = Parts::new("expiry key", EXPIRY, key)?;
    let (time, workspace) = (Time(parts.u64()?), WorkspaceId(parts.u64()?));
    let entity = str::from_utf8(parts.rest).ok().and_then(EntityKey::new);
    Ok((time, workspace, entity.ok_or_else(|| parts.invalid("the key of an entity"))?))
}

/// The key of an idempotency key.
#[must_use]
pub fn idempotency_key(
    prefix: PartitionPrefix,
    workspace: WorkspaceId,
    client: &ClientId,
    idempotency: Key,
) -> KeyBytes {
    let client = client.as_bytes();
    let long = long_length(client);
    let length: &[u8] = match &long {
        [_, 0, short @ ..] => short,
        long => long,
    };
    let parts: [&[u8]; 4] = [&workspace.0.to_be_bytes(), length, client, &idempotency.0];
    key(prefix, IDEMPOTENCY, &parts)
}

/// Reads the key of an idempotency key.
///
/// # Errors
///
/// When it is another key.
pub fn decode_idempotency_key(key: &[u8]) -> Result<(WorkspaceId, ClientId, Key), DecodeError> {
    let mut parts = Parts::new("idempotency key", IDEMPOTENCY, key)?;
    let workspace = WorkspaceId(parts.u64()?);
    let client = parts.client()?;
    let idempotency = Key(parts.take()?);
    parts.end()?;
    Ok((workspace, client, idempotency))
}

/// The key of what a partition knows of itself.
#[must_use]
pub fn partition_key(prefix: PartitionPrefix) -> KeyBytes {
    key(prefix, PARTITION, &[])
}

/// The key of how far a partition has applied its group's log.
#[must_use]
pub fn position_key(prefix: PartitionPrefix) -> KeyBytes {
    key(prefix, POSITION, &[])
}

/// The key of the definitions that a partition goes by.
#[must_use]
pub fn definitions_key(prefix: PartitionPrefix) -> KeyBytes {
    key(prefix, DEFINITIONS, &[])
}

/// The key of a workspace's row.
#[must_use]
pub fn workspace_row_key(prefix: PartitionPrefix, workspace: WorkspaceId) -> KeyBytes {
    key(prefix, WORKSPACE_ROW, &[&workspace.0.to_be_bytes()])
}

/// The key of the workspace id that belongs to a name.
#[must_use]
pub fn workspace_name_key(prefix: PartitionPrefix, name: &Name) -> KeyBytes {
    key(prefix, WORKSPACE_NAME, &[name.as_str().as_bytes()])
}

/// The key of the last message that came from a partition.
#[must_use]
pub fn inbox_key(prefix: PartitionPrefix, source: PartitionRef) -> KeyBytes {
    key(prefix, INBOX, &[&neighbour(source)])
}

/// The key of a message to a partition.
#[must_use]
pub fn outbox_key(prefix: PartitionPrefix, target: PartitionRef, number: u64) -> KeyBytes {
    key(prefix, OUTBOX, &[&neighbour(target), &number.to_be_bytes()])
}

/// What the keys of all messages to a partition begin with.
#[must_use]
pub fn outbox_prefix(prefix: PartitionPrefix, target: PartitionRef) -> KeyBytes {
    key(prefix, OUTBOX, &[&neighbour(target)])
}

/// All definitions of apps, in the system app.
#[must_use]
pub fn apps_prefix(prefix: PartitionPrefix) -> KeyBytes {
    key(prefix, APP, &[])
}

/// Reads the key of a message to a partition.
///
/// # Errors
///
/// When it is another key.
pub fn decode_outbox_key(key: &[u8]) -> Result<(PartitionRef, u64), DecodeError> {
    let mut parts = Parts::new("outbox key", OUTBOX, key)?;
    let app = AppId(u32::from_be_bytes(parts.take()?));
    let partition = PartitionId(u16::from_be_bytes(parts.take()?));
    let number = parts.u64()?;
    parts.end()?;
    Ok((PartitionRef { app, partition }, number))
}

/// The key of the number of the last message to a partition.
#[must_use]
pub fn outbox_head_key(prefix: PartitionPrefix, target: PartitionRef) -> KeyBytes {
    key(prefix, OUTBOX_HEAD, &[&neighbour(target)])
}

/// The key of an app's definitions, in the system app: those of the app whose workspace it is.
#[must_use]
pub fn app_key(prefix: PartitionPrefix, workspace: WorkspaceId) -> KeyBytes {
    key(prefix, APP, &[&workspace.0.to_be_bytes()])
}

/// The key of an interior node of a workspace's Merkle tree.
#[must_use]
pub fn tree_node_key(
    prefix: PartitionPrefix,
    workspace: WorkspaceId,
    level: u8,
    index: u64,
) -> KeyBytes {
    key(prefix, TREE_NODE, &[&workspace.0.to_be_bytes(), &[level], &index.to_be_bytes()])
}

fn key(prefix: PartitionPrefix, tag: u8, parts: &[&[u8]]) -> KeyBytes {
    let (prefix, tag) = (prefix.encode(), [tag]);
    let front: [&[u8]; 2] = [&prefix, &tag];
    KeyBytes::concat(front.into_iter().chain(parts.iter().copied()))
}

fn length(text: &[u8]) -> u8 {
    u8::try_from(text.len()).expect("names have at most 255 bytes")
}

/// What stands before a client of more than 255 bytes. The length of others is the last byte of it.
fn long_length(client: &[u8]) -> [u8; 3] {
    let length = u16::try_from(client.len()).expect("clients have at most 1020 bytes");
    let [high, low] = length.to_be_bytes();
    [0, high, low]
}

fn neighbour(partition: PartitionRef) -> [u8; 6] {
    let [a, b, c, d] = partition.app.0.to_be_bytes();
    let [e, f] = partition.partition.0.to_be_bytes();
    [a, b, c, d, e, f]
}

/// A key that is taken apart.
struct Parts<'a> {
    name: &'static str,
    rest: &'a [u8],
}

impl<'a> Parts<'a> {
    /// What is behind the prefix and the tag.
    fn new(name: &'static str, tag: u8, key: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = Self { name, rest: key };
        parts.take::<{ PartitionPrefix::BYTES }>()?;
        let [found] = parts.take()?;
        if found == tag { Ok(parts) } else { Err(parts.invalid("of this tag")) }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (part, rest) =
            self.rest.split_first_chunk().ok_or_else(|| self.error(Problem::CutOff))?;
        self.rest = rest;
        Ok(*part)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (part, rest) =
            self.rest.split_at_checked(length).ok_or_else(|| self.error(Problem::CutOff))?;
        self.rest = rest;
        Ok(part)
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        self.take().map(u64::from_be_bytes)
    }

    fn number(&mut self) -> Result<Number, DecodeError> {
        Number::new(self.u64()?).ok_or_else(|| self.invalid("a number of a sequence"))
    }

    /// A client with its length in front, in the shortest form.
    fn client(&mut self) -> Result<ClientId, DecodeError> {
        let length = match self.rest {
            [0, 1..=u8::MAX, ..] => {
                let [_, high, low] = self.take()?;
                u16::from_be_bytes([high, low])
            }
            _ => self.take().map(|[length]| length.into())?,
        };
        let client = ClientId::new(self.bytes(length.into())?);
        client.ok_or_else(|| self.invalid("a client"))
    }

    fn end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.invalid("as short as such a key is")) }
    }

    fn invalid(&self, what: &'static str) -> DecodeError {
        self.error(Problem::Invalid(what))
    }

    fn error(&self, problem: Problem) -> DecodeError {
        DecodeError { message: self.name, field: None, problem }
    }
}
