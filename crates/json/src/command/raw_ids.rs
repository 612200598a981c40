//! The raw ids of a command. They may be referred to before they are created, so all of them are
//! looked up in the document before anything else is read.

use std::collections::BTreeMap;

use super::RAW_LAST;
use crate::error::{Invalid, Problem};
use crate::node::Node;
use crate::read::Value;

/// Each raw id that the command creates, and whether its create has been read.
#[derive(Default)]
pub(super) struct RawIds(BTreeMap<u64, bool>);

impl RawIds {
    /// Of all events. Whatever is not as it should be is passed over here, and refused when it
    /// is read.
    pub(super) fn of(events: &Value<'_>) -> Self {
        let changes = events.items().iter().filter_map(|event| event.member("changes"));
        let creates = changes.flat_map(Value::items).filter_map(|change| change.member("create"));
        let ids = creates.filter_map(|create| {
            let Value::Number(id) = create.member("id")? else { return None };
            id.whole()
        });
        Self(ids.filter(|id| is_raw(*id)).map(|id| (id, false)).collect())
    }

    pub(super) fn create(&mut self, id: u64, node: &Node<'_>) -> Result<(), Invalid> {
        match self.0.insert(id, true) {
            Some(true) => Err(node.invalid(Problem::RawIdTaken { id })),
            Some(false) | None => Ok(()),
        }
    }

    /// Checks an id that some create of the command must have, if it is a raw one.
    pub(super) fn check_created(&self, id: u64, node: &Node<'_>) -> Result<(), Invalid> {
        if is_raw(id) && !self.0.contains_key(&id) {
            return Err(node.invalid(Problem::RawIdUnknown { id }));
        }
        Ok(())
    }

    /// Checks an id that an earlier create of the command must have, if it is a raw one.
    pub(super) fn check_created_before(&self, id: u64, node: &Node<'_>) -> Result<(), Invalid> {
        if is_raw(id) && self.0.get(&id) != Some(&true) {
            return Err(node.invalid(Problem::RawIdNotYet { id }));
        }
        Ok(())
    }
}

fn is_raw(id: u64) -> bool {
    (1..=RAW_LAST).contains(&id)
}
