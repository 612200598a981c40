//! The signals that end a server, and everything else.
//!
//! Those of a server are listened to on a thread of their own, so that a second one is heard whatever
//! the rest of the process waits for.

use std::future::Future;
use std::io;
use std::time::Duration;

use anyhow::Result;
use rustix::process::{Signal as Terminate, getpid, kill_process};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::exit::{Exit, Interrupted};
use crate::progress;
use crate::server_log;
use crate::welcome::say;

/// How long the log of a server that ends at once may take to be written.
const LOG_WITHIN: Duration = Duration::from_millis(100);

/// Does something until it is done or interrupted. What it holds is let go either way: a line that
/// is drawn, a folder, a process.
pub(crate) async fn interruptible<T>(task: impl Future<Output = Result<T>>) -> Result<T> {
    let interrupted = interrupt();
    tokio::select! {
        result = task => result,
        () = interrupted => Err(Interrupted.into()),
    }
}

/// Waits for SIGINT, or for SIGTERM, by which somebody else's patience ends. They are listened to from
/// this call on, and not only once it is waited: what came before that would end the process in the
/// middle of what it has begun.
pub(crate) fn interrupt() -> impl Future<Output = ()> {
    let signals = signal(SignalKind::interrupt())
        .and_then(|interrupt| Ok((interrupt, signal(SignalKind::terminate())?)));
    async move {
        match signals {
            Ok((mut interrupt, mut terminate)) => either(&mut interrupt, &mut terminate).await,
            // They cannot be listened to, and end the process as they always did.
            Err(_) => std::future::pending().await,
        }
    }
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

fn both(runtime: &Runtime) -> io::Result<(Signal, Signal)> {
    let _entered = runtime.enter();
    Ok((signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
}

/// Ends the process when it is interrupted, and leaves no line on the terminal: for work that never
/// waits, so that nothing else could end it.
pub(crate) fn end_when_interrupted() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = both(&runtime)?;
    let end = move || {
        runtime.block_on(either(&mut interrupt, &mut terminate));
        let _nobody_draws = progress::remove();
        std::process::exit(Exit::Interrupted as i32);
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(end)?;
    Ok(())
}

/// Sends this process SIGTERM once standard input has ended, as that of a process does whose parent is
/// gone, in whatever way.
pub(crate) fn terminate_when_input_ends() -> io::Result<()> {
    let wait = || {
        // What cannot be read has ended too.
        drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
        kill_process(getpid(), Terminate::TERM).expect("a process may send itself a signal");
    };
    std::thread::Builder::new().name("input".to_owned()).spawn(wait)?;
    Ok(())
}

/// Ends at the first SIGINT or SIGTERM. A second one ends the process at once.
pub(crate) fn listen() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut interrupt, mut terminate) = both(&runtime)?;
    let (sender, first) = oneshot::channel();
    let wait = async move {
        either(&mut interrupt, &mut terminate).await;
        say("Stopping: answers in flight are given first. Once more stops at once.");
        let _ = sender.send(());
        either(&mut interrupt, &mut terminate).await;
        say("Stopped at once. Everything that was acknowledged is on disk.");
        server_log::flush(LOG_WITHIN);
        std::process::exit(130);
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(wait))?;
    Ok(async move { drop(first.await) })
}
