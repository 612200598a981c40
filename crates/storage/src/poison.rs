//! The one-way switch that stops a store after its first failed write or sync.

use std::fmt;
use std::sync::OnceLock;

use crate::Poisoned;

/// Remembers the first failure for ever. Every call of a backend looks here first.
#[derive(Debug, Default)]
pub struct PoisonCell(OnceLock<Poisoned>);

impl PoisonCell {
    /// Ok while nothing has failed yet.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn check(&self) -> Result<(), Poisoned> {
        self.0.get().map_or(Ok(()), |poisoned| Err(poisoned.clone()))
    }

    /// Records a failure and returns the one that counts: the first.
    pub fn poison(&self, operation: &'static str, cause: impl fmt::Display) -> Poisoned {
        self.0.get_or_init(|| Poisoned { operation, cause: cause.to_string() }).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_the_one_that_is_remembered() {
        let cell = PoisonCell::default();
        assert_eq!(cell.check(), Ok(()));
        let first = cell.poison("sync", "disk is gone");
        assert_eq!(cell.poison("commit", "something else"), first);
        assert_eq!(cell.check(), Err(first));
    }
}
