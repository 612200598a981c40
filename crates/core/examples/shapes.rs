//! Applies commands of one shape, for counting instructions: `cargo xtask instructions` runs it
//! under callgrind, which counts what happens inside of `Machine::read_set` and `Machine::apply`.
//!
//! ```text
//!  shapes SHAPE COUNT
//! ```

use std::process::ExitCode;

use seriatim_testkit::core::{Shop, command};
use seriatim_types::{Body, Entry, Key, Time};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let shape = arguments.next().unwrap_or_default();
    let count: Option<u64> = arguments.next().and_then(|count| count.parse().ok());
    let (Some(body), Some(count)) = (body_of(&shape), count) else {
        eprintln!("usage: shapes SHAPE COUNT");
        return ExitCode::FAILURE;
    };
    let mut shop = Shop::default();
    // Record 200001 is there to be changed, and so is an entity.
    let prepared = body_of("record").zip(body_of("entity")).expect("two of the shapes");
    send(&mut shop, 1, &prepared.0);
    send(&mut shop, 2, &prepared.1);
    for index in 0..count {
        let key = if shape == "repetition" { 1 } else { index.saturating_add(3) };
        send(&mut shop, u128::from(key), &body);
    }
    ExitCode::SUCCESS
}

/// What the commands of a shape ask for. Each has 256 bytes of arguments.
fn body_of(shape: &str) -> Option<String> {
    let changes = match shape {
        "event" => "",
        "record" | "repetition" => {
            r#"{"create":{"id":1,"kind":"order","fields":{"no":{"$next":"invoice","as":"text"}}}}"#
        }
        "tree" => {
            r#"{"create":{"id":1,"kind":"order","fields":{"lines":[{"$ref":2},{"$ref":3},{"$ref":4}]}}},
               {"create":{"id":2,"kind":"line","parent":1,"fields":{"sku":"A-7","count":4}}},
               {"create":{"id":3,"kind":"line","parent":1,"fields":{"sku":"A-8","count":1}}},
               {"create":{"id":4,"kind":"line","parent":1,"fields":{"sku":"A-9","count":2}}}"#
        }
        "update" => r#"{"update":{"id":200001,"fields":{"open":false}}}"#,
        "entity" => r#"{"set":{"key":"stock/A-7","value":{"left":4}}}"#,
        "draw" => r#"{"draw":{"sequence":"ticket"}}"#,
        "refusal" => r#"{"set":{"key":"stock/A-7","value":{"left":4},"if":"absent"}}"#,
        _ => return None,
    };
    let note = "x".repeat(245);
    Some(format!(
        r#"{{"events":[{{"name":"Sold","args":{{"note":"{note}"}},"changes":[{changes}]}}]}}"#
    ))
}

fn send(shop: &mut Shop, key: u128, body: &str) {
    let body = seriatim_json::command(body.as_bytes()).expect("a good command");
    let command = command("pos-4", Key(key.to_be_bytes()), "store-1", body.events);
    shop.now = Time(shop.now.0.saturating_add(1));
    let entry = Entry { time: shop.now, body: Body::Command(command) };
    std::hint::black_box(shop.node.apply(&[entry]));
}
