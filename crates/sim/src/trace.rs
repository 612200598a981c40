//! What has happened, as lines: all of them in one hash, the last ones to be read.
//!
//! It lives beside the run that it tells of: where nobody can catch a panic, whoever reports it finds
//! there what has happened before.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::rc::Rc;

use sha2::{Digest as _, Sha256};

use crate::agenda::Moment;

/// How many lines are kept to be read.
pub(crate) const TIMELINE_LINES: usize = 60;

thread_local! {
    /// The run that this thread has begun last.
    static LAST: RefCell<Trace> = RefCell::default();
}

/// What has happened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace(Rc<RefCell<Told>>);

#[derive(Debug, Default)]
struct Told {
    hash: Sha256,
    lines: VecDeque<String>,
    keeps_all: bool,
    counts: BTreeMap<&'static str, u64>,
    now: Moment,
    events: usize,
}

impl Trace {
    /// That of a new run. All lines are kept, or the last ones.
    pub(crate) fn begin(keeps_all: bool) -> Self {
        let trace = Self(Rc::new(RefCell::new(Told { keeps_all, ..Told::default() })));
        LAST.set(trace.clone());
        trace
    }

    /// That of the run that this thread has begun last, unless it is just being written.
    pub(crate) fn last() -> Option<Self> {
        let trace = LAST.with(|last| last.try_borrow().map(|last| last.clone()).ok())?;
        let is_free = trace.0.try_borrow().is_ok();
        is_free.then_some(trace)
    }

    pub(crate) fn line(&self, now: Moment, what: std::fmt::Arguments<'_>) {
        let mut line = {
            let mut told = self.0.borrow_mut();
            match told.keeps_all || told.lines.len() < TIMELINE_LINES {
                true => String::new(),
                false => told.lines.pop_front().unwrap_or_default(),
            }
        };
        line.clear();
        write!(line, "{:>12.6}  {what}", now.as_secs_f64()).expect("a string takes everything");
        let mut told = self.0.borrow_mut();
        told.hash.update(line.as_bytes());
        told.hash.update(b"\n");
        told.lines.push_back(line);
    }

    /// How far it is: the time, and how many events all logs hold.
    pub(crate) fn stands_at(&self, now: Moment, events: usize) {
        let mut told = self.0.borrow_mut();
        (told.now, told.events) = (now, events);
    }

    pub(crate) fn standing(&self) -> (Moment, usize) {
        let told = self.0.borrow();
        (told.now, told.events)
    }

    pub(crate) fn count(&self, what: &'static str, more: u64) {
        let mut told = self.0.borrow_mut();
        let count = told.counts.entry(what).or_default();
        *count = count.saturating_add(more);
    }

    pub(crate) fn has_counted(&self, what: &str) -> bool {
        self.0.borrow().counts.contains_key(what)
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.0.borrow().counts.clone()
    }

    pub(crate) fn hash(&self) -> String {
        let hash = self.0.borrow().hash.clone().finalize();
        hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn timeline(&self) -> Vec<String> {
        self.0.borrow().lines.iter().cloned().collect()
    }
}
