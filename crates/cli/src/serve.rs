//! `seriatim dev` and `seriatim serve`: a server on this machine.
//!
//! ```text
//!  address ─► store ─► node ─► listen ─► serve ─► signal ─► answers in flight ─► checkpoints ─► end
//! ```

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::Mode;
use seriatim_node::{Node, State, SystemClock};
use seriatim_server::{Address, Server};
use seriatim_storage::OpenError;
use seriatim_storage_fjall::{FjallStore, keep_engine_errors};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::alerts::{self, Alert, Alerts};
use crate::config::{Configuration, Settings, Source};
use crate::exit::{self, Exit, Failure};
use crate::server_log::{self, LogFormat};
use crate::settings::{DevArgs, ServeArgs};
use crate::welcome::say;
use crate::{handles, signals, welcome};

/// How long reads that are under way may take when everything else has ended.
const READS_WITHIN: Duration = Duration::from_secs(2);

/// How long partitions may take to carry out what is queued and to write their checkpoints.
const NODE_WITHIN: Duration = Duration::from_secs(20);

/// How long a process that has the address or the folder is waited for, and how often it is looked.
const GONE_WITHIN: Duration = Duration::from_secs(2);
const TRY_EVERY: Duration = Duration::from_millis(20);

/// How often to look whether all partitions serve, and how often to say how far they are.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const SAY_EVERY: Duration = Duration::from_secs(1);

/// How long the log may take to be written at the end.
const LOG_WITHIN: Duration = Duration::from_secs(1);

/// How often to look for something that an operator must know.
const WATCH_EVERY: Duration = Duration::from_millis(250);

/// A server for development.
pub(crate) fn dev(args: &DevArgs) -> Result<()> {
    let configuration = args.load()?;
    if args.until_input_ends {
        signals::terminate_when_input_ends()?;
    }
    // Whoever starts it like this may kill it, and knows what that leaves.
    run(configuration, Kind::Dev { says_torn_tail: !args.until_input_ends })
}

/// A server that was configured: at least, where its data lies.
pub(crate) fn serve(args: &ServeArgs) -> Result<()> {
    let configuration = args.load()?;
    if *configuration.source("data") == Source::Default {
        let failure = Failure::usage("serve must be told where its data lies");
        let advice = "give it --data FOLDER, or data = \"FOLDER\" in seriatim.toml; to try things \
                      out, run `seriatim dev`";
        return Err(failure.advise(advice).into());
    }
    run(configuration, Kind::Serve)
}

/// Which server it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Dev { says_torn_tail: bool },
    Serve,
}

/// Runs until a signal ends it. What it ends with is said once: by the log, if programs read that.
fn run(configuration: Configuration, kind: Kind) -> Result<()> {
    let log = configuration.settings.log;
    server_log::install(log).context("the log cannot be begun")?;
    let ended = run_logged(configuration, kind);
    let ended = match ended {
        Err(error) if log.format == LogFormat::Json => Err(exit::logged(error)),
        ended => ended,
    };
    server_log::flush(LOG_WITHIN);
    ended
}

fn run_logged(configuration: Configuration, kind: Kind) -> Result<()> {
    let changed = configuration.changed();
    let mut settings = configuration.settings;
    fit_connections(&mut settings);
    private_files();
    keep_engine_errors();
    // From here on a signal ends the server in good order, however early it comes.
    let signal = signals::listen().context("signals cannot be listened to")?;
    let Settings { listen, data, server, node, storage, clock, apps, log: _ } = settings;
    let server = seriatim_server::Settings { apps, ..server };
    if data.exists() && !data.is_dir() {
        let what = format!("{} is no folder, and data is kept in one", data.display());
        return Err(Failure::new(Exit::Failure, what).into());
    }
    let no_address = || format!("cannot listen on {listen}: choose another address with --listen");
    let until = Instant::now().checked_add(GONE_WITHIN);
    // Before anything is written: a server that finds its address taken leaves no trace.
    let address = soon(until, is_taken, || Address::take(listen)).with_context(no_address)?;
    let store = open_store(&data, storage, until, kind)?;
    let clock = Arc::new(SystemClock::with(clock));
    let node = Arc::new(Node::open(Arc::new(store), clock.clone(), node));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("the server's threads cannot be started")?;
    let (ending, ended) = oneshot::channel();
    let signal = async move {
        signal.await;
        tracing::info!("shutdown begun");
        let _ = ending.send(Instant::now());
    };
    let all_answered = runtime.block_on(async {
        let server = Server::listen(address, node.clone(), clock.clone(), server);
        let server = server.with_context(no_address)?;
        log_start(server.address(), &data, &changed);
        say(welcome::text(server.address(), &data, kind != Kind::Serve));
        tokio::spawn(say_when_ready(node.clone()));
        tokio::spawn(log_alerts(node.clone(), clock));
        anyhow::Ok(server.run(signal).await)
    });
    runtime.shutdown_timeout(READS_WITHIN);
    end(node, all_answered?, ended.blocking_recv().ok())
}

