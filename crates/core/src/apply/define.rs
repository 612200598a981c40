//! A definition that somebody asks for, in the system app.

use bytes::Bytes;
use seriatim_sequencer::{Begin, RowsRead};
use seriatim_types::{
    AppId, Change, Define, Definition, Definitions, Delivery, Event, Message, Name, PartitionRef,
    Time, Unknown, WorkspaceId, WorkspaceRef,
};

use super::workspace::find;
use super::{Decided, begin, commit, keep};
use crate::change::{self, At, definition_of, outbox_targets};
use crate::decide::Stop;
use crate::defined::Defined;
use crate::effects::{DefineOutcome, Effects, Outcome, Outgoing};
use crate::home::{SYSTEM_APP, SYSTEM_NAME};
use crate::machine::Machine;
use crate::receipt::RECEIPT_VERSION;
use crate::refusal::{Exhausted, Refusal};
use crate::rows::{Draft, Rows};

pub(crate) fn define(
    machine: &mut Machine,
    time: Time,
    define: &Define,
    rows: &mut Rows,
    numbers: &RowsRead,
) -> Result<Effects, Stop> {
    let home = machine.home;
    if home.prefix.app != SYSTEM_APP {
        let why = "definitions are made in the system app";
        return Err(Refusal::PermissionDenied { why }.into());
    }
    if define.app.as_str() == SYSTEM_NAME {
        let why = "the app of this name is Seriatim's own";
        return Err(Refusal::PermissionDenied { why }.into());
    }
    let mut draft = Draft::new(rows);
    let workspace = find(machine, &WorkspaceRef::Name(define.app.clone()), &mut draft)?.workspace;
    let plain: Option<Definitions> = draft.read(Some(workspace.id), &home.app(workspace.id))?;
    let defined = plain.map(Defined::restore);
    let app = app_id(machine, workspace.id)?;
    let Some(definition) = definition_of(defined.as_ref(), define, app)? else {
        let version = defined.map_or(0, |defined| defined.plain().version);
        return Ok(Effects::only(Outcome::Define(DefineOutcome { app, version, is_new: false })));
    };
    let beginning = Begin { workspace: workspace.id, kind: workspace.kind, client: None, time };
    let draws = begin(machine, beginning, &draft, numbers)?;
    let offsets = draws.event();
    let version = offsets.workspace.get();
    let event = Event {
        partition_offset: offsets.partition,
        workspace: workspace.id,
        kind: workspace.kind,
        offset: offsets.workspace,
        time,
        workspace_name: workspace.name.filter(|_| version == 1),
        receipt_version: RECEIPT_VERSION,
        index: 0,
        count: 1,
        origin: None,
        name: event_name(&definition),
        args: Bytes::from_static(b"{}"),
        changes: vec![Change::Define(Box::new(definition.clone()))],
        numbers: Vec::new(),
        unknown: Unknown::default(),
    };
    let at = At::of(&event);
    for change in &event.changes {
        change::evolve(&mut draft, home, machine.trust(), at, change)?;
    }
    let messages = messages(machine, &draft, workspace.id, version, &definition)?;
    let outcome = Outcome::Define(DefineOutcome { app, version, is_new: true });
    let decided = Decided { outcome, wants_proof: false };
    let (settled, effects) = commit(machine, draft, draws, vec![event], decided)?;
    Ok(keep(settled, Effects { messages, ..effects }, rows))
}

/// The id of an app follows from its workspace: apps are counted as they come into being.
fn app_id(machine: &Machine, workspace: WorkspaceId) -> Result<AppId, Refusal> {
    let index = machine.home.index_of_named(workspace).expect("an app has a name");
    let id = index.checked_add(1).and_then(|id| u32::try_from(id).ok());
    id.map(AppId).ok_or(Refusal::SequenceExhausted { what: Exhausted::Apps })
}

fn event_name(definition: &Definition) -> Name {
    let name = match definition {
        Definition::App(_) => "AppCreated",
        Definition::Kind(_) => "KindDefined",
        Definition::Sequence(_) => "SequenceDefined",
        Definition::Record(_) => "RecordDefined",
        Definition::KeyLimit(_) => "KeyLimitChanged",
    };
    Name::new(name).expect("a plain word is a name")
}

/// What was put into the outbox, ready to be delivered.
fn messages(
    machine: &Machine,
    draft: &Draft<'_>,
    workspace: WorkspaceId,
    version: u64,
    definition: &Definition,
) -> Result<Vec<Outgoing>, Stop> {
    let home = machine.home;
    let plain: Option<Definitions> = draft.read(Some(workspace), &home.app(workspace))?;
    let plain = plain.expect("a definition was just written");
    let source = PartitionRef { app: home.prefix.app, partition: home.prefix.partition };
    let outgoing = |target| {
        let number = draft.read_number(Some(workspace), &home.outbox_head(target))?;
        let number = number.expect("a message was just written");
        let definition = Box::new(definition.clone());
        let message = Message::Definition { version, definition };
        Ok(Outgoing { target, delivery: Delivery { source, number, message } })
    };
    outbox_targets(&plain.app).map(outgoing).collect()
}
