//! Bytes that are no encoding, each with the sentence that says so.

use bytes::Bytes;
use seriatim_codec::{OutboxPointer, Stored, decode_number};
use seriatim_types::{Definition, Definitions, EntityRow, Entry, Event, KeyRow, RecordRow};

#[test]
fn what_is_wrong_with_the_form_of_a_message_is_said() {
    let event = |fields: &[Vec<u8>]| error::<Event>(&stored(fields));
    let minimal = minimal_event();
    assert_eq!(event(&minimal), "", "the bytes that are spoilt below are an event");

    assert_eq!(error::<Event>(&Bytes::new()), "Event cannot be read: the bytes end too early");
    assert_eq!(
        error::<Event>(&[&[2], minimal.concat().as_slice()].concat().into()),
        "Event cannot be read: it has version 2, which this version of Seriatim does not know"
    );
    let mut cut = stored(&minimal);
    cut.truncate(cut.len() - 1);
    assert_eq!(error::<Event>(&cut), "field 12 of Event cannot be read: the bytes end too early");
    assert_eq!(event(&[vec![0x80]]), "Event cannot be read: the bytes end too early");
    assert_eq!(
        event(&[vec![0x00, 0x01]]),
        "Event cannot be read: its number lies outside of 1..=536870911"
    );
    let beyond = vec![0x80, 0x80, 0x80, 0x80, 0x10, 0x01];
    assert_eq!(event(&[beyond]), "Event cannot be read: its number lies outside of 1..=536870911");
    for (group, number) in [(0x0b, 1), (0x0c, 1), (0x0e, 1), (0x0f, 1)] {
        assert_eq!(
            event(&[vec![group, 0x01]]),
            format!("field {number} of Event cannot be read: its wire type is wrong")
        );
    }
    assert_eq!(event(&[bytes(1, b"1")]), "field 1 of Event cannot be read: its wire type is wrong");
    assert_eq!(
        event(&with(&minimal, 11, varint(11, 1))),
        "field 11 of Event cannot be read: its wire type is wrong"
    );
}

#[test]
fn a_value_has_one_encoding() {
    let event = |fields: &[Vec<u8>]| error::<Event>(&stored(fields));
    let minimal = minimal_event();
    let not_shortest = |field| {
        format!("field {field} of Event cannot be read: it is not written in the shortest way")
    };
    assert_eq!(event(&[vec![0x08, 0x81, 0x00]]), not_shortest(1));
    assert_eq!(event(&with(&minimal, 2, varint(2, 0))), not_shortest(2));
    assert_eq!(event(&with(&minimal, 6, bytes(6, b""))), not_shortest(6));
    assert_eq!(
        event(&[vec![0x88, 0x00, 0x01]]),
        "Event cannot be read: it is not written in the shortest way"
    );
    let too_long = [&[0x08], [0xff; 9].as_slice(), &[0x02]].concat();
    assert_eq!(
        event(&[too_long]),
        "field 1 of Event cannot be read: it is not a number of 64 bits"
    );
    let far_too_long = [&[0x08], [0x80; 10].as_slice(), &[0x01]].concat();
    assert_eq!(
        event(&[far_too_long]),
        "field 1 of Event cannot be read: it is not a number of 64 bits"
    );

    let misplaced = |field| {
        format!("field {field} of Event cannot be read: it stands out of order or more than once")
    };
    let mut reversed = minimal.clone();
    reversed.swap(0, 1);
    // The offset of the partition was looked for first.
    assert_eq!(event(&reversed), "field 1 of Event cannot be read: it is missing");
    let mut twice = minimal.clone();
    twice.insert(1, varint(1, 1));
    assert_eq!(event(&twice), misplaced(1));
    let mut late = minimal.clone();
    late.push(varint(2, 5));
    assert_eq!(event(&late), misplaced(2));
    let mut behind_unknown = minimal.clone();
    behind_unknown.extend([varint(17, 1), varint(16, 1)]);
    assert_eq!(event(&behind_unknown), misplaced(16));
}

