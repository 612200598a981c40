//! The document is OpenAPI, and says of each method what the table says.

use std::collections::BTreeSet;

use super::*;

/// Every object below a value, with itself.
fn objects(value: &Value) -> Vec<&Map<String, Value>> {
    let below: Vec<&Value> = match value {
        Value::Object(object) => object.values().collect(),
        Value::Array(items) => items.iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    value.as_object().into_iter().chain(below.into_iter().flat_map(objects)).collect()
}

fn operations(document: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, item)| item.as_object().unwrap().values().map(move |it| (path, it)))
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_referred_to() {
    let document = document("1.2.3");
    assert_eq!(
        (&document["openapi"], &document["info"]["version"]),
        (&json!("3.1.0"), &json!("1.2.3"))
    );
    let references = objects(&document).into_iter().filter_map(|it| it.get("$ref")?.as_str());
    let references: BTreeSet<&str> = references.collect();
    assert!(references.len() > 30, "{references:?}");
    for reference in &references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for kind in ["schemas", "responses"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            let is_component_name =
                |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            assert!(name.bytes().all(is_component_name), "{name}");
            let reference = format!("#/components/{kind}/{name}");
            assert!(references.contains(reference.as_str()), "{reference} is not used");
        }
    }
}

#[test]
fn operations_have_names_of_their_own_and_declare_the_parameters_of_their_path() {
    let document = document("1");
    let mut names = BTreeSet::new();
    for (path, operation) in operations(&document) {
        assert!(names.insert(operation["operationId"].as_str().unwrap()), "{path}");
        let parameters = operation["parameters"].as_array().unwrap();
        let of_path = parameters.iter().filter(|it| it["in"] == "path");
        let declared: Vec<&str> = of_path
            .inspect(|it| assert_eq!(it["required"], true, "{path}"))
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        let written: Vec<&str> = path.split('/').filter(|it| it.starts_with('{')).collect();
        let written: Vec<&str> = written.iter().map(|it| it.trim_matches(['{', '}'])).collect();
        assert_eq!(declared, written, "{path}");
        let keys = parameters.iter().map(|it| (it["in"].as_str(), it["name"].as_str()));
        assert_eq!(keys.collect::<BTreeSet<_>>().len(), parameters.len(), "{path}");
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.starts_with('2')), "{path}");
        for response in responses.values() {
            assert!(response.get("$ref").is_some() != response.get("description").is_some());
        }
    }
    assert_eq!(names.len(), METHODS.len());
}

#[test]
fn every_error_of_a_method_is_under_its_status() {
    let document = document("1");
    for method in METHODS {
        let verb = method.verb.as_str().to_lowercase();
        let operation = &document["paths"][method.template()][verb];
        for code in method.error_codes() {
            let response = &operation["responses"][code.status().to_string()];
            let pointer = response["$ref"].as_str().map(|it| it.strip_prefix('#').unwrap());
            let response = pointer.map_or(response, |it| document.pointer(it).unwrap());
            let schema = &response["content"]["application/json"]["schema"];
            let enums = objects(schema).into_iter().filter_map(|it| it.get("enum")?.as_array());
            let codes: Vec<&Value> = enums.flatten().collect();
            assert!(codes.contains(&&json!(code)), "{:?} {code}", method.id);
        }
    }
}

/// Whoever reads the document reads what a member is for.
#[test]
fn every_message_and_every_member_is_described() {
    let document = document("1");
    let schemas = document["components"]["schemas"].as_object().unwrap();
    assert!(schemas.len() > 40, "{}", schemas.len());
    for (name, schema) in schemas {
        assert!(schema["description"].is_string(), "{name}");
        let members = schema["properties"].as_object().into_iter().flatten();
        for (member, schema) in members {
            assert!(schema["description"].is_string(), "{name}.{member}");
        }
    }
}

/// Requests and answers are described apart, so one name must not stand for two schemas.
#[test]
fn what_is_sent_and_answered_under_one_name_is_the_same() {
    let mut builder = Builder::default();
    METHODS.iter().for_each(|method| drop(builder.operation(method)));
    let requests = builder.requests.take_definitions(true);
    let answers = builder.answers.take_definitions(true);
    for (name, schema) in &requests {
        assert!(answers.get(name).is_none_or(|other| other == schema), "{name}");
    }
}

#[test]
fn members_that_are_always_answered_are_required_and_those_of_requests_with_a_default_are_not() {
    let document = document("1");
    let required = |name: &str| document["components"]["schemas"][name]["required"].clone();
    let of_app = required("App");
    assert!(of_app.as_array().unwrap().contains(&json!("idempotency_keys_max")), "{of_app}");
    assert_eq!(required("NewApp"), json!(["name"]));
    assert_eq!(required("NewRecordKind"), Value::Null);
    let of_error = required("Error");
    assert_eq!(of_error, json!(["code", "message", "retryable", "help"]));
}

/// The parser takes a member that is left out, and refuses most that are null.
#[test]
fn members_of_requests_are_not_null_but_for_those_that_mean_something_by_it() {
    let document = document("1");
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut nullable = BTreeSet::new();
    for (name, schema) in schemas {
        if !(name.starts_with("New") || name.ends_with("Input") || name == "Command") {
            continue;
        }
        for (member, schema) in schema["properties"].as_object().into_iter().flatten() {
            let kinds = objects(schema).into_iter().filter_map(|it| it.get("type"));
            let mut all =
                kinds.flat_map(|kind| kind.as_array().cloned().unwrap_or(vec![kind.clone()]));
            if all.any(|kind| kind == "null") {
                nullable.insert(format!("{name}.{member}"));
            }
        }
    }
    let meant = ["CreateInput.parent", "NewApp.idempotency_keys_max", "SetInput.expires_at"];
    assert!(nullable.iter().eq(&meant), "{nullable:?}");
}

/// `null` is an answer where a member is always there and may have nothing to say.
#[test]
fn members_that_can_be_null_are_required_and_may_be_null() {
    let document = document("1");
    for (name, member) in [
        ("App", "idempotency_keys_max"),
        ("AppChange", "idempotency_keys_max"),
        ("Entity", "expires_at"),
        ("PartitionStatus", "reason"),
        ("Records", "next"),
        ("SequenceState", "next_text"),
    ] {
        let Some(schema) = document["components"]["schemas"].get(name) else { continue };
        let kinds = schema["properties"][member]["type"].as_array();
        assert!(
            kinds.is_some_and(|kinds| kinds.contains(&json!("null"))),
            "{name}.{member} {schema}"
        );
        assert!(schema["required"].as_array().unwrap().contains(&json!(member)), "{name}.{member}");
    }
}
