//! As much of HTTP/1.1 as the torture speaks: requests one after another on a connection that is
//! kept, and streams of events.
//!
//! **Deliberately absent:** retries. Whether a request may be sent again is what is tested here,
//! so nothing below the workload decides it.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take. A server that is slower than this is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'static str, &'a str)],
    pub(crate) body: &'a str,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// With names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

/// Where a server is, and the connection to it once there is one.
#[derive(Debug)]
pub(crate) struct Door {
    address: SocketAddr,
    connection: Option<BufReader<TcpStream>>,
}

impl Door {
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self { address, connection: None }
    }

    /// Asks, and reads the whole answer. After a failure the next request opens a new connection.
    pub(crate) fn ask(&mut self, request: Request<'_>) -> io::Result<Response> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.open()?,
        };
        send(&mut connection, self.address, request)?;
        let (status, headers) = read_head(&mut connection)?;
        let mut body = Vec::new();
        if is_chunked(&headers) {
            Chunks::new(&mut connection).read_to_end(&mut body)?;
        } else {
            let length = header(&headers, "content-length").unwrap_or("0");
            body.resize(length.parse().map_err(malformed)?, 0);
            connection.read_exact(&mut body)?;
        }
        self.connection = Some(connection);
        Ok(Response { status, headers, body })
    }

    /// Asks for a stream, and hands out its lines as they come.
    pub(crate) fn follow(
        &self,
        request: Request<'_>,
    ) -> io::Result<(u16, impl Iterator<Item = io::Result<String>> + use<>)> {
        let mut connection = self.open()?;
        send(&mut connection, self.address, request)?;
        let (status, headers) = read_head(&mut connection)?;
        if !is_chunked(&headers) {
            return Err(malformed("a stream without an end comes in chunks"));
        }
        Ok((status, BufReader::new(Chunks::new(connection)).lines()))
    }

    fn open(&self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(BufReader::new(stream))
    }
}

fn send(
    connection: &mut BufReader<TcpStream>,
    host: SocketAddr,
    request: Request<'_>,
) -> io::Result<()> {
    let Request { method, path, headers, body } = request;
    let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    let headers: String = headers.collect();
    let length = body.len();
    let whole = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\
         Content-Type: application/json\r\n{headers}\r\n{body}"
    );
    connection.get_mut().write_all(whole.as_bytes())
}

type Head = (u16, Vec<(String, String)>);

fn read_head(connection: &mut impl BufRead) -> io::Result<Head> {
    let line = read_line(connection)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| malformed(&line))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(connection)?;
        if line.is_empty() {
            return Ok((status, headers));
        }
        let (name, value) = line.split_once(':').ok_or_else(|| malformed(&line))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

fn read_line(connection: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(ErrorKind::UnexpectedEof.into()),
    }
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn is_chunked(headers: &[(String, String)]) -> bool {
    header(headers, "transfer-encoding") == Some("chunked")
}

fn malformed(what: impl ToString) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_string())
}

/// A body that comes in chunks, put together.
struct Chunks<R> {
    from: R,
    /// Bytes of the chunk that are still to come; `None` behind the last one.
    left: Option<usize>,
}

impl<R: BufRead> Chunks<R> {
    fn new(from: R) -> Self {
        Self { from, left: Some(0) }
    }
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == Some(0) {
            let size = read_line(&mut self.from)?;
            let size = usize::from_str_radix(&size, 16).map_err(malformed)?;
            self.left = (size > 0).then_some(size);
            if size == 0 {
                read_line(&mut self.from)?;
            }
        }
        let Some(left) = &mut self.left else { return Ok(0) };
        let most = buffer.len().min(*left);
        let (buffer, _) = buffer.split_at_mut(most);
        let count = self.from.read(buffer)?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        *left -= count;
        if *left == 0 {
            read_line(&mut self.from)?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_in_chunks_is_put_together_and_one_that_breaks_off_is_an_error() {
        let whole = b"4\r\nWiki\r\n6\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\n\r\n";
        let mut body = String::new();
        Chunks::new(whole.as_slice()).read_to_string(&mut body).unwrap();
        assert_eq!(body, "Wikipedia in \r\n\r\nchunks.");
        for end in 0..whole.len() {
            let broken = Chunks::new(&whole[..end]).read_to_end(&mut Vec::new());
            assert!(broken.is_err(), "after {end} bytes");
        }
    }

    #[test]
    fn a_head_is_read_up_to_its_empty_line() {
        let mut head = b"HTTP/1.1 200 OK\r\nIdempotent-Replayed: true\r\n\r\nbody".as_slice();
        let (status, headers) = read_head(&mut head).unwrap();
        assert_eq!((status, header(&headers, "idempotent-replayed")), (200, Some("true")));
        assert_eq!(head, b"body");
        assert!(read_head(&mut b"HTTP/1.1 200 OK\r\nA: b\r\n".as_slice()).is_err());
    }
}
