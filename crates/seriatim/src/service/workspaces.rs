//! Workspaces: finding them, and what answers call them.
//!
//! A workspace that was never used reads as one without events: it comes into being by being used,
//! so nobody has to know whether it was. Only an id that belongs to a name and was never given is
//! not found, because no command can make it.

use seriatim_node::{ReadFailed, Reader, Workspace};
use seriatim_types::{KindId, WorkspaceId, WorkspaceRef};

/// The kind that a workspace has unless another was settled.
const DEFAULT_KIND: KindId = KindId(0);

/// The id of workspaces whose name has none yet: no workspace has it.
pub(super) const NO_ID: WorkspaceId = WorkspaceId(u64::MAX);

/// The workspace, also one that was never used.
///
/// # Errors
///
/// When it could not be read.
pub fn find(reader: &Reader<'_>, asked: &WorkspaceRef) -> Result<Workspace, ReadFailed> {
    if let Some(found) = reader.workspace(asked)? {
        return Ok(found);
    }
    let (id, name) = match asked {
        WorkspaceRef::Name(name) => (NO_ID, Some(name.clone())),
        WorkspaceRef::Id(id) => (*id, None),
    };
    Ok(Workspace { id, kind: DEFAULT_KIND, name })
}

/// What answers call a workspace: its name, or its id if it has none.
#[must_use]
pub fn called(workspace: &Workspace) -> String {
    match &workspace.name {
        Some(name) => name.as_str().to_owned(),
        None => workspace.id.0.to_string(),
    }
}

/// The same, by the workspace's id.
///
/// # Errors
///
/// When its name could not be read.
pub fn called_by_id(reader: &Reader<'_>, workspace: WorkspaceId) -> Result<String, ReadFailed> {
    Ok(called(&find(reader, &WorkspaceRef::Id(workspace))?))
}

/// What receipts call the workspace: as the command has named it.
#[must_use]
pub fn called_as_asked(workspace: &WorkspaceRef) -> String {
    match workspace {
        WorkspaceRef::Name(name) => name.as_str().to_owned(),
        WorkspaceRef::Id(id) => id.0.to_string(),
    }
}
