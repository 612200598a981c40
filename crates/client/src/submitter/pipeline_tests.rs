//! The pipeline step by step, and against a model of a server under thousands of random schedules.
#![expect(clippy::arithmetic_side_effects, reason = "numbers of a test are small")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pipeline::{GivenUp, IN_FLIGHT_FIRST, IN_FLIGHT_MAX, Pipeline, Target};
use crate::error::{Error, Outcome};
use crate::failure::Failure;
use crate::retry::{Dice, RetryPolicy};

const PATIENCE: Duration = Duration::from_secs(30);
const SECOND: Duration = Duration::from_secs(1);

fn pipeline<T>(seed: u64) -> Pipeline<T> {
    Pipeline::new(PATIENCE, RetryPolicy::default(), Dice(seed))
}

fn workspace(name: &str) -> Arc<Target> {
    Arc::new(Target { app: "shop".to_owned(), workspace: name.to_owned() })
}

fn failure(code: &'static str, outcome: Outcome, is_retryable: bool) -> Failure {
    let error = Error::new(code, "as it is");
    Failure { error: if is_retryable { error.retryable(None) } else { error }, outcome }
}

fn busy() -> Failure {
    failure("BUSY", Outcome::NotWritten, true)
}

fn behind() -> Failure {
    let Failure { error, outcome } = busy();
    let error = error.retryable(Some(SECOND)).with("reason", "behind");
    Failure { error, outcome }
}

fn refused() -> Failure {
    failure("KEY_EXISTS", Outcome::Refused, false)
}

fn lost() -> Error {
    Error::new(Error::UNAVAILABLE, "connection reset").retryable(None)
}

/// All that can be sent now, with their generations.
fn sent<T: Copy>(pipeline: &mut Pipeline<T>) -> Vec<(T, u64)> {
    let mut all = Vec::new();
    while let Some(sending) = pipeline.send_next() {
        all.push((*sending.job, sending.generation));
    }
    all
}

#[test]
fn what_is_turned_away_is_sent_again_in_order_once_all_are_answered() {
    let (mut pipeline, now) = (pipeline(1), Instant::now());
    let ids = ['a', 'b', 'c'].map(|job| pipeline.submit(workspace("w"), job, now));
    assert_eq!(sent(&mut pipeline), [('a', 1), ('b', 1), ('c', 1)]);
    pipeline.submit(workspace("w"), 'd', now);
    assert_eq!(pipeline.answered::<()>(ids[0], Err(busy()), now), None);
    assert_eq!(sent(&mut pipeline), [], "nothing while the generation is not answered");
    assert_eq!(pipeline.answered::<()>(ids[1], Err(behind()), now), None);
    assert_eq!(pipeline.answered::<()>(ids[2], Err(behind()), now), None);
    assert_eq!(sent(&mut pipeline), [], "nothing before it has rested");
    let rested = pipeline.next_tick(now);
    assert!(rested - now <= RetryPolicy::default().delay_first, "behind adds no delay");
    assert_eq!(pipeline.tick(rested), []);
    assert_eq!(sent(&mut pipeline), [('a', 2), ('b', 2), ('c', 2), ('d', 2)]);
}

#[test]
fn workspaces_that_were_not_turned_away_go_on_at_once() {
    let (mut pipeline, now) = (pipeline(1), Instant::now());
    let slow = pipeline.submit(workspace("slow"), 'a', now);
    let quick = pipeline.submit(workspace("quick"), 'b', now);
    assert_eq!(sent(&mut pipeline).len(), 2);
    pipeline.answered::<()>(slow, Err(busy()), now);
    pipeline.submit(workspace("slow"), 'c', now);
    pipeline.submit(workspace("quick"), 'd', now);
    assert_eq!(sent(&mut pipeline), []);
    assert_eq!(pipeline.answered::<()>(quick, Ok(()), now), Some(('b', Ok(()))));
    assert_eq!(sent(&mut pipeline), [('d', 2)]);
    pipeline.tick(pipeline.next_tick(now));
    assert_eq!(sent(&mut pipeline), [('a', 2), ('c', 2)]);
}

