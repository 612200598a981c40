//! The real server through the network, by the real binary's own `bench`.
//!
//! ```text
//!  seriatim dev ◄── sockets ── seriatim bench --clients N --mode M     both share the machine
//!  redis-server ◄── sockets ── as many clients                         right before, if it is there
//! ```
//!
//! What `bench` reports counts only after it has read everything back: no gap, no repeat, and equal
//! receipts for what it sends again. A run that is not so ends the measurement.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use seriatim_testkit::HttpClient;

use crate::Run;
use crate::machine::field;
use crate::node::lone::syncs;
use crate::redis::{PeerLoad, Redis};
use crate::report::Table;
use crate::rounds::{Series, percentile};

/// The sizes of the measurements through the network.
#[derive(Debug, Clone)]
pub struct NetworkSizes {
    /// For how long each load lasts.
    pub seconds: u64,
    /// How often all loads are gone through.
    pub rounds: u32,
    /// How many send at the same time, each one command after the other.
    pub clients: Vec<u32>,
    /// How many send at the same time by stream, and how many commands each has on their way.
    pub pipelined: Vec<(u32, u32)>,
    /// Connections that are open at once.
    pub connections: u32,
    /// Syncs of a plain file, for the floor.
    pub syncs: u64,
}

impl NetworkSizes {
    /// About a minute.
    #[must_use]
    pub fn short() -> Self {
        let (clients, pipelined) =
            (vec![1, 16, 64, 256], vec![(1, 64), (64, 4), (64, 16), (64, 32)]);
        Self { seconds: 2, rounds: 1, clients, pipelined, connections: 1_000, syncs: 1_000 }
    }

    /// What reports are made of.
    #[must_use]
    pub fn long() -> Self {
        Self { seconds: 5, rounds: 3, ..Self::short() }
    }
}

/// What Redis did with so many clients on a machine of this size, with another client and on another
/// day.
const REDIS: [(u32, f64); 3] = [(1, 2_471.0), (64, 18_867.0), (256, 21_838.0)];

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
    let alone = |mode| sizes.clients.iter().map(move |clients| (mode, *clients, 1));
    let pipelined = sizes.pipelined.iter().map(|(clients, each)| ("stream", *clients, *each));
    let loads = alone("stream").chain(pipelined).chain(alone("unary")).chain(alone("http"));
    let mut loads: Vec<_> = loads.map(|load| (load, Figures::default())).collect();
    // Round by round: what the machine gives changes from one minute to the next.
    for round in 1..=sizes.rounds {
        for ((mode, clients, in_flight), figures) in &mut loads {
            run.progress(&format!("{} ({round})", label(mode, *clients, *in_flight)));
            let folder = run.folder()?;
            let floor = percentile(&syncs(&folder.path().join("file"), sizes.syncs)?, 0.5);
            let peer = peer(folder.path(), sizes.seconds, *clients)?;
            let server = Server::start(binary, &folder.path().join("data"))?;
            let load = server.load(sizes.seconds, mode, *clients, *in_flight)?;
            figures.add(floor, &peer, &load);
        }
    }
    let row = |((mode, clients, in_flight), figures): ((&str, u32, u32), Figures)| {
        let known = REDIS.iter().find(|(known, _)| *known == clients);
        (label(mode, clients, in_flight), figures.row(known.map_or(f64::NAN, |(_, rate)| *rate)))
    };
    let rows = loads.into_iter().map(row).collect();
    Ok(Table {
        title: "throughput",
        meaning: "`seriatim bench` against `seriatim dev` on the same two cores: an event with 200 \
                  bytes of arguments and a number, over 100 workspaces and 4 partitions. A client \
                  waits for each answer, unless it has more commands on their way. \"stream\": all \
                  over one connection; \"unary\": a gRPC call each, over one connection; \"http\": a \
                  request each, a connection per client. Milliseconds; \"fdatasync\" is that of a \
                  plain file right before. \"Redis\" ran right before too, if it is installed: a \
                  script that checks a key, counts and appends 200 bytes, with appendfsync always, \
                  for as many clients with a connection each that wait for each answer; the last \
                  column is what it did on another day, with another client. The other columns are \
                  medians of the rounds.",
        columns: vec![
            "commands/s",
            "p50",
            "p99",
            "fdatasync p50",
            "p50 / fdatasync",
            "Redis/s",
            "Redis p50",
            "commands / Redis",
            "Redis/s, another day",
        ],
        rows,
    })
}

fn label(mode: &str, clients: u32, in_flight: u32) -> String {
    match in_flight {
        1 => format!("{mode}, {clients} clients"),
        each => format!("{mode}, {clients} clients, {each} on their way each"),
    }
}

/// The figures of one load, a value per round.
#[derive(Default)]
struct Figures {
    rate: Series,
    p50: Series,
    p99: Series,
    floor: Series,
    peer_rate: Series,
    peer_p50: Series,
}

impl Figures {
    fn add(&mut self, floor: f64, peer: &PeerLoad, load: &Load) {
        self.rate.push(load.rate);
        self.p50.push(load.p50);
        self.p99.push(load.p99);
        self.floor.push(floor);
        self.peer_rate.push(peer.rate);
        self.peer_p50.push(peer.p50);
    }

    /// The medians in the order of the columns; `known` is what Redis did on another day.
    fn row(&self, known: f64) -> Vec<f64> {
        let Self { rate, p50, p99, floor, peer_rate, peer_p50 } = self;
        let ours = [rate.median(), p50.median(), p99.median(), floor.median(), p50.ratio(floor)];
        let theirs = [peer_rate.median(), peer_p50.median(), rate.ratio(peer_rate), known];
        [ours.as_slice(), &theirs].concat()
    }
}

/// What Redis does with as many clients, or nothing.
fn peer(folder: &Path, seconds: u64, clients: u32) -> Result<PeerLoad> {
    if !Redis::is_installed() {
        return Ok(PeerLoad { rate: f64::NAN, p50: f64::NAN });
    }
    let folder = folder.join("redis");
    std::fs::create_dir(&folder)?;
    Redis::start(&folder)?.load(seconds, clients)
}

/// Connections that do nothing, and as many that work.
fn connections(run: &Run<'_>, sizes: &NetworkSizes, binary: &Path) -> Result<Table> {
    run.progress(&format!("{} connections", sizes.connections));
    let folder = run.folder()?;
    let server = Server::start(binary, &folder.path().join("data"))?;
    // The first load makes what stays: threads, caches, rows.
    server.load(sizes.seconds, "http", 1, 1)?;
    let before = server.resident_kib()?;
    let open: Vec<HttpClient> =
        (0..sizes.connections).map(|_| server.open()).collect::<Result<_>>()?;
    let idle = server.resident_kib()?;
    drop(open);
    let load = server.load(sizes.seconds, "http", sizes.connections, 1)?;
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

    fn load(&self, seconds: u64, mode: &str, clients: u32, in_flight: u32) -> Result<Load> {
        let [seconds, clients, in_flight] =
            [seconds, clients.into(), in_flight.into()].map(|number| number.to_string());
        let server = format!("http://{}", self.address);
        let output = Command::new(&self.binary)
            .args(["bench", "--server", &server, "-o", "json", "--seconds", &seconds])
            .args(["--mode", mode, "--clients", &clients, "--in-flight", &in_flight])
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
    fn open(&self) -> Result<HttpClient> {
        let mut client = HttpClient::connect(self.address)?;
        let status = client.send("GET", "/livez", &[], b"")?.status;
        ensure!(status == 200, "the server is not alive: {status}");
        Ok(client)
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
