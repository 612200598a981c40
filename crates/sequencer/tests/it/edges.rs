//! The edges that earlier designs fell off.

use seriatim_sequencer::{
    Begin, BeginError, Busy, FlushError, ImportError, LogEvent, NextError, ObserveError, Progress,
    Ranges, RecordClass, RecordIds, Reset, Row, RowKey, RowsRead, Sequence, Sequencer, Sequences,
    Settings, SettingsError, StaleDraws, Transaction, built_in,
};
use seriatim_types::{ClientId, KindId, Number, PartitionOffset, SequenceId, Time, WorkspaceId};

use crate::world::{Asked, DEFAULT, World, ask, number_of, series};

const INVOICES: SequenceId = SequenceId(300);

fn number(n: u64) -> Number {
    Number::new(n).unwrap()
}

fn world() -> World {
    World::new(Sequences::new(RecordIds::single()), Settings::default())
}

fn begin(workspace: u64) -> Begin<'static> {
    Begin { workspace: WorkspaceId(workspace), kind: DEFAULT, client: None, time: Time(0) }
}

/// A transaction on a workspace that storage does not have.
fn transaction(world: &mut World, workspace: u64) -> Transaction<'_> {
    let read = world.read(vec![RowKey::Workspace(WorkspaceId(workspace))]);
    world.sequencer.begin(begin(workspace), &read).unwrap()
}

/// An event of the log with one number beside its offsets.
fn event(offset: u64, workspace_offset: u64, sequence: SequenceId, value: u64) -> LogEvent {
    LogEvent {
        offset: PartitionOffset::new(offset).unwrap(),
        workspace: WorkspaceId(1),
        kind: DEFAULT,
        values: vec![
            (series(sequence), number(value)),
            (series(built_in::WORKSPACE_OFFSETS), number(workspace_offset)),
        ],
        client: None,
        frontier: None,
    }
}

/// The next record id of workspace 1 after a log was read.
fn next_id_after(record_ids: RecordIds, class: RecordClass, ids: &[u64]) -> Result<u64, NextError> {
    let mut world = World::new(Sequences::new(record_ids.clone()), Settings::default());
    let sequence = record_ids.sequence_of(class);
    world.log = (1..).zip(ids).map(|(n, id)| event(n, n, sequence, *id)).collect();
    world.crash();
    transaction(&mut world, 1).next_record_id(class).map(Number::get)
}

#[test]
fn a_new_sequencer_is_actualizing_and_refuses() {
    let sequences = Sequences::new(RecordIds::single());
    let mut sequencer = Sequencer::new(sequences, Settings::default()).unwrap();
    let nothing = RowsRead::new(sequencer.stamp(), []);
    assert_eq!(sequencer.admit(), Err(Busy::Actualizing(Progress::default())));
    assert_eq!(sequencer.begin(begin(1), &nothing).err(), Some(BeginError::Actualizing));
    sequencer.resume(None, 7).unwrap();
    assert_eq!(sequencer.admit(), Err(Busy::Actualizing(Progress { done: 0, total: 7 })));
    assert_eq!(sequencer.counters().refused_actualizing, 2);
    sequencer.serve().unwrap();
    assert_eq!(sequencer.admit(), Ok(()));
}

#[test]
fn settings_of_zero_are_refused() {
    let new = |settings| Sequencer::new(Sequences::new(RecordIds::single()), settings).err();
    let zero = Settings { cached_rows_max: 0, ..Settings::default() };
    assert_eq!(new(zero), Some(SettingsError { name: "cached_rows_max" }));
    let zero = Settings { unflushed_rows_max: 0, ..Settings::default() };
    assert_eq!(new(zero), Some(SettingsError { name: "unflushed_rows_max" }));
}

#[test]
fn the_first_numbers_of_all_built_in_sequences() {
    let mut world = world();
    let mut tx = transaction(&mut world, 1);
    assert_eq!((tx.event().partition.get(), tx.event().workspace.get()), (1, 1));
    assert_eq!(tx.next_record_id(RecordClass::W).unwrap().get(), 200_001);
    drop(tx);
    let mut world = World::new(Sequences::new(RecordIds::split()), Settings::default());
    let mut tx = transaction(&mut world, 1);
    assert_eq!(tx.next_record_id(RecordClass::C).unwrap().get(), 322_685_000_131_072);
    assert_eq!(tx.next_record_id(RecordClass::O).unwrap().get(), 322_680_000_131_072);
    assert_eq!(tx.next_record_id(RecordClass::W).unwrap().get(), 322_680_000_131_073);
    drop(tx);
    let client = ClientId::new(b"pos-4").unwrap();
    let asked = Begin { client: Some(&client), ..begin(1) };
    let read = world.read(asked.row_keys().collect());
    let mut tx = world.sequencer.begin(asked, &read).unwrap();
    assert_eq!(tx.next_of_client().unwrap().get(), 1);
}

