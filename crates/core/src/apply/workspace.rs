//! Which workspace an entry means.

use seriatim_sequencer::Sequences;
use seriatim_types::limits::NAMED_WORKSPACE_FIRST;
use seriatim_types::{Name, WorkspaceId, WorkspaceRef, WorkspaceRow};

use crate::decide::{Stop, Workspace};
use crate::home::{SYSTEM_APP, partition_of_id, partition_of_name};
use crate::machine::Machine;
use crate::refusal::{Exhausted, Refusal};
use crate::rows::Draft;

/// A workspace that was found, or that comes into being if the entry succeeds.
pub(super) struct Found {
    pub(super) workspace: Workspace,
    pub(super) is_new: bool,
}

/// The workspace that is meant. One that has a name and no id yet is given the next id; unless
/// the entry succeeds, the next one will get the same.
pub(super) fn find(
    machine: &Machine,
    asked: &WorkspaceRef,
    draft: &mut Draft<'_>,
) -> Result<Found, Stop> {
    match asked {
        WorkspaceRef::Id(id) if id.0 >= NAMED_WORKSPACE_FIRST => {
            let why =
                format!("{} is not a workspace's own id: from 2^40 on they belong to names", id.0);
            Err(invalid(why).into())
        }
        WorkspaceRef::Id(id) => find_by_id(machine, *id, draft),
        WorkspaceRef::Name(name) => find_by_name(machine, name, draft),
    }
}

fn find_by_id(machine: &Machine, id: WorkspaceId, draft: &Draft<'_>) -> Result<Found, Stop> {
    let home = machine.home;
    if partition_of_id(id, home.partitions) != home.prefix.partition {
        return Err(elsewhere(&id.0).into());
    }
    let row: Option<WorkspaceRow> = draft.read(Some(id), &home.workspace(id))?;
    let is_new = row.is_none();
    let workspace = match row {
        Some(row) => Workspace { id, kind: row.kind, name: row.name },
        None => Workspace { id, kind: Sequences::DEFAULT_KIND, name: None },
    };
    Ok(Found { workspace, is_new })
}

fn find_by_name(machine: &Machine, name: &Name, draft: &mut Draft<'_>) -> Result<Found, Stop> {
    let home = machine.home;
    // A name that is known here belongs here, and need not be hashed again.
    if let Some(id) = draft.read_number(None, &home.name(name))? {
        return find_by_id(machine, WorkspaceId(id), draft);
    }
    if partition_of_name(name, home.partitions) != home.prefix.partition {
        return Err(elsewhere(&name).into());
    }
    if name.as_str().bytes().all(|byte| byte.is_ascii_digit()) {
        let name = name.as_str();
        let why = format!("{name:?} would be taken for an id: a name is not of digits alone");
        let field = if home.prefix.app == SYSTEM_APP { "name" } else { "workspace" };
        return Err(Refusal::InvalidArgument { field: field.to_owned(), why }.into());
    }
    let id = home.named(machine.row.names);
    let id = id.ok_or(Refusal::SequenceExhausted { what: Exhausted::Workspaces })?;
    draft.set_fresh(id, machine.sequencer.stamp());
    let workspace = Workspace { id, kind: Sequences::DEFAULT_KIND, name: Some(name.clone()) };
    Ok(Found { workspace, is_new: true })
}

fn elsewhere(workspace: &dyn std::fmt::Display) -> Refusal {
    invalid(format!("workspace {workspace} does not belong to this partition"))
}

fn invalid(why: String) -> Refusal {
    Refusal::InvalidArgument { field: "workspace".to_owned(), why }
}
