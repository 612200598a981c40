//! `GET /errors/{code}`: where `help` of an error leads. A server has the pages of its own version, so
//! they are there without a network, and say what this version does.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use seriatim_api::code::ErrorCode;

use crate::asked::Asked;
use crate::error::{ApiError, ErrorResponse};

const MARKDOWN: HeaderValue = HeaderValue::from_static("text/markdown; charset=utf-8");

/// The page about a code.
pub(crate) async fn get(asked: Asked) -> Result<Response, ErrorResponse> {
    let name = asked.name("code")?;
    let code: Result<ErrorCode, _> = name.as_str().parse();
    let code = code.map_err(|unknown| ApiError::not_found(unknown.to_string()))?;
    Ok(([(header::CONTENT_TYPE, MARKDOWN)], code.page()).into_response())
}
