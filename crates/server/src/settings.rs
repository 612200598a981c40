//! What can be set for a server, and what is fixed.

use std::time::Duration;

use seriatim_json::define::AppDefaults;

/// Settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long an answer of the node is waited for. Then the outcome is unknown.
    pub answer_within: Duration,
    /// How long a read waits for its `min_offset` when it does not say how long.
    pub offset_within: Duration,
    /// The names by which a server that listens on a loopback address may be asked, beside addresses
    /// and `localhost`; `*` for any.
    pub hosts: Vec<String>,
    /// How many connections may be open at the same time. Further ones wait to be accepted.
    pub connections_max: usize,
    /// How long a client may take for the head of a request, and for its first one.
    pub header_within: Duration,
    /// How many headers a request may have.
    pub headers_max: usize,
    /// How many bytes the head of a request may have, at least 8 KiB.
    pub header_bytes_max: usize,
    /// How long a client may take for the body of a request, or for a message of a stream that it has
    /// begun.
    pub body_within: Duration,
    /// How long a client may read nothing while something is to be written to it. Then its connection
    /// is closed.
    pub unread_within: Duration,
    /// How many bytes may be held for all clients together. A quarter is for requests received in part,
    /// three eighths are for reads under way, three eighths for large answers that are not sent yet.
    pub held_bytes_max: usize,
    /// How long a read waits for its share of those bytes before it is refused. One that waits for
    /// events has the rest of its own time if that is longer.
    pub reserve_within: Duration,
    /// How many requests may be open at the same time on one connection of HTTP/2.
    pub streams_per_connection_max: u32,
    /// How many subscriptions may be open at the same time.
    pub subscriptions_max: usize,
    /// How many streams of commands may be open at the same time.
    pub submit_streams_max: usize,
    /// How many commands of one stream may be on their way. Further ones are not read.
    pub stream_in_flight_max: usize,
    /// At how many bytes of them in memory no further one is read.
    pub stream_bytes_max: usize,
    /// How often a subscription without events says that it is alive, and a connection of HTTP/2 is
    /// asked whether it is.
    pub keep_alive: Duration,
    /// How long answers in flight may take once the server is to end.
    pub end_within: Duration,
    /// What a new app gets where its request says nothing.
    pub apps: AppDefaults,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            answer_within: Duration::from_secs(30),
            offset_within: Duration::from_secs(5),
            hosts: Vec::new(),
            connections_max: 1100,
            header_within: Duration::from_secs(30),
            headers_max: 100,
            header_bytes_max: 64 * 1024,
            body_within: Duration::from_secs(30),
            unread_within: Duration::from_secs(60),
            held_bytes_max: 256 * 1024 * 1024,
            reserve_within: Duration::from_secs(1),
            streams_per_connection_max: 256,
            subscriptions_max: 1100,
            submit_streams_max: 1100,
            stream_in_flight_max: 2048,
            stream_bytes_max: 16 * 1024 * 1024,
            keep_alive: Duration::from_secs(15),
            end_within: Duration::from_secs(10),
            apps: AppDefaults::default(),
        }
    }
}

/// A list is cut behind the row with which it comes to as many bytes: it is held until its reader has
/// it.
pub(crate) const LIST_BYTES_MAX: usize = 1024 * 1024;
