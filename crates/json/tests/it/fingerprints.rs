//! Commands that the client of version 0.1 sent over gRPC as messages have the same fingerprints as
//! JSON. So a key that it has used is answered with the receipt of that time, whichever way the
//! command comes now.
//!
//! The golden file was written by that client and the server of its time. A line has a name, the
//! fingerprint, the message that was sent, and the document that the client had read; `-` if the
//! command was put together, as below.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::json;
use seriatim_api::message::Condition;
use seriatim_api::{Command, CommandJson, drawn, id_of, literal, next, next_text};
use seriatim_codec::fingerprint;
use seriatim_json::command;

const GOLDEN: &str = include_str!("../../golden/sent_over_grpc.txt");

fn built() -> BTreeMap<&'static str, Command> {
    let new_year = SystemTime::UNIX_EPOCH + Duration::from_millis(1_798_761_600_021);
    BTreeMap::from([
        ("event", Command::new("Noted")),
        (
            "events",
            Command::new("Größe 😀").args(json!({"a": 1})).then("Second").then("Third").args(json!({})),
        ),
        ("offset", Command::new("Noted").if_offset(0)),
        ("offset, proof", Command::new("Noted").if_offset(12).with_proof()),
        (
            "create",
            Command::new("InvoiceIssued")
                .args(json!({"z": next("ticket"), "a": next_text("invoice"), "lit": literal(json!({"$next": "x"}))}))
                .create(1, "invoice", json!({"number": next_text("invoice"), "lines": [id_of(2)], "again": drawn(0)}))
                .create_under(1, 2, "line", json!({"sku": "A-7", "price": 2.50}))
                .create(200_019, "line", json!({})),
        ),
        (
            "update, delete",
            Command::new("Changed")
                .update(200_017, json!({"open": false}))
                .update_if(200_018, json!({}), 3)
                .delete(200_019)
                .delete_if(200_020, 1),
        ),
        (
            "set, unset",
            Command::new("Changed")
                .set("a", 1)
                .set_if("b", (), Condition::Absent)
                .set_if("c", "x", Condition::Exists)
                .set_if("d", json!([{"$next": "ticket"}]), Condition::Version(7))
                .set_if("e", json!({"left": 4}), Condition::Value(json!({"left": 5}).into()))
                .set_until("f", 1.5, None, new_year)
                .unset("g")
                .unset_if("h", Condition::Value(json!(null).into())),
        ),
        ("draw", Command::new("Drawn").draw("ticket").draw("invoice").args(json!({"n": drawn(1)}))),
    ])
}

#[test]
fn a_command_has_the_fingerprint_that_it_had_over_grpc() {
    let mut built = built();
    let mut documents = 0;
    for line in GOLDEN.lines() {
        let [name, golden, _message, document] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let sent = match document {
            "-" => CommandJson::from(built.remove(name).unwrap()),
            document => {
                documents += 1;
                Command::from_json(document).unwrap()
            }
        };
        let (body, _) = sent.into_parts().unwrap();
        let read = command(&body).unwrap_or_else(|error| panic!("{name}: {error}"));
        let fingerprint = fingerprint(&read.events, read.if_offset);
        let hash: String = fingerprint.hash.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((hash.as_str(), fingerprint.version), (golden, 1), "{name}");
    }
    assert_eq!((built.len(), documents), (0, 5), "all of them are in the golden file");
}
