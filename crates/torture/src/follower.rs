//! Followers of a workspace's log, over all lives of the server.
//!
//! ```text
//!  life 1   1 2 3 4 ✗          killed
//!  life 2           5 6 ✗      Last-Event-ID: 4
//!  life 3               7 8    Last-Event-ID: 6, until the last event
//! ```

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use seriatim_testkit::{HttpClient, request};

use crate::workload::{APP, LAST_EVENT};

/// What a follower has seen.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) workspace: String,
    /// The events with the offsets that they came under.
    pub(crate) events: Vec<(u64, Value)>,
}

/// Where the server is in its present life. Followers wait here for the next one.
#[derive(Default)]
pub(crate) struct Home {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lives: u64,
    address: Option<SocketAddr>,
    is_over: bool,
    /// Followers that have seen the last event, or have failed.
    ended: usize,
}

impl Home {
    /// The server is ready.
    pub(crate) fn moved(&self, address: SocketAddr) {
        let mut state = self.state();
        state.lives += 1;
        state.address = Some(address);
        self.changed.notify_all();
    }

    /// There will be no other life. Followers that have not seen the last event give up.
    pub(crate) fn close(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }

    /// Waits until so many followers have ended. Returns whether they have.
    pub(crate) fn wait_for_ends(&self, count: usize, within: Duration) -> bool {
        let is_short = |state: &mut State| state.ended < count;
        let waited = self.changed.wait_timeout_while(self.state(), within, is_short);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended >= count
    }

    fn ended(&self) {
        self.state().ended += 1;
        self.changed.notify_all();
    }

    /// Waits for a life after the one with this count; `None` when there will be none.
    fn after(&self, life: u64) -> Option<(u64, SocketAddr)> {
        let mut state = self.state();
        loop {
            match state.address {
                Some(address) if state.lives > life => return Some((state.lives, address)),
                _ if state.is_over => return None,
                _ => {}
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows a workspace until its last event, on a thread of its own.
pub(crate) fn follow(workspace: &str, home: Arc<Home>) -> JoinHandle<Result<Seen>> {
    let seen = Seen { workspace: workspace.to_owned(), events: Vec::new() };
    thread::spawn(move || {
        let seen = seen.follow_all(&home);
        home.ended();
        seen
    })
}

impl Seen {
    fn follow_all(mut self, home: &Home) -> Result<Self> {
        let mut life = 0;
        while let Some((now, address)) = home.after(life) {
            life = now;
            if self.follow(address)? {
                return Ok(self);
            }
        }
        bail!("a follower of {} has not seen the last event", self.workspace)
    }

    /// Follows until the connection breaks, or the last event. Returns whether that was seen.
    fn follow(&mut self, address: SocketAddr) -> Result<bool> {
        let path = format!("{APP}/workspaces/{}/events", self.workspace);
        let last = self.events.last().map_or(0, |(offset, _)| *offset).to_string();
        let headers = [("Accept", "text/event-stream"), ("Last-Event-ID", &last)];
        // The beginning is asked for without an offset.
        let headers = if self.events.is_empty() { headers.get(..1) } else { headers.get(..) };
        let headers = headers.unwrap_or_default();
        let asked = || -> io::Result<_> {
            let mut http = HttpClient::connect(address)?;
            http.write(&request("GET", &path, headers, b""))?;
            let (status, _) = http.read_head()?;
            Ok((status, http))
        };
        let Ok((status, http)) = asked() else { return Ok(false) };
        ensure!(status == 200, "following {}: status {status}", self.workspace);
        self.take(http.into_lines())
    }

    /// Takes events from a stream until it breaks. One that broke off in the middle is dropped.
    fn take(&mut self, lines: impl Iterator<Item = io::Result<String>>) -> Result<bool> {
        let (mut id, mut data) = (None, String::new());
        for line in lines.map_while(io::Result::ok) {
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.trim_start();
            match field {
                "id" => id = Some(value.parse::<u64>().context("an id is an offset")?),
                "data" => data.push_str(value),
                "" if line.is_empty() && !data.is_empty() => {
                    let place = || format!("{}: a follower was sent {data}", self.workspace);
                    let event: Value = serde_json::from_str(&data).with_context(place)?;
                    let offset = id.take().with_context(place)?;
                    let is_last = event["name"] == LAST_EVENT;
                    self.events.push((offset, event));
                    data.clear();
                    if is_last {
                        return Ok(true);
                    }
                }
                // Comments keep the connection alive.
                _ => {}
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_up_to_the_break_and_on_to_the_last() {
        let mut seen = Seen { workspace: "a".to_owned(), events: Vec::new() };
        let stream = |text: &str| text.lines().map(|line| Ok(line.to_owned())).collect::<Vec<_>>();
        let first = "id: 1\ndata: {\"name\":\"A\"}\n\n: alive\n\nid: 2\ndata: {\"name\":";
        assert!(!seen.take(stream(first).into_iter()).unwrap());
        let rest = "id:2\ndata:{\"name\":\ndata:\"B\"}\n\nid: 3\ndata: {\"name\":\"Ended\"}\n\n";
        assert!(seen.take(stream(rest).into_iter()).unwrap());
        let offsets: Vec<u64> = seen.events.iter().map(|(offset, _)| *offset).collect();
        assert_eq!(offsets, [1, 2, 3]);
    }
}
