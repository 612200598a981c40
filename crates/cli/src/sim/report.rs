//! What runs came to, for people and for programs.

use std::collections::BTreeMap;
use std::time::Duration;

use seriatim_sim::{Report, Totals, Verdict};

use super::SimArgs;
use crate::document::{Json, list, object, of};
use crate::exit::{Exit, Failure};
use crate::output::Table;

/// A run, for programs. `all` is everything that happened, if it was asked for.
pub(super) fn document(args: &SimArgs, report: &Report, all: Option<&[String]>) -> Json {
    let Report { seed, steps, events, virtual_ms, trace_hash, counts, verdict } = report;
    let document = object([
        ("seed", of(*seed)),
        ("steps", of(*steps)),
        ("events", of(*events)),
        ("virtual_ms", of(*virtual_ms)),
        ("trace_hash", of(trace_hash.as_str())),
        ("verdict", of(name(verdict))),
        ("counts", counted(counts)),
    ]);
    let document = document.with_some("mutation", args.mutation.as_deref().map(of));
    let lines = |lines: &[String]| list(lines.iter().map(String::as_str));
    let (invariant, what, timeline) = match verdict {
        Verdict::Held => return document.with_some("timeline", all.map(lines)),
        Verdict::Violated { invariant, what, timeline } => (Some(*invariant), what, timeline),
        Verdict::NotDeterministic { what, timeline } => (None, what, timeline),
    };
    document
        .with_some("invariant", invariant.map(of))
        .with("what", of(what.as_str()))
        .with("timeline", lines(all.unwrap_or(timeline)))
        .with("reproduce", of(args.command_line(*seed)))
}

/// The same for people: what happened, and then what came of it.
pub(super) fn text(report: &Report, all: Option<&[String]>) -> String {
    let Report { seed, steps, events, virtual_ms, trace_hash, counts, verdict } = report;
    let (timeline, why) = match verdict {
        Verdict::Held => (&[][..], None),
        Verdict::Violated { what, timeline, .. } | Verdict::NotDeterministic { what, timeline } => {
            (timeline.as_slice(), Some(what))
        }
    };
    let seconds = Duration::from_millis(*virtual_ms).as_secs_f64();
    let facts = [
        ("seed", seed.to_string()),
        ("steps", steps.to_string()),
        ("events", events.to_string()),
        ("virtual time", format!("{seconds:.1} s")),
        ("trace hash", trace_hash.clone()),
        ("verdict", words(verdict)),
    ];
    let facts = facts.into_iter().chain(why.map(|why| ("why", why.clone())));
    let facts = Table::members(facts.map(|(name, fact)| (name.to_owned(), fact)));
    let lines: String = all.unwrap_or(timeline).iter().map(|line| format!("{line}\n")).collect();
    let gap = if lines.is_empty() { "" } else { "\n" };
    format!("{lines}{gap}{facts}\n{}", happened(counts))
}

/// Many runs, for programs.
pub(super) fn summary(args: &SimArgs, totals: &Totals, took: Duration) -> Json {
    let verdict = totals.failed.as_ref().map_or("held", |failed| name(&failed.verdict));
    object([
        ("seed", of(args.seed)),
        ("seeds", of(totals.seeds)),
        ("steps", of(args.steps)),
        ("events", of(totals.events)),
        ("virtual_ms", of(totals.virtual_ms)),
        ("seconds", of(took.as_secs_f64())),
        ("seeds_per_second", of(totals.seeds_per_second(took))),
        ("virtual_hours_per_minute", of(totals.virtual_hours_per_minute(took))),
        ("verdict", of(verdict)),
        ("counts", counted(&totals.counts)),
    ])
    .with_some("mutation", args.mutation.as_deref().map(of))
    .with_some("failed", totals.failed.as_ref().map(|failed| document(args, failed, None)))
}

/// The same for people, and the run that has failed.
pub(super) fn summary_text(args: &SimArgs, totals: &Totals, took: Duration) -> String {
    let failed = totals.failed.as_ref();
    let rate = totals.seeds_per_second(took);
    let facts = [
        ("seeds", format!("{} from {} on", totals.seeds, args.seed)),
        ("steps", args.steps.to_string()),
        ("events", totals.events.to_string()),
        ("virtual time", format!("{:.2} h", totals.virtual_hours())),
        ("took", format!("{:.1} s: {rate:.1} seeds per second", took.as_secs_f64())),
        (
            "throughput",
            format!("{:.2} virtual hours per real minute", totals.virtual_hours_per_minute(took)),
        ),
        ("verdict", failed.map_or("held".to_owned(), |failed| words(&failed.verdict))),
    ];
    let facts = Table::members(facts.map(|(name, fact)| (name.to_owned(), fact)));
    let failed: String =
        failed.map(|failed| format!("\n{}", text(failed, None))).unwrap_or_default();
    format!("{facts}\n{}{failed}", happened(&totals.counts))
}

