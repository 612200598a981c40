//! A server in this process, and what tests say to it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use seriatim_node::{Node, Settings as NodeSettings, SystemClock, schema};
use seriatim_server::{Server, Settings};
use seriatim_storage::Store;
use seriatim_storage::memory::MemoryStore;
use seriatim_testkit::{HttpAnswer, HttpClient};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::Endpoint;

use crate::grpc::Grpc;

/// How long anything is waited for before a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server that runs until it is dropped or ended.
pub(crate) struct World {
    pub(crate) node: Arc<Node>,
    pub(crate) address: SocketAddr,
    served: Option<JoinHandle<bool>>,
    end: Option<oneshot::Sender<()>>,
    pub(crate) runtime: Runtime,
}

impl World {
    /// A server without apps.
    pub(crate) fn new() -> Self {
        let store = Arc::new(MemoryStore::new(&schema()));
        Self::ready(store, NodeSettings::default(), Settings::default())
    }

    /// A server whose partitions serve.
    pub(crate) fn ready(
        store: Arc<dyn Store>,
        node_settings: NodeSettings,
        settings: Settings,
    ) -> Self {
        let world = Self::open(store, node_settings, settings);
        assert!(world.node.wait_until_ready(PATIENCE));
        world
    }

    /// A server as it is right after its start.
    pub(crate) fn open(
        store: Arc<dyn Store>,
        node_settings: NodeSettings,
        settings: Settings,
    ) -> Self {
        let clock = Arc::new(SystemClock::new());
        let node = Arc::new(Node::open(store, clock.clone(), node_settings));
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let server =
            runtime.block_on(async { Server::bind(any, node.clone(), clock, settings) }).unwrap();
        let address = server.address();
        let (end, ended) = oneshot::channel::<()>();
        let served = runtime.spawn(server.run(async move { drop(ended.await) }));
        Self { node, address, served: Some(served), end: Some(end), runtime }
    }

    /// A server with the app `shop`: two partitions, the sequences `ticket` and `invoice`, the
    /// records `invoice`, `line` and `settings`.
    pub(crate) fn shop() -> Self {
        let world = Self::new();
        world.define_shop();
        world
    }

    /// The shop with two records, an entity and a drawn ticket in `store-1`, by three commands.
    pub(crate) fn used_shop() -> Self {
        let world = Self::shop();
        world.commit(1, &changes(r#"{"create":{"id":1,"kind":"invoice","fields":{"open":true}}}"#));
        world.commit(2, &changes(r#"{"set":{"key":"stock/A-7","value":{"left":4}}}"#));
        world.commit(
            3,
            &changes(r#"{"create":{"id":9,"kind":"settings"}},{"draw":{"sequence":"ticket"}}"#),
        );
        world
    }

    pub(crate) fn define_shop(&self) {
        let made = self.post("/v1/apps", r#"{"name":"shop","partitions":2}"#);
        assert_eq!(made.status, 201, "{}", made.text());
        for (path, body) in [
            ("sequences/ticket", r#"{"ranges":[[1,3]]}"#),
            ("sequences/invoice", r#"{"format":"INV-{yyyy}-{n:06}","reset":"yearly"}"#),
            ("records/invoice", r#"{"class":"c"}"#),
            ("records/line", r#"{"class":"o"}"#),
            ("records/settings", r#"{"class":"c","singleton":true}"#),
        ] {
            let defined = self.put(&format!("/v1/apps/shop/{path}"), body);
            assert_eq!(defined.status, 200, "{}", defined.text());
        }
    }

    /// A connection for gRPC.
    pub(crate) fn grpc(&self) -> Grpc<'_> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).unwrap();
        let channel = self.runtime.block_on(endpoint.timeout(PATIENCE).connect()).unwrap();
        Grpc { runtime: &self.runtime, channel }
    }

    pub(crate) fn client(&self) -> HttpClient {
        HttpClient::connect(self.address).unwrap()
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpAnswer {
        self.client().send(method, path, headers, body.as_bytes()).unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> HttpAnswer {
        self.send("GET", path, &[], "")
    }

    /// What a workspace of the shop answers.
    pub(crate) fn read(&self, workspace: &str, path: &str) -> HttpAnswer {
        self.get(&format!("/v1/apps/shop/workspaces/{workspace}/{path}"))
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> HttpAnswer {
        self.send("POST", path, &[], body)
    }

    pub(crate) fn put(&self, path: &str, body: &str) -> HttpAnswer {
        self.send("PUT", path, &[], body)
    }

    /// Sends a command of the client `pos-4` to the workspace `store-1` of the shop.
    pub(crate) fn command(&self, number: u64, body: &str) -> HttpAnswer {
        self.command_to("store-1", number, body)
    }

    pub(crate) fn command_to(&self, workspace: &str, number: u64, body: &str) -> HttpAnswer {
        send_command(&mut self.client(), workspace, number, body)
    }

    /// Sends a command that must succeed.
    pub(crate) fn commit(&self, number: u64, body: &str) -> Value {
        let answer = self.command(number, body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        json(&answer)
    }

    /// Sends a command as a good client does: again as long as the partition is busy
    /// or its answer is late.
    pub(crate) fn commit_when_taken(&self, number: u64, body: &str) -> Value {
        loop {
            let answer = self.command(number, body);
            match answer.status {
                503 => error(&answer, 503, "BUSY"),
                504 => error(&answer, 504, "DEADLINE_EXCEEDED"),
                status => {
                    assert_eq!(status, 200, "{}", answer.text());
                    return json(&answer);
                }
            };
            std::thread::yield_now();
        }
    }

    /// The last offset of `store-1`.
    pub(crate) fn last_offset(&self) -> u64 {
        json(&self.read("store-1", "head"))["size"].as_u64().unwrap()
    }

    /// Tells the server to end.
    pub(crate) fn begin_to_end(&mut self) {
        drop(self.end.take());
    }

    /// Waits until it has ended. Returns whether all answers were given.
    pub(crate) fn ended(mut self) -> bool {
        self.begin_to_end();
        let served = self.served.take().unwrap();
        self.runtime.block_on(served).unwrap()
    }
}

pub(crate) fn send_command(
    client: &mut HttpClient,
    workspace: &str,
    number: u64,
    body: &str,
) -> HttpAnswer {
    let path = format!("/v1/apps/shop/workspaces/{workspace}/commands");
    let key = key(number);
    let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "pos-4")];
    client.send("POST", &path, &headers, body.as_bytes()).unwrap()
}

/// An idempotency key.
pub(crate) fn key(number: u64) -> String {
    format!("0b0e8a4e-5f0a-4c3e-9d6b-{number:012x}")
}

/// A command with one event and these changes.
pub(crate) fn changes(changes: &str) -> String {
    format!(r#"{{"events":[{{"name":"Changed","changes":[{changes}]}}]}}"#)
}

/// A command with one event and nothing else.
pub(crate) const NOTED: &str = r#"{"events":[{"name":"Noted","args":{"n":1}}]}"#;

pub(crate) fn json(answer: &HttpAnswer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("JSON: {}", answer.text()))
}

/// The body of an error that has this status and code, and is complete.
pub(crate) fn error(answer: &HttpAnswer, status: u16, code: &str) -> Value {
    let body = json(answer);
    assert_eq!((answer.status, body["code"].as_str()), (status, Some(code)), "{body}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    assert!(body["retryable"].is_boolean(), "{body}");
    assert_eq!(body["help"], format!("/errors/{code}"), "{body}");
    body
}
