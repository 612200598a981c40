//! Telling a changed order from a removed command.
//!
//! Code created `created` where history has `expected`. Whether it creates `expected` later, before
//! it rests, says which of the two it is. Until then every command that it creates is evidence.

use crate::{Class, CommandId, Violation};

#[derive(Debug)]
pub(crate) struct Suspect {
    pub(crate) expected: CommandId,
    pub(crate) created: CommandId,
}

impl Suspect {
    /// Code has created another command after the violation.
    pub(crate) fn note(&self, id: CommandId, violation: &mut Violation) {
        if id == self.expected && violation.class == Class::Missing {
            violation.class = Class::Order;
            violation.command = self.created;
        }
    }
}
