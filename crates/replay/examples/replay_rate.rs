//! How fast histories are replayed: `cargo run --release -p seriatim-replay --example replay_rate`.
//!
//! Prints the rate at three sizes, so that a replay that is not linear shows. The proof of that is
//! a test that counts work; this is what it comes to on a machine.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    reason = "a measurement has a clock, and its numbers are small"
)]

use std::time::Instant;

use bytes::Bytes;
use seriatim_replay::{
    Command, Context, End, Event, Input, MATCHING_VERSION, Machine, Offset, OnOrphans, Output,
    Payload, Recorded, Rest, RunNumber, Started, TaskOptions,
};
use seriatim_types::{Name, Time, WorkspaceId};

fn main() {
    for tasks in [5_000_u32, 50_000, 500_000] {
        let history = history(tasks);
        let events = history.len();
        let mut machine =
            Machine::new(started(), move |ctx| code(ctx, tasks)).expect("the version is known");
        let began = Instant::now();
        machine.feed(history).expect("the history is sound");
        let rest = machine.advance();
        let took = began.elapsed();
        assert_eq!(rest, Rest::Ended, "the code completes");
        let rate = events as f64 / took.as_secs_f64();
        println!(
            "{events:>9} events in {:>8.1} ms, {rate:>10.0} events/s",
            took.as_secs_f64() * 1e3
        );
    }
}

async fn code(ctx: Context, tasks: u32) -> End {
    let task = name("charge");
    for index in 0..tasks {
        ctx.task(task.clone(), payload(index), TaskOptions::default()).await;
    }
    End::Completed(Payload::null())
}

fn history(tasks: u32) -> Vec<Recorded> {
    let mut events = Vec::new();
    let mut push = |event| {
        let offset = Offset(events.len() as u64 + 2);
        events.push(Recorded { offset, at: Time(offset.0), event });
        offset
    };
    let (task, mut seen) = (name("charge"), Offset(1));
    for index in 0..tasks {
        let (task, input, options) = (task.clone(), payload(index), TaskOptions::default());
        let command = Command::ScheduleTask { task, input, options };
        push(Event::Output(Output { seen, index: Some(index), command }));
        seen = push(Event::Input(Input::TaskCompleted { index, result: payload(index) }));
    }
    events
}

fn payload(index: u32) -> Payload {
    Payload(Bytes::from(format!("{{\"order\":{index},\"total\":4200}}")))
}

fn name(text: &str) -> Name {
    Name::new(text).expect("it is a name")
}

fn started() -> Started {
    Started {
        offset: Offset(1),
        at: Time(1),
        workspace: WorkspaceId(1_099_511_627_778),
        id: name("order-17"),
        run: RunNumber(1),
        workflow: name("fulfil"),
        input: Payload::null(),
        matching: MATCHING_VERSION,
        on_orphans: OnOrphans::Violate,
        carried: Vec::new(),
    }
}
