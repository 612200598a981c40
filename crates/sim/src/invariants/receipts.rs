//! All receipts of a key are equal, within its retention.

use seriatim_types::{Receipt, Retention};

use super::Violation;

pub(crate) fn check(
    number: usize,
    before: &[Receipt],
    receipt: &Receipt,
    retention: Option<Retention>,
) -> Result<(), Violation> {
    let Some(last) = before.last().filter(|last| *last != receipt) else { return Ok(()) };
    let is_over = match retention {
        Some(Retention::Milliseconds(ms)) => {
            receipt.committed_at.0 >= last.committed_at.0.saturating_add(ms)
        }
        Some(Retention::Forever) | None => false,
    };
    if is_over {
        return Ok(());
    }
    let what = format!("#{number} was told {last:?}, and then {receipt:?}");
    Err(Violation::new("receipts", what))
}
