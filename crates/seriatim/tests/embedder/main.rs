//! The process that crash tests kill: three threads submit commands of their own, and say which of
//! them were acknowledged, until the process ends.
//!
//! ```text
//! seriatim-embedder <folder>       a line for each command: its key, its number, a semicolon
//! ```

use std::thread;

use seriatim::{AppOptions, Key, Numbering, RecordClass, Seriatim, Workspace};

const ORDER: &str = r#"{"events": [{"name": "OrderMade", "changes": [
    {"create": {"id": 1, "kind": "order", "fields": {"no": {"$next": "ticket"}}}}]}]}"#;

fn main() {
    let folder = std::env::args_os().nth(1).expect("this program is run by tests");
    let seriatim = Seriatim::open(folder).expect("the folder opens");
    let shop = seriatim.app("shop", AppOptions::default()).expect("the app is defined");
    shop.define_record("order", RecordClass::C).expect("records are defined");
    shop.define_sequence("ticket", Numbering::continuous("{n}")).expect("tickets are defined");
    let store = shop.workspace("store-1").expect("a good name");
    thread::scope(|scope| {
        for writer in 0..3 {
            let store = &store;
            scope.spawn(move || write(store, writer));
        }
    });
}

fn write(store: &Workspace, writer: u128) {
    let client = format!("writer-{writer}");
    let state = store.client(&client).expect("the client is read");
    let done = state.map_or(0, |state| state.last_client_sequence.get());
    for count in done.saturating_add(1).. {
        let key = u128::from(count).saturating_mul(10).saturating_add(writer);
        let submitted = store.submit(&client, Key(key.to_be_bytes()), ORDER);
        let submitted = submitted.expect("the command is carried out");
        let ticket = submitted.number("ticket").expect("the command draws a ticket");
        println!("{key} {};", ticket.number);
    }
}
