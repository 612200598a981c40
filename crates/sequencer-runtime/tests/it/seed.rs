//! The tests that the design of 2025 asked for, and what was found wrong with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use seriatim_sequencer::{BeginError, Busy, RowKey, built_in};
use seriatim_sequencer_runtime::{NumberStorage, Runtime, StartError};
use seriatim_storage::faulty::Dice;
use seriatim_testkit::full_scan;
use seriatim_types::KindId;

use crate::mock::{Mock, begin, check_log, command, good_log, runtime, sequences, settings};

fn with_log(events: u64, workspaces: u64) -> Arc<Mock> {
    let mock = Arc::new(Mock::default());
    mock.append(&good_log(events, workspaces, events));
    mock
}

/// The stored rows and what is in memory agree with the old way.
fn check_against_full_scan(mock: &Arc<Mock>, runtime: Runtime) {
    runtime.wait_until_checkpointed();
    let ended = runtime.shutdown(Duration::from_secs(60));
    assert_eq!(ended.checkpoint_lag, 0);
    let expected = full_scan(&sequences(), &*mock.log.lock().unwrap());
    let keys: Vec<RowKey> = expected.keys().cloned().collect();
    let stored = mock.read_rows(&keys).unwrap();
    for ((key, expected), stored) in expected.iter().zip(stored) {
        assert_eq!(stored.as_ref(), Some(expected), "{key:?}");
    }
}

#[test]
fn construction_starts_to_read_the_log_and_refuses_meanwhile() {
    let mock = with_log(20, 3);
    mock.gate.close();
    let runtime = runtime(&mock, 500);
    mock.gate.wait_for_somebody();
    let refused = runtime.start(begin(1)).err();
    let Some(StartError::Busy(Busy::Actualizing(progress))) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((progress.done, progress.total), (0, 20));
    mock.gate.open();
    runtime.wait_until_serving().unwrap();
    assert_eq!(runtime.start(begin(1)).unwrap().event().partition.get(), 21);
}

#[test]
fn logs_of_every_length_are_recovered_with_five_rows_in_memory() {
    for events in 0..=50 {
        let mock = with_log(events, 20);
        let runtime = runtime(&mock, 5);
        runtime.wait_until_serving().unwrap();
        for workspace in 0..20 {
            command(&runtime, workspace, 2, |event| {
                mock.append(std::slice::from_ref(event));
                true
            })
            .or_else(|busy| {
                // The checkpoint is behind: wait for it, as a client would.
                assert!(matches!(busy, StartError::Busy(Busy::Unflushed { .. })), "{busy}");
                runtime.wait_until_checkpointed();
                command(&runtime, workspace, 2, |event| {
                    mock.append(std::slice::from_ref(event));
                    true
                })
            })
            .unwrap();
        }
        check_log(&mock.log.lock().unwrap());
        check_against_full_scan(&mock, runtime);
    }
}

#[test]
fn a_hundred_rounds_of_flush_or_actualize_repeat_nothing_and_leave_no_hole() {
    for seed in 0..10 {
        let mock = Arc::new(Mock::default());
        let runtime = runtime(&mock, 500);
        let mut dice = Dice::new(seed);
        for _ in 0..100 {
            runtime.wait_until_serving().unwrap();
            let (is_written, is_flushed) = match dice.below(4) {
                0 => (false, false),
                // The write was reported as failed and is there all the same.
                1 => (true, false),
                _ => (true, true),
            };
            let ids = dice.below(3);
            command(&runtime, dice.below(4), ids, |event| {
                if is_written {
                    mock.append(std::slice::from_ref(event));
                }
                is_flushed
            })
            .unwrap();
        }
        runtime.wait_until_serving().unwrap();
        check_log(&mock.log.lock().unwrap());
        check_against_full_scan(&mock, runtime);
    }
}

