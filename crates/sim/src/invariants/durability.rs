//! Nothing that was acknowledged is lost: the events of a receipt are in the log, as it says.

use super::{Violation, show_partition};
use crate::client::Asked;
use crate::world::World;

pub(crate) fn check(world: &World) -> Result<(), Violation> {
    for (number, asked) in world.asked.iter().enumerate() {
        for receipt in &asked.receipts {
            let Asked { partition, command, .. } = asked;
            let log = world.oracle.settled().find(|(name, _)| name == partition);
            let place = usize::try_from(receipt.first_partition_offset.get()).unwrap_or(0);
            let event = log.and_then(|(_, model)| model.log().get(place.checked_sub(1)?));
            let is_there = event.is_some_and(|event| {
                let is_its = |origin: &seriatim_types::Origin| {
                    origin.key == command.key && origin.client == command.client
                };
                event.workspace == receipt.workspace
                    && event.offset == receipt.first_offset
                    && event.origin.as_ref().is_some_and(is_its)
            });
            if !is_there {
                let partition = show_partition(*partition);
                let what = format!(
                    "#{number} was acknowledged with offset {place} of partition {partition}, \
                     and there is {event:?}"
                );
                return Err(Violation::new("durability", what));
            }
        }
    }
    Ok(())
}
