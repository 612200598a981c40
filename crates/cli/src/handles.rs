//! How many files and connections the process may have open at the same time.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Handles that are not for connections: files of the store, sockets that listen. A store that
/// finds no handle left has to stop.
const RESERVED: u64 = 256;

/// Lets the process have as many handles as it may, and returns how many that is.
pub(crate) fn raise() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let allowed = if raised.is_ok() { maximum } else { current };
    // No limit is written as none.
    allowed.unwrap_or(u64::MAX)
}

/// How many connections fit, of those that were asked for.
pub(crate) fn connections(asked: usize, handles: u64) -> usize {
    let fit = handles.saturating_sub(RESERVED).max(1);
    asked.min(usize::try_from(fit).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_handles_for_the_store() {
        assert_eq!(connections(1100, u64::MAX), 1100);
        assert_eq!(connections(1100, 1024), 768);
        assert_eq!(connections(500, 1024), 500);
        assert_eq!(connections(500, 10), 1);
    }
}
