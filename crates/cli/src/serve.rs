//! `seriatim dev` and `seriatim serve`: a server on this machine.
//!
//! ```text
//!  address ─► store ─► node ─► listen ─► serve ─► signal ─► answers in flight ─► checkpoints ─► end
//! ```

use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::Mode;
use seriatim_node::{Node, State, SystemClock};
use seriatim_server::{Address, Server};
use seriatim_storage::OpenError;
use seriatim_storage_fjall::{FjallStore, keep_engine_errors};
use tokio::time::Instant;

use crate::alerts::{self, Alerts};
use crate::config::{Settings, Source};
use crate::exit::{Exit, Failure};
use crate::settings::{DevArgs, ServeArgs};
use crate::welcome::{complain, say};
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

/// How often to look for something that an operator must know.
const WATCH_EVERY: Duration = Duration::from_millis(250);

/// A server for development.
pub(crate) fn dev(args: &DevArgs) -> Result<()> {
    let settings = args.load()?.settings;
    if args.until_input_ends {
        signals::terminate_when_input_ends()?;
    }
    // Whoever starts it like this may kill it, and knows what that leaves.
    run(settings, Kind::Dev { says_torn_tail: !args.until_input_ends })
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
    run(configuration.settings, Kind::Serve)
}

/// Which server it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Dev { says_torn_tail: bool },
    Serve,
}

/// Runs until a signal ends it.
fn run(mut settings: Settings, kind: Kind) -> Result<()> {
    fit_connections(&mut settings);
    private_files();
    keep_engine_errors();
    // From here on a signal ends the server in good order, however early it comes.
    let signal = signals::listen().context("signals cannot be listened to")?;
    let Settings { listen, data, server, node, storage, clock, apps } = settings;
    let server = seriatim_server::Settings { apps, ..server };
    if data.exists() && !data.is_dir() {
        let what = format!("{} is no folder, and data is kept in one", data.display());
        return Err(Failure::new(Exit::Failure, what).into());
    }
    let no_address = || format!("cannot listen on {listen}: choose another address with --listen");
    let until = Instant::now().checked_add(GONE_WITHIN);
    // Before anything is written: a server that finds its address taken leaves no trace.
    let address = soon(until, is_taken, || Address::take(listen)).with_context(no_address)?;
    let is_in_use = |error: &OpenError| matches!(error, OpenError::InUse { .. });
    let store =
        soon(until, is_in_use, || FjallStore::open(&data, &seriatim_node::schema(), storage))?;
    if store.was_open_to_others() {
        let data = data.display();
        complain(format!(
            "seriatim: {data} could be read by other users of this machine; it is for its owner alone now"
        ));
    }
    let torn_bytes = store.found_on_open().torn_bytes;
    if torn_bytes > 0 && kind != (Kind::Dev { says_torn_tail: false }) {
        complain(format!(
            "seriatim: {torn_bytes} bytes behind the last whole commit were cut off: as a rule what a crash \
             leaves of commits that were never acknowledged. If the disk may be damaged, nobody can tell \
             that from it: compare with a copy."
        ));
    }
    let clock = Arc::new(SystemClock::with(clock));
    let node = Arc::new(Node::open(Arc::new(store), clock.clone(), node));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("the server's threads cannot be started")?;
    let all_answered = runtime.block_on(async {
        let server = Server::listen(address, node.clone(), clock.clone(), server);
        let server = server.with_context(no_address)?;
        say(welcome::text(server.address(), &data, kind != Kind::Serve));
        tokio::spawn(say_when_ready(node.clone()));
        tokio::spawn(say_alerts(node.clone(), clock));
        anyhow::Ok(server.run(signal).await)
    });
    runtime.shutdown_timeout(READS_WITHIN);
    let all_answered = all_answered?;
    if !all_answered {
        say("Some requests were still open and got no answer.");
    }
    node.shutdown(NODE_WITHIN)?;
    let stopped = alerts::at_end(&node);
    // The store goes with it, and so the lock on the folder: whoever reads on may open it.
    drop(node);
    if let Some((what, next)) = stopped {
        return Err(Failure::new(Exit::Failure, what).advise(next).into());
    }
    say("Stopped. Everything that was acknowledged is on disk.");
    Ok(())
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

/// Says on standard error what an operator must know, as soon as it happens, for as long as the server
/// runs.
async fn say_alerts(node: Arc<Node>, clock: Arc<SystemClock>) {
    let mut alerts = Alerts::default();
    loop {
        alerts.look(&node).iter().for_each(complain);
        clock.take_jump().map(alerts::clock_jump).iter().for_each(complain);
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
    say(format!("Ready after {} ms.", began.elapsed().as_millis()));
}
