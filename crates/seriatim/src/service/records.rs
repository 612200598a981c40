//! Which kinds of records can be listed.

use seriatim_api::code::ErrorCode;
use seriatim_node::{ReadFailed, Reader};
use seriatim_types::{Name, RecordClass};

use super::error::{ApiError, Fact};

/// Why records of a kind are not listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotListed {
    /// What is stored could not be read.
    Failed(ReadFailed),
    /// The kind is of another class.
    NotClassC,
    /// There is no such kind.
    NoKind(Name),
}

/// Only kinds of class c can be listed. An empty list of another would say that there are none.
///
/// # Errors
///
/// It is none of them.
pub fn check_listed(reader: &Reader<'_>, kind: &Name) -> Result<(), NotListed> {
    let definitions = reader.definitions().map_err(NotListed::Failed)?;
    let mut records = definitions.iter().flat_map(|definitions| &definitions.records);
    match records.find(|record| record.name == *kind) {
        Some(record) if record.class == RecordClass::C => Ok(()),
        Some(_) => Err(NotListed::NotClassC),
        None => Err(NotListed::NoKind(kind.clone())),
    }
}

/// Why a kind of another class is not listed.
pub(crate) const NOT_CLASS_C: &str = "only records of class c can be listed";

impl From<NotListed> for ApiError {
    fn from(error: NotListed) -> Self {
        match error {
            NotListed::Failed(failed) => failed.into(),
            NotListed::NotClassC => Self::invalid("kind", NOT_CLASS_C),
            NotListed::NoKind(kind) => {
                let shown = kind.as_str();
                Self::new(ErrorCode::UnknownKind, format!("there is no kind {shown:?}"))
                    .with("field", Fact::Text("kind".to_owned()))
                    .with("kind", Fact::Text(shown.to_owned()))
            }
        }
    }
}
