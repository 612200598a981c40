//! Every code that a request can be answered with when it is not carried out.
//!
//! One row per code: all that is fixed about it stands there, and everything else that knows the
//! codes is derived from it. Adding a code is adding a row, and its page in `docs/errors`.
//!
//! The gRPC codes say what a client that knows nothing of Seriatim may do: `Unavailable` can be
//! sent again as it is, `Aborted` after reading again, `FailedPrecondition` once somebody has
//! changed something.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What came of something that was to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Never written. It will be refused again unless something changes.
    Refused,
    /// Not written by this attempt. It can be sent again.
    NotWritten,
    /// Written or not. Sent again with the same key it is resolved.
    Unknown,
}

impl Outcome {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::NotWritten => "not_written",
            Self::Unknown => "unknown",
        }
    }
}

/// What of an answer depends on the case and not on the code alone.
const DEPENDS: Option<bool> = None;
const NEVER: Option<bool> = Some(false);
const ALWAYS: Option<bool> = Some(true);

const REFUSED: Option<Outcome> = Some(Outcome::Refused);
const NOT_WRITTEN: Option<Outcome> = Some(Outcome::NotWritten);
const UNKNOWN: Option<Outcome> = Some(Outcome::Unknown);
/// It depends on the case, or nothing was to be written.
const OPEN: Option<Outcome> = None;

/// The rows: the code, its wire name, the HTTP status, the gRPC code, whether the same request can succeed
/// later by itself, what came of something that was to be written, and a sentence.
macro_rules! codes {
    ($($code:ident $name:literal $status:literal $grpc:ident $retryable:ident $outcome:ident $about:literal;)*) => {
        /// A stable code that clients go by. The list only grows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $(#[doc = $about] $code,)*
        }

        impl ErrorCode {
            /// All codes, by their status.
            pub const ALL: &[Self] = &[$(Self::$code),*];

            /// The name that it has in answers.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => $name),* }
            }

            /// The HTTP status.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$code => $status),* }
            }

            /// The gRPC code.
            #[must_use]
            #[cfg(feature = "grpc")]
            pub const fn grpc(self) -> tonic::Code {
                match self { $(Self::$code => tonic::Code::$grpc),* }
            }

            /// Whether the same request can succeed later without anybody changing anything; `None` when
            /// that depends on the case.
            #[must_use]
            pub const fn retryable(self) -> Option<bool> {
                match self { $(Self::$code => $retryable),* }
            }

            /// What came of something that was to be written; `None` when that depends on the case, or when
            /// only reads are answered so.
            #[must_use]
            pub const fn outcome(self) -> Option<Outcome> {
                match self { $(Self::$code => $outcome),* }
            }

            /// One sentence about it.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self { $(Self::$code => $about),* }
            }

            /// The address of its page. Every server serves the pages of its own version.
            #[must_use]
            pub const fn help(self) -> &'static str {
                match self { $(Self::$code => concat!("/errors/", $name)),* }
            }

            /// Its page, in Markdown.
            #[must_use]
            pub const fn page(self) -> &'static str {
                match self {
                    $(Self::$code => include_str!(concat!("../../../docs/errors/", $name, ".md"))),*
                }
            }
        }
    };
}

