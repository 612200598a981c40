//! Commands beside recorded outputs, in one total order, and what a difference comes to.
//!
//! ```text
//!  recorded   Task(0)  Timer(0)  Task(1)  │
//!  created    Task(0)  Timer(0)     ▲     │ new work
//!                                   └ the next command must be this one, field by field
//! ```
//!
//! **Invariant:** the first difference is kept and no later one. A mismatch is never tried with
//! another output.

use seriatim_types::Name;

use crate::book::{RecordedOutput, Status};
use crate::command_id::CommandType;
use crate::matching::{Comparison, compare, describe};
use crate::suspect::Suspect;
use crate::violation::Difference;
use crate::{Book, Class, Command, CommandId, Created, Offset, Source, Violation};

impl Book {
    /// Compares a command with the next recorded output, or keeps it as new work.
    pub(crate) fn align(&mut self, id: CommandId, command: Command, source_location: Source) {
        self.skip_retired();
        let Some(output) = self.outputs.get(self.matched) else {
            let seen = self.seen;
            self.unrecorded.push(Created { id, seen, command, source_location });
            return;
        };
        self.work.comparisons = self.work.comparisons.saturating_add(1);
        let (class, difference) = match compare(&output.command, &command) {
            Comparison::Same if output.id == id => {
                self.advance_match();
                return;
            }
            Comparison::Field(difference) => (Class::Field, difference),
            Comparison::Type(difference) => (Class::Type, difference),
            Comparison::Same | Comparison::Other => {
                self.violate_order(id, &command, source_location);
                return;
            }
        };
        let offset = Some(output.offset);
        self.violate(class, id, difference, offset, source_location, None);
    }

    pub(crate) fn violate(
        &mut self,
        class: Class,
        command: CommandId,
        difference: Difference,
        offset: Option<Offset>,
        source_location: Source,
        suspect: Option<Suspect>,
    ) {
        if matches!(self.status, Status::Violated { .. }) {
            return;
        }
        let Difference { field, history, code } = difference;
        let orphans = Vec::new();
        let violation = Box::new(Violation {
            class,
            command,
            field,
            history,
            code,
            offset,
            source_location,
            orphans,
        });
        self.status = Status::Violated { violation, suspect };
    }

    pub(crate) fn violate_unreplayable(&mut self, code: &str, source: Source) {
        let difference = Difference {
            field: "replay",
            history: "nothing that could be repeated".to_owned(),
            code: code.to_owned(),
        };
        let command = self.last.0;
        self.violate(Class::Unreplayable, command, difference, None, source, None);
    }

    /// Another type of command than history has here. Whether it is a change of order or an
    /// insertion depends on what else history has, and on what code creates before it rests.
    fn violate_order(&mut self, id: CommandId, command: &Command, source: Source) {
        let Some(output) = self.outputs.get(self.matched) else { return };
        let is_it = |it: &RecordedOutput| {
            it.id == id && matches!(compare(&it.command, command), Comparison::Same)
        };
        let later = self.outputs.range(self.matched..).any(is_it);
        let class = if later { Class::Missing } else { Class::Inserted };
        let is_created =
            matches!(output.id, CommandId::Operation(index) if self.steps.get(index).is_some());
        let class = if later && is_created { Class::Order } else { class };
        let history = format!("{} {}", output.id, describe(&output.command));
        let code = format!("{id} {}", describe(command));
        let difference = Difference { field: "command", history, code };
        let offset = Some(output.offset);
        let command = if class == Class::Missing { output.id } else { id };
        let suspect = Suspect { expected: output.id, command: output.command.clone(), created: id };
        self.violate(class, command, difference, offset, source, Some(suspect));
    }

    /// An output was not created by code although everything that it depends on was delivered.
    pub(crate) fn violate_missing(&mut self) {
        let Some(output) = self.outputs.front() else { return };
        let history = format!("{} {}", output.id, describe(&output.command));
        let (offset, expected) = (output.offset, output.id);
        // A step is not matched when it is created, so an inserted one shows when code rests on it.
        let is_recorded = |id: CommandId, step: &Name| {
            self.outputs.iter().any(|it| {
                let name =
                    matches!(&it.command, Command::RecordOperation { name, .. } if name == step);
                it.id == id && name
            })
        };
        let inserted = self.steps.created().rev().find(|(id, step)| {
            step.matched_before == self.matched_ever && !is_recorded(*id, &step.name)
        });
        let (class, command, code, source) = match inserted {
            Some((id, step)) => {
                let code = format!("{id} {:?}, which history does not have", step.name.as_str());
                (Class::Inserted, id, code, step.source.clone())
            }
            None => {
                let code = format!("nothing; the last that it created is {}", self.last.0);
                (Class::Missing, expected, code, self.last.1.clone())
            }
        };
        let difference = Difference { field: "command", history, code };
        self.violate(class, command, difference, Some(offset), source, None);
    }

    /// A marker that code has retired counts as created.
    pub(crate) fn skip_retired(&mut self) {
        while let Some(output) = self.outputs.get(self.matched)
            && let Command::MarkVersion { name, .. } = &output.command
            && self.retired.contains(name)
        {
            self.advance_match();
            self.counts.take(CommandType::Version);
        }
    }

    fn advance_match(&mut self) {
        self.matched = self.matched.saturating_add(1);
        self.matched_ever = self.matched_ever.saturating_add(1);
    }
}