#[test]
fn a_refusal_holds_up_nobody() {
    let (mut pipeline, now) = (pipeline(1), Instant::now());
    let ids = ['a', 'b'].map(|job| pipeline.submit(workspace("w"), job, now));
    assert_eq!(sent(&mut pipeline).len(), 2);
    assert_eq!(pipeline.answered::<()>(ids[0], Err(refused()), now), Some(('a', Err(refused()))));
    pipeline.submit(workspace("w"), 'c', now);
    assert_eq!(sent(&mut pipeline), [('c', 1)]);
    assert_eq!(pipeline.answered::<()>(ids[1], Ok(()), now), Some(('b', Ok(()))));
}

#[test]
fn delays_grow_with_failures_in_a_row_and_a_success_ends_them() {
    let (mut pipeline, mut now) = (pipeline(1), Instant::now());
    let mut round = |pipeline: &mut Pipeline<char>, answer: Failure| {
        let id = pipeline.send_next().unwrap().id;
        pipeline.answered::<()>(id, Err(answer), now);
        let delay = pipeline.next_tick(now) - now;
        now += delay;
        pipeline.tick(now);
        delay
    };
    pipeline.submit(workspace("w"), 'a', Instant::now());
    let delays: Vec<_> = (0..8).map(|_| round(&mut pipeline, busy())).collect();
    assert!(delays[..2].iter().all(|delay| *delay <= Duration::from_millis(20)), "{delays:?}");
    assert!(delays.iter().any(|delay| *delay > Duration::from_millis(100)), "{delays:?}");
    let asked = Failure { error: busy().error.retryable(Some(SECOND)), ..busy() };
    assert!(round(&mut pipeline, asked) >= SECOND, "the server asks for it");
    let id = pipeline.send_next().unwrap().id;
    assert!(pipeline.answered::<()>(id, Ok(()), Instant::now()).is_some());
    pipeline.submit(workspace("w"), 'b', Instant::now());
    assert!(round(&mut pipeline, busy()) <= RetryPolicy::default().delay_first);
}

#[test]
fn a_broken_connection_sends_all_again_in_order() {
    let (mut pipeline, now) = (pipeline(1), Instant::now());
    let ids = ['a', 'b', 'c'].map(|job| pipeline.submit(workspace("w"), job, now));
    sent(&mut pipeline);
    assert_eq!(pipeline.answered::<()>(ids[0], Ok(()), now), Some(('a', Ok(()))));
    pipeline.submit(workspace("w"), 'd', now);
    pipeline.broken(&lost(), now);
    assert_eq!(pipeline.sent_again(), 0);
    assert_eq!(sent(&mut pipeline), [('b', 1), ('c', 1), ('d', 1)]);
    assert_eq!(pipeline.sent_again(), 2, "d was not sent before");
    assert_eq!(pipeline.answered::<()>(ids[0], Ok(()), now), None, "an answer from before");
}

#[test]
fn a_deadline_is_not_written_before_the_first_attempt_and_unknown_behind_one() {
    let (mut pipeline, now) = (pipeline(1), Instant::now());
    let outcomes = |given_up: Vec<GivenUp<char>>| -> Vec<_> {
        let told = given_up.into_iter();
        told.map(|(job, failure)| {
            assert_eq!(failure.error.code(), "DEADLINE_EXCEEDED");
            assert!(failure.error.is_retryable(), "another call has its own time");
            (job, failure.outcome, failure.error.facts().get("last_code").cloned())
        })
        .collect()
    };
    let turned_away = pipeline.submit(workspace("1"), 'a', now);
    pipeline.submit(workspace("2"), 'b', now);
    assert_eq!(sent(&mut pipeline).len(), 2);
    pipeline.answered::<()>(turned_away, Err(busy()), now);
    pipeline.submit(workspace("3"), 'c', now);
    assert_eq!(outcomes(pipeline.tick(now + PATIENCE / 2)), []);
    assert_eq!(
        outcomes(pipeline.tick(now + PATIENCE)),
        [
            ('a', Outcome::NotWritten, Some("BUSY".into())),
            ('b', Outcome::Unknown, None),
            ('c', Outcome::NotWritten, None),
        ]
    );
    assert_eq!(pipeline.unsettled(), 0);
    pipeline.submit(workspace("4"), 'd', now);
    pipeline.broken(&lost(), now);
    assert_eq!(sent(&mut pipeline), [('d', 2)], "nothing of what was given up");
    pipeline.broken(&lost(), now);
    let unknown = [('d', Outcome::Unknown, Some("UNAVAILABLE".into()))];
    assert_eq!(outcomes(pipeline.tick(now + PATIENCE)), unknown);
}

