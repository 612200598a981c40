//! A small HTTP/1.1 client on a blocking socket, for tests of servers.
//!
//! Tests send what no good client would: broken requests, bodies that never end, headers twice. So
//! this one sends whatever it is given, and needs no runtime.

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
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
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
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
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