#[test]
fn an_imported_id_is_not_lowered_by_a_later_and_smaller_one() {
    let ids = [300_000, 200_010];
    assert_eq!(next_id_after(RecordIds::single(), RecordClass::C, &ids), Ok(300_001));
}

#[test]
fn a_singleton_lowers_nothing_and_ids_outside_the_ranges_move_nothing() {
    let after = |ids: &[u64]| next_id_after(RecordIds::single(), RecordClass::C, ids);
    assert_eq!(after(&[200_005, 65_536]), Ok(200_006));
    for outside in [1, 65_535, 65_536, 66_047, 66_048, 200_000] {
        assert_eq!(after(&[outside]), Ok(200_001), "{outside}");
    }
    assert_eq!(after(&[200_001]), Ok(200_002));
}

#[test]
fn the_split_scheme_ignores_ids_of_the_single_one_and_ends_where_the_other_begins() {
    let after = |class, ids: &[u64]| next_id_after(RecordIds::split(), class, ids);
    assert_eq!(after(RecordClass::W, &[322_679_999_999_999]), Ok(322_680_000_131_072));
    assert_eq!(after(RecordClass::O, &[200_001, 5]), Ok(322_680_000_131_072));
    let exhausted = NextError::Exhausted { sequence: built_in::RECORD_IDS_OW };
    assert_eq!(after(RecordClass::W, &[322_685_000_131_071]), Err(exhausted));
    let c = RecordIds::split().ranges_of(RecordClass::C).clone();
    let more = Ranges::new(&[(322_680_000_131_072, 322_685_000_131_071), (300_000, 400_000)]);
    let wider = RecordIds::split_with(c, more.unwrap()).unwrap();
    assert_eq!(next_id_after(wider, RecordClass::W, &[322_685_000_131_071]), Ok(300_000));
}

#[test]
fn an_import_raises_the_sequence_and_must_be_one_of_its_numbers() {
    let mut world = world();
    let mut tx = transaction(&mut world, 1);
    let ids = built_in::RECORD_IDS;
    tx.import(ids, number(300_000)).unwrap();
    tx.import(ids, number(250_000)).unwrap();
    assert_eq!(tx.next(ids).unwrap().number.get(), 300_001);
    let outside = ImportError::Outside { sequence: ids, number: number(66_048) };
    assert_eq!(tx.import(ids, number(66_048)), Err(outside));
    let unknown = SequenceId(999);
    assert_eq!(tx.import(unknown, number(1)), Err(ImportError::Unknown { sequence: unknown }));
}

#[test]
fn a_range_ends_with_its_last_number_and_the_transaction_goes_on() {
    let mut sequences = Sequences::new(RecordIds::single());
    let short = Sequence::plain(Ranges::new(&[(7, 8)]).unwrap());
    sequences.define(DEFAULT, INVOICES, short).unwrap();
    let mut world = World::new(sequences, Settings::default());
    assert_eq!(number_of(&world.run(&ask(1, &[INVOICES])), INVOICES), 7);
    let mut tx = transaction(&mut world, 1);
    assert_eq!(tx.next(INVOICES).unwrap().number.get(), 8);
    assert_eq!(tx.next(INVOICES), Err(NextError::Exhausted { sequence: INVOICES }));
    assert_eq!(tx.next_record_id(RecordClass::C).unwrap().get(), 200_001);
    drop(tx);
    assert_eq!(number_of(&world.run(&ask(2, &[INVOICES])), INVOICES), 7, "per workspace");
}

