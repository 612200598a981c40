//! Partitions: their logs, and what they are doing.

use seriatim_api::message::{Events, Restarted};
use seriatim_api::method::MethodId;

use crate::app::App;
use crate::error::Error;
use crate::subscription::{Log, Subscription};

/// A partition of an app. Clones are handles to the same.
#[derive(Debug, Clone)]
pub struct Partition {
    pub(crate) app: App,
    pub(crate) number: u16,
}

impl Partition {
    /// Events from an offset of the partition's log on, in order and without a gap. 0 and 1 are the
    /// beginning.
    ///
    /// # Errors
    ///
    /// When there is no such partition, or no answer.
    pub async fn events(&self, from: u64, limit: u32) -> Result<Events, Error> {
        let number = self.number.to_string();
        let request = self.app.request(MethodId::ListPartitionEvents, &[("p", &number)])?;
        let request = request.with("from", Some(from)).with("limit", some(limit.into()));
        self.app.client.ask(request).await
    }

    /// Follows the partition's log from an offset on: see [`Subscription`].
    #[must_use]
    pub fn subscribe(&self, from: u64) -> Subscription {
        let log = Log::Partition(self.app.name.clone(), self.number);
        Subscription::new(self.app.client.clone(), log, from)
    }

    /// Lets it read its log again, behind the answer. One that has stopped serves again, or stops
    /// again with the same reason.
    ///
    /// # Errors
    ///
    /// When there is no such partition, or no answer.
    pub async fn restart(&self) -> Result<(), Error> {
        let number = self.number.to_string();
        let request = self.app.request(MethodId::RestartPartition, &[("p", &number)])?;
        self.app.client.ask::<Restarted>(request).await.map(drop)
    }
}

/// A number that stands for nothing when it is 0.
pub(crate) fn some(number: u64) -> Option<u64> {
    (number != 0).then_some(number)
}
