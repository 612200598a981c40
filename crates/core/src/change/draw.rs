//! A number that stands nowhere else than in the event and its receipt.

use std::ops::Range;

use seriatim_types::Change;

/// The number was drawn with all others; the change says which of its event's it is.
pub(super) fn decide(part: &Range<usize>, first: usize) -> Change {
    let number = part.start.checked_sub(first).and_then(|index| u32::try_from(index).ok());
    Change::Draw { number: number.expect("a part lies among the draws of its event") }
}
