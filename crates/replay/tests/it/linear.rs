//! Replay is linear in history, counted and not timed.

use seriatim_replay::{Command, Context, End, Input, Machine, Payload, Rest, Work};
use seriatim_types::Time;

use crate::support::{History, json, name, schedule, start_timer, started, task_done};

/// A task, a timer, a step and a set of state, over and over.
async fn rounds(ctx: Context, count: u32) -> End {
    for round in 0..count {
        ctx.task(name("a"), json(round.to_string()), Default::default()).await;
        ctx.timer(None, 1).await;
        ctx.run(name("s")).await;
        ctx.set_state(name("k"), json(round.to_string()));
    }
    ctx.signal(name("end")).await;
    End::Cancelled
}

/// Seven events a round. The offset of the last input is known, so making it is linear too.
fn history(count: u32) -> History {
    let mut history = History::new();
    let mut seen = seriatim_replay::Offset(1);
    for round in 0..count {
        history = history.asked_at(seen, schedule("a", &round.to_string()));
        history = history.came(task_done(round, "1"));
        seen.0 = history.0.len() as u64 + 1;
        history = history.asked_at(seen, start_timer(1)).came(Input::TimerFired { index: round });
        seen.0 = history.0.len() as u64 + 1;
        let result = Ok(Payload::null());
        let (index, worker_at) = (round, Time(0));
        let step = Command::RecordOperation { index, name: name("s"), result, worker_at };
        history = history.asked_at(seen, step);
        let (key, value) = (name("k"), json(round.to_string()));
        history = history.asked_at(seen, Command::SetState { key, value });
    }
    history
}

fn work_of(count: u32) -> Work {
    let mut machine =
        Machine::new(started(), move |ctx| rounds(ctx, count)).expect("the version is known");
    machine.feed(history(count).0).expect("the history is sound");
    assert_eq!(machine.advance(), Rest::Waiting);
    assert!(machine.take_turn().expect("it follows").commands.is_empty());
    machine.work()
}

#[test]
fn work_grows_with_the_history_and_no_faster() {
    let (small, large) = (work_of(170), work_of(17_000));
    assert_eq!(large.events, 102_000);
    for (small, large) in [
        (small.events, large.events),
        (small.deliveries, large.deliveries),
        (small.comparisons, large.comparisons),
        (small.polls, large.polls),
    ] {
        assert!(large <= small * 101 && small > 0, "{small} at 1,020 events, {large} at 102,000");
    }
    assert_eq!(large.polls, large.deliveries + 1, "one poll for each delivery");
}

#[test]
fn many_in_flight_at_once_are_found_by_their_ids() {
    async fn fan_out(ctx: Context, count: u32) -> End {
        let tasks: Vec<_> = (0..count)
            .map(|it| ctx.task(name("a"), json(it.to_string()), Default::default()))
            .collect();
        for task in tasks {
            task.await;
        }
        ctx.signal(name("end")).await;
        End::Cancelled
    }
    let work = |count: u32| {
        let seen = seriatim_replay::Offset(1);
        let asked = (0..count).fold(History::new(), |history, it| {
            history.asked_at(seen, schedule("a", &it.to_string()))
        });
        // The last one ends first.
        let all = (0..count).rev().fold(asked, |history, it| history.came(task_done(it, "1")));
        let mut machine =
            Machine::new(started(), move |ctx| fan_out(ctx, count)).expect("it is known");
        machine.feed(all.0).expect("the history is sound");
        machine.advance();
        assert!(machine.take_turn().expect("it follows").commands.is_empty());
        machine.work()
    };
    let (small, large) = (work(100), work(10_000));
    assert_eq!((small.deliveries, large.deliveries), (100, 10_000));
    assert!(large.polls <= small.polls * 101, "{} and {}", small.polls, large.polls);
}
