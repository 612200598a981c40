//! One sequence: each series with first, last, count, gaps and repeats.

use std::sync::Arc;

use seriatim_codec::{Stored, event_key};
use seriatim_node::schema;
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{Batch, Store};
use seriatim_testkit::core::name;
use seriatim_types::{Event, Number, WorkspaceId};
use seriatim_verify::{Error, Options, SequenceReport, SeriesReport, verify_sequence};

use crate::breaches::{SHOP, offset, prefix};
use crate::world::World;

fn report(store: &dyn Store, sequence: &str) -> Result<(Vec<SeriesReport>, SequenceReport), Error> {
    let mut all = Vec::new();
    let whole = verify_sequence(
        (store, store.schema()),
        (&name("shop"), &name(sequence)),
        &Options::default(),
        &mut |series| all.push(series.clone()),
        &mut |_| {},
    )?;
    Ok((all, whole))
}

#[test]
fn every_series_of_a_sound_sequence_is_complete() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&schema()));
    World::fill(&store, 40);
    let (invoices, whole) = report(store.as_ref(), "invoice").unwrap();
    assert!(whole.is_complete(), "{whole:?}");
    assert_eq!((whole.gaps, whole.repeats), (0, 0));
    let years: std::collections::BTreeSet<_> =
        invoices.iter().map(|series| series.period.map(|year| year.get())).collect();
    assert_eq!(years, [Some(2026), Some(2027)].into());
    let named: Vec<_> = invoices.iter().filter_map(|it| it.workspace_name.clone()).collect();
    assert!(named.contains(&name("store-1")) && named.len() < invoices.len(), "{named:?}");
    for series in &invoices {
        assert_eq!((series.first.get(), series.last.get()), (1, series.count), "{series:?}");
    }
    let (tickets, _) = report(store.as_ref(), "ticket").unwrap();
    // The second range comes behind the three numbers of the first.
    assert!(tickets.iter().all(|series| series.first.get() == 1_000), "{tickets:?}");
    assert!(tickets.iter().any(|series| series.last.get() == 50 + series.count - 4), "{tickets:?}");
}

#[test]
fn gaps_and_repeats_are_counted_and_the_first_has_its_place() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&schema()));
    World::fill(&store, 20);
    let (before, _) = report(store.as_ref(), "invoice").unwrap();
    let log = store.schema().table("log").unwrap();
    // The first invoice of some workspace becomes the third.
    let mut changed = None;
    for at in 1.. {
        let key = event_key(prefix(SHOP), offset(at));
        let event = Event::from_bytes(&store.get(log, &key).unwrap().unwrap()).unwrap();
        let Some(drawn) = event.numbers.first().filter(|it| it.name == name("invoice")) else {
            continue;
        };
        assert_eq!(drawn.number.get(), 1);
        let mut event = event.clone();
        event.numbers[0].number = Number::new(3).unwrap();
        let mut batch = Batch::new();
        batch.put(log, key, event.to_bytes());
        store.commit(batch).unwrap();
        changed = Some((event.workspace, event.partition_offset));
        break;
    }
    let (workspace, event): (WorkspaceId, _) = changed.unwrap();
    let (after, whole) = report(store.as_ref(), "invoice").unwrap();
    assert_eq!((whole.gaps, whole.faults, whole.is_complete()), (2, 1, false));
    assert!(whole.repeats >= 1, "{whole:?}");
    let series = after.iter().find(|series| series.fault.is_some()).unwrap();
    let fault = series.fault.unwrap();
    assert_eq!((series.workspace, fault.event), (workspace, event));
    assert_eq!((fault.expected, fault.found), (Number::new(1), Number::new(3).unwrap()));
    assert_eq!(before.len(), after.len());
}

#[test]
fn a_sequence_that_there_is_not_is_said() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&schema()));
    World::fill(&store, 1);
    let Err(error) = report(store.as_ref(), "nothing") else { panic!() };
    assert_eq!(
        (error.to_string().as_str(), error.code()),
        ("there is no sequence nothing", "NOT_FOUND")
    );
    let Error::NoSequence { sequences, .. } = error else { panic!("{error:?}") };
    assert_eq!(sequences, ["invoice", "ticket", "pallet"].map(name));
}
