//! What an event says about one row: the event taken apart, so that it can be sorted by rows.
//!
//! The key of a fact is the key of the row that it is about, so facts come out in the order of the
//! tables. A fact never reaches a disk that outlives the check, so its form may change at will.

use bytes::Bytes;
use seriatim_codec::Stored;
use seriatim_types::{
    Change, Event, Fingerprint, Hash, KindId, Name, Number, PartitionOffset, SequenceId, Time,
    Unknown, Year,
};

/// What an event says about its workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkspaceFact {
    pub(crate) event: PartitionOffset,
    pub(crate) offset: Number,
    pub(crate) kind: KindId,
    pub(crate) leaf: Hash,
    pub(crate) name: Option<Name>,
    /// Numbers in the order in which they were drawn, record ids among them.
    pub(crate) numbers: Vec<NumberFact>,
}

/// A number that an event holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberFact {
    pub(crate) sequence: SequenceId,
    pub(crate) year: Option<Year>,
    pub(crate) number: u64,
    /// Whether it comes from outside.
    pub(crate) is_import: bool,
}

/// What an event says about its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientFact {
    pub(crate) event: PartitionOffset,
    pub(crate) offset: Number,
    pub(crate) sequence: Number,
    /// Whether it is the first event of its command.
    pub(crate) is_first: bool,
}

/// What the first event of a command says about its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyFact {
    pub(crate) event: PartitionOffset,
    pub(crate) count: u32,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) time: Time,
}

/// What an event does to one record or one entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangeFact {
    pub(crate) event: PartitionOffset,
    pub(crate) offset: Number,
    pub(crate) time: Time,
    pub(crate) change: Change,
}

const NOT_OURS: &str = "a fact is read as it was written";

impl WorkspaceFact {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut to =
            Vec::with_capacity(64_usize.saturating_add(self.numbers.len().saturating_mul(13)));
        to.extend_from_slice(&self.event.get().to_be_bytes());
        to.extend_from_slice(&self.offset.get().to_be_bytes());
        to.extend_from_slice(&self.kind.0.to_be_bytes());
        to.extend_from_slice(&self.leaf.0);
        let name = self.name.as_ref().map_or("", Name::as_str);
        to.push(u8::try_from(name.len()).expect("names have at most 255 bytes"));
        to.extend_from_slice(name.as_bytes());
        for number in &self.numbers {
            to.extend_from_slice(&number.sequence.0.to_be_bytes());
            to.extend_from_slice(&number.year.map_or(0, Year::get).to_be_bytes());
            to.extend_from_slice(&number.number.to_be_bytes());
            to.push(u8::from(number.is_import));
        }
        to
    }

    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let rest = &mut { bytes };
        let (event, offset) = (event(rest), number(rest));
        let kind = KindId(u16::from_be_bytes(take(rest)));
        let leaf = Hash(take(rest));
        let [length] = take(rest);
        let (name, behind) = rest.split_at_checked(length.into()).expect(NOT_OURS);
        *rest = behind;
        let name = str::from_utf8(name).ok().and_then(Name::new);
        let mut numbers = Vec::new();
        while !rest.is_empty() {
            numbers.push(NumberFact {
                sequence: SequenceId(u16::from_be_bytes(take(rest))),
                year: Year::new(u16::from_be_bytes(take(rest))),
                number: u64::from_be_bytes(take(rest)),
                is_import: take(rest) == [1],
            });
        }
        Self { event, offset, kind, leaf, name, numbers }
    }
}

impl ClientFact {
    pub(crate) fn encode(&self) -> [u8; 25] {
        let mut to = [u8::from(self.is_first); 25];
        let (numbers, _) = to.split_at_mut(24);
        let values = [self.event.get(), self.offset.get(), self.sequence.get()];
        for (place, value) in numbers.chunks_mut(8).zip(values) {
            place.copy_from_slice(&value.to_be_bytes());
        }
        to
    }

    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let rest = &mut { bytes };
        let (event, offset, sequence) = (event(rest), number(rest), number(rest));
        Self { event, offset, sequence, is_first: take(rest) == [1] }
    }
}

impl KeyFact {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let parts: [&[u8]; 5] = [
            &self.event.get().to_be_bytes(),
            &self.count.to_be_bytes(),
            &self.time.0.to_be_bytes(),
            &[self.fingerprint.version],
            &self.fingerprint.hash,
        ];
        parts.concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let rest = &mut { bytes };
        let event = event(rest);
        let count = u32::from_be_bytes(take(rest));
        let time = Time(u64::from_be_bytes(take(rest)));
        let [version] = take(rest);
        Self { event, count, time, fingerprint: Fingerprint { version, hash: take(rest) } }
    }
}

impl ChangeFact {
    /// The bytes of an event that has nothing but this change.
    pub(crate) fn encode(of: &Event, change: &Change) -> Bytes {
        let event = Event {
            partition_offset: of.partition_offset,
            workspace: of.workspace,
            kind: of.kind,
            offset: of.offset,
            time: of.time,
            workspace_name: None,
            receipt_version: of.receipt_version,
            index: 0,
            count: 1,
            origin: None,
            name: of.name.clone(),
            args: Bytes::new(),
            changes: vec![change.clone()],
            numbers: Vec::new(),
            unknown: Unknown::default(),
        };
        event.to_bytes()
    }

    pub(crate) fn decode(bytes: Vec<u8>) -> Self {
        let mut event = Event::from_bytes(&Bytes::from(bytes)).expect(NOT_OURS);
        let change = event.changes.pop().expect(NOT_OURS);
        Self { event: event.partition_offset, offset: event.offset, time: event.time, change }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (part, behind) = rest.split_first_chunk().expect(NOT_OURS);
    *rest = behind;
    *part
}

fn event(rest: &mut &[u8]) -> PartitionOffset {
    PartitionOffset::new(u64::from_be_bytes(take(rest))).expect(NOT_OURS)
}

fn number(rest: &mut &[u8]) -> Number {
    Number::new(u64::from_be_bytes(take(rest))).expect(NOT_OURS)
}
