//! The real server through the network, by the real binary's own `bench`.
//!
//! ```text
//!  seriatim dev ◄── sockets ── seriatim bench --clients N --mode M     both share the machine
//! ```
//!
//! What `bench` reports counts only after it has read everything back: no gap, no repeat, and equal
//! receipts for what it sends again. A run that is not so ends the measurement.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::Run;
use crate::machine::field;
use crate::node::lone::syncs;
use crate::report::Table;
use crate::rounds::percentile;

/// The sizes of the measurements through the network.
#[derive(Debug, Clone)]
pub struct NetworkSizes {
    /// For how long each load lasts.
    pub seconds: u64,
    /// How many send at the same time, each one command after the other.
    pub clients: Vec<u32>,
    /// Connections that are open at once.
    pub connections: u32,
    /// Syncs of a plain file, for the floor.
    pub syncs: u64,
}

impl NetworkSizes {
    /// About a minute.
    #[must_use]
    pub fn short() -> Self {
        Self { seconds: 2, clients: vec![1, 16, 64, 256], connections: 1_000, syncs: 1_000 }
    }

    /// What reports are made of.
    #[must_use]
    pub fn long() -> Self {
        Self { seconds: 10, ..Self::short() }
    }
}

/// What a peer did on a machine of this size, all of it durable before the answer. For orientation:
/// it was measured on another day.
const REDIS: [(u32, f64); 3] = [(1, 2_471.0), (64, 18_867.0), (256, 21_838.0)];

/// Commands that one stream has on their way at most.
const STREAM_MAX: u32 = 1_024;

pub(crate) fn measure(run: &Run<'_>, sizes: &NetworkSizes) -> Result<Vec<Table>> {
    let binary = run.options.filler.with_file_name("seriatim");
    ensure!(
        binary.exists(),
        "{} is not there: build it with `cargo build --release --bin seriatim`",
        binary.display()
    );
    let tables = vec![throughput(run, sizes, &binary)?, connections(run, sizes, &binary)?];
    tables.iter().for_each(|table| run.show(table));
    Ok(tables)
}

fn throughput(run: &Run<'_>, sizes: &NetworkSizes, binary: &Path) -> Result<Table> {
    let mut rows = Vec::new();
    for mode in ["stream", "unary", "http"] {
        let most = (mode == "stream").then_some(STREAM_MAX);
        for clients in sizes.clients.iter().copied().chain(most) {
            run.progress(&format!("{mode}, {clients} clients"));
            let folder = run.folder()?;
            let floor = percentile(&syncs(&folder.path().join("file"), sizes.syncs)?, 0.5);
            let server = Server::start(binary, &folder.path().join("data"))?;
            let load = server.load(sizes.seconds, mode, clients)?;
            let redis = REDIS.iter().find(|(known, _)| *known == clients);
            let redis = redis.map_or(f64::NAN, |(_, rate)| *rate);
            rows.push((
                format!("{mode}, {clients} clients"),
                vec![
                    load.rate,
                    load.p50,
                    load.p99,
                    floor,
                    load.p50 / floor,
                    redis,
                    load.rate / redis,
                ],
            ));
        }
    }
    Ok(Table {
        title: "throughput",
        meaning: "`seriatim bench` against `seriatim dev` on the same two cores: each client sends \
                  one command after the other, an event with 200 bytes of arguments and a number, \
                  over 100 workspaces and 4 partitions. \"stream\": all over one connection, \
                  pipelined; \"unary\": a gRPC call each, over one connection; \"http\": a request \
                  each, a connection per client. Milliseconds; \"fdatasync\" is that of a plain file \
                  right before. \"Redis\" is a script that checks a key, counts and appends, with \
                  appendfsync always, on such a machine another day.",
        columns: vec![
            "commands/s",
            "p50",
            "p99",
            "fdatasync p50",
            "p50 / fdatasync",
            "Redis/s",
            "commands / Redis",
        ],
        rows,
    })
}

