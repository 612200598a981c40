//! Whether a value is what a schema of `/openapi.json` says: as much of JSON Schema as the document uses.
//!
//! A keyword that is not known here is a failure and not a pass.

use serde_json::Value;

/// Keywords that describe and do not decide. Formats are left to tools that have them.
const DESCRIBING: &[&str] = &["description", "title", "format", "default", "example", "examples"];

/// Why a value does not fit, with the place; `None` if it does.
pub(crate) fn mismatch(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    if *schema == Value::Bool(true) {
        return None;
    }
    let Some(schema) = schema.as_object() else {
        return Some(format!("{schema} is no schema that anything fits"));
    };
    let below = |schema: &Value, value: &Value, place: &str| {
        mismatch(document, schema, value).map(|why| format!("{place}: {why}"))
    };
    schema.iter().find_map(|(keyword, said)| {
        let listed = || said.as_array().into_iter().flatten();
        let number = || said.as_f64().unwrap();
        let length = || usize::try_from(said.as_u64().unwrap()).unwrap();
        let is_fit = match keyword.as_str() {
            "$ref" => {
                let pointer = said.as_str().unwrap().trim_start_matches('#');
                return below(
                    document.pointer(pointer).expect("references lead somewhere"),
                    value,
                    pointer,
                );
            }
            "type" if said.is_array() => listed().any(|kind| is_of(kind, value)),
            "type" => is_of(said, value),
            "const" => said == value,
            "enum" => listed().any(|one| one == value),
            "not" => mismatch(document, said, value).is_some(),
            "pattern" => {
                let pattern = regex::Regex::new(said.as_str().unwrap()).unwrap();
                value.as_str().is_none_or(|text| pattern.is_match(text))
            }
            "anyOf" => listed().any(|one| mismatch(document, one, value).is_none()),
            "oneOf" => listed().filter(|one| mismatch(document, one, value).is_none()).count() == 1,
            "allOf" => return listed().find_map(|one| below(one, value, "allOf")),
            "minimum" => value.as_f64().is_none_or(|value| value >= number()),
            "maximum" => value.as_f64().is_none_or(|value| value <= number()),
            "minLength" => value.as_str().is_none_or(|text| text.chars().count() >= length()),
            "maxLength" => value.as_str().is_none_or(|text| text.chars().count() <= length()),
            "minItems" => value.as_array().is_none_or(|items| items.len() >= length()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() <= length()),
            "required" => value.as_object().is_none_or(|object| {
                listed().all(|name| object.contains_key(name.as_str().unwrap()))
            }),
            "properties" => {
                let members = said.as_object().unwrap().iter();
                return { members }.find_map(|(name, schema)| {
                    value.get(name).and_then(|value| below(schema, value, name))
                });
            }
            "patternProperties" | "propertyNames" => true,
            "additionalProperties" if schema.contains_key("patternProperties") => true,
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                let is_known = |name: &String| known.is_some_and(|known| known.contains_key(name));
                let members = value.as_object().into_iter().flatten();
                return { members }
                    .filter(|(name, _)| !is_known(name))
                    .find_map(|(name, value)| below(said, value, name));
            }
            "items" => {
                let items = value.as_array().into_iter().flatten();
                return items.into_iter().find_map(|item| below(said, item, "items"));
            }
            known if DESCRIBING.contains(&known) => true,
            unknown => panic!("the keyword {unknown} is not checked here"),
        };
        (!is_fit).then(|| format!("{value} is not {keyword} {said}"))
    })
}

fn is_of(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

#[test]
fn what_does_not_fit_its_schema_is_found() {
    use serde_json::json;
    let document = json!({"components": {"schemas": {"N": {"type": "integer", "minimum": 1}}}});
    let schema = json!({
        "type": "object", "required": ["n"], "additionalProperties": false,
        "properties": {
            "n": {"$ref": "#/components/schemas/N"},
            "l": {"type": "array", "items": {"oneOf": [{"const": 1}, {"type": "string"}]}},
            "o": {"type": ["null", "string"], "maxLength": 2},
            "p": {"pattern": "^a+$", "not": {"pattern": "^aa$"}},
        },
    });
    let fits = |value: Value| mismatch(&document, &schema, &value).is_none();
    assert!(fits(json!({"n": 1, "l": [1, "a"], "o": null, "p": "a"})));
    for value in [
        json!([]),
        json!({}),
        json!({"n": 0}),
        json!({"n": "1"}),
        json!({"n": 1, "m": 1}),
        json!({"n": 1, "l": [2]}),
        json!({"n": 1, "o": "abc"}),
        json!({"n": 1, "o": 1}),
        json!({"n": 1, "p": "b"}),
        json!({"n": 1, "p": "aa"}),
    ] {
        assert!(!fits(value.clone()), "{value}");
    }
}
