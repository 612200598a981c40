//! What must hold, whatever goes wrong: one file for each.

pub(crate) mod answered;
pub(crate) mod bounded;
pub(crate) mod clock;
pub(crate) mod definitions;
pub(crate) mod durability;
pub(crate) mod gap_free;
pub(crate) mod linearizable;
pub(crate) mod one_event_per_key;
pub(crate) mod order;
pub(crate) mod outcomes;
pub(crate) mod patience;
pub(crate) mod progress;
pub(crate) mod reads;
pub(crate) mod receipts;
pub(crate) mod shut_down;
pub(crate) mod start_up;
pub(crate) mod storage;
pub(crate) mod subscriptions;
pub(crate) mod swept;
pub(crate) mod trees;

use seriatim_types::PartitionRef;

use crate::client::Ended;
pub(crate) use crate::oracle::show as show_partition;
use crate::server::Seen;
use crate::world::World;

/// Something that must hold and does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) invariant: &'static str,
    pub(crate) what: String,
}

impl Violation {
    pub(crate) fn new(invariant: &'static str, what: String) -> Self {
        Self { invariant, what }
    }
}

/// Looks at everything, once nothing is under way any more.
pub(crate) fn at_the_end(world: &World) -> Result<(), Violation> {
    for (partition, model) in world.oracle.settled() {
        gap_free::check(partition, model)?;
        one_event_per_key::check(partition, model)?;
        trees::check(world, partition, model)?;
    }
    storage::check(world)?;
    definitions::check(world)?;
    durability::check(world)?;
    outcomes::check(world)?;
    order::check(world)?;
    subscriptions::check(world)
}

/// What was seen, in one line.
pub(crate) fn show_seen(seen: &Seen) -> String {
    let show = |partition: &PartitionRef| show_partition(*partition);
    match seen {
        Seen::Flew { partition, batch } => {
            let events: usize = batch.iter().map(|(_, applied)| applied.events.len()).sum();
            let (partition, count) = (show(partition), batch.len());
            format!("partition {partition}: commits {count} entries with {events} events")
        }
        Seen::Decided { partition, batch } => {
            format!("partition {}: has decided {} entries", show(partition), batch.len())
        }
        Seen::Dropped { partition, batch, is_maybe, .. } => {
            let how = if *is_maybe { "may have committed" } else { "could not commit" };
            format!("partition {}: {how} {} entries", show(partition), batch.len())
        }
        Seen::Landed { partition } => format!("partition {}: a commit is durable", show(partition)),
        Seen::Restarted { partition } => format!("partition {}: is restarted", show(partition)),
        Seen::Unanswered { asker } => format!("server: {asker:?} is never answered"),
    }
}

/// An end, in a few words.
pub(crate) fn show_ended(ended: &Ended) -> String {
    match ended {
        Ended::Done(receipt) => {
            let (workspace, first) = (receipt.workspace.0, receipt.first_offset);
            format!("done: offset {first} of workspace {workspace}")
        }
        Ended::Refused(code) => format!("refused: {code}"),
        Ended::NotWritten => "not written".to_owned(),
        Ended::Unknown => "unknown".to_owned(),
    }
}

/// Under which name ends are counted.
pub(crate) fn name_of(ended: &Ended) -> &'static str {
    match ended {
        Ended::Done(_) => "done",
        Ended::Refused(_) => "refused",
        Ended::NotWritten => "not_written",
        Ended::Unknown => "unknown",
    }
}