codes! {
    InvalidArgument "INVALID_ARGUMENT" 400 InvalidArgument NEVER REFUSED
        "Something in the request cannot be taken as it is.";
    UnknownSequence "UNKNOWN_SEQUENCE" 400 InvalidArgument NEVER REFUSED
        "The workspace has no such sequence.";
    UnknownKind "UNKNOWN_KIND" 400 InvalidArgument NEVER REFUSED
        "The app has not defined this kind.";
    Unauthenticated "UNAUTHENTICATED" 401 Unauthenticated NEVER REFUSED
        "The caller has not shown who it is. Reserved: no request is answered so yet.";
    PermissionDenied "PERMISSION_DENIED" 403 PermissionDenied NEVER REFUSED
        "The caller may not do this: the app is the server's own, or a web page of another site asks.";
    NotFound "NOT_FOUND" 404 NotFound NEVER REFUSED
        "What was asked for is not there.";
    AppNotFound "APP_NOT_FOUND" 404 NotFound NEVER REFUSED
        "There is no app of this name.";
    RecordNotFound "RECORD_NOT_FOUND" 404 NotFound NEVER REFUSED
        "There is no record with this id.";
    MethodNotAllowed "METHOD_NOT_ALLOWED" 405 Unimplemented NEVER REFUSED
        "The path is there, and not for this method.";
    AppExists "APP_EXISTS" 409 AlreadyExists NEVER REFUSED
        "There is an app of this name with other settings.";
    DefinitionConflict "DEFINITION_CONFLICT" 409 FailedPrecondition NEVER REFUSED
        "The name is defined otherwise, in a way that cannot be changed.";
    KindConflict "KIND_CONFLICT" 409 FailedPrecondition NEVER REFUSED
        "The workspace has another kind.";
    RecordExists "RECORD_EXISTS" 409 AlreadyExists NEVER REFUSED
        "There is a record with the imported id.";
    SingletonExists "SINGLETON_EXISTS" 409 AlreadyExists NEVER REFUSED
        "The workspace has its one record of this kind.";
    SequenceExhausted "SEQUENCE_EXHAUSTED" 409 FailedPrecondition NEVER REFUSED
        "The sequence has no number left for the command.";
    Lagged "LAGGED" 410 Aborted ALWAYS OPEN
        "The subscription fell too far behind: `resume_from` says where a new one misses nothing.";
    KeyExists "KEY_EXISTS" 412 AlreadyExists NEVER REFUSED
        "The entity was to be absent.";
    KeyNotFound "KEY_NOT_FOUND" 412 NotFound NEVER REFUSED
        "The entity was to exist.";
    VersionMismatch "VERSION_MISMATCH" 412 Aborted NEVER REFUSED
        "The entity or the record has another version.";
    ValueMismatch "VALUE_MISMATCH" 412 Aborted NEVER REFUSED
        "The entity has another value.";
    OffsetMismatch "OFFSET_MISMATCH" 412 Aborted NEVER REFUSED
        "The workspace has another last offset.";
    TooLarge "TOO_LARGE" 413 ResourceExhausted NEVER REFUSED
        "The request has more than a limit allows.";
    IdempotencyKeyReused "IDEMPOTENCY_KEY_REUSED" 422 FailedPrecondition NEVER REFUSED
        "The idempotency key belongs to another command.";
    RateLimited "RATE_LIMITED" 429 ResourceExhausted ALWAYS NOT_WRITTEN
        "Too much is open, or held for clients that are slow.";
    Busy "BUSY" 503 Unavailable ALWAYS NOT_WRITTEN
        "The partition cannot take the request now: `reason` says why.";
    NotLeader "NOT_LEADER" 503 Unavailable ALWAYS NOT_WRITTEN
        "Another node takes commands for this partition. Reserved: no request is answered so yet.";
    PartitionStopped "PARTITION_STOPPED" 503 Unavailable NEVER NOT_WRITTEN
        "The partition has stopped and waits for an operator.";
    KeyWindowFull "KEY_WINDOW_FULL" 503 Unavailable DEPENDS NOT_WRITTEN
        "The partition keeps as many idempotency keys as the app allows.";
    OutcomeUnknown "OUTCOME_UNKNOWN" 503 Unavailable ALWAYS UNKNOWN
        "Nobody can say whether it was written: send it again with the same key.";
    NotYet "NOT_YET" 504 DeadlineExceeded ALWAYS OPEN
        "The log did not reach `min_offset` in time.";
    DeadlineExceeded "DEADLINE_EXCEEDED" 504 DeadlineExceeded DEPENDS OPEN
        "It was not carried out, or not answered, in time.";
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A text that is no code of this release. A newer server may have it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no code that this release knows")]
pub struct UnknownCode(pub String);

impl FromStr for ErrorCode {
    type Err = UnknownCode;

    fn from_str(name: &str) -> Result<Self, UnknownCode> {
        let mut all = Self::ALL.iter().copied();
        all.find(|code| code.as_str() == name).ok_or_else(|| UnknownCode(name.to_owned()))
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        name.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for ErrorCode {
    fn schema_name() -> Cow<'static, str> {
        "ErrorCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Self::ALL.iter().map(|code| code.as_str()).collect();
        json_schema!({
            "type": "string",
            "description": "A stable code that clients go by. The list only grows.",
            "enum": names,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs go by the names, so none may change or go. A new one is added to the file.
    #[test]
    fn names_of_codes_are_unique_and_never_change() {
        let names: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
        let golden: Vec<&str> = include_str!("../golden/codes.txt").lines().collect();
        unique.sort_unstable();
        assert_eq!(unique, golden);
    }

    #[test]
    fn a_name_is_read_as_its_code_and_others_are_not() {
        for code in ErrorCode::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
            let json = serde_json::to_string(code).unwrap();
            assert_eq!(json, format!("{:?}", code.as_str()));
            assert_eq!(serde_json::from_str::<ErrorCode>(&json).unwrap(), *code);
        }
        let unknown = "CALCULATED".parse::<ErrorCode>().unwrap_err();
        assert_eq!(unknown.to_string(), "\"CALCULATED\" is no code that this release knows");
        assert!(serde_json::from_str::<ErrorCode>("\"busy\"").is_err());
    }

    #[test]
    fn statuses_ascend_and_what_can_be_sent_again_was_not_refused() {
        assert!(ErrorCode::ALL.is_sorted_by_key(|code| code.status()));
        for code in ErrorCode::ALL {
            if code.retryable() == ALWAYS {
                assert_ne!(code.outcome(), REFUSED, "{code}");
            }
            assert_eq!(code.help(), format!("/errors/{code}"));
        }
    }

    #[test]
    fn every_code_has_its_page_and_its_row_in_the_handbook_and_no_page_is_without_a_code() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
        let read = |file: &str| std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
        let list = read("README.md");
        for code in ErrorCode::ALL {
            let (status, grpc) = (code.status(), code.grpc());
            let row = format!("| [{code}]({code}.md) | {status} | {grpc:?} | ");
            let row = list.lines().find_map(|line| line.strip_prefix(&row));
            let row = row.unwrap_or_else(|| panic!("the list of codes has no row {code}"));
            let fixed = code.retryable().map(|is| if is { "yes" } else { "no" });
            assert!(fixed.is_none_or(|word| row.starts_with(word)), "{code}: {row}");
            let page = code.page();
            let is_its_own = page.starts_with(&format!("# {code}\n"));
            assert!(is_its_own && page.contains(&format!("\n| {status} | ")), "{page}");
        }
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let pages = names.filter(|name| name != "README.md");
        assert_eq!(pages.count(), ErrorCode::ALL.len(), "no page is without a code");
    }
}
