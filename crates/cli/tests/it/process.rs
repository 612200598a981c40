//! A process that runs the binary.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use seriatim_testkit::HttpClient;

/// The binary with arguments, run to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    command(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The binary with arguments. It hears nothing of what is set around the tests.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seriatim"));
    let ours = std::env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| name.to_string_lossy().starts_with("SERIATIM")) {
        command.env_remove(name);
    }
    command.args(arguments);
    command
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// What it printed, if it ended well.
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self.out
    }

    /// What it complained about, if it ended with this code and printed nothing else.
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{}", self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self.err
    }
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
        let data = data.to_str().unwrap();
        Self::spawn(command(&["dev", "--listen", "127.0.0.1:0", "--data", data]))
    }

    pub(crate) fn spawn(command: Command) -> Self {
        Self::spawn_until(command, "Ready")
    }

    /// Starts a server, and waits until it says something.
    pub(crate) fn spawn_until(mut command: Command, beginning: &str) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        while !said.lines().any(|line| line.starts_with(beginning)) {
            assert_ne!(out.read_line(&mut said).unwrap(), 0, "it ended early:\n{said}");
        }
        let address = said.split("http://").nth(1).and_then(|rest| rest.split_whitespace().next());
        let address = address.unwrap().parse().unwrap();
        Self { child, out, address, said }
    }

    /// Its standard error, if that was asked for.
    pub(crate) fn errors(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn client(&self) -> HttpClient {
        HttpClient::connect(self.address).unwrap()
    }

    /// The most memory that it ever had.
    pub(crate) fn peak_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kibibytes: u64 = peak.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        kibibytes * 1024
    }

    /// The binary as a client of this server.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("SERIATIM_SERVER", format!("http://{}", self.address)).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// The same, with something on standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap().into()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The next line that it says.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.out.read_line(&mut line).unwrap(), 0, "it has ended");
        line
    }

    /// Lets it end in good order.
    pub(crate) fn end(self) {
        self.signal(Signal::TERM);
        assert!(self.ended().0.success());
    }

    /// The rest of what it says, until it ends.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }

    /// Kills it, and starts it again where it was.
    pub(crate) fn killed_and_back(self, data: &Path) -> Self {
        let address = self.address.to_string();
        self.kill();
        let data = data.to_str().unwrap();
        Self::spawn(command(&["dev", "--listen", &address, "--data", data]))
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
