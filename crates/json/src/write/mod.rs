//! The bodies of answers, in the order of their members that the HTTP contract shows.
//!
//! Stored values are canonical JSON already and are copied as they are.
//!
//! **Deliberately absent:** errors and refusals, which belong to whoever answers requests.

mod definitions;
mod event;
mod object;
mod reads;
mod receipt;

pub use definitions::{app, definitions};
pub use event::{event, events};
pub use reads::{
    Consistency, Inclusion, client, consistency, entity, head, inclusion, record, sequence,
};
pub use receipt::{receipt, receipt_with_proof};
