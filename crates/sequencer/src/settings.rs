//! What bounds the sequencer's memory.

/// Settings of a [`Sequencer`](crate::Sequencer).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Rows that may wait for a checkpoint before commands are refused.
    pub unflushed_rows_max: usize,
    /// Rows of workspaces and clients that are kept in memory.
    pub cached_rows_max: usize,
    /// What hashes in memory begin with. It decides nothing; one that nobody knows keeps clients from
    /// choosing names that meet at one place.
    pub hash_seed: u64,
}

/// A setting out of its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is 0, it must be at least 1")]
pub struct SettingsError {
    /// Which one.
    pub name: &'static str,
}

impl Default for Settings {
    fn default() -> Self {
        Self { unflushed_rows_max: 500, cached_rows_max: 100_000, hash_seed: 0 }
    }
}

impl Settings {
    pub(crate) fn check(self) -> Result<Self, SettingsError> {
        let settings = [
            ("unflushed_rows_max", self.unflushed_rows_max),
            ("cached_rows_max", self.cached_rows_max),
        ];
        match settings.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(SettingsError { name }),
            None => Ok(self),
        }
    }
}
