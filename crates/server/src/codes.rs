//! Every code that a client can be told, and what it is in each protocol.
//!
//! The gRPC codes say what a client that knows nothing of Seriatim may do: `Unavailable` can be
//! sent again as it is, `Aborted` after reading again, `FailedPrecondition` once somebody has
//! changed something.

use axum::http::StatusCode;
use tonic::Code;

/// One code of the contract.
pub(crate) struct Meaning {
    pub(crate) code: &'static str,
    pub(crate) status: StatusCode,
    pub(crate) grpc: Code,
}

/// All of them, by their status. Codes are stable: this list only grows.
pub(crate) const CODES: &[Meaning] = &[
    of("INVALID_ARGUMENT", StatusCode::BAD_REQUEST, Code::InvalidArgument),
    of("UNKNOWN_SEQUENCE", StatusCode::BAD_REQUEST, Code::InvalidArgument),
    of("UNKNOWN_KIND", StatusCode::BAD_REQUEST, Code::InvalidArgument),
    of("UNAUTHENTICATED", StatusCode::UNAUTHORIZED, Code::Unauthenticated),
    of("PERMISSION_DENIED", StatusCode::FORBIDDEN, Code::PermissionDenied),
    of("NOT_FOUND", StatusCode::NOT_FOUND, Code::NotFound),
    of("APP_NOT_FOUND", StatusCode::NOT_FOUND, Code::NotFound),
    of("RECORD_NOT_FOUND", StatusCode::NOT_FOUND, Code::NotFound),
    of("METHOD_NOT_ALLOWED", StatusCode::METHOD_NOT_ALLOWED, Code::Unimplemented),
    of("APP_EXISTS", StatusCode::CONFLICT, Code::AlreadyExists),
    of("DEFINITION_CONFLICT", StatusCode::CONFLICT, Code::FailedPrecondition),
    of("KIND_CONFLICT", StatusCode::CONFLICT, Code::FailedPrecondition),
    of("RECORD_EXISTS", StatusCode::CONFLICT, Code::AlreadyExists),
    of("SINGLETON_EXISTS", StatusCode::CONFLICT, Code::AlreadyExists),
    of("SEQUENCE_EXHAUSTED", StatusCode::CONFLICT, Code::FailedPrecondition),
    of("LAGGED", StatusCode::GONE, Code::Aborted),
    of("KEY_EXISTS", StatusCode::PRECONDITION_FAILED, Code::AlreadyExists),
    of("KEY_NOT_FOUND", StatusCode::PRECONDITION_FAILED, Code::NotFound),
    of("VERSION_MISMATCH", StatusCode::PRECONDITION_FAILED, Code::Aborted),
    of("VALUE_MISMATCH", StatusCode::PRECONDITION_FAILED, Code::Aborted),
    of("OFFSET_MISMATCH", StatusCode::PRECONDITION_FAILED, Code::Aborted),
    of("TOO_LARGE", StatusCode::PAYLOAD_TOO_LARGE, Code::ResourceExhausted),
    of("IDEMPOTENCY_KEY_REUSED", StatusCode::UNPROCESSABLE_ENTITY, Code::FailedPrecondition),
    of("RATE_LIMITED", StatusCode::TOO_MANY_REQUESTS, Code::ResourceExhausted),
    of("BUSY", StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable),
    of("NOT_LEADER", StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable),
    of("PARTITION_STOPPED", StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable),
    of("KEY_WINDOW_FULL", StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable),
    of("OUTCOME_UNKNOWN", StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable),
    of("NOT_YET", StatusCode::GATEWAY_TIMEOUT, Code::DeadlineExceeded),
    of("DEADLINE_EXCEEDED", StatusCode::GATEWAY_TIMEOUT, Code::DeadlineExceeded),
];

const fn of(code: &'static str, status: StatusCode, grpc: Code) -> Meaning {
    Meaning { code, status, grpc }
}

/// What a code means. One that is not in the table is a fault of Seriatim's own, and no request is
/// to bring the server down by it.
pub(crate) fn meaning(code: &str) -> &'static Meaning {
    const FAULT: Meaning =
        of("PARTITION_STOPPED", StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable);
    CODES.iter().find(|it| it.code == code).unwrap_or(&FAULT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_of_the_core_and_every_code_of_the_server_is_in_the_table() {
        let sources = [
            include_str!("../../core/src/refusal.rs"),
            include_str!("../../node/src/reply.rs"),
            include_str!("../../json/src/error.rs"),
            include_str!("asked.rs"),
            include_str!("browsers.rs"),
            include_str!("context.rs"),
            include_str!("error.rs"),
            include_str!("grpc/error.rs"),
            include_str!("grpc/guard.rs"),
            include_str!("reads/follow.rs"),
            include_str!("reads/wait.rs"),
            include_str!("refusals.rs"),
            include_str!("router.rs"),
        ];
        let words = sources.into_iter().flat_map(|source| source.split('"')).filter(|word| {
            word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        });
        let words: std::collections::BTreeSet<&str> = words.collect();
        assert!(words.len() > 20, "{words:?}");
        for word in words {
            assert!(CODES.iter().any(|it| it.code == word), "{word} is not in the table");
        }
    }

    #[test]
    fn every_code_has_its_page_and_its_row_in_the_handbook_and_no_page_is_without_a_code() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
        let read = |file: &str| std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
        let list = read("README.md");
        for Meaning { code, status, grpc } in CODES {
            let status = status.as_u16();
            let row = format!("| [{code}]({code}.md) | {status} | {grpc:?} | ");
            assert!(list.contains(&row), "the list of codes has no row {row}");
            let page = read(&format!("{code}.md"));
            let is_its_own = page.starts_with(&format!("# {code}\n"));
            assert!(is_its_own && page.contains(&format!("\n| {status} | ")), "{page}");
        }
        // Those without a status are of the command line, which looks for them.
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let pages = names.filter(|name| read(name.to_str().unwrap()).contains("| HTTP status |"));
        assert_eq!(pages.count(), CODES.len(), "no page is without a code");
    }
}
