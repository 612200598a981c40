//! Probes, metrics, partitions.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;
use serde_json::json;

use crate::raw::Raw;
use crate::world::{NOTED, World, error, json};

const REFERENCE: &str = include_str!("../../../../docs/reference/http.md");

#[test]
fn probes_say_how_the_server_is() {
    let world = World::shop();
    assert_eq!(world.get("/livez").text(), r#"{"live":true}"#);
    let version = json(&world.get("/version"));
    assert_eq!(version, json!({"name": "seriatim", "version": env!("CARGO_PKG_VERSION")}));
    let ready = world.get("/readyz");
    let body = json(&ready);
    assert_eq!((ready.status, &body["ready"]), (200, &json!(true)));
    let partition = |app: &str, partition: u64| {
        json!({"app": app, "partition": partition, "state": "serving", "done": 0, "total": 0,
               "reason": null})
    };
    let all = json!([partition("system", 0), partition("shop", 0), partition("shop", 1)]);
    assert_eq!(body["partitions"], all);
    assert_eq!(json(&world.get("/v1/partitions"))["partitions"], all);
}

#[test]
fn http_2_is_answered_as_http_1_is() {
    let world = World::shop();
    let mut raw = Raw::connect(&world);
    for path in ["/readyz", "/v1/apps/shop", "/v1/apps/none", "/nothing"] {
        let request = Request::get(format!("http://localhost{path}")).body(Body::empty()).unwrap();
        let answer = raw.ask(request).unwrap();
        let over_http_1 = world.get(path);
        assert_eq!((answer.http.as_u16(), answer.body), (over_http_1.status, over_http_1.body));
    }
}

#[test]
fn a_partition_can_be_restarted_and_serves_again() {
    let world = World::shop();
    let first = world.command(1, NOTED);
    let partition = json(&first)["partition"].to_string();
    let restarted = world.post(&format!("/v1/partitions/shop/{partition}/restart"), "");
    assert_eq!(restarted.status, 202, "{}", restarted.text());
    assert_eq!(world.post("/v1/partitions/system/0/restart", "").status, 202);
    assert_eq!(world.commit_when_taken(1, NOTED), json(&first));
    assert_eq!(world.commit_when_taken(2, NOTED)["first_offset"], 2);
    error(&world.post("/v1/partitions/system/1/restart", ""), 404, "NOT_FOUND");
}

/// Names are public for ever: this list only grows.
#[test]
fn the_metrics_have_these_names() {
    let world = World::shop();
    world.commit(1, NOTED);
    world.command(1, NOTED);
    world.command(2, "{}");
    let answer = world.get("/metrics");
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(answer.header("content-type"), Some(kind));
    let text = answer.text();
    assert!(text.ends_with("# EOF\n"));
    let names: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let expected = [
        "seriatim_batch_entries histogram",
        "seriatim_busy counter",
        "seriatim_cache_hits counter",
        "seriatim_cache_misses counter",
        "seriatim_checkpoint_lag_rows gauge",
        "seriatim_command_duration_seconds histogram",
        "seriatim_commands counter",
        "seriatim_commit_duration_seconds histogram",
        "seriatim_damaged_reads counter",
        "seriatim_entries counter",
        "seriatim_http_requests counter",
        "seriatim_in_flight_bytes gauge",
        "seriatim_journal_bytes gauge",
        "seriatim_partitions gauge",
        "seriatim_queue_requests gauge",
        "seriatim_queue_requests_max gauge",
        "seriatim_subscriptions_lagged counter",
        "seriatim_subscriptions_open gauge",
        "seriatim_sync_duration_seconds histogram",
        "seriatim_sync_pending_seconds gauge",
        "seriatim_table_bytes gauge",
    ];
    assert_eq!(names, BTreeSet::from(expected));
    for expected in expected {
        let (name, _) = expected.split_once(' ').unwrap();
        assert!(REFERENCE.contains(&format!("| `{name}")), "{name} is not in the reference");
    }
    for line in [
        r#"seriatim_commands_total{code="COMMITTED"} 1"#,
        r#"seriatim_commands_total{code="REPLAYED"} 1"#,
        r#"seriatim_commands_total{code="INVALID_ARGUMENT"} 1"#,
        r#"seriatim_partitions{state="serving"} 3"#,
        r#"seriatim_partitions{state="stopped"} 0"#,
        r#"seriatim_busy_total{reason="queue_full"} 0"#,
        "seriatim_damaged_reads_total 0",
        "seriatim_command_duration_seconds_count 3",
        r#"seriatim_http_requests_total{method="POST",route="/v1/apps",status="201"} 1"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
}
