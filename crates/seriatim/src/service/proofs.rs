//! Proofs about the log of a workspace, of sizes that it has.

use seriatim_node::{Consistency, Inclusion, ProofFailed, ReadFailed, Reader, Workspace};
use seriatim_types::Number;

use super::error::ApiError;

/// A proof, and the sizes of the log that it is about.
#[derive(Debug)]
pub struct Proven<P> {
    /// The proof.
    pub proof: P,
    /// The size of the log before, or the offset of the event.
    pub from: u64,
    /// The size of the log.
    pub to: u64,
}

/// Why there is no proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotProven {
    /// What is stored could not be read.
    #[error(transparent)]
    Failed(#[from] ReadFailed),
    /// The log has no such event.
    #[error("the last offset of the workspace is {last}")]
    NoEvent {
        /// Its last one.
        last: u64,
    },
    /// The log does not have as many events.
    #[error("{size} is more than the {last} events there are")]
    NotAsMany {
        /// What was asked for.
        field: &'static str,
        /// That size.
        size: u64,
        /// How many there are.
        last: u64,
    },
}

/// That an event is among the first of a workspace's log, by default among all.
///
/// # Errors
///
/// When there are not as many events, or something could not be read.
pub fn inclusion(
    reader: &Reader<'_>,
    workspace: &Workspace,
    offset: Number,
    size: Option<u64>,
) -> Result<Proven<Inclusion>, NotProven> {
    let last = reader.last_offset(workspace.id)?;
    if offset.get() > last {
        return Err(NotProven::NoEvent { last });
    }
    let to = size.unwrap_or(last);
    check_size("size", to, last)?;
    let proof = reader.inclusion(workspace.id, offset, to)?;
    Ok(Proven { proof, from: offset.get(), to })
}

/// That a workspace's log only grew from one size to another, by default to its present one.
///
/// # Errors
///
/// The same.
pub fn consistency(
    reader: &Reader<'_>,
    workspace: &Workspace,
    from: u64,
    to: Option<u64>,
) -> Result<Proven<Consistency>, NotProven> {
    let last = reader.last_offset(workspace.id)?;
    let to = to.unwrap_or(last);
    check_size("to", to, last)?;
    check_size("from", from, to)?;
    let proof = reader.consistency(workspace.id, from, to)?;
    Ok(Proven { proof, from, to })
}

fn check_size(field: &'static str, size: u64, last: u64) -> Result<(), NotProven> {
    if size <= last { Ok(()) } else { Err(NotProven::NotAsMany { field, size, last }) }
}

impl From<ProofFailed> for NotProven {
    fn from(failed: ProofFailed) -> Self {
        match failed {
            ProofFailed::Nodes(failed) => Self::Failed(failed),
            ProofFailed::OutOfRange { asked, size } => {
                Self::NotAsMany { field: "size", size: asked, last: size }
            }
        }
    }
}

impl From<NotProven> for ApiError {
    fn from(error: NotProven) -> Self {
        match error {
            NotProven::Failed(failed) => failed.into(),
            NotProven::NoEvent { .. } => Self::not_found(error.to_string()),
            NotProven::NotAsMany { field, .. } => Self::invalid(field, error),
        }
    }
}
