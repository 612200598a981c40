//! What was acknowledged is in the log: once, in its place, with a number that follows.

use std::collections::BTreeMap;

use anyhow::Result;
use seriatim_client::{Event, Key, Workspace};

use super::Plan;
use super::door::Shared;
use super::load::{Acknowledged, Load};
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::remote::{Remote, not_read};

/// Events that are read in one go.
const PAGE: u32 = 1000;

/// What reading back has shown.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// Events that were read back.
    pub(super) events: u64,
    /// Offsets or numbers that are missing.
    pub(super) gaps: u64,
    /// Offsets, numbers or keys that are there twice.
    pub(super) repeats: u64,
    /// Commands that were acknowledged and do not stand where their receipt says.
    pub(super) lost: u64,
    /// Commands that were sent again with their keys.
    pub(super) sent_again: u64,
    /// Those of them whose receipt was the same.
    pub(super) equal: u64,
}

/// Reads back all logs, and sends some commands again.
pub(super) async fn prove(plan: &Plan, remote: &Remote, load: &Load) -> Result<Proof> {
    let mut proof = Proof::default();
    let mut progress = Progress::new();
    let mut by_workspace: BTreeMap<u32, Vec<(u64, Key)>> = BTreeMap::new();
    for Acknowledged { sent, offset, .. } in &load.done.acknowledged {
        by_workspace.entry(sent.workspace).or_default().push((*offset, sent.key));
    }
    for (index, acknowledged) in by_workspace {
        let workspace = remote.client.app(&plan.app).workspace(plan.workspace(index));
        let mut log = Log::default();
        log.read(&workspace).await?;
        proof.take(&log, &acknowledged);
        progress.say(|| format!("{} events read back", proof.events));
    }
    let shared = Shared::connect(plan)?;
    for (sent, given) in &load.done.samples {
        // It is a repetition by itself, however often it takes.
        let again = shared.door(plan, sent.client)?.carry_out(plan, sent, &mut 0).await?;
        proof.sent_again = proof.sent_again.saturating_add(1);
        proof.equal = proof.equal.saturating_add(u64::from(again == *given));
        progress.say(|| format!("{} commands sent again", proof.sent_again));
    }
    Ok(proof)
}

impl Proof {
    /// What is not as it should be is a failure.
    pub(super) fn check(&self) -> Result<()> {
        let Self { gaps, repeats, lost, sent_again, equal, .. } = self;
        if (gaps, repeats, lost) == (&0, &0, &0) && sent_again == equal {
            return Ok(());
        }
        let what = "the log is not what was acknowledged";
        Err(Failure::new(Exit::Difference, what).code("BENCH_BROKEN").into())
    }

    fn take(&mut self, log: &Log, acknowledged: &[(u64, Key)]) {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        self.events = self.events.saturating_add(log.events);
        self.gaps = self.gaps.saturating_add(log.gaps);
        let distinct = count(log.keys.len());
        let repeated_keys = log.events.saturating_sub(distinct);
        self.repeats = self.repeats.saturating_add(log.repeats).saturating_add(repeated_keys);
        let lost = acknowledged.iter().filter(|(offset, key)| log.keys.get(key) != Some(offset));
        self.lost = self.lost.saturating_add(count(lost.count()));
    }
}

/// The log of one workspace.
#[derive(Debug, Default)]
struct Log {
    events: u64,
    keys: BTreeMap<Key, u64>,
    gaps: u64,
    repeats: u64,
}

impl Log {
    async fn read(&mut self, workspace: &Workspace) -> Result<()> {
        let mut from = 1;
        loop {
            let page = workspace.events(from, PAGE).await.map_err(|error| not_read(&error))?;
            page.events.iter().for_each(|event| self.take(event));
            if page.events.is_empty() || page.next > page.last {
                return Ok(());
            }
            from = page.next;
        }
    }

    /// Every event draws one number, so its number is its offset.
    fn take(&mut self, event: &Event) {
        self.events = self.events.saturating_add(1);
        let args = event.args.to_value();
        let number = args.get("number").and_then(serde_json::Value::as_u64).unwrap_or(0);
        for found in [event.offset, number] {
            if found > self.events {
                self.gaps = self.gaps.saturating_add(1);
            } else if found < self.events {
                self.repeats = self.repeats.saturating_add(1);
            }
        }
        let key = event.key.and_then(|key| Key::try_from(key).ok());
        self.keys.extend(key.map(|key| (key, event.offset)));
    }
}
