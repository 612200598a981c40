//! Every method does what its endpoint does.

use std::time::Duration;

use serde_json::json;
use seriatim_api::{
    App, CreateAppRequest, DeclareWorkspaceRequest, DefineKindRequest, DefineRecordRequest,
    DefineSequenceRequest, GetAppRequest, GetClientRequest, GetConsistencyRequest,
    GetDefinitionsRequest, GetEntityRequest, GetHeadRequest, GetProofRequest, GetRecordRequest,
    GetSequenceRequest, GetVersionRequest, ListAppsRequest, ListEventsRequest,
    ListPartitionsRequest, ListRecordsRequest, Log, PartitionState, Range, RecordClass,
    RecordDefinition, RecordIds, Reset, RestartPartitionRequest, SequenceDefinition,
    SubscribeRequest, change, log,
};
use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::memory::MemoryStore;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::grpc::{asked, failed, hex, proof};
use crate::world::{NOTED, World, changes, json, key};

fn shop() -> String {
    "shop".to_owned()
}

fn workspace_log(workspace: &str) -> Option<Log> {
    Some(Log { app: shop(), log: Some(log::Log::Workspace(workspace.to_owned())) })
}

fn partition_log(partition: u32) -> Option<Log> {
    Some(Log { app: shop(), log: Some(log::Log::Partition(partition)) })
}

#[test]
fn apps_are_made_and_found() {
    let world = World::new();
    let grpc = world.grpc();
    let mut apps = grpc.apps();
    let app = App {
        name: shop(),
        partitions: 3,
        record_ids: RecordIds::Split.into(),
        trust_level: Some(1),
        idempotency_retention_ms: 0,
        idempotency_keys_max: 1000,
        idempotency_retention_forever: true,
    };
    let create = || CreateAppRequest { app: Some(app.clone()) };
    let made = grpc.wait(apps.create_app(create())).unwrap();
    assert_eq!((made.app.as_ref(), made.created), (Some(&app), true));
    assert!(!grpc.wait(apps.create_app(create())).unwrap().created);
    let shown = json(&world.get("/v1/apps/shop"));
    let expected = json!({"name": "shop", "partitions": 3, "record_ids": "split", "trust_level": 1,
        "idempotency_retention": "forever", "idempotency_keys_max": 1000});
    assert_eq!(shown, expected);
    let other =
        CreateAppRequest { app: Some(App { name: shop(), partitions: 4, ..App::default() }) };
    let exists = failed(grpc.wait(apps.create_app(other)), Code::AlreadyExists, "APP_EXISTS");
    assert_eq!(exists["outcome"], "refused");
    assert_eq!(grpc.wait(apps.get_app(GetAppRequest { app: shop() })).unwrap(), app);
    assert_eq!(grpc.wait(apps.list_apps(ListAppsRequest {})).unwrap().apps, [app]);
}