#[test]
fn when_checkpoints_fail_for_good_numbers_are_refused_until_they_do_not() {
    let mock = Arc::new(Mock::default());
    let runtime = runtime(&mock, 5);
    runtime.wait_until_serving().unwrap();
    mock.writes_fail.store(true, Ordering::Relaxed);
    let write = |workspace| {
        command(&runtime, workspace, 1, |event| {
            mock.append(std::slice::from_ref(event));
            true
        })
    };
    for workspace in 1..=6 {
        write(workspace).unwrap();
    }
    let refused = write(7).unwrap_err();
    assert_eq!(refused, StartError::Busy(Busy::Unflushed { rows: 6, rows_max: 5 }));
    while runtime.health().retries < 3 {
        thread::yield_now();
    }
    assert_eq!(runtime.health().last_failure.as_deref(), Some("writes fail by plan"));
    mock.writes_fail.store(false, Ordering::Relaxed);
    runtime.wait_until_checkpointed();
    write(7).unwrap();
    assert_eq!(write(6).unwrap().values[0].1.get(), 2, "goes on where it was");
    check_log(&mock.log.lock().unwrap());
    check_against_full_scan(&mock, runtime);
}

#[test]
fn ten_thousand_events_are_recovered_through_five_rows_and_writes_that_often_fail() {
    let mock = with_log(10_000, 5_000);
    mock.flaky.store(3, Ordering::Relaxed);
    let runtime = runtime(&mock, 5);
    runtime.wait_until_serving().unwrap();
    assert!(runtime.health().retries > 100, "{:?}", runtime.health());
    assert_eq!(runtime.health().counters.events_read, 10_000);
    mock.flaky.store(0, Ordering::Relaxed);
    check_against_full_scan(&mock, runtime);
}

#[test]
fn a_start_after_a_clean_shutdown_reads_no_event() {
    let mock = with_log(1_000, 10);
    let first = runtime(&mock, 500);
    first.wait_until_serving().unwrap();
    assert_eq!(first.health().counters.events_read, 1_000);
    assert_eq!(first.shutdown(Duration::from_secs(60)).checkpoint_lag, 0);
    let second = runtime(&mock, 500);
    second.wait_until_serving().unwrap();
    let counters = second.health().counters;
    assert_eq!((counters.events_read, counters.checkpoint_lag), (0, 0));
    assert_eq!(counters.checkpoints_written, 0, "there is nothing to write");
    assert_eq!(second.start(begin(1)).unwrap().event().partition.get(), 1_001);
}

#[test]
fn shutdown_ends_in_time_while_every_write_fails() {
    let mock = with_log(10, 3);
    mock.writes_fail.store(true, Ordering::Relaxed);
    let runtime = runtime(&mock, 500);
    runtime.wait_until_serving().unwrap();
    let before = Instant::now();
    let ended = runtime.shutdown(Duration::from_millis(20));
    assert_eq!(ended.checkpoint_lag, 10, "nothing could be written, and that is said");
    assert!(before.elapsed() < Duration::from_secs(30), "the original waited for ever");
}

#[test]
fn shutdown_ends_while_the_log_is_being_read_and_no_checkpoint_can_be_written() {
    let mock = with_log(1_000, 1_000);
    mock.writes_fail.store(true, Ordering::Relaxed);
    // Five rows may wait, and those of one transaction more: then the reading stands still.
    let runtime = runtime(&mock, 5);
    while runtime.health().retries < 20 {
        thread::yield_now();
    }
    assert_eq!(runtime.health().reading.map(|progress| progress.done), Some(8));
    let _ = runtime.shutdown(Duration::ZERO);
}

#[test]
fn the_log_is_read_again_while_every_write_fails() {
    let mock = with_log(10, 3);
    mock.writes_fail.store(true, Ordering::Relaxed);
    let runtime = runtime(&mock, 500);
    runtime.wait_until_serving().unwrap();
    runtime.start(begin(1)).unwrap().actualize();
    runtime.wait_until_serving().unwrap();
    assert_eq!(runtime.start(begin(1)).unwrap().event().partition.get(), 11);
}

