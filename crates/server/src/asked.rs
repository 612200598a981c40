//! What a request says: the parts of its path, its query, its headers, its body.

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::iter::successors;
use std::ops::RangeInclusive;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use seriatim_api::code::ErrorCode;
use seriatim_api::method::{Method, Parameter};
use seriatim_json::{Invalid, Problem, header};
use seriatim_types::limits::{COMMAND_BYTES_MAX, ENTITY_KEY_BYTES_MAX, NAME_BYTES_MAX};
use seriatim_types::{ClientId, EntityKey, Key, Name, PartitionId, WorkspaceRef};

use crate::context::Context;
use crate::error::{ApiError, Fact};
use crate::overload::memory_budget::MemoryBudget;
use crate::path;

/// A request without its body.
pub(crate) struct Asked {
    /// The method that is asked for, which says what there can be.
    method: &'static Method,
    /// The parts of the path. Where they cannot be read, that is said to whoever needs one: only
    /// the handler knows what an error of its own says.
    path: Result<Vec<(&'static str, String)>, ApiError>,
    query: String,
    headers: HeaderMap,
}

impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let method = parts.extensions.get::<&'static Method>();
        let method = *method.expect("routes are methods of the table, and the router says which");
        let path = path::parts(method, parts.uri.path());
        let query = parts.uri.query().unwrap_or_default().to_owned();
        Ok(Self { method, path, query, headers: std::mem::take(&mut parts.headers) })
    }
}

impl Asked {
    /// A part of the path, as text.
    fn part(&self, name: &str) -> Result<&str, ApiError> {
        let mut parts = self.path.as_ref().map_err(Clone::clone)?.iter();
        Ok(parts.find(|(known, _)| *known == name).map_or("", |(_, text)| text))
    }

    pub(crate) fn name(&self, part: &str) -> Result<Name, ApiError> {
        name(part, self.part(part)?)
    }

    pub(crate) fn app(&self) -> Result<Name, ApiError> {
        self.name("app")
    }

    pub(crate) fn workspace(&self) -> Result<WorkspaceRef, ApiError> {
        workspace(self.part("workspace")?)
    }

    pub(crate) fn partition(&self) -> Result<PartitionId, ApiError> {
        let number = self.number("partition")?;
        Ok(PartitionId(u16::try_from(number).expect("the range is that of the type")))
    }

    pub(crate) fn entity_key(&self) -> Result<EntityKey, ApiError> {
        entity_key(self.part("key")?)
    }

    pub(crate) fn client(&self) -> Result<ClientId, ApiError> {
        let client = header::client(self.part("client")?);
        client.map_err(|invalid| ApiError::invalid("client", invalid.problem))
    }

    pub(crate) fn idempotency_key(&self) -> Result<Key, ApiError> {
        let key = header::key(self.part("key")?);
        key.map_err(|invalid| ApiError::invalid("key", invalid.problem))
    }

    /// A part of the path that is a number.
    pub(crate) fn number(&self, part: &str) -> Result<u64, ApiError> {
        whole(part, self.part(part)?, range_of(self.method.part(part)))
    }

    /// The parameters behind the path, if the method has all of them and each comes once.
    pub(crate) fn query(&self) -> Result<Query, ApiError> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty()) {
            // A plus stands for a space in a query, and only there.
            let pair = pair.replace('+', " ");
            let (name, text) = pair.split_once('=').unwrap_or((&pair, ""));
            let name = path::decoded(name, name)?;
            if self.method.query(&name).is_none() {
                let known = self.method.query_names();
                return Err(
                    Invalid { field: name, problem: Problem::UnknownMember { known } }.into()
                );
            }
            if pairs.iter().any(|(earlier, _)| *earlier == name) {
                return Err(ApiError::invalid(&name, "is given more than once"));
            }
            let text = path::decoded(&name, text)?;
            pairs.push((name, text));
        }
        Ok(Query { method: self.method, pairs })
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

    /// Whether the caller wants to follow a log: a stream is named, and no list is liked better.
    pub(crate) fn wants_stream(&self) -> bool {
        let accepted = self.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let all: Vec<(&str, u16)> =
            accepted.flat_map(|text| text.split(',')).map(accepted_type).collect();
        let weight = |kind: &str| {
            let named = all.iter().filter(|(named, _)| named.eq_ignore_ascii_case(kind));
            named.map(|(_, weight)| *weight).max()
        };
        let stream = weight("text/event-stream").unwrap_or(0);
        stream > 0 && Some(stream) >= weight("application/json")
    }

    /// The whole body, if it comes in time. One that is too large is not read to its end, nor at all
    /// if it says so.
    pub(crate) async fn body(&self, body: Body, context: &Context) -> Result<Bytes, ApiError> {
        let within = context.settings.body_within;
        if !self.header("Content-Encoding")?.is_none_or(|it| it.eq_ignore_ascii_case("identity")) {
            let why = "bodies are read as they are: send them without compression";
            return Err(ApiError::invalid("Content-Encoding", why));
        }
        let read = tokio::time::timeout(within, whole_body(body, &context.budgets.requests)).await;
        read.unwrap_or_else(|_| Err(ApiError::unsent(late("body", within))))
    }
}

