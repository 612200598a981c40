//! The bodies of answers, in the order of their members that the HTTP contract shows.
//!
//! Stored values are canonical JSON already and are copied as they are.
//!
//! **Deliberately absent:** which codes and facts errors have. That belongs to whoever answers
//! requests.

mod definitions;
mod error;
mod event;
mod object;
mod reads;
mod receipt;

pub use crate::time::write as moment;
pub use definitions::{app, definitions, retention};
pub use error::{Fact, error, facts};
pub use event::{definition, event, events, fields};
pub use reads::{
    Consistency, Inclusion, client, consistency, entity, head, inclusion, record, sequence,
};
pub use receipt::receipt;
