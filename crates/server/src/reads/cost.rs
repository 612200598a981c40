//! The memory that a read may take, reserved before it begins.
//!
//! Each cost is the largest there can be, by the [limits](seriatim_types::limits): the stored rows that
//! are in memory at the same time, what they are decoded to, and the answer written from them. How
//! large an answer really is shows only once it is written. Then the reservation shrinks to it, so
//! that the largest size is reserved for milliseconds.

use seriatim_types::limits::{
    COMMAND_BYTES_MAX, DRAWS_PER_COMMAND_MAX, FIELD_BYTES_MAX, FIELD_NAME_BYTES_MAX,
    FIELDS_PER_RECORD_MAX, FORMAT_BYTES_MAX, HOLES_PER_COMMAND_MAX, NAME_BYTES_MAX,
    RECORD_BYTES_MAX,
};

use crate::settings::LIST_BYTES_MAX;

const MIB: usize = 1024 * 1024;

/// The stored events of one command, and so also one event.
const COMMAND_STORED: usize = 8 * MIB;

/// A command's events written as JSON. Only names grow by being written: their quotes and
/// backslashes are escaped.
const COMMAND_WRITTEN: usize = 10 * MIB;

/// A stored record, and the same as JSON.
const RECORD_STORED: usize = 3 * MIB / 2;
const RECORD_WRITTEN: usize = 2 * MIB;

/// A list of events or records: either the stored rows of a page with what was written of them, or all
/// that was written, in parts and as one body. Both end with the row at which they reach the limit of
/// a list.
pub(crate) const LIST: usize = larger(
    (LIST_BYTES_MAX + COMMAND_STORED) + (LIST_BYTES_MAX + COMMAND_WRITTEN),
    2 * (LIST_BYTES_MAX + COMMAND_WRITTEN),
) + 2 * MIB;

/// The written answer of a list, with the row at which it reaches its limit.
pub(crate) const LIST_BODY: usize = LIST_BYTES_MAX + COMMAND_WRITTEN;

/// A receipt: the events of its command, decoded, beside the definitions of the app.
pub(crate) const RECEIPT: usize = 2 * COMMAND_STORED + COMMAND_WRITTEN;

/// A head, a proof, the state of a client: small, but made from events of which up to a page is read
/// at a time.
pub(crate) const LOG: usize = LIST_BYTES_MAX + COMMAND_STORED + MIB;

/// The state of a sequence: the same, beside the definitions of the app.
pub(crate) const SEQUENCE: usize = LOG + COMMAND_STORED;

/// One record. The buffer that it is written to doubles as it grows.
pub(crate) const RECORD: usize = RECORD_STORED + 3 * RECORD_WRITTEN;

/// One entity.
pub(crate) const ENTITY: usize = 4 * FIELD_BYTES_MAX as usize + MIB;

const fn larger(one: usize, other: usize) -> usize {
    if one > other { one } else { other }
}

/// A drawn number as text: the placeholder `{n:020}` is the one that grows. In JSON each byte may be
/// escaped.
const TEXT_BYTES_MAX: usize = FORMAT_BYTES_MAX + 13;

const _: () = {
    let holes = HOLES_PER_COMMAND_MAX as usize * (2 * TEXT_BYTES_MAX + 2);
    let values = COMMAND_BYTES_MAX as usize + holes;
    let draws = DRAWS_PER_COMMAND_MAX as usize;
    assert!(values + draws * (NAME_BYTES_MAX + TEXT_BYTES_MAX + 32) <= COMMAND_STORED);
    let draw = 2 * NAME_BYTES_MAX + 2 * TEXT_BYTES_MAX + 96;
    assert!(values + draws * draw <= COMMAND_WRITTEN);
    let names = FIELDS_PER_RECORD_MAX as usize * (FIELD_NAME_BYTES_MAX + 16);
    assert!(RECORD_BYTES_MAX as usize + names <= RECORD_STORED);
    assert!(RECORD_BYTES_MAX as usize + 2 * names <= RECORD_WRITTEN);
};
