//! Everything that can be asked of a workspace and of a log, in any protocol.
//!
//! ```text
//!  what is asked ─► partition ─► is min_offset applied? wait ─► memory? wait ─► one view ─► answer
//! ```

pub(crate) mod cost;
mod events;
mod follow;
pub(crate) mod http;
mod page;
mod proofs;
mod rows;
mod sse;
mod wait;

use std::sync::Arc;

use seriatim::service::find;
use seriatim_node::{Log, Reader, View, Workspace};
use seriatim_types::{Name, PartitionId, PartitionRef, WorkspaceRef};

use crate::context::Context;
use crate::error::ApiError;
use crate::overload::memory_budget::Reserved;
use crate::partitions;

pub(crate) use follow::{Part, follow};
pub(crate) use proofs::{consistency, head, proof};
pub(crate) use rows::{client, entity, receipt, record, records, sequence};
pub(crate) use wait::Wait;

/// A read of a workspace.
pub(crate) struct WorkspaceRead {
    context: Arc<Context>,
    app: Name,
    asked: WorkspaceRef,
    partition: PartitionRef,
    wait: Wait,
}

/// A read of a log.
pub(crate) struct LogRead {
    context: Arc<Context>,
    app: Name,
    log: Log,
    partition: PartitionRef,
    wait: Wait,
}

impl WorkspaceRead {
    pub(crate) fn new(
        context: Arc<Context>,
        app: Name,
        asked: WorkspaceRef,
        wait: Wait,
    ) -> Result<Self, ApiError> {
        let partition = context.partition_of(&app, &asked)?;
        Ok(Self { context, app, asked, partition, wait })
    }

    /// The read of its log.
    pub(crate) fn of_log(self) -> LogRead {
        let Self { context, app, asked, partition, wait } = self;
        LogRead { context, app, log: Log::Workspace(asked), partition, wait }
    }

    /// Waits for the offset that was asked for, then reserves what the read may take, then answers
    /// with what `read` makes of the workspace.
    async fn answer<T: Send + 'static>(
        self,
        cost: usize,
        read: impl FnOnce(&Reader<'_>, &Workspace) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<Reserved<T>, ApiError> {
        self.wait().await?;
        self.read_reserved(cost, read).await
    }

    /// The same for a list, which also reserves what its answer may take until it is sent.
    async fn answer_list<T: Send + 'static>(
        self,
        read: impl FnOnce(&Reader<'_>, &Workspace) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<Reserved<T>, ApiError> {
        self.wait().await?;
        let within = self.context.settings.reserve_within;
        let unsent = self.context.reserve_unsent(cost::LIST_BODY, within).await?;
        Ok(self.read_reserved(cost::LIST, read).await?.kept_by(unsent))
    }

    async fn wait(&self) -> Result<(), ApiError> {
        let log = Log::Workspace(self.asked.clone());
        self.wait.wait(&self.context, self.partition, &log).await
    }

    async fn read_reserved<T: Send + 'static>(
        self,
        cost: usize,
        read: impl FnOnce(&Reader<'_>, &Workspace) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<Reserved<T>, ApiError> {
        let Self { context, asked, partition, .. } = self;
        let reservation = context.reserve(cost, context.settings.reserve_within).await?;
        let read = move |reader: &Reader<'_>, _: &View| read(reader, &find(reader, &asked)?);
        context.read_reserved(partition, reservation, read).await
    }
}

impl LogRead {
    /// A read of a partition's log.
    pub(crate) async fn of_partition(
        context: Arc<Context>,
        app: Name,
        partition: PartitionId,
        wait: Wait,
    ) -> Result<Self, ApiError> {
        let log = Log::Partition(partition);
        let partition = partitions::find(&context, app.clone(), partition).await?;
        Ok(Self { context, app, log, partition, wait })
    }

    async fn wait(&self) -> Result<(), ApiError> {
        self.wait.wait(&self.context, self.partition, &self.log).await
    }
}
