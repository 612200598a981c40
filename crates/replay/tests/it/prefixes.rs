//! For every prefix of a history, replaying it and going on gives the commands of the
//! uninterrupted run.

use seriatim_replay::{Command, CommandId, Created, Event, FeedError, Offset, Recorded, Rest};

use crate::program::Op;
use crate::support::started;
use crate::world::{Chance, World, machine_of};

/// How many random workflows each test tries: `SERIATIM_SEEDS`, or so many.
const SEEDS: u64 = 250;

fn seeds() -> std::ops::Range<u64> {
    let asked = std::env::var("SERIATIM_SEEDS").ok();
    0..asked.and_then(|it| it.parse().ok()).unwrap_or(SEEDS)
}

/// A workflow of random commands.
fn random_ops(chance: &mut Chance, depth: usize) -> Vec<Op> {
    let count = 1 + chance.below(if depth == 0 { 7 } else { 3 });
    (0..count).map(|_| random_op(chance, depth)).collect()
}

fn random_op(chance: &mut Chance, depth: usize) -> Op {
    let kinds = if depth < 2 { 24 } else { 18 };
    match chance.below(kinds) {
        0 => Op::Task("a"),
        1 => Op::Task("b"),
        2 => Op::Timer(1_000),
        3 => Op::Child,
        4 | 5 => Op::Step("a"),
        6 => Op::Record,
        7 => Op::Promise,
        8 => Op::OwnPromise,
        9 => Op::SetState,
        10 => Op::ClearState,
        11 => Op::SendSignal,
        12 => Op::Signal("go"),
        13 => Op::TrySignal("go"),
        14 => Op::Version(["first", "second"][chance.below(2)]),
        15 => [Op::CancelTimer, Op::CancelTask, Op::CancelChild][chance.below(3)].clone(),
        16 => Op::Dropped,
        17 => Op::TrySignal("stop"),
        18 | 19 => Op::All(branches(chance, depth)),
        20 | 21 => Op::Unordered(branches(chance, depth)),
        _ => Op::Race(branches(chance, depth)),
    }
}

fn branches(chance: &mut Chance, depth: usize) -> Vec<Vec<Op>> {
    let count = 2 + chance.below(2);
    (0..count).map(|_| random_ops(chance, depth + 1)).collect()
}

/// A random workflow, and the log that it made.
fn random_run(seed: u64) -> (Vec<Op>, Vec<Recorded>) {
    let mut chance = Chance::of(seed);
    let ops = random_ops(&mut chance, 0);
    let mut world = World::new(&ops, chance);
    world.drive();
    (ops, world.log)
}

/// The offset of the last thing in a log that code can be shown.
fn shown(log: &[Recorded]) -> Offset {
    let is_shown = |it: &&Recorded| match &it.event {
        Event::Input(_) => true,
        Event::Output(output) => matches!(output.command, Command::ResolvePromise { .. }),
    };
    log.iter().rev().find(is_shown).map_or(Offset(1), |it| it.offset)
}

#[test]
fn every_prefix_goes_on_as_the_whole_run() {
    let mut compared = 0;
    for seed in seeds() {
        let (ops, log) = random_run(seed);
        for cut in 0..=log.len() {
            compared += check_prefix(seed, &ops, &log, cut);
        }
    }
    assert!(compared > 1_000, "{compared} commands beyond a prefix were compared");
}

/// What a cold replay of a prefix creates beyond it is what the run created next.
fn check_prefix(seed: u64, ops: &[Op], log: &[Recorded], cut: usize) -> usize {
    let (before, after) = log.split_at(cut);
    let mut machine = machine_of(started(), ops);
    machine.feed(before.to_vec()).expect("a prefix is sound");
    machine.advance();
    let turn = machine.take_turn();
    let turn = turn.unwrap_or_else(|it| panic!("seed {seed}, cut {cut}: {it:?}\n{log:#?}"));
    let shown = shown(before);
    let mut created = turn.commands.into_iter();
    let mut compared = 0;
    for event in after {
        let Event::Output(output) = &event.event else { continue };
        // A step that ends elsewhere, and what code is shown later, end what can be compared.
        let is_step = matches!(&output.command, Command::RecordOperation { .. })
            && !is_record(&output.command);
        if is_step {
            return compared;
        }
        if output.seen > shown {
            break;
        }
        let next = created.next();
        let (command, seen) = next.as_ref().map(parts).unzip();
        assert_eq!(command, Some(&output.command), "seed {seed}, cut {cut}");
        assert_eq!(seen, Some(output.seen), "seed {seed}, cut {cut}");
        compared += 1;
    }
    assert_eq!(created.next().as_ref().map(parts), None, "seed {seed}, cut {cut}");
    compared
}

fn is_record(command: &Command) -> bool {
    matches!(command, Command::RecordOperation { name, .. } if name.as_str() == "fee")
}

fn parts(created: &Created) -> (&Command, Offset) {
    (&created.command, created.seen)
}

/// A worker dies at any point of the log and another one takes over: the run ends, and its log
/// replays as a whole.
#[test]
fn a_run_that_goes_on_elsewhere_replays_as_a_whole() {
    for seed in seeds() {
        let (ops, mut log) = random_run(seed);
        let mut chance = Chance::of(seed ^ 0xabcd);
        for _ in 0..3 {
            // The log of a submit is written as a whole, so that is where it can be cut.
            let cut = whole_submits(&log, chance.below(log.len() + 1));
            let mut world = World::resume(&ops, chance.clone(), log[..cut].to_vec());
            world.drive();
            log = world.log;
            let mut machine = machine_of(started(), &ops);
            machine.feed(log.clone()).expect("the log is sound");
            assert_eq!(machine.advance(), Rest::Ended, "seed {seed}: {:?}", machine.take_turn());
            let turn = machine.take_turn().expect("unchanged code follows its history");
            assert_eq!(turn.commands, [], "seed {seed}: everything is recorded");
        }
    }
}

