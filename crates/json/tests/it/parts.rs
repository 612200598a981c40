//! A command in parts is the command of its body, in every respect.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use seriatim_json::{
    ChangeParts, CommandParts, ConditionParts, EventParts, Invalid, Problem, command,
    command_of_parts,
};
use seriatim_types::Time;
use seriatim_types::limits::EVENTS_PER_COMMAND_MAX;

use crate::corpus;

type Members<'d> = BTreeMap<&'d str, &'d RawValue>;

/// The parts of a body; `None` if its frame holds what parts cannot say.
fn parts(document: &str) -> Option<CommandParts<'_>> {
    let mut root: Members<'_> = serde_json::from_str(document).ok()?;
    let events: Vec<&RawValue> = read(root.remove("events")?)?;
    let parts = CommandParts {
        events: events.into_iter().map(event).collect::<Option<_>>()?,
        if_offset: optional(root.remove("if_offset"))?,
        include_proof: optional(root.remove("include_proof"))?.unwrap_or(false),
    };
    root.is_empty().then_some(parts)
}

fn event(event: &RawValue) -> Option<EventParts<'_>> {
    let mut event: Members<'_> = read(event)?;
    let changes: Vec<&RawValue> = optional(event.remove("changes"))?.unwrap_or_default();
    let parts = EventParts {
        name: read(event.remove("name")?)?,
        args: json(event.remove("args")),
        changes: changes.into_iter().map(change).collect::<Option<_>>()?,
    };
    event.is_empty().then_some(parts)
}

fn change(change: &RawValue) -> Option<ChangeParts<'_>> {
    let mut change: BTreeMap<&str, Members<'_>> = read(change)?;
    let Some((word, mut it)) = change.pop_first() else { return Some(ChangeParts::None) };
    let parts = match word {
        "create" => ChangeParts::Create {
            id: read(it.remove("id")?)?,
            kind: read(it.remove("kind")?)?,
            parent: optional::<Option<u64>>(it.remove("parent"))?.flatten().unwrap_or(0),
            fields: json(it.remove("fields")),
        },
        "update" => ChangeParts::Update {
            id: read(it.remove("id")?)?,
            fields: json(it.remove("fields")),
            if_version: optional(it.remove("if_version"))?,
        },
        "delete" => ChangeParts::Delete {
            id: read(it.remove("id")?)?,
            if_version: optional(it.remove("if_version"))?,
        },
        "set" => ChangeParts::Set {
            key: read(it.remove("key")?)?,
            value: json(it.remove("value")),
            condition: condition(it.remove("if"))?,
            // The only moment in the corpus.
            expires_at: optional::<Option<&str>>(it.remove("expires_at"))?
                .flatten()
                .map(|text| (text == "2027-01-01T00:00:00Z").then_some(Time(1_798_761_600_000)))
                .map_or(Some(None), |time| time.map(Some))?,
        },
        "unset" => ChangeParts::Unset {
            key: read(it.remove("key")?)?,
            condition: condition(it.remove("if"))?,
        },
        "draw" => ChangeParts::Draw { sequence: read(it.remove("sequence")?)? },
        _ => return None,
    };
    (it.is_empty() && change.is_empty()).then_some(parts)
}

fn condition(value: Option<&RawValue>) -> Option<Option<ConditionParts<'_>>> {
    let Some(value) = value else { return Some(None) };
    let condition = match value.get() {
        "\"exists\"" => ConditionParts::Exists,
        "\"absent\"" => ConditionParts::Absent,
        "{}" => ConditionParts::None,
        _ => {
            let mut members: Members<'_> = read(value)?;
            match (members.remove("version"), members.remove("value"), members.is_empty()) {
                (Some(version), None, true) => ConditionParts::Version(read(version)?),
                (None, Some(value), true) => ConditionParts::Value(value.get().as_bytes()),
                _ => return None,
            }
        }
    };
    Some(Some(condition))
}

