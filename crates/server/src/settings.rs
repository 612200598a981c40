//! What can be set for a server, and what is fixed.

use std::time::Duration;

/// Settings of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How long an answer of the node is waited for. Then the outcome is unknown.
    pub answer_within: Duration,
    /// How long a read waits for its `min_offset` when it does not say how long.
    pub offset_within: Duration,
    /// How many connections may be open at the same time. Further ones wait to be accepted.
    pub connections_max: usize,
    /// How many subscriptions may be open at the same time.
    pub subscriptions_max: usize,
    /// How often a subscription without events says that it is alive.
    pub keep_alive: Duration,
    /// How long answers in flight may take once the server is to end.
    pub end_within: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            answer_within: Duration::from_secs(30),
            offset_within: Duration::from_secs(5),
            connections_max: 512,
            subscriptions_max: 256,
            keep_alive: Duration::from_secs(15),
            end_within: Duration::from_secs(10),
        }
    }
}

/// The longest that a read can ask to wait.
pub(crate) const WAIT_MS_MAX: u64 = 60_000;

/// Rows or events of one list, unless the request says how many.
pub(crate) const LIMIT_DEFAULT: u64 = 100;

/// Rows or events of one list.
pub(crate) const LIMIT_MAX: u64 = 1000;

/// A list is cut behind the row with which it comes to as many bytes.
pub(crate) const LIST_BYTES_MAX: usize = 8 * 1024 * 1024;
