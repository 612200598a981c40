//! The kinds of entries, one file each.

mod command;
mod declare;
mod define;
mod delivered;
mod delivery;
mod tick;
mod workspace;

use seriatim_codec::Stored;
use seriatim_merkle::{Frontier, leaf_hash};
use seriatim_planted::{self as planted, Bug};
use seriatim_sequencer::{Begin, BeginError, Draws, RowsRead};
use seriatim_types::{Event, Inclusion, WorkspaceId};

use crate::decide::{Stop, log_is_full};
use crate::effects::{CommandOutcome, Effects, Fault, Outcome, TreeNode};
use crate::evolve::evolve_event;
use crate::machine::Machine;
use crate::rows::{Draft, Rows, Settled};

pub(crate) use command::command;
pub(crate) use declare::declare;
pub(crate) use define::define;
pub(crate) use delivered::delivered;
pub(crate) use delivery::delivery;
pub(crate) use tick::tick;

/// Opens the draws of a workspace. Of one that was given its id just now, no row is stored.
fn begin(
    machine: &mut Machine,
    begin: Begin<'_>,
    draft: &Draft<'_>,
    numbers: &RowsRead,
) -> Result<Draws, Stop> {
    let workspace = begin.workspace;
    let sequencer = &mut machine.sequencer;
    let drawn = match draft.fresh_since(begin.workspace) {
        Some(stamp) => {
            let absent = begin.row_keys().map(|key| (key, None));
            sequencer.draw(begin, &RowsRead::new(stamp, absent))
        }
        None => sequencer.draw(begin, numbers),
    };
    drawn.map_err(|error| match error {
        BeginError::LogFull => log_is_full().into(),
        BeginError::UnknownKind { .. } => {
            Fault::Workspace { workspace, why: error.to_string() }.into()
        }
        BeginError::Actualizing | BeginError::NotRead { .. } => {
            unreachable!("an entry is applied once its numbers are at hand: {error}")
        }
    })
}

/// Everything is decided: events get their bytes and leaves, rows are settled, and the numbers are
/// those that later entries go on from.
fn commit(
    machine: &mut Machine,
    mut draft: Draft<'_>,
    mut draws: Draws,
    events: Vec<Event>,
    decided: Decided,
) -> Result<(Settled, Effects), Fault> {
    let Decided { outcome, wants_proof } = decided;
    let mut effects = Effects::only(outcome);
    let trust = machine.trust();
    let first = events.first().expect("a command has events");
    let workspace = first.workspace;
    let mut tree = open_tree(&mut draws, workspace, first.offset.get().saturating_sub(1))?;
    let mut proof = None;
    for event in &events {
        let bytes = event.to_bytes();
        let leaf = leaf_hash(&bytes);
        proof = wants_proof.then(|| (leaf, tree.path_of_next()));
        tree.push(leaf, &mut |node, hash| effects.nodes.push(TreeNode { workspace, node, hash }));
        evolve_event(&mut draft, machine.home, trust, &mut machine.row, event, bytes);
    }
    effects.events = events;
    if let (Ok(Outcome::Command(CommandOutcome::Committed(receipt))), Some((leaf, path))) =
        (&mut effects.outcome, proof)
    {
        receipt.proof = Some(Box::new(Inclusion { leaf, path, root: tree.root() }));
    }
    *draws.frontier_mut() = tree.into_hashes();
    let staged = machine.sequencer.stage(draws);
    effects.ticket = Some(staged.expect("nothing else was staged since the draws began"));
    let settled = draft.settle();
    Ok((settled, effects))
}

/// What an entry that makes events comes to.
struct Decided {
    outcome: Outcome,
    /// Whether its receipt is to have a proof of its last event.
    wants_proof: bool,
}

/// The tree over the workspace's log, as it was before the first event.
fn open_tree(draws: &mut Draws, workspace: WorkspaceId, size: u64) -> Result<Frontier, Fault> {
    let frontier = Frontier::new(size, std::mem::take(draws.frontier_mut()));
    frontier.ok_or_else(|| {
        let why = format!("its frontier is not that of {size} events");
        Fault::Workspace { workspace, why }
    })
}

/// Lets later entries see what was settled, and hands it out to be written.
fn keep(settled: Settled, effects: Effects, rows: &mut Rows) -> Effects {
    if !planted::is(Bug::OverlayForgotten) {
        settled.lay_over(rows);
    }
    Effects { writes: settled.writes, ..effects }
}
