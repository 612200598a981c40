//! Following the log of a workspace, by threads and by tasks.

use std::time::{Duration, Instant};

use seriatim_core::Committed;
use seriatim_node as node;

use crate::error::SubscribeError;

/// How long an iterator waits before it looks whether it has to wait on. It is woken by events.
const LOOK_AGAIN: Duration = Duration::from_secs(3600);

/// A place in the log of a workspace, from which events are given as they become durable: one by
/// one as an iterator that waits for them and ends when Seriatim is closed, or in pages.
pub struct Subscription {
    /// Let go once it has ended, because it keeps the folder from being free.
    inner: Option<node::Subscription>,
    page: std::vec::IntoIter<Committed>,
}

impl Subscription {
    pub(crate) fn new(inner: node::Subscription) -> Self {
        Self { inner: Some(inner), page: Vec::new().into_iter() }
    }

    /// The next events, once there are some; none if none came before the deadline.
    ///
    /// # Errors
    ///
    /// When it cannot go on.
    pub fn next_before(&mut self, deadline: Instant) -> Result<Vec<Committed>, SubscribeError> {
        if self.page.len() > 0 {
            return Ok(self.page.by_ref().collect());
        }
        let Some(inner) = &mut self.inner else { return Err(SubscribeError::Closed) };
        let events = inner.next_before(deadline);
        self.check(events)
    }

    /// The next events, once there are some: for tasks, on any runtime.
    ///
    /// # Errors
    ///
    /// When it cannot go on.
    pub async fn next_page(&mut self) -> Result<Vec<Committed>, SubscribeError> {
        if self.page.len() > 0 {
            return Ok(self.page.by_ref().collect());
        }
        let Some(inner) = &mut self.inner else { return Err(SubscribeError::Closed) };
        let events = inner.next().await;
        self.check(events)
    }

    fn check(
        &mut self,
        events: Result<Vec<Committed>, node::SubscribeError>,
    ) -> Result<Vec<Committed>, SubscribeError> {
        events.map_err(|error| {
            self.inner = None;
            match error {
                node::SubscribeError::Lagged { resume_from, behind } => {
                    SubscribeError::Lagged { resume_from, behind }
                }
                node::SubscribeError::Read(failed) => failed.into(),
                node::SubscribeError::Stopped(reason) => SubscribeError::Stopped(reason),
                node::SubscribeError::Ended => SubscribeError::Closed,
            }
        })
    }
}

impl Iterator for Subscription {
    type Item = Result<Committed, SubscribeError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.page.next() {
                return Some(Ok(event));
            }
            let now = Instant::now();
            match self.next_before(now.checked_add(LOOK_AGAIN).unwrap_or(now)) {
                Ok(page) => self.page = page.into_iter(),
                Err(SubscribeError::Closed) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
