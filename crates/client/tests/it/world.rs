//! A server in this process, and what tests ask of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use seriatim_client::{
    Client, Command, Event, NewApp, NewSequence, RecordClass, RetryPolicy, SubmitError, Workspace,
    next_text,
};
use seriatim_node::{Node, Settings as NodeSettings, SystemClock, schema};
use seriatim_server::{Server, Settings};
use seriatim_storage::Store;
use seriatim_storage::memory::MemoryStore;

/// How long anything is waited for before a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server that runs as long as the test's runtime.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    _node: Arc<Node>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let store = Arc::new(MemoryStore::new(&schema()));
        Self::with(store, NodeSettings::default()).await
    }

    pub(crate) async fn with(store: Arc<dyn Store>, settings: NodeSettings) -> Self {
        let clock = Arc::new(SystemClock::new());
        let node = Arc::new(Node::open(store, clock.clone(), settings));
        assert!(tokio::task::block_in_place(|| node.wait_until_ready(PATIENCE)));
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::bind(any, node.clone(), clock, Settings::default()).unwrap();
        let address = server.address();
        tokio::spawn(server.run(std::future::pending()));
        Self { address, _node: node }
    }

    pub(crate) fn client(&self) -> Client {
        client(self.address)
    }
}

/// A client that is patient and tries again soon.
pub(crate) fn client(address: SocketAddr) -> Client {
    let retry =
        RetryPolicy { delay_first: Duration::from_millis(1), delay_max: Duration::from_millis(20) };
    let builder = Client::builder().client_id("till-4").deadline(PATIENCE).retry(retry);
    builder.connect(&format!("http://{address}")).unwrap()
}

/// A client that gives up soon.
pub(crate) fn hasty(address: SocketAddr) -> Client {
    let builder = Client::builder().client_id("till-4").deadline(Duration::from_millis(500));
    builder.connect(&format!("http://{address}")).unwrap()
}

/// Waits until the partition of `store-1` turns commands away, and returns what one is told whose
/// client has given up then. Others of turn 0 may have been taken before.
pub(crate) async fn turned_away(world: &World) -> SubmitError {
    loop {
        // Answers of a stream come in order, so one that is held hides what others are told.
        let store = hasty(world.address).app("shop").workspace("store-1");
        let error = store.submit(noted(0)).await.unwrap_err();
        if error.error().facts().get("last_code").is_some_and(|last| last == "BUSY") {
            return error;
        }
    }
}

/// The workspace `store-1` of the app `shop`, which has invoices.
pub(crate) async fn shop(client: &Client) -> Workspace {
    let shop = client.app("shop");
    shop.create(NewApp { partitions: Some(2), ..Default::default() }).await.unwrap();
    shop.define_record("invoice", RecordClass::C).await.unwrap();
    let yearly = NewSequence::yearly("INV-{yyyy}-{n:06}");
    let yearly = NewSequence { utc_offset: Some("+01:00".to_owned()), ..yearly };
    shop.define_sequence("invoice", yearly).await.unwrap();
    shop.workspace("store-1")
}

/// Issues an invoice, and says the how-manieth it is in the order of the test.
pub(crate) fn invoice(turn: u64) -> Command {
    Command::new("InvoiceIssued").args(json!({"turn": turn})).create(
        1,
        "invoice",
        json!({"number": next_text("invoice")}),
    )
}

/// Writes an event, and says the how-manieth it is in the order of the test.
pub(crate) fn noted(turn: u64) -> Command {
    Command::new("Noted").args(json!({"turn": turn}))
}

/// All events of a workspace.
pub(crate) async fn all(workspace: &Workspace) -> Vec<Event> {
    let mut all = Vec::new();
    loop {
        let page = workspace.events(all.len() as u64 + 1, 1000).await.unwrap();
        if page.events.is_empty() {
            return all;
        }
        all.extend(page.events);
    }
}

/// The turns of events, in the order of their log. Each key is there once.
pub(crate) fn turns(events: &[Event]) -> Vec<u64> {
    let mut keys = BTreeMap::new();
    for event in events {
        let key = event.key.unwrap();
        let before = keys.insert(key, event.offset);
        assert_eq!(before, None, "{key} has made a second event");
    }
    events.iter().map(turn).collect()
}

/// The turn of an event.
pub(crate) fn turn(event: &Event) -> u64 {
    event.args.to_value()["turn"].as_u64().unwrap()
}
