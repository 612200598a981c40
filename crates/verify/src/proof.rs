//! A proof on its own: nothing is asked of a server or a store.
//!
//! ```text
//!  receipt with a proof   the last event of the command is in the log that its head stands for
//!  proof                  an event is in the log of a size and a root
//!  consistency            a log of one head is the beginning of that of another
//! ```
//!
//! A proof shows something about the root that it names. That the root is the workspace's is for
//! whoever keeps heads to compare.
//!
//! **Deliberately absent:** what an event says. A leaf is the hash of stored bytes, and the JSON of
//! an event does not show all of them: [`find_event`](crate::find_event) reads them from a store.

use serde_json::{Map, Value};
use seriatim_merkle::{VerifyError, verify_consistency, verify_inclusion};
use seriatim_types::Hash;

/// What a proof shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proved {
    /// An event is in a workspace's log.
    Inclusion {
        /// The event.
        offset: u64,
        /// The hash of the event's stored bytes.
        leaf: Hash,
        /// How many events the log had.
        size: u64,
        /// The root of the tree over them.
        root: Hash,
    },
    /// A workspace's log only grew.
    Consistency {
        /// How many events the earlier log had.
        from: u64,
        /// The root of the tree over them.
        from_root: Hash,
        /// How many events the later log had.
        to: u64,
        /// The root of the tree over them.
        to_root: Hash,
    },
}

/// Why something is not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofProblem {
    /// It is no JSON, or not of the form of a proof.
    #[error("this is no proof: {why}")]
    Malformed {
        /// What is wrong with it.
        why: String,
    },
    /// Two things that it says do not go together.
    #[error("{what} is {one} in one place and {other} in another")]
    Contradiction {
        /// About what.
        what: &'static str,
        /// The one.
        one: String,
        /// The other.
        other: String,
    },
    /// The hashes do not lead to the root.
    #[error("the proof does not hold")]
    DoesNotHold(#[from] VerifyError),
}

/// Checks the JSON of a receipt with a proof, of a proof, or of a consistency proof.
///
/// # Errors
///
/// When it shows nothing.
pub fn check_proof(proof: &[u8]) -> Result<Proved, ProofProblem> {
    let document = Document::read(proof)?;
    if document.has("from_root") {
        consistency(&document)
    } else if document.has("proof") {
        receipt(&document)
    } else {
        inclusion(&document)
    }
}

/// Reads a hash of 64 hexadecimal digits.
#[must_use]
pub fn parse_hash(text: &str) -> Option<Hash> {
    let digits = text.as_bytes();
    let mut hash = [0; 32];
    if digits.len() != 64 {
        return None;
    }
    for (byte, digits) in hash.iter_mut().zip(digits.chunks(2)) {
        let digits = str::from_utf8(digits).ok()?;
        // Signs are no digits, although numbers may have them.
        digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(Hash(hash))
}

fn inclusion(document: &Document) -> Result<Proved, ProofProblem> {
    let (offset, size) = (document.number("offset")?, document.number("size")?);
    let (leaf, root) = (document.hash("leaf")?, document.hash("root")?);
    let index = offset.checked_sub(1).ok_or_else(|| malformed("offsets begin with 1"))?;
    verify_inclusion(&leaf, index, size, &document.path()?, &root)?;
    Ok(Proved::Inclusion { offset, leaf, size, root })
}

fn receipt(document: &Document) -> Result<Proved, ProofProblem> {
    let (proof, head) = (document.object("proof")?, document.object("head")?);
    let proved = inclusion(&proof)?;
    let last = document.number("last_offset")?;
    same("the event", last, proof.number("offset")?)?;
    same("the size", head.number("size")?, proof.number("size")?)?;
    same("the root", head.hash("root")?, proof.hash("root")?)?;
    Ok(proved)
}

fn consistency(document: &Document) -> Result<Proved, ProofProblem> {
    let (from, to) = (document.number("from")?, document.number("to")?);
    let (from_root, to_root) = (document.hash("from_root")?, document.hash("to_root")?);
    verify_consistency(from, to, &from_root, &to_root, &document.path()?)?;
    Ok(Proved::Consistency { from, from_root, to, to_root })
}

fn same<T: PartialEq + ToString>(what: &'static str, one: T, other: T) -> Result<(), ProofProblem> {
    if one == other {
        return Ok(());
    }
    let (one, other) = (one.to_string(), other.to_string());
    Err(ProofProblem::Contradiction { what, one, other })
}

fn malformed(why: impl Into<String>) -> ProofProblem {
    ProofProblem::Malformed { why: why.into() }
}

/// A JSON object.
struct Document(Map<String, Value>);

impl Document {
    fn read(bytes: &[u8]) -> Result<Self, ProofProblem> {
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(members)) => Ok(Self(members)),
            Ok(_) => Err(malformed("it is no object")),
            Err(error) => Err(malformed(error.to_string())),
        }
    }

    fn has(&self, member: &str) -> bool {
        self.0.contains_key(member)
    }

    fn object(&self, member: &str) -> Result<Self, ProofProblem> {
        let object = self.0.get(member).and_then(Value::as_object);
        object.cloned().map(Self).ok_or_else(|| malformed(format!("{member} is no object")))
    }

    fn number(&self, member: &str) -> Result<u64, ProofProblem> {
        let number = self.0.get(member).and_then(Value::as_u64);
        number.ok_or_else(|| malformed(format!("{member} is no number")))
    }

    fn hash(&self, member: &str) -> Result<Hash, ProofProblem> {
        self.0
            .get(member)
            .and_then(|value| parse_hash(value.as_str()?))
            .ok_or_else(|| malformed(format!("{member} is no hash of 64 hexadecimal digits")))
    }

    fn path(&self) -> Result<Vec<Hash>, ProofProblem> {
        let path = self.0.get("path").and_then(Value::as_array);
        let path =
            path.and_then(|path| path.iter().map(|value| parse_hash(value.as_str()?)).collect());
        path.ok_or_else(|| malformed("path is no list of hashes"))
    }
}
