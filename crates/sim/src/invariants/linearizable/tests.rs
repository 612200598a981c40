//! Small histories whose verdict is plain.

use std::time::Duration;

use super::*;

fn call<T>(begun: u64, ended: u64, what: T) -> Call<T> {
    let (begun, ended) = (Duration::from_millis(begun), Some(Duration::from_millis(ended)));
    Call { begun, ended, what }
}

fn maybe<T>(begun: u64, what: T) -> Call<T> {
    Call { begun: Duration::from_millis(begun), ended: None, what }
}

fn write(condition: Option<Condition>, value: &'static str, came_to: Written) -> OnRegister {
    OnRegister::Write { condition, value: Some(Bytes::from_static(value.as_bytes())), came_to }
}

fn set(value: &'static str) -> OnRegister {
    write(None, value, Written::Done)
}

fn swap(version: u64, value: &'static str, came_to: Written) -> OnRegister {
    write(Some(Condition::Version(version)), value, came_to)
}

fn read(version: u64, value: &'static str) -> OnRegister {
    OnRegister::Read(Some((version, Bytes::from_static(value.as_bytes()))))
}

fn registers(calls: &[Call<OnRegister>]) -> Searched {
    search(calls, None, on_register)
}

fn counters(calls: &[Call<OnCounter>]) -> Searched {
    search(calls, 0, on_counter)
}

#[test]
fn calls_that_overlap_may_come_in_any_order() {
    let calls = [call(0, 9, set("1")), call(0, 9, set("2")), call(10, 11, read(2, "1"))];
    assert_eq!(registers(&calls), Searched::Found);
    let calls =
        [call(0, 9, set("1")), call(1, 2, OnRegister::Read(None)), call(3, 4, read(1, "1"))];
    assert_eq!(registers(&calls), Searched::Found);
}

#[test]
fn a_stale_read_is_found() {
    let calls = [call(0, 1, set("1")), call(2, 3, set("2")), call(4, 5, read(1, "1"))];
    assert_eq!(registers(&calls), Searched::None);
    let calls = [call(0, 1, set("1")), call(2, 3, OnRegister::Read(None))];
    assert_eq!(registers(&calls), Searched::None);
}

#[test]
fn reads_that_go_back_are_found() {
    let (new, old) = (read(2, "2"), read(1, "1"));
    let calls = [call(0, 1, set("1")), call(2, 9, set("2")), call(3, 4, new), call(5, 6, old)];
    assert_eq!(registers(&calls), Searched::None);
}

#[test]
fn a_lost_update_is_found() {
    let both = [
        call(0, 1, set("1")),
        call(2, 5, swap(1, "2", Written::Done)),
        call(2, 5, swap(1, "3", Written::Done)),
    ];
    assert_eq!(registers(&both), Searched::None);
    let one = [
        call(0, 1, set("1")),
        call(2, 5, swap(1, "2", Written::Done)),
        call(2, 5, swap(1, "3", Written::Refused)),
    ];
    assert_eq!(registers(&one), Searched::Found);
}

#[test]
fn a_refusal_needs_a_state_that_refuses() {
    let by_value =
        |value: &'static str| Some(Condition::Value(Bytes::from_static(value.as_bytes())));
    let calls = [call(0, 1, set("1")), call(2, 3, write(by_value("1"), "2", Written::Refused))];
    assert_eq!(registers(&calls), Searched::None);
    let calls = [call(0, 1, set("1")), call(2, 3, write(by_value("7"), "2", Written::Refused))];
    assert_eq!(registers(&calls), Searched::Found);
}

#[test]
fn a_maybe_takes_effect_late_or_never_but_not_before_it_began_and_not_twice() {
    let late = [maybe(0, write(None, "1", Written::Maybe)), call(1, 2, OnRegister::Read(None))];
    assert_eq!(registers(&late), Searched::Found);
    let late = [late[0].clone(), late[1].clone(), call(50, 51, read(1, "1"))];
    assert_eq!(registers(&late), Searched::Found);
    let early = [call(0, 1, read(1, "1")), maybe(2, write(None, "1", Written::Maybe))];
    assert_eq!(registers(&early), Searched::None);
    let twice = [
        maybe(0, write(None, "1", Written::Maybe)),
        call(1, 2, read(1, "1")),
        call(3, 4, set("2")),
        call(5, 6, read(3, "1")),
    ];
    assert_eq!(registers(&twice), Searched::None);
}

#[test]
fn a_number_that_is_drawn_twice_or_never_is_found() {
    let draw = |number| OnCounter::Draw(Some(number));
    assert_eq!(counters(&[call(0, 5, draw(2)), call(0, 5, draw(1))]), Searched::Found);
    assert_eq!(counters(&[call(0, 5, draw(1)), call(0, 5, draw(1))]), Searched::None);
    assert_eq!(counters(&[call(0, 5, draw(1)), call(0, 5, draw(3))]), Searched::None);
    assert_eq!(counters(&[call(0, 1, draw(2)), call(2, 3, draw(1))]), Searched::None);
    let with_maybe = [call(0, 1, draw(1)), call(4, 5, draw(3)), maybe(2, OnCounter::Draw(None))];
    assert_eq!(counters(&with_maybe), Searched::Found);
    let doubled = [call(0, 1, draw(1)), call(2, 3, OnCounter::Read(2))];
    assert_eq!(counters(&doubled), Searched::None, "a draw that was carried out twice");
}

#[test]
fn a_history_that_is_too_long_is_not_believed() {
    let calls: Vec<_> = (0..61).map(|at| call(at, at, OnCounter::Draw(Some(at + 1)))).collect();
    assert_eq!(counters(&calls[..60]), Searched::Found);
    assert_eq!(counters(&calls), Searched::TooMany);
}
