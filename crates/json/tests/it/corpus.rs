//! Documents that are right. Tests look at each of them, and the fuzzer starts from them.

/// The command of the HTTP contract, word for word.
pub(crate) const CONTRACT: &str = r#"{"events": [{"name": "InvoiceIssued", "args": {"total": 1250},
   "changes": [
     {"create": {"id": 1, "kind": "invoice", "fields": {"number": {"$next": "invoice", "as": "text"}, "lines": [{"$ref": 2}]}}},
     {"create": {"id": 2, "kind": "line", "parent": 1, "fields": {"sku": "A-7"}}},
     {"update": {"id": 200017, "fields": {"open": false}, "if_version": 3}},
     {"delete": {"id": 200018, "if_version": 1}},
     {"set":    {"key": "stock/A-7", "value": {"left": 4}, "if": {"version": 7}, "expires_at": "2027-01-01T00:00:00Z"}},
     {"unset":  {"key": "hold/9", "if": "exists"}},
     {"draw":   {"sequence": "ticket"}}]}],
 "if_offset": 12, "include_proof": false}"#;

pub(crate) const COMMANDS: &[&str] = &[
    CONTRACT,
    r#"{"events": [{"name": "X"}]}"#,
    r#"{"include_proof": true, "if_offset": 0, "events": [{"changes": [], "args": {}, "name": "X"}]}"#,
    r#"{"events": [{"name": "X", "changes": [
        {"create": {"id": 1.0, "kind": "a", "parent": null}},
        {"create": {"id": 2e0, "kind": "a", "parent": 0, "fields": {}}},
        {"create": {"id": 65535, "kind": "a", "parent": 65535}},
        {"create": {"id": 200001, "kind": "a", "parent": 65536}},
        {"create": {"id": 9007199254740991, "kind": "a"}},
        {"update": {"id": 65535, "fields": {}}}, {"delete": {"id": 1}}]}]}"#,
    r#"{"events": [{"name": "X", "changes": [
        {"set": {"key": "a", "value": null, "if": "absent", "expires_at": null}},
        {"set": {"key": "b", "value": 5, "if": {"value": {"z": 1, "a": {"$lit": {"$ref": 1}}}}}},
        {"set": {"key": "c", "value": {"$next": "n"}, "if": "exists"}},
        {"unset": {"key": "d"}}, {"unset": {"key": "e", "if": {"version": 1}}}]}]}"#,
    r#"{"events": [
        {"name": "A", "args": {"b": {"$next": "s"}, "a": {"$next": "t", "as": "number"}, "c": [{"$draw": 3}]}},
        {"name": "B", "changes": [
            {"draw": {"sequence": "u"}},
            {"create": {"id": 7, "kind": "k", "fields": {
                "z": {"deep": [[{"$next": "v", "as": "text"}], {"$ref": 7}]},
                "a": {"$draw": 0, "as": "text"},
                "$ref": {"$lit": {"$next": "untouched", "more": [{"$draw": 99}]}},
                "$schema": {"$id": 1, "$comment": null}, "$date": {"$lit": {"$date": 5}}}}}]}]}"#,
    r#"{"events": [{"name": "X", "changes": [
        {"create": {"id": 200001, "kind": "a", "import": true}},
        {"create": {"id": 1, "kind": "a", "import": false}}]}]}"#,
    r#"{"events": [{"name": "Größe €", "args": {"\u20ac": "\ud83d\ude00", "\r\n": "\"\\\/\b\f\n\r\t",
        "numbers": [0, -0, 1E30, 4.50, 2e-3, 1e-7, -1.5, 333333333.33333329, 9007199254740992]}}]}"#,
];

pub(crate) const DOCUMENTS: &[&str] = &[
    "null",
    " [ true , false ] ",
    "\"plain\"",
    "-12.5e-3",
    "[]",
    "{}",
    r#"{"b": [1, 2.0, {"c": {}}], "a": "\u0000\u001f\u007f", "": null}"#,
    r#"{"\ud83d\ude00": 1, "\ufb33": 2, "ö": 3, "1": 4}"#,
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1e2]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    "[5e-324, 1.7976931348623157e+308, 295147905179352830000, 0.000001, 1e21]",
];

pub(crate) const APPS: &[&str] = &[
    r#"{"name": "shop"}"#,
    r#"{"name":"shop","partitions":4,"record_ids":"single","trust_level":0,"idempotency_retention":"24h","idempotency_keys_max":null}"#,
    r#"{"name":"s","partitions":1024,"record_ids":"split","trust_level":2,"idempotency_retention":"forever","idempotency_keys_max":1}"#,
];

pub(crate) const SEQUENCES: &[&str] = &[
    "{}",
    r#"{"kind":"default","ranges":[[1,999999]],"format":"INV-{yyyy}-{n:06}","reset":"yearly","utc_offset":"+01:00"}"#,
    r#"{"kind":"store","ranges":[[1,9],[20,9007199254740991]],"reset":"never","utc_offset":"-12:00"}"#,
];

pub(crate) const RECORDS: &[&str] = &[r#"{"class":"c"}"#, r#"{"class":"w","singleton":true}"#];

/// Every document that some reader takes.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    [COMMANDS, DOCUMENTS, APPS, SEQUENCES, RECORDS].into_iter().flatten().copied()
}
