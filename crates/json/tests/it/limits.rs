//! What is just allowed, and what is one too many.

use seriatim_json::command;
use seriatim_types::limits;

/// The code and the sentence of a refusal, or nothing.
fn outcome(document: &str) -> Option<String> {
    command(document.as_bytes()).err().map(|invalid| format!("{} {invalid}", invalid.code()))
}

fn list(item: &str, count: u32) -> String {
    vec![item; count as usize].join(",")
}

fn with_args(args: &str) -> String {
    format!(r#"{{"events":[{{"name":"X","args":{args}}}]}}"#)
}

fn with_changes(changes: &str) -> String {
    format!(r#"{{"events":[{{"name":"X","changes":[{changes}]}}]}}"#)
}

#[test]
fn a_body_ends_at_its_limit() {
    let command = with_args("{}");
    let padded = |bytes: usize| format!("{command}{}", " ".repeat(bytes - command.len()));
    let max = limits::COMMAND_BYTES_MAX as usize;
    assert_eq!(outcome(&padded(max)), None);
    let sentence = "TOO_LARGE the document: has 1048577 bytes: at most 1048576 are allowed";
    assert_eq!(outcome(&padded(max + 1)).as_deref(), Some(sentence));
}

#[test]
fn events_and_changes_end_at_their_limits() {
    let events = |count| format!(r#"{{"events":[{}]}}"#, list(r#"{"name":"X"}"#, count));
    assert_eq!(outcome(&events(limits::EVENTS_PER_COMMAND_MAX)), None);
    let sentence =
        "TOO_LARGE events[256]: goes beyond a limit: at most 256 events of a command are allowed";
    assert_eq!(outcome(&events(limits::EVENTS_PER_COMMAND_MAX + 1)).as_deref(), Some(sentence));

    // Changes are counted over all events.
    let unset = list(r#"{"unset":{"key":"a"}}"#, limits::CHANGES_PER_COMMAND_MAX / 2);
    let event = format!(r#"{{"name":"X","changes":[{unset}]}}"#);
    assert_eq!(outcome(&format!(r#"{{"events":[{event},{event}]}}"#)), None);
    let more = format!(r#"{{"events":[{event},{event},{}]}}"#, &event);
    let sentence = "TOO_LARGE events[2].changes[0]: goes beyond a limit: at most 4096 changes of a \
                    command are allowed";
    assert_eq!(outcome(&more).as_deref(), Some(sentence));
}

#[test]
fn draws_end_at_their_limit_wherever_they_stand() {
    let next = list(r#"{"$next":"a"}"#, limits::DRAWS_PER_COMMAND_MAX - 1);
    let draws = |changes: &str| {
        format!(r#"{{"events":[{{"name":"X","args":{{"a":[{next}]}},"changes":[{changes}]}}]}}"#)
    };
    let draw = r#"{"draw":{"sequence":"a"}}"#;
    assert_eq!(outcome(&draws(draw)), None);
    let sentence = "TOO_LARGE events[0].changes[1].draw.sequence: goes beyond a limit: at most 4096 \
                    draws of a command are allowed";
    assert_eq!(outcome(&draws(&list(draw, 2))).as_deref(), Some(sentence));
}

#[test]
fn holes_end_at_their_limit() {
    let holes = |count| with_args(&format!(r#"{{"a":[{}]}}"#, list(r#"{"$ref":200001}"#, count)));
    assert_eq!(outcome(&holes(limits::HOLES_PER_COMMAND_MAX)), None);
    let sentence = "TOO_LARGE events[0].args: goes beyond a limit: at most 16384 holes of a \
                    command are allowed";
    assert_eq!(outcome(&holes(limits::HOLES_PER_COMMAND_MAX + 1)).as_deref(), Some(sentence));
}

#[test]
fn fields_end_at_their_limit() {
    let record = |count: u32| {
        let fields: Vec<String> = (0..count).map(|field| format!(r#""f{field:04}":0"#)).collect();
        let fields = fields.join(",");
        with_changes(&format!(r#"{{"create":{{"id":1,"kind":"a","fields":{{{fields}}}}}}}"#))
    };
    assert_eq!(outcome(&record(limits::FIELDS_PER_RECORD_MAX)), None);
    let sentence = "TOO_LARGE events[0].changes[0].create.fields: goes beyond a limit: at most \
                    1024 fields of a record are allowed";
    assert_eq!(outcome(&record(limits::FIELDS_PER_RECORD_MAX + 1)).as_deref(), Some(sentence));
}

#[test]
fn the_names_of_fields_end_at_their_limit() {
    let named = |bytes| {
        let name = "x".repeat(bytes);
        with_changes(&format!(r#"{{"update":{{"id":200001,"fields":{{"{name}":0}}}}}}"#))
    };
    assert_eq!(outcome(&named(limits::FIELD_NAME_BYTES_MAX)), None);
    let sentence = format!(
        "INVALID_ARGUMENT events[0].changes[0].update.fields[\"{}…\"]: has a name of 256 bytes: at \
         most 255 are allowed",
        "x".repeat(64)
    );
    assert_eq!(outcome(&named(limits::FIELD_NAME_BYTES_MAX + 1)), Some(sentence));
}

#[test]
fn each_value_ends_at_its_limit_in_canonical_form() {
    let max = limits::FIELD_BYTES_MAX as usize;
    // The quotation marks count, and spaces between members do not.
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let field = |value: String| {
        with_changes(&format!(r#"{{"update":{{"id":200001,"fields":{{"a": {value}  }}}}}}"#))
    };
    let set = |value: &str, condition: &str| {
        let set = format!(r#"{{"key":"a","value":{value},"if":{{"value":{condition}}}}}"#);
        with_changes(&format!(r#"{{"set":{set}}}"#))
    };
    assert_eq!(outcome(&field(text(max))), None);
    assert_eq!(outcome(&set(&text(max), "0")), None);
    assert_eq!(outcome(&set("0", &text(max))), None);
    assert_eq!(outcome(&with_args(&format!(r#"{{"a":{}}}"#, text(max - 6)))), None);

    let sentence = |field: &str| {
        Some(format!("TOO_LARGE {field}: has 524289 bytes: at most 524288 are allowed"))
    };
    let change = "events[0].changes[0]";
    assert_eq!(outcome(&field(text(max + 1))), sentence(&format!("{change}.update.fields.a")));
    assert_eq!(outcome(&set(&text(max + 1), "0")), sentence(&format!("{change}.set.value")));
    assert_eq!(outcome(&set("0", &text(max + 1))), sentence(&format!("{change}.set.if.value")));
    let args = with_args(&format!(r#"{{"a":{}}}"#, text(max - 5)));
    assert_eq!(outcome(&args), sentence("events[0].args"));
}

#[test]
fn names_and_keys_end_at_their_limits() {
    let named = |name: usize, key: usize| {
        let (name, key) = ("n".repeat(name), "k".repeat(key));
        format!(r#"{{"events":[{{"name":"{name}","changes":[{{"unset":{{"key":"{key}"}}}}]}}]}}"#)
    };
    assert_eq!(outcome(&named(limits::NAME_BYTES_MAX, limits::ENTITY_KEY_BYTES_MAX)), None);
    assert!(outcome(&named(limits::NAME_BYTES_MAX + 1, 1)).unwrap().contains("events[0].name"));
    assert!(outcome(&named(1, limits::ENTITY_KEY_BYTES_MAX + 1)).unwrap().contains("unset.key"));
}

#[test]
fn an_answer_stays_small_whatever_was_sent() {
    let long = "x".repeat(500_000);
    for document in [
        format!(r#"{{"{long}": 1}}"#),
        with_args(&format!(r#"{{"{long}": {{"{long}": 01}}}}"#)),
        with_args(&format!(r#"{{"a": {}}}"#, "1".repeat(500_000))),
        with_args(&format!(r#"{{"a": {{"$next": "a", "as": "{long}"}}}}"#)),
        with_changes(&format!(r#"{{"set":{{"key":"a","value":1,"expires_at":"{long}"}}}}"#)),
    ] {
        let sentence = outcome(&document).unwrap();
        assert!(sentence.len() < 400, "{} bytes: {}", sentence.len(), &sentence[..400]);
    }
}
