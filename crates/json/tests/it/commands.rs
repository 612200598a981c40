//! What commands become.

use seriatim_codec::fingerprint;
use seriatim_json::{CommandBody, command};
use seriatim_types::{
    CommandChange, Condition, EntityKey, FieldName, Filler, Hole, Name, Shown, Template, Time,
};

use crate::corpus;

pub(crate) fn read(document: &str) -> CommandBody {
    command(document.as_bytes()).unwrap()
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn key(text: &str) -> EntityKey {
    EntityKey::new(text).unwrap()
}

fn field(text: &str, template: Template) -> (FieldName, Template) {
    (FieldName::new(text).unwrap(), template)
}

fn plain(text: &'static str) -> Template {
    Template::plain(text)
}

fn template(text: &'static str, holes: &[(usize, u32, Filler)]) -> Template {
    let hole = |(at, order, filler): &(usize, u32, Filler)| Hole {
        at: *at,
        order: *order,
        filler: filler.clone(),
    };
    Template::new(text.into(), holes.iter().map(hole).collect()).unwrap()
}

fn next(sequence: &str, shown: Shown) -> Filler {
    Filler::Next { sequence: name(sequence), shown }
}

#[test]
fn the_command_of_the_contract_is_read_to_the_letter() {
    let body = read(corpus::CONTRACT);
    assert_eq!((body.if_offset, body.include_proof), (Some(12), false));
    let [event] = body.events.as_slice() else { panic!("one event") };
    assert_eq!((&event.name, &event.args), (&name("InvoiceIssued"), &plain(r#"{"total":1250}"#)));
    let changes = [
        CommandChange::Create {
            id: 1,
            kind: name("invoice"),
            parent: None,
            fields: vec![
                field("lines", template("[]", &[(1, 1, Filler::Ref(2))])),
                field("number", template("", &[(0, 0, next("invoice", Shown::Text))])),
            ],
        },
        CommandChange::Create {
            id: 2,
            kind: name("line"),
            parent: Some(1),
            fields: vec![field("sku", plain("\"A-7\""))],
        },
        CommandChange::Update {
            id: 200_017,
            fields: vec![field("open", plain("false"))],
            if_version: Some(3),
        },
        CommandChange::Delete { id: 200_018, if_version: Some(1) },
        CommandChange::Set {
            key: key("stock/A-7"),
            value: plain(r#"{"left":4}"#),
            condition: Some(Condition::Version(7)),
            expires_at: Some(Time(1_798_761_600_000)),
        },
        CommandChange::Unset { key: key("hold/9"), condition: Some(Condition::Exists) },
        CommandChange::Draw { sequence: name("ticket") },
    ];
    assert_eq!(event.changes, changes);
}

#[test]
fn what_is_left_out_is_filled_in() {
    let body = read(r#"{"events": [{"name": "X"}]}"#);
    assert_eq!((body.if_offset, body.include_proof), (None, false));
    assert_eq!(body.events[0].args, plain("{}"));
    assert_eq!(body.events[0].changes, []);
    let document =
        r#"{"events": [{"name": "X", "changes": [{"create": {"id": 1, "kind": "a"}}]}]}"#;
    let create = CommandChange::Create { id: 1, kind: name("a"), parent: None, fields: vec![] };
    assert_eq!(read(document).events[0].changes, [create]);
}

#[test]
fn every_command_of_the_corpus_is_read() {
    for document in corpus::COMMANDS {
        read(document);
    }
}

#[test]
fn holes_keep_the_order_of_the_document_while_members_are_sorted() {
    let args = r#"{"z": {"$next": "first"}, "a": [{"$draw": 0}, {"$next": "third", "as": "number"}],
                   "m": {"y": {"$ref": 200001}, "b": {"$draw": 1, "as": "text"}}}"#;
    let body = read(&format!(r#"{{"events": [{{"name": "X", "args": {args}}}]}}"#));
    let expected = template(
        r#"{"a":[,],"m":{"b":,"y":},"z":}"#,
        &[
            (6, 1, Filler::Draw { index: 0, shown: Shown::Number }),
            (7, 2, next("third", Shown::Number)),
            (18, 4, Filler::Draw { index: 1, shown: Shown::Text }),
            (23, 3, Filler::Ref(200_001)),
            (29, 0, next("first", Shown::Number)),
        ],
    );
    assert_eq!(body.events[0].args, expected);
}

#[test]
fn the_fields_of_one_change_are_counted_together_and_each_change_anew() {
    let fields = r#"{"b": {"$next": "one"}, "a": {"$next": "two"}}"#;
    let change = format!(r#"{{"update": {{"id": 200001, "fields": {fields}}}}}"#);
    let body =
        read(&format!(r#"{{"events": [{{"name": "X", "changes": [{change}, {change}]}}]}}"#));
    for change in &body.events[0].changes {
        let orders: Vec<u32> = change.templates().map(|it| it.holes()[0].order).collect();
        assert_eq!(orders, [1, 0]);
    }
}

#[test]
fn names_of_several_fields_are_never_markers() {
    let fields = r#"{"$ref": 5, "$next": {"$next": "a"}, "$lit": {"x": 1}}"#;
    let change = format!(r#"{{"create": {{"id": 1, "kind": "a", "fields": {fields}}}}}"#);
    let body = read(&format!(r#"{{"events": [{{"name": "X", "changes": [{change}]}}]}}"#));
    let CommandChange::Create { fields, .. } = &body.events[0].changes[0] else { panic!("create") };
    let expected = [
        field("$lit", plain(r#"{"x":1}"#)),
        field("$next", template("", &[(0, 0, next("a", Shown::Number))])),
        field("$ref", plain("5")),
    ];
    assert_eq!(fields.as_slice(), expected);
}

#[test]
fn a_literal_is_taken_as_it_is() {
    let args = |args: &str| {
        read(&format!(r#"{{"events": [{{"name": "X", "args": {args}}}]}}"#)).events[0].args.clone()
    };
    assert_eq!(
        args(r#"{"a": {"$lit": {"$ref": 1, "b": {"$lit": [{"$next": 5}]}}}}"#),
        plain(r#"{"a":{"$ref":1,"b":{"$lit":[{"$next":5}]}}}"#)
    );
    // It may also stand for all arguments, as long as they are an object.
    assert_eq!(
        args(r##"{"$lit": {"$ref": "#/defs/line"}}"##),
        plain(r##"{"$ref":"#/defs/line"}"##)
    );
}

#[test]
fn other_members_with_a_dollar_are_data_beside_others() {
    let args = r#"{"$schema": 1, "a": {"$id": 2, "$Ref": 3, "ref$": 4, "$": 5}}"#;
    let body = read(&format!(r#"{{"events": [{{"name": "X", "args": {args}}}]}}"#));
    let text = r#"{"$schema":1,"a":{"$":5,"$Ref":3,"$id":2,"ref$":4}}"#;
    assert_eq!(body.events[0].args, plain(text));
}

/// A marker that was mistyped was stored as data, and the command drew no number.
#[test]
fn an_unknown_marker_is_refused_unless_it_is_a_literal() {
    let args = |args: &str| {
        command(format!(r#"{{"events": [{{"name": "X", "args": {args}}}]}}"#).as_bytes())
    };
    for marker in ["$nxt", "$Ref", "$", "$$", "$lit2", "$ref "] {
        let invalid = args(&format!(r#"{{"a": [0, {{"{marker}": "s"}}]}}"#)).unwrap_err();
        assert_eq!(
            (invalid.code(), invalid.field.as_str()),
            ("INVALID_ARGUMENT", "events[0].args.a[1]")
        );
        assert!(invalid.to_string().contains("{\"$lit\": …}"), "{invalid}");
        let literal =
            args(&format!(r#"{{"a": {{"$lit": [{{"{marker}": {{"$x": 1}}}}]}}}}"#)).unwrap();
        let stored = format!(r#"{{"a":[{{"{marker}":{{"$x":1}}}}]}}"#);
        assert_eq!(literal.events[0].args.text(), stored.as_bytes());
    }
    let long = "x".repeat(300);
    let invalid = args(&format!(r#"{{"a": {{"${long}": 1}}}}"#)).unwrap_err();
    assert!(invalid.to_string().len() < 300, "what was sent is shown by its beginning");
}

/// Stored as data, a marker in the place of all fields looked as if it had drawn a number.
#[test]
fn a_marker_in_the_place_of_all_fields_is_refused_unless_it_is_a_literal() {
    let changed = |fields: &str| {
        let changes = [
            format!(r#"{{"create": {{"id": 1, "kind": "a", "fields": {fields}}}}}"#),
            format!(r#"{{"update": {{"id": 200001, "fields": {fields}}}}}"#),
        ];
        changes.map(|change| {
            let event = format!(r#"{{"name": "X", "changes": [{change}]}}"#);
            command(format!(r#"{{"events": [{event}]}}"#).as_bytes())
        })
    };
    for fields in [
        r#"{"$next": "a"}"#,
        r#"{"$next": "a", "as": "text"}"#,
        r#"{"$draw": 0}"#,
        r#"{"$draw": 0, "as": "number"}"#,
        r#"{"$ref": 1}"#,
        r#"{"$foo": 1}"#,
        r#"{"$lit": [1]}"#,
    ] {
        for (read, change) in changed(fields).into_iter().zip(["create", "update"]) {
            let invalid = read.unwrap_err();
            assert_eq!(invalid.code(), "INVALID_ARGUMENT");
            let at = format!("events[0].changes[0].{change}.fields");
            assert!(invalid.field.starts_with(&at), "{fields}: {}", invalid.field);
        }
    }
    for read in changed(r#"{"$lit": {"$foo": 1, "a": {"$next": "a"}}}"#) {
        let body = read.unwrap();
        let (CommandChange::Create { fields, .. } | CommandChange::Update { fields, .. }) =
            &body.events[0].changes[0]
        else {
            panic!("a create or an update")
        };
        let expected = [field("$foo", plain("1")), field("a", plain(r#"{"$next":"a"}"#))];
        assert_eq!(fields.as_slice(), expected);
    }
}

/// That an import keeps its id is checked and not stored: a client that adds the member to what it
/// sends again still sends the same command.
#[test]
fn import_is_checked_and_no_part_of_the_command() {
    let create = |more: &str| {
        let create = format!(r#"{{"create": {{"id": 200001, "kind": "a"{more}}}}}"#);
        read(&format!(r#"{{"events": [{{"name": "X", "changes": [{create}]}}]}}"#))
    };
    let plain = create("");
    for more in [r#", "import": true"#, r#", "import": false"#] {
        let with = create(more);
        assert_eq!(with, plain);
        let of = |body: &CommandBody| fingerprint(&body.events, body.if_offset);
        assert_eq!(of(&with), of(&plain));
    }
    let raw = r#"{"events": [{"name": "X", "changes": [
        {"create": {"id": 7, "kind": "a", "import": false}}, {"update": {"id": 7, "fields": {}}}]}]}"#;
    assert_eq!(read(raw).events[0].changes.len(), 2);
}

#[test]
fn a_condition_compares_with_canonical_bytes() {
    let condition = r#"{"value": {"b": 1.0, "a": {"$lit": {"$ref": 1}}, "$x": "\u0041"}}"#;
    let set = format!(r#"{{"set": {{"key": "k", "value": 0, "if": {condition}}}}}"#);
    let body = read(&format!(r#"{{"events": [{{"name": "X", "changes": [{set}]}}]}}"#));
    let CommandChange::Set { condition, .. } = &body.events[0].changes[0] else { panic!("set") };
    let bytes = r#"{"$x":"A","a":{"$ref":1},"b":1}"#;
    assert_eq!(*condition, Some(Condition::Value(bytes.into())));
}

#[test]
fn a_draw_may_be_repeated_before_it_is_made() {
    let document = r#"{"events": [
        {"name": "X", "args": {"a": {"$draw": 2}}},
        {"name": "Y", "args": {"a": {"$next": "s"}, "b": {"$next": "s"}},
         "changes": [{"draw": {"sequence": "s"}}]}]}"#;
    let draw = Filler::Draw { index: 2, shown: Shown::Number };
    assert_eq!(read(document).events[0].args.holes()[0].filler, draw);
    for (draws, culprit) in [("3", "[0]"), ("0},{\"$draw\": 3", "[1]"), ("3},{\"$draw\": 0", "[0]")]
    {
        let one_more = document.replace("{\"$draw\": 2}", &format!("[{{\"$draw\": {draws}}}]"));
        let invalid = command(one_more.as_bytes()).unwrap_err();
        assert_eq!(invalid.field, format!("events[0].args.a{culprit}.$draw"));
    }
}

#[test]
fn a_record_may_be_changed_by_the_command_that_creates_it() {
    let document = |first: &str, second: &str| {
        let events = format!(
            r#"{{"name": "X", "changes": [{first}]}}, {{"name": "Y", "changes": [{second}]}}"#
        );
        command(format!(r#"{{"events": [{events}]}}"#).as_bytes())
    };
    let create = r#"{"create": {"id": 9, "kind": "a"}}"#;
    let refer = r#"{"create": {"id": 8, "kind": "a", "parent": 9, "fields": {"f": {"$ref": 9}}}}"#;
    for change in [r#"{"update": {"id": 9, "fields": {}}}"#, r#"{"delete": {"id": 9}}"#] {
        assert!(document(create, change).is_ok());
        assert!(document(change, create).is_err(), "it is not there yet");
    }
    assert!(document(create, refer).is_ok());
    assert!(document(refer, create).is_ok(), "a reference may point ahead");
}

#[test]
fn all_texts_of_a_command_share_one_allocation() {
    let body = read(corpus::CONTRACT);
    let mut texts = vec![body.events[0].args.text()];
    let templates = body.events[0].changes.iter().flat_map(CommandChange::templates);
    texts.extend(templates.map(Template::text).filter(|text| !text.is_empty()));
    let adjacent = |pair: &[&bytes::Bytes]| pair[0].as_ptr_range().end == pair[1].as_ptr();
    assert!(texts.windows(2).all(adjacent), "each begins where the last one ends");
}
