//! Requests for definitions.

use seriatim_json::{Invalid, define};
use seriatim_types::{
    CommandLimits, Define, DefineRequest, Name, RecordClass, RecordIdScheme, RecordMembers, Reset,
    Retention, SequenceMembers, TrustLevel,
};

use crate::corpus;

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn app(body: &str) -> Result<DefineRequest, Invalid> {
    define::app(body.as_bytes()).map(|define| define.request)
}

fn sequence(body: &str) -> Result<DefineRequest, Invalid> {
    define::sequence(name("invoice"), body.as_bytes())
}

fn record(body: &str) -> Result<DefineRequest, Invalid> {
    define::record(name("invoice"), body.as_bytes())
}

#[test]
fn an_app_is_its_name_and_what_the_contract_fills_in() {
    let request = DefineRequest::App {
        partitions: 4,
        record_ids: RecordIdScheme::Single,
        trust_level: TrustLevel::Zero,
        retention: Retention::Milliseconds(86_400_000),
        keys_max: None,
        limits: CommandLimits::default(),
    };
    for body in &corpus::APPS[..2] {
        let define = Define { app: name("shop"), request: request.clone() };
        assert_eq!(define::app(body.as_bytes()), Ok(define), "{body}");
    }
    let other = DefineRequest::App {
        partitions: 1024,
        record_ids: RecordIdScheme::Split,
        trust_level: TrustLevel::Two,
        retention: Retention::Forever,
        keys_max: Some(1),
        limits: CommandLimits::default(),
    };
    assert_eq!(app(corpus::APPS[2]), Ok(other));
}

