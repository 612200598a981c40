//! Clients that send one command after the other, all at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use seriatim_client::Key;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep};

use super::Plan;
use super::door::{Door, Given, Sent, Shared};
use super::report::per_second;
use crate::progress::Progress;

/// Of every client every so manieth receipt is kept, to be compared with one for the same key.
const SAMPLE_EVERY: u64 = 1000;

/// How often the progress line changes.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long to wait before something is sent again that was not written.
const AGAIN_AFTER: Duration = Duration::from_millis(5);

/// What all clients did.
pub(super) struct Load {
    pub(super) elapsed: Duration,
    /// In microseconds.
    pub(super) latencies: Histogram<u64>,
    /// Every command that was acknowledged, with the offset that its receipt says.
    pub(super) acknowledged: Vec<(Sent, u64)>,
    pub(super) samples: Vec<(Sent, Given)>,
    pub(super) retries: u64,
}

impl Load {
    /// Lets all clients work until the time is over.
    pub(super) async fn run(plan: &Arc<Plan>) -> Result<Self> {
        let shared = Arc::new(Shared::connect(plan)?);
        let done = Arc::new(AtomicU64::new(0));
        let began = Instant::now();
        let end = began.checked_add(Duration::from_secs(plan.seconds)).context("an end")?;
        let mut clients = JoinSet::new();
        for number in 0..plan.clients {
            let door = shared.door(plan, number).await?;
            let client = Client { number, door, plan: plan.clone(), done: done.clone() };
            clients.spawn(client.work(end));
        }
        let mut load = Self::empty()?;
        let mut progress = Progress::new();
        let mut tick = interval(LOOK_EVERY);
        loop {
            tokio::select! {
                ended = clients.join_next() => match ended {
                    Some(ended) => load.add(ended??)?,
                    None => break,
                },
                _ = tick.tick() => progress.say(|| line(&done, began.elapsed(), plan)),
            }
        }
        load.elapsed = began.elapsed();
        Ok(load)
    }

    fn empty() -> Result<Self> {
        // From a microsecond to a minute, with three digits.
        let latencies = Histogram::new_with_bounds(1, 60_000_000, 3)?;
        let (acknowledged, samples) = (Vec::new(), Vec::new());
        Ok(Self { elapsed: Duration::ZERO, latencies, acknowledged, samples, retries: 0 })
    }

    fn add(&mut self, other: Self) -> Result<()> {
        self.latencies.add(&other.latencies)?;
        self.acknowledged.extend(other.acknowledged);
        self.samples.extend(other.samples);
        self.retries = self.retries.saturating_add(other.retries);
        Ok(())
    }
}

fn line(done: &AtomicU64, elapsed: Duration, plan: &Plan) -> String {
    let done = done.load(Ordering::Relaxed);
    let (rate, seconds) = (per_second(done, elapsed), elapsed.as_secs());
    format!("{seconds} of {} s: {done} commands, {rate} per second", plan.seconds)
}

/// One client.
struct Client {
    number: u32,
    door: Door,
    plan: Arc<Plan>,
    done: Arc<AtomicU64>,
}

impl Client {
    async fn work(mut self, end: Instant) -> Result<Load> {
        let mut load = Load::empty()?;
        for nth in 0.. {
            let began = Instant::now();
            if began >= end {
                break;
            }
            let sent = self.command(nth)?;
            let given = loop {
                match self.door.send(&self.plan, &sent).await? {
                    Some(given) => break given,
                    None => load.retries = load.retries.saturating_add(1),
                }
                sleep(AGAIN_AFTER).await;
            };
            let took = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            load.latencies.saturating_record(took);
            load.acknowledged.push((sent, given.offset()?));
            if nth.is_multiple_of(SAMPLE_EVERY) {
                load.samples.push((sent, given));
            }
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(load)
    }

    /// Clients go through the workspaces at different places, so that they meet seldom.
    fn command(&self, nth: u64) -> Result<Sent> {
        let place = u64::from(self.number).saturating_add(nth);
        let workspace = place.checked_rem(u64::from(self.plan.workspaces)).unwrap_or(0);
        let workspace = u32::try_from(workspace)?;
        Ok(Sent { client: self.number, nth, workspace, key: Key::random() })
    }
}
