//! Everything that can be asked of a workspace: `GET /v1/apps/{app}/workspaces/{ws}/…`.
//!
//! ```text
//!  path, query ─► partition ─► is min_offset applied? wait ─► one view ─► answer
//! ```
//!
//! A workspace that was never used reads as one without events: it comes into being by being used,
//! so nobody has to know whether it was. Only an id that belongs to a name and was never given is
//! not found, because no command can make it.

mod events;
mod page;
mod proofs;
mod rows;
mod stream;
mod wait;

use std::sync::Arc;

use axum::response::Response;
use seriatim_json::write::Fact;
use seriatim_node::{Log, Reader, Workspace};
use seriatim_types::limits::NAMED_WORKSPACE_FIRST;
use seriatim_types::{KindId, Name, PartitionRef, WorkspaceId, WorkspaceRef};

use crate::answer;
use crate::asked::{Asked, Query};
use crate::context::Context;
use crate::error::ApiError;
use wait::wait_for_min_offset;

pub(crate) use events::{of_partition, of_workspace};
pub(crate) use proofs::{consistency, head, proof};
pub(crate) use rows::{client, entity, receipt, record, records, sequence};

/// The kind that a workspace has unless it is declared to have another.
const DEFAULT_KIND: KindId = KindId(0);

/// The id of workspaces whose name has none yet: no workspace has it.
const NO_ID: WorkspaceId = WorkspaceId(u64::MAX);

/// A read of a workspace.
struct WorkspaceRead {
    context: Arc<Context>,
    app: Name,
    asked: WorkspaceRef,
    partition: PartitionRef,
    query: Query,
}

impl WorkspaceRead {
    /// The read that a request asks for, with the parameters that it may have.
    fn new(
        context: Arc<Context>,
        asked: &Asked,
        known: &'static [&'static str],
    ) -> Result<Self, ApiError> {
        let query = asked.query(known)?;
        let (app, workspace) = (asked.app()?, asked.workspace()?);
        let partition = context.partition_of(&app, &workspace)?;
        Ok(Self { context, app, asked: workspace, partition, query })
    }

    fn log(&self) -> Log {
        Log::Workspace(self.asked.clone())
    }

    async fn wait_for_min_offset(&self) -> Result<(), ApiError> {
        wait_for_min_offset(&self.context, self.partition, &self.log(), &self.query).await
    }

    /// Waits for the `min_offset` that was asked for, then answers with what `read` makes of the
    /// workspace.
    async fn answer(
        self,
        read: impl FnOnce(&Reader<'_>, &Workspace) -> Result<Vec<u8>, ApiError> + Send + 'static,
    ) -> Result<Response, ApiError> {
        self.wait_for_min_offset().await?;
        let asked = self.asked;
        let read = move |reader: &Reader<'_>| read(reader, &find(reader, &asked)?);
        Ok(answer::ok(self.context.read(self.partition, read).await?))
    }
}

/// The workspace, also one that was never used.
fn find(reader: &Reader<'_>, asked: &WorkspaceRef) -> Result<Workspace, ApiError> {
    if let Some(found) = reader.workspace(asked)? {
        return Ok(found);
    }
    match asked {
        WorkspaceRef::Name(name) => {
            Ok(Workspace { id: NO_ID, kind: DEFAULT_KIND, name: Some(name.clone()) })
        }
        WorkspaceRef::Id(id) if id.0 < NAMED_WORKSPACE_FIRST => {
            Ok(Workspace { id: *id, kind: DEFAULT_KIND, name: None })
        }
        WorkspaceRef::Id(id) => {
            let error = ApiError::not_found(format!("there is no workspace {}", id.0));
            Err(error.with("workspace_id", Fact::Number(id.0)))
        }
    }
}

/// What answers call a workspace: its name, or its id if it has none.
fn called(workspace: &Workspace) -> String {
    match &workspace.name {
        Some(name) => name.as_str().to_owned(),
        None => workspace.id.0.to_string(),
    }
}

/// The same, by the workspace's id.
pub(crate) fn shown(reader: &Reader<'_>, workspace: WorkspaceId) -> Result<String, ApiError> {
    Ok(called(&find(reader, &WorkspaceRef::Id(workspace))?))
}
