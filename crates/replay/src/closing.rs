//! The end of a run, and what history has left then.
//!
//! **Invariant:** history that code never asked for is never dropped silently. It is a violation,
//! or it is listed in the completion, as the run's start chose.

use crate::book::{Book, Status};
use crate::matching::describe;
use crate::violation::Difference;
use crate::{Class, Closing, Command, CommandId, Failure, OnOrphans, Orphan, Payload, Source};

/// How code ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With a result.
    Completed(Payload),
    /// With a failure.
    Failed(Failure),
    /// Because it was cancelled.
    Cancelled,
    /// It goes on as another run with this input.
    Continued(Payload),
}

impl Book {
    /// Code has ended.
    pub fn ended(&mut self, end: End) {
        if !self.is_open() {
            return;
        }
        let source = self.last.1.clone();
        self.skip_retired();
        let orphaned = self.orphans();
        if self.on_orphans == OnOrphans::Violate && !orphaned.is_empty() {
            self.violate_orphaned(orphaned, source);
            return;
        }
        // What is left and allowed gives way to the recorded end, if there is one.
        self.outputs.drain(..self.matched);
        self.outputs.retain(|it| it.id == CommandId::Close);
        self.matched = 0;
        let closing = match end {
            End::Completed(result) => Closing::Complete { result, orphaned },
            End::Failed(failure) => Closing::Fail(failure),
            End::Cancelled => Closing::Cancel,
            End::Continued(input) => {
                Closing::ContinueAsNew { input: Some(input), unread: self.signals.unread() }
            }
        };
        self.align(CommandId::Close, Command::Close(closing), source);
        if self.is_open() {
            self.outputs.clear();
            self.matched = 0;
            self.status = Status::Ended;
        }
    }

    fn orphans(&self) -> Vec<Orphan> {
        let left = self.outputs.range(self.matched..).filter(|it| it.id != CommandId::Close);
        left.map(|it| Orphan { command: it.id, offset: it.offset }).collect()
    }

    fn violate_orphaned(&mut self, orphans: Vec<Orphan>, source: Source) {
        let Some(first) = self.outputs.get(self.matched) else { return };
        let (id, offset) = (first.id, first.offset);
        let history = format!("{id} {}", describe(&first.command));
        let code = "the end of the run".to_owned();
        let difference = Difference { field: "command", history, code };
        self.violate(Class::Orphaned, id, difference, Some(offset), source, None);
        if let Status::Violated { violation, .. } = &mut self.status {
            violation.orphans = orphans;
        }
    }
}
