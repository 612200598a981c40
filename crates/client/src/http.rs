//! HTTP/JSON: requests, and what they are answered.
//!
//! Requests share the connection of the streams. The server takes HTTP/1.1 and HTTP/2 on one port,
//! and the streams need HTTP/2: one connection is opened, kept alive and lost for all.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use http_body::Body as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use seriatim_api::method::{MethodId, Verb, percent_encoded};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::header::{CONTENT_TYPE, RETRY_AFTER};
use tonic::codegen::http::{self, HeaderMap, StatusCode};
use tonic::transport::Channel;

use crate::client::ANSWER_BYTES_MAX;
use crate::error::{Error, Outcome};
use crate::failure::Failure;

/// A request that can be sent again.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    verb: Verb,
    path: String,
    has_query: bool,
    /// JSON, unless it is empty.
    body: String,
}

/// A body, and whether something was made.
pub(crate) struct Answered<T> {
    pub(crate) body: T,
    pub(crate) is_created: bool,
}

impl Request {
    /// A request for a method, with these parts in its path.
    pub(crate) fn of(method: MethodId, parts: &[(&str, &str)]) -> Result<Self, Error> {
        let row = method.method();
        // An empty part would make it the path of another method.
        if let Some((name, _)) = parts.iter().find(|(_, part)| part.is_empty()) {
            let part = row.parts.iter().find(|part| part.name == *name);
            return Err(Error::empty(part.map_or(*name, |part| part.field)));
        }
        let (path, body) = (row.path_with(parts), String::new());
        Ok(Self { verb: row.verb, path, has_query: false, body })
    }

    /// The same with a parameter, if it has a value.
    pub(crate) fn with<T: ToString>(mut self, name: &str, value: Option<T>) -> Self {
        if let Some(value) = value {
            self.path.push(if self.has_query { '&' } else { '?' });
            self.has_query = true;
            self.path.push_str(&format!("{name}={}", percent_encoded(&value.to_string())));
        }
        self
    }

    /// The same with a message as its body.
    pub(crate) fn body(self, body: &impl Serialize) -> Self {
        let body = serde_json::to_string(body).expect("the messages of the contract are JSON");
        Self { body, ..self }
    }

    /// Sends it once, and reads the answer.
    pub(crate) async fn send<T: DeserializeOwned>(
        self,
        mut channel: Channel,
    ) -> Result<Answered<T>, Failure> {
        let request = http::Request::builder().method(self.verb.as_str()).uri(self.path);
        let request = request.header(CONTENT_TYPE, "application/json");
        // Names are escaped, so only their length can be wrong.
        let request = request.body(Body::new(self.body)).map_err(|error| {
            let error = Error::invalid("path", error);
            Failure { error, outcome: Outcome::Refused }
        })?;
        let broken = |error| Failure::from(Status::from_error(Box::new(error)));
        poll_fn(|task| channel.poll_ready(task)).await.map_err(broken)?;
        let (head, body) = channel.call(request).await.map_err(broken)?.into_parts();
        let body = read(body).await?;
        if !head.status.is_success() {
            return Err(failure(head.status, &head.headers, &body));
        }
        let is_created = head.status == StatusCode::CREATED;
        match serde_json::from_slice(&body) {
            Ok(body) => Ok(Answered { body, is_created }),
            Err(error) => {
                let error = Error::bad_answer(format!("an answer that cannot be read: {error}"));
                Err(Failure { error, outcome: Outcome::Unknown })
            }
        }
    }
}

/// The whole body of an answer.
async fn read(body: Body) -> Result<Vec<u8>, Failure> {
    let (mut body, mut read) = (pin!(body), Vec::new());
    while let Some(frame) = poll_fn(|task| body.as_mut().poll_frame(task)).await {
        let Ok(data) = frame?.into_data() else { continue };
        read.extend_from_slice(&data);
        if read.len() > ANSWER_BYTES_MAX {
            let error = Error::bad_answer(format!("more than {ANSWER_BYTES_MAX} bytes"));
            return Err(Failure { error, outcome: Outcome::Unknown });
        }
    }
    Ok(read)
}

/// What an answer says that is none: Seriatim's own error, or that of something in between.
fn failure(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
    let after = headers.get(RETRY_AFTER).and_then(|after| after.to_str().ok()?.parse().ok());
    let after = after.map(Duration::from_secs);
    if let Some(failure) = Failure::of_body(body, after) {
        return failure;
    }
    let message = format!("something between answers {status}");
    let error = match status {
        StatusCode::REQUEST_TIMEOUT
        | StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Error::new(Error::UNAVAILABLE, message).retryable(after),
        StatusCode::UNAUTHORIZED => Error::new("UNAUTHENTICATED", message),
        StatusCode::FORBIDDEN => Error::new("PERMISSION_DENIED", message),
        StatusCode::PAYLOAD_TOO_LARGE => Error::new("TOO_LARGE", message),
        _ => Error::bad_answer(message),
    };
    Failure { error, outcome: Outcome::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_wherever_they_stand() {
        let parts = [("app", "a b"), ("ws", "ü/?"), ("key", "stock/A-7%")];
        let request = Request::of(MethodId::GetEntity, &parts).unwrap();
        let request = request.with("x", None::<u64>).with("from", Some(1));
        let request = request.with("kind", Some("a&b=c+d"));
        let expected = "/v1/apps/a%20b/workspaces/%C3%BC%2F%3F/entities/stock%2FA-7%25\
                        ?from=1&kind=a%26b%3Dc%2Bd";
        assert_eq!((request.verb, request.path.as_str()), (Verb::Get, expected));
        let parts = [("app", "a"), ("ws", ""), ("key", "k")];
        let error = Request::of(MethodId::GetEntity, &parts).unwrap_err();
        assert_eq!(
            (error.code(), &error.facts()["field"]),
            ("INVALID_ARGUMENT", &"workspace".into())
        );
    }

    #[test]
    fn an_answer_from_elsewhere_says_nothing_of_what_was_written() {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, "7".parse().unwrap());
        for (status, code, is_retryable) in [
            (StatusCode::BAD_GATEWAY, "UNAVAILABLE", true),
            (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", true),
            (StatusCode::NOT_FOUND, "BAD_ANSWER", false),
            (StatusCode::FORBIDDEN, "PERMISSION_DENIED", false),
        ] {
            let Failure { error, outcome } = failure(status, &headers, b"<html>");
            assert_eq!((error.code(), error.is_retryable()), (code, is_retryable));
            assert_eq!(outcome, Outcome::Unknown);
        }
        let body = br#"{"code":"BUSY","message":"m","retryable":true,"outcome":"not_written"}"#;
        let own = failure(StatusCode::SERVICE_UNAVAILABLE, &headers, body);
        assert_eq!(own.outcome, Outcome::NotWritten);
        assert_eq!(own.error.retry_after(), Some(Duration::from_secs(7)));
    }
}
