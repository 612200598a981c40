//! The highest idempotency key of each client, which tells most new keys without a look at what is
//! stored.
//!
//! ```text
//!  keys of a client in a workspace    stored: 3, 5, 8 ─► highest: 8
//!  9 comes ─► above all of them: new              6 comes ─► may be there: it is looked for
//! ```
//!
//! Clients make their keys in the order of time as a rule, so nearly every key is above those before
//! it. The highest key of a client is read when the client is met for the second time: most that
//! come once come never again.
//!
//! **Invariant:** no stored key of a client is above its mark. The owner of the rows says what it
//! writes, before anything is looked for again. A mark that is too high costs a look, and no more.

use bytes::Bytes;
use hashlink::LruCache;
use seriatim_codec::{KeyBytes, Table};
use seriatim_core::RowId;
use seriatim_planted::{self as planted, Bug};
use seriatim_storage::KeyRange;
use seriatim_types::Key;

/// The clients that were met last.
pub(crate) struct HighestKeys {
    clients: LruCache<KeyBytes, Mark>,
}

enum Mark {
    /// The client was met, and what is stored of it was not looked at.
    Met,
    /// No key above this one is stored; the nil key, which no client sends, where none is at all.
    Highest(Key),
}

/// What is known of a key.
pub(crate) enum Look {
    /// It is not stored.
    New,
    /// It may be stored.
    Unknown,
    /// The same, and more would be known if the highest stored key of its client were, which is the
    /// last one that begins so.
    Unmarked(KeyRange),
}

impl HighestKeys {
    pub(crate) fn new(clients_max: usize) -> Self {
        Self { clients: LruCache::new(clients_max) }
    }

    /// What is known of the row of a key. Rows of other tables are unknown.
    pub(crate) fn look(&mut self, row: &RowId) -> Look {
        let Some((client, key)) = parts(row) else { return Look::Unknown };
        match self.clients.get(client) {
            Some(Mark::Highest(highest)) if key > *highest => Look::New,
            Some(Mark::Highest(_)) => Look::Unknown,
            Some(Mark::Met) => Look::Unmarked(KeyRange::prefix(client)),
            None => {
                self.clients.insert(client.into(), Mark::Met);
                Look::Unknown
            }
        }
    }

    /// The stored row with the highest key of this one's client was looked for.
    pub(crate) fn found(&mut self, row: &RowId, highest: Option<&Bytes>) {
        let Some((client, _)) = parts(row) else { return };
        let highest = highest.and_then(|stored| stored.last_chunk());
        let mark = Mark::Highest(highest.copied().map_or(Key([0; 16]), Key));
        self.clients.insert(client.into(), mark);
    }

    /// A row is about to be written.
    pub(crate) fn write(&mut self, row: &RowId) {
        if let Some((client, key)) = parts(row)
            && let Some(Mark::Highest(highest)) = self.clients.get_mut(client)
            && !planted::is(Bug::HighestKeyStays)
        {
            *highest = key.max(*highest);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.clients.clear();
    }
}

/// What the rows of a client's keys in one workspace begin with, and this one's key, if it is of these
/// rows.
fn parts(row: &RowId) -> Option<(&[u8], Key)> {
    let (client, key) = row.key.split_last_chunk().filter(|_| row.table == Table::Keys)?;
    Some((client, Key(*key)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use seriatim_storage::faulty::Dice;

    use super::*;

    fn row(client: u8, key: u8) -> RowId {
        let key = [&[client; 3][..], &[0; 15], &[key]].concat();
        RowId { table: Table::Keys, key: key.into() }
    }

    fn is_new(keys: &mut HighestKeys, row: &RowId) -> bool {
        matches!(keys.look(row), Look::New)
    }

    #[test]
    fn a_key_is_new_if_it_is_above_the_highest_of_its_client_and_not_of_another() {
        let mut keys = HighestKeys::new(10);
        assert!(matches!(keys.look(&row(1, 5)), Look::Unknown), "met for the first time");
        assert!(matches!(keys.look(&row(1, 5)), Look::Unmarked(_)));
        keys.found(&row(1, 5), Some(&Bytes::copy_from_slice(&row(1, 3).key)));
        for (key, expected) in [(2, false), (3, false), (4, true), (5, true)] {
            assert_eq!(is_new(&mut keys, &row(1, key)), expected, "{key}");
        }
        keys.write(&row(1, 5));
        keys.write(&row(1, 4));
        assert!(!is_new(&mut keys, &row(1, 5)));
        assert!(is_new(&mut keys, &row(1, 6)));
        assert!(!is_new(&mut keys, &row(2, 6)), "nothing is known of another client");
        keys.found(&row(2, 6), None);
        assert!(is_new(&mut keys, &row(2, 1)), "nothing is stored of this one");
        let elsewhere = RowId { table: Table::Records, ..row(1, 9) };
        assert!(!is_new(&mut keys, &elsewhere), "no key at all");
        keys.clear();
        assert!(!is_new(&mut keys, &row(1, 6)));
    }

    /// As a partition does: what a batch looks for is asked before any of it is written, and clients
    /// drop out of memory between two of their keys.
    #[test]
    fn whatever_is_stored_is_never_taken_for_new() {
        let (mut new, mut looked_for) = (0, 0);
        for seed in 0..200 {
            let mut dice = Dice::new(seed);
            let mut keys = HighestKeys::new(1 + dice.index_below(4));
            let mut stored: BTreeSet<KeyBytes> = BTreeSet::new();
            for _ in 0..100 {
                let mut batch = Vec::new();
                for _ in 0..=dice.below(5) {
                    let client = u8::try_from(dice.below(5)).unwrap();
                    let row = row(client, u8::try_from(1 + dice.below(200)).unwrap());
                    if let Look::Unmarked(range) = keys.look(&row) {
                        let highest = stored.iter().rfind(|key| range.contains(key));
                        let highest = highest.map(|key| Bytes::copy_from_slice(key));
                        keys.found(&row, highest.as_ref());
                    }
                    let is_new = is_new(&mut keys, &row);
                    assert!(!(is_new && stored.contains(&row.key)), "seed {seed}: {row:?}");
                    *if is_new { &mut new } else { &mut looked_for } += 1;
                    batch.push(row);
                }
                // Some are refused.
                batch.retain(|_| dice.below(4) > 0);
                batch.iter().for_each(|row| keys.write(row));
                stored.extend(batch.into_iter().map(|row| row.key));
            }
        }
        assert!(new > 1000 && looked_for > 1000, "both happen: {new}, {looked_for}");
    }
}
