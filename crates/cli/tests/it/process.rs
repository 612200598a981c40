//! A process that runs the binary.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use seriatim_testkit::HttpClient;

/// The binary with arguments, run to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    command(arguments).stdin(Stdio::null()).output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seriatim"));
    command.args(arguments);
    command
}

/// A server that runs. It is killed when it is dropped.
pub(crate) struct Dev {
    child: Child,
    out: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
    /// What it said up to the moment at which it was ready.
    pub(crate) said: String,
}

impl Dev {
    /// Starts a server on a data folder, and waits until it says that it is ready.
    pub(crate) fn start(data: &Path) -> Self {
        let arguments = ["dev", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        let mut child = command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        while !said.lines().any(|line| line.starts_with("Ready")) {
            assert_ne!(out.read_line(&mut said).unwrap(), 0, "it ended early:\n{said}");
        }
        let address = said.split("http://").nth(1).and_then(|rest| rest.split_whitespace().next());
        let address = address.unwrap().parse().unwrap();
        Self { child, out, address, said }
    }

    pub(crate) fn client(&self) -> HttpClient {
        HttpClient::connect(self.address).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The rest of what it says, until it ends.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }

    /// As a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
