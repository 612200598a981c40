//! Just enough HTTP/1.1 to send commands over one connection and read their answers.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A connection that is used for one request after the other, and made anew when it has broken.
#[derive(Debug)]
pub(super) struct Http {
    host: String,
    stream: Option<BufReader<TcpStream>>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Vec<u8>,
}

impl Http {
    /// A connection that is made with the first request.
    pub(super) fn new(server: &str) -> Self {
        let host = server.split_once("://").map_or(server, |(_, rest)| rest);
        let host = host.split('/').next().unwrap_or(host).to_owned();
        Self { host, stream: None }
    }

    pub(super) async fn post(
        &mut self,
        path: &str,
        (key, client): (&str, &str),
        body: &str,
    ) -> Result<Answer> {
        // It is kept only when its answer was read whole: otherwise the next one would be a part of it.
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(&self.host).await?,
        };
        let (host, length) = (&self.host, body.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nIdempotency-Key: {key}\r\nClient-Id: \
             {client}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.get_mut().write_all(request.as_bytes()).await?;
        let answer = read(&mut stream).await?;
        self.stream = Some(stream);
        Ok(answer)
    }
}

async fn connect(host: &str) -> Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(host).await.with_context(|| format!("cannot reach {host}"))?;
    stream.set_nodelay(true)?;
    Ok(BufReader::new(stream))
}

async fn read(stream: &mut BufReader<TcpStream>) -> Result<Answer> {
    let mut line = String::new();
    let status = next(stream, &mut line).await?.split(' ').nth(1).and_then(|it| it.parse().ok());
    let status = status.context("the server does not speak HTTP")?;
    let (mut length, mut retry_after) = (None, None);
    loop {
        let line = next(stream, &mut line).await?;
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = Some(value.trim().parse::<usize>()?),
            "retry-after" => retry_after = value.trim().parse().ok().map(Duration::from_secs),
            _ => {}
        }
    }
    let mut body = vec![0; length.context("an answer says how long it is")?];
    stream.read_exact(&mut body).await?;
    Ok(Answer { status, retry_after, body })
}

async fn next<'l>(stream: &mut BufReader<TcpStream>, line: &'l mut String) -> Result<&'l str> {
    line.clear();
    if stream.read_line(line).await? == 0 {
        bail!("the server has closed the connection");
    }
    Ok(line.trim_end())
}
