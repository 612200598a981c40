//! Changing code while runs are open: version markers.
//!
//! ```text
//!  history has the marker here ──────────► its version
//!  history has another command here ─────► 0: the run is from before the change
//!  nothing is recorded beyond this ──────► the newest, and a marker records that
//! ```
//!
//! **Invariant:** the answer for a name is given once and is the same on every replay. A marker is
//! matched in the order of all commands, so it cannot move.

use seriatim_types::Name;

use crate::book::Book;
use crate::command_id::CommandType;
use crate::matching::describe;
use crate::violation::Difference;
use crate::{Class, Command, Source};

impl Book {
    /// Which version of a change the run follows, from 0 for code without it to `newest`.
    pub fn version(&mut self, name: Name, newest: u32, source: Source) -> u32 {
        if let Some(version) = self.versions.get(&name) {
            return *version;
        }
        if !self.is_open() {
            return newest;
        }
        self.skip_retired();
        let version = match self.outputs.get(self.matched).map(|it| &it.command) {
            Some(Command::MarkVersion { name: recorded, version }) if *recorded == name => {
                let version = *version;
                if version > newest {
                    self.violate_version(version, newest, source);
                    return newest;
                }
                self.mark(&name, version, source);
                version
            }
            // A marker that stands elsewhere has moved, and the order of commands shows it.
            Some(_) if !self.recorded_markers.contains(&name) => 0,
            Some(_) | None => {
                self.mark(&name, newest, source);
                newest
            }
        };
        self.versions.insert(name, version);
        version
    }

    /// Code has no path for older versions any more, and asks for none. Markers of this name in
    /// history count as created.
    pub fn retire(&mut self, name: Name) {
        self.retired.insert(name);
    }

    fn mark(&mut self, name: &Name, version: u32, source: Source) {
        self.create(Command::MarkVersion { name: name.clone(), version }, source);
    }

    fn violate_version(&mut self, recorded: u32, newest: u32, source: Source) {
        let Some(output) = self.outputs.get(self.matched) else { return };
        let (id, offset) = (output.id, output.offset);
        let history = format!("{} version {recorded}", describe(&output.command));
        let code = format!("nothing newer than version {newest}");
        let difference = Difference { field: "version", history, code };
        self.counts.take(CommandType::Version);
        self.violate(Class::Field, id, difference, Some(offset), source, None);
    }
}
