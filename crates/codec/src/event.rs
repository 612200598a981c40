//! Events.
//!
//! ```text
//!  Event        1 partition_offset  uint64        9 count           uint32
//!               2 workspace         uint64       10 origin          Origin, absent for the system's
//!               3 kind              uint32       11 name            string
//!               4 offset            uint64       12 args            bytes, plain
//!               5 time              uint64       13                 reserved: args, protected
//!               6 workspace_name    string       14 changes         repeated Change
//!               7 receipt_version   uint32       15 numbers         repeated NumberDrawn
//!               8 index             uint32
//!  Origin       1 client            bytes         4 fingerprint     17 bytes: version, hash
//!               2 client_sequence   uint64        5 deadline        optional uint64
//!               3 key               16 bytes
//!  NumberDrawn  1 sequence          uint32        4 number          uint64
//!               2 name              string        5 text            string
//!               3 year              uint32, absent without one
//! ```

use seriatim_types::{Event, KindId, NumberDrawn, Origin, SequenceId, WorkspaceId, Year};

use crate::DecodeError;
use crate::wire::{Message, Reader, Writer};

impl Message for Event {
    const NAME: &'static str = "Event";

    fn write(&self, to: &mut Writer) {
        to.integer(1, self.partition_offset.get());
        to.integer(2, self.workspace.0);
        to.integer(3, self.kind.0);
        to.integer(4, self.offset.get());
        to.integer(5, self.time.0);
        to.optional_name(6, self.workspace_name.as_ref());
        to.integer(7, self.receipt_version);
        to.integer(8, self.index);
        to.integer(9, self.count);
        to.optional_message(10, self.origin.as_ref());
        to.text(11, self.name.as_str());
        to.plain(12, &self.args);
        to.repeated(14, &self.changes);
        to.repeated(15, &self.numbers);
        to.unknown(&self.unknown);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            partition_offset: from.offset(1)?,
            workspace: WorkspaceId(from.integer(2)?),
            kind: KindId(from.integer(3)?),
            offset: from.number(4)?,
            time: from.time(5)?,
            workspace_name: from.optional_name(6)?,
            receipt_version: from.integer(7)?,
            index: from.integer(8)?,
            count: from.integer(9)?,
            origin: from.optional_message(10)?,
            name: from.name(11)?,
            args: from.plain(12)?,
            changes: from.repeated(14)?,
            numbers: from.repeated(15)?,
            unknown: from.unknown()?,
        })
    }
}

impl Message for Origin {
    const NAME: &'static str = "Origin";

    fn write(&self, to: &mut Writer) {
        to.bytes(1, self.client.as_bytes());
        to.integer(2, self.client_sequence.get());
        to.bytes(3, &self.key.0);
        to.fingerprint(4, &self.fingerprint);
        to.optional_time(5, self.deadline);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            client: from.client(1)?,
            client_sequence: from.number(2)?,
            key: from.key(3)?,
            fingerprint: from.fingerprint(4)?,
            deadline: from.optional_time(5)?,
        })
    }
}

impl Message for NumberDrawn {
    const NAME: &'static str = "NumberDrawn";

    fn write(&self, to: &mut Writer) {
        to.integer(1, self.sequence.0);
        to.text(2, self.name.as_str());
        to.integer(3, self.year.map_or(0, Year::get));
        to.integer(4, self.number.get());
        to.text(5, &self.text);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            sequence: SequenceId(from.integer(1)?),
            name: from.name(2)?,
            year: match from.integer(3)? {
                0 => None,
                year => Some(Year::new(year).ok_or_else(|| from.invalid(3, "a year"))?),
            },
            number: from.number(4)?,
            text: from.text(5)?.to_owned(),
        })
    }
}
