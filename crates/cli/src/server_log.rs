//! The log of a server: events of all crates, a line each, on standard error.
//!
//! ```text
//!  any thread ─► event ─► line ─► queue ─► thread "log" ─► standard error
//!                                   └ full: the line is lost, and counted
//! ```
//!
//! Events are emitted by threads that own partitions and by those that sync. Whoever does not read the
//! other end of the pipe must not stop them, so they never wait for it.
//!
//! **Invariant:** a fact is on standard error once: as an event, or as the error that a process ends with.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TrySendError};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, fmt, registry};

/// Lines that may wait to be written.
const LINES_MAX: usize = 4096;

/// How long the log may take to be written when the process ends by a fault.
const FAULT_WITHIN: Duration = Duration::from_millis(100);

/// What targets of our own crates begin with. Others are heard from `warn` on: they say more of each
/// connection than an operator wants to know.
const OURS: &str = "seriatim";

/// What is logged, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogSettings {
    pub(crate) format: LogFormat,
    pub(crate) level: LogLevel,
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// The time, the level, what has happened, and its fields.
    Human,
    /// The same as one JSON object.
    Json,
}

/// The least severe events that are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { format: LogFormat::Human, level: LogLevel::Info }
    }
}

impl LogFormat {
    /// All of them, with their names.
    pub(crate) const NAMED: &[(&str, Self)] = &[("human", Self::Human), ("json", Self::Json)];
}

impl LogLevel {
    /// All of them, with their names.
    pub(crate) const NAMED: &[(&str, Self)] = &[
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
    ];

    fn filter(self) -> LevelFilter {
        match self {
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
        }
    }
}

/// The queue of the process.
static QUEUE: OnceLock<Queue> = OnceLock::new();

/// Logs what this process does from now on.
pub(crate) fn install(settings: LogSettings) -> io::Result<()> {
    let queue = QUEUE.get_or_init(Queue::begin);
    std::thread::Builder::new().name("log".to_owned()).spawn(|| queue.write_all())?;
    let LogSettings { format, level } = settings;
    let others = level.filter().min(LevelFilter::WARN);
    let filter = Targets::new().with_default(others).with_target(OURS, level.filter());
    // What cannot be written cannot be reported there either.
    let lines = fmt::layer().log_internal_errors(false).with_ansi(false).with_writer(queue);
    let lines = match format {
        LogFormat::Human => lines.with_target(false).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_target(false).boxed(),
    };
    // The last lines before a fault are those that are asked for.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |fault| {
        flush(FAULT_WITHIN);
        report(fault);
    }));
    let subscriber = registry().with(lines.with_filter(filter));
    tracing::subscriber::set_global_default(subscriber).map_err(io::Error::other)
}

/// Waits until everything that was logged is written, or as long as somebody who reads would take.
pub(crate) fn flush(within: Duration) {
    let Some(queue) = QUEUE.get() else { return };
    let (written, is_written) = mpsc::channel();
    if queue.sender.try_send(Message::Flush(written)).is_ok() {
        let _ = is_written.recv_timeout(within);
    }
}

/// Lines on their way to standard error.
struct Queue {
    sender: SyncSender<Message>,
    messages: Mutex<Option<Receiver<Message>>>,
    lost: AtomicU64,
}

enum Message {
    Line(Vec<u8>),
    Flush(Sender<()>),
}

impl Queue {
    fn begin() -> Self {
        let (sender, messages) = mpsc::sync_channel(LINES_MAX);
        Self { sender, messages: Mutex::new(Some(messages)), lost: AtomicU64::new(0) }
    }

    /// Writes lines as they come. Only the first who asks does.
    fn write_all(&self) {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner).take();
        for message in messages.iter().flatten() {
            match message {
                // Nobody is told when nobody listens.
                Message::Line(line) => drop(io::stderr().write_all(&line)),
                Message::Flush(written) => drop(written.send(())),
            }
            let lost = self.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                tracing::warn!(lines = lost, "log lines lost: standard error was not read");
            }
        }
    }
}

impl<'q> MakeWriter<'q> for &'static Queue {
    type Writer = QueueWriter;

    fn make_writer(&'q self) -> QueueWriter {
        QueueWriter(self)
    }
}

/// Takes one line at a time.
struct QueueWriter(&'static Queue);

impl Write for QueueWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match self.0.sender.try_send(Message::Line(line.to_vec())) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.0.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_nobody_takes_are_counted_and_nobody_waits() {
        let queue: &'static Queue = Box::leak(Box::new(Queue::begin()));
        for _ in 0..LINES_MAX + 3 {
            queue.make_writer().write_all(b"line\n").unwrap();
        }
        assert_eq!(queue.lost.load(Ordering::Relaxed), 3);
    }
}
