//! A network between client and server that breaks where it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// After how many bytes a connection is cut, in each direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) to_server: u64,
    pub(crate) to_client: u64,
}

impl Cut {
    pub(crate) const NEVER: Self = Self { to_server: u64::MAX, to_client: u64::MAX };
}

/// Passes bytes on.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicU64>,
    cut_now: Arc<Notify>,
}

impl Proxy {
    /// A proxy that asks how far each of its connections lives, counted from 0.
    pub(crate) async fn new(server: SocketAddr, cut: impl Fn(u64) -> Cut + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (connections, cut_now) = (Arc::new(AtomicU64::new(0)), Arc::new(Notify::new()));
        let (count, cutting) = (connections.clone(), cut_now.clone());
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let cut = cut(count.fetch_add(1, Ordering::Relaxed));
                let Ok(server) = TcpStream::connect(server).await else { continue };
                tokio::spawn(pass(client, server, cut, cutting.clone()));
            }
        });
        Self { address, connections, cut_now }
    }

    /// Cuts all connections that there are.
    pub(crate) fn cut(&self) {
        self.cut_now.notify_waiters();
    }

    /// How many connections there have been.
    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }
}

/// Passes bytes on in both directions until one of them ends. Then both are closed: what is already
/// with the server is still read by it.
async fn pass(client: TcpStream, server: TcpStream, cut: Cut, cut_now: Arc<Notify>) {
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        // What is sent after a cut does not pass, however quick the server is.
        biased;
        () = cut_now.notified() => {}
        () = copy(from_client, to_server, cut.to_server) => {}
        () = copy(from_server, to_client, cut.to_client) => {}
    }
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut left: u64) {
    let mut bytes = vec![0; 4096];
    while left > 0 {
        let room = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let Ok(count @ 1..) = from.read(&mut bytes[..room]).await else { return };
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
        left -= count as u64;
    }
}
