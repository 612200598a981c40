//! What streams over gRPC, and that nothing else is there.

use std::time::Duration;

use serde_json::json;
use seriatim_api::grpc::SubscribeRequest;
use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::memory::MemoryStore;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::grpc::{error, failed, json_of, partition_log, workspace_log};
use crate::raw::Raw;
use crate::world::{NOTED, World, changes, json};

/// The methods of version 0.1 that are endpoints of HTTP alone.
const REMOVED: &[&str] = &[
    "AppService/CreateApp",
    "AppService/ListApps",
    "AppService/GetApp",
    "AppService/GetDefinitions",
    "AppService/DefineKind",
    "AppService/DefineSequence",
    "AppService/DefineRecord",
    "AppService/DeclareWorkspace",
    "CommandService/GetReceipt",
    "ReadService/ListEvents",
    "ReadService/GetRecord",
    "ReadService/ListRecords",
    "ReadService/GetEntity",
    "ReadService/GetSequence",
    "ReadService/GetClient",
    "ReadService/GetHead",
    "ReadService/GetProof",
    "ReadService/GetConsistency",
    "PartitionService/ListPartitions",
    "PartitionService/RestartPartition",
    "PartitionService/GetVersion",
    "PartitionService/AcceptClock",
];

#[test]
fn what_does_not_stream_is_not_there() {
    let world = World::shop();
    let mut raw = Raw::connect(&world);
    for method in REMOVED {
        let path = format!("/seriatim.v1.{method}");
        // The name of an app or of a kind, as the messages had it.
        let status = raw.call(&path, &[], b"\x0a\x04shop\x12\x04evil").status().unwrap();
        assert_eq!(status.code(), Code::Unimplemented, "{method}");
        let body = error(&status);
        assert_eq!(body["code"], "METHOD_NOT_ALLOWED");
        assert!(body["message"].as_str().unwrap().contains(method), "{body}");
    }
    assert_eq!(json(&world.get("/v1/apps/shop/definitions"))["version"], 6);
}

#[test]
fn events_are_followed_with_the_bytes_of_http() {
    let world = World::used_shop();
    world.commit(4, &changes(r#"{"unset":{"key":"stock/A-7"}},{"delete":{"id":200001}}"#));
    let grpc = world.grpc();
    let listed = world.read("store-1", "events");
    let partition = json(&listed)["events"][0]["partition"].as_u64().unwrap();
    let of_partition = world.get(&format!("/v1/apps/shop/partitions/{partition}/events"));
    let logs = [
        (workspace_log("store-1"), listed),
        (partition_log(u32::try_from(partition).unwrap()), of_partition),
    ];
    for (log, listed) in logs {
        let subscribe = SubscribeRequest { log, from: 0 };
        let mut stream = grpc.wait(grpc.reads().subscribe(subscribe)).unwrap();
        let batch = grpc.runtime.block_on(stream.message()).unwrap().unwrap();
        let events: Vec<String> = batch
            .events_json
            .into_iter()
            .map(|event| String::from_utf8(event.into()).unwrap())
            .collect();
        assert_eq!(events.len(), 4);
        let expected = format!(r#"{{"events":[{}],"next":5,"last":4}}"#, events.join(","));
        assert_eq!(listed.text(), expected);
    }
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
            assert!(batch.events_json.len() <= 256);
            let events = batch.events_json.iter().map(|event| json_of(event));
            offsets.extend(events.map(|event| event["offset"].as_u64().unwrap()));
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
    assert!(alive.events_json.is_empty());
    let second = grpc.wait(grpc.reads().subscribe(subscribe()));
    failed(second, Code::ResourceExhausted, "RATE_LIMITED");
    world.commit(1, NOTED);
    let mut next = || loop {
        match grpc.runtime.block_on(stream.message()).transpose() {
            Some(Ok(batch)) if batch.events_json.is_empty() => {}
            next => return next.expect("it ends with an error"),
        }
    };
    assert_eq!(next().unwrap().events_json.len(), 1);
    // One command brings more events at once than it may be behind.
    world.commit(2, r#"{"events":[{"name":"A"},{"name":"B"},{"name":"C"}]}"#);
    let body = failed(next(), Code::Aborted, "LAGGED");
    assert_eq!((&body["resume_from"], &body["behind"]), (&json!(2), &json!(3)));
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
