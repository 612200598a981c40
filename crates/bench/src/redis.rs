//! Redis as a peer: a script that checks a key, counts and appends, on disk before the answer.
//!
//! It is what people glue together instead: `SET NX` for the key, `INCR` for the number, `XADD` for
//! the log, all in one script, and `appendfsync always`. Its clients are as those of `seriatim bench`
//! over HTTP: tasks on as many threads, with a connection each, which wait for every answer.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::task::JoinSet;

use crate::rounds::percentile;

/// Counts and appends, if the key is new. The arguments: the stream, the key, what happened.
const SCRIPT: &str = r#"
if not redis.call("SET", "key:" .. ARGV[1], 1, "NX", "EX", 86400) then return -1 end
local number = redis.call("INCR", "number:" .. KEYS[1])
redis.call("XADD", "log:" .. KEYS[1], "*", "number", number, "args", ARGV[2])
return number
"#;

/// How long a server may take to begin.
const BEGINS_WITHIN: Duration = Duration::from_secs(10);

/// A server that is killed with the value.
pub(crate) struct Redis {
    child: Child,
    port: u16,
}

/// What its clients saw.
pub(crate) struct PeerLoad {
    pub(crate) rate: f64,
    /// In milliseconds.
    pub(crate) p50: f64,
}

impl Redis {
    /// Whether there is one to be measured.
    pub(crate) fn is_installed() -> bool {
        let version = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    }

    pub(crate) fn start(folder: &Path) -> Result<Self> {
        // It cannot say which port it took by itself.
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
            .args(["--appendonly", "yes", "--appendfsync", "always", "--dir"])
            .arg(folder)
            .stdout(Stdio::null())
            .spawn()
            .context("redis-server does not start")?;
        Ok(Self { child, port })
    }

    /// So many clients, each of which sends one script after the other.
    pub(crate) fn load(&self, seconds: u64, clients: u32) -> Result<PeerLoad> {
        let cores = std::thread::available_parallelism()?.get();
        let mut builder = runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads((cores / 2).max(1)).enable_all().build()?;
        runtime.block_on(self.carry_out(Duration::from_secs(seconds), clients))
    }

    async fn carry_out(&self, time: Duration, clients: u32) -> Result<PeerLoad> {
        let mut first = Connection::open(self.port).await?;
        let script = first.ask(&["SCRIPT", "LOAD", SCRIPT]).await?;
        let began = Instant::now();
        let mut tasks = JoinSet::new();
        for client in 0..clients {
            tasks.spawn(work(self.port, script.clone(), client, began + time));
        }
        let mut milliseconds = Vec::new();
        while let Some(ended) = tasks.join_next().await {
            milliseconds.extend(ended??);
        }
        let rate = milliseconds.len() as f64 / began.elapsed().as_secs_f64();
        Ok(PeerLoad { rate, p50: percentile(&milliseconds, 0.5) })
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One client: 200 bytes each, over a hundred streams. Returns how long each took, in milliseconds.
async fn work(port: u16, script: String, client: u32, end: Instant) -> Result<Vec<f64>> {
    let mut connection = Connection::open(port).await?;
    let args = "x".repeat(200);
    let mut took = Vec::new();
    for nth in 0_u64.. {
        let began = Instant::now();
        if began >= end {
            break;
        }
        let stream = format!("store-{}", (u64::from(client) + nth) % 100);
        // As long as a UUID.
        let key = format!("{client:08}-{nth:027}");
        let number = connection.ask(&["EVALSHA", &script, "1", &stream, &key, &args]).await?;
        ensure!(number.parse::<u64>()? > 0, "the key {key} is new, and the answer is {number}");
        took.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(took)
}

/// Just enough of the protocol for answers of one line, or of one text.
struct Connection(BufReader<TcpStream>);

impl Connection {
    /// Waits for a server that has just been started.
    async fn open(port: u16) -> Result<Self> {
        let began = Instant::now();
        loop {
            match TcpStream::connect(("127.0.0.1", port)).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Self(BufReader::new(stream)));
                }
                Err(error) if began.elapsed() > BEGINS_WITHIN => {
                    return Err(error).context("redis-server does not listen");
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    async fn ask(&mut self, words: &[&str]) -> Result<String> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.0.get_mut().write_all(request.as_bytes()).await?;
        let line = self.line().await?;
        match line.split_at_checked(1) {
            Some(("$", _)) => self.line().await,
            Some((":" | "+", said)) => Ok(said.to_owned()),
            _ => bail!("redis-server answers {line:?}"),
        }
    }

    async fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).await?;
        ensure!(line.ends_with("\r\n"), "redis-server has closed the connection");
        Ok(line.trim_end().to_owned())
    }
}
