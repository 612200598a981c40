//! Clients that all send at the same time.
//!
//! A client with several commands on their way is as many lines, each of which waits for its answers.

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

/// Of every line every so manieth receipt is kept, to be compared with one for the same key.
const SAMPLE_EVERY: usize = 1000;

/// How often the progress line changes.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What all clients did.
pub(super) struct Load {
    pub(super) elapsed: Duration,
    /// In microseconds.
    pub(super) latencies: Histogram<u64>,
    /// How often a command was sent again.
    pub(super) retries: u64,
    pub(super) done: Done,
}

/// What was done by one line, or by all.
#[derive(Default)]
pub(super) struct Done {
    pub(super) acknowledged: Vec<Acknowledged>,
    pub(super) samples: Vec<(Sent, Given)>,
    retries: u64,
    /// Why a line has given up, the first that did.
    pub(super) failure: Option<Failure>,
}

/// A command that was acknowledged.
pub(super) struct Acknowledged {
    pub(super) sent: Sent,
    /// Where its receipt says that it stands.
    pub(super) offset: u64,
    microseconds: u64,
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
        let mut lines = JoinSet::new();
        for number in 0..plan.clients {
            for line in 0..plan.in_flight {
                let door = shared.door(plan, number)?;
                let line = Line { number, line, door, plan: plan.clone(), live: live.clone() };
                lines.spawn(line.work(end));
            }
        }
        let mut done = Done::default();
        let mut progress = Progress::new();
        let mut tick = interval(LOOK_EVERY);
        loop {
            tokio::select! {
                ended = lines.join_next() => match ended {
                    Some(ended) => done.add(ended??),
                    None => break,
                },
                _ = tick.tick() => progress.say(|| so_far(&live, began.elapsed(), plan)),
            }
        }
        let elapsed = began.elapsed();
        // From a microsecond to a minute, with three digits.
        let mut latencies = Histogram::new_with_bounds(1, 60_000_000, 3)?;
        done.acknowledged.iter().for_each(|it| latencies.saturating_record(it.microseconds));
        let retries = done.retries.saturating_add(shared.sent_again());
        Ok(Self { elapsed, latencies, retries, done })
    }
}

impl Done {
    fn add(&mut self, other: Self) {
        self.acknowledged.extend(other.acknowledged);
        self.samples.extend(other.samples);
        self.retries = self.retries.saturating_add(other.retries);
        self.failure = self.failure.take().or(other.failure);
    }
}

fn so_far(live: &Live, elapsed: Duration, plan: &Plan) -> String {
    let done = live.done.load(Ordering::Relaxed);
    let (rate, seconds) = (per_second(done, elapsed), elapsed.as_secs());
    format!("{seconds} of {} s: {done} commands, {rate} per second", plan.seconds)
}

/// One command of a client after the other. Those of its lines take turns.
struct Line {
    number: u32,
    line: u32,
    door: Door,
    plan: Arc<Plan>,
    live: Arc<Live>,
}

impl Line {
    /// Works until the end, or until somebody has failed: then figures would say nothing.
    async fn work(mut self, end: Instant) -> Result<Done> {
        let mut done = Done::default();
        let step = usize::try_from(self.plan.in_flight)?;
        for nth in (u64::from(self.line)..).step_by(step) {
            let began = Instant::now();
            if began >= end || self.live.has_failed.load(Ordering::Relaxed) {
                break;
            }
            let sent = self.command(nth)?;
            let given = match self.door.carry_out(&self.plan, &sent, &mut done.retries).await {
                Ok(given) => given,
                Err(failure) => {
                    self.live.has_failed.store(true, Ordering::Relaxed);
                    done.failure = Some(failure);
                    break;
                }
            };
            let microseconds = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            let offset = given.offset()?;
            if done.acknowledged.len().is_multiple_of(SAMPLE_EVERY) {
                done.samples.push((sent, given));
            }
            done.acknowledged.push(Acknowledged { sent, offset, microseconds });
            self.live.done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(done)
    }

    /// Clients go through the workspaces at different places, so that they meet seldom.
    fn command(&self, nth: u64) -> Result<Sent> {
        let place = u64::from(self.number).saturating_add(nth);
        let workspace = place.checked_rem(u64::from(self.plan.workspaces)).unwrap_or(0);
        let workspace = u32::try_from(workspace)?;
        Ok(Sent { client: self.number, nth, workspace, key: Key::random() })
    }
}