/// A run that did not hold is a failure, which says how to see it again.
pub(super) fn check(args: &SimArgs, report: &Report) -> Result<(), Failure> {
    let seed = report.seed;
    let (code, message) = match &report.verdict {
        Verdict::Held => return Ok(()),
        Verdict::Violated { invariant, .. } => {
            ("VIOLATED", format!("seed {seed}: the invariant {invariant} does not hold"))
        }
        Verdict::NotDeterministic { .. } => {
            ("NOT_DETERMINISTIC", format!("seed {seed} was not the same when it was run again"))
        }
    };
    let failure = Failure::new(Exit::Violated, message).code(code);
    Err(failure.fact("reproduce", args.command_line(seed)))
}

fn happened(counts: &BTreeMap<&'static str, u64>) -> Table {
    let rows = counts.iter().map(|(what, count)| [what.replace('_', " "), count.to_string()]);
    Table::list(["what happened", "times"], rows)
}

fn counted(counts: &BTreeMap<&'static str, u64>) -> Json {
    Json::Object(counts.iter().map(|(what, count)| ((*what).to_owned(), of(*count))).collect())
}

fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Held => "held",
        Verdict::Violated { .. } => "violated",
        Verdict::NotDeterministic { .. } => "not_deterministic",
    }
}

fn words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Violated { invariant, .. } => format!("violated: {invariant}"),
        Verdict::Held | Verdict::NotDeterministic { .. } => name(verdict).replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: SimArgs,
    }

    fn args(line: &[&str]) -> SimArgs {
        Line::try_parse_from([&["sim"], line].concat()).unwrap().args
    }

    fn report(verdict: Verdict) -> Report {
        Report {
            seed: 7,
            steps: 3_000,
            events: 75,
            virtual_ms: 9_047,
            trace_hash: "d623".to_owned(),
            counts: BTreeMap::from([("power_losses", 2)]),
            verdict,
        }
    }

    fn violated() -> Report {
        report(Verdict::Violated {
            invariant: "gap_free",
            what: "behind 3 comes 5".to_owned(),
            timeline: vec!["0.5  server: begins".to_owned()],
        })
    }

    #[test]
    fn a_violation_has_its_invariant_its_timeline_and_the_line_that_shows_it_again() {
        assert_eq!(
            document(&args(&[]), &violated(), None).to_string(),
            r#"{"seed":7,"steps":3000,"events":75,"virtual_ms":9047,"trace_hash":"d623","verdict":"violated","counts":{"power_losses":2},"invariant":"gap_free","what":"behind 3 comes 5","timeline":["0.5  server: begins"],"reproduce":"seriatim sim --seed 7 --steps 3000"}"#
        );
        assert_eq!(
            text(&violated(), None),
            "\
0.5  server: begins

seed          7
steps         3000
events        75
virtual time  9.0 s
trace hash    d623
verdict       violated: gap_free
why           behind 3 comes 5

WHAT HAPPENED  TIMES
power losses   2
"
        );
        let failure = check(&args(&["--mutation", "x"]), &violated()).unwrap_err();
        assert_eq!((failure.exit, &*failure.code), (Exit::Violated, "VIOLATED"));
        assert_eq!(failure.facts["reproduce"], "seriatim sim --seed 7 --steps 3000 --mutation x");
    }

    #[test]
    fn a_run_that_is_not_the_same_twice_is_no_success() {
        let parted = Verdict::NotDeterministic { what: "a was b".to_owned(), timeline: Vec::new() };
        let report = report(parted);
        let document = document(&args(&[]), &report, None).to_string();
        assert!(document.contains(r#""verdict":"not_deterministic""#), "{document}");
        assert!(document.contains(r#""what":"a was b""#), "{document}");
        assert_eq!(check(&args(&[]), &report).unwrap_err().exit, Exit::Violated);
    }

    #[test]
    fn a_summary_has_the_run_that_failed() {
        let mut totals = Totals::default();
        totals.add(report(Verdict::Held));
        let took = Duration::from_secs(2);
        let held = summary_text(&args(&[]), &totals, took);
        assert!(held.contains("took          2.0 s: 0.5 seeds per second\n"), "{held}");
        assert!(held.contains("verdict       held\n"), "{held}");
        totals.add(violated());
        let failed = summary_text(&args(&[]), &totals, took);
        assert!(failed.contains("power losses   4\n"), "{failed}");
        assert!(failed.ends_with(&text(&violated(), None)), "{failed}");
        let document = summary(&args(&[]), &totals, took).to_string();
        assert!(document.contains(r#""verdict":"violated""#), "{document}");
        assert!(document.contains(r#""failed":{"seed":7"#), "{document}");
    }
}
