//! The head of a workspace's log, and proofs about it.

use seriatim::service::called;
use seriatim_node::{Consistency, Head, Inclusion, ProofFailed};
use seriatim_types::{NUMBER_MAX, Number};

use super::{WorkspaceRead, cost};
use crate::asked::check_in;
use crate::error::ApiError;

/// A proof, and the sizes of the log that it is about.
pub(crate) struct Proven<P> {
    pub(crate) proof: P,
    /// Of the log before, or the offset of the event.
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// What the workspace is called, and the size and the root of the tree over its log.
pub(crate) async fn head(read: WorkspaceRead) -> Result<(String, Head), ApiError> {
    let found = read
        .answer(cost::LOG, |reader, workspace| Ok((called(workspace), reader.head(workspace.id)?)));
    Ok(found.await?.value)
}

/// That an event is among the first of a workspace's log, by default among all.
pub(crate) async fn proof(
    read: WorkspaceRead,
    offset: Number,
    size: Option<u64>,
) -> Result<Proven<Inclusion>, ApiError> {
    size.map(|size| check_in("size", size, offset.get()..=NUMBER_MAX)).transpose()?;
    let found = read.answer(cost::LOG, move |reader, workspace| {
        let last = reader.last_offset(workspace.id)?;
        if offset.get() > last {
            return Err(ApiError::not_found(format!("the last offset of the workspace is {last}")));
        }
        let to = size.unwrap_or(last);
        check_size("size", to, last)?;
        let proof = reader.inclusion(workspace.id, offset, to).map_err(proof_failed)?;
        Ok(Proven { proof, from: offset.get(), to })
    });
    Ok(found.await?.value)
}

/// That a workspace's log only grew from one size to another, by default to its present one.
pub(crate) async fn consistency(
    read: WorkspaceRead,
    from: u64,
    to: Option<u64>,
) -> Result<Proven<Consistency>, ApiError> {
    to.map(|to| check_in("to", to, from..=NUMBER_MAX)).transpose()?;
    let found = read.answer(cost::LOG, move |reader, workspace| {
        let last = reader.last_offset(workspace.id)?;
        let to = to.unwrap_or(last);
        check_size("to", to, last)?;
        check_size("from", from, to)?;
        let proof = reader.consistency(workspace.id, from, to).map_err(proof_failed)?;
        Ok(Proven { proof, from, to })
    });
    Ok(found.await?.value)
}

/// Why there is no proof, of something whose sizes were checked.
fn proof_failed(failed: ProofFailed) -> ApiError {
    match failed {
        ProofFailed::Nodes(failed) => failed.into(),
        ProofFailed::OutOfRange { asked, size } => {
            ApiError::invalid("size", format!("{asked} is more than the {size} events there are"))
        }
    }
}

fn check_size(field: &str, size: u64, last: u64) -> Result<(), ApiError> {
    if size <= last {
        return Ok(());
    }
    Err(ApiError::invalid(field, format!("{size} is more than the {last} events there are")))
}
