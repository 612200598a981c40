//! `seriatim dev`: a server on this machine.
//!
//! ```text
//!  open the store ─► node ─► socket ─► serve ─► signal ─► answers in flight ─► checkpoints ─► end
//! ```

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use seriatim_node::{Node, State, SystemClock};
use seriatim_server::Server;
use seriatim_storage_fjall::FjallStore;
use tokio::time::Instant;

use crate::welcome::say;
use crate::{signals, welcome};

/// How long reads that are under way may take when everything else has ended.
const READS_WITHIN: Duration = Duration::from_secs(2);

/// How long partitions may take to carry out what is queued and to write their checkpoints.
const NODE_WITHIN: Duration = Duration::from_secs(20);

/// How often to look whether all partitions serve, and how often to say how far they are.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const SAY_EVERY: Duration = Duration::from_secs(1);

/// Runs until a signal ends it.
pub(crate) fn run(listen: SocketAddr, data: &Path) -> Result<()> {
    ensure!(
        listen.ip().is_loopback(),
        "{listen} can be reached from other machines, and there is no authentication yet: listen \
         on 127.0.0.1 or [::1]"
    );
    // From here on a signal ends the server in good order, however early it comes.
    let signal = signals::listen().context("signals cannot be listened to")?;
    let store = FjallStore::open(data, &seriatim_node::schema(), Default::default())?;
    let clock = Arc::new(SystemClock::new());
    let node = Arc::new(Node::open(Arc::new(store), clock.clone(), Default::default()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("the server's threads cannot be started")?;
    let all_answered = runtime.block_on(async {
        let server = Server::bind(listen, node.clone(), clock, Default::default()).await;
        let server = server.with_context(|| {
            format!("cannot listen on {listen}: choose another address with --listen")
        })?;
        say(welcome::text(server.address(), data));
        tokio::spawn(say_when_ready(node.clone()));
        anyhow::Ok(server.run(signal).await)
    });
    runtime.shutdown_timeout(READS_WITHIN);
    let all_answered = all_answered?;
    if !all_answered {
        say("Some requests were still open and got no answer.");
    }
    node.shutdown(NODE_WITHIN)?;
    say("Stopped. Everything that was acknowledged is on disk.");
    Ok(())
}

/// Says how far the partitions are until all serve, or until one has stopped.
async fn say_when_ready(node: Arc<Node>) {
    let began = Instant::now();
    let mut said = began;
    while !node.is_ready() {
        let partitions = node.partitions();
        for (partition, state) in &partitions {
            if let State::Stopped(reason) = state {
                let (app, partition) = (partition.app, partition.partition);
                say(format!("Not ready: {partition} of {app} stopped: {reason}"));
                return;
            }
        }
        if said.elapsed() >= SAY_EVERY {
            said = Instant::now();
            say(welcome::progress(&partitions));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    say(format!("Ready after {} ms.", began.elapsed().as_millis()));
}
