//! The long mode: tens of thousands of seeds, and what they met.
//!
//! `cargo xtask sim [--planted] [--seeds 20000] [--steps 3000] [--report FILE]`, in a release build.
//! With `--renew` it writes the golden hashes and does nothing else.

#[path = "../../tests/it/golden.rs"]
mod golden;

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use seriatim_sim::{Report, Totals, Verdict, many, run_twice, uncovered};

const USAGE: &str = "usage: long [--renew] [--seeds N] [--steps N] [--report FILE]";

/// How often it says how far it is.
const SAY: Duration = Duration::from_secs(5);

struct Asked {
    renew: bool,
    seeds: u64,
    steps: u64,
    report: Option<String>,
}

impl Asked {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut asked = Self { renew: false, seeds: 20_000, steps: 3_000, report: None };
        while let Some(flag) = words.next() {
            match flag.as_str() {
                "--renew" => asked.renew = true,
                "--seeds" => asked.seeds = words.next()?.parse().ok()?,
                "--steps" => asked.steps = words.next()?.parse().ok()?,
                "--report" => asked.report = Some(words.next()?),
                _ => return None,
            }
        }
        Some(asked)
    }
}

fn main() -> ExitCode {
    let Some(asked) = Asked::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if asked.renew {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/hashes.txt");
        fs::write(path, golden::hashes()).expect("the sources can be written");
        return ExitCode::SUCCESS;
    }
    if golden::hashes() != golden::GOLDEN {
        eprintln!("the golden hashes are not those of this build:\n{}", golden::hashes());
        return ExitCode::FAILURE;
    }
    let begin = Instant::now();
    let totals = run_all(&asked, begin);
    if let Some(failed) = &totals.failed {
        show(failed);
        return ExitCode::FAILURE;
    }
    let page = page(&asked, &totals, begin.elapsed());
    println!("{page}");
    if let Some(file) = &asked.report {
        fs::write(file, page).expect("the report can be written");
    }
    ExitCode::SUCCESS
}

fn run_all(asked: &Asked, begin: Instant) -> Totals {
    let threads = std::thread::available_parallelism().expect("the machine knows its cores");
    let (mut totals, mut said) = (Totals::default(), begin);
    let run = |seed| run_twice(seed, asked.steps).0;
    many(0..asked.seeds, threads, run, |report| {
        totals.add(report);
        if said.elapsed() >= SAY {
            said = Instant::now();
            println!("{} of {} seeds", totals.seeds, asked.seeds);
        }
    });
    totals
}

fn show(failed: &Report) {
    let Report { seed, steps, verdict, .. } = failed;
    match verdict {
        Verdict::Held => {}
        Verdict::Violated { invariant, what, timeline } => {
            println!("{}\n{invariant} does not hold: {what}", timeline.join("\n"));
        }
        Verdict::NotDeterministic { what, timeline } => {
            println!("{}\nit is not the same twice: {what}", timeline.join("\n"));
        }
    }
    println!("reproduce: seriatim sim --seed {seed} --steps {steps}");
}

const INTRODUCTION: &str = "\
Each seed is a run of its own: clients, a server with up to four partitions, its disk, the network
and every clock, all on one thread and on time that is not real. What goes wrong, and how often, is
drawn from the seed; then everything heals, and everybody must come to a good end. Each seed is run
twice and must give the same bytes; figures count it once. A seed that fails ends the long mode, and
there is no report then. What must hold is in [docs/simulator.md](../simulator.md).
";

/// The report, as a page of the repository.
fn page(asked: &Asked, totals: &Totals, took: Duration) -> String {
    let Asked { seeds, steps, .. } = asked;
    let planted_flag = if cfg!(feature = "planted") { " --planted" } else { "" };
    let mut page = format!("# Simulator\n\n{INTRODUCTION}\n| | |\n|---|---:|\n");
    let hours = totals.virtual_hours();
    let counts = totals.counts.iter().map(|(what, count)| (what.replace('_', " "), *count));
    let facts = [
        ("date", said_by("date", &["-u", "+%F"])),
        ("machine", machine()),
        ("command line", format!("cargo xtask sim{planted_flag} --seeds {seeds} --steps {steps}")),
        ("seeds", seeds.to_string()),
        ("steps of each, while things go wrong", steps.to_string()),
        ("events in all logs at the end", totals.events.to_string()),
        ("virtual hours", format!("{hours:.1}")),
        ("took", format!("{} s", took.as_secs())),
        ("seeds per second", format!("{:.1}", totals.seeds_per_second(took))),
        ("virtual hours per real minute", format!("{:.1}", totals.virtual_hours_per_minute(took))),
        ("seeds in which everything held, twice and to the byte", totals.seeds.to_string()),
        ("seeds that failed", "0".to_owned()),
        ("what a run can meet and none has met", not_met(totals)),
    ];
    let facts = facts.map(|(name, fact)| (name.to_owned(), fact));
    let what = counts.map(|(what, count)| (what, count.to_string()));
    rows(&mut page, facts);
    page.push_str("\n## What happened\n\n| | times |\n|---|---:|\n");
    rows(&mut page, what);
    #[cfg(feature = "planted")]
    page.push_str(&planted());
    page
}

/// What is on the list of things that runs must meet, and was not met.
fn not_met(totals: &Totals) -> String {
    let missing = uncovered(&totals.counts);
    if missing.is_empty() { "nothing".to_owned() } else { missing.join(", ") }
}

/// What is found when a bug is planted, each within so many seeds.
#[cfg(feature = "planted")]
fn planted() -> String {
    use seriatim_sim::planted::{Bug, Found, find, steps, table};
    const SEEDS_MAX: u64 = 2_000;
    let find = |bug| find(bug, SEEDS_MAX, steps(bug)).map(|(_, report)| report);
    let found = Bug::ALL.iter().map(|bug| Found { bug: *bug, report: find(*bug) });
    format!("\n## Bugs on purpose\n\n{}", table(&found.collect::<Vec<_>>()))
}

fn rows(page: &mut String, rows: impl IntoIterator<Item = (String, String)>) {
    for (name, value) in rows {
        writeln!(page, "| {name} | {value} |").expect("a string takes everything");
    }
}

fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZeroUsize::get);
    let (cpu, kernel) = (cpu.trim_start_matches([' ', '\t', ':']), said_by("uname", &["-r"]));
    format!("{cpu}, {cores} cores, kernel {kernel}")
}

fn said_by(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("every system has it");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
