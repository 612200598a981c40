//! Just enough HTTP/1.1 to send commands over one connection and read their answers.

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A connection that is used for one request after the other.
#[derive(Debug)]
pub(super) struct Http {
    stream: BufReader<TcpStream>,
    host: String,
    line: String,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Http {
    pub(super) async fn connect(server: &str) -> Result<Self> {
        let host = server.split_once("://").map_or(server, |(_, rest)| rest);
        let host = host.split('/').next().unwrap_or(host).to_owned();
        let stream =
            TcpStream::connect(&host).await.with_context(|| format!("cannot reach {host}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), host, line: String::new() })
    }

    pub(super) async fn post(
        &mut self,
        path: &str,
        (key, client): (&str, &str),
        body: &str,
    ) -> Result<Answer> {
        let (host, length) = (&self.host, body.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nIdempotency-Key: {key}\r\nClient-Id: \
             {client}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        self.answer().await
    }

    async fn answer(&mut self) -> Result<Answer> {
        let status = self.line().await?.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.context("the server does not speak HTTP")?;
        let mut length = None;
        loop {
            let line = self.line().await?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = Some(value.trim().parse::<usize>()?);
            }
        }
        let mut body = vec![0; length.context("an answer says how long it is")?];
        self.stream.read_exact(&mut body).await?;
        Ok(Answer { status, body })
    }

    async fn line(&mut self) -> Result<&str> {
        self.line.clear();
        if self.stream.read_line(&mut self.line).await? == 0 {
            bail!("the server has closed the connection");
        }
        Ok(self.line.trim_end())
    }
}
