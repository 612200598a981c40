//! Clients that send one command after the other, all at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use seriatim_client::Key;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};

use super::Plan;
use super::door::{Door, Given, Sent, Shared};
use super::report::per_second;
use crate::exit::Failure;
use crate::progress::Progress;

/// Of every client every so manieth receipt is kept, to be compared with one for the same key.
const SAMPLE_EVERY: u64 = 1000;

/// How often the progress line changes.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What all clients did.
pub(super) struct Load {
    pub(super) elapsed: Duration,
    /// In microseconds.
    pub(super) latencies: Histogram<u64>,
    /// Every command that was acknowledged, with the offset that its receipt says.
    pub(super) acknowledged: Vec<(Sent, u64)>,
    pub(super) samples: Vec<(Sent, Given)>,
    /// How often a command was sent again.
    pub(super) retries: u64,
    /// Why a client has given up, the first that did.
    pub(super) failure: Option<Failure>,
}

/// What clients tell while they work.
#[derive(Debug, Default)]
struct Live {
    done: AtomicU64,
    has_failed: AtomicBool,
}

impl Load {
    /// Lets all clients work until the time is over.
    pub(super) async fn run(plan: &Arc<Plan>) -> Result<Self> {
        let shared = Arc::new(Shared::connect(plan)?);
        let live = Arc::new(Live::default());
        let began = Instant::now();
        let end = began.checked_add(Duration::from_secs(plan.seconds)).context("an end")?;
        let mut clients = JoinSet::new();
        for number in 0..plan.clients {
            let door = shared.door(plan, number)?;
            let client = Client { number, door, plan: plan.clone(), live: live.clone() };
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
                _ = tick.tick() => progress.say(|| line(&live, began.elapsed(), plan)),
            }
        }
        load.elapsed = began.elapsed();
        load.retries = load.retries.saturating_add(shared.sent_again());
        Ok(load)
    }

    fn empty() -> Result<Self> {
        // From a microsecond to a minute, with three digits.
        let latencies = Histogram::new_with_bounds(1, 60_000_000, 3)?;
        let (acknowledged, samples) = (Vec::new(), Vec::new());
        let (elapsed, retries, failure) = (Duration::ZERO, 0, None);
        Ok(Self { elapsed, latencies, acknowledged, samples, retries, failure })
    }

    fn add(&mut self, other: Self) -> Result<()> {
        self.latencies.add(&other.latencies)?;
        self.acknowledged.extend(other.acknowledged);
        self.samples.extend(other.samples);
        self.retries = self.retries.saturating_add(other.retries);
        self.failure = self.failure.take().or(other.failure);
        Ok(())
    }
}

fn line(live: &Live, elapsed: Duration, plan: &Plan) -> String {
    let done = live.done.load(Ordering::Relaxed);
    let (rate, seconds) = (per_second(done, elapsed), elapsed.as_secs());
    format!("{seconds} of {} s: {done} commands, {rate} per second", plan.seconds)
}

/// One client.
struct Client {
    number: u32,
    door: Door,
    plan: Arc<Plan>,
    live: Arc<Live>,
}

impl Client {
    /// Works until the end, or until somebody has failed: then figures would say nothing.
    async fn work(mut self, end: Instant) -> Result<Load> {
        let mut load = Load::empty()?;
        for nth in 0.. {
            let began = Instant::now();
            if began >= end || self.live.has_failed.load(Ordering::Relaxed) {
                break;
            }
            let sent = self.command(nth)?;
            let given = match self.door.carry_out(&self.plan, &sent, &mut load.retries).await {
                Ok(given) => given,
                Err(failure) => {
                    self.live.has_failed.store(true, Ordering::Relaxed);
                    load.failure = Some(failure);
                    break;
                }
            };
            let took = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            load.latencies.saturating_record(took);
            load.acknowledged.push((sent, given.offset()?));
            if nth.is_multiple_of(SAMPLE_EVERY) {
                load.samples.push((sent, given));
            }
            self.live.done.fetch_add(1, Ordering::Relaxed);
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
