//! A client's command.

use seriatim_planted::{self as planted, Bug};
use seriatim_sequencer::{Begin, RowsRead};
use seriatim_types::{Command, KeyRow, Retention, Time, WorkspaceId};

use super::workspace::find;
use super::{Decided, begin, commit, keep};
use crate::decide::{Ground, Stop, decide};
use crate::effects::{CommandOutcome, Effects, Outcome};
use crate::home::SYSTEM_APP;
use crate::machine::Machine;
use crate::receipt::receipt;
use crate::refusal::Refusal;
use crate::rows::{Draft, Rows};

pub(crate) fn command(
    machine: &mut Machine,
    time: Time,
    command: &Command,
    rows: &mut Rows,
    numbers: &RowsRead,
) -> Result<Effects, Stop> {
    if machine.home.prefix.app == SYSTEM_APP {
        let why = "the system app takes definitions, not commands";
        return Err(Refusal::PermissionDenied { why }.into());
    }
    if machine.defined.is_none() {
        return Err(Refusal::AppNotFound(None).into());
    }
    let mut draft = Draft::new(rows);
    let workspace = find(machine, &command.workspace, &mut draft)?.workspace;
    if let Some(known) = repetition(machine, time, command, workspace.id, &draft)? {
        return Ok(Effects::only(known));
    }
    check_admissible(machine, time, command)?;
    let beginning = Begin {
        workspace: workspace.id,
        kind: workspace.kind,
        client: Some(&command.client),
        time,
    };
    let mut draws = begin(machine, beginning, &draft, numbers)?;
    let ground = Ground {
        home: machine.home,
        defined: machine.defined.as_ref().expect("it was just looked at"),
        sequences: machine.sequencer.sequences(),
        workspace: &workspace,
        time,
    };
    let events = decide(&ground, command, &mut draws, &mut draft)?;
    let receipt = receipt(&events).expect("these are all events of the command");
    let outcome = Outcome::Command(CommandOutcome::Committed(receipt));
    let decided = Decided { outcome, wants_proof: command.include_proof };
    let (settled, effects) = commit(machine, draft, draws, events, decided)?;
    Ok(keep(settled, effects, rows))
}

/// What is known of the command's key: that it was carried out, or that the key is used up.
fn repetition(
    machine: &Machine,
    time: Time,
    command: &Command,
    workspace: WorkspaceId,
    draft: &Draft<'_>,
) -> Result<Option<Outcome>, Stop> {
    let row = machine.home.key(workspace, &command.client, command.key);
    let row: Option<KeyRow> = draft.read(Some(workspace), &row)?;
    let retention = machine.defined.as_ref().expect("it was just looked at").app().retention;
    let slack = if planted::is(Bug::RetentionCutShort) { 10_000 } else { 0 };
    let now = Time(time.0.saturating_add(slack));
    let Some(row) = row.filter(|row| !retention.is_over(row.time, now)) else {
        return Ok(None);
    };
    if planted::is(Bug::SkipDuplicateCheck) {
        return Ok(None);
    }
    if row.fingerprint != command.fingerprint && planted::is(Bug::KeyForEachContent) {
        return Ok(None);
    }
    if row.fingerprint != command.fingerprint {
        return Err(Refusal::KeyReused { first: row.first }.into());
    }
    Ok(Some(Outcome::Command(CommandOutcome::Duplicate { first: row.first, count: row.count })))
}

/// Whether a command that is no repetition may be carried out at all.
fn check_admissible(machine: &Machine, time: Time, command: &Command) -> Result<(), Refusal> {
    if let Some(deadline) = command.deadline.filter(|deadline| time > *deadline) {
        return Err(Refusal::DeadlineExceeded { deadline, time });
    }
    let app = machine.defined.as_ref().expect("it was just looked at").app();
    match app.keys_max.filter(|max| machine.row.keys >= *max) {
        Some(max) if !planted::is(Bug::WindowLimitIgnored) => {
            let keys_expire = app.retention != Retention::Forever;
            Err(Refusal::KeyWindowFull { max, keys_expire })
        }
        Some(_) | None => Ok(()),
    }
}
