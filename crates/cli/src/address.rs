//! Where a server is, as somebody has written it.

use std::net::IpAddr;

use crate::args::DEFAULT_SERVER;
use crate::exit::Failure;

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// As in a URL: an IPv6 address stands in brackets.
    host: String,
    port: u16,
}

impl Address {
    /// What stands in a URL, if it says no more than where a server is. Whoever writes more expects
    /// something of it that would silently not happen.
    pub(crate) fn of(server: &str) -> Result<Self, Failure> {
        let look = "it is to look like http://127.0.0.1:7600";
        let none = || Failure::usage(format!("{server:?} is no address of a server: {look}"));
        let (scheme, rest) = server.split_once("://").ok_or_else(none)?;
        if scheme.eq_ignore_ascii_case("https") {
            let failure =
                Failure::usage(format!("{server:?} asks for TLS, which is not there yet"));
            return Err(failure.advise(
                "write http://, and let a tunnel or a proxy of your own encrypt what leaves the machine",
            ));
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            // It is not repeated: a password may be in it.
            let what =
                "the address of a server has a user or a password, and servers know none yet";
            return Err(Failure::usage(format!("{what}: {look}")));
        }
        if !matches!(path, "" | "/") {
            return Err(Failure::usage(format!("{server:?} goes on behind the port: {look}")));
        }
        let (host, port) = match authority.rsplit_once(':') {
            // The last part of an IPv6 address without a port ends with its bracket.
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| none())?),
            _ => (authority, 80),
        };
        let is_there = scheme.eq_ignore_ascii_case("http") && !host.is_empty();
        if is_there { Ok(Self { host: host.to_owned(), port }) } else { Err(none()) }
    }

    /// How to start a server there.
    pub(crate) fn start_one(&self) -> String {
        if self.to_string() == DEFAULT_SERVER.trim_start_matches("http://") {
            "start one with `seriatim dev`".to_owned()
        } else if self.is_of_this_machine() {
            format!("start one with `seriatim dev --listen {self}`")
        } else {
            "start one there".to_owned()
        }
    }

    fn is_of_this_machine(&self) -> bool {
        let ip = self.host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        self.host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_at_a_host_and_a_port() {
        for (server, expected) in [
            ("http://127.0.0.1:7600", "127.0.0.1:7600"),
            ("http://localhost:7601/", "localhost:7601"),
            ("HTTP://example.com", "example.com:80"),
            ("http://[::1]:7600", "[::1]:7600"),
            ("http://[::1]", "[::1]:80"),
        ] {
            assert_eq!(Address::of(server).unwrap().to_string(), expected);
        }
    }

    /// A path and a password were left out in silence.
    #[test]
    fn what_is_more_than_an_address_is_refused() {
        for (server, why) in [
            ("https://127.0.0.1:7600", "TLS, which is not there yet"),
            ("http://127.0.0.1:7600/v1", "behind the port"),
            ("http://127.0.0.1:7600?a=b", "behind the port"),
            ("http://me:secret@127.0.0.1:7600", "a user or a password"),
            ("127.0.0.1:7600", "no address of a server"),
            ("ftp://127.0.0.1:7600", "no address of a server"),
            ("http://127.0.0.1:port", "no address of a server"),
            ("http://:7600", "no address of a server"),
        ] {
            let message = Address::of(server).unwrap_err().message;
            assert!(message.contains(why) && !message.contains("secret"), "{server}: {message}");
        }
    }

    /// The advice named `seriatim dev` alone, which listens elsewhere.
    #[test]
    fn a_server_is_started_where_it_was_looked_for() {
        for (server, expected) in [
            ("http://127.0.0.1:7600", "with `seriatim dev`"),
            ("http://127.0.0.1:7601", "with `seriatim dev --listen 127.0.0.1:7601`"),
            ("http://localhost:7600", "with `seriatim dev --listen localhost:7600`"),
            ("http://[::1]:7600", "with `seriatim dev --listen [::1]:7600`"),
            ("http://example.com:7600", "there"),
        ] {
            assert_eq!(Address::of(server).unwrap().start_one(), format!("start one {expected}"));
        }
    }
}
