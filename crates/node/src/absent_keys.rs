//! Idempotency keys that are surely not stored, so that nobody need look for them.
//!
//! ```text
//!  keys of a client   ────●──●●───●┃░░░░░░░░░░░░░░░░░░░░░┃───────►
//!                         stored  from                   to
//!                                  └─ a key in here is new ─┘
//! ```
//!
//! Clients make keys in the order of time as a rule, so nearly every key is a little above the one
//! before it. When that is so for the first time, the store is asked for the next stored key behind
//! it, within an hour of a UUID of version 7. What lies between is known then, until it is used up.
//! Clients with random keys never get there, and cost nothing but their place.
//!
//! No further than an hour is looked, because what lies far above may be many rows that were removed
//! long ago, and a store walks over each of them.
//!
//! **Invariant:** no stored key of a client lies in its span. The owner of the rows says what it
//! writes, before anything is looked for again. A span that is too short costs a look, and no more.

use bytes::Bytes;
use hashlink::LruCache;
use seriatim_codec::{KeyBytes, Table};
use seriatim_core::RowId;
use seriatim_planted::{self as planted, Bug};
use seriatim_storage::KeyRange;

/// An hour of keys that begin with 48 bits of milliseconds.
const HOUR: u128 = 3_600_000 << 80;

/// What is known of the clients that were met last.
pub(crate) struct AbsentKeys {
    clients: LruCache<KeyBytes, Span>,
}

/// No key from `from` up to, and not including, `to` is stored. Where both are the same, nothing is
/// known but the last key that was asked for.
#[derive(Clone, Copy)]
struct Span {
    from: u128,
    to: u128,
}

/// What is known of a key.
pub(crate) enum Look {
    /// It is not stored.
    Absent,
    /// It may be stored.
    Unknown,
    /// The same, and more would be known with the first stored row of this range.
    Ask(KeyRange),
}

impl AbsentKeys {
    pub(crate) fn new(clients_max: usize) -> Self {
        Self { clients: LruCache::new(clients_max) }
    }

    /// What is known of the row of a key. Rows of other tables are unknown.
    pub(crate) fn look(&mut self, row: &RowId) -> Look {
        let Some((client, key)) = parts(row) else { return Look::Unknown };
        let alone = Span { from: key, to: key };
        let Some(span) = self.clients.get_mut(client) else {
            self.clients.insert(client.into(), alone);
            return Look::Unknown;
        };
        if span.holds(key) {
            return Look::Absent;
        }
        let is_near = key.checked_sub(span.to).is_some_and(|above| above < HOUR);
        match key.checked_add(HOUR) {
            Some(end) if is_near => {
                let row_of = |key: u128| [client, &key.to_be_bytes()].concat();
                Look::Ask(KeyRange::half_open(&row_of(key), &row_of(end)))
            }
            // Older keys come again while new ones are made, and leave what is known as it is.
            Some(_) | None if key < span.from && span.from < span.to => Look::Unknown,
            Some(_) | None => {
                *span = alone;
                Look::Unknown
            }
        }
    }

    /// The first stored row of the range that was to be asked for.
    pub(crate) fn found(&mut self, row: &RowId, first: Option<&Bytes>) {
        let Some((client, key)) = parts(row) else { return };
        let stored = first.and_then(|row| row.last_chunk()).copied().map(u128::from_be_bytes);
        let to = stored.unwrap_or_else(|| key.saturating_add(HOUR));
        self.clients.insert(client.into(), Span { from: key, to });
    }

    /// A row is about to be written.
    pub(crate) fn write(&mut self, row: &RowId) {
        if let Some((client, key)) = parts(row)
            && let Some(span) = self.clients.get_mut(client)
            && span.holds(key)
            && !planted::is(Bug::WrittenKeyAbsent)
        {
            span.from = key.saturating_add(1);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.clients.len()
    }

    pub(crate) fn clear(&mut self) {
        self.clients.clear();
    }
}

impl Span {
    fn holds(self, key: u128) -> bool {
        (self.from..self.to).contains(&key)
    }
}

/// What the rows of a client's keys in one workspace begin with, and this one's key, if it is of these
/// rows.
fn parts(row: &RowId) -> Option<(&[u8], u128)> {
    let (client, key) = row.key.split_last_chunk().filter(|_| row.table == Table::Keys)?;
    Some((client, u128::from_be_bytes(*key)))
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "tests over keys that are not the last")]
mod tests {
    use std::collections::BTreeSet;

    use seriatim_storage::faulty::Dice;

    use super::*;

    fn row(client: u8, key: u128) -> RowId {
        let key = [&[client; 3][..], &key.to_be_bytes()].concat();
        RowId { table: Table::Keys, key: key.into() }
    }

