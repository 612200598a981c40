//! The process that is killed: the server as it is, on a store whose syncs can be watched.
//!
//! With the planted fault of `hasty` the store says that it has synced, and syncs a moment later. A
//! torture that does not find this finds nothing.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use anyhow::Result;
use seriatim_node::{Node, SystemClock};
use seriatim_server::Server;
use seriatim_storage::Store;
use seriatim_storage::hooked::HookedStore;
use seriatim_storage_fjall::{FjallStore, Settings};

use crate::power_cut::Notes;

/// What is served, and how.
#[derive(Debug)]
pub struct Serve {
    /// The folder of the store.
    pub data: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where it is noted what syncs have covered.
    pub synced: Option<PathBuf>,
    /// Whether it is answered before it is synced.
    pub is_hasty: bool,
}

/// Small memtables: tables are written out and merged while the process is killed.
const MEMTABLE_BYTES: u64 = 256 * 1024;

/// Prints its address, and serves until it is killed.
///
/// # Errors
///
/// When the store cannot be opened or the address cannot be taken.
pub fn serve(serve: &Serve) -> Result<()> {
    let store = open(&serve.data, serve.synced.as_deref())?;
    let store: Arc<dyn Store> =
        if serve.is_hasty { Arc::new(hasty(store)) } else { Arc::new(store) };
    let clock = Arc::new(SystemClock::new());
    let node = Arc::new(Node::open(store, clock.clone(), seriatim_node::Settings::default()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let settings = seriatim_server::Settings::default();
        let server = Server::bind(serve.listen, node, clock, settings)?;
        println!("http://{}", server.address());
        server.run(std::future::pending()).await;
        Ok(())
    })
}

fn open(data: &Path, synced: Option<&Path>) -> Result<FjallStore> {
    let schema = seriatim_node::schema();
    let settings = Settings { memtable_bytes: MEMTABLE_BYTES, ..Settings::default() };
    let Some(synced) = synced else { return Ok(FjallStore::open(data, &schema, settings)?) };
    let notes = Notes::create(synced)?;
    let store = FjallStore::open_on(data, &schema, settings, notes.clone())?;
    notes.note_opened(data)?;
    Ok(store)
}

/// A store that syncs when it is asked to, and does not wait for it.
fn hasty(store: FjallStore) -> HookedStore {
    let (later, asked) = mpsc::channel();
    let store = Arc::new(store);
    let for_later = store.clone();
    thread::spawn(move || asked.into_iter().try_for_each(|()| for_later.sync()));
    HookedStore::new(store).sync_by(move |_| {
        later.send(()).expect("the other thread syncs for ever");
        Ok(())
    })
}
