//! `seriatim dev` as a process of its own, that can be killed.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// A server process. It is killed when it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Server {
    /// Starts a server, and waits until it is ready. Port 0 takes any that is free.
    pub(super) async fn start(data: &Path, listen: SocketAddr) -> Result<Self> {
        let program = std::env::current_exe().context("this program cannot be found")?;
        let mut command = Command::new(program);
        let address = listen.to_string();
        command.args(["dev", "--until-input-ends", "--listen", &address, "--data"]).arg(data);
        // Ctrl-C is for the demo, which ends its server then. One that is killed closes the input.
        let command = command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn().context("the server cannot be started")?;
        // From here on it is killed by whoever no longer waits for it.
        let mut server = Self { child, address: listen };
        let out = server.child.stdout.take().context("its output was piped")?;
        server.address = tokio::task::spawn_blocking(|| ready(out)).await??;
        Ok(server)
    }

    /// As a crash would: SIGKILL, wherever it is.
    pub(super) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Lets it end in good order.
    pub(super) fn end(mut self) -> Result<()> {
        // Its end would be the second signal, at which a server waits for nothing.
        let _input = self.child.stdin.take();
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the server did not end well: {status}");
        Ok(())
    }
}

/// Where a server listens, as soon as it says that it is ready. It ends with the server at the latest.
fn ready(out: ChildStdout) -> Result<SocketAddr> {
    let mut address = None;
    for line in BufReader::new(out).lines() {
        let line = line?;
        if let Some((_, found)) = line.split_once("listens on http://") {
            address = Some(found.parse()?);
        }
        if line.starts_with("Ready") {
            return address.context("a server says where it listens");
        }
    }
    bail!("the server ended early")
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
