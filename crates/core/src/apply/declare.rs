//! The kind of a workspace, settled before its first event. It makes no event: the workspace's
//! first one will tell.

use seriatim_codec::{Stored, encode_number};
use seriatim_types::{Declare, Unknown, WorkspaceRow};

use super::keep;
use super::workspace::{Found, find};
use crate::decide::Stop;
use crate::effects::{DeclareOutcome, Effects, Outcome};
use crate::home::SYSTEM_APP;
use crate::machine::Machine;
use crate::refusal::Refusal;
use crate::rows::{Draft, Rows};

pub(crate) fn declare(
    machine: &mut Machine,
    declare: &Declare,
    rows: &mut Rows,
) -> Result<Effects, Stop> {
    if machine.home.prefix.app == SYSTEM_APP {
        let why = "the workspaces of the system app are its apps";
        return Err(Refusal::PermissionDenied { why }.into());
    }
    let defined = machine.defined.as_ref().ok_or(Refusal::AppNotFound(None))?;
    let mut draft = Draft::new(rows);
    let Found { workspace, is_new } = find(machine, &declare.workspace, &mut draft)?;
    let (name, field) = (declare.kind.clone(), "kind".to_owned());
    let kind = defined.kind(&declare.kind).ok_or(Refusal::UnknownKind { name, field })?;
    let outcome = Outcome::Declare(DeclareOutcome { workspace: workspace.id, is_new });
    if !is_new {
        if workspace.kind != kind {
            let current = defined.kind_name(workspace.kind).expect("kinds are never taken back");
            return Err(Refusal::KindConflict { current: current.clone() }.into());
        }
        return Ok(Effects::only(outcome));
    }
    if let Some(name) = &workspace.name {
        draft.put(machine.home.name(name), encode_number(workspace.id.0));
        machine.row.names = machine.row.names.saturating_add(1);
    }
    let row = WorkspaceRow { kind, name: workspace.name, unknown: Unknown::default() };
    draft.put(machine.home.workspace(workspace.id), row.to_bytes());
    Ok(keep(draft.settle(), Effects::only(outcome), rows))
}
