//! Long work says how far it is.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often a line on a terminal is drawn anew.
const REDRAW: Duration = Duration::from_millis(100);

/// How often a line is added where none can be drawn anew.
const SAY: Duration = Duration::from_secs(5);

/// A line on standard error that is drawn anew on a terminal, and added every few seconds
/// elsewhere. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    is_terminal: bool,
    said: Instant,
    is_drawn: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { is_terminal: io::stderr().is_terminal(), said: Instant::now(), is_drawn: false }
    }

    /// Says how far it is, if it is time to.
    pub(crate) fn say(&mut self, line: impl FnOnce() -> String) {
        let every = if self.is_terminal { REDRAW } else { SAY };
        if self.said.elapsed() < every {
            return;
        }
        self.said = Instant::now();
        self.is_drawn = self.is_terminal;
        let line = line();
        let line = if self.is_terminal { format!("\r\x1b[2K{line}") } else { format!("{line}\n") };
        write(&line);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_drawn {
            write("\r\x1b[2K");
        }
    }
}

/// Nobody is told when nobody listens.
fn write(text: &str) {
    let mut err = io::stderr().lock();
    drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
}