#[test]
fn what_a_later_version_added_is_kept_or_refused_but_never_lost() {
    let later = |fields: &[Vec<u8>]| {
        let mut all = minimal_event();
        all.extend_from_slice(fields);
        stored(&all)
    };
    let kept = later(&[varint(16, 300), bytes(17, b"a"), bytes(17, b"b"), varint(536_870_911, 0)]);
    assert_eq!(Event::from_bytes(&kept).map(|event| event.to_bytes()), Ok(kept));
    let group = error::<Event>(&later(&[vec![0x83, 0x01]]));
    assert_eq!(group, "field 16 of Event cannot be read: its wire type is wrong");

    let refused = |message, field| {
        format!(
            "field {field} of {message} cannot be read: this version of Seriatim knows no such \
             field there"
        )
    };
    let change = |change: &[u8]| error::<Event>(&later(&[bytes(14, change)]));
    assert_eq!(change(&bytes(8, b"")), refused("Change", 8), "a kind of change");
    let draw = bytes(6, &varint(2, 1));
    assert_eq!(change(&draw), refused("Draw", 2), "a field of a change");
    let two_kinds = [bytes(6, b""), bytes(7, b"")].concat();
    assert_eq!(change(&two_kinds), refused("Change", 7), "a change that is two");
    let origin = [bytes(1, b"c"), varint(2, 1), bytes(3, &[0; 16]), bytes(4, &[0; 17])];
    let origin = [origin.concat(), varint(6, 1)].concat();
    assert_eq!(error::<Event>(&event_with(10, &origin)), refused("Origin", 6));
    assert_eq!(error::<Entry>(&stored(&[bytes(8, b"")])), refused("Entry", 8), "a body");
    assert_eq!(error::<Definition>(&stored(&[bytes(6, b"")])), refused("Definition", 6));
    // As a build from before reads an app without a limit of keys, whose field it does not know.
    let app = [bytes(1, b"a"), varint(4, 1), bytes(8, b""), varint(10, 1)].concat();
    assert_eq!(error::<Definition>(&stored(&[bytes(1, &app)])), refused("AppSettings", 10));
    let delivery = [bytes(1, b""), bytes(4, b"")].concat();
    assert_eq!(error::<Entry>(&stored(&[bytes(5, &delivery)])), refused("Delivery", 4));
    let tick = [bytes(4, b""), varint(8, 1)];
    assert_eq!(error::<Entry>(&stored(&tick)), refused("Entry", 8));
}

#[test]
fn protected_values_are_named_as_what_they_are() {
    let protected = |message, field| {
        format!(
            "field {field} of {message} cannot be read: it is protected, and this version of \
             Seriatim cannot read protected values"
        )
    };
    let args = with(&minimal_event(), 12, bytes(13, b"secret"));
    assert_eq!(error::<Event>(&stored(&args)), protected("Event", 13));
    let set = bytes(4, &[bytes(1, b"k"), bytes(4, b"secret")].concat());
    assert_eq!(error::<Event>(&event_with(14, &set)), protected("Set", 4));
    let both = [varint(3, 1), bytes(4, b"0"), bytes(5, b"secret")];
    assert_eq!(error::<EntityRow>(&stored(&both)), protected("EntityRow", 5));
    let field = bytes(6, &bytes(3, b"secret"));
    let row = [bytes(1, b"k"), varint(2, 1), varint(5, 1), field];
    assert_eq!(error::<RecordRow>(&stored(&row)), protected("FieldValue", 3));
    let condition = [bytes(1, b"k"), bytes(2, &bytes(4, b"secret"))].concat();
    assert_eq!(error::<Entry>(&entry_with(&bytes(5, &condition))), protected("Condition", 4));
    let set = [bytes(1, b"k"), bytes(2, &bytes(2, b"secret"))].concat();
    assert_eq!(error::<Entry>(&entry_with(&bytes(4, &set))), protected("Template", 2));
}