#[test]
fn a_former_owner_cannot_write_and_gives_no_more_numbers() {
    let mock = with_log(5, 1);
    let former = runtime(&mock, 500);
    former.wait_until_serving().unwrap();
    former.wait_until_checkpointed();
    let owner = runtime(&mock, 500);
    owner.wait_until_serving().unwrap();
    command(&owner, 0, 1, |event| {
        mock.append(std::slice::from_ref(event));
        true
    })
    .unwrap();
    owner.wait_until_checkpointed();
    assert_eq!(mock.checkpointed(), 6);
    // The former owner does not know yet, and believes in its number 6.
    command(&former, 0, 1, |_| true).unwrap();
    former.wait_until_checkpointed();
    let refused = former.start(begin(0)).err();
    assert!(matches!(refused, Some(StartError::Fenced { .. })), "{refused:?}");
    assert_eq!(mock.checkpointed(), 6);
    drop(former);
    check_against_full_scan(&mock, owner);
}

#[test]
fn a_log_that_makes_no_sense_stops_the_runtime_and_says_why() {
    let mock = with_log(5, 1);
    mock.log.lock().unwrap().remove(2);
    let runtime = runtime(&mock, 500);
    let stopped = runtime.wait_until_serving().unwrap_err();
    let reason = "offset 3 was to come next in the log, not 4".to_owned();
    assert_eq!(stopped, StartError::Stopped { reason });
    assert_eq!(runtime.start(begin(0)).err(), Some(stopped));
}

#[test]
fn a_dropped_transaction_leaves_no_trace() {
    let mock = with_log(5, 1);
    let runtime = runtime(&mock, 500);
    runtime.wait_until_serving().unwrap();
    for _ in 0..3 {
        let mut started = runtime.start(begin(0)).unwrap();
        assert_eq!(started.event().partition.get(), 6);
        assert_eq!(started.next(built_in::RECORD_IDS).unwrap().number.get(), 200_011);
    }
    let kind = KindId(9);
    let unknown = runtime.start(seriatim_sequencer::Begin { kind, ..begin(0) }).err();
    assert_eq!(unknown, Some(StartError::Begin(BeginError::UnknownKind { kind })));
}

