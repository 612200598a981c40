//! No entry has a time that is far ahead: one such time ends every key and every expiry for good.
//!
//! A process may be ahead of the newest time that it found by ten minutes and what its settings allow
//! for downtime. The kernel and the operator of a run vouch for a clock only when it is right.

use seriatim_types::Entry;

use super::Violation;
use crate::agenda::Moment;
use crate::server::{Clock, world_time};

/// An entry was applied.
pub(crate) fn check(clock: &Clock, now: Moment, entry: &Entry) -> Result<(), Violation> {
    let lead = entry.time.0.saturating_sub(world_time(now).0);
    if lead <= clock.lead_max() {
        return Ok(());
    }
    let max = clock.lead_max();
    let what = format!("an entry is {lead} ms ahead of the world's time, {max} ms are allowed");
    Err(Violation::new("clock", what))
}