#[test]
fn the_rules_of_the_types_hold_for_what_is_read() {
    let event =
        |field, part: Vec<u8>| error::<Event>(&stored(&with(&minimal_event(), field, part)));
    let not = |message, field, what| {
        format!("field {field} of {message} cannot be read: it is not {what}")
    };
    assert_eq!(event(1, vec![]), "field 1 of Event cannot be read: it is missing");
    assert_eq!(event(1, varint(1, 1 << 53)), not("Event", 1, "an offset"));
    assert_eq!(event(3, varint(3, 1 << 16)), not("Event", 3, "within the range of its type"));
    assert_eq!(event(4, varint(4, 1 << 53)), not("Event", 4, "a number of a sequence"));
    assert_eq!(event(6, bytes(6, &[b'x'; 256])), not("Event", 6, "a name"));
    assert_eq!(event(7, varint(7, 1 << 32)), not("Event", 7, "within the range of its type"));
    assert_eq!(event(11, vec![]), "field 11 of Event cannot be read: it is missing");
    assert_eq!(event(11, bytes(11, b"a\n")), not("Event", 11, "a name"));
    assert_eq!(event(11, bytes(11, b"\xff")), not("Event", 11, "UTF-8"));
    assert_eq!(event(12, vec![]), "field 12 of Event cannot be read: it is missing");
    assert_eq!(event(14, bytes(14, b"")), "Change cannot be read: it is missing");

    let origin = |parts: &[Vec<u8>]| event(10, bytes(10, &parts.concat()));
    let client = bytes(1, b"c");
    assert_eq!(origin(&[]), not("Origin", 1, "a client"));
    assert_eq!(origin(&[bytes(1, &[0; 256])]), not("Origin", 1, "a client"));
    assert_eq!(origin(&[bytes(1, "é".repeat(256).as_bytes())]), not("Origin", 1, "a client"));
    let key = bytes(3, &[0; 15]);
    assert_eq!(origin(&[client.clone(), varint(2, 1), key]), not("Origin", 3, "16 bytes"));
    let rest = [client, varint(2, 1), bytes(3, &[0; 16]), bytes(4, &[0; 16])];
    assert_eq!(origin(&rest), not("Origin", 4, "17 bytes"));

    let drawn = [varint(1, 1), bytes(2, b"n"), varint(3, 10_000)].concat();
    assert_eq!(event(15, bytes(15, &drawn)), not("NumberDrawn", 3, "a year"));
    let key = bytes(1, &[b'x'; 1025]);
    assert_eq!(event(14, bytes(14, &bytes(5, &key))), not("Unset", 1, "the key of an entity"));

    let field = |name: &[u8]| bytes(6, &[bytes(1, name), bytes(2, b"0")].concat());
    let row = |fields: &[Vec<u8>]| {
        let row = [bytes(1, b"k"), varint(2, 1), varint(5, 1), fields.concat()];
        error::<RecordRow>(&stored(&row))
    };
    assert_eq!(row(&[field(b"a"), field(b"b")]), "");
    let order = not("RecordRow", 6, "in the order of names, each once");
    assert_eq!(row(&[field(b"b"), field(b"a")]), order);
    assert_eq!(row(&[field(b"a"), field(b"a")]), order);
    // In the order of bytes, but not of UTF-16 units.
    assert_eq!(row(&[field("\u{fb33}".as_bytes()), field("\u{1f600}".as_bytes())]), order);
    assert_eq!(row(&[field(&[b'x'; 256])]), not("FieldValue", 1, "the name of a field"));
    let class = [bytes(1, b"k"), varint(2, 4)];
    assert_eq!(error::<RecordRow>(&stored(&class)), not("RecordRow", 2, "a class of records"));
    let count = [varint(1, 1), varint(2, 1 << 32)];
    let error = error::<KeyRow>(&stored(&count));
    assert_eq!(error, not("KeyRow", 2, "within the range of its type"));
}

#[test]
fn the_rules_hold_for_entries_and_definitions_too() {
    let not = |message, field, what| {
        format!("field {field} of {message} cannot be read: it is not {what}")
    };
    assert_eq!(error::<Entry>(&stored(&[varint(1, 1)])), "Entry cannot be read: it is missing");
    let template = |holes: &[u64]| {
        let hole = |at| bytes(3, &[varint(1, at), varint(3, 0)].concat());
        let holes = holes.iter().map(|at| hole(*at)).collect::<Vec<_>>().concat();
        let set = [bytes(1, b"k"), bytes(2, &[bytes(1, b"[,]"), holes].concat())].concat();
        error::<Entry>(&entry_with(&bytes(4, &set)))
    };
    assert_eq!(template(&[1, 2, 3]), "");
    assert_eq!(template(&[2, 1]), not("Template", 3, "inside the text and in order"));
    assert_eq!(template(&[4]), not("Template", 3, "inside the text and in order"));
    let both = [varint(1, 5), bytes(2, b"w"), bytes(3, b"k")].concat();
    assert_eq!(
        error::<Entry>(&stored(&[bytes(3, &both)])),
        "field 2 of Declare cannot be read: it stands out of order or more than once",
        "a workspace by both of its names"
    );
    let singleton = [bytes(1, b"n"), varint(2, 1), varint(3, 2)].concat();
    let define = [bytes(1, b"app"), bytes(5, &singleton)].concat();
    assert_eq!(error::<Entry>(&stored(&[bytes(7, &define)])), not("DefineRecord", 3, "0 or 1"));

    let limit = |fields: &[Vec<u8>]| {
        let step = error::<Definition>(&stored(&[bytes(5, &fields.concat())]));
        let define = [bytes(1, b"app"), bytes(6, &fields.concat())].concat();
        assert_eq!(step, error::<Entry>(&stored(&[bytes(7, &define)])), "a step and its request");
        step
    };
    assert_eq!(limit(&[varint(1, 9)]), "");
    assert_eq!(limit(&[varint(2, 1)]), "");
    let both = not("KeyLimit", 2, "without a limit of keys");
    assert_eq!(limit(&[varint(1, 9), varint(2, 1)]), both);
    assert_eq!(limit(&[varint(2, 2)]), not("KeyLimit", 2, "0 or 1"));
    let app = [bytes(1, b"a"), varint(4, 1), varint(7, 9), bytes(8, b""), varint(9, 1)].concat();
    let both = not("AppSettings", 9, "without a limit of keys");
    assert_eq!(error::<Definition>(&stored(&[bytes(1, &app)])), both);

    let app = [bytes(1, b"a"), varint(4, 1), bytes(8, b"")].concat();
    let kinds = |ids: [u64; 2]| {
        let kinds = ids.map(|id| bytes(3, &[bytes(1, b"k"), varint(2, id)].concat()));
        error::<Definitions>(&stored(&[bytes(2, &app), kinds.concat()]))
    };
    assert_eq!(kinds([1, 2]), "");
    assert_eq!(kinds([2, 1]), not("Definitions", 3, "in the order of ids"));
    assert_eq!(kinds([1, 1]), not("Definitions", 3, "in the order of ids"));
    let no_app = error::<Definitions>(&stored(&[varint(1, 1)]));
    assert_eq!(no_app, "field 2 of Definitions cannot be read: it is missing");
}