    fn look(keys: &mut AbsentKeys, client: u8, key: u128) -> &'static str {
        match keys.look(&row(client, key)) {
            Look::Absent => "absent",
            Look::Unknown => "unknown",
            Look::Ask(range) => {
                let holds = |key| range.contains(&row(client, key).key);
                assert!(holds(key) && holds(key + HOUR - 1), "it is asked from the key on");
                assert!(!holds(key - 1) && !holds(key + HOUR), "for an hour");
                "ask"
            }
        }
    }

    #[test]
    fn a_key_is_absent_between_the_last_one_written_and_the_next_one_stored() {
        let mut keys = AbsentKeys::new(10);
        assert_eq!(look(&mut keys, 1, 5), "unknown", "met for the first time");
        assert_eq!(look(&mut keys, 1, 7), "ask");
        keys.found(&row(1, 7), Some(&Bytes::copy_from_slice(&row(1, 20).key)));
        let expected = [(6, "unknown"), (7, "absent"), (19, "absent"), (20, "ask")];
        for (key, expected) in expected {
            assert_eq!(look(&mut keys, 1, key), expected, "{key}");
        }
        keys.write(&row(1, 9));
        keys.write(&row(1, 8));
        keys.write(&row(1, 30));
        for (key, expected) in [(7, "unknown"), (9, "unknown"), (10, "absent"), (19, "absent")] {
            assert_eq!(look(&mut keys, 1, key), expected, "{key}");
        }
        assert_eq!(look(&mut keys, 2, 10), "unknown", "nothing is known of another client");
        let elsewhere = RowId { table: Table::Records, ..row(1, 10) };
        assert!(matches!(keys.look(&elsewhere), Look::Unknown), "no key at all");
        keys.clear();
        assert_eq!(look(&mut keys, 1, 10), "unknown");
    }

    #[test]
    fn a_key_that_is_stored_itself_is_not_absent_and_the_next_one_is_asked_for() {
        let mut keys = AbsentKeys::new(10);
        look(&mut keys, 1, 5);
        assert_eq!(look(&mut keys, 1, 7), "ask");
        keys.found(&row(1, 7), Some(&Bytes::copy_from_slice(&row(1, 7).key)));
        assert_eq!(look(&mut keys, 1, 7), "ask", "it is sent once more");
        assert_eq!(look(&mut keys, 1, 8), "ask");
        keys.found(&row(1, 8), None);
        assert_eq!(look(&mut keys, 1, 9), "absent");
    }

    #[test]
    fn keys_that_are_far_apart_are_never_asked_for() {
        let mut keys = AbsentKeys::new(10);
        for key in [1, 1 + HOUR, 3, 9 * HOUR, u128::MAX, u128::MAX - 1, u128::MAX, 5 * HOUR] {
            assert_eq!(look(&mut keys, 1, key), "unknown", "{key}");
        }
        // A client that goes over to keys in order is followed from there on.
        assert_eq!(look(&mut keys, 1, 5 * HOUR + 1), "ask");
        keys.found(&row(1, 5 * HOUR + 1), None);
        assert_eq!(look(&mut keys, 1, 2 * HOUR), "unknown");
        assert_eq!(look(&mut keys, 1, 5 * HOUR + 2), "absent");
        assert_eq!(look(&mut keys, 1, 6 * HOUR + 1), "ask", "the hour is over");
    }

    /// As a partition does: what a batch looks for is asked before any of it is written, and clients
    /// drop out of memory between two of their keys.
    #[test]
    fn whatever_is_stored_is_never_taken_for_absent() {
        let (mut absent, mut looked_for) = (0, 0);
        for seed in 0..300 {
            let mut dice = Dice::new(seed);
            let mut keys = AbsentKeys::new(1 + dice.index_below(4));
            let mut stored: BTreeSet<KeyBytes> = BTreeSet::new();
            let step = [1, HOUR / 50, HOUR / 2][dice.index_below(3)];
            for _ in 0..100 {
                let mut batch = Vec::new();
                for _ in 0..=dice.below(5) {
                    let client = u8::try_from(dice.below(5)).unwrap();
                    let row = row(client, u128::from(1 + dice.below(200)) * step);
                    let mut look = keys.look(&row);
                    if let Look::Ask(range) = &look {
                        let first = stored.iter().find(|key| range.contains(key));
                        let first = first.map(|key| Bytes::copy_from_slice(key));
                        keys.found(&row, first.as_ref());
                        look = keys.look(&row);
                    }
                    let is_absent = matches!(look, Look::Absent);
                    assert!(!(is_absent && stored.contains(&row.key)), "seed {seed}: {row:?}");
                    *if is_absent { &mut absent } else { &mut looked_for } += 1;
                    batch.push(row);
                }
                // Some are refused, and some are removed again.
                batch.retain(|_| dice.below(4) > 0);
                batch.iter().for_each(|row| keys.write(row));
                stored.extend(batch.into_iter().map(|row| row.key));
                if dice.below(10) == 0
                    && let Some(key) = stored.pop_first()
                {
                    keys.write(&RowId { table: Table::Keys, key });
                }
            }
        }
        assert!(absent > 1000 && looked_for > 1000, "both happen: {absent}, {looked_for}");
    }
}