#[test]
fn a_forgotten_command_is_not_sent_again_and_its_answer_goes_to_nobody() {
    let (mut pipeline, now) = (pipeline(1), Instant::now());
    let ids = ['a', 'b', 'c'].map(|job| pipeline.submit(workspace("w"), job, now));
    pipeline.forget(ids[1]);
    assert_eq!(sent(&mut pipeline), [('a', 1), ('c', 1)]);
    pipeline.forget(ids[0]);
    assert_eq!(pipeline.answered::<()>(ids[0], Ok(()), now), None);
    pipeline.forget(ids[2]);
    pipeline.broken(&lost(), now);
    assert_eq!((sent(&mut pipeline), pipeline.unsettled()), (vec![], 0));
}

#[test]
fn what_is_in_flight_grows_with_success_and_begins_anew_with_a_connection() {
    let (mut pipeline, now) = (pipeline(1), Instant::now());
    let mut ids: VecDeque<_> =
        (0..3 * IN_FLIGHT_MAX).map(|job| pipeline.submit(workspace("w"), job, now)).collect();
    let mut answer = |pipeline: &mut Pipeline<usize>, count: usize| {
        for id in ids.drain(..count) {
            pipeline.answered::<()>(id, Ok(()), now);
        }
    };
    assert_eq!(sent(&mut pipeline).len(), IN_FLIGHT_FIRST);
    answer(&mut pipeline, IN_FLIGHT_FIRST);
    assert_eq!(sent(&mut pipeline).len(), 2 * IN_FLIGHT_FIRST);
    for _ in 0..IN_FLIGHT_MAX {
        answer(&mut pipeline, 1);
        sent(&mut pipeline);
    }
    answer(&mut pipeline, 1);
    assert_eq!(sent(&mut pipeline).len(), 1, "no more than the server takes");
    pipeline.broken(&lost(), now);
    assert_eq!(sent(&mut pipeline).len(), IN_FLIGHT_FIRST);
}

#[test]
fn a_server_that_turns_commands_away_is_sent_half_as_many() {
    let (mut pipeline, mut now) = (pipeline(1), Instant::now());
    for job in 0..IN_FLIGHT_FIRST {
        pipeline.submit(workspace("w"), job, now);
    }
    for half in [32, 16, 8, 4, 2, 1, 1] {
        let mut ids = Vec::new();
        while let Some(sending) = pipeline.send_next() {
            ids.push(sending.id);
        }
        assert_eq!(ids.len(), half);
        for id in ids {
            assert_eq!(pipeline.answered::<()>(id, Err(busy()), now), None);
        }
        now = pipeline.next_tick(now);
        pipeline.tick(now);
    }
}

#[test]
fn when_waiting_does_not_help_everything_is_given_up() {
    let (mut pipeline, now) = (pipeline(1), Instant::now());
    pipeline.submit(workspace("w"), 'a', now);
    sent(&mut pipeline);
    pipeline.submit(workspace("w"), 'b', now);
    pipeline.broken(&lost(), now);
    let no_server = Error::new("UNIMPLEMENTED", "no such service");
    let given_up = |outcome| Failure { error: no_server.clone(), outcome };
    assert_eq!(
        pipeline.give_up_all(&no_server),
        [('a', given_up(Outcome::Unknown)), ('b', given_up(Outcome::NotWritten))]
    );
}

