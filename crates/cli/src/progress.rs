//! Long work says how far it is.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a line on a terminal is drawn anew.
const REDRAW: Duration = Duration::from_millis(100);

/// To the first column, and the line away.
const REMOVE: &str = "\r\x1b[2K";

/// How often a line is added where none can be drawn anew.
const SAY: Duration = Duration::from_secs(5);

/// Whether a line is on the terminal.
static IS_DRAWN: AtomicBool = AtomicBool::new(false);

/// A line on standard error that is drawn anew on a terminal, and added every few seconds
/// elsewhere. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    is_terminal: bool,
    said: Instant,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { is_terminal: io::stderr().is_terminal(), said: Instant::now() }
    }

    /// Says how far it is, if it is time to.
    pub(crate) fn say(&mut self, line: impl FnOnce() -> String) {
        let every = if self.is_terminal { REDRAW } else { SAY };
        if self.said.elapsed() < every {
            return;
        }
        self.said = Instant::now();
        let line = line();
        let mut err = io::stderr().lock();
        IS_DRAWN.store(self.is_terminal, Ordering::Relaxed);
        match self.is_terminal {
            true => write(&mut err, &format!("{REMOVE}{line}")),
            false => write(&mut err, &format!("{line}\n")),
        }
    }
}

/// Removes the line that is on the terminal. As long as what it returns is held, nobody draws another.
pub(crate) fn remove() -> io::StderrLock<'static> {
    let mut err = io::stderr().lock();
    if IS_DRAWN.swap(false, Ordering::Relaxed) {
        write(&mut err, REMOVE);
    }
    err
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(remove());
    }
}

/// Nobody is told when nobody listens.
fn write(err: &mut io::StderrLock<'_>, text: &str) {
    drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
}
