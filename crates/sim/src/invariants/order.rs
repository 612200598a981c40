//! The commands of one stream to one workspace are carried out in the order in which they were
//! asked for: once one of them is not written, no later one is until all are sent anew.
//!
//! One that was sent again when its key was over is another one, and comes where it comes.

use std::collections::BTreeMap;

use seriatim_node::{Reply, RequestError};
use seriatim_types::PartitionRef;

use super::Violation;
use crate::client::{Ended, Style};
use crate::server::Asker;
use crate::world::World;

/// What the server has answered to the commands of each chain: those of one process, connection,
/// partition and generation.
#[derive(Debug, Default)]
pub(crate) struct Chains(BTreeMap<(u64, u64, PartitionRef, u64), Answered>);

#[derive(Debug, Default)]
struct Answered {
    last_decided: u64,
    first_left: Option<u64>,
}

impl Chains {
    /// The server answers a command: nothing behind the first that was not decided is decided.
    pub(crate) fn answered(
        &mut self,
        life: u64,
        asker: &Asker,
        reply: &Reply,
    ) -> Result<(), Violation> {
        let Asker::Client { connection, asked, partition, arrived: place, generation, .. } = asker
        else {
            return Ok(());
        };
        let Some(generation) = generation else { return Ok(()) };
        let chain = self.0.entry((life, *connection, *partition, *generation)).or_default();
        match reply {
            Ok(_) | Err(RequestError::Refused(_)) => {
                chain.last_decided = chain.last_decided.max(*place);
            }
            Err(
                RequestError::Busy(_)
                | RequestError::NotWritten { .. }
                | RequestError::Unknown { .. }
                | RequestError::Stopped(_),
            ) => {
                let first = chain.first_left.map_or(*place, |first| first.min(*place));
                chain.first_left = Some(first);
            }
        }
        match chain.first_left {
            Some(first) if first < chain.last_decided => {
                let what = format!(
                    "#{asked} of connection {connection} is answered {reply:?}: of generation \
                     {generation} arrival {first} was not written, and {} was decided",
                    chain.last_decided
                );
                Err(Violation::new("order", what))
            }
            Some(_) | None => Ok(()),
        }
    }
}

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
    in_turn.sort_by_key(|(_, asked)| (asked.client, asked.rank));
    for (number, asked) in in_turn {
        let is_stream =
            world.clients.get(asked.client).is_some_and(|client| client.style == Style::Stream);
        let (Some((life, _)), Some(Ended::Done(receipt)), true) =
            (asked.rank, &asked.ended, is_stream)
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
