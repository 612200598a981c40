//! The head of a workspace's log, and proofs about it.

use seriatim::service::{self, Proven, called};
use seriatim_node::{Consistency, Head, Inclusion, Reader, Workspace};
use seriatim_types::{NUMBER_MAX, Number};

use super::{WorkspaceRead, cost};
use crate::asked::check_in;
use crate::error::ApiError;

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
    let prove = move |reader: &Reader<'_>, workspace: &Workspace| {
        Ok(service::inclusion(reader, workspace, offset, size)?)
    };
    Ok(read.answer(cost::LOG, prove).await?.value)
}

/// That a workspace's log only grew from one size to another, by default to its present one.
pub(crate) async fn consistency(
    read: WorkspaceRead,
    from: u64,
    to: Option<u64>,
) -> Result<Proven<Consistency>, ApiError> {
    to.map(|to| check_in("to", to, from..=NUMBER_MAX)).transpose()?;
    let prove = move |reader: &Reader<'_>, workspace: &Workspace| {
        Ok(service::consistency(reader, workspace, from, to)?)
    };
    Ok(read.answer(cost::LOG, prove).await?.value)
}
