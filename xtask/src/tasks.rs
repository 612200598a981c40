//! The tasks that run other programs: `verify`, `test`, `fix`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::{instructions, needs, tidy};

/// Checks everything that can be checked without running the system, cheapest first.
pub(crate) fn verify(root: &Path) -> Result<()> {
    timed("format", || cargo(root, &["fmt", "--all", "--", "--check"]))?;
    timed("clippy", || {
        let lint = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
        cargo(root, &lint)?;
        let planted = ["clippy", "-p", "seriatim-sim", "--features", "planted", "--all-targets"];
        cargo(root, &[&planted[..], &["--locked", "--", "-D", "warnings"]].concat())
    })?;
    timed("docs", || {
        let mut doc = cargo_command(root, &["doc", "--workspace", "--no-deps", "--locked"]);
        run(doc.env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    timed("tidy", || tidy::run(root))
}

/// Runs every test. A test that cannot run here must fail, so what it needs comes first.
pub(crate) fn test(root: &Path) -> Result<()> {
    needs::install()?;
    if answers(cargo_command(root, &["nextest", "--version"])) {
        println!("test: with cargo-nextest, because it is installed; then the doc tests");
        cargo(root, &["nextest", "run", "--workspace", "--locked", "--no-fail-fast"])?;
        // nextest does not know doc tests.
        cargo(root, &["test", "--workspace", "--doc", "--locked"])?;
    } else {
        println!("test: with cargo test, because cargo-nextest is not installed");
        cargo(root, &["test", "--workspace", "--locked", "--no-fail-fast"])?;
    }
    // Bugs on purpose are built apart from everything else.
    let planted = ["test", "-p", "seriatim-sim", "--features", "planted", "--test", "planted"];
    cargo(root, &[&planted[..], &["--locked"]].concat())?;
    instructions::check(root)
}

/// Applies what the tools can repair. Clippy goes first: its repairs come out unformatted.
pub(crate) fn fix(root: &Path) -> Result<()> {
    cargo(root, &["clippy", "--fix", "--allow-dirty", "--all-targets"])?;
    cargo(root, &["fmt", "--all"])
}

/// Runs a command with our own output; a status other than success is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = command_line(command);
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    ensure!(status.success(), "`{line}` failed: {status}");
    Ok(())
}

/// Whether a command exists and succeeds. What it prints is not shown.
pub(crate) fn answers(mut command: Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The cargo that started us, so that the pinned toolchain checks what it built.
pub(crate) fn cargo_command(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root);
    command
}

fn cargo(root: &Path, args: &[&str]) -> Result<()> {
    run(&mut cargo_command(root, args))
}

fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn timed(name: &str, step: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("verify: {name}");
    let start = Instant::now();
    let result = step();
    let outcome = if result.is_ok() { "passed" } else { "failed" };
    println!("verify: {name} {outcome} after {:.1} s", start.elapsed().as_secs_f64());
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_an_error_that_names_it() {
        let error = run(Command::new("false").arg("-x")).unwrap_err();
        assert!(error.to_string().starts_with("`false -x` failed"), "{error}");
        run(&mut Command::new("true")).unwrap();
    }

    #[test]
    fn a_program_that_does_not_exist_does_not_answer() {
        assert!(!answers(Command::new("no-such-program-anywhere")));
        assert!(answers(Command::new("true")));
    }
}
