//! A command takes few pieces of memory.
//!
//! Counts, not times: they are the same on every machine. Making and freeing them was a quarter of a
//! command's time when they were twice as many. Whoever needs more looks at this first.

use seriatim_testkit::core::{Shop, changes, command};
use seriatim_types::{Body, Entry, Key, Time};

use crate::bare::Bare;
use crate::world::APP;

/// Commands that are counted. One in so many lets a list of the machine's own grow.
const COUNTED: u64 = 64;

fn entry(key: u64, json: &str) -> Entry {
    let key = Key(u128::from(key).to_be_bytes());
    let body = Body::Command(command("pos-4", key, "store-1", changes(json)));
    Entry { time: Time(1_800_000_000_000), body }
}

/// How many pieces a command takes on the average, from looking for what it reads to its effects.
fn pieces(json: &str) -> u64 {
    let mut shop = Shop::default();
    shop.send(command("pos-4", Key([9; 16]), "store-1", changes(json)));
    let mut bare = Bare::of(&shop.node, APP);
    let all: Vec<Entry> = (1..=COUNTED).map(|key| entry(key, json)).collect();
    let mut taken = 0;
    for entry in &all {
        let mut rows = bare.fetched(&bare.read_set(entry));
        let allocated = allocation_counter::measure(|| {
            assert!(bare.machine.read_set(entry, &rows).is_complete);
            assert!(bare.apply_on(entry, &mut rows).unwrap().ticket.is_some(), "it is carried out");
        });
        taken += allocated.count_total;
    }
    taken / COUNTED
}

#[test]
fn a_command_takes_few_pieces_of_memory() {
    for (json, most) in [("", 24), ("{'draw': {'sequence': 'ticket'}}", 32)] {
        let taken = pieces(json);
        assert!(taken <= most, "{taken} pieces instead of {most}: {json}");
    }
}
