//! The binary `seriatim`.
//!
//! ```text
//!  arguments ─► task ─┬─► dev, serve, config, sim …     this machine
//!                     └─► app, submit, log … ─► client ─► a server
//!            ◄── standard output: what was asked for    exit code: how it ended
//!            ◄── standard error: progress, what went wrong, what to do next
//! ```

mod address;
mod alerts;
mod args;
mod bench;
mod commands;
mod completion;
mod config;
mod demo;
mod document;
mod exit;
mod handles;
mod output;
mod progress;
mod remote;
mod serve;
mod server_log;
mod settings;
mod signals;
mod sim;
mod submit;
mod verify;
mod welcome;

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser};

use args::{Cli, Common, Task};
use commands::{
    app, client, clock, entity, kind, log, partition, proof, receipt, record, sequence, workspace,
};
use document::{object, of};
use exit::{Exit, Failure};
use output::Form;
use remote::ask;

/// Commands are taken on one thread, carried out on another and let go of on a third, which is where
/// the system's own allocator waits for its locks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Cli { common, task } = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return not_understood(&error),
    };
    let exit = match run(&common, &task) {
        Ok(()) => Exit::Done,
        Err(error) => exit::report(error, common.output == Form::Json, is_write()),
    };
    exit.into()
}

/// Says what is wrong with the arguments, or the help that they ask for.
fn not_understood(error: &clap::Error) -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let is_json = |[option, form]: [&str; 2]| {
        arguments.iter().any(|it| *it == *format!("{option}{form}"))
            || arguments.windows(2).any(|it| it == [option.trim_end_matches('='), form])
    };
    let as_json = [["-o", "json"], ["-o=", "json"], ["--output=", "json"]].into_iter().any(is_json);
    if error.exit_code() == 0 || !as_json {
        // Nobody is told when nobody listens.
        drop(error.print());
        return if error.exit_code() == 0 { Exit::Done } else { Exit::Usage }.into();
    }
    // Behind an empty line it may have a tip, and then it says how to ask for help.
    let rendered = error.render().to_string();
    let mut parts = rendered.split("\n\n");
    let message = parts.next().unwrap_or_default().trim_start_matches("error: ");
    let failure = Failure::usage(message);
    let failure = match parts.find_map(|part| part.trim_start().strip_prefix("tip: ")) {
        Some(tip) => failure.advise(tip),
        None => failure,
    };
    exit::report(failure.into(), true, is_write()).into()
}

/// Whether the arguments ask for something to be written, understood or not.
fn is_write() -> bool {
    let Ok(arguments) = Cli::command().ignore_errors(true).try_get_matches() else { return false };
    let Some((noun, below)) = arguments.subcommand() else { return false };
    let verbs = [noun, below.subcommand_name().unwrap_or_default()];
    noun == "submit"
        || verbs == ["app", "create"]
        || verbs == ["app", "set"]
        || verbs == ["workspace", "declare"]
        || verbs == ["clock", "accept"]
        || verbs.ends_with(&["define"])
}

fn run(common: &Common, task: &Task) -> Result<()> {
    match task {
        Task::Dev(args) => serve::dev(args),
        Task::Serve(args) => serve::serve(args),
        Task::App(task) => ask(common, async |remote| app::run(&remote, task).await),
        Task::Sequence(task) => ask(common, async |it| sequence::run(&it, task).await),
        Task::Kind(task) => ask(common, async |it| kind::run(&it, task).await),
        Task::Workspace(task) => ask(common, async |it| workspace::run(&it, task).await),
        Task::Submit(args) => submit::run(common, args),
        Task::Log(task) => ask(common, async |it| log::run(&it, task).await),
        Task::Record(task) => ask(common, async |it| record::run(&it, task).await),
        Task::Entity(task) => ask(common, async |it| entity::run(&it, task).await),
        Task::Receipt(task) => ask(common, async |it| receipt::run(&it, task).await),
        Task::Client(task) => ask(common, async |it| client::run(&it, task).await),
        Task::Partition(task) => ask(common, async |it| partition::run(&it, task).await),
        Task::Clock(task) => ask(common, async |it| clock::run(&it, task).await),
        Task::Proof(task) => ask(common, async |it| proof::run(&it, task).await),
        Task::Verify(args) => verify::run(common, args),
        Task::Bench(args) => bench::run(common, args),
        Task::Sim(args) => sim::run(common.output, args),
        Task::Demo => demo::run(common.output),
        Task::Config(task) => settings::run(common.output, task),
        Task::Completion { shell } => completion::print_for(*shell),
        Task::Version => {
            let version = env!("CARGO_PKG_VERSION");
            let document = object([("name", of("seriatim")), ("version", of(version))]);
            Ok(common.output.print_as(&document, || format!("seriatim {version}"))?)
        }
    }
}
