//! The matcher without futures, as another language uses it.

use seriatim_replay::{
    Book, Class, Closing, Command, CommandId, Delivery, End, Input, Next, Offset, RecordedValue,
    Settlement, Source, Then,
};
use seriatim_types::Time;

use crate::support::{History, json, name, schedule, start_timer, started, step, task_done};

fn open(history: &History) -> Book {
    let mut book = Book::open(started()).expect("the version is known");
    book.feed(history.0.clone()).expect("the history is sound");
    book
}

fn create(book: &mut Book, command: Command) -> CommandId {
    book.create(command, Source::here())
}

fn settled(id: CommandId, settlement: Settlement) -> Next {
    Next::Deliver(Delivery::Settled { id, settlement })
}

#[test]
fn code_without_futures_is_led_through_its_history() {
    let history = History::new()
        .asked(schedule("a", "1"))
        .asked(start_timer(5))
        .came(task_done(0, "7"))
        .asked(step(0, "s", "8"))
        .came(Input::SignalReceived { name: name("go"), input: json("9") });
    let mut book = open(&history);
    let (task, timer) = (create(&mut book, schedule("a", "1")), create(&mut book, start_timer(5)));
    assert_eq!((task, timer), (CommandId::Task(0), CommandId::Timer(0)));

    assert_eq!(book.next(), settled(task, Settlement::Value(json("7"))));
    assert_eq!((book.seen(), book.now()), (Offset(4), Time(4_000)));
    let step = book.create_step(name("s"), Source::here());
    assert_eq!(book.next(), settled(step, Settlement::Value(json("8"))));
    assert_eq!(book.next(), Next::Deliver(Delivery::Signal { name: name("go") }));
    assert_eq!(book.next(), Next::Rest);
    assert_eq!(book.now(), Time(4_000));
    assert_eq!(book.take_signal(&name("go"), &Source::here()), Some(json("9")));
    assert_eq!(book.now(), Time(6_000));

    let cancel = create(&mut book, Command::CancelTimer { target: timer });
    let set = Command::SetState { key: name("k"), value: json("1") };
    create(&mut book, set.clone());
    assert_eq!(book.state(&name("k")), Some(json("1")));
    book.ended(End::Completed(json("10")));
    let turn = book.turn().expect("it follows");
    assert_eq!(turn.then, Then::Close);
    assert!(turn.commands.iter().all(|it| it.seen == Offset(6)));
    let commands: Vec<Command> = turn.commands.into_iter().map(|it| it.command).collect();
    let end = Closing::Complete { result: json("10"), orphaned: Vec::new() };
    let target = CommandId::Timer(0);
    assert_eq!(cancel, CommandId::CancelTimer(0));
    assert_eq!(commands, [Command::CancelTimer { target }, set, Command::Close(end)]);
    book.accepted(Offset(7), []).expect("it was handed out");
    assert_eq!(book.next(), Next::Closed);
}

#[test]
fn what_code_cancelled_is_delivered_to_nobody_and_moves_time() {
    let target = CommandId::Task(0);
    let history = History::new()
        .asked(schedule("a", "1"))
        .asked(Command::CancelTask { target })
        .came(task_done(0, "7"));
    let mut book = open(&history);
    create(&mut book, schedule("a", "1"));
    create(&mut book, Command::CancelTask { target });
    assert_eq!(book.next(), Next::Rest);
    assert_eq!((book.seen(), book.now()), (Offset(4), Time(4_000)));
}

#[test]
fn a_promise_settles_once() {
    let create_it = || Command::CreatePromise { name: name("p"), timeout_ms: None };
    let resolve = || Command::ResolvePromise { name: name("p"), value: json("2") };
    let history = History::new()
        .asked(create_it())
        .came(Input::PromiseRejected { index: 0, message: "no".to_owned() })
        .asked_at(Offset(1), resolve());
    let mut book = open(&history);
    let id = create(&mut book, create_it());
    create(&mut book, resolve());
    assert_eq!(book.next(), settled(id, Settlement::Rejected("no".to_owned())));
    assert_eq!(book.next(), Next::Rest, "code came second");
    assert_eq!(book.seen(), Offset(4));
}

#[test]
fn a_violation_stays_in_the_book() {
    let history = History::new().asked(schedule("a", "1")).came(task_done(0, "7"));
    let mut book = open(&history);
    assert_eq!(create(&mut book, schedule("b", "1")), CommandId::Task(0));
    assert_eq!(create(&mut book, schedule("a", "1")), CommandId::Task(1));
    assert_eq!(book.next(), Next::Violated);
    let found = book.turn().expect_err("it does not follow");
    assert_eq!((found.class, found.command), (Class::Field, CommandId::Task(0)));
    book.ended(End::Cancelled);
    assert_eq!(book.turn(), Err(found));
}

#[test]
fn a_recorded_value_is_asked_for_once() {
    let mut book = open(&History::new());
    let id = CommandId::Operation(0);
    assert_eq!(book.record(name("fee"), Source::here()), RecordedValue::Unknown(id));
    book.value_recorded(id, json("3"));
    book.value_recorded(id, json("4"));
    let turn = book.turn().expect("it follows");
    assert_eq!(turn.commands.len(), 1);
    let recorded = turn.commands[0].command.clone();
    let mut book = open(&History::new().asked(recorded));
    assert_eq!(book.record(name("fee"), Source::here()), RecordedValue::Known(json("3")));
    assert_eq!(book.next(), Next::Rest);
    assert_eq!(book.turn().expect("it follows").commands, []);
}

/// A cancellation is code's to act on: another language settles what it awaits.
#[test]
fn a_cancellation_is_delivered_as_such() {
    let reason = "no".to_owned();
    let input = Input::CancellationRequested { reason: reason.clone() };
    let mut book = open(&History::new().came(input));
    assert!(!book.is_cancel_requested());
    assert_eq!(book.next(), Next::Deliver(Delivery::CancellationRequested { reason }));
    assert!(book.is_cancel_requested());
}
