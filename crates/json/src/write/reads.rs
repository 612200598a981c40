//! Records, entities, sequences, clients, heads and proofs.

use seriatim_types::{ClientId, EntityKey, EntityRow, Hash, Name, Number, RecordRow, Year};

use super::object::{Object, object};
use crate::define::{CLASSES, word_of};

/// That an event is in a workspace's log (RFC 6962).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inclusion<'a> {
    /// The event.
    pub offset: Number,
    /// How many events the log had.
    pub size: u64,
    /// The hash of the event.
    pub leaf: &'a Hash,
    /// What the leaf is hashed with, from below.
    pub path: &'a [Hash],
    /// The root of the tree of that size.
    pub root: &'a Hash,
}

/// That a workspace's log only grew (RFC 6962).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consistency<'a> {
    /// How many events the earlier log had.
    pub from: u64,
    /// How many events the later log had.
    pub to: u64,
    /// The hashes that lead from one root to the other.
    pub path: &'a [Hash],
    /// The root of the earlier log.
    pub from_root: &'a Hash,
    /// The root of the later log.
    pub to_root: &'a Hash,
}

/// The body of a record.
#[must_use]
pub fn record(id: Number, row: &RecordRow) -> Vec<u8> {
    object(|object| {
        object.number("id", id.get());
        object.text("kind", row.kind.as_str());
        object.text("class", word_of(CLASSES, row.class));
        object.number("parent", row.parent.map_or(0, Number::get));
        object.number("version", row.version);
        object.fields(&row.fields);
        object.number("offset", row.offset.get());
    })
}

/// The body of an entity.
#[must_use]
pub fn entity(key: &EntityKey, row: &EntityRow) -> Vec<u8> {
    object(|object| {
        object.text("key", key.as_str());
        object.raw("value", &row.value);
        object.number("version", row.version);
        match row.expires_at {
            Some(expires_at) => object.time("expires_at", expires_at),
            None => object.null("expires_at"),
        }
        object.number("offset", row.offset.get());
    })
}

/// The body of a sequence: its last number, 0 if it has given none, and its next number with its
/// text, null if it can give no more.
#[must_use]
pub fn sequence(
    name: &Name,
    period: Option<Year>,
    last: Option<Number>,
    next: Option<(Number, &str)>,
) -> Vec<u8> {
    object(|object| {
        object.text("name", name.as_str());
        if let Some(year) = period {
            object.number("period", u64::from(year.get()));
        }
        object.number("last", last.map_or(0, Number::get));
        match next {
            Some((number, text)) => {
                object.number("next", number.get());
                object.text("next_text", text);
            }
            None => {
                object.null("next");
                object.null("next_text");
            }
        }
    })
}

/// The body of a client.
#[must_use]
pub fn client(client: &ClientId, last_client_sequence: Number, last_offset: Number) -> Vec<u8> {
    object(|object| {
        object.text("client", &String::from_utf8_lossy(client.as_bytes()));
        object.number("last_client_sequence", last_client_sequence.get());
        object.number("last_offset", last_offset.get());
    })
}

/// The body of a workspace's head.
#[must_use]
pub fn head(workspace: &str, size: u64, root: &Hash) -> Vec<u8> {
    object(|object| {
        object.text("workspace", workspace);
        object.number("size", size);
        object.hash("root", root);
    })
}

/// The body of a proof that an event is in a workspace's log.
#[must_use]
pub fn inclusion(proof: &Inclusion<'_>) -> Vec<u8> {
    object(|object| proof.write(object))
}

/// The body of a proof that a workspace's log only grew.
#[must_use]
pub fn consistency(proof: &Consistency<'_>) -> Vec<u8> {
    object(|object| {
        object.number("from", proof.from);
        object.number("to", proof.to);
        object.hashes("path", proof.path);
        object.hash("from_root", proof.from_root);
        object.hash("to_root", proof.to_root);
    })
}

impl Inclusion<'_> {
    pub(super) fn write(&self, object: &mut Object<'_>) {
        object.number("offset", self.offset.get());
        object.number("size", self.size);
        object.hash("leaf", self.leaf);
        object.hashes("path", self.path);
        object.hash("root", self.root);
    }
}