/// What a command is called in the model: its number is its key, and its place in the order.
#[derive(Debug, Clone, Copy)]
struct Sent {
    id: u64,
    number: u64,
    workspace: u64,
    generation: u64,
}

/// One stream as the server sees it. It may live on when the client has given it up.
#[derive(Debug, Default)]
struct Stream {
    requests: VecDeque<Sent>,
    /// The generation of each partition, and whether one of it was turned away.
    chains: BTreeMap<u64, (u64, bool)>,
    answers: Vec<(u64, Result<(), Failure>)>,
}

/// A server of two partitions, which are what they are: a log and the keys in it.
#[derive(Debug, Default)]
struct Server {
    logs: [Vec<(u64, u64)>; 2],
    written: BTreeSet<u64>,
}

impl Server {
    /// Takes the next request of a stream.
    fn step(&mut self, stream: &mut Stream, dice: &mut Dice, is_calm: bool) {
        let Some(sent) = stream.requests.pop_front() else { return };
        let partition = sent.workspace % 2;
        let chain = stream.chains.entry(partition).or_insert((sent.generation, false));
        assert!(sent.generation >= chain.0, "generations do not go back");
        if sent.generation > chain.0 {
            *chain = (sent.generation, false);
        }
        let chance = if is_calm { 99 } else { dice.next() % 100 };
        let answer = match chance {
            _ if chain.1 => Err(behind()),
            0..10 => Err(busy()),
            10..14 => Err(failure("PARTITION_STOPPED", Outcome::NotWritten, false)),
            14..18 => Err(failure("DEADLINE_EXCEEDED", Outcome::Unknown, true)),
            18..22 => {
                self.write(sent);
                Err(failure("PARTITION_STOPPED", Outcome::Unknown, true))
            }
            _ if is_refused(sent.number) => Err(refused()),
            _ => {
                self.write(sent);
                Ok(())
            }
        };
        chain.1 |= matches!(&answer, Err(failure) if failure.outcome != Outcome::Refused);
        stream.answers.push((sent.id, answer));
    }

    fn write(&mut self, sent: Sent) {
        if !is_refused(sent.number) && self.written.insert(sent.number) {
            let partition = usize::try_from(sent.workspace % 2).unwrap();
            self.logs[partition].push((sent.workspace, sent.number));
        }
    }
}

/// Some commands are refused whenever they are looked at.
fn is_refused(number: u64) -> bool {
    number % 7 == 3
}

