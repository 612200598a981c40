//! Definitions that somebody waits for, and the partitions that do not have them yet.
//!
//! Partitions of apps that are being made count as if they were there: each partition has a thread,
//! and a process that gets no more of them, or no more memory for their stacks, ends; and so does
//! every later start on the same data. Apps are never removed.

use std::collections::BTreeMap;
use std::time::Duration;

use seriatim_core::{DefineOutcome, Outcome, Refusal};
use seriatim_types::limits::PARTITIONS_MAX;
use seriatim_types::{AppSettings, Define, DefineRequest, Name, PartitionRef};

use crate::reply::{Reply, RequestError};

/// Definitions that somebody waits for.
pub(super) struct Definitions<C> {
    waiting: BTreeMap<u64, Waiting<C>>,
    next: u64,
    /// Answers that are not given yet.
    answered: Vec<(C, Reply)>,
}

struct Waiting<C> {
    caller: C,
    by: Duration,
    /// The app that it makes, with its partitions.
    makes: Option<(Name, u16)>,
    decided: Option<Decided>,
}

/// A definition that the system partition has decided on.
pub(super) struct Decided {
    pub(super) outcome: DefineOutcome,
    /// Partitions of the app that were not seen to have it, and whether each has stopped.
    pub(super) missing: BTreeMap<PartitionRef, bool>,
}

/// What has changed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Changed {
    /// It is decided.
    Definition(u64),
    Partition(PartitionRef),
    /// Any partition.
    Any,
}

/// What a partition has.
pub(super) struct Has {
    /// The last version that readers see.
    pub(super) through: Option<u64>,
    /// Why it has stopped, if it has.
    pub(super) stopped: Option<String>,
}

impl<C> Definitions<C> {
    pub(super) fn new() -> Self {
        Self { waiting: BTreeMap::new(), next: 0, answered: Vec::new() }
    }

    /// Answers those who wait no longer.
    pub(super) fn prune(&mut self, now: Duration) {
        let late = self.waiting.extract_if(.., |_, waiting| waiting.by <= now);
        for (_, waiting) in late.collect::<Vec<_>>() {
            let why = "not all partitions had the definition in time".to_owned();
            self.answered.push((waiting.caller, Err(RequestError::Unknown { why })));
        }
    }

    /// Why an app has no room beside those that there are and those that are being made. One that
    /// is there already needs none.
    pub(super) fn check_room(
        &self,
        define: &Define,
        apps: &[AppSettings],
        max: usize,
    ) -> Result<(), Refusal> {
        let Some((app, partitions)) = made_by(define) else { return Ok(()) };
        let is_known = apps.iter().any(|known| known.name == app);
        let known = apps.iter().map(|known| (&known.name, known.partitions));
        let asked = self.waiting.values().filter_map(|it| it.makes.as_ref());
        let asked = asked.map(|(name, partitions)| (name, *partitions));
        let all: BTreeMap<&Name, u16> = asked.chain([(&app, partitions)]).chain(known).collect();
        let found = all.values().map(|partitions| usize::from(*partitions)).sum();
        if found <= max || is_known {
            return Ok(());
        }
        let [max, found] = [max, found].map(|it| u64::try_from(it).unwrap_or(u64::MAX));
        let what = "partitions of all apps of this node (node.partitions_max)";
        Err(Refusal::TooLarge { what, max, found })
    }

    /// Somebody waits for it from now on. Returns its number.
    pub(super) fn wait(&mut self, define: &Define, by: Duration, caller: C) -> u64 {
        let number = self.next;
        self.next = self.next.checked_add(1).expect("nobody asks 2^64 times");
        let makes = made_by(define);
        self.waiting.insert(number, Waiting { caller, by, makes, decided: None });
        number
    }

    /// It is decided. Nothing but all partitions having it is the answer.
    pub(super) fn decided(&mut self, number: u64, decided: Decided) {
        if let Some(waiting) = self.waiting.get_mut(&number) {
            waiting.decided = Some(decided);
        }
    }

