//! Long random histories: no number twice, no hole, whatever is dropped, fails or crashes.

use std::collections::BTreeMap;

use seriatim_sequencer::{
    LogEvent, Ranges, RecordIds, Reset, RowKey, Sequence, Sequences, Series, Settings, built_in,
};
use seriatim_storage::faulty::Dice;
use seriatim_types::{Number, SequenceId, Time};

use crate::world::{Asked, DEFAULT, World};

const TICKETS: SequenceId = SequenceId(300);
const INVOICES: SequenceId = SequenceId(301);

fn sequences() -> Sequences {
    let mut sequences = Sequences::new(RecordIds::single());
    let plain = Sequence::plain(Ranges::new(&[(500, 510), (1, 99), (1_000, 9_999)]).unwrap());
    sequences.define(DEFAULT, TICKETS, plain.clone()).unwrap();
    let ranges = Ranges::new(&[(1, 9_999_999)]).unwrap();
    let yearly = Sequence { reset: Reset::Yearly, ranges, ..plain };
    sequences.define(DEFAULT, INVOICES, yearly).unwrap();
    sequences
}

fn random_command(dice: &mut Dice, now: &mut u64) -> Asked {
    // Years turn a few times in a history, and clocks stand still in between.
    *now += dice.below(3) * 86_400_000 * 20;
    let all = [TICKETS, INVOICES, built_in::RECORD_IDS];
    let events = (0..=dice.below(2))
        .map(|_| (0..dice.below(4)).map(|_| all[dice.index_below(3)]).collect())
        .collect();
    let client = [None, Some("a"), Some("b")][dice.index_below(3)];
    Asked { workspace: dice.below(5), client, events, time: Time(*now) }
}

/// Every series of the log is exactly what its ranges give, one after another.
fn check_log(sequences: &Sequences, log: &[LogEvent]) {
    let mut lasts: BTreeMap<(RowKey, Series), Number> = BTreeMap::new();
    let mut previous = None;
    for (event, offset) in log.iter().zip(1..) {
        assert_eq!(event.offset.get(), offset, "the partition's log has a hole");
        // Values stand in the event in reverse, to show that their order does not matter.
        for (series, number) in event.values.iter().rev() {
            let key = (RowKey::Workspace(event.workspace), *series);
            let ranges = &sequences.get(event.kind, series.sequence).unwrap().ranges;
            let expected = ranges.after(lasts.get(&key).copied());
            assert_eq!(Some(*number), expected, "{key:?} at offset {offset}");
            lasts.insert(key, *number);
        }
        if let Some((client, number)) = &event.client {
            let series = Series { sequence: built_in::CLIENT, year: None };
            let key = (RowKey::Client(event.workspace, client.clone()), series);
            // All events of a command, which stand together, have the command's number.
            let last = lasts.get(&key).map_or(0, |last| last.get());
            let is_same_command = previous == Some((event.workspace, &event.client));
            let goes_on = is_same_command && number.get() == last;
            assert!(goes_on || number.get() == last + 1, "{key:?} at offset {offset}");
            lasts.insert(key, *number);
        }
        previous = Some((event.workspace, &event.client));
    }
}

fn history(seed: u64, settings: Settings) {
    let mut dice = Dice::new(seed);
    let mut now = 1_700_000_000_000;
    let mut world = World::new(sequences(), settings);
    for _ in 0..300 {
        match dice.below(20) {
            // Up to four transactions are staged and not committed.
            0..=6 if world.staged.len() < 4 && world.sequencer.admit().is_ok() => {
                world.stage(&random_command(&mut dice, &mut now));
            }
            7 | 8 => {
                // Dropped: as if it had never been.
                let before = world.sequencer.counters();
                let asked = random_command(&mut dice, &mut now);
                drop(world.draw(&asked));
                let after = world.sequencer.counters();
                assert_eq!(before.unflushed_rows, after.unflushed_rows);
                assert_eq!(before.checkpoint_lag, after.checkpoint_lag);
            }
            9..=13 => world.commit(),
            14 | 15 if world.out.is_none() => {
                world.out = world.sequencer.take_checkpoint();
            }
            16 => {
                if let Some(out) = world.out.take() {
                    world.write(&out);
                    world.sequencer.written(out);
                }
            }
            17 => {
                if let Some(out) = world.out.take() {
                    world.sequencer.not_written(out);
                }
            }
            18 if dice.below(4) == 0 => {
                // Killed in the middle of a checkpoint: nothing of it, its rows alone (where
                // storage cannot do both at once), or all of it is there.
                if let Some(out) = world.out.take() {
                    match dice.below(3) {
                        0 => {}
                        1 => world.rows.extend(out.rows.iter().cloned()),
                        _ => world.write(&out),
                    }
                }
                world.crash();
            }
            19 if dice.below(3) == 0 => world.actualize(),
            _ => {}
        }
        let limit = settings.unflushed_rows_max + 2 * 5;
        assert!(world.sequencer.counters().unflushed_rows <= limit, "memory is bounded");
        assert!(world.sequencer.counters().cached_rows <= settings.cached_rows_max);
    }
    check_log(&sequences(), &world.log);
    world.check_against_full_scan();
    world.crash();
    world.check_against_full_scan();
}

#[test]
fn random_histories_give_every_number_once_and_leave_no_hole() {
    for seed in 0..400 {
        let settings = [
            Settings::default(),
            Settings { cached_rows_max: 1, ..Settings::default() },
            Settings { unflushed_rows_max: 1, cached_rows_max: 2, hash_seed: 0 },
            Settings { unflushed_rows_max: 5, cached_rows_max: 3, hash_seed: 7 },
        ];
        history(seed, settings[usize::try_from(seed % 4).unwrap()]);
    }
}

#[test]
fn the_same_history_twice_gives_the_same_log() {
    let run = |seed| {
        let mut dice = Dice::new(seed);
        let mut now = 1_700_000_000_000;
        let mut world = World::new(sequences(), Settings::default());
        for _ in 0..200 {
            world.run(&random_command(&mut dice, &mut now));
        }
        world.log
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
