//! Memory and queues stay under their limits.

use seriatim_types::{Event, PartitionRef};

use super::{Violation, show_partition};
use crate::server::{Server, Usage};

/// Messages between partitions are not turned away because of load. There are few of them.
const TOLD_MAX: usize = 64;

/// Levels of the highest tree.
const LEVELS_MAX: usize = 64;

pub(crate) fn check(server: &Server) -> Result<(), Violation> {
    let settings = server.settings();
    let batches = settings.commits_in_flight_max.saturating_add(1);
    let under_way = settings.batch_entries_max.saturating_mul(batches);
    let queue_max = settings.queue_max.saturating_add(TOLD_MAX);
    for (partition, Usage { held, unanswered, unflushed_at_first }) in server.usage() {
        // What was read from the log may be more: settings were higher when it was written.
        let unflushed_max = held.unflushed_rows_max.max(unflushed_at_first);
        for (what, count, most) in [
            ("requests wait for an answer", unanswered, queue_max.saturating_add(under_way)),
            ("requests are queued", held.queued, queue_max),
            ("rows wait for a checkpoint", held.unflushed_rows, unflushed_max),
            ("rows of numbers are cached", held.cached_rows, settings.cached_rows_max),
            ("workspaces are cached", held.cached_workspaces, settings.cached_workspaces_max),
            ("clients are known", held.known_clients, settings.cached_workspaces_max),
        ] {
            at_most(partition, what, count, most)?;
        }
    }
    Ok(())
}

/// The nodes of trees that wait for a checkpoint are those of the events that it does not cover.
pub(crate) fn check_nodes(
    partition: PartitionRef,
    nodes: usize,
    uncovered: &[Event],
) -> Result<(), Violation> {
    // Events complete less than two nodes each, and one for each level of a tree that was there.
    let mut trees: Vec<_> = uncovered.iter().map(|event| event.workspace).collect();
    trees.sort_unstable();
    trees.dedup();
    let most = uncovered.len().saturating_mul(2);
    let most = most.saturating_add(trees.len().saturating_mul(LEVELS_MAX));
    at_most(partition, "nodes of trees wait for a checkpoint", nodes, most)
}

/// A page of a subscription is as short as it must be.
pub(crate) fn check_page(
    partition: PartitionRef,
    events: usize,
    most: usize,
) -> Result<(), Violation> {
    at_most(partition, "events are in a page", events, most)
}

fn at_most(
    partition: PartitionRef,
    what: &str,
    count: usize,
    most: usize,
) -> Result<(), Violation> {
    if count <= most {
        return Ok(());
    }
    let partition = show_partition(partition);
    let what = format!("partition {partition}: {count} {what}, {most} may");
    Err(Violation::new("bounded", what))
}
