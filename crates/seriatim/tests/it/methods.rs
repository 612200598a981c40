//! Every method of the contract beside what embeds it.

use std::error::Error;

use seriatim::{App, AppOptions, ErrorCode, Numbering, RecordClass, Seriatim, Workspace};
use seriatim_api::method::{METHODS, MethodId};

use crate::world::{PATIENCE, in_memory, key, orders};

/// What a process has for a method.
enum Embedded {
    /// It was called, and did what the method does.
    Called,
    /// There is nothing to embed, because of this.
    Nothing(&'static str),
}

fn call(
    method: MethodId,
    (seriatim, app, store): (&Seriatim, &App, &Workspace),
) -> Result<Embedded, Box<dyn Error>> {
    let first = seriatim::Number::new(1).ok_or("a number")?;
    let partition = app.partition(0)?;
    match method {
        MethodId::CreateApp => drop(seriatim.app("bank", AppOptions::default())?),
        MethodId::ListApps => assert!(seriatim.apps()?.iter().any(|it| it.name() == app.name())),
        MethodId::GetApp => assert_eq!(app.settings()?.partitions, 4),
        MethodId::ChangeApp => app.limit_keys(Some(1_000))?,
        MethodId::GetDefinitions => assert_eq!(app.definitions()?.sequences.len(), 2),
        MethodId::DefineKind => app.define_kind("depot")?,
        MethodId::DefineSequence => {
            app.define_sequence("ticket", Numbering::continuous("{n}"))?;
        }
        MethodId::DefineRecord => app.define_record("order", RecordClass::C)?,
        MethodId::ListPartitionEvents => {
            let all = app.partitions()?.into_iter().map(|it| Ok(it.events(1, 10)?.len()));
            assert_eq!(all.sum::<Result<usize, seriatim::ReadError>>()?, 2);
            drop(partition.subscribe(1)?);
        }
        MethodId::DeclareWorkspace => drop(app.workspace_of_kind("store-1", "default")?),
        MethodId::Submit => assert_eq!(orders(store, [1]).len(), 1),
        MethodId::ListEvents => {
            assert_eq!(store.wait_for(2, PATIENCE)?, 2);
            assert_eq!(store.events(1, 10)?.len(), 2);
            drop(store.subscribe(1)?);
        }
        MethodId::ListRecords => assert_eq!(store.records("order", 0, 10)?.len(), 2),
        MethodId::GetRecord => {
            let id = store.records("order", 0, 1)?.first().map(|it| it.id).ok_or("an order")?;
            assert!(store.record(id)?.is_some());
        }
        MethodId::GetEntity => assert!(store.entity("nothing")?.is_none()),
        MethodId::GetSequence => assert!(store.sequence("ticket", None)?.is_some()),
        MethodId::GetClient => assert!(store.client("till-4")?.is_some()),
        MethodId::GetReceipt => assert!(store.receipt("till-4", key(1))?.is_some()),
        MethodId::GetHead => assert_eq!(store.head()?.size, 2),
        MethodId::GetProof => drop(store.proof(first, 2)?),
        MethodId::GetConsistency => drop(store.consistency(1, 2)?),
        MethodId::ListPartitions => {
            assert!(!seriatim.partitions()?.is_empty());
            assert_eq!(app.partitions()?.len(), 4);
            partition.state()?;
        }
        MethodId::RestartPartition => partition.restart()?,
        MethodId::AcceptClock => drop(seriatim.accept_clock()?),
        MethodId::Ready => assert!(seriatim.readiness()?.is_ready),
        MethodId::ErrorPage => assert!(ErrorCode::NotYet.page().contains("NOT_YET")),
        MethodId::Live => return Ok(Embedded::Nothing("a process that calls is alive")),
        MethodId::Version => return Ok(Embedded::Nothing("the manifest says the version")),
        MethodId::Metrics => return Ok(Embedded::Nothing("nobody scrapes a process")),
        MethodId::Openapi => return Ok(Embedded::Nothing("it describes HTTP")),
    }
    Ok(Embedded::Called)
}

#[test]
fn embedders_have_every_method_of_the_contract() {
    let mut nothing = Vec::new();
    for method in METHODS {
        let (seriatim, store) = in_memory();
        let app = seriatim.existing_app("shop").unwrap().unwrap();
        orders(&store, [1, 2]);
        match call(method.id, (&seriatim, &app, &store)) {
            Ok(Embedded::Called) => {}
            Ok(Embedded::Nothing(why)) => nothing.push((method.id, why)),
            Err(error) => panic!("{:?}: {error}", method.id),
        }
    }
    let none = nothing.iter().map(|(method, _)| *method).collect::<Vec<_>>();
    let expected = [MethodId::Live, MethodId::Version, MethodId::Metrics, MethodId::Openapi];
    assert_eq!(none, expected, "{nothing:?}");
}