#[test]
fn a_year_that_turns_begins_a_series_and_a_clock_that_goes_back_goes_on_in_the_old_one() {
    let mut sequences = Sequences::new(RecordIds::single());
    let yearly = Sequence {
        reset: Reset::Yearly,
        utc_offset: "+01:00".parse().unwrap(),
        format: seriatim_sequencer::Format::new("INV-{yyyy}-{n:06}").unwrap(),
        ..Sequence::plain(Ranges::new(&[(1, 999_999)]).unwrap())
    };
    sequences.define(DEFAULT, INVOICES, yearly).unwrap();
    let mut world = World::new(sequences, Settings::default());
    let new_year = 1_798_758_000_000;
    let mut at = |time| {
        let asked = Asked { time: Time(time), ..ask(1, &[INVOICES]) };
        let events = world.run(&asked);
        let text = {
            let read = world.read(vec![RowKey::Workspace(WorkspaceId(1))]);
            let begin = Begin { time: Time(time), ..begin(1) };
            let tx = world.sequencer.begin(begin, &read).unwrap();
            tx.text(INVOICES, number(number_of(&events, INVOICES))).unwrap()
        };
        world.crash();
        text
    };
    assert_eq!(at(new_year - 2), "INV-2026-000001");
    assert_eq!(at(new_year - 1), "INV-2026-000002");
    assert_eq!(at(new_year), "INV-2027-000001");
    assert_eq!(at(new_year - 1), "INV-2026-000003");
    assert_eq!(at(new_year + 1), "INV-2027-000002");
}

#[test]
fn a_cache_of_one_row_gives_the_same_numbers_also_while_no_checkpoint_can_be_written() {
    let settings = Settings { cached_rows_max: 1, ..Settings::default() };
    let mut world = World::new(Sequences::new(RecordIds::single()), settings);
    for round in 1..=20 {
        for workspace in 1..=3 {
            let events = world.run(&ask(workspace, &[built_in::RECORD_IDS]));
            assert_eq!(number_of(&events, built_in::WORKSPACE_OFFSETS), round);
            assert_eq!(number_of(&events, built_in::RECORD_IDS), 200_000 + round);
        }
    }
    assert_eq!(world.sequencer.counters().cached_rows, 1);
    assert_eq!(world.sequencer.counters().unflushed_rows, 3, "nothing was written");
}

#[test]
fn the_two_rows_of_a_transaction_do_not_evict_each_other() {
    // The client's row was in memory when the caller asked, so it was not read; making room for
    // the workspace's row then evicted it.
    let settings = Settings { cached_rows_max: 1, ..Settings::default() };
    let mut world = World::new(Sequences::new(RecordIds::single()), settings);
    let asked = Asked { client: Some("pos-4"), ..ask(1, &[]) };
    for round in 1..=3 {
        let events = world.run(&asked);
        assert_eq!(events[0].client.as_ref().unwrap().1.get(), round);
        world.checkpoint();
    }
}

#[test]
fn an_eviction_between_two_draws_of_a_transaction_changes_nothing() {
    // In an earlier design the second draw looked the row up again, found it evicted and read
    // the stored one.
    let settings = Settings { cached_rows_max: 1, ..Settings::default() };
    let mut world = World::new(Sequences::new(RecordIds::single()), settings);
    let (mut draws, _) = world.draw(&ask(1, &[built_in::RECORD_IDS]));
    drop(world.draw(&ask(2, &[])));
    assert!(!world.sequencer.holds(&RowKey::Workspace(WorkspaceId(1))), "evicted");
    let sequences = world.sequencer.sequences().clone();
    assert_eq!(draws.next(&sequences, built_in::RECORD_IDS).unwrap().number.get(), 200_002);
}

#[test]
fn a_row_that_was_read_before_a_checkpoint_is_not_taken_for_the_latest() {
    // Read early, as a pipeline does. Meanwhile the row is written, flushed to a checkpoint and
    // evicted: what was read is two commands old.
    let settings = Settings { cached_rows_max: 1, ..Settings::default() };
    let mut world = World::new(Sequences::new(RecordIds::single()), settings);
    let key = RowKey::Workspace(WorkspaceId(1));
    let early = world.read(vec![key.clone()]);
    world.run(&ask(1, &[]));
    world.checkpoint();
    world.run(&ask(2, &[]));
    assert!(!world.sequencer.holds(&key), "evicted");
    let refused = world.sequencer.begin(begin(1), &early).err();
    assert_eq!(refused, Some(BeginError::NotRead { key: key.clone() }));
    let again = world.read(vec![key]);
    let tx = world.sequencer.begin(begin(1), &again).unwrap();
    assert_eq!(tx.event().workspace.get(), 2);
}

#[test]
fn draws_that_were_overtaken_cannot_be_staged() {
    let mut world = world();
    let (early, _) = world.draw(&ask(1, &[]));
    world.run(&ask(1, &[]));
    let first = PartitionOffset::FIRST;
    assert_eq!(world.sequencer.stage(early).err(), Some(StaleDraws { first }));
}

