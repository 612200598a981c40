//! Partitions: their logs, and what they are doing.

use seriatim_api as api;

use crate::app::App;
use crate::client::ask;
use crate::error::Error;
use crate::event::Events;
use crate::subscription::Subscription;

/// A partition of an app. Clones are handles to the same.
#[derive(Debug, Clone)]
pub struct Partition {
    pub(crate) app: App,
    pub(crate) number: u32,
}

/// What a partition is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionStatus {
    /// Its app.
    pub app: String,
    /// Its number, from 0 on.
    pub partition: u32,
    /// What it is doing.
    pub state: PartitionState,
}

/// What a partition is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionState {
    /// It carries out commands.
    Serving,
    /// It reads its log.
    Actualizing {
        /// How many events it has read.
        done: u64,
        /// How many there are to read.
        total: u64,
    },
    /// It has stopped, and the others serve.
    Stopped {
        /// Why.
        reason: String,
    },
}

impl Partition {
    /// Events from an offset of the partition's log on, in order and without a hole. 0 and 1 are the
    /// beginning.
    ///
    /// # Errors
    ///
    /// When there is no such partition, or no answer.
    pub async fn events(&self, from: u64, limit: u32) -> Result<Events, Error> {
        let log = Some(self.log());
        let request = api::ListEventsRequest { log, from, limit, wait_ms: 0, min_offset: 0 };
        ask!(self.app.client, ReadServiceClient::list_events, request)?.try_into()
    }

    /// Follows the partition's log from an offset on: see [`Subscription`].
    #[must_use]
    pub fn subscribe(&self, from: u64) -> Subscription {
        Subscription::new(self.app.client.clone(), self.log(), from)
    }

    /// Lets it read its log again, behind the answer. One that has stopped serves again, or stops
    /// again with the same reason.
    ///
    /// # Errors
    ///
    /// When there is no such partition, or no answer.
    pub async fn restart(&self) -> Result<(), Error> {
        let (app, partition) = (self.app.name.clone(), self.number);
        let request = api::RestartPartitionRequest { app, partition };
        ask!(self.app.client, PartitionServiceClient::restart_partition, request).map(drop)
    }

    fn log(&self) -> api::Log {
        let log = Some(api::log::Log::Partition(self.number));
        api::Log { app: self.app.name.clone(), log }
    }
}

impl TryFrom<api::Partition> for PartitionStatus {
    type Error = Error;

    fn try_from(status: api::Partition) -> Result<Self, Error> {
        let state = match status.state() {
            api::PartitionState::Serving => PartitionState::Serving,
            api::PartitionState::Actualizing => {
                PartitionState::Actualizing { done: status.done, total: status.total }
            }
            api::PartitionState::Stopped => PartitionState::Stopped { reason: status.reason },
            api::PartitionState::Unspecified => {
                return Err(Error::bad_answer("a partition without a state"));
            }
        };
        Ok(Self { app: status.app, partition: status.partition, state })
    }
}
