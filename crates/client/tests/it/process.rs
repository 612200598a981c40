//! A server in a process of its own, which can be killed.
//!
//! The process is this test program once more, with a variable that lets one of its tests serve.

use std::env;
use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use seriatim_node::{Node, SystemClock, schema};
use seriatim_server::Server;
use seriatim_storage_fjall::FjallStore;

use crate::world::PATIENCE;

const DATA: &str = "SERIATIM_TEST_DATA";
const LISTEN: &str = "SERIATIM_TEST_LISTEN";
const READY: &str = "listening on ";

/// A server on a folder. It is killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Kept open: what cannot say anything ends.
    _said: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts a server, and waits until it listens.
    pub(crate) fn start(data: &Path, listen: SocketAddr) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "process::serves_when_it_is_asked_to", "--nocapture"]);
        command.env(DATA, data).env(LISTEN, listen.to_string());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = said
            .by_ref()
            .map(Result::unwrap)
            .find_map(|line| line.split_once(READY).map(|(_, address)| address.parse().unwrap()));
        Self { child, address: address.expect("the server says its address"), _said: said }
    }

    /// Ends it at once, wherever it is (SIGKILL).
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It is gone after `kill`, and a test that fails has its own words.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn serves_when_it_is_asked_to() {
    let (Ok(data), Ok(listen)) = (env::var(DATA), env::var(LISTEN)) else { return };
    let store = FjallStore::open(Path::new(&data), &schema(), Default::default()).unwrap();
    let clock = Arc::new(SystemClock::new());
    let node = Arc::new(Node::open(Arc::new(store), clock.clone(), Default::default()));
    assert!(tokio::task::block_in_place(|| node.wait_until_ready(PATIENCE)));
    let listen = listen.parse().unwrap();
    let server = Server::bind(listen, node, clock, Default::default()).unwrap();
    println!("{READY}{}", server.address());
    server.run(std::future::pending()).await;
}
