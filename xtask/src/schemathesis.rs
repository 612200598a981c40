//! A fuzzer that nobody here wrote, against the document that the server serves about itself.
//!
//! ```text
//!  build ─► Python environment ─► server on a fresh folder ─► an app to find things in
//!        ─► schemathesis against /openapi.json ─► end the server ─► verify the folder ─► report
//! ```
//!
//! How it is run, and what a schema cannot say, stands in `xtask/schemathesis`. Any finding fails the task.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::tasks::{answers, cargo_command, run};

/// The release from PyPI. Another one can find other things, so it is changed on purpose only.
const VERSION: &str = "4.32.5";

/// Test cases of each operation and phase, unless the words say otherwise.
const EXAMPLES: &str = "1000";

/// A command for the app that is read from, with a record, an entity and numbers.
const COMMAND: &str = r#"{"events": [{"name": "InvoiceIssued", "args": {"total": 1250}, "changes": [
    {"create": {"id": 1, "kind": "invoice", "fields": {"number": {"$next": "invoice", "as": "text"}}}},
    {"create": {"id": 2, "kind": "line", "parent": 1, "fields": {"sku": "A-7"}}},
    {"set": {"key": "stock/A-7", "value": {"left": 4}}}, {"draw": {"sequence": "ticket"}}]}]}"#;

/// What is defined before the run. Its names stand in `schemathesis.toml` too.
const PREPARED: &[&str] = &[
    "app create shop",
    "kind define shop store",
    "sequence define shop invoice --format INV-{yyyy}-{n:06} --reset yearly",
    "sequence define shop ticket",
    "record define shop invoice --class c",
    "record define shop line --class o",
    "record define shop settings --class c --singleton",
];

/// Runs it. `words` are `--examples N --seconds N --seed N --report FILE`.
pub(crate) fn schemathesis(root: &Path, words: &[&str]) -> Result<()> {
    let asked = Asked::read(words)?;
    run(&mut cargo_command(root, &["build", "--locked", "-p", "seriatim-cli"]))?;
    let target = root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let tool = install(&target.join("schemathesis-python"))?;
    let folder = target.join("schemathesis");
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    let program = target.join("debug").join("seriatim");

    let server = Server::start(&program, &folder)?;
    server.prepare(&program, &folder)?;
    let (line, summary) = fuzz(root, &tool, &asked, &server.address)?;
    server.end(&folder)?;
    let mut verify = Command::new(&program);
    run(verify.arg("verify").arg("--data").arg(folder.join("data")))?;
    if let Some(file) = asked.report {
        let text = report(root, &program, &line, &summary)?;
        fs::write(root.join(file), text).with_context(|| format!("cannot write {file}"))?;
    }
    Ok(())
}

/// What the words ask for.
struct Asked<'w> {
    examples: &'w str,
    /// When to end at the latest. The stateful phase goes on until then.
    seconds: &'w str,
    seed: Option<&'w str>,
    report: Option<&'w str>,
}

impl<'w> Asked<'w> {
    fn read(words: &[&'w str]) -> Result<Self> {
        let mut asked = Self { examples: EXAMPLES, seconds: "300", seed: None, report: None };
        for pair in words.chunks(2) {
            match pair {
                ["--examples", count] => asked.examples = count,
                ["--seconds", count] => asked.seconds = count,
                ["--seed", seed] => asked.seed = Some(seed),
                ["--report", file] => asked.report = Some(file),
                other => bail!("{} is not known, or has no value", other.join(" ")),
            }
        }
        Ok(asked)
    }
}

/// Makes a Python environment with the fuzzer in it, unless it is there. `PYTHON` says with which one.
fn install(environment: &Path) -> Result<PathBuf> {
    let tool = environment.join("bin").join("schemathesis");
    let probe =
        format!("import importlib.metadata as m; assert m.version('schemathesis') == '{VERSION}'");
    let python = environment.join("bin").join("python");
    let mut installed = Command::new(&python);
    installed.args(["-c", &probe]);
    if !answers(installed) {
        let system = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
        run(Command::new(system).args(["-m", "venv"]).arg(environment))?;
        let wanted = format!("schemathesis=={VERSION}");
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", &wanted]))?;
    }
    Ok(tool)
}

/// A server of its own. It is killed when it is dropped.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts it on a free port and a fresh folder, and waits until it is ready.
    fn start(program: &Path, folder: &Path) -> Result<Self> {
        let log = File::create(folder.join("server.log"))?;
        let mut command = Command::new(program);
        command.args(["dev", "--listen", "127.0.0.1:0", "--data"]).arg(folder.join("data"));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn()?;
        let output = child.stdout.take().context("standard output was piped")?;
        let mut server = Self { child, address: String::new() };
        for line in BufReader::new(output).lines() {
            let line = line?;
            let said = line.split_once("http://").filter(|_| server.address.is_empty());
            if let Some((_, address)) = said {
                let address = address.split_whitespace().next().unwrap_or_default();
                server.address = format!("http://{address}");
            }
            if line.starts_with("Ready") {
                return Ok(server);
            }
        }
        bail!("the server ended before it was ready: see {}", folder.join("server.log").display())
    }