/// A client and a server, and what has come of commands.
struct World {
    pipeline: Pipeline<(u64, u64)>,
    server: Server,
    /// The last one is the client's.
    streams: Vec<Stream>,
    now: Instant,
    submitted: u64,
    forgotten: BTreeSet<u64>,
    settled: BTreeMap<u64, Result<(), Failure>>,
    dice: Dice,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            pipeline: pipeline(seed),
            server: Server::default(),
            streams: vec![Stream::default()],
            now: Instant::now(),
            submitted: 0,
            forgotten: BTreeSet::new(),
            settled: BTreeMap::new(),
            dice: Dice(!seed),
        }
    }

    fn step(&mut self) {
        match self.dice.next() % 100 {
            0..25 => {
                self.submitted += 1;
                let (number, to) = (self.submitted, self.dice.next() % 5);
                self.pipeline.submit(workspace(&to.to_string()), (number, to), self.now);
            }
            25..50 => self.send(),
            50..70 => self.serve(false),
            70..90 => self.deliver(),
            90..92 => self.cut(),
            92..93 => self.forget(),
            93..99 => {
                let time = Duration::from_millis(self.dice.next() % 50);
                self.pass(time);
            }
            _ => self.pass(SECOND * 12),
        }
    }

    fn send(&mut self) {
        if let Some(sending) = self.pipeline.send_next() {
            let (number, workspace) = *sending.job;
            let sent = Sent { id: sending.id, number, workspace, generation: sending.generation };
            self.streams.last_mut().unwrap().requests.push_back(sent);
        }
    }

    /// Lets any stream have its turn: what was sent over an old one may still arrive.
    fn serve(&mut self, is_calm: bool) {
        let index = self.dice.next() % u64::try_from(self.streams.len()).unwrap();
        let stream = &mut self.streams[usize::try_from(index).unwrap()];
        self.server.step(stream, &mut self.dice, is_calm);
    }

    fn deliver(&mut self) {
        let answers = &mut self.streams.last_mut().unwrap().answers;
        if !answers.is_empty() {
            let (id, answer) = answers.remove(0);
            let settled = self.pipeline.answered::<()>(id, answer, self.now);
            self.settle(settled);
        }
    }

    /// Breaks the connection. What was not read by the server may be lost, from some point on.
    fn cut(&mut self) {
        let requests = &mut self.streams.last_mut().unwrap().requests;
        let arrive = self.dice.next() % u64::try_from(requests.len() + 1).unwrap();
        requests.truncate(usize::try_from(arrive).unwrap());
        self.streams.push(Stream::default());
        self.pipeline.broken(&lost(), self.now);
    }

    fn forget(&mut self) {
        let number = self.dice.next() % (self.submitted + 1);
        // Ids are given in the order of numbers.
        if number > 0 && !self.settled.contains_key(&number) {
            self.pipeline.forget(number);
            self.forgotten.insert(number);
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        let given_up = self.pipeline.tick(self.now).into_iter();
        self.settle(given_up.map(|(job, failure)| (job, Err(failure))));
    }

    fn settle(&mut self, settled: impl IntoIterator<Item = ((u64, u64), Result<(), Failure>)>) {
        for ((number, _), answer) in settled {
            assert!(!self.forgotten.contains(&number), "{number} was forgotten");
            let before = self.settled.insert(number, answer);
            assert_eq!(before, None, "{number} is settled once");
        }
    }

    /// Lets everything come to its end, without further trouble.
    fn calm(&mut self) {
        for _ in 0..10_000 {
            self.send();
            self.serve(true);
            self.deliver();
            self.pass(Duration::from_millis(1));
            let is_done = self.streams.iter().all(|stream| stream.requests.is_empty());
            if is_done && self.pipeline.unsettled() == 0 {
                return;
            }
        }
        panic!("it does not end: {:?}", self.pipeline);
    }

    fn check(&self) {
        for number in 1..=self.submitted {
            let is_written = self.server.written.contains(&number);
            match self.settled.get(&number) {
                None => assert!(self.forgotten.contains(&number), "{number} is not settled"),
                Some(Ok(())) => assert!(is_written, "{number} has a receipt"),
                Some(Err(failure)) => match failure.outcome {
                    Outcome::Refused => assert!(!is_written, "{number} was refused"),
                    Outcome::NotWritten => assert!(!is_written, "{number} was not written"),
                    Outcome::Unknown => {}
                },
            }
        }
        for log in &self.server.logs {
            let mut last = BTreeMap::new();
            // What the client has given up may arrive late, over a connection that it has left.
            let kept = log.iter().filter(|(_, number)| self.settled.get(number) == Some(&Ok(())));
            for (workspace, number) in kept {
                let before = last.insert(workspace, number);
                assert!(before < Some(number), "{number} comes behind {before:?}");
            }
        }
    }
}

#[test]
fn any_schedule_settles_each_command_once_and_keeps_the_order() {
    let mut settled = BTreeMap::new();
    for seed in 0..1000 {
        let mut world = World::new(seed);
        for _ in 0..400 {
            world.step();
        }
        world.calm();
        world.check();
        for answer in world.settled.values() {
            let kind = answer.as_ref().map_err(|failure| format!("{:?}", failure.outcome));
            *settled.entry(kind.err()).or_insert(0) += 1;
        }
    }
    let rare = settled.values().min();
    assert!(settled.len() == 4 && rare > Some(&500), "all outcomes happen: {settled:?}");
}
