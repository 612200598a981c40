//! `seriatim dev` and `seriatim serve`: a server on this machine.
//!
//! ```text
//!  address ─► store ─► node ─► listen ─► serve ─► signal ─► answers in flight ─► checkpoints ─► end
//! ```

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::Mode;
use seriatim_json::write::moment;
use seriatim_node::{Ahead, Jump, Node, Reason, State, SystemClock};
use seriatim_server::{Address, Server, describe_clock};
use seriatim_storage::OpenError;
use seriatim_storage_fjall::{FjallStore, keep_engine_errors};
use seriatim_types::PartitionRef;
use tokio::time::Instant;

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

/// How often to look whether something has stopped.
const WATCH_EVERY: Duration = Duration::from_millis(250);

/// What to do when something has.
const NEXT: &str = "what was acknowledged is on disk, and nothing more is written there: remove the \
                    cause (make room, if the disk is full) and start the server again; `seriatim \
                    verify` tells whether what is stored is sound";

/// What to do when a row could not be read.
const NEXT_DAMAGED: &str = "nothing more is written to this partition, and what can be read is still read; stop the \
                            server, run `seriatim verify --data FOLDER` to find all damage, and restore the folder \
                            from a copy";

/// A server for development.
pub(crate) fn dev(args: &DevArgs) -> Result<()> {
    let settings = args.load()?.settings;
    if args.until_input_ends {
        signals::terminate_when_input_ends()?;
    }
    run(settings, true)
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
    run(configuration.settings, false)
}

/// Runs until a signal ends it.
fn run(mut settings: Settings, is_dev: bool) -> Result<()> {
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
    let had_folder = data.exists();
    let is_in_use = |error: &OpenError| matches!(error, OpenError::InUse { .. });
    let store =
        soon(until, is_in_use, || FjallStore::open(&data, &seriatim_node::schema(), storage))?;
    if had_folder && store.was_open_to_others() {
        let data = data.display();
        complain(format!(
            "seriatim: {data} could be read by other users of this machine; it is for its owner alone now"
        ));
    }
    let torn_bytes = store.found_on_open().torn_bytes;
    if torn_bytes > 0 {
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
        say(welcome::text(server.address(), &data, is_dev));
        tokio::spawn(say_when_ready(node.clone()));
        tokio::spawn(say_what_stops(node.clone()));
        tokio::spawn(say_what_the_clock_does(node.clone(), clock));
        anyhow::Ok(server.run(signal).await)
    });
    runtime.shutdown_timeout(READS_WITHIN);
    let all_answered = all_answered?;
    if !all_answered {
        say("Some requests were still open and got no answer.");
    }
    node.shutdown(NODE_WITHIN)?;
    let stopped = stopped(&node);
    // The store goes with it, and so the lock on the folder: whoever reads on may open it.
    drop(node);
    if !stopped.is_empty() {
        let is_damaged = stopped.values().any(|it| it.next == NEXT_DAMAGED);
        let next = if is_damaged { NEXT_DAMAGED } else { NEXT };
        let stopped: Vec<String> = stopped.into_values().map(|it| it.what).collect();
        let what = format!("ended, but not in good order: {}", stopped.join("; "));
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

/// Says what has stopped as soon as it has, and that the disk is almost full, for as long as the
/// server runs.
async fn say_what_stops(node: Arc<Node>) {
    let mut said = BTreeMap::new();
    let mut had_room = true;
    loop {
        let room = node.room();
        match &room {
            Err(full) if had_room => complain(format!(
                "seriatim: {full}; meanwhile commands are turned away, and reads go on"
            )),
            Ok(()) if !had_room => complain("seriatim: the disk has room again"),
            Ok(()) | Err(_) => {}
        }
        had_room = room.is_ok();
        let stopped = stopped(&node);
        for (which, Stopped { what, next }) in &stopped {
            // Once for each cause. The store has one, whichever partition was the first to meet it.
            let is_said = |it: &Stopped| which.is_none() || it.what == *what;
            if !said.get(which).is_some_and(is_said) {
                complain(format!("seriatim: {what}; next: {next}"));
            }
        }
        said = stopped;
        tokio::time::sleep(WATCH_EVERY).await;
    }
}

/// Says that the clock is not believed, that it is again, and when it was believed although it is far
/// ahead and nobody vouches for it.
async fn say_what_the_clock_does(node: Arc<Node>, clock: Arc<SystemClock>) {
    let mut was_believed = true;
    loop {
        let time = node.time();
        if let Some(Jump { from, to }) = clock.take_jump() {
            complain(format!(
                "seriatim: the machine's clock is {} ahead of the newest time in the store, {}, and \
                 is believed, as clock.jump_max allows. If it is wrong, stop the server and set the \
                 clock right: keys, expiries and years end by it",
                Ahead(to, from),
                moment(from)
            ));
        }
        match time {
            Err(ahead) if was_believed => complain(format!(
                "seriatim: {}. Meanwhile commands are turned away, and reads go on",
                describe_clock(ahead)
            )),
            Ok(_) if !was_believed => complain("seriatim: the machine's clock is believed again"),
            Ok(_) | Err(_) => {}
        }
        was_believed = time.is_ok();
        tokio::time::sleep(WATCH_EVERY).await;
    }
}

/// Something that has stopped.
struct Stopped {
    /// What, and why.
    what: String,
    /// What to do about it.
    next: &'static str,
}

/// What has stopped: partitions, or (`None`) the store with all of them.
fn stopped(node: &Node) -> BTreeMap<Option<PartitionRef>, Stopped> {
    let mut stopped = BTreeMap::new();
    for (partition, state) in node.partitions() {
        let State::Stopped(reason) = state else { continue };
        if matches!(reason, Reason::Store { .. }) {
            stopped.entry(None).or_insert_with(|| Stopped { what: reason.to_string(), next: NEXT });
            continue;
        }
        let PartitionRef { app, partition: number } = partition;
        let app = node.app_name(app).map_or_else(|| app.to_string(), |name| format!("app {name}"));
        let is_damaged = matches!(reason, Reason::Unreadable { .. });
        let next = if is_damaged { NEXT_DAMAGED } else { NEXT };
        let what = format!("{number} of {app} has stopped: {reason}");
        stopped.insert(Some(partition), Stopped { what, next });
    }
    stopped
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