    /// Makes the app that reads find something in.
    fn prepare(&self, program: &Path, folder: &Path) -> Result<()> {
        let call = || {
            let mut command = Command::new(program);
            command.env("SERIATIM_SERVER", &self.address).stdout(Stdio::null());
            command
        };
        for words in PREPARED {
            run(call().args(words.split(' ')))?;
        }
        let file = folder.join("command.json");
        fs::write(&file, COMMAND)?;
        for last in ['0', '1', '2'] {
            let key = format!("0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f5{last}");
            let words = ["submit", "shop", "store-1", "--client", "pos-4", "--key", &key, "--file"];
            run(call().args(words).arg(&file))?;
        }
        Ok(())
    }

    /// Ends it, unless it has ended by itself or a thread of it has panicked.
    fn end(mut self, folder: &Path) -> Result<()> {
        ensure!(self.child.try_wait()?.is_none(), "the server has ended during the run");
        let log = fs::read_to_string(folder.join("server.log"))?;
        ensure!(!log.contains("panicked"), "a thread of the server has panicked:\n{log}");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What it has acknowledged is durable; and nobody is left to tell when this fails.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs the fuzzer. Returns its command line, and what it says in the end.
fn fuzz(root: &Path, tool: &Path, asked: &Asked<'_>, address: &str) -> Result<(String, String)> {
    let settings = Path::new("xtask/schemathesis");
    let mut words = vec!["--config-file", "xtask/schemathesis/schemathesis.toml", "run"];
    let document = format!("{address}/openapi.json");
    words.extend([&document, "--checks", "all", "--max-examples", asked.examples]);
    words.extend(["--max-time", asked.seconds, "--workers", "1", "--no-color"]);
    words.extend(["--generation-database", "none", "--output-sanitize", "false"]);
    words.extend(asked.seed.into_iter().flat_map(|seed| ["--seed", seed]));
    let mut command = Command::new(tool);
    command.args(&words).current_dir(root).env("SCHEMATHESIS_HOOKS", settings.join("hooks.py"));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut said = Vec::new();
    for line in BufReader::new(child.stdout.take().context("it was piped")?).lines() {
        let line = line?;
        writeln!(std::io::stdout(), "{line}")?;
        said.push(line);
    }
    let status = child.wait()?;
    ensure!(status.success(), "schemathesis has found something: {status}");
    let line = words.join(" ").replace(address, "http://127.0.0.1:PORT");
    Ok((format!("schemathesis {line}"), said.join("\n")))
}

fn report(root: &Path, program: &Path, line: &str, summary: &str) -> Result<String> {
    let output = |command: &mut Command| -> Result<String> {
        Ok(String::from_utf8(command.output()?.stdout)?.trim().to_owned())
    };
    let date = output(Command::new("date").args(["-u", "+%F"]))?;
    let commit =
        output(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root))?;
    let version = output(Command::new(program).arg("version"))?;
    Ok(format!(
        "# schemathesis against /openapi.json\n\n\
         [schemathesis](https://schemathesis.readthedocs.io) {VERSION} makes requests from the document \
         that a server serves about itself, those that fit it and those that do not, and compares the answers \
         with it. A finding fails the run, so there is no report with one. So does a server that ends, a \
         thread that panics, or a store that `seriatim verify` finds wrong afterwards.\n\n\
         Made by `cargo xtask schemathesis` on {date}, of commit {commit}, with a debug build of {version}.\n\n\
         ```sh\n{line}\n```\n\n\
         How it is run is in [schemathesis.toml](../../xtask/schemathesis/schemathesis.toml). What it drops \
         (`filter_failure`) are valid requests that were refused for what no schema can say, each listed with its \
         reason in [hooks.py](../../xtask/schemathesis/hooks.py). That schemas and parser say the same of each \
         member is also a [test](../../crates/server/tests/it/fitting.rs).\n\n\
         ```text\n{}\n```\n",
        plain(summary)
    ))
}

/// What the fuzzer says, without where it ran.
fn plain(summary: &str) -> String {
    let is_kept = |line: &&str| {
        !["Loaded specification", "Base URL", "Configuration"].iter().any(|it| line.contains(it))
    };
    let lines: Vec<&str> = summary.lines().map(str::trim_end).filter(is_kept).collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_pairs_and_others_are_refused() {
        let asked = Asked::read(&["--examples", "7", "--report", "a.md"]).unwrap();
        assert_eq!((asked.examples, asked.seconds, asked.report), ("7", "300", Some("a.md")));
        let unknown = Asked::read(&["--example", "7"]).err().unwrap();
        assert_eq!(unknown.to_string(), "--example 7 is not known, or has no value");
        assert!(Asked::read(&["--seed"]).is_err());
    }

    #[test]
    fn a_report_does_not_say_where_it_ran() {
        let said = "Schemathesis v4\n  Base URL: http://127.0.0.1:1\n  Operations: 29  \n\n";
        assert_eq!(plain(said), "Schemathesis v4\n  Operations: 29");
    }
}
