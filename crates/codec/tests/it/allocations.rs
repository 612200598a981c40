//! Encoding is on the path of every command.

use seriatim_codec::Stored;
use seriatim_types::Change;

use crate::samples;

#[test]
fn an_event_is_written_with_two_allocations() {
    let mut event = samples::rich_event();
    event.changes.retain(|change| matches!(change, Change::Create { .. }));
    let mut length = 0;
    let count = allocation_counter::measure(|| length = event.to_bytes().len()).count_total;
    assert!((250..400).contains(&length), "{length} bytes are no event of the usual size");
    // The buffer, and the same buffer without the room that was left.
    assert!(count <= 2, "{count} allocations");
}
