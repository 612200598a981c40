//! A partition of an app: its log, what it is doing, and starting it again.

use std::sync::Arc;
use std::time::Duration;

use seriatim_core::Committed;
use seriatim_node::{Log, Reader, State};
use seriatim_types::{Name, PartitionId, PartitionRef, WorkspaceId};

use crate::error::ReadError;
use crate::opened::Opened;
use crate::service;
use crate::subscription::Subscription;

/// A partition of an app. All workspaces of it share one log, in which causes come before effects. Clones
/// are handles to the same.
#[derive(Clone)]
pub struct Partition {
    pub(crate) opened: Arc<Opened>,
    pub(crate) app: Name,
    pub(crate) partition: PartitionRef,
}

impl Partition {
    /// Its number within the app.
    #[must_use]
    pub fn id(&self) -> PartitionId {
        self.partition.partition
    }

    /// What it is doing. One that has stopped says why.
    ///
    /// # Errors
    ///
    /// When it was not started yet, or everything was closed.
    pub fn state(&self) -> Result<State, ReadError> {
        let state = self.opened.with(|node| service::state(node, self.partition))?;
        state.ok_or(ReadError::NotYet)
    }

    /// Lets it forget everything and read its log again, as one that has stopped does when the folder is
    /// opened. That goes on in the background: see [`state`](Self::state).
    ///
    /// # Errors
    ///
    /// When it was not started yet, or everything was closed.
    pub fn restart(&self) -> Result<(), ReadError> {
        let is_there = self.opened.with(|node| node.restart(self.partition))?;
        if is_there { Ok(()) } else { Err(ReadError::NotYet) }
    }

    /// Events of all its workspaces from an offset of its log on, in order and without a hole. 0 and 1 are
    /// the beginning. Fewer than the limit when they are large.
    ///
    /// # Errors
    ///
    /// When they could not be read.
    pub fn events(&self, from: u64, limit: usize) -> Result<Vec<Committed>, ReadError> {
        self.read(|reader| Ok(reader.partition_events(from, limit)?))
    }

    /// The name of a workspace of this partition, or its id as digits if it has none.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn workspace_name(&self, workspace: WorkspaceId) -> Result<String, ReadError> {
        self.read(|reader| Ok(service::called_by_id(reader, workspace)?))
    }

    /// Follows the log from an offset on: first what is stored, then what is added, without a hole
    /// and without a repetition. 0 and 1 are the beginning.
    ///
    /// # Errors
    ///
    /// When it was not started yet, or everything was closed.
    pub fn subscribe(&self, from: u64) -> Result<Subscription, ReadError> {
        let inner = self.opened.with(|node| node.subscribe(&self.app, self.log(), from))??;
        Ok(Subscription::new(inner))
    }

    /// Waits on this thread until the log has an offset. Returns its last one, which every read sees that
    /// begins afterwards.
    ///
    /// # Errors
    ///
    /// [`ReadError::NotReached`] when it has not within the time, or it could not be read.
    pub fn wait_for(&self, offset: u64, within: Duration) -> Result<u64, ReadError> {
        self.opened.wait_for(self.partition, &self.log(), offset, within)
    }

    fn log(&self) -> Log {
        Log::Partition(self.partition.partition)
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.opened.read(self.partition, read)
    }
}
