//! A small HTTP/1.1 client on a blocking socket, for tests of servers.
//!
//! Tests send what no good client would: broken requests, bodies that never end, headers twice. So
//! this one sends whatever it is given, and needs no runtime.
//!
//! **Deliberately absent:** retries. Whether a request may be sent again is what is tested, so
//! nothing below a test decides it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer is waited for before a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection that is used for one request after the other.
#[derive(Debug)]
pub struct HttpClient {
    stream: BufReader<TcpStream>,
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// Names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl HttpAnswer {
    /// A header, if it is there.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl HttpClient {
    /// Connects.
    ///
    /// # Errors
    ///
    /// When nobody listens.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sets how long a read waits for something to come before it fails.
    ///
    /// # Errors
    ///
    /// When that is no time at all.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(Some(patience))
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    ///
    /// When the connection breaks.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<HttpAnswer> {
        self.write(&request(method, path, headers, body))?;
        self.read_answer()
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    ///
    /// When the connection breaks.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Says that nothing more is sent. Answers can still be read.
    ///
    /// # Errors
    ///
    /// When the connection is broken.
    pub fn end(&mut self) -> io::Result<()> {
        self.stream.get_ref().shutdown(Shutdown::Write)
    }

    /// Reads a whole answer.
    ///
    /// # Errors
    ///
    /// When the connection ends before it, or what comes is none.
    pub fn read_answer(&mut self) -> io::Result<HttpAnswer> {
        let (status, headers) = self.read_head()?;
        let mut answer = HttpAnswer { status, headers, body: Vec::new() };
        if answer.header("transfer-encoding").is_some() {
            while let Some(chunk) = self.read_chunk()? {
                answer.body.extend(chunk);
            }
        } else if let Some(length) = answer.header("content-length") {
            answer.body = vec![0; length.parse().map_err(io::Error::other)?];
            self.stream.read_exact(&mut answer.body)?;
        }
        Ok(answer)
    }

    /// Reads the status and the headers of an answer whose body is read by
    /// [`read_event`](Self::read_event).
    ///
    /// # Errors
    ///
    /// When the connection ends before it, or what comes is none.
    pub fn read_head(&mut self) -> io::Result<(u16, Vec<(String, String)>)> {
        let line = self.read_line()?;
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status in {line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.read_line()?;
            if line.is_empty() {
                return Ok((status, headers));
            }
            let (name, value) = line.split_once(':').unwrap_or((&line, ""));
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// The next part of a stream of server-sent events, up to its blank line; `None` when the
    /// stream has ended. Servers send each part in a chunk of its own.
    ///
    /// # Errors
    ///
    /// When the connection breaks.
    pub fn read_event(&mut self) -> io::Result<Option<String>> {
        let chunk = self.read_chunk()?;
        Ok(chunk.map(|chunk| String::from_utf8_lossy(&chunk).into_owned()))
    }

    /// The lines of a stream of server-sent events, up to its end or the first error.
    pub fn into_lines(mut self) -> impl Iterator<Item = io::Result<String>> {
        let parts = std::iter::from_fn(move || self.read_event().transpose());
        parts.flat_map(|part| match part {
            Ok(part) => part.lines().map(|line| Ok(line.to_owned())).collect(),
            Err(error) => vec![Err(error)],
        })
    }

    fn read_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.read_line()?;
        let length = usize::from_str_radix(&line, 16).map_err(io::Error::other)?;
        let mut chunk = vec![0; length];
        self.stream.read_exact(&mut chunk)?;
        self.read_line()?;
        Ok((length > 0).then_some(chunk))
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        // A line that breaks off is none: half a length would be taken for another one.
        let whole = line.strip_suffix("\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(whole.to_owned())
    }
}

/// Where a server is, and the connection to it once there is one.
#[derive(Debug)]
pub struct ReconnectingClient {
    address: SocketAddr,
    connection: Option<HttpClient>,
}

impl ReconnectingClient {
    /// One that connects with its first request.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self { address, connection: None }
    }

    /// Sends a request and reads the whole answer. After a failure the next request opens a new
    /// connection.
    ///
    /// # Errors
    ///
    /// When nobody listens, or the connection breaks.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<HttpAnswer> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => HttpClient::connect(self.address)?,
        };
        let answer = connection.send(method, path, headers, body)?;
        self.connection = Some(connection);
        Ok(answer)
    }
}

/// The bytes of a request.
#[must_use]
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Sends a request to a server that answers each connection with the next of some bytes, and
    /// then closes it.
    fn answers(of: Vec<Vec<u8>>) -> (SocketAddr, thread::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            for answer in of {
                let mut stream = BufReader::new(listener.accept().unwrap().0);
                let mut line = String::new();
                while stream.read_line(&mut line).unwrap() > 2 {
                    line.clear();
                }
                stream.get_mut().write_all(&answer).unwrap();
            }
        });
        (address, server)
    }

    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        4\r\nWiki\r\n6\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\n\r\n";
    const WHOLE: &[u8] =
        b"HTTP/1.1 201 Created\r\nLocation: /a\r\nContent-Length: 14\r\n\r\n14 bytes of it";

    #[test]
    fn answer_that_breaks_off_is_an_error_and_the_next_request_connects_again() {
        let broken = |whole: &'static [u8]| (0..whole.len()).map(|end| whole[..end].to_vec());
        let all: Vec<_> = broken(CHUNKED).chain(broken(WHOLE)).collect();
        let count = all.len();
        let (address, server) = answers(all.into_iter().chain([CHUNKED.to_vec()]).collect());
        let mut client = ReconnectingClient::new(address);
        for number in 0..count {
            assert!(client.send("GET", "/", &[], b"").is_err(), "answer {number}");
        }
        let answer = client.send("GET", "/", &[], b"").unwrap();
        assert_eq!((answer.status, &*answer.text()), (200, "Wikipedia in \r\n\r\nchunks."));
        server.join().unwrap();
    }

    #[test]
    fn answer_has_its_headers_and_a_stream_its_lines() {
        let (address, server) = answers(vec![WHOLE.to_vec(), CHUNKED.to_vec()]);
        let mut client = ReconnectingClient::new(address);
        let answer = client.send("GET", "/", &[], b"").unwrap();
        assert_eq!((answer.status, answer.header("location")), (201, Some("/a")));
        assert_eq!(answer.text(), "14 bytes of it");
        let mut stream = HttpClient::connect(address).unwrap();
        stream.write(&request("GET", "/", &[], b"")).unwrap();
        assert_eq!(stream.read_head().unwrap().0, 200);
        let lines: Vec<String> = stream.into_lines().map(Result::unwrap).collect();
        assert_eq!(lines, ["Wiki", "pedia ", "in ", "", "chunks."]);
        server.join().unwrap();
    }
}
