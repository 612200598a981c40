//! Partitions: their logs, and what they are doing.

use seriatim_api::message::{Empty, Events, Restarted};

use crate::app::App;
use crate::error::Error;
use crate::http::Request;
use crate::paths;
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
        let path = self.app.path()?.part("partitions").part(&self.number.to_string());
        let path = path.part("events");
        let path = path.with("from", Some(from)).with("limit", some(limit.into()));
        self.app.client.ask(Request::get(path.into_text())).await
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
        let path = paths::restart(&self.app.name, self.number).into_text();
        self.app.client.ask::<Restarted>(Request::post(path, &Empty {})).await.map(drop)
    }
}

/// A number that stands for nothing when it is 0.
pub(crate) fn some(number: u64) -> Option<u64> {
    (number != 0).then_some(number)
}