/// A type that a caller names, and its weight from 0 to 1000: 0 is not wanted. What is no weight
/// is none.
fn accepted_type(accepted: &str) -> (&str, u16) {
    let mut parts = accepted.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    (kind, weight.and_then(thousandths).unwrap_or(1000))
}

/// A number from 0 to 1 with at most three digits behind the point.
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, rest) = weight.split_once('.').unwrap_or((weight, ""));
    let rest = rest.get(..rest.len().min(3))?;
    let digits = format!("{whole}{rest:0<3}");
    digits.parse().ok().filter(|weight| *weight <= 1000)
}

async fn whole_body(body: Body, budget: &Arc<MemoryBudget>) -> Result<Bytes, ApiError> {
    let limit = COMMAND_BYTES_MAX as usize;
    let too_large = || {
        let why = format!("the body has more than {limit} bytes");
        let error = ApiError::new(ErrorCode::TooLarge, why);
        Err(error.with("limit", Fact::Number(u64::from(COMMAND_BYTES_MAX))))
    };
    if body.size_hint().lower() > u64::from(COMMAND_BYTES_MAX) {
        return too_large();
    }
    let mut body = pin!(body);
    let mut read = BytesMut::new();
    let mut held = budget.empty();
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let frame = frame.map_err(|error| broken_body(&error))?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len().saturating_add(data.len()) > limit {
            return too_large();
        }
        read.extend_from_slice(&data);
        // As a rule a body is whole at once.
        if !body.is_end_stream() {
            held.grow_to(read.len())?;
        }
    }
    Ok(read.freeze())
}

/// Why the rest of a body cannot be read. Chunks that are none are the client's own doing; anything
/// else can happen to everybody on the way.
fn broken_body(error: &axum::Error) -> ApiError {
    let causes = successors(error.source(), |&cause| cause.source());
    let mut kinds = causes.filter_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
    if kinds.any(|kind| matches!(kind, ErrorKind::InvalidData | ErrorKind::InvalidInput)) {
        return ApiError::invalid("body", "is not in chunks as Transfer-Encoding has them");
    }
    ApiError::unsent("the body breaks off")
}

/// That something did not come in time.
pub(crate) fn late(what: &str, within: Duration) -> String {
    format!("the {what} did not come in time: {} ms are allowed for it", within.as_millis())
}

/// The parameters of a request.
pub(crate) struct Query {
    method: &'static Method,
    pairs: Vec<(String, String)>,
}

impl Query {
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, ApiError> {
        let missing = || Invalid { field: name.to_owned(), problem: Problem::Missing };
        Ok(self.text(name).ok_or_else(missing)?)
    }

    /// A number in the range that the method has for it.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        let range = range_of(self.method.query(name));
        self.text(name).map(|text| whole(name, text, range)).transpose()
    }

    /// The same, or what the method has for a request that does not say.
    pub(crate) fn number_or_default(&self, name: &str) -> Result<u64, ApiError> {
        let default = self.method.query(name).and_then(Parameter::default).unwrap_or_default();
        Ok(self.number(name)?.unwrap_or(default))
    }
}

fn range_of(parameter: Option<&Parameter>) -> RangeInclusive<u64> {
    let range = parameter.and_then(Parameter::range);
    range.expect("handlers ask for numbers that their method has")
}

pub(crate) fn workspace(text: &str) -> Result<WorkspaceRef, ApiError> {
    Ok(header::workspace(text)?)
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
