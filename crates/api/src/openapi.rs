//! The document at `/openapi.json`, made of the table of methods and the schemas of the messages.
#![expect(
    clippy::indexing_slicing,
    reason = "what is indexed is an object that was made here, and a name that is new is added to it"
)]

use std::collections::BTreeMap;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::code::ErrorCode;
use crate::error::ErrorBody;
use crate::method::{Answer, AnswerBody, METHODS, Method, Parameter, RequestBody, Takes};
use crate::schema;

/// Where schemas stand in the document.
const SCHEMAS: &str = "/components/schemas";

/// An event stream, in words: OpenAPI has no more for it.
const STREAM: &str = "`id: <offset>` and `data: <event>` for each event, a comment as a sign of life, and \
    `event: error` with the body of an error when it cannot go on.";

/// The document of OpenAPI 3.1 for a version of the server.
#[must_use]
pub fn document(version: &str) -> Value {
    let mut builder = Builder::default();
    let mut paths = Map::new();
    for method in METHODS {
        let operation = builder.operation(method);
        let path = paths.entry(method.template()).or_insert_with(|| json!({}));
        path[method.verb.as_str().to_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Seriatim",
            "version": version,
            "description": "An event-sourcing server: every command gets its place, exactly once.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "paths": paths,
        "components": builder.components(),
    })
}

/// What is collected while methods are written.
struct Builder {
    /// Of what clients send: members with a default may be left out.
    requests: SchemaGenerator,
    /// Of what they are answered: members that are always there are required.
    answers: SchemaGenerator,
    /// Answers to what is not carried out, by the codes that they can have.
    errors: BTreeMap<String, Value>,
}

impl Default for Builder {
    fn default() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = SCHEMAS.into();
                settings.meta_schema = None;
            })
        };
        Self {
            requests: settings().for_deserialize().into_generator(),
            answers: settings().for_serialize().into_generator(),
            errors: BTreeMap::new(),
        }
    }
}

impl Builder {
    fn operation(&mut self, method: &Method) -> Value {
        let places = [("path", method.parts), ("query", method.query), ("header", method.headers)];
        let parameters = places.into_iter().flat_map(|(place, parameters)| {
            parameters.iter().map(move |parameter| parameter_in(place, parameter))
        });
        let mut operation = json!({
            "operationId": method.operation_id(),
            "summary": method.summary,
            "parameters": parameters.collect::<Vec<_>>(),
            "responses": self.responses(method),
        });
        if !method.about.is_empty() {
            operation["description"] = method.about.into();
        }
        if let Some(body) = &method.request {
            operation["requestBody"] = self.request(body);
        }
        operation
    }

    fn request(&mut self, body: &RequestBody) -> Value {
        let schema = (body.message.schema)(&mut self.requests);
        json!({
            "required": body.is_required,
            "content": {"application/json": {"schema": schema, "example": example(body.message.example)}},
        })
    }

    fn responses(&mut self, method: &Method) -> Value {
        let mut responses = Map::new();
        for answer in method.answers {
            let response = self.answer(method, answer);
            responses.insert(answer.status.to_string(), response);
        }
        let mut by_status: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
        for code in method.error_codes() {
            by_status.entry(code.status()).or_default().push(code);
        }
        for (status, codes) in by_status {
            let error = self.error(&codes);
            match responses.get_mut(&status.to_string()) {
                // Two bodies under one status: whichever it is, it has its own members.
                Some(answer) => {
                    let schema = &mut answer["content"]["application/json"]["schema"];
                    *schema = json!({"anyOf": [schema.take(), self.error_schema(&codes)]});
                }
                None => drop(responses.insert(status.to_string(), error)),
            }
        }
        Value::Object(responses)
    }

    fn answer(&mut self, method: &Method, answer: &Answer) -> Value {
        let mut content = match &answer.body {
            AnswerBody::Json(message) => {
                let schema = (message.schema)(&mut self.answers);
                json!({"application/json": {"schema": schema, "example": example(message.example)}})
            }
            AnswerBody::Text(kind) => json!({*kind: {"schema": {"type": "string"}}}),
            AnswerBody::OpenApi => json!({"application/json": {"schema": {"type": "object"}}}),
        };
        if method.streams {
            content["text/event-stream"] =
                json!({"schema": {"type": "string", "description": STREAM}});
        }
        let mut response = json!({"description": answer.about, "content": content});
        if !answer.headers.is_empty() {
            let header = |header: &Parameter| (header.name.to_owned(), header_of(header));
            response["headers"] = answer.headers.iter().map(header).collect::<Map<_, _>>().into();
        }
        response
    }

