//! Partitions of apps that are being made: with those that there are, no more than a node may run.
//!
//! Each partition has a thread, and a process that gets no more of them, or no more memory for their
//! stacks, ends; and so does every later start on the same data. Apps are never removed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use seriatim_core::Refusal;
use seriatim_types::{AppSettings, Name};

/// Apps that are being made, with their partitions.
#[derive(Debug, Default)]
pub(crate) struct Promised(Mutex<Vec<(Name, u16)>>);

/// Room for an app's partitions, kept until the app is there or is not made after all.
#[derive(Debug)]
pub(crate) struct Promise<'a> {
    promised: &'a Promised,
    app: (Name, u16),
}

impl Promised {
    /// Keeps room for an app beside those that there are and those that are being made. One that is
    /// there already needs none.
    pub(crate) fn promise<'a, E>(
        &'a self,
        app: (&Name, u16),
        max: usize,
        apps: impl FnOnce() -> Result<Vec<AppSettings>, E>,
    ) -> Result<Result<Promise<'a>, Refusal>, E> {
        let mut promised = self.list();
        // Read behind the lock: whoever is no longer among the promised ones is there.
        let apps = apps()?;
        let is_known = apps.iter().any(|known| known.name == *app.0);
        let known = apps.iter().map(|known| (&known.name, known.partitions));
        let promises = promised.iter().map(|(name, partitions)| (name, *partitions));
        let all: BTreeMap<&Name, u16> = promises.chain([app]).chain(known).collect();
        let found = all.values().map(|partitions| usize::from(*partitions)).sum();
        if found > max && !is_known {
            let [max, found] = [max, found].map(|it| u64::try_from(it).unwrap_or(u64::MAX));
            let what = "partitions of all apps of this node (node.partitions_max)";
            return Ok(Err(Refusal::TooLarge { what, max, found }));
        }
        let app = (app.0.clone(), app.1);
        promised.push(app.clone());
        Ok(Ok(Promise { promised: self, app }))
    }

    fn list(&self) -> MutexGuard<'_, Vec<(Name, u16)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        let mut promised = self.promised.list();
        let own = promised.iter().position(|promise| *promise == self.app);
        promised.swap_remove(own.expect("a promise is kept until it is dropped"));
    }
}
