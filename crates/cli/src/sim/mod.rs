//! `seriatim sim`: the real code on virtual time, network and disk, from a seed.
//!
//! ```text
//!  --seed N                    one run, twice: the report, and with --trace all that happens
//!  --seed N --seeds K          K runs over all cores: what they come to together
//!  --mutation NAME             the same with a bug on purpose, which should be found
//! ```

mod planted;
mod report;

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use seriatim_sim::{Report, Totals, ended_by_panic, many, run_twice};

use crate::document::{Json, object, of};
use crate::exit::{self, Failure};
use crate::output::{Form, Table};
use crate::progress::Progress;
use crate::signals;

#[derive(Debug, Clone, Args)]
pub(crate) struct SimArgs {
    /// The number that everything follows from, or the first of many.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How many things happen while things go wrong. Then everything heals.
    #[arg(long, value_name = "M", default_value_t = 3_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    steps: u64,
    /// Runs so many seeds, over all cores, up to the first that fails.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// Prints everything that happens, not only the last of it if something does not hold.
    #[arg(long, conflicts_with_all = ["seeds", "mutation"])]
    trace: bool,
    /// Plants a bug, to see it found. Only a build with the feature `planted` can.
    #[arg(long, value_name = "NAME")]
    mutation: Option<String>,
    /// Lists the bugs that this build can plant.
    #[arg(long, conflicts_with_all = ["seeds", "trace", "mutation"])]
    list_mutations: bool,
}

thread_local! {
    /// The seed that this thread runs.
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// Held by the thread whose panic is reported, up to the end of the process.
static FIRST: Mutex<()> = Mutex::new(());

pub(crate) fn run(output: Form, args: &SimArgs) -> Result<()> {
    if args.list_mutations {
        return list_mutations(output);
    }
    if let Some(name) = &args.mutation {
        check_mutation(name)?;
    }
    let so_far = Arc::new(SoFar { begin: Instant::now(), totals: Mutex::default() });
    report_what_aborts(output, args, so_far.clone());
    signals::end_when_interrupted()?;
    match args.seeds {
        None => run_one(output, args),
        Some(seeds) => run_many(output, args, seeds, &so_far),
    }
}

fn run_one(output: Form, args: &SimArgs) -> Result<()> {
    let (report, lines) = args.run(args.seed);
    let all = args.trace.then_some(lines.as_slice());
    let document = report::document(args, &report, all);
    output.print_as(&document, || report::text(&report, all))?;
    Ok(report::check(args, &report)?)
}

/// What many seeds have come to, for whoever has to report it.
struct SoFar {
    begin: Instant,
    totals: Mutex<Totals>,
}

impl SoFar {
    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn print(&self, output: Form, args: &SimArgs) -> Result<Totals> {
        let (took, totals) = (self.begin.elapsed(), self.totals().clone());
        let document = report::summary(args, &totals, took);
        output.print_as(&document, || report::summary_text(args, &totals, took))?;
        Ok(totals)
    }
}

fn run_many(output: Form, args: &SimArgs, seeds: u64, so_far: &SoFar) -> Result<()> {
    let threads = std::thread::available_parallelism().context("nobody knows the cores")?;
    let end = args.seed.checked_add(seeds);
    let end = end.ok_or_else(|| Failure::usage("there are not so many seeds behind --seed"))?;
    let mut progress = Progress::new();
    let run = |seed| args.run(seed).0;
    many(args.seed..end, threads, run, |report| {
        let mut totals = so_far.totals();
        totals.add(report);
        progress.say(|| {
            let rate = totals.seeds_per_second(so_far.begin.elapsed());
            format!("{} of {seeds} seeds, {rate:.1} per second", totals.seeds)
        });
    });
    drop(progress);
    let totals = so_far.print(output, args)?;
    totals.failed.map_or(Ok(()), |failed| Ok(report::check(args, &failed)?))
}

impl SimArgs {
    fn run(&self, seed: u64) -> (Report, Vec<String>) {
        SEED.set(seed);
        match &self.mutation {
            None => run_twice(seed, self.steps),
            Some(name) => {
                let report = planted::run(name, seed, self.steps);
                (report.expect("the name was looked up before"), Vec::new())
            }
        }
    }

    /// What shows a seed again.
    fn command_line(&self, seed: u64) -> String {
        let mutation = self.mutation.iter().map(|name| format!(" --mutation {name}"));
        let mutation: String = mutation.collect();
        format!("seriatim sim --seed {seed} --steps {}{mutation}", self.steps)
    }
}

/// An assertion of the real code that fails is a verdict like others. In a build that ends at a panic
/// nobody can catch it, so it is reported before that, with what its thread knows. The first thread that
/// comes to one ends them all: a lower seed that was under way is not waited for.
fn report_what_aborts(output: Form, args: &SimArgs, so_far: Arc<SoFar>) {
    if !cfg!(panic = "abort") {
        return;
    }
    let args = args.clone();
    std::panic::set_hook(Box::new(move |panic| {
        let _first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        let (report, lines) = ended_by_panic(SEED.get(), args.steps, panic.to_string());
        // Nobody is told when nobody listens.
        if args.seeds.is_some() {
            so_far.totals().add(report.clone());
            drop(so_far.print(output, &args));
        } else {
            let all = args.trace.then_some(lines.as_slice());
            let document = report::document(&args, &report, all);
            drop(output.print_as(&document, || report::text(&report, all)));
        }
        let failure = report::check(&args, &report).expect_err("it is a violation");
        let exit = exit::report(failure.into(), output == Form::Json, false);
        std::process::exit(exit as i32);
    }));
}

fn list_mutations(output: Form) -> Result<()> {
    let all = planted::all();
    if all.is_empty() {
        return Err(without_mutations().into());
    }
    let member =
        |(name, story): &(&str, &str)| object([("name", of(*name)), ("story", of(*story))]);
    let document = Json::List(all.iter().map(member).collect());
    let rows = all.iter().map(|(name, story)| [(*name).to_owned(), (*story).to_owned()]);
    Ok(output.print_as(&document, || Table::list(["name", "what it does"], rows))?)
}

fn check_mutation(name: &str) -> Result<(), Failure> {
    let all = planted::all();
    if all.is_empty() {
        return Err(without_mutations());
    }
    if all.iter().any(|(known, _)| *known == name) {
        return Ok(());
    }
    let failure = Failure::usage(format!("there is no mutation {name}"));
    Err(failure.advise("`seriatim sim --list-mutations` has all of them"))
}

fn without_mutations() -> Failure {
    Failure::usage("this build has no mutations: bugs on purpose are in no normal build").advise(
        "cargo run --release --bin seriatim --features planted -- sim --list-mutations builds one \
         that has them",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_builds_with_bugs_have_mutations() {
        assert_eq!(planted::all().is_empty(), cfg!(not(feature = "planted")));
        let failure = check_mutation("no-such-bug").unwrap_err();
        assert_eq!(failure.exit, exit::Exit::Usage);
    }
}
