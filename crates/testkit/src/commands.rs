//! The rows that one command of a server comes to, as far as storage is concerned.
//!
//! ```text
//!  events      partition prefix, offset        new, ascending      the event
//!  records     partition prefix, record id     new, ascending      the record
//!  workspaces  partition prefix, workspace     overwritten often   its numbers
//!  keys        partition prefix, random key    new, anywhere       what a retry needs
//! ```
//!
//! Two ascending keys, one hot and one random: what makes storage engines fast and slow.

use seriatim_storage::faulty::Dice;
use seriatim_storage::{Batch, Schema, Table};

/// Rows per command.
pub const PAIRS_PER_COMMAND: u64 = 4;

const EVENT_BYTES: usize = 300;
const RECORD_BYTES: usize = 150;
const WORKSPACE_BYTES: usize = 60;
const KEY_ROW_BYTES: usize = 40;

/// Workspaces that the commands are spread over.
const WORKSPACES: u64 = 1_000;

/// The tables that [`CommandRows`] writes to.
///
/// # Panics
///
/// Never: the names are good.
#[must_use]
pub fn command_schema() -> Schema {
    Schema::new(["events", "records", "workspaces", "keys"]).expect("four good names")
}

/// Makes the rows of commands, for one writer.
#[derive(Debug, Clone)]
pub struct CommandRows {
    tables: [Table; 4],
    prefix: [u8; 10],
    seed: u64,
}

impl CommandRows {
    /// The rows of a writer. Different writers never share a key.
    ///
    /// # Panics
    ///
    /// When the schema is not [`command_schema`].
    #[must_use]
    pub fn new(schema: &Schema, writer: u16) -> Self {
        let table = |name| schema.table(name).expect("the schema of commands");
        let [high, low] = writer.to_be_bytes();
        Self {
            tables: ["events", "records", "workspaces", "keys"].map(table),
            prefix: [0, 0, 0, 1, high, low, 0, 0, 0, 1],
            seed: u64::from(writer),
        }
    }

    /// The four rows of command `number`: table, key, value.
    #[must_use]
    pub fn rows(&self, number: u64) -> [(Table, Vec<u8>, Vec<u8>); 4] {
        let mut dice = Dice::new(self.seed).fork(number);
        let workspace = dice.below(WORKSPACES);
        let random = [dice.next_u64().to_be_bytes(), dice.next_u64().to_be_bytes()].concat();
        let keys = [
            number.to_be_bytes().to_vec(),
            number.saturating_add(200_001).to_be_bytes().to_vec(),
            workspace.to_be_bytes().to_vec(),
            random,
        ];
        let sizes = [EVENT_BYTES, RECORD_BYTES, WORKSPACE_BYTES, KEY_ROW_BYTES];
        let [a, b, c, d] = self.tables;
        let [ka, kb, kc, kd] = keys.map(|key| [self.prefix.as_slice(), &key].concat());
        let [va, vb, vc, vd] = sizes.map(|bytes| {
            let mut value = vec![0; bytes];
            dice.fill(&mut value);
            value
        });
        [(a, ka, va), (b, kb, vb), (c, kc, vc), (d, kd, vd)]
    }

    /// A storage batch with the commands from `first` on.
    #[must_use]
    pub fn batch(&self, first: u64, commands: u64) -> Batch {
        let mut batch = Batch::new();
        for number in first..first.saturating_add(commands) {
            for (table, key, value) in self.rows(number) {
                batch.put(table, key, value);
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_command_has_the_same_rows_and_writers_share_none() {
        let schema = command_schema();
        let (one, two) = (CommandRows::new(&schema, 1), CommandRows::new(&schema, 2));
        assert_eq!(one.rows(7), one.rows(7));
        let keys = |rows: &CommandRows| rows.rows(7).map(|(table, key, _)| (table, key));
        for key in keys(&one) {
            assert!(!keys(&two).contains(&key));
        }
    }

    #[test]
    fn a_batch_holds_the_rows_of_its_commands() {
        let rows = CommandRows::new(&command_schema(), 1);
        let of_one = |number| -> usize {
            rows.rows(number).iter().map(|(_, key, value)| key.len() + value.len()).sum()
        };
        assert_eq!(rows.batch(5, 3).bytes(), of_one(5) + of_one(6) + of_one(7));
    }
}
