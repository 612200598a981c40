//! Whether commands are taken.

use seriatim_node::Node;

use super::clock::describe_clock;

/// Whether every partition takes commands, and the disk answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// Whether it is so.
    pub is_ready: bool,
    /// What is wrong with the clock or the disk. What partitions are doing, they say themselves.
    pub reason: Option<String>,
}

/// Looks at all that readiness depends on.
#[must_use]
pub fn readiness(node: &Node) -> Readiness {
    // Each is looked at once: what was found is the answer, also if it has passed meanwhile.
    let clock = node.time().err().map(describe_clock);
    let full = node.room().err().map(|full| full.to_string());
    let stalled = node.check_sync().err().map(|stalled| stalled.to_string());
    let reason = clock.or(full).or(stalled);
    Readiness { is_ready: node.is_serving() && reason.is_none(), reason }
}
