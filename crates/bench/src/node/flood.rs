//! One client floods a workspace; another one, in another partition, goes on with its work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Result, ensure};
use seriatim_core::CommandOutcome;
use seriatim_node::{Node, Reply, RequestError};

use super::shop::{PATIENCE, Sales, Shop, app_name, open_shop, open_store, send};
use super::{NodeSizes, progress_of};
use crate::Run;
use crate::report::Table;
use crate::rounds::{Series, percentile};

/// In partition 0 of two, and in the other.
const FLOODED: u64 = 2;
const QUIET: u64 = 1;

/// What the one who floods got.
#[derive(Default)]
struct Answers {
    taken: AtomicU64,
    busy: AtomicU64,
}

impl Answers {
    fn so_far(&self) -> [u64; 2] {
        [self.taken.load(Ordering::Relaxed), self.busy.load(Ordering::Relaxed)]
    }
}

pub(crate) fn measure(run: &Run<'_>, sizes: &NodeSizes) -> Result<Table> {
    let mut figures: [Series; 6] = Default::default();
    for round in 1..=sizes.rounds {
        progress_of(run, sizes, "a flood", round);
        for (series, figure) in figures.iter_mut().zip(one(run, sizes)?) {
            series.push(figure);
        }
    }
    let [quiet, _, flooded, ..] = &figures;
    let mut values: Vec<f64> = figures.iter().map(Series::median).collect();
    values.push(flooded.ratio(quiet));
    Ok(Table {
        title: "a flood of one workspace",
        meaning: "A lone submitter in one partition, milliseconds, before and while another \
                  client sends to a workspace of another partition without waiting for answers, \
                  as fast as a thread can. Both partitions share two cores, the disk and its \
                  syncs; what the flood costs the other is their share.",
        columns: vec![
            "p50 before",
            "p99 before",
            "p50 during",
            "p99 during",
            "flood: taken/s",
            "flood: busy/s",
            "p50 during / before",
        ],
        rows: vec![("other partition".to_owned(), values)],
    })
}

fn one(run: &Run<'_>, sizes: &NodeSizes) -> Result<[f64; 6]> {
    let folder = run.folder()?;
    let shop = Shop { partitions: 2, ..Shop::default() };
    let node = open_shop(open_store(&folder.path().join("node"))?, shop)?;
    let sales = Sales::new();
    let lone = |first: u64| {
        let one = |number| {
            let command = sales.command_of("quiet", first + number, QUIET);
            let started = Instant::now();
            send(&node, command)?;
            Ok(started.elapsed().as_secs_f64() * 1e3)
        };
        (0..sizes.lone).map(one).collect::<Result<Vec<f64>>>()
    };
    let before = lone(0)?;
    let is_over = AtomicBool::new(false);
    let answers = Arc::new(Answers::default());
    let (during, rates) = std::thread::scope(|scope| {
        scope.spawn(|| flood(&node, &sales, &is_over, &answers));
        let during = wait_until_high(&answers).and_then(|()| {
            let (started, [taken, busy]) = (Instant::now(), answers.so_far());
            let during = lone(sizes.lone)?;
            let (seconds, now) = (started.elapsed().as_secs_f64(), answers.so_far());
            Ok((during, [(now[0] - taken) as f64 / seconds, (now[1] - busy) as f64 / seconds]))
        });
        is_over.store(true, Ordering::Relaxed);
        during
    })?;
    Ok([
        percentile(&before, 0.5),
        percentile(&before, 0.99),
        percentile(&during, 0.5),
        percentile(&during, 0.99),
        rates[0],
        rates[1],
    ])
}

/// The flood is one from its first command that is turned away.
fn wait_until_high(answers: &Answers) -> Result<()> {
    let started = Instant::now();
    while answers.busy.load(Ordering::Relaxed) == 0 {
        ensure!(started.elapsed() < PATIENCE, "the flood was never turned away");
        std::thread::yield_now();
    }
    Ok(())
}

fn flood(node: &Node, sales: &Sales, is_over: &AtomicBool, answers: &Arc<Answers>) {
    let app = app_name();
    let mut number = 1 << 40;
    while !is_over.load(Ordering::Relaxed) {
        let answers = answers.clone();
        let count = move |reply: Reply<CommandOutcome>| {
            let counter = if matches!(reply, Err(RequestError::Busy(_))) {
                &answers.busy
            } else {
                &answers.taken
            };
            counter.fetch_add(1, Ordering::Relaxed);
        };
        let sent = node.submit(&app, sales.command_of("flood", number, FLOODED), count);
        sent.expect("the app is there");
        number += 1;
    }
}