fn read<'d, T: serde::Deserialize<'d>>(value: &'d RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

fn optional<'d, T: serde::Deserialize<'d>>(value: Option<&'d RawValue>) -> Option<Option<T>> {
    value.map_or(Some(None), |value| read(value).map(Some))
}

fn json(value: Option<&RawValue>) -> &[u8] {
    value.map_or(b"", |value| value.get().as_bytes())
}

#[test]
fn every_good_command_is_the_same_in_parts() {
    let mut count = 0;
    for document in corpus::COMMANDS {
        // Some write their numbers as 1.0, which is for bodies alone.
        let Some(parts) = parts(document) else { continue };
        assert_eq!(command_of_parts(&parts), command(document.as_bytes()), "{document}");
        count += 1;
    }
    assert!(count >= 6, "only {count} commands have parts");
}

/// Commands without changes are read by a shorter way.
#[test]
fn a_command_of_events_alone_is_the_same_in_parts() {
    const NAMES: [&str; 3] = ["Opened", "no name", ""];
    const ARGS: [&str; 16] = [
        "",
        "{}",
        "[]",
        "null",
        r#"{"a":{"b":[1,2.50,"x\ny"]}}"#,
        r#"{"$next":"invoice"}"#,
        r#"{"b":{"$draw":0},"a":{"$next":"invoice","as":"text"},"c":[{"$draw":1}]}"#,
        r#"{"n":{"$next":"no name"}}"#,
        r#"{"n":{"$next":3}}"#,
        r#"{"n":{"$ref":7}}"#,
        r#"{"n":{"$ref":200001}}"#,
        r#"{"n":{"$ref":0}}"#,
        r#"{"n":{"$draw":1},"m":{"$next":"invoice"}}"#,
        r#"{"n":{"$next":"a","other":1}}"#,
        r#"{"$lit":{"$next":"a"}}"#,
        r#"{"$lit":[1]}"#,
    ];
    let (mut good, mut bad) = (0, 0);
    let mut compare = |events: &[(&str, &str)], if_offset: Option<u64>| {
        let event = |&(name, args): &(&str, &str)| match args {
            "" => format!(r#"{{"name":"{name}"}}"#),
            args => format!(r#"{{"name":"{name}","args":{args}}}"#),
        };
        let document: Vec<String> = events.iter().map(event).collect();
        let offset = if_offset.map_or(String::new(), |offset| format!(r#","if_offset":{offset}"#));
        let document = format!(r#"{{"events":[{}]{offset}}}"#, document.join(","));
        let part = |&(name, args)| EventParts { name, args: str::as_bytes(args), changes: vec![] };
        let events = events.iter().map(part).collect();
        let parts = CommandParts { events, if_offset, include_proof: false };
        let read = command_of_parts(&parts);
        *if read.is_ok() { &mut good } else { &mut bad } += 1;
        assert_eq!(read, command(document.as_bytes()), "{document}");
    };
    compare(&[], None);
    for first in ARGS {
        for name in NAMES {
            for if_offset in [None, Some(0), Some(7), Some(1 << 53)] {
                compare(&[(name, first)], if_offset);
            }
        }
        for second in ARGS {
            compare(&[("Opened", first), ("Closed", second)], None);
        }
    }
    let many = vec![("Opened", ""); EVENTS_PER_COMMAND_MAX as usize];
    compare(&many, None);
    compare(&[many.as_slice(), &[("no name", "")]].concat(), None);
    assert!(good > 50 && bad > 50, "{good} good, {bad} bad");
}

#[test]
fn what_is_wrong_with_a_command_is_the_same_in_parts() {
    let golden = include_str!("../../golden/bad_commands.txt");
    let mut count = 0;
    for document in golden.lines().filter(|line| line.starts_with('{')) {
        let Some(parts) = parts(document) else { continue };
        let said = command(document.as_bytes()).unwrap_err();
        // Of a text the place is counted from its own beginning, and a frame repeats nothing.
        if said.to_string().contains(" byte ") || said.problem == Problem::Repeated {
            continue;
        }
        assert_eq!(command_of_parts(&parts), Err(said), "{document}");
        count += 1;
    }
    assert!(count >= 30, "only {count} commands have parts");
}

fn refused(event: EventParts<'_>) -> Invalid {
    let parts = CommandParts { events: vec![event], ..CommandParts::default() };
    command_of_parts(&parts).unwrap_err()
}

#[test]
fn broken_texts_are_told_with_their_place_in_the_command() {
    let set = |value, condition, expires_at| EventParts {
        name: "X",
        changes: vec![ChangeParts::Set { key: "k", value, condition, expires_at }],
        ..EventParts::default()
    };
    let deep = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
    let (fits, too_deep) = (deep(58), deep(59));
    assert!(
        command_of_parts(&CommandParts {
            events: vec![set(&fits, None, None)],
            ..Default::default()
        })
        .is_ok()
    );
    for (event, sentence) in [
        (
            EventParts { name: "X", args: b"{\"a\":}", ..EventParts::default() },
            "events[0].args.a: is broken at byte 5: expected a value, found '}'",
        ),
        (
            EventParts { name: "X", args: b"{\"a\":\"\xff\"}", ..EventParts::default() },
            "events[0].args: is not UTF-8 from byte 6 on",
        ),
        (
            EventParts { name: "X", args: b"{\"a\":1,\"a\":2}", ..EventParts::default() },
            "events[0].args.a: is given more than once in the same object",
        ),
        (
            EventParts { name: "X", args: b"{} {}", ..EventParts::default() },
            "events[0].args: ends before byte 3, and nothing may follow it",
        ),
        (
            set(b"1", Some(ConditionParts::Value(b"")), None),
            "events[0].changes[0].set.if.value: is broken at byte 0: expected a value, but the \
             document ends there",
        ),
        (set(b"", None, None), "events[0].changes[0].set.value: is required"),
        (
            set(b"1", None, Some(Time(253_402_300_800_000))),
            "events[0].changes[0].set.expires_at: must be a whole number from 0 to \
             253402300799999, not 253402300800000",
        ),
        (
            set(&too_deep, None, None),
            &format!(
                "events[0].changes[0].set.value{}: is nested too deep: at most 64 arrays and \
                 objects in each other",
                "[0]".repeat(58)
            ),
        ),
    ] {
        assert_eq!(refused(event).to_string(), sentence);
    }
}

#[test]
fn a_command_in_parts_has_the_size_of_what_was_sent() {
    let text = format!("\"{}\"", "x".repeat(512 * 1024 - 10));
    let set =
        || ChangeParts::Set { key: "k", value: text.as_bytes(), condition: None, expires_at: None };
    let parts = |changes| CommandParts {
        events: vec![EventParts { name: "X", changes, ..EventParts::default() }],
        ..CommandParts::default()
    };
    assert!(command_of_parts(&parts(vec![set(), set()])).is_ok());
    let refused = command_of_parts(&parts(vec![set(), set(), set()])).unwrap_err();
    assert_eq!((refused.code(), refused.field.as_str()), ("TOO_LARGE", ""));
}