/// Opens the store, and logs what was found.
fn open_store(
    data: &Path,
    settings: seriatim_storage_fjall::Settings,
    until: Option<Instant>,
    kind: Kind,
) -> Result<FjallStore> {
    let began = Instant::now();
    let is_in_use = |error: &OpenError| matches!(error, OpenError::InUse { .. });
    let open = || FjallStore::open(data, &seriatim_node::schema(), settings);
    let store = soon(until, is_in_use, open)?;
    let took_ms = milliseconds(began);
    let data = data.display().to_string();
    if store.was_open_to_others() {
        let what = "data folder could be read by other users of this machine, it is for its owner alone now";
        tracing::warn!(data, "{what}");
    }
    let found = store.found_on_open();
    let (commit, rewritten_bytes) = (found.last_commit, found.unproven_bytes);
    let torn_bytes = found.torn_bytes;
    if torn_bytes > 0 && kind != (Kind::Dev { says_torn_tail: false }) {
        let note = "as a rule what a crash leaves of commits that were never acknowledged. If the disk may \
                    be damaged, nobody can tell that from it: compare with a copy";
        let what = "store opened, bytes behind the last whole commit were cut off";
        tracing::warn!(data, took_ms, commit, rewritten_bytes, torn_bytes, note, "{what}");
    } else {
        tracing::info!(data, took_ms, commit, rewritten_bytes, torn_bytes, "store opened");
    }
    Ok(store)
}

fn log_start(address: SocketAddr, data: &Path, changed: &str) {
    let version = env!("CARGO_PKG_VERSION");
    let (address, data) = (address.to_string(), data.display().to_string());
    let pid = std::process::id();
    tracing::info!(version, address, pid, data, settings = changed, "server started");
}

/// Ends the node, and says how that went.
fn end(node: Arc<Node>, all_answered: bool, began: Option<Instant>) -> Result<()> {
    if !all_answered {
        say("Some requests were still open and got no answer.");
    }
    node.shutdown(NODE_WITHIN).context("shutdown not ended in time")?;
    let stopped = alerts::at_end(&node);
    // The store goes with it, and so the lock on the folder: whoever reads on may open it.
    drop(node);
    if let Some((what, next)) = stopped {
        return Err(Failure::new(Exit::Failure, what).advise(next).into());
    }
    let took_ms = began.map(milliseconds);
    tracing::info!(took_ms, all_answered, "shutdown ended");
    say("Stopped. Everything that was acknowledged is on disk.");
    Ok(())
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// From here on, files that this process makes are for their owner alone.
pub(crate) fn private_files() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Tries until a time what a process may be in the way of that was killed and is not quite gone: its
/// address and its folder are free only then.
fn soon<T, E>(
    until: Option<Instant>,
    is_in_the_way: impl Fn(&E) -> bool,
    attempt: impl Fn() -> Result<T, E>,
) -> Result<T, E> {
    loop {
        match attempt() {
            Err(error)
                if is_in_the_way(&error) && until.is_some_and(|until| Instant::now() < until) =>
            {
                std::thread::sleep(TRY_EVERY);
            }
            attempted => return attempted,
        }
    }
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

/// Takes no more connections than the process may have handles for.
fn fit_connections(settings: &mut Settings) {
    let handles = handles::raise();
    let asked = settings.server.connections_max;
    let fit = handles::connections(asked, handles);
    if fit < asked {
        say(format!(
            "At most {fit} connections instead of {asked}: this process may open {handles} files. \
             Raise that (ulimit -n), or lower server.connections_max."
        ));
        settings.server.connections_max = fit;
    }
}

/// Logs what an operator must know of the machine, as soon as it happens, for as long as the server runs.
async fn log_alerts(node: Arc<Node>, clock: Arc<SystemClock>) {
    let mut alerts = Alerts::default();
    loop {
        alerts.look(&node).iter().for_each(Alert::log);
        clock.take_jump().into_iter().for_each(alerts::log_jump);
        tokio::time::sleep(WATCH_EVERY).await;
    }
}

/// Says how far the partitions are until all serve, or until one has stopped.
async fn say_when_ready(node: Arc<Node>) {
    let began = Instant::now();
    let mut said = began;
    while !node.is_ready() {
        let partitions = node.partitions();
        if partitions.iter().any(|(_, state)| matches!(state, State::Stopped(_))) {
            return;
        }
        if said.elapsed() >= SAY_EVERY {
            said = Instant::now();
            match (node.room(), node.time()) {
                (Ok(()), Ok(_)) => say(welcome::progress(&partitions)),
                (Err(full), _) => say(format!("Not ready: {full}.")),
                // That is said once, where errors are.
                (Ok(()), Err(_)) => {}
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let (took_ms, partitions) = (milliseconds(began), node.partitions().len());
    tracing::info!(partitions, took_ms, "all partitions serve");
    say(format!("Ready after {took_ms} ms."));
}
