//! The server itself: a socket, the router, and its end.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use seriatim_node::{Clock, Node};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::address::Address;
use crate::context::Context;
use crate::overload::connections::Connections;
use crate::overload::reader_pool::ReaderPool;
use crate::router::router;
use crate::settings::Settings;

/// A server that has its address and answers once it is [run](Self::run).
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    node: Arc<Node>,
    readers: ReaderPool,
    clock: Arc<dyn Clock>,
    settings: Settings,
}

impl Server {
    /// Listens on an address, from within the runtime that is to run it. Port 0 takes any that is
    /// free.
    ///
    /// # Errors
    ///
    /// When the address cannot be taken.
    pub fn bind(
        address: SocketAddr,
        node: Arc<Node>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> io::Result<Self> {
        Self::listen(Address::take(address)?, node, clock, settings)
    }

    /// The same on an address that was taken before, so that nothing had to be begun for one that
    /// cannot be had.
    ///
    /// # Errors
    ///
    /// When somebody else listens there since, or no threads can be had.
    pub fn listen(
        address: Address,
        node: Arc<Node>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> io::Result<Self> {
        let listener = address.listen()?;
        let address = listener.local_addr()?;
        let readers = ReaderPool::new()?;
        Ok(Self { listener, address, node, readers, clock, settings })
    }

    /// The address that it has.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `shutdown`. Then it takes no more connections, ends subscriptions,
    /// gives the answers that are on their way, and returns: at the latest after the time that
    /// its settings allow. Returns whether all answers were given.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send + 'static) -> bool {
        let Self { listener, address, node, readers, clock, settings } = self;
        let (end, ending) = watch::channel(false);
        let is_local = address.ip().is_loopback();
        let context =
            Context::new(node, readers, clock, settings.clone(), is_local, ending.clone());
        let budget = context.budgets.unsent.clone();
        let router = router(Arc::new(context));
        let end_within = settings.end_within;
        let connections = Connections { listener, router, budget, settings, ending };
        let too_late = async move {
            shutdown.await;
            end.send_replace(true);
            tokio::time::sleep(end_within).await;
        };
        tokio::select! {
            () = connections.serve() => true,
            () = too_late => false,
        }
    }
}
