//! What readers are shown: everything that is durable, nothing else, however far checkpoints lag.

mod fold;
mod proofs;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use seriatim_codec::{
    KeyBytes, encode_number, event_key, record_key, record_of_kind_key, workspace_key,
    workspace_log_key, workspace_name_key,
};
use seriatim_core::{RowId, Unreadable};
use seriatim_node::{
    ProofFailed, ReadFailed, Reader, SequenceState, Settings, State, View, Workspace, schema,
};
use seriatim_storage::faulty;
use seriatim_storage::{Batch, Schema, Store};
use seriatim_testkit::core::{Dice, History, ShopSettings, changes, command, events, name};
use seriatim_types::{
    Body, ClientId, Declare, EntityKey, Key, KindId, NUMBER_MAX, Number, PartitionId,
    PartitionOffset, Receipt, Retention, Time, WorkspaceId, WorkspaceRef, Year,
};

use crate::driver::{APP, Driver};
use fold::Fold;

const ONE: WorkspaceId = WorkspaceId(1);

/// Longer than there are times, so that there is never a checkpoint.
const NEVER: Duration = Duration::MAX;

/// Runs a test on what readers may see.
fn reading<T>(view: &View, test: impl FnOnce(Reader<'_>) -> T) -> T {
    let schema: Schema = schema();
    test(Reader::new(view, APP, &schema))
}

fn open(checkpoint_delay: Duration) -> Driver {
    let settings = Settings { checkpoint_delay, ..Settings::default() };
    let mut driver = Driver::new(settings, faulty::never());
    driver.define(ShopSettings::default());
    driver
}

fn key(handle: usize) -> Key {
    Key(u128::try_from(handle + 1).unwrap().to_be_bytes())
}

fn number(number: u64) -> Number {
    Number::new(number).unwrap()
}

fn client() -> ClientId {
    ClientId::new(b"pos-4").unwrap()
}

impl Driver {
    /// Sends events to a workspace, and lets them land.
    fn send(&mut self, handle: usize, workspace: &str, json: &str) -> Receipt {
        self.submit(handle, &command("pos-4", key(handle), workspace, events(json)));
        self.land_all();
        self.receipt(handle).expect("carried out")
    }

    /// Carries out what is queued. Unlike settling it does not wait for a checkpoint.
    fn land_all(&mut self) {
        while self.step() || self.partition.in_flight() > 0 {
            self.land();
        }
    }

    fn seen(&self) -> &View {
        self.view.as_ref().expect("something has landed")
    }

    /// Everything that is stored, as a view.
    fn stored(&self) -> View {
        let snapshot = Arc::from(self.store.snapshot().unwrap());
        View { snapshot, ..self.seen().clone() }
    }
}

/// Sends a random history, with commits that land late and restarts in between, and compares what
/// is shown with what the log says.
fn compare(seed: u64, checkpoint_delay: Duration) -> usize {
    let history = History::random(seed, 300);
    let [_, (partition, entries)] = history.partitions();
    if partition.partition != PartitionId(0) {
        return 0;
    }
    let settings = Settings {
        batch_entries_max: 3,
        actualize_events: 16,
        checkpoint_delay,
        ..Settings::default()
    };
    let mut driver = Driver::new(settings, faulty::never());
    let mut dice = Dice::new(seed);
    for (entry, handle) in entries.iter().zip(0..) {
        if dice.below(40) == 0 {
            driver.partition.restart();
        }
        while matches!(driver.partition.state(), State::Actualizing(_)) {
            driver.step();
        }
        driver.now = driver.now.max(entry.time);
        driver.partition.take(entry.body.clone(), handle).expect("it serves");
        for _ in 0..dice.below(3) {
            driver.step();
        }
        if dice.below(3) == 0 {
            driver.land();
        }
        if let Some(view) = driver.view.as_ref().filter(|_| dice.below(20) == 0) {
            let fold = Fold::of(driver.events(), view.offset);
            reading(view, |reader| fold.check(reader, driver.now, &mut dice));
        }
    }
    driver.land_all();
    let view = driver.seen();
    let fold = Fold::of(driver.events(), view.offset);
    reading(view, |reader| fold.check(reader, driver.now, &mut dice));
    driver.events().len()
}

#[test]
fn what_is_shown_is_what_the_log_says_however_far_checkpoints_lag() {
    let mut events = 0;
    for seed in 0..36 {
        let delays = [Duration::ZERO, Duration::from_secs(2), NEVER];
        events += compare(seed, delays[usize::try_from(seed % 3).unwrap()]);
    }
    assert!(events > 1000, "histories in which something happens: {events}");
}

#[test]
fn what_has_not_landed_is_not_shown() {
    let mut driver = open(Duration::ZERO);
    driver.send(0, "1", "{'name': 'A'}");
    let json = "{'set': {'key': 'k', 'value': 1}}, {'draw': {'sequence': 'ticket'}}";
    for handle in 1..3 {
        driver.submit(handle, &command("pos-4", key(handle), "1", changes(json)));
        driver.step();
    }
    assert_eq!((driver.partition.in_flight(), driver.events().len()), (2, 3), "both are stored");
    for landed in 1..=3 {
        reading(driver.seen(), |reader| {
            assert_eq!(reader.last_offset(ONE), Ok(landed));
            assert_eq!(reader.partition_events(1, 9).unwrap().len(), usize_of(landed));
            assert_eq!(reader.head(ONE).unwrap().size, landed);
            let entity = reader.entity(ONE, &EntityKey::new("k").unwrap(), driver.now).unwrap();
            assert_eq!(entity.map_or(0, |entity| entity.version), landed - 1);
            let own = reader.client(ONE, &client()).unwrap().unwrap();
            assert_eq!(own.last_client_sequence.get(), landed);
            for handle in 0..3 {
                let receipt = reader.receipt(ONE, &client(), key(handle), driver.now).unwrap();
                assert_eq!(receipt.is_some(), handle < usize_of(landed));
            }
        });
        let ticket = sequence(driver.seen(), "ticket", None).unwrap();
        assert_eq!(ticket.last, Number::new(landed - 1));
        driver.land();
    }
}

fn usize_of(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

/// Where a sequence of workspace 1 stands.
fn sequence(view: &View, text: &str, year: Option<Year>) -> Option<SequenceState> {
    reading(view, |reader| {
        let workspace = reader.workspace(&WorkspaceRef::Id(ONE)).unwrap().unwrap();
        reader.sequence(&workspace, &name(text), year, Time(0)).unwrap()
    })
}

#[test]
fn pages_begin_where_they_are_asked_to_and_hold_no_more_than_they_may() {
    let mut driver = open(Duration::ZERO);
    let create = "{'name': 'A', 'changes': [{'create': {'id': 1, 'kind': 'order'}}]}";
    for handle in 0..5 {
        driver.send(handle, ["1", "2"][handle % 2], create);
    }
    // Workspace 1 has the events 1, 3 and 5 of the partition.
    let cases: [(u64, usize, &[u64], &[u64]); 9] = [
        (0, 9, &[1, 2, 3, 4, 5], &[1, 2, 3]),
        (1, 9, &[1, 2, 3, 4, 5], &[1, 2, 3]),
        (1, 2, &[1, 2], &[1, 2]),
        (2, 1, &[2], &[2]),
        (3, usize::MAX, &[3, 4, 5], &[3]),
        (1, 0, &[], &[]),
        (6, 9, &[], &[]),
        (NUMBER_MAX + 1, 9, &[], &[]),
        (u64::MAX, 9, &[], &[]),
    ];
    reading(driver.seen(), |reader| {
        for (from, limit, of_partition, of_workspace) in cases {
            let shown = reader.partition_events(from, limit).unwrap();
            let shown: Vec<u64> = shown.iter().map(|it| it.event.partition_offset.get()).collect();
            assert_eq!(shown, of_partition, "from {from}, {limit} at most");
            let shown = reader.events(ONE, from, limit).unwrap();
            assert!(shown.iter().all(|it| it.event.workspace == ONE));
            let shown: Vec<u64> = shown.iter().map(|it| it.event.offset.get()).collect();
            assert_eq!(shown, of_workspace, "from {from}, {limit} at most");
        }
        let ids = |from, limit| -> Vec<u64> {
            let records = reader.records(ONE, &name("order"), from, limit).unwrap();
            records.iter().map(|(id, _)| id.get()).collect()
        };
        assert_eq!(ids(0, 9), [200_001, 200_002, 200_003]);
        assert_eq!(ids(200_002, 9), [200_002, 200_003]);
        assert_eq!(ids(200_002, 1), [200_002]);
        assert_eq!((ids(0, 0), ids(200_004, 9), ids(u64::MAX, 9)), (vec![], vec![], vec![]));
        let workspaces: Vec<u64> =
            [0, 1, 2, 3].map(|id| reader.last_offset(WorkspaceId(id)).unwrap()).to_vec();
        assert_eq!(workspaces, [0, 3, 2, 0]);
    });
}

#[test]
fn what_is_not_there_is_none_and_no_failure() {
    let mut empty = Driver::new(Settings::default(), faulty::never());
    empty.land_all();
    let mut driver = open(Duration::ZERO);
    driver.send(0, "2", "{'name': 'A'}");
    for (driver, is_defined) in [(empty, false), (driver, true)] {
        let now = driver.now;
        reading(driver.seen(), |reader| {
            assert_eq!(reader.definitions().unwrap().is_some(), is_defined);
            let named = WorkspaceRef::Name(name("store-1"));
            assert_eq!(reader.workspace(&named), Ok(None));
            assert_eq!(reader.workspace(&WorkspaceRef::Id(ONE)), Ok(None));
            let workspace = Workspace { id: ONE, kind: KindId(0), name: None };
            for sequence in ["nothing", "pallet"] {
                let sequence = reader.sequence(&workspace, &name(sequence), None, Time(0));
                assert_eq!(sequence, Ok(None), "not of this kind");
            }
            assert_eq!(reader.record(ONE, number(200_001)), Ok(None));
            assert_eq!(reader.records(ONE, &name("order"), 0, 9), Ok(vec![]));
            assert_eq!(reader.entity(ONE, &EntityKey::new("k").unwrap(), now), Ok(None));
            assert_eq!(reader.client(ONE, &client()), Ok(None));
            assert_eq!(reader.receipt(ONE, &client(), key(0), now), Ok(None));
            assert_eq!(reader.events(ONE, 1, 9), Ok(vec![]));
            assert_eq!(reader.last_offset(ONE), Ok(0));
            let head = reader.head(ONE).unwrap();
            assert_eq!((head.size, head.root), (0, seriatim_merkle::empty_root()));
            let beyond = reader.inclusion(ONE, number(1), 1);
            assert_eq!(beyond, Err(ProofFailed::OutOfRange { asked: 1, size: 0 }));
        });
    }
}

#[test]
fn a_workspace_is_found_by_both_its_names_also_before_its_first_event() {
    let mut driver = open(Duration::ZERO);
    driver.send(0, "store-1", "{'name': 'A'}");
    let (store, yard) = (WorkspaceRef::Name(name("store-1")), WorkspaceRef::Name(name("yard-1")));
    let declare = Declare { workspace: yard.clone(), kind: name("warehouse") };
    driver.partition.take(Body::Declare(declare), 1).expect("it serves");
    driver.land_all();
    reading(driver.seen(), |reader| {
        for (asked, kind) in [(store, KindId(0)), (yard, KindId(1))] {
            let workspace = reader.workspace(&asked).unwrap().unwrap();
            assert_eq!(WorkspaceRef::Name(workspace.name.clone().unwrap()), asked);
            assert_eq!(workspace.kind, kind);
            assert_eq!(reader.workspace(&WorkspaceRef::Id(workspace.id)), Ok(Some(workspace)));
        }
        let definitions = reader.definitions().unwrap().unwrap();
        assert_eq!((definitions.version, definitions.app.name), (11, name("shop")));
    });
}

#[test]
fn the_next_number_is_the_one_that_is_drawn_next() {
    for checkpoint_delay in [Duration::ZERO, NEVER] {
        let mut driver = open(checkpoint_delay);
        driver.send(0, "1", "{'name': 'A'}");
        for handle in 1..6 {
            let state = |text| sequence(driver.seen(), text, None).unwrap();
            let (invoice, scarce) = (state("invoice"), state("scarce"));
            assert_eq!(invoice.period, Year::new(2026));
            assert_eq!(scarce.next.is_some(), handle <= 3, "7, 8 and 9, and then no more");
            let scarce = scarce.next.iter().map(|_| ", {'draw': {'sequence': 'scarce'}}");
            let scarce: String = scarce.collect();
            let json = format!(
                "{{'name': 'A', 'changes': [{{'draw': {{'sequence': 'invoice'}}}}{scarce}]}}"
            );
            let drawn = driver.send(handle, "1", &json).numbers.remove(0);
            assert_eq!(invoice.next, Some((drawn.number, drawn.text)));
        }
    }
}

#[test]
fn a_client_is_up_to_date_however_many_events_are_behind_the_checkpoint() {
    let driver = proofs::many_events(NEVER);
    let state = reading(driver.seen(), |reader| reader.client(ONE, &client()).unwrap().unwrap());
    assert_eq!((state.last_client_sequence.get(), state.last_offset.get()), (28, proofs::EVENTS));
}

#[test]
fn a_yearly_sequence_is_shown_in_the_year_of_the_last_entry_or_in_the_one_asked_for() {
    let state = |year, last, next, text: &str| SequenceState {
        period: Year::new(year),
        last: Number::new(last),
        next: Some((number(next), text.to_owned())),
    };
    for checkpoint_delay in [Duration::ZERO, NEVER] {
        let mut driver = open(checkpoint_delay);
        driver.send(0, "1", "{'name': 'A', 'changes': [{'draw': {'sequence': 'invoice'}}]}");
        // A minute before 2027 begins at UTC, it has begun at the sequence's offset.
        driver.now = Time(1_798_761_540_000);
        driver.send(1, "1", "{'name': 'A'}");
        let shown = |text, year| sequence(driver.seen(), text, year);
        assert_eq!(shown("invoice", None), Some(state(2027, 0, 1, "INV-2027-000001")));
        assert_eq!(shown("invoice", Year::new(2026)), Some(state(2026, 1, 2, "INV-2026-000002")));
        assert_eq!(shown("ticket", Year::new(2026)), None, "it has no years");
    }
}

#[test]
fn an_entity_and_a_key_are_gone_as_soon_as_their_time_is_over() {
    let mut driver = Driver::new(Settings::default(), faulty::never());
    let retention = Retention::Milliseconds(60_000);
    driver.define(ShopSettings { retention, ..ShopSettings::default() });
    let set = "{'name': 'A', 'changes': [{'set': {'key': 'k', 'value': 1, \
               'expires_at': '2026-06-21T00:00:20Z'}}]}";
    let receipt = driver.send(0, "1", set);
    let entity = EntityKey::new("k").unwrap();
    // Midnight of that day, and twenty seconds.
    let expiry = Time(1_782_000_020_000);
    let over = Time(receipt.committed_at.0 + 60_000);
    let before = |time: Time| Time(time.0 - 1);
    let is_entity = |view: &View, now| {
        reading(view, |reader| reader.entity(ONE, &entity, now).unwrap().is_some())
    };
    let is_receipt = |view: &View, now| {
        reading(view, |reader| reader.receipt(ONE, &client(), key(0), now).unwrap().is_some())
    };
    let view = driver.seen();
    assert!(is_entity(view, before(expiry)) && !is_entity(view, expiry));
    assert!(is_receipt(view, before(over)) && !is_receipt(view, over));
    // A reader whose clock is late goes by the time of the last entry. Nothing was swept yet.
    let late = View { time: Some(expiry.max(over)), ..view.clone() };
    assert!(!is_entity(&late, Time(0)) && !is_receipt(&late, Time(0)));
}

#[test]
fn a_repetition_and_a_reused_key_are_answered_from_their_first_event() {
    let mut driver = open(Duration::ZERO);
    driver.send(0, "2", "{'name': 'A'}");
    let receipt = driver.send(1, "1", "{'name': 'A'}, {'name': 'B'}, {'name': 'C'}");
    driver.send(2, "1", "{'name': 'A'}");
    let first = receipt.first_partition_offset;
    reading(driver.seen(), |reader| {
        assert_eq!(reader.receipt_of(first, 3), Ok(receipt));
        let original = reader.events(ONE, 1, 1).unwrap().remove(0);
        assert_eq!(reader.committed_hash(first), Ok((number(1), original.leaf)));
        for (first, count) in [(first.get(), 2), (first.get(), 4), (1, 2), (3, 2), (1, u32::MAX)] {
            let first = PartitionOffset::new(first).unwrap();
            let failed = ReadFailed::NotOneCommand { first, count };
            assert_eq!(reader.receipt_of(first, count), Err(failed));
        }
        let beyond = reader.receipt_of(PartitionOffset::new(9).unwrap(), 1);
        assert!(matches!(beyond, Err(ReadFailed::Missing { .. })), "{beyond:?}");
        let beyond = reader.committed_hash(PartitionOffset::new(6).unwrap());
        assert!(matches!(beyond, Err(ReadFailed::Missing { .. })), "{beyond:?}");
    });
}

/// What a read of something damaged comes to.
type Damaged = fn(Reader<'_>) -> Result<(), ReadFailed>;

#[test]
fn a_damaged_row_is_named_with_its_table_and_key() {
    use seriatim_codec::Table::{Log, Numbers, Partition, Records, WorkspaceLog};
    let (id, offset) = (number(200_001), number(1));
    let row = |table, key: KeyBytes| RowId { table, key };
    let record = row(Records, record_key(APP, ONE, id));
    let pointer = row(WorkspaceLog, workspace_log_key(APP, ONE, offset));
    let numbers = row(Numbers, workspace_key(APP, ONE).into());
    let event = row(Log, event_key(APP, PartitionOffset::new(9).unwrap()));
    let store = row(Partition, workspace_name_key(APP, &name("store-1")));
    let listed = row(Records, record_of_kind_key(APP, ONE, &name("order"), number(200_009)));
    let unlisted = row(Records, record_key(APP, ONE, number(200_009)));
    let garbage = || Bytes::from_static(b"\xff");
    let cases: [(&RowId, Bytes, &RowId, Damaged); 7] = [
        (&record, garbage(), &record, |it| it.record(ONE, number(200_001)).map(drop)),
        (&record, garbage(), &record, |it| it.records(ONE, &name("order"), 0, 9).map(drop)),
        (&listed, Bytes::new(), &unlisted, |it| it.records(ONE, &name("order"), 0, 9).map(drop)),
        (&pointer, encode_number(0), &pointer, |it| it.events(ONE, 1, 9).map(drop)),
        (&pointer, encode_number(9), &event, |it| it.head(ONE).map(drop)),
        (&numbers, garbage(), &numbers, |it| it.client(ONE, &client()).map(drop)),
        (&store, garbage(), &store, |it| {
            it.workspace(&WorkspaceRef::Name(name("store-1"))).map(drop)
        }),
    ];
    for (damaged, value, named, read) in cases {
        let mut driver = open(Duration::ZERO);
        let create = "{'name': 'A', 'changes': [{'create': {'id': 1, 'kind': 'order'}}]}";
        driver.send(0, "1", create);
        driver.send(1, "store-1", create);
        assert_eq!(reading(&driver.stored(), read), Ok(()));
        let mut batch = Batch::new();
        batch.put(schema().table(damaged.table.name()).unwrap(), damaged.key.clone(), value);
        driver.store.commit(batch).unwrap();
        let failed = reading(&driver.stored(), read).unwrap_err();
        let (ReadFailed::Unreadable(Unreadable { row, .. })
        | ReadFailed::Numbers { row, .. }
        | ReadFailed::Missing { row }) = &failed
        else {
            panic!("{failed:?}")
        };
        assert_eq!(**row, *named);
        assert!(failed.to_string().contains(named.table.name()), "{failed}");
    }
}

#[test]
fn a_store_that_cannot_be_read_is_a_failure_and_not_an_absence() {
    let mut driver = open(Duration::ZERO);
    driver.send(0, "1", "{'name': 'A'}");
    // Whoever reads a store that has died is told so.
    driver.store.reopen(1, faulty::never()).unwrap();
    let reads: [Damaged; 9] = [
        |it| it.partition_events(1, 9).map(drop),
        |it| it.events(ONE, 1, 9).map(drop),
        |it| it.last_offset(ONE).map(drop),
        |it| it.workspace(&WorkspaceRef::Id(ONE)).map(drop),
        |it| it.record(ONE, number(200_001)).map(drop),
        |it| it.records(ONE, &name("order"), 0, 9).map(drop),
        |it| it.client(ONE, &client()).map(drop),
        |it| it.receipt(ONE, &client(), key(0), Time(0)).map(drop),
        |it| it.head(ONE).map(drop),
    ];
    for read in reads {
        let failed = reading(driver.seen(), read);
        assert!(matches!(failed, Err(ReadFailed::Store(_))), "{failed:?}");
    }
}