#[test]
fn definitions_are_made_and_found() {
    let world = World::new();
    assert_eq!(world.post("/v1/apps", r#"{"name":"shop"}"#).status, 201);
    let grpc = world.grpc();
    let mut apps = grpc.apps();
    let kind = DefineKindRequest { app: shop(), kind: "store".to_owned() };
    let defined = grpc.wait(apps.define_kind(kind.clone())).unwrap();
    assert_eq!((defined.version, defined.changed), (2, true));
    assert!(!grpc.wait(apps.define_kind(kind)).unwrap().changed);
    let sequence = SequenceDefinition {
        name: "invoice".to_owned(),
        kind: "store".to_owned(),
        ranges: vec![Range { first: 1, last: 99 }, Range { first: 200, last: 299 }],
        format: "INV-{yyyy}-{n:06}".to_owned(),
        reset: Reset::Yearly.into(),
        utc_offset_minutes: -90,
    };
    let define = DefineSequenceRequest { app: shop(), sequence: Some(sequence.clone()) };
    assert_eq!(grpc.wait(apps.define_sequence(define)).unwrap().version, 3);
    let record = RecordDefinition {
        kind: "settings".to_owned(),
        class: RecordClass::C.into(),
        singleton: true,
    };
    let define = DefineRecordRequest { app: shop(), record: Some(record.clone()) };
    assert_eq!(grpc.wait(apps.define_record(define)).unwrap().version, 4);
    let asked = GetDefinitionsRequest { app: shop() };
    let definitions = grpc.wait(apps.get_definitions(asked)).unwrap();
    assert_eq!(
        (definitions.version, &definitions.kinds[..]),
        (4, &["default".to_owned(), "store".to_owned()][..])
    );
    assert_eq!(
        (&definitions.sequences[..], &definitions.records[..]),
        (&[sequence][..], &[record][..])
    );
    let over_http = json(&world.get("/v1/apps/shop/definitions"));
    assert_eq!(over_http["sequences"][0]["utc_offset"], "-01:30");

    let declare = |kind: &str| DeclareWorkspaceRequest {
        app: shop(),
        workspace: "store-1".to_owned(),
        kind: kind.to_owned(),
    };
    let declared = grpc.wait(apps.declare_workspace(declare("store"))).unwrap();
    assert_eq!((declared.workspace.as_str(), declared.kind.as_str()), ("store-1", "store"));
    assert!(declared.created && declared.workspace_id >= 1 << 40);
    let other = grpc.wait(apps.declare_workspace(declare("")));
    let conflict = failed(other, Code::FailedPrecondition, "KIND_CONFLICT");
    assert_eq!(conflict["current_kind"], "store");
}

#[test]
fn what_is_wrong_with_definitions_is_said_with_the_field() {
    let world = World::shop();
    let grpc = world.grpc();
    let mut apps = grpc.apps();
    let invalid = |answered: Result<_, _>, field: &str| {
        let body =
            failed::<seriatim_api::Defined>(answered, Code::InvalidArgument, "INVALID_ARGUMENT");
        assert_eq!((&body["field"], &body["outcome"]), (&json!(field), &json!("refused")));
    };
    let kind = DefineKindRequest { app: shop(), kind: String::new() };
    invalid(grpc.wait(apps.define_kind(kind)), "name");
    let sequence = SequenceDefinition {
        name: "x".to_owned(),
        utc_offset_minutes: 6000,
        ..SequenceDefinition::default()
    };
    let define = DefineSequenceRequest { app: shop(), sequence: Some(sequence) };
    invalid(grpc.wait(apps.define_sequence(define)), "utc_offset");
    let app = App { name: "x".to_owned(), trust_level: Some(3), ..App::default() };
    let create = CreateAppRequest { app: Some(app) };
    let body =
        failed(grpc.wait(apps.create_app(create)), Code::InvalidArgument, "INVALID_ARGUMENT");
    assert_eq!(body["field"], "trust_level");
    for class in [7, -1] {
        let record = RecordDefinition { kind: "x".to_owned(), class, singleton: false };
        let define = DefineRecordRequest { app: shop(), record: Some(record) };
        invalid(grpc.wait(apps.define_record(define)), "class");
    }
    let none = DefineKindRequest { app: "none".to_owned(), kind: "x".to_owned() };
    failed(grpc.wait(apps.define_kind(none)), Code::NotFound, "APP_NOT_FOUND");
}

/// A shop with three events in `store-1`.
fn used() -> World {
    let world = World::shop();
    for (number, change) in (1..).zip([
        r#"{"create":{"id":1,"kind":"invoice","fields":{"no":{"$next":"invoice"}}}}"#,
        r#"{"update":{"id":200001,"fields":{"open":false}}},{"set":{"key":"k","value":[1]}},
           {"draw":{"sequence":"ticket"}}"#,
        r#"{"unset":{"key":"k"}},{"delete":{"id":200001}},{"create":{"id":1,"kind":"invoice"}},
           {"set":{"key":"l","value":{"a":1}}}"#,
    ]) {
        world.commit(number, &changes(change));
    }
    world
}

#[test]
fn rows_are_read_as_over_http() {
    let world = used();
    let grpc = world.grpc();
    let mut reads = grpc.reads();
    let record = GetRecordRequest { asked: asked("store-1"), id: 200_002 };
    let record = grpc.wait(reads.get_record(record)).unwrap();
    assert_eq!(
        (record.kind.as_str(), record.class(), record.version),
        ("invoice", RecordClass::C, 1)
    );
    assert_eq!((&record.fields_json[..], record.offset), (&b"{}"[..], 3));
    let list = ListRecordsRequest {
        asked: asked("store-1"),
        kind: "invoice".to_owned(),
        from: 0,
        limit: 1,
    };
    let listed = grpc.wait(reads.list_records(list)).unwrap();
    assert_eq!((&listed.records[..], listed.next), (&[record][..], 200_003));
    let entity = GetEntityRequest { asked: asked("store-1"), key: "l".to_owned() };
    let entity = grpc.wait(reads.get_entity(entity)).unwrap();
    assert_eq!(
        (&entity.value_json[..], entity.version, entity.expires_at_ms),
        (&br#"{"a":1}"#[..], 1, None)
    );
    let sequence =
        GetSequenceRequest { asked: asked("store-1"), name: "ticket".to_owned(), period: None };
    let sequence = grpc.wait(reads.get_sequence(sequence)).unwrap();
    assert_eq!(
        (sequence.last, sequence.next, sequence.next_text.as_str(), sequence.period),
        (1, 2, "2", 0)
    );
    let client = GetClientRequest { asked: asked("store-1"), client: "pos-4".to_owned() };
    let client = grpc.wait(reads.get_client(client)).unwrap();
    assert_eq!((client.last_client_sequence, client.last_offset), (3, 3));
}

#[test]
fn heads_and_proofs_are_read_as_over_http() {
    let world = used();
    let grpc = world.grpc();
    let mut reads = grpc.reads();
    let head = grpc.wait(reads.get_head(GetHeadRequest { asked: asked("store-1") })).unwrap();
    let over_http = json(&world.read("store-1", "head"));
    assert_eq!(
        json!({"workspace": head.workspace, "size": head.size, "root": hex(&head.root)}),
        over_http
    );
    let inclusion = GetProofRequest { asked: asked("store-1"), offset: 2, size: 0 };
    let inclusion = grpc.wait(reads.get_proof(inclusion)).unwrap();
    assert_eq!(proof(&inclusion), json(&world.read("store-1", "proofs/2")));
    let consistency = GetConsistencyRequest { asked: asked("store-1"), from: 1, to: 0 };
    let consistency = grpc.wait(reads.get_consistency(consistency)).unwrap();
    let over_http = json(&world.read("store-1", "consistency?from=1"));
    assert_eq!(json!(hex(&consistency.to_root)), over_http["to_root"]);
    assert_eq!((consistency.from, consistency.to), (1, 3));
}

#[test]
fn events_are_read_as_over_http() {
    let world = used();
    let grpc = world.grpc();
    let mut reads = grpc.reads();
    let list = ListEventsRequest {
        log: workspace_log("store-1"),
        from: 2,
        limit: 1,
        ..Default::default()
    };
    let listed = grpc.wait(reads.list_events(list)).unwrap();
    assert_eq!((listed.events.len(), listed.next, listed.last), (1, 3, 3));
    let event = &listed.events[0];
    let over_http = json(&world.read("store-1", "events?from=2&limit=1"))["events"][0].clone();
    assert_eq!(
        (json!(hex(&event.hash)), json!(event.client)),
        (over_http["hash"].clone(), over_http["client"].clone())
    );
    assert_eq!((hex(&event.key), event.client_sequence), (key(2).replace('-', ""), 2));
    let words: Vec<&change::Change> =
        event.changes.iter().map(|it| it.change.as_ref().unwrap()).collect();
    let [change::Change::Update(update), change::Change::Set(set), change::Change::Draw(draw)] =
        words[..]
    else {
        panic!("{words:?}")
    };
    assert_eq!(
        (update.id, update.version, &update.fields_json[..]),
        (200_001, 2, &br#"{"open":false}"#[..])
    );
    assert_eq!((set.version, &set.value_json[..]), (1, &b"[1]"[..]));
    assert_eq!(draw.drawn.as_ref().map(|it| (it.number, it.text.as_str())), Some((1, "1")));
    let number = u32::try_from(over_http["partition"].as_u64().unwrap()).unwrap();
    let list = ListEventsRequest { log: partition_log(number), ..Default::default() };
    let of_partition = grpc.wait(reads.list_events(list)).unwrap();
    assert_eq!(of_partition.events[1], *event);
}

#[test]
fn a_log_is_followed_from_stored_to_live() {
    let world = World::shop();
    let grpc = world.grpc();
    for number in 1..=300 {
        world.commit(number, NOTED);
    }
    let partition =
        json(&world.read("store-1", "events?limit=1"))["events"][0]["partition"].clone();
    let partition = u32::try_from(partition.as_u64().unwrap()).unwrap();
    for log in [workspace_log("store-1"), partition_log(partition)] {
        let subscribe = SubscribeRequest { log, from: 0 };
        let mut stream = grpc.wait(grpc.reads().subscribe(subscribe)).unwrap();
        let next = world.last_offset() + 1;
        world.commit(next, NOTED);
        let mut offsets = Vec::new();
        while offsets.last() != Some(&next) {
            let batch = grpc.runtime.block_on(stream.message()).unwrap().unwrap();
            assert!(batch.events.len() <= 256);
            assert!(batch.events.iter().all(|event| event.workspace == "store-1"));
            offsets.extend(batch.events.iter().map(|event| event.offset));
        }
        assert_eq!(offsets, (1..=next).collect::<Vec<_>>());
    }
}

#[test]
fn a_subscription_says_that_it_is_alive_and_is_limited_and_told_when_it_lags() {
    let store = std::sync::Arc::new(MemoryStore::new(&schema()));
    let node_settings = NodeSettings { subscription_lag_max: 2, ..NodeSettings::default() };
    let settings = Settings {
        keep_alive: Duration::from_millis(20),
        subscriptions_max: 1,
        ..Settings::default()
    };
    let world = World::ready(store, node_settings, settings);
    world.define_shop();
    let grpc = world.grpc();
    let subscribe = || SubscribeRequest { log: workspace_log("store-1"), from: 0 };
    let mut stream = grpc.wait(grpc.reads().subscribe(subscribe())).unwrap();
    let alive = grpc.runtime.block_on(stream.message()).unwrap().unwrap();
    assert_eq!(alive.events, []);
    let second = grpc.wait(grpc.reads().subscribe(subscribe()));
    failed(second, Code::ResourceExhausted, "RATE_LIMITED");
    world.commit(1, NOTED);
    let mut next = || loop {
        match grpc.runtime.block_on(stream.message()).transpose() {
            Some(Ok(batch)) if batch.events.is_empty() => {}
            next => return next.expect("it ends with an error"),
        }
    };
    assert_eq!(next().unwrap().events.len(), 1);
    // One command brings more events at once than it may be behind.
    world.commit(2, r#"{"events":[{"name":"A"},{"name":"B"},{"name":"C"}]}"#);
    let body = failed(next(), Code::Aborted, "LAGGED");
    assert_eq!((&body["resume_from"], &body["behind"]), (&json!(2), &json!(3)));
}

#[test]
fn partitions_are_shown_and_restarted_and_the_version_is_told() {
    let world = World::shop();
    let grpc = world.grpc();
    let mut partitions = grpc.partitions();
    let listed = grpc.wait(partitions.list_partitions(ListPartitionsRequest {})).unwrap();
    let names: Vec<_> =
        listed.partitions.iter().map(|it| (it.app.as_str(), it.partition)).collect();
    assert_eq!((listed.ready, &names[..]), (true, &[("system", 0), ("shop", 0), ("shop", 1)][..]));
    assert!(listed.partitions.iter().all(|it| it.state() == PartitionState::Serving));
    let restart = RestartPartitionRequest { app: shop(), partition: 1 };
    grpc.wait(partitions.restart_partition(restart)).unwrap();
    let version = grpc.wait(partitions.get_version(GetVersionRequest {})).unwrap();
    assert_eq!(version.version, env!("CARGO_PKG_VERSION"));
}

#[test]
fn health_is_that_of_the_partitions() {
    let world = World::shop();
    let grpc = world.grpc();
    let mut health = HealthClient::new(grpc.channel.clone());
    let ask = |service: &str| HealthCheckRequest { service: service.to_owned() };
    for service in ["", "seriatim.v1.CommandService"] {
        let answer = grpc.wait(health.check(ask(service))).unwrap();
        assert_eq!(answer.status(), ServingStatus::Serving);
    }
    failed(grpc.wait(health.check(ask("none"))), Code::NotFound, "NOT_FOUND");
    let mut watched = grpc.wait(health.watch(ask(""))).unwrap();
    let now = grpc.runtime.block_on(watched.message()).unwrap().unwrap();
    assert_eq!(now.status(), ServingStatus::Serving);
    world.node.shutdown(crate::world::PATIENCE).unwrap();
    let then = grpc.runtime.block_on(watched.message()).unwrap().unwrap();
    assert_eq!(then.status(), ServingStatus::NotServing);
}

/// Whoever watched was left with the last word, that it serves.
#[test]
fn a_server_that_ends_says_so_to_those_who_watch_its_health() {
    let mut world = World::shop();
    let channel = world.grpc().channel.clone();
    let runtime = world.runtime.handle().clone();
    let mut health = HealthClient::new(channel);
    let watch = health.watch(HealthCheckRequest { service: String::new() });
    let mut watched = runtime.block_on(watch).unwrap().into_inner();
    let mut next = || runtime.block_on(watched.message()).unwrap().map(|it| it.status());
    assert_eq!(next(), Some(ServingStatus::Serving));
    world.begin_to_end();
    assert_eq!(next(), Some(ServingStatus::NotServing));
    assert_eq!(next(), None);
}
