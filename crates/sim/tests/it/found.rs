//! What the simulator has found, each with its story.

use std::sync::Arc;
use std::time::{Duration, Instant};

use seriatim_client::RetryPolicy;
use seriatim_client::parts::{Dice, Failure, Outcome, Pipeline, Target};
use seriatim_sim::{Verdict, run_twice};

const PATIENCE: Duration = Duration::from_secs(8);

fn pipeline() -> Pipeline<&'static str> {
    Pipeline::new(PATIENCE, RetryPolicy::default(), Dice(1))
}

fn target(workspace: &str) -> Arc<Target> {
    Arc::new(Target { app: "shop".to_owned(), workspace: workspace.to_owned() })
}

fn failure(code: &str, outcome: &str, retryable: bool) -> Failure {
    let body = format!(
        r#"{{"code":"{code}","message":"","retryable":{retryable},"outcome":"{outcome}"}}"#
    );
    Failure::of_body(body.as_bytes(), None).expect("a body with a code and a message")
}

/// A client was killed while a command was on its way, and had kept its key. It began again and
/// sent the command once more. By then the partition had stopped, so it was told *not written*, and
/// the simulator took that for the truth about the command. But the attempt before the kill had been
/// carried out, and its event was in the log.
///
/// A call knows of its own attempts only. So *not written* settles what came of this call, and says
/// nothing of earlier ones: whoever has an unknown outcome keeps the key until there is a receipt or
/// a refusal. The documents say so now, and the simulated clients do so.
#[test]
fn not_written_speaks_of_the_attempts_of_its_own_call() {
    let begin = Instant::now();
    let mut pipeline = pipeline();
    pipeline.submit(target("7"), "first call", begin);
    assert!(pipeline.send_next().is_some());
    let lost = failure("UNAVAILABLE", "unknown", true);
    pipeline.broken(&lost.error, begin);
    let given_up = pipeline.tick(begin + PATIENCE);
    assert_eq!(given_up[0].1.outcome, Outcome::Unknown);

    pipeline.submit(target("7"), "second call", begin + PATIENCE);
    let id = pipeline.send_next().unwrap().id;
    let stopped = failure("PARTITION_STOPPED", "not_written", false);
    let settled = pipeline.answered::<()>(id, Err(stopped), begin + PATIENCE);
    assert_eq!(settled.unwrap().1.unwrap_err().outcome, Outcome::NotWritten);
}

/// The client kept the queues of its workspaces in a hash map. When a server had turned several of
/// them away and their rest was over, they took their turns in the order of the map, which is
/// another one in each process: two runs of one seed parted there.
#[test]
fn queues_that_have_rested_take_their_turns_in_the_same_order_every_time() {
    let names: Vec<String> = (10..40).map(|number| number.to_string()).collect();
    let order = || {
        let begin = Instant::now();
        let mut pipeline = Pipeline::new(PATIENCE, RetryPolicy::default(), Dice(1));
        for name in &names {
            pipeline.submit(target(name), name.as_str(), begin);
        }
        while let Some(id) = pipeline.send_next().map(|sending| sending.id) {
            let busy = failure("BUSY", "not_written", true);
            assert!(pipeline.answered::<()>(id, Err(busy), begin).is_none());
        }
        let mut order = Vec::new();
        while order.len() < names.len() {
            let rested = pipeline.next_tick(begin);
            assert!(pipeline.tick(rested).is_empty());
            while let Some((id, name)) = pipeline.send_next().map(|sent| (sent.id, *sent.job)) {
                order.push(name);
                assert!(pipeline.answered(id, Ok(()), rested).is_some());
            }
        }
        order
    };
    assert_eq!(order(), names);
}

/// A seed under which something did not hold.
fn holds(seed: u64) {
    let (report, _) = run_twice(seed, 3_000);
    assert!(matches!(report.verdict, Verdict::Held), "{:#?}", report.verdict);
}

/// Somebody made a second app while the disk could not say what it had written, and asked again until
/// all partitions had it. It was looked for in the partitions of the first app, whose definitions were
/// fewer, so the end never came. The mistake was the simulator's own: what is decided for an app is
/// waited for in the partitions of that app.
#[test]
fn a_definition_is_waited_for_in_the_partitions_of_its_own_app() {
    holds(3_385);
}

/// The system partition could not see what had come of a definition, and was restarted alone. It was
/// there after all, with its messages in the outbox. The partition said that it served before the
/// commit behind which it had read its log was durable, so the outbox was looked at as readers saw it
/// before, and the messages stayed until the next start. In a node that took another commit that was
/// due at the same moment; here it was any.
#[test]
fn a_system_partition_that_finds_messages_in_its_log_sends_them() {
    holds(718);
}

/// A client had given its stream up while the way to the server was cut, and had begun another. What
/// it had sent over the first one came through seconds later, to the next process of the server, which
/// took it for a stream of its own: so a command was carried out before one that had been asked for
/// earlier. No stream outlives the process that it goes to. The mistake was the simulator's own.
#[test]
fn a_stream_ends_with_the_process_of_the_server() {
    holds(4_549);
}

/// Somebody took a key from elsewhere by mistake, for the very thing that had been asked under it
/// there. These are two commands, since a key belongs to its workspace: one was carried out, the other
/// refused. The simulator tells its commands apart by key and content, took the two for one, and found
/// what was refused in the log. The mistake was its own: nobody asks for the same thing under a key
/// twice.
#[test]
fn no_two_commands_have_a_key_and_a_content_in_common() {
    holds(13_135);
}

/// Keys were used anew before a tick came by, so it had nothing to remove. It moved the place up to
/// which the partition has looked for keys that are over, in memory alone: what is stored was no longer
/// what the entries make of it. Repaired in the node, which writes the partition's row whenever more
/// than its time has changed.
#[test]
fn a_tick_that_removes_nothing_is_stored_all_the_same() {
    holds(13_204);
}