/// Connections that do nothing, and as many that work.
fn connections(run: &Run<'_>, sizes: &NetworkSizes, binary: &Path) -> Result<Table> {
    run.progress(&format!("{} connections", sizes.connections));
    let folder = run.folder()?;
    let server = Server::start(binary, &folder.path().join("data"))?;
    // The first load makes what stays: threads, caches, rows.
    server.load(sizes.seconds, "http", 1)?;
    let before = server.resident_kib()?;
    let open: Vec<TcpStream> =
        (0..sizes.connections).map(|_| server.open()).collect::<Result<_>>()?;
    let idle = server.resident_kib()?;
    drop(open);
    let load = server.load(sizes.seconds, "http", sizes.connections)?;
    let working = server.resident_kib()?;
    let count = f64::from(sizes.connections);
    Ok(Table {
        title: "many connections",
        meaning: "Connections over which one request was answered and that stay open, and as many \
                  clients that send one command after the other. KiB are of the server's memory, for \
                  each connection above what it had before; the working ones leave caches behind. \
                  Milliseconds; the worst is the longest that any command of any client took.",
        columns: vec!["idle KiB each", "working KiB each", "commands/s", "p50", "p99", "worst"],
        rows: vec![(
            format!("{} connections", sizes.connections),
            vec![
                (idle - before) / count,
                (working - before) / count,
                load.rate,
                load.p50,
                load.p99,
                load.worst,
            ],
        )],
    })
}

/// A server that is killed with the value.
struct Server {
    child: Child,
    binary: PathBuf,
    address: SocketAddr,
}

struct Load {
    rate: f64,
    p50: f64,
    p99: f64,
    worst: f64,
}

impl Server {
    fn start(binary: &Path, data: &Path) -> Result<Self> {
        let mut command = Command::new(binary);
        command.args(["dev", "--listen", "127.0.0.1:0", "--data"]).arg(data);
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let said = BufReader::new(child.stdout.take().context("its output is piped")?);
        let mut address = None;
        for line in said.lines() {
            let line = line?;
            if let Some((_, found)) = line.split_once("listens on http://") {
                address = Some(found.trim().parse()?);
            }
            if line.starts_with("Ready") {
                break;
            }
        }
        let address = address.context("the server says where it listens")?;
        Ok(Self { child, binary: binary.to_owned(), address })
    }

    fn load(&self, seconds: u64, mode: &str, clients: u32) -> Result<Load> {
        let (seconds, clients) = (seconds.to_string(), clients.to_string());
        let server = format!("http://{}", self.address);
        let output = Command::new(&self.binary)
            .args(["bench", "--server", &server, "-o", "json", "--seconds", &seconds])
            .args(["--mode", mode, "--clients", &clients])
            .output()?;
        ensure!(
            output.status.success(),
            "{mode}, {clients} clients: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let figure = |path: &str| {
            let value = report.pointer(path).and_then(Value::as_f64);
            value.with_context(|| format!("the report has {path}: {report}"))
        };
        let milliseconds = |name| Ok::<_, anyhow::Error>(figure(name)? / 1e3);
        Ok(Load {
            rate: figure("/per_second")?,
            p50: milliseconds("/latency_us/p50")?,
            p99: milliseconds("/latency_us/p99")?,
            worst: milliseconds("/latency_us/max")?,
        })
    }

    /// A connection that is known to be taken, because something was answered over it.
    fn open(&self) -> Result<TcpStream> {
        use std::io::Write as _;
        let mut stream = TcpStream::connect(self.address)?;
        stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut answer = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        answer.read_line(&mut line)?;
        ensure!(line.contains("200"), "the server is not alive: {line}");
        Ok(stream)
    }

    fn resident_kib(&self) -> Result<f64> {
        let status = format!("/proc/{}/status", self.child.id());
        Ok(field(&status, "VmRSS")?.trim_end_matches(" kB").parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
