//! Many submitters that each wait for their answer before they send again.
//!
//! They are tasks on one thread, as the connections of a server are, and not a thread each: with
//! 64 threads on two cores the measurement would be one of the scheduler.

use std::sync::mpsc;
use std::time::Instant;

use anyhow::{Context, Result};
use seriatim_core::CommandOutcome;
use seriatim_node::{Node, Reply};
use seriatim_types::{Command, Receipt};

use super::shop::{PATIENCE, app_name, committed};

/// What a load took.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) commands: u64,
    pub(crate) seconds: f64,
    /// Of each command, in milliseconds.
    pub(crate) latencies: Vec<f64>,
}

impl Load {
    pub(crate) fn per_second(&self) -> f64 {
        self.commands as f64 / self.seconds
    }
}

/// Sends commands 0, 1, 2 … with so many submitters, and checks that all are carried out.
pub(crate) fn drive(
    node: &Node,
    submitters: u64,
    commands: u64,
    command: impl Fn(u64) -> Command,
) -> Result<Load> {
    drive_and(node, submitters, commands, command, |_, _| Ok(()))
}

/// The same, and does something with the number of each command and its receipt.
pub(crate) fn drive_and(
    node: &Node,
    submitters: u64,
    commands: u64,
    command: impl Fn(u64) -> Command,
    mut then: impl FnMut(u64, &Receipt) -> Result<()>,
) -> Result<Load> {
    let (sender, answers) = mpsc::channel::<(u64, Instant, Reply<CommandOutcome>)>();
    let app = app_name();
    let submit = |number: u64| {
        let (sender, command) = (sender.clone(), command(number));
        let sent = Instant::now();
        // Whoever gave up listening has an error of its own to report.
        let answer = move |reply| drop(sender.send((number, sent, reply)));
        node.submit(&app, command, answer)
    };
    let started = Instant::now();
    let mut latencies = Vec::new();
    let mut next = 0;
    while next < submitters.min(commands) {
        submit(next)?;
        next += 1;
    }
    for _ in 0..commands {
        let answer = answers.recv_timeout(PATIENCE);
        let (number, sent, reply) = answer.context("a command was not answered")?;
        then(number, committed(&reply)?)?;
        latencies.push(sent.elapsed().as_secs_f64() * 1e3);
        if next < commands {
            submit(next)?;
            next += 1;
        }
    }
    Ok(Load { commands, seconds: started.elapsed().as_secs_f64(), latencies })
}
