//! Memory and queues stay under their limits.

use super::{Violation, show_partition};
use crate::server::Server;

/// Messages between partitions are not turned away because of load. There are few of them.
const TOLD_MAX: usize = 64;

pub(crate) fn check(server: &Server) -> Result<(), Violation> {
    let settings = server.settings();
    let batches = settings.commits_in_flight_max.saturating_add(1);
    let under_way = settings.batch_entries_max.saturating_mul(batches);
    let most = settings.queue_max.saturating_add(under_way).saturating_add(TOLD_MAX);
    for (partition, count) in server.unanswered() {
        if count > most {
            let partition = show_partition(partition);
            let what = format!("{count} requests wait for partition {partition}, {most} may");
            return Err(Violation::new("bounded", what));
        }
    }
    Ok(())
}
