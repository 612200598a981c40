//! The answer to a command, made of its stored events and nothing else.

use seriatim_types::{Change, Event, Receipt};

/// The form of receipts that new events are given. What was stored under an earlier one keeps it.
pub const RECEIPT_VERSION: u32 = 1;

/// The receipt of a command; `None` unless these are all its events, in order, and a client sent
/// it.
#[must_use]
pub fn receipt(events: &[Event]) -> Option<Receipt> {
    let (first, last) = (events.first()?, events.last()?);
    let origin = first.origin.as_ref()?;
    let is_whole = events.iter().zip(0..).all(|(event, index)| {
        event.index == index
            && usize::try_from(event.count) == Ok(events.len())
            && event.origin.as_ref() == Some(origin)
    });
    if !is_whole {
        return None;
    }
    let raw = |change: &Change| match change {
        Change::Create { raw: Some(raw), id, .. } => Some((*raw, *id)),
        Change::Create { raw: None, .. }
        | Change::Update { .. }
        | Change::Delete { .. }
        | Change::Set { .. }
        | Change::Unset { .. }
        | Change::Draw { .. }
        | Change::Define(_) => None,
    };
    let mut ids: Vec<_> = events.iter().flat_map(|it| &it.changes).filter_map(raw).collect();
    ids.sort_unstable();
    Some(Receipt {
        version: first.receipt_version,
        workspace: first.workspace,
        first_offset: first.offset,
        last_offset: last.offset,
        first_partition_offset: first.partition_offset,
        last_partition_offset: last.partition_offset,
        client_sequence: origin.client_sequence,
        ids,
        numbers: events.iter().flat_map(|event| event.numbers.iter().cloned()).collect(),
        committed_at: first.time,
        proof: None,
    })
}