    /// A reference to the answer that has one of these codes, all of one status.
    fn error(&mut self, codes: &[ErrorCode]) -> Value {
        let names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
        let name = names.join(".");
        let reference = json!({"$ref": format!("#/components/responses/{name}")});
        if !self.errors.contains_key(&name) {
            let error = self.error_response(codes);
            self.errors.insert(name, error);
        }
        reference
    }

    fn error_response(&mut self, codes: &[ErrorCode]) -> Value {
        let sentence = |code: &ErrorCode| format!("- `{code}`: {}", code.about());
        let description = codes.iter().map(sentence).collect::<Vec<_>>().join("\n");
        let examples = codes.iter().map(|code| (code.as_str().to_owned(), error_example(*code)));
        let mut response = json!({
            "description": description,
            "content": {"application/json": {
                "schema": self.error_schema(codes),
                "examples": examples.collect::<Map<_, _>>(),
            }},
        });
        if codes.iter().any(|code| code.retryable() != Some(false)) {
            let about = "Whole seconds, where it is known how long to wait.";
            response["headers"] = json!({
                "Retry-After": {"description": about, "schema": {"type": "integer", "minimum": 0}},
            });
        }
        response
    }

    fn error_schema(&mut self, codes: &[ErrorCode]) -> Value {
        let error = self.answers.subschema_for::<ErrorBody>();
        let codes: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
        json!({"allOf": [error, {"properties": {"code": {"enum": codes}}}]})
    }

    fn components(mut self) -> Value {
        let mut schemas = self.requests.take_definitions(true);
        schemas.extend(self.answers.take_definitions(true));
        json!({"schemas": schemas, "responses": self.errors})
    }
}

fn parameter_in(place: &str, parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "in": place,
        "required": parameter.is_required,
        "description": parameter.about,
        "schema": schema_of(parameter),
        "example": example_of(parameter),
    })
}

fn header_of(header: &Parameter) -> Value {
    json!({
        "description": header.about,
        "required": header.is_required,
        "schema": schema_of(header),
    })
}

fn schema_of(parameter: &Parameter) -> Value {
    match parameter.takes {
        Takes::Text { bytes_max } => schema::any_text(bytes_max).to_value(),
        Takes::App => schema::app_name(&mut SchemaGenerator::default()).to_value(),
        Takes::Client => schema::client().to_value(),
        Takes::Workspace => schema::workspace(&mut SchemaGenerator::default()).to_value(),
        Takes::Whole { min, max, default } => {
            let mut schema = json!({"type": "integer", "minimum": min, "maximum": max});
            if let Some(default) = default {
                schema["default"] = default.into();
            }
            schema
        }
        Takes::Uuid => {
            let hex = "[0-9A-Fa-f]";
            let pattern = format!("^{hex}{{8}}-{hex}{{4}}-{hex}{{4}}-{hex}{{4}}-{hex}{{12}}$");
            let nil = "00000000-0000-0000-0000-000000000000";
            json!({"type": "string", "format": "uuid", "pattern": pattern, "not": {"const": nil}})
        }
        Takes::Moment => schema::moment(&mut SchemaGenerator::default()).to_value(),
        Takes::Flag => json!({"type": "boolean"}),
    }
}

fn example_of(parameter: &Parameter) -> Value {
    match parameter.takes {
        Takes::Whole { .. } | Takes::Flag => example(parameter.example),
        Takes::Text { .. }
        | Takes::App
        | Takes::Client
        | Takes::Workspace
        | Takes::Uuid
        | Takes::Moment => parameter.example.into(),
    }
}

fn example(text: &str) -> Value {
    serde_json::from_str(text).expect("a test reads every example")
}

fn error_example(code: ErrorCode) -> Value {
    json!({"value": {
        "code": code,
        "message": code.about(),
        "retryable": code.retryable().unwrap_or(false),
        "help": code.help(),
    }})
}

#[cfg(test)]
mod tests;
