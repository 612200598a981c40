//! The tables of a store, by name, with small handles to use them by.

use std::fmt;
use std::sync::Arc;

use seriatim_types::limits::{TABLE_NAME_BYTES_MAX, TABLES_MAX};

/// The tables that a store has. Names are on disk and stay there; the order in which they
/// are listed is not, so a table may be added anywhere in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    names: Arc<[String]>,
}

/// A table of the schema that gave out this handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Table(u16);

/// Why a list of names is no schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// No table at all, or more than [`TABLES_MAX`].
    #[error("a store has 1 to {TABLES_MAX} tables, not {count}")]
    Count {
        /// How many names were given.
        count: usize,
    },
    /// A name that is empty, too long or has other characters than `a-z`, `0-9` and `_`.
    #[error(
        "{name:?} is no table name: 1 to {TABLE_NAME_BYTES_MAX} characters of a-z, 0-9 and _, \
         beginning with a letter"
    )]
    Name {
        /// The name as it was given.
        name: String,
    },
    /// The same name twice.
    #[error("the table {name} is listed twice")]
    Repeated {
        /// The repeated name.
        name: String,
    },
}

impl Schema {
    /// Makes a schema of the names.
    ///
    /// # Errors
    ///
    /// When there are too few or too many names, or one is malformed or repeated.
    pub fn new<I>(names: I) -> Result<Self, SchemaError>
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.is_empty() || names.len() > TABLES_MAX {
            return Err(SchemaError::Count { count: names.len() });
        }
        for (index, name) in names.iter().enumerate() {
            if !is_table_name(name) {
                return Err(SchemaError::Name { name: name.clone() });
            }
            if names.iter().take(index).any(|earlier| earlier == name) {
                return Err(SchemaError::Repeated { name: name.clone() });
            }
        }
        Ok(Self { names: names.into() })
    }

    /// The handle of a table, if the schema has it.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<Table> {
        let index = self.names.iter().position(|known| known == name)?;
        u16::try_from(index).ok().map(Table)
    }

    /// All tables, in the order of the list.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = Table> + use<> {
        let count = u16::try_from(self.names.len()).expect("TABLES_MAX fits in u16");
        (0..count).map(Table)
    }

    /// The name of a table.
    ///
    /// # Panics
    ///
    /// When the handle belongs to a schema with more tables than this one: a bug.
    #[must_use]
    pub fn name(&self, table: Table) -> &str {
        self.names.get(table.index()).expect("a table handle is used with its own schema")
    }
}

impl Table {
    /// Position in the schema's list, for backends that keep one thing per table.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join(", "))
    }
}

fn is_table_name(name: &str) -> bool {
    name.len() <= TABLE_NAME_BYTES_MAX
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_and_names_belong_together() {
        let schema = Schema::new(["events", "records"]).unwrap();
        let records = schema.table("records").unwrap();
        assert_eq!(schema.name(records), "records");
        assert_eq!(records.index(), 1);
        assert_eq!(
            schema.tables().map(|t| schema.name(t)).collect::<Vec<_>>(),
            ["events", "records"]
        );
        assert_eq!(schema.table("Events"), None);
    }

    #[test]
    fn bad_lists_are_refused_with_the_culprit() {
        assert_eq!(Schema::new(Vec::<String>::new()), Err(SchemaError::Count { count: 0 }));
        let many = (0..=TABLES_MAX).map(|n| format!("t{n}"));
        assert_eq!(Schema::new(many), Err(SchemaError::Count { count: TABLES_MAX + 1 }));
        for bad in ["", "1st", "_x", "Events", "a-b", "a b", "é", &"a".repeat(65)] {
            let expected = Err(SchemaError::Name { name: bad.to_owned() });
            assert_eq!(Schema::new(["ok", bad]), expected);
        }
        let expected = Err(SchemaError::Repeated { name: "a".to_owned() });
        assert_eq!(Schema::new(["a", "b", "a"]), expected);
    }
}
