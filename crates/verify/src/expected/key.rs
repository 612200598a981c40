//! An idempotency key: carried out once within its retention.

use seriatim_types::{ClientId, Key, KeyRow, Retention, Time, Unknown, WorkspaceId};

use super::{Fold, UsedKey, breach};
use crate::difference::{Error, Kind};
use crate::sort::Item;
use crate::walk::facts::KeyFact;

impl Fold<'_> {
    pub(super) fn key(
        &mut self,
        (workspace, client, key): (WorkspaceId, ClientId, Key),
        first: Item,
    ) -> Result<u64, Error> {
        let rules = self.rules;
        let first_use = KeyFact::decode(&first.payload).event;
        let mut last: Option<KeyFact> = None;
        let count = self.each(first, |_, payload| {
            let fact = KeyFact::decode(&payload);
            if let Some(before) = last.replace(fact)
                && !is_over(rules.retention, before.time, fact.time)
            {
                let about = format!("workspace {}, key {key}", workspace.0);
                let expected = format!("event {} alone within the retention", before.event);
                let found = format!("event {}", fact.event);
                return Err(breach(rules, Kind::KeyRepeated, (fact.event, about), expected, found));
            }
            Ok(())
        })?;
        let KeyFact { event, count: events, fingerprint, time } = last.expect("a row has a fact");
        let unknown = Unknown::default();
        let row = KeyRow { first: event, count: events, fingerprint, time, unknown };
        self.visitor.key(&UsedKey { workspace, client, key, row, first_use })?;
        Ok(count)
    }
}

/// Whether the retention of a key made at a time is over.
pub(crate) fn is_over(retention: Retention, made: Time, now: Time) -> bool {
    match retention {
        Retention::Forever => false,
        Retention::Milliseconds(ms) => now.0.checked_sub(made.0).is_some_and(|age| age >= ms),
    }
}
