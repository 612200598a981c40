//! The server itself: a socket, the router, and its end.

use std::future::{Future, IntoFuture};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use seriatim_node::{Clock, Node};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::connections::Limited;
use crate::context::Context;
use crate::router::router;
use crate::settings::Settings;

/// A server that has its address and answers once it is [run](Self::run).
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    node: Arc<Node>,
    clock: Arc<dyn Clock>,
    settings: Settings,
}

impl Server {
    /// Takes an address. Port 0 takes any that is free.
    ///
    /// # Errors
    ///
    /// When the address cannot be taken.
    pub async fn bind(
        address: SocketAddr,
        node: Arc<Node>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, node, clock, settings })
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
        let (end, ending) = watch::channel(false);
        let context = Context::new(self.node, self.clock, self.settings, ending.clone());
        let shutdown = async move {
            shutdown.await;
            end.send_replace(true);
        };
        let listener = Limited::new(self.listener, self.settings.connections_max);
        let serve = axum::serve(listener, router(Arc::new(context)));
        let serve = serve.with_graceful_shutdown(shutdown).into_future();
        let too_late = async {
            let mut ending = ending;
            drop(ending.wait_for(|is_ending| *is_ending).await);
            tokio::time::sleep(self.settings.end_within).await;
        };
        tokio::select! {
            _ = serve => true,
            () = too_late => false,
        }
    }
}
