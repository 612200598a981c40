//! The table of methods: all that there is to know about what the server answers over HTTP.
//!
//! ```text
//!            ┌─► router, guards, ranges and defaults of parameters     (server)
//!  table ────┼─► /openapi.json                                         (openapi.rs)
//!            ├─► docs/reference/http.md                                (a test of this crate)
//!            └─► paths with percent-encoding                           (client)
//! ```
//!
//! **Invariant:** what a method takes and answers is said here and nowhere else. A handler asks its
//! row for the range and the default of a parameter.
//!
//! **Deliberately absent:** the methods of gRPC, which their description has.

mod parameter;
mod table;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use parameter::{LIMIT_DEFAULT, LIMIT_MAX, Parameter, Takes, WAIT_MS_MAX};
pub use table::{METHODS, MethodId};

use crate::code::ErrorCode;

/// A method of the HTTP contract.
#[derive(Debug)]
pub struct Method {
    /// Which one it is.
    pub id: MethodId,
    /// The verb of its requests.
    pub verb: Verb,
    /// Its path: parts in braces stand for parameters, and one with a star takes all that is left.
    pub path: &'static str,
    /// One sentence about it.
    pub summary: &'static str,
    /// What else there is to say; may be empty.
    pub about: &'static str,
    /// Whether it changes something, so that an error of it must say what came of that.
    pub writes: bool,
    /// Whether `Accept: text/event-stream` follows what it reads.
    pub streams: bool,
    /// The parameters in its path, in their order there.
    pub parts: &'static [Parameter],
    /// The parameters behind its path.
    pub query: &'static [Parameter],
    /// The headers that it looks at.
    pub headers: &'static [Parameter],
    /// The body that it takes.
    pub request: Option<RequestBody>,
    /// What it answers when it is carried out.
    pub answers: &'static [Answer],
    /// What it answers when it is not, in groups.
    pub errors: &'static [&'static [ErrorCode]],
}

/// The verb of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are what they are called in HTTP")]
pub enum Verb {
    Get,
    Post,
    Put,
    Patch,
}

/// The body of a request.
#[derive(Debug)]
pub struct RequestBody {
    /// Whether it may not be left out.
    pub is_required: bool,
    /// What it is.
    pub message: Message,
}

/// An answer of a method that is carried out.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// When it is answered.
    pub about: &'static str,
    /// Its body.
    pub body: AnswerBody,
    /// The headers that are part of the contract.
    pub headers: &'static [Parameter],
}

/// The body of an answer.
#[derive(Debug)]
pub enum AnswerBody {
    /// A message.
    Json(Message),
    /// A text of this media type.
    Text(&'static str),
    /// The document about all methods.
    OpenApi,
}

/// A message of the contract, with an example.
#[derive(Debug)]
pub struct Message {
    /// Its schema.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// One, as JSON.
    pub example: &'static str,
    /// Reads a text as the message, and writes it again.
    pub rewrite: fn(&str) -> serde_json::Result<serde_json::Value>,
}

impl Method {
    /// The method of a verb at a path as routers match it.
    #[must_use]
    pub fn find(verb: &str, path: &str) -> Option<&'static Self> {
        // What answers GET answers HEAD.
        let verb = if verb == "HEAD" { "GET" } else { verb };
        METHODS.iter().find(|method| method.path == path && method.verb.as_str() == verb)
    }

    /// Its path without the star of a part that takes all that is left.
    #[must_use]
    pub fn template(&self) -> String {
        self.path.replace("{*", "{")
    }

    /// Its name in `/openapi.json`.
    #[must_use]
    pub fn operation_id(&self) -> String {
        let mut name = self.id.name().to_owned();
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        name
    }

    /// A parameter behind its path.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&'static Parameter> {
        self.query.iter().find(|it| it.name == name)
    }

    /// The names of all parameters behind its path.
    #[must_use]
    pub fn query_names(&self) -> &'static [&'static str] {
        static NAMES: LazyLock<BTreeMap<MethodId, Vec<&'static str>>> = LazyLock::new(|| {
            let names = |method: &Method| method.query.iter().map(|it| it.name).collect();
            METHODS.iter().map(|method| (method.id, names(method))).collect()
        });
        NAMES.get(&self.id).map_or(&[], Vec::as_slice)
    }

    /// A part of its path, by the name that errors call it.
    #[must_use]
    pub fn part(&self, field: &str) -> Option<&'static Parameter> {
        self.parts.iter().find(|it| it.field == field)
    }

    /// What it can be refused for, by status.
    #[must_use]
    pub fn error_codes(&self) -> Vec<ErrorCode> {
        let mut codes: Vec<ErrorCode> = self.errors.concat();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// Its path with these parts in it, percent-encoded. They are given by the names in the path.
    ///
    /// # Panics
    ///
    /// If a part of the path is not among them: that is a bug of the caller.
    #[must_use]
    pub fn path_with(&self, parts: &[(&str, &str)]) -> String {
        let part = |written: &str| {
            let name =
                written.trim_start_matches("{*").trim_start_matches('{').trim_end_matches('}');
            let found = parts.iter().find(|(known, _)| *known == name);
            let (_, text) = found.unwrap_or_else(|| panic!("{} needs its part {name}", self.path));
            percent_encoded(text)
        };
        let segments = self.path.split('/').map(|written| match written.starts_with('{') {
            true => part(written),
            false => written.to_owned(),
        });
        segments.collect::<Vec<_>>().join("/")
    }
}

impl MethodId {
    /// Its row in the table.
    #[must_use]
    pub fn method(self) -> &'static Method {
        let found = METHODS.iter().find(|method| method.id == self);
        found.expect("the table and the list of ids are made of the same rows")
    }

    /// [`Method::path_with`] of its row.
    ///
    /// # Panics
    ///
    /// If a part of the path is not among them: that is a bug of the caller.
    #[must_use]
    pub fn path_with(self, parts: &[(&str, &str)]) -> String {
        self.method().path_with(parts)
    }
}

impl Verb {
    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
        }
    }

    /// Whether requests of a verb are only to read, as RFC 9110 says: of a request that is for no
    /// method there is nothing else to go by.
    #[must_use]
    pub fn is_safe(verb: &str) -> bool {
        matches!(verb, "GET" | "HEAD" | "OPTIONS" | "TRACE")
    }
}

impl Message {
    /// The message that a type is.
    const fn of<T: JsonSchema + Serialize + DeserializeOwned>(example: &'static str) -> Self {
        Self {
            schema: SchemaGenerator::subschema_for::<T>,
            example,
            rewrite: |text| serde_json::to_value(serde_json::from_str::<T>(text)?),
        }
    }
}

/// A text as one part of a path, or as a value behind one: whatever has a meaning there is escaped,
/// slashes too, because proxies and clients fold what stands between them.
#[must_use]
pub fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
