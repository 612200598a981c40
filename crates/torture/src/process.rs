//! The server as a process that can be killed.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use seriatim_testkit::ReconnectingClient;

/// How often a server that is not ready is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(2);

/// Which program is tortured. All of them print the address that they listen on.
#[derive(Debug, Clone)]
pub enum Program {
    /// `seriatim dev`, as users start it.
    Dev(PathBuf),
    /// The server in a process of this crate's own program.
    Serve(PathBuf),
    /// The same, which notes what its syncs have covered, so that the rest can be taken away.
    ServeAndNote(PathBuf),
    /// The same with a planted fault: it answers before it has synced.
    ServeHastily(PathBuf),
}

impl Program {
    /// Whether what no sync has covered is lost with the process.
    pub(crate) fn loses_unsynced(&self) -> bool {
        matches!(self, Self::ServeAndNote(_) | Self::ServeHastily(_))
    }

    /// What it is called in reports.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Self::Dev(_) => "seriatim dev, SIGKILL",
            Self::Serve(_) => "the server library, SIGKILL",
            Self::ServeAndNote(_) => "the server library, SIGKILL and lost unsynced data",
            Self::ServeHastily(_) => "a server that answers before it syncs, SIGKILL and lost data",
        }
    }

    fn command(&self, data: &Path, synced: &Path) -> Command {
        let (Self::Dev(program)
        | Self::Serve(program)
        | Self::ServeAndNote(program)
        | Self::ServeHastily(program)) = self;
        let mut command = Command::new(program);
        command.arg(if matches!(self, Self::Dev(_)) { "dev" } else { "serve" });
        command.args(["--listen", "127.0.0.1:0", "--data"]).arg(data);
        if self.loses_unsynced() {
            command.arg("--synced").arg(synced);
        }
        if matches!(self, Self::ServeHastily(_)) {
            command.arg("--hasty");
        }
        command
    }
}

/// A server that was started. It is killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    started: Instant,
    /// The address once it was printed. Ends with the process.
    said: Receiver<SocketAddr>,
    log: PathBuf,
}

impl Server {
    /// Starts a server on a folder. Its messages are added to the file `log`.
    pub(crate) fn start(
        program: &Program,
        data: &Path,
        synced: &Path,
        log: PathBuf,
    ) -> Result<Self> {
        let messages = OpenOptions::new().create(true).append(true).open(&log)?;
        let mut command = program.command(data, synced);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(messages);
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let output = child.stdout.take().context("standard output was piped")?;
        let (sender, said) = mpsc::channel();
        thread::spawn(move || listen(output, &sender));
        Ok(Self { child, started, said, log })
    }

    /// Waits until the server is ready, and returns its address; `None` when time is over.
    pub(crate) fn wait_until_ready(&mut self, within: Duration) -> Result<Option<SocketAddr>> {
        let deadline = self.started + within;
        let left = || deadline.saturating_duration_since(Instant::now());
        let address = match self.said.recv_timeout(left()) {
            Ok(address) => address,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => return self.ended(),
        };
        let mut http = ReconnectingClient::new(address);
        while !left().is_zero() {
            if http.send("GET", "/readyz", &[], b"").is_ok_and(|response| response.status == 200) {
                return Ok(Some(address));
            }
            if self.said.recv_timeout(ASK_AGAIN) == Err(RecvTimeoutError::Disconnected) {
                return self.ended();
            }
        }
        Ok(None)
    }

    /// How long ago it was started.
    pub(crate) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Ends the process at once, wherever it is, and waits until it is gone.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    fn ended<T>(&mut self) -> Result<T> {
        let status = self.child.wait()?;
        bail!("the server ended by itself ({status}); {} has its words", self.log.display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It is already gone after `kill`, and nobody is left to tell when this fails.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Reads what a server prints until it ends, and tells the address.
fn listen(output: ChildStdout, said: &Sender<SocketAddr>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some(address) = address_in(&line) {
            // Nobody listens any more once the server was killed; and whoever has heard the
            // address once listens only for the end.
            said.send(address).ok();
        }
    }
}

fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, behind) = line.split_once("127.0.0.1:")?;
    let port: String = behind.chars().take_while(char::is_ascii_digit).collect();
    Some(SocketAddr::from(([127, 0, 0, 1], port.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_a_line_of_text() {
        let address = address_in("ready on http://127.0.0.1:7600/, data in ./x");
        assert_eq!(address.unwrap().port(), 7600);
        assert_eq!(address_in("starting"), None);
    }
}
