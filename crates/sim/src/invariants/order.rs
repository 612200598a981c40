//! The commands of one stream to one workspace are carried out in the order in which they were
//! asked for.
//!
//! One that was sent again when its key was over is another one, and comes where it comes.

use std::collections::BTreeMap;

use super::Violation;
use crate::client::{Ended, Style};
use crate::world::World;

pub(crate) fn check(world: &World) -> Result<(), Violation> {
    let mut last = BTreeMap::new();
    let mut carried_out = BTreeMap::new();
    for event in world.oracle.settled().flat_map(|(_, model)| model.log()) {
        if let Some(origin) = event.origin.as_ref().filter(|_| event.index == 0) {
            let times: &mut u64 = carried_out.entry((event.workspace, origin.key)).or_default();
            *times = times.saturating_add(1);
        }
    }
    let mut in_turn: Vec<_> = world.asked.iter().enumerate().collect();
    in_turn.sort_by_key(|(_, asked)| (asked.client, asked.turn));
    for (number, asked) in in_turn {
        let is_stream =
            world.clients.get(asked.client).is_some_and(|client| client.style == Style::Stream);
        let (Some((life, _)), Some(Ended::Done(receipt)), true) =
            (asked.turn, &asked.ended, is_stream)
        else {
            continue;
        };
        if carried_out.get(&(receipt.workspace, asked.command.key)).is_some_and(|times| *times > 1)
        {
            continue;
        }
        let place = (asked.client, life, asked.target.workspace.clone());
        let offset = receipt.first_offset;
        if let Some((earlier, before)) = last.insert(place, (number, offset))
            && before >= offset
        {
            let what = format!(
                "#{earlier} was asked before #{number}, and has offset {before} behind {offset}"
            );
            return Err(Violation::new("order", what));
        }
    }
    Ok(())
}
