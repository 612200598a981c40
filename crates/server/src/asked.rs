//! What a request says: the parts of its path, its query, its headers, its body.

use std::future::poll_fn;
use std::ops::RangeInclusive;
use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use seriatim_json::write::Fact;
use seriatim_json::{Invalid, Problem};
use seriatim_types::limits::{COMMAND_BYTES_MAX, ENTITY_KEY_BYTES_MAX, NAME_BYTES_MAX};
use seriatim_types::{EntityKey, NUMBER_MAX, Name, PartitionId, WorkspaceId, WorkspaceRef};

use crate::error::ApiError;

/// A request without its body.
pub(crate) struct Asked {
    path: Vec<(String, String)>,
    query: String,
    headers: HeaderMap,
}

impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = RawPathParams::from_request_parts(parts, state).await;
        let path = path.map_err(|error| ApiError::invalid("path", error.body_text()))?;
        let path = path.iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        Ok(Self { path, query, headers: std::mem::take(&mut parts.headers) })
    }
}

impl Asked {
    /// A part of the path, as text.
    pub(crate) fn part(&self, name: &str) -> &str {
        let part = self.path.iter().find(|(known, _)| known == name);
        part.map_or("", |(_, text)| text)
    }

    pub(crate) fn name(&self, part: &str) -> Result<Name, ApiError> {
        name(part, self.part(part))
    }

    pub(crate) fn app(&self) -> Result<Name, ApiError> {
        self.name("app")
    }

    pub(crate) fn workspace(&self) -> Result<WorkspaceRef, ApiError> {
        workspace(self.part("ws"))
    }

    pub(crate) fn partition(&self) -> Result<PartitionId, ApiError> {
        let number = self.number("p", 0..=u64::from(u16::MAX))?;
        Ok(PartitionId(u16::try_from(number).expect("the range is that of the type")))
    }

    pub(crate) fn entity_key(&self) -> Result<EntityKey, ApiError> {
        entity_key(self.part("key"))
    }

    /// A part of the path that is a number.
    pub(crate) fn number(&self, part: &str, range: RangeInclusive<u64>) -> Result<u64, ApiError> {
        whole(part, self.part(part), range)
    }

    /// The parameters behind the path, if all of them are known and each comes once.
    pub(crate) fn query(&self, known: &'static [&'static str]) -> Result<Query, ApiError> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (name, text) in form_urlencoded::parse(self.query.as_bytes()) {
            let invalid = |problem| Invalid { field: name.to_string(), problem };
            if !known.contains(&&*name) {
                return Err(invalid(Problem::UnknownMember { known }).into());
            }
            if pairs.iter().any(|(earlier, _)| *earlier == name) {
                return Err(ApiError::invalid(&name, "is given more than once"));
            }
            pairs.push((name.into_owned(), text.into_owned()));
        }
        Ok(Query(pairs))
    }

    /// A header that may be there once.
    pub(crate) fn header(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.headers.get_all(name).iter();
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(ApiError::invalid(name, "is given more than once"));
        }
        let text = str::from_utf8(value.as_bytes());
        text.map(Some).map_err(|_| ApiError::invalid(name, "is not UTF-8"))
    }

    /// A header that must be there once.
    pub(crate) fn required_header(&self, name: &str) -> Result<&str, ApiError> {
        let missing = || Invalid { field: name.to_owned(), problem: Problem::Missing };
        Ok(self.header(name)?.ok_or_else(missing)?)
    }

    /// Whether the caller wants to follow a log.
    pub(crate) fn wants_stream(&self) -> bool {
        let accepted = self.headers.get_all(header::ACCEPT);
        let mut accepted = accepted.iter().filter_map(|value| value.to_str().ok());
        accepted.any(|text| text.to_ascii_lowercase().contains("text/event-stream"))
    }

    /// The whole body, if it comes in time. One that is too large is not read to its end, nor at all
    /// if it says so.
    pub(crate) async fn body(&self, body: Body, within: Duration) -> Result<Bytes, ApiError> {
        let read = tokio::time::timeout(within, whole_body(body)).await;
        read.unwrap_or_else(|_| {
            let why = format!("was not sent within {} ms", within.as_millis());
            Err(ApiError::invalid("body", why))
        })
    }
}

async fn whole_body(body: Body) -> Result<Bytes, ApiError> {
    let limit = COMMAND_BYTES_MAX as usize;
    let too_large = || {
        let error = ApiError::new("TOO_LARGE", format!("the body has more than {limit} bytes"));
        Err(error.with("limit", Fact::Number(u64::from(COMMAND_BYTES_MAX))))
    };
    if body.size_hint().lower() > u64::from(COMMAND_BYTES_MAX) {
        return too_large();
    }
    let mut body = pin!(body);
    let mut read = BytesMut::new();
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let frame = frame.map_err(|_| ApiError::invalid("body", "breaks off"))?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len().saturating_add(data.len()) > limit {
            return too_large();
        }
        read.extend_from_slice(&data);
    }
    Ok(read.freeze())
}

/// The parameters of a request.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, ApiError> {
        let missing = || Invalid { field: name.to_owned(), problem: Problem::Missing };
        Ok(self.text(name).ok_or_else(missing)?)
    }

    pub(crate) fn number(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, ApiError> {
        self.text(name).map(|text| whole(name, text, range)).transpose()
    }
}

/// A workspace: digits are its id, anything else its name.
pub(crate) fn workspace(text: &str) -> Result<WorkspaceRef, ApiError> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let id = whole("workspace", text, 0..=NUMBER_MAX)?;
        return Ok(WorkspaceRef::Id(WorkspaceId(id)));
    }
    Ok(WorkspaceRef::Name(name("workspace", text)?))
}

pub(crate) fn name(field: &str, text: &str) -> Result<Name, ApiError> {
    Name::new(text).ok_or_else(|| not_a_name(field, NAME_BYTES_MAX))
}

pub(crate) fn entity_key(text: &str) -> Result<EntityKey, ApiError> {
    EntityKey::new(text).ok_or_else(|| not_a_name("key", ENTITY_KEY_BYTES_MAX))
}

/// A number that is written in digits and lies in a range.
pub(crate) fn whole(field: &str, text: &str, range: RangeInclusive<u64>) -> Result<u64, ApiError> {
    // The parser for numbers would take a sign too.
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| is_digits && range.contains(number));
    number.ok_or_else(|| not_in(field, text, &range))
}

/// A number that lies in a range.
pub(crate) fn check_in(
    field: &str,
    number: u64,
    range: RangeInclusive<u64>,
) -> Result<u64, ApiError> {
    let is_in = range.contains(&number);
    is_in.then_some(number).ok_or_else(|| not_in(field, &number.to_string(), &range))
}

fn not_in(field: &str, found: &str, range: &RangeInclusive<u64>) -> ApiError {
    let found = found.chars().take(64).collect();
    let problem = Problem::NotInRange { min: *range.start(), max: *range.end(), found };
    Invalid { field: field.to_owned(), problem }.into()
}

fn not_a_name(field: &str, bytes_max: usize) -> ApiError {
    Invalid { field: field.to_owned(), problem: Problem::NotAName { bytes_max } }.into()
}
