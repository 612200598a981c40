//! What a run came to, for people and for programs.

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use hdrhistogram::Histogram;

use super::Plan;
use super::load::Load;
use super::proof::Proof;
use crate::document::{Json, object, of};
use crate::output::{Form, Table};

/// Which share of the latencies lies below, in percent.
const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// How wide the longest bar is.
const BAR_MAX: u64 = 40;

pub(super) fn print(output: Form, plan: &Plan, load: &Load, proof: Option<&Proof>) -> Result<()> {
    let commands = load.latencies.len();
    let rate = per_second(commands, load.elapsed);
    let document = object([
        ("mode", of(mode(plan))),
        ("clients", of(plan.clients)),
        ("in_flight", of(plan.in_flight)),
        ("connections", of(plan.connections)),
        ("workspaces", of(plan.workspaces)),
        ("seconds", of(load.elapsed.as_secs_f64())),
        ("commands", of(commands)),
        ("per_second", of(rate)),
        ("retries", of(load.retries)),
        ("latency_us", latencies(&load.latencies)),
        ("proof", proof.map_or(of(()), proven)),
    ]);
    let proof = || proof.map_or("nothing was proven".to_owned(), proven_text);
    Ok(output.print_as(&document, || format!("{}\n{}", text(plan, load, rate), proof()))?)
}

fn proven(proof: &Proof) -> Json {
    object([
        ("events", of(proof.events)),
        ("gaps", of(proof.gaps)),
        ("repeats", of(proof.repeats)),
        ("lost", of(proof.lost)),
        ("sent_again", of(proof.sent_again)),
        ("equal", of(proof.equal)),
    ])
}

fn text(plan: &Plan, load: &Load, rate: u64) -> String {
    let Plan { clients, in_flight, connections, workspaces, .. } = plan;
    let Load { latencies, retries, .. } = load;
    let below = |share| milliseconds(latencies.value_at_percentile(share));
    let percentiles = PERCENTILES.map(|share| format!("p{share} {}", below(share))).join(", ");
    format!(
        "\
mode      {mode}: clients {clients}, in flight {in_flight} each, connections {connections}, workspaces {workspaces}
commands  {commands} in {seconds:.1} s
rate      {rate} per second
latency   {percentiles}, max {max}
retries   {retries}

{bars}",
        mode = mode(plan),
        commands = latencies.len(),
        seconds = load.elapsed.as_secs_f64(),
        max = milliseconds(latencies.max()),
        bars = bars(latencies),
    )
}

fn proven_text(proof: &Proof) -> String {
    let Proof { events, gaps, repeats, lost, sent_again, equal } = proof;
    format!(
        "\
read back   {events} events
gaps        {gaps}
repeats     {repeats}
lost        {lost}
sent again  {sent_again}, with equal receipts {equal}"
    )
}

/// A bar for each doubling of the latency.
fn bars(latencies: &Histogram<u64>) -> String {
    let mut lines = Vec::new();
    let (mut below, mut bound) = (0_u64, 64_u64);
    while below < latencies.len() {
        let up_to = latencies.count_between(0, bound.saturating_sub(1));
        let count = up_to.saturating_sub(below);
        if count > 0 || below > 0 {
            lines.push((bound, count));
        }
        (below, bound) = (up_to, bound.saturating_mul(2));
    }
    let most = lines.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    let total = latencies.len().max(1);
    let rows = lines.into_iter().map(|(bound, count)| {
        let length = count.saturating_mul(BAR_MAX).div_ceil(most);
        let permille = count.saturating_mul(1000).checked_div(total).unwrap_or(0);
        let share = format!("{}.{} %", permille / 10, permille % 10);
        let bar = "█".repeat(usize::try_from(length).unwrap_or(0));
        [format!("< {}", milliseconds(bound)), share, bar]
    });
    Table::list(["latency", "share", ""], rows).to_string()
}

fn latencies(latencies: &Histogram<u64>) -> Json {
    let [p50, p90, p99, p999] = PERCENTILES.map(|share| of(latencies.value_at_percentile(share)));
    object([
        ("p50", p50),
        ("p90", p90),
        ("p99", p99),
        ("p99_9", p999),
        ("max", of(latencies.max())),
    ])
}

fn mode(plan: &Plan) -> String {
    plan.mode.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default()
}

fn milliseconds(microseconds: u64) -> String {
    let hundredths = microseconds.div_ceil(10);
    format!("{}.{:02} ms", hundredths / 100, hundredths % 100)
}

pub(super) fn per_second(count: u64, elapsed: Duration) -> u64 {
    let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    count.saturating_mul(1000).checked_div(milliseconds).unwrap_or(0)
}
