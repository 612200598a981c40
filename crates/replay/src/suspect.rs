//! Telling a changed order from a removed command.
//!
//! Code created `created` where history has `expected`. Whether it creates that later, before it
//! rests, says which of the two it is. Until then every command that it creates is evidence.

use seriatim_types::Name;

use crate::matching::{Comparison, compare};
use crate::{Class, Command, CommandId, Violation};

#[derive(Debug)]
pub(crate) struct Suspect {
    pub(crate) expected: CommandId,
    pub(crate) command: Command,
    pub(crate) created: CommandId,
}

impl Suspect {
    /// Code has created another command after the violation.
    pub(crate) fn note(&self, id: CommandId, command: &Command, violation: &mut Violation) {
        let is_same = matches!(compare(&self.command, command), Comparison::Same);
        self.conclude(id, is_same, violation);
    }

    /// Code has created a step after the violation.
    pub(crate) fn note_step(&self, id: CommandId, step: &Name, violation: &mut Violation) {
        let is_same =
            matches!(&self.command, Command::RecordOperation { name, .. } if name == step);
        self.conclude(id, is_same, violation);
    }

    fn conclude(&self, id: CommandId, is_same: bool, violation: &mut Violation) {
        if is_same && id == self.expected && violation.class == Class::Missing {
            violation.class = Class::Order;
            violation.command = self.created;
        }
    }
}
