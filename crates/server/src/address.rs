//! An address before anybody listens on it.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// Connections that wait until they are taken.
const BACKLOG: u32 = 1024;

/// An address that is taken, and on which nobody listens yet: whoever connects is refused.
#[derive(Debug)]
pub struct Address(TcpSocket);

impl Address {
    /// Takes an address. Port 0 takes any that is free.
    ///
    /// # Errors
    ///
    /// When it cannot be taken: somebody listens there, or it is none of this machine. Two that take it
    /// at the same time are told apart only when they listen.
    pub fn take(address: SocketAddr) -> io::Result<Self> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // A server that is started again has its address at once.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(Self(socket))
    }

    pub(crate) fn listen(self) -> io::Result<TcpListener> {
        self.0.listen(BACKLOG)
    }
}