#[test]
fn many_threads_at_once_get_every_number_once() {
    for round in 0..20 {
        let mock = Arc::new(Mock::default());
        mock.flaky.store(round % 3, Ordering::Relaxed);
        let runtime = runtime(&mock, 5);
        thread::scope(|scope| {
            for thread in 0..4 {
                let (mock, runtime) = (&mock, &runtime);
                scope.spawn(move || {
                    let mut dice = Dice::new(round).fork(thread);
                    let mut done = 0;
                    while done < 25 {
                        let fails = dice.below(10) == 0;
                        let outcome = command(runtime, dice.below(8), dice.below(3), |event| {
                            if !fails {
                                mock.append(std::slice::from_ref(event));
                            }
                            !fails
                        });
                        match outcome {
                            Ok(_) => done += u64::from(!fails),
                            Err(StartError::Busy(_) | StartError::InProgress) => {
                                thread::yield_now();
                            }
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
        });
        assert_eq!(mock.log.lock().unwrap().len(), 100);
        check_log(&mock.log.lock().unwrap());
        mock.flaky.store(0, Ordering::Relaxed);
        runtime.wait_until_serving().unwrap();
        check_against_full_scan(&mock, runtime);
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let mock = Arc::new(Mock::default());
    let new = Runtime::new(Arc::clone(&mock) as _, mock, sequences(), settings(0));
    assert!(new.is_err());
}

#[test]
fn the_log_is_read_again_at_the_limit_while_every_write_fails() {
    // Five rows wait, five may. The sixth is written and reported as failed: reading it again
    // must not need a checkpoint, or it would never end.
    let mock = Arc::new(Mock::default());
    let runtime = runtime(&mock, 5);
    runtime.wait_until_serving().unwrap();
    mock.writes_fail.store(true, Ordering::Relaxed);
    for workspace in 1..=6 {
        command(&runtime, workspace, 1, |event| {
            mock.append(std::slice::from_ref(event));
            workspace < 6
        })
        .unwrap();
    }
    runtime.wait_until_serving().unwrap();
    let refused = runtime.start(begin(7)).err();
    assert_eq!(refused, Some(StartError::Busy(Busy::Unflushed { rows: 6, rows_max: 5 })));
}

#[test]
fn a_second_transaction_is_refused_and_nobody_waits_for_the_first() {
    let mock = with_log(5, 1);
    let runtime = runtime(&mock, 500);
    runtime.wait_until_serving().unwrap();
    let first = runtime.start(begin(0)).unwrap();
    assert_eq!(runtime.start(begin(1)).err(), Some(StartError::InProgress));
    assert_eq!(runtime.health().reading, None, "health is told meanwhile");
    drop(first);
    assert_eq!(runtime.start(begin(1)).unwrap().event().partition.get(), 6);
}

#[test]
fn shutdown_without_a_bound_waits_for_the_last_checkpoint() {
    let mock = with_log(10, 3);
    mock.writes_fail.store(true, Ordering::Relaxed);
    let runtime = runtime(&mock, 500);
    runtime.wait_until_serving().unwrap();
    while runtime.health().retries < 3 {
        thread::yield_now();
    }
    // The worker is between two attempts; the last one comes after the disk has healed.
    mock.writes_fail.store(false, Ordering::Relaxed);
    assert_eq!(runtime.shutdown(Duration::MAX).checkpoint_lag, 0);
    assert_eq!(mock.checkpointed(), 10);
}

#[test]
fn reads_that_fail_are_tried_again_and_counted() {
    let mock = with_log(100, 10);
    mock.reads_to_fail.store(12, Ordering::Relaxed);
    let runtime = runtime(&mock, 5);
    runtime.wait_until_serving().unwrap();
    assert!(runtime.health().retries >= 12, "{:?}", runtime.health());
    assert_eq!(runtime.health().last_failure.as_deref(), Some("read fails by plan"));
    check_against_full_scan(&mock, runtime);
}

#[test]
fn a_checkpoint_ahead_of_the_log_stops_the_runtime() {
    // The log has lost its tail, or is another one: going on would leave a hole for ever.
    let mock = with_log(10, 1);
    let first = runtime(&mock, 500);
    first.wait_until_serving().unwrap();
    assert_eq!(first.shutdown(Duration::from_secs(60)).checkpoint_lag, 0);
    mock.log.lock().unwrap().truncate(5);
    let second = runtime(&mock, 500);
    let stopped = second.wait_until_serving().unwrap_err();
    assert!(stopped.to_string().contains("the log ends at"), "{stopped}");
}

#[test]
fn a_storage_that_panics_or_answers_nonsense_is_told_to_whoever_waits() {
    let mock = with_log(10, 1);
    mock.panics.store(true, Ordering::Relaxed);
    let panicked = runtime(&mock, 500);
    let stopped = panicked.wait_until_serving().unwrap_err();
    assert!(matches!(stopped, StartError::Stopped { .. }), "{stopped}");
    drop(panicked);

    mock.panics.store(false, Ordering::Relaxed);
    mock.too_few_rows.store(true, Ordering::Relaxed);
    let confused = runtime(&mock, 500);
    while confused.health().retries < 3 {
        thread::yield_now();
    }
    let failure = confused.health().last_failure.unwrap();
    assert!(failure.contains("rows were asked for"), "{failure}");
    let _ = confused.shutdown(Duration::ZERO);
}

#[test]
fn numbers_are_gathered_before_they_are_written() {
    let mock = Arc::new(Mock::default());
    let slow = seriatim_sequencer_runtime::RuntimeSettings {
        checkpoint_delay: Duration::from_secs(3_600),
        ..settings(500)
    };
    let runtime =
        Runtime::new(Arc::clone(&mock) as _, Arc::clone(&mock) as _, sequences(), slow).unwrap();
    runtime.wait_until_serving().unwrap();
    for _ in 0..100 {
        command(&runtime, 1, 1, |event| {
            mock.append(std::slice::from_ref(event));
            true
        })
        .unwrap();
    }
    assert_eq!(runtime.health().counters.checkpoints_written, 0, "an hour has not passed");
    assert_eq!(runtime.shutdown(Duration::from_secs(60)).checkpoint_lag, 0);
    assert_eq!(mock.checkpointed(), 100);
}
