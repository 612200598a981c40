//! Keeps web pages of others from using this server through the browser of somebody who can reach
//! it.
//!
//! ```text
//!  request ─► Host: given once? ─► Origin, Sec-Fetch-Site: its own? ─► Host: one of ours? ─► router
//!                └ 400                └ 403: a page of another site      └ 403: a name that was
//!                                                                               bound to this machine
//! ```
//!
//! A browser sends what any page asks for to any address, also to one that only this machine can
//! reach, and asks nobody before a simple request. So a page could write. And a page whose name is
//! bound to 127.0.0.1 for a moment is of the same site as this server, and could read as well; but
//! the name that it asks for gives it away.
//!
//! **Invariant:** what no browser has sent is not held up: programs send no `Origin`, and ask for
//! an address or for `localhost`.
//!
//! **Deliberately absent:** CORS. A page that is to use this server is served by it, or by a proxy
//! in front of it.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri, Version, header};
use axum::response::Response;
use seriatim_api::code::ErrorCode;

use crate::context::Context;
use crate::error::{ApiError, response};
use crate::grpc;

const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// The name that stands for all in the list of hosts.
const ANY_HOST: &str = "*";

/// The answer to a request that may come from a page of another site, or does not say whom it asks.
pub(crate) fn refusal(context: &Context, request: &Request) -> Option<Response> {
    let error = check(context, request).err()?;
    if grpc::is_grpc(request.headers()) {
        return Some(grpc::refused(request.uri().path(), error));
    }
    Some(response(error))
}

fn check(context: &Context, request: &Request) -> Result<(), ApiError> {
    let asked = authority(request)?;
    check_site(request.headers(), asked.as_ref())?;
    match asked {
        Some(asked) if context.is_local => check_host(asked.host(), &context.settings.hosts),
        // Other machines cannot bind a name to an address that they can reach anyway.
        Some(_) | None => Ok(()),
    }
}

/// The host and the port that are asked. Only old programs name none.
fn authority(request: &Request) -> Result<Option<Authority>, ApiError> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(ApiError::invalid("Host", "is given more than once"));
    }
    if host.is_none() && request.version() == Version::HTTP_11 {
        return Err(ApiError::invalid("Host", "is required"));
    }
    if let Some(authority) = request.uri().authority() {
        return Ok(Some(authority.clone()));
    }
    let authority = host.map(|host| Authority::try_from(host.as_bytes())).transpose();
    authority.map_err(|_| ApiError::invalid("Host", "must be a name or an address, and a port"))
}

fn check_site(headers: &HeaderMap, asked: Option<&Authority>) -> Result<(), ApiError> {
    let is_cross = headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site");
    let mut origins = headers.get_all(header::ORIGIN).iter();
    if !is_cross && origins.all(|origin| is_own(origin, asked)) {
        return Ok(());
    }
    Err(denied(
        "a web page of another site may not use this server: ask from a program, or serve the page \
         from the host and the port that it asks; a proxy in between passes Host on as it came",
    ))
}

/// Whether a page comes from where its request goes.
fn is_own(origin: &HeaderValue, asked: Option<&Authority>) -> bool {
    let Ok(origin) = Uri::try_from(origin.as_bytes()) else { return false };
    let port_default = match origin.scheme_str() {
        Some("http") => 80,
        Some("https") => 443,
        // A file, an extension, or a page that does not say.
        Some(_) | None => return false,
    };
    let port = |of: &Authority| of.port_u16().unwrap_or(port_default);
    let both = origin.authority().zip(asked);
    both.is_some_and(|(page, asked)| {
        page.host().eq_ignore_ascii_case(asked.host()) && port(page) == port(asked)
    })
}

fn check_host(host: &str, known: &[String]) -> Result<(), ApiError> {
    let is_known = |known: &String| known == ANY_HOST || known.eq_ignore_ascii_case(host);
    if is_of_this_machine(host) || known.iter().any(is_known) {
        return Ok(());
    }
    let host: String = host.chars().take(100).collect();
    Err(denied(format!(
        "{host:?} is no name of this server, which listens on this machine alone: ask for its \
         address or for localhost, or add the name to the setting server.hosts"
    )))
}

/// Whether a host is an address, or a name that no other machine can have.
fn is_of_this_machine(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    address.parse::<IpAddr>().is_ok() || host == "localhost" || host.ends_with(".localhost")
}

fn denied(why: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::PermissionDenied, why)
}