#[test]
fn tickets_are_flushed_in_order_and_not_after_the_log_was_read_again() {
    let mut world = world();
    world.stage(&ask(1, &[]));
    world.stage(&ask(1, &[]));
    let (first, _) = world.staged.pop_front().unwrap();
    let (second, _) = world.staged.pop_front().unwrap();
    let offset = |n| PartitionOffset::new(n).unwrap();
    let early = world.sequencer.flush(second);
    assert_eq!(early, Err(FlushError::OutOfOrder { first: offset(1), through: offset(2) }));
    world.actualize();
    world.stage(&ask(1, &[]));
    let late = world.sequencer.flush(first);
    assert_eq!(late, Err(FlushError::Forgotten { through: offset(1) }));
}

#[test]
fn too_many_rows_that_wait_are_refused_until_a_checkpoint_is_written() {
    let settings = Settings { unflushed_rows_max: 5, ..Settings::default() };
    let mut world = World::new(Sequences::new(RecordIds::single()), settings);
    for workspace in 1..=6 {
        assert_eq!(world.sequencer.admit(), Ok(()), "workspace {workspace}");
        world.run(&ask(workspace, &[]));
    }
    assert_eq!(world.sequencer.admit(), Err(Busy::Unflushed { rows: 6, rows_max: 5 }));
    let out = world.sequencer.take_checkpoint().unwrap();
    assert_eq!(world.sequencer.take_checkpoint(), None, "one at a time");
    world.sequencer.not_written(out);
    assert!(world.sequencer.admit().is_err(), "a failed checkpoint frees nothing");
    world.checkpoint();
    assert_eq!(world.sequencer.admit(), Ok(()));
    let events = world.run(&ask(6, &[]));
    assert_eq!(number_of(&events, built_in::WORKSPACE_OFFSETS), 2, "goes on where it was");
}

#[test]
fn a_checkpoint_holds_only_what_is_committed() {
    let mut world = world();
    world.run(&ask(1, &[]));
    world.stage(&ask(1, &[]));
    let out = world.sequencer.take_checkpoint().unwrap();
    let row = Row::new([(series(built_in::WORKSPACE_OFFSETS), number(1))]);
    assert_eq!(out.rows, [(RowKey::Workspace(WorkspaceId(1)), row)]);
    assert_eq!(out.through, Some(PartitionOffset::FIRST));
    world.sequencer.not_written(out);
}

#[test]
fn a_row_that_moved_on_while_its_checkpoint_was_written_waits_for_the_next() {
    let mut world = world();
    world.run(&ask(1, &[]));
    let out = world.sequencer.take_checkpoint().unwrap();
    world.run(&ask(1, &[]));
    world.write(&out);
    world.sequencer.written(out);
    assert_eq!(world.sequencer.counters().unflushed_rows, 1);
    assert_eq!(world.sequencer.counters().checkpoint_lag, 1);
    world.checkpoint();
    assert_eq!(world.sequencer.counters().checkpoint_lag, 0);
    assert_eq!(world.sequencer.take_checkpoint(), None, "nothing new");
}

#[test]
fn a_log_with_a_hole_is_not_read_over() {
    let mut world = world();
    world.sequencer.actualize().unwrap();
    world.sequencer.resume(None, 2).unwrap();
    let nothing = RowsRead::new(world.sequencer.stamp(), []);
    let second = event(2, 1, built_in::RECORD_IDS, 200_001);
    let hole = world.sequencer.observe(&second, &nothing);
    let expected = PartitionOffset::FIRST;
    assert_eq!(hole, Err(ObserveError::Hole { expected, found: second.offset }));
    let first = event(1, 1, built_in::RECORD_IDS, 200_001);
    let key = RowKey::Workspace(WorkspaceId(1));
    let not_read = world.sequencer.observe(&first, &nothing);
    assert_eq!(not_read, Err(ObserveError::NotRead { key }));
    let strange = LogEvent { kind: KindId(9), ..first.clone() };
    let error = world.sequencer.observe(&strange, &nothing);
    assert!(matches!(error, Err(ObserveError::UnknownKind { .. })), "{error:?}");
    world.sequencer.serve().unwrap();
    let late = world.sequencer.observe(&first, &nothing);
    assert_eq!(late, Err(ObserveError::NotActualizing));
}