#[test]
fn limit_of_keys_is_a_number_or_null() {
    for (text, keys_max) in [("null", None), ("1", Some(1)), ("1000000000", Some(1_000_000_000))] {
        let body = format!(r#"{{"idempotency_keys_max": {text}}}"#);
        let changed = define::app_change(body.as_bytes());
        assert_eq!(changed, Ok(DefineRequest::KeyLimit { keys_max }));
        let defaults = define::AppDefaults { keys_max: Some(7), ..Default::default() };
        let body = format!(r#"{{"name": "a", "idempotency_keys_max": {text}}}"#);
        let made = define::app_or(body.as_bytes(), &defaults).map(|define| define.request);
        let Ok(DefineRequest::App { keys_max: asked, .. }) = made else { panic!("{made:?}") };
        assert_eq!(asked, keys_max, "null is asked for too, whatever the default is");
    }
}

#[test]
fn a_retention_is_a_number_with_a_unit() {
    for (text, ms) in [
        ("1ms", 1),
        ("500ms", 500),
        ("90s", 90_000),
        ("15m", 900_000),
        ("24h", 86_400_000),
        ("7d", 604_800_000),
        ("3660d", 316_224_000_000),
    ] {
        let body = format!(r#"{{"name": "a", "idempotency_retention": "{text}"}}"#);
        let Ok(DefineRequest::App { retention, .. }) = app(&body) else { panic!("{text}") };
        assert_eq!(retention, Retention::Milliseconds(ms));
    }
    for text in [
        "",
        "24",
        "h",
        "0s",
        "1.5h",
        "-1h",
        "+1h",
        "24 h",
        "24H",
        "1w",
        "3661d",
        "Forever",
        "99999999999999999999d",
        "18446744073709551615d",
    ] {
        let body = format!(r#"{{"name": "a", "idempotency_retention": "{text}"}}"#);
        let sentence = format!(
            "idempotency_retention: must be a time from 1 millisecond to 3660 days, like \"500ms\", \
             \"90s\", \"15m\", \"24h\" or \"7d\", or else \"forever\", not {text:?}"
        );
        assert_eq!(app(&body).unwrap_err().to_string(), sentence);
    }
}

#[test]
fn what_is_left_out_of_a_sequence_is_not_said() {
    let request = |members| Ok(DefineRequest::SequenceMembers { name: name("invoice"), members });
    assert_eq!(sequence("{}"), request(SequenceMembers::default()));
    let format = SequenceMembers { format: Some("R-{n}".to_owned()), ..Default::default() };
    assert_eq!(sequence(r#"{"format": "R-{n}"}"#), request(format));
    let whole = SequenceMembers {
        kind: Some(name("default")),
        ranges: Some(vec![(1, 999_999)]),
        format: Some("INV-{yyyy}-{n:06}".to_owned()),
        reset: Some(Reset::Yearly),
        utc_offset_minutes: Some(60),
    };
    assert_eq!(sequence(corpus::SEQUENCES[1]), request(whole));
}

#[test]
fn an_offset_from_utc_lies_between_its_ends() {
    for (text, minutes) in [
        ("Z", 0),
        ("+00:00", 0),
        ("-00:30", -30),
        ("-12:00", -720),
        ("+14:00", 840),
        ("+05:45", 345),
    ] {
        let body = format!(r#"{{"utc_offset": "{text}"}}"#);
        let Ok(DefineRequest::SequenceMembers { members, .. }) = sequence(&body) else {
            panic!("{text}")
        };
        assert_eq!(members.utc_offset_minutes, Some(minutes));
    }
    for text in ["", "UTC", "+1:00", "+01", "01:00", "-12:01", "+14:01", "+00:60", "+23:59", "Z0"] {
        let sentence = format!(
            "utc_offset: must be \"Z\" or like \"+01:00\", from -12:00 to +14:00, not {text:?}"
        );
        let body = format!(r#"{{"utc_offset": "{text}"}}"#);
        assert_eq!(sequence(&body).unwrap_err().to_string(), sentence);
    }
}

#[test]
fn records_kinds_and_workspaces_are_read() {
    let expected = |class, singleton| {
        let members = RecordMembers { class, singleton };
        Ok(DefineRequest::RecordMembers { name: name("invoice"), members })
    };
    assert_eq!(record("{}"), expected(None, None));
    assert_eq!(record(r#"{"class": "c"}"#), expected(Some(RecordClass::C), None));
    let body = r#"{"singleton": true, "class": "o"}"#;
    assert_eq!(record(body), expected(Some(RecordClass::O), Some(true)));
    assert_eq!(record(r#"{"class": "w"}"#), expected(Some(RecordClass::W), None));
    assert_eq!(record(r#"{"singleton": false}"#), expected(None, Some(false)));
    let kind = DefineRequest::Kind { name: name("store") };
    assert_eq!(define::kind(name("store"), b" {} "), Ok(kind));
    assert_eq!(define::workspace(b"{}"), Ok(name("default")));
    assert_eq!(define::workspace(br#"{"kind": "store"}"#), Ok(name("store")));
}

#[test]
fn what_is_wrong_with_a_change_of_an_app_is_said() {
    let change = |body: &str| define::app_change(body.as_bytes()).err();
    for (refused, sentence) in [
        (change("{}"), "idempotency_keys_max: is required"),
        (
            change(r#"{"idempotency_keys_max": 1000000001}"#),
            "idempotency_keys_max: must be a whole number from 1 to 1000000000, not 1000000001",
        ),
        (
            change(r#"{"idempotency_keys_max": "none"}"#),
            "idempotency_keys_max: must be a number, not a string",
        ),
        (
            change(r#"{"idempotency_keys_max": 1, "partitions": 2}"#),
            "partitions: is not known here: only idempotency_keys_max is",
        ),
    ] {
        assert_eq!(refused.map(|invalid| invalid.to_string()).as_deref(), Some(sentence));
    }
}

#[test]
fn what_is_wrong_with_a_definition_is_said() {
    let workspace = |body: &str| define::workspace(body.as_bytes()).err();
    let kind = |body: &str| define::kind(name("k"), body.as_bytes()).err();
    for (refused, sentence) in [
        (app("{}").err(), "name: is required"),
        (
            app(r#"{"name": ""}"#).err(),
            "name: must have 1 to 255 bytes and no control characters, and not be . or ..",
        ),
        (
            app(r#"{"name": "a", "partition": 4}"#).err(),
            "partition: is not known here: name, partitions, record_ids, trust_level, \
             idempotency_retention and idempotency_keys_max are",
        ),
        (
            app(r#"{"name": "a", "partitions": 0}"#).err(),
            "partitions: must be a whole number from 1 to 1024, not 0",
        ),
        (
            app(r#"{"name": "a", "partitions": 1025}"#).err(),
            "partitions: must be a whole number from 1 to 1024, not 1025",
        ),
        (
            app(r#"{"name": "a", "record_ids": "both"}"#).err(),
            "record_ids: must be \"single\" or \"split\", not \"both\"",
        ),
        (
            app(r#"{"name": "a", "trust_level": 3}"#).err(),
            "trust_level: must be a whole number from 0 to 2, not 3",
        ),
        (
            app(r#"{"name": "a", "idempotency_retention": 24}"#).err(),
            "idempotency_retention: must be a string, not a number",
        ),
        (
            app(r#"{"name": "a", "idempotency_keys_max": 0}"#).err(),
            "idempotency_keys_max: must be a whole number from 1 to 1000000000, not 0",
        ),
        (
            sequence(r#"{"ranges": [[1, 9], [20]]}"#).err(),
            "ranges[1]: must be a first and a last number, like [1, 999999]",
        ),
        (
            sequence(r#"{"ranges": [[1, 2, 3]]}"#).err(),
            "ranges[0]: must be a first and a last number, like [1, 999999]",
        ),
        (sequence(r#"{"ranges": [1, 9]}"#).err(), "ranges[0]: must be an array, not a number"),
        (
            sequence(r#"{"ranges": [[0, 9]]}"#).err(),
            "ranges[0][0]: must be a whole number from 1 to 9007199254740991, not 0",
        ),
        (
            sequence(r#"{"reset": "monthly"}"#).err(),
            "reset: must be \"never\" or \"yearly\", not \"monthly\"",
        ),
        (sequence(r#"{"format": 6}"#).err(), "format: must be a string, not a number"),
        (record(r#"{"class": "C"}"#).err(), "class: must be \"c\", \"o\" or \"w\", not \"C\""),
        (
            record(r#"{"class": "c", "singleton": "no"}"#).err(),
            "singleton: must be true or false, not a string",
        ),
        (kind(r#"{"name": "k"}"#), "name: is not known here: nothing is"),
        (kind("[]"), "the document: must be an object, not an array"),
        (workspace(r#"{"kind": null}"#), "kind: must be a string, not null"),
        (workspace(r#"{"Kind": "a"}"#), "Kind: is not known here: only kind is"),
    ] {
        assert_eq!(refused.map(|invalid| invalid.to_string()).as_deref(), Some(sentence));
    }
}