/// Code is changed while its run is open, guarded by a version: the run goes on with the new code,
/// by the old path or the new one, and its log replays as a whole.
#[test]
fn a_guarded_change_takes_one_path_and_keeps_it() {
    let mut taken = [0, 0];
    for seed in seeds() {
        let (ops, log) = random_run(seed);
        let mut chance = Chance::of(seed ^ 0x7777);
        let mut changed = ops.clone();
        let change = Op::Patched("change", random_ops(&mut chance, 1));
        insert_anywhere(&mut changed, change, &mut chance);
        let cut = whole_submits(&log, chance.below(log.len() + 1));
        let mut world = World::resume(&changed, chance, log[..cut].to_vec());
        world.drive();
        let is_marker = |it: &Recorded| {
            matches!(&it.event, Event::Output(output) if matches!(&output.command,
                Command::MarkVersion { name, .. } if name.as_str() == "change"))
        };
        taken[usize::from(world.log.iter().any(is_marker))] += 1;
        let mut machine = machine_of(started(), &changed);
        machine.feed(world.log).expect("the log is sound");
        assert_eq!(machine.advance(), Rest::Ended, "seed {seed}: {:?}", machine.take_turn());
        let turn = machine.take_turn().expect("it follows");
        assert_eq!(turn.commands, [], "seed {seed}: everything is recorded");
    }
    assert!(taken.iter().all(|it| *it > 10), "old and new paths: {taken:?}");
}

/// Inserts a change at any depth.
fn insert_anywhere(ops: &mut Vec<Op>, op: Op, chance: &mut Chance) {
    let at = chance.below(ops.len() + 1);
    if let Some(Op::All(branches) | Op::Race(branches) | Op::Unordered(branches)) = ops.get_mut(at)
    {
        let branch = chance.below(branches.len());
        return insert_anywhere(&mut branches[branch], op, chance);
    }
    ops.insert(at, op);
}

/// Moves a cut back so that it does not lie between two events of one submit.
fn whole_submits(log: &[Recorded], cut: usize) -> usize {
    let is_output =
        |index: usize| matches!(log.get(index).map(|it| &it.event), Some(Event::Output(_)));
    let mut cut = cut;
    while cut > 0 && is_output(cut) && is_output(cut - 1) {
        cut -= 1;
    }
    cut
}

/// A machine that is given a log in arbitrary pieces either comes to the same end, or says that it
/// has gone another way. It is never in violation and never silently different.
#[test]
fn a_machine_fed_piece_by_piece_is_the_same_or_says_so() {
    let (mut same, mut diverged) = (0, 0);
    for seed in seeds() {
        let (ops, log) = random_run(seed);
        let mut chance = Chance::of(seed ^ 0x1234);
        let mut machine = machine_of(started(), &ops);
        let mut rest = &log[..];
        let mut result = Ok(());
        while !rest.is_empty() && result.is_ok() {
            let (piece, later) = rest.split_at(1 + chance.below(rest.len().min(6)));
            rest = later;
            result = machine.feed(piece.to_vec());
            machine.advance();
        }
        match result {
            Ok(()) => {
                let turn = machine.take_turn().unwrap_or_else(|it| panic!("seed {seed}: {it:?}"));
                assert_eq!(turn.commands, [], "seed {seed}");
                assert_eq!(machine.advance(), Rest::Ended, "seed {seed}");
                same += 1;
            }
            Err(FeedError::Diverged { .. }) => diverged += 1,
            Err(other) => panic!("seed {seed}: {other}"),
        }
    }
    assert!(same > seeds().end / 4, "{same} the same, {diverged} diverged");
}

/// A machine that was kept and one that replays the log know the same.
#[test]
fn a_kept_machine_and_a_replay_rest_alike() {
    let mut compared = 0;
    for seed in seeds() {
        let (ops, log) = random_run(seed);
        // Inputs one by one, so that the kept machine and the log never differ.
        let mut kept = machine_of(started(), &ops);
        kept.advance();
        let mut fed = 0;
        for cut in 0..=log.len() {
            let is_next_step = matches!(&log.get(cut).map(|it| &it.event),
                Some(Event::Output(output)) if CommandId::Close != id_of(&output.command));
            if is_next_step {
                continue;
            }
            if kept.feed(log[fed..cut].to_vec()).is_err() {
                break;
            }
            fed = cut;
            kept.advance();
            let mut cold = machine_of(started(), &ops);
            cold.feed(log[..cut].to_vec()).expect("a prefix is sound");
            cold.advance();
            assert_eq!(kept.awaited(), cold.awaited(), "seed {seed}, cut {cut}");
            assert_eq!(kept.now(), cold.now(), "seed {seed}, cut {cut}");
            compared += 1;
        }
    }
    assert!(compared > 1_000, "{compared} positions were compared");
}

fn id_of(command: &Command) -> CommandId {
    match command {
        Command::Close(_) => CommandId::Close,
        _ => CommandId::Task(0),
    }
}