#[test]
fn pointers_of_another_form_are_refused() {
    let number = |bytes: &[u8]| decode_number(bytes).unwrap_err().to_string();
    assert_eq!(number(&[]), "number cannot be read: the bytes end too early");
    assert_eq!(number(&[1, 0]), "number cannot be read: the bytes end too early");
    assert_eq!(
        number(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        "number cannot be read: it is not as long as such a value is"
    );
    assert!(number(&[2, 0, 0, 0, 0, 0, 0, 0, 0]).contains("it has version 2"));
    let zero = OutboxPointer::decode(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap_err();
    assert_eq!(zero.to_string(), "outbox pointer cannot be read: it is not of an event");
}

/// The sentence that says why bytes are refused; empty when they are not.
fn error<S: Stored>(bytes: &Bytes) -> String {
    S::from_bytes(bytes).err().map_or_else(String::new, |error| error.to_string())
}

fn minimal_event() -> Vec<Vec<u8>> {
    vec![varint(1, 1), varint(4, 1), bytes(11, b"E"), bytes(12, b"{}")]
}

/// The fields with another one in its place.
fn with(fields: &[Vec<u8>], number: u32, field: Vec<u8>) -> Vec<Vec<u8>> {
    let mut fields: Vec<Vec<u8>> = fields.to_vec();
    fields.retain(|field| u32::from(field[0] >> 3) != number);
    let at = fields.iter().take_while(|field| u32::from(field[0] >> 3) < number).count();
    fields.insert(at, field);
    fields
}

fn event_with(number: u32, part: &[u8]) -> Bytes {
    stored(&with(&minimal_event(), number, bytes(number, part)))
}

/// A command with one event with one change.
fn entry_with(change: &[u8]) -> Bytes {
    let event = [bytes(1, b"E"), bytes(2, &bytes(1, b"{}")), bytes(3, change)].concat();
    let identity = [bytes(3, b"c"), bytes(4, &[0; 16]), bytes(5, &[0; 17])].concat();
    stored(&[bytes(2, &[varint(1, 0), identity, bytes(8, &event)].concat())])
}

fn stored(fields: &[Vec<u8>]) -> Bytes {
    [vec![1], fields.concat()].concat().into()
}

fn varint(number: u32, value: u64) -> Vec<u8> {
    [base_128(u64::from(number) << 3), base_128(value)].concat()
}

fn bytes(number: u32, value: &[u8]) -> Vec<u8> {
    let length = u64::try_from(value.len()).unwrap();
    [base_128(u64::from(number) << 3 | 2), base_128(length), value.to_vec()].concat()
}

fn base_128(value: u64) -> Vec<u8> {
    let low = u8::try_from(value & 0x7f).unwrap();
    if value < 0x80 { vec![low] } else { [vec![low | 0x80], base_128(value >> 7)].concat() }
}