    /// Answers one.
    pub(super) fn answer(&mut self, number: u64, reply: Reply) {
        if let Some(waiting) = self.waiting.remove(&number) {
            self.answered.push((waiting.caller, reply));
        }
    }

    /// Answers one that does not wait.
    pub(super) fn refuse(&mut self, caller: C, error: RequestError) {
        self.answered.push((caller, Err(error)));
    }

    /// The answers that are to be given.
    pub(super) fn answered(&mut self) -> Vec<(C, Reply)> {
        std::mem::take(&mut self.answered)
    }

    /// Answers all, because the node ends.
    pub(super) fn answer_all(&mut self) {
        for (_, waiting) in std::mem::take(&mut self.waiting) {
            let why = "the node ended before all partitions had the definition".to_owned();
            self.answered.push((waiting.caller, Err(RequestError::Unknown { why })));
        }
    }

    /// Nobody will say what has come of those that are not decided: answers them so.
    pub(super) fn answer_undecided(&mut self, why: &str) {
        let undecided = self.waiting.extract_if(.., |_, waiting| waiting.decided.is_none());
        for (_, waiting) in undecided.collect::<Vec<_>>() {
            self.answered
                .push((waiting.caller, Err(RequestError::Unknown { why: why.to_owned() })));
        }
    }

    /// Something has changed: answers those whose definition is everywhere, and those for whom that
    /// cannot be told. `has` says what a partition has; each is asked once.
    pub(super) fn look_at(&mut self, changed: Changed, has: impl Fn(PartitionRef) -> Has) {
        let mut answers = Vec::new();
        let mut found = BTreeMap::new();
        let waiting = match changed {
            Changed::Definition(number) => self.waiting.range_mut(number..=number),
            Changed::Partition(_) | Changed::Any => self.waiting.range_mut(..),
        };
        for (number, waiting) in waiting {
            let Some(Decided { outcome, missing }) = &mut waiting.decided else {
                continue;
            };
            let looked: Vec<PartitionRef> = match changed {
                Changed::Partition(partition) if missing.contains_key(&partition) => {
                    // One that has stopped may be about to serve again, which is told later.
                    let stopped = missing.iter().filter(|(_, has_stopped)| **has_stopped);
                    stopped.map(|(stopped, _)| *stopped).chain([partition]).collect()
                }
                Changed::Partition(_) => continue,
                Changed::Definition(_) | Changed::Any => missing.keys().copied().collect(),
            };
            let DefineOutcome { version, is_new, .. } = *outcome;
            let mut unknown = None;
            for partition in looked {
                let Has { through, stopped } =
                    found.entry(partition).or_insert_with(|| has(partition));
                if *through >= Some(version) {
                    missing.remove(&partition);
                    continue;
                }
                missing.insert(partition, stopped.is_some());
                if let Some(why) = stopped.as_ref().filter(|_| is_new) {
                    unknown = Some(Err(RequestError::Unknown { why: why.clone() }));
                }
            }
            // One that is known already keeps nobody from going on without partitions that have stopped.
            let is_enough = missing.values().all(|has_stopped| *has_stopped && !is_new);
            match unknown {
                Some(unknown) => answers.push((*number, unknown)),
                None if is_enough => answers.push((*number, Ok(Outcome::Define(*outcome)))),
                None => {}
            }
        }
        answers.into_iter().for_each(|(number, reply)| self.answer(number, reply));
    }
}

/// The app that it makes, with its partitions. More than an app may have is refused for that.
pub(super) fn made_by(define: &Define) -> Option<(Name, u16)> {
    match &define.request {
        DefineRequest::App { partitions, .. } if *partitions <= PARTITIONS_MAX => {
            Some((define.app.clone(), *partitions))
        }
        DefineRequest::App { .. }
        | DefineRequest::Kind { .. }
        | DefineRequest::Sequence { .. }
        | DefineRequest::KeyLimit { .. }
        | DefineRequest::SequenceMembers { .. }
        | DefineRequest::Record { .. }
        | DefineRequest::RecordMembers { .. } => None,
    }
}