#[test]
fn an_unknown_kind_or_sequence_or_client_is_an_error() {
    let mut world = world();
    let kind = KindId(3);
    let nothing = RowsRead::new(world.sequencer.stamp(), []);
    let unknown = world.sequencer.begin(Begin { kind, ..begin(1) }, &nothing).err();
    assert_eq!(unknown, Some(BeginError::UnknownKind { kind }));
    let mut tx = transaction(&mut world, 1);
    let sequence = SequenceId(999);
    assert_eq!(tx.next(sequence), Err(NextError::Unknown { sequence }));
    let sequence = built_in::CLIENT;
    assert_eq!(tx.next_of_client(), Err(NextError::Unknown { sequence }));
}

#[test]
fn draws_of_an_earlier_reading_cannot_be_staged() {
    // The log is as long as before, so the next offset is the same; the numbers need not be.
    let mut world = world();
    let (early, _) = world.draw(&ask(1, &[]));
    world.actualize();
    let first = PartitionOffset::FIRST;
    assert_eq!(world.sequencer.stage(early).err(), Some(StaleDraws { first }));
}

#[test]
fn a_row_that_was_read_before_a_checkpoint_of_unknown_fate_is_not_used() {
    let settings = Settings { cached_rows_max: 1, ..Settings::default() };
    let mut world = World::new(Sequences::new(RecordIds::single()), settings);
    let key = RowKey::Workspace(WorkspaceId(1));
    let early = world.read(vec![key.clone()]);
    world.run(&ask(1, &[]));
    let out = world.sequencer.take_checkpoint().unwrap();
    world.write(&out);
    // It is written, but the answer is lost, and the log is read again from where it ends.
    world.sequencer.not_written(out);
    world.actualize();
    let refused = world.sequencer.begin(begin(1), &early).err();
    assert_eq!(refused, Some(BeginError::NotRead { key }));
}

#[test]
fn a_number_of_a_sequence_that_is_not_defined_is_not_passed_over() {
    let mut world = world();
    world.sequencer.actualize().unwrap();
    world.sequencer.resume(None, 1).unwrap();
    let early = event(1, 1, INVOICES, 1);
    let key = RowKey::Workspace(WorkspaceId(1));
    let read = RowsRead::new(world.sequencer.stamp(), [(key, None)]);
    let error = world.sequencer.observe(&early, &read);
    let workspace = WorkspaceId(1);
    let unknown = ObserveError::UnknownSequence { workspace, sequence: INVOICES };
    assert_eq!(error, Err(unknown));
    let plain = Sequence::plain(Ranges::new(&[(1, 9)]).unwrap());
    world.sequencer.define(DEFAULT, INVOICES, plain).unwrap();
    assert_eq!(world.sequencer.observe(&early, &read), Ok(()));
    world.sequencer.serve().unwrap();
    assert_eq!(transaction(&mut world, 1).next(INVOICES).unwrap().number.get(), 2);
}

#[test]
fn calls_out_of_turn_are_errors_and_change_nothing() {
    let mut world = world();
    world.stage(&ask(1, &[]));
    assert!(world.sequencer.serve().is_err(), "a second time");
    assert!(world.sequencer.resume(None, 0).is_err(), "while serving");
    assert_eq!(transaction(&mut world, 1).event().partition.get(), 2);
    world.commit();
    let out = world.sequencer.take_checkpoint().unwrap();
    assert!(world.sequencer.actualize().is_err(), "while a checkpoint is out");
    world.sequencer.written(out);
    world.sequencer.actualize().unwrap();
    assert!(world.sequencer.serve().is_err(), "before the log was read");
}

#[test]
fn places_in_a_log_are_for_events_alone() {
    let mut world = world();
    let mut tx = transaction(&mut world, 1);
    let sequence = built_in::WORKSPACE_OFFSETS;
    assert_eq!(tx.next(sequence), Err(NextError::Unknown { sequence }));
    assert_eq!(tx.import(sequence, number(1_000)), Err(ImportError::Unknown { sequence }));
    assert_eq!(tx.next_event().unwrap().workspace.get(), 2);
}

#[test]
fn what_is_staged_counts_as_waiting() {
    let settings = Settings { unflushed_rows_max: 5, ..Settings::default() };
    let mut world = World::new(Sequences::new(RecordIds::single()), settings);
    for workspace in 1..=6 {
        assert_eq!(world.sequencer.admit(), Ok(()));
        world.stage(&ask(workspace, &[]));
    }
    assert_eq!(world.sequencer.admit(), Err(Busy::Unflushed { rows: 6, rows_max: 5 }));
}
