//! What applying an entry will read, known before it is applied.
//!
//! ```text
//!  round 1   names ─► round 2   everything in the workspace ─► (definitions) round 3   outbox
//! ```
//!
//! Most entries name their workspace by its id and need one round. An entry for a workspace whose
//! name is new needs nothing else: there is nothing to be read.

use seriatim_codec::{Stored, decode_number};
use seriatim_sequencer::{IdClass, RowKey};
use seriatim_types::{
    AppSettings, Body, Change, Command, CommandChange, Declare, Define, Definition, Definitions,
    Entry, Event, Number, Origin, WorkspaceId, WorkspaceRef,
};

use crate::change::outbox_targets;
use crate::home::Home;
use crate::machine::Machine;
use crate::rows::{RowId, Rows};

/// Rows to be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadSet {
    /// The rows, perhaps some of them twice.
    pub rows: Vec<RowId>,
    /// Whether this is all. If not, ask again once these are known.
    pub is_complete: bool,
}

/// What is known of the workspace that an entry means.
enum Known {
    Id(WorkspaceId),
    /// It has a name, and whether the name has an id is to be read.
    Unread(RowId),
    /// Nothing is stored of it.
    New,
}

impl Machine {
    /// The rows that applying an entry will read, as far as they follow from what `rows` knows
    /// and from the definitions: see [`fetched_together`](Machine::fetched_together).
    #[must_use]
    pub fn read_set(&self, entry: &Entry, rows: &Rows) -> ReadSet {
        let home = self.home;
        match &entry.body {
            Body::Command(command) => self.of_command(command, rows),
            Body::Declare(Declare { workspace, .. }) => match known(home, workspace, rows) {
                Known::Id(id) => complete(vec![home.workspace(id)]),
                Known::Unread(name) => incomplete(vec![name]),
                Known::New => complete(Vec::new()),
            },
            Body::Tick(tick) => {
                let entities = tick.entities.iter().map(|due| home.entity(due.workspace, &due.key));
                let keys =
                    tick.keys.iter().map(|due| home.key(due.workspace, &due.client, due.key));
                complete(entities.chain(keys).collect())
            }
            Body::Delivery(delivery) => complete(vec![home.inbox(delivery.source)]),
            Body::Delivered(_) => complete(Vec::new()),
            Body::Define(define) => of_define(home, define, rows),
        }
    }

    /// The rows of numbers that applying an entry will go on from, once its read set is known.
    /// Those that the sequencer [holds](seriatim_sequencer::Sequencer::holds) need not be fetched,
    /// but are handed in if [room must be made](seriatim_sequencer::Sequencer::must_make_room_for)
    /// before the entry's turn. No checkpoint is reported between fetching and applying.
    pub fn number_rows(&self, entry: &Entry, rows: &Rows) -> impl Iterator<Item = RowKey> + use<> {
        let known = |workspace: &WorkspaceRef| match known(self.home, workspace, rows) {
            Known::Id(id) => Some(id),
            Known::Unread(_) | Known::New => None,
        };
        let (workspace, client) = match &entry.body {
            Body::Command(command) => (known(&command.workspace), Some(&command.client)),
            Body::Define(define) => (known(&WorkspaceRef::Name(define.app.clone())), None),
            Body::Declare(_) | Body::Tick(_) | Body::Delivery(_) | Body::Delivered(_) => {
                (None, None)
            }
        };
        let client = workspace.zip(client).map(|(id, client)| RowKey::Client(id, client.clone()));
        workspace.map(RowKey::Workspace).into_iter().chain(client)
    }

    /// The rows that [evolving](Machine::evolve) an event will read, as far as they follow from
    /// what `rows` knows.
    #[must_use]
    pub fn read_set_of_event(&self, event: &Event, rows: &Rows) -> ReadSet {
        let (home, workspace) = (self.home, event.workspace);
        let key = |origin: &Origin| home.key(workspace, &origin.client, origin.key);
        let mut set = complete(event.origin.iter().map(key).collect());
        for change in &event.changes {
            match change {
                Change::Update { id, .. } | Change::Delete { id, .. } => {
                    set.rows.push(home.record(workspace, *id));
                }
                Change::Set { key, .. } | Change::Unset { key, .. } => {
                    set.rows.push(home.entity(workspace, key));
                }
                Change::Define(definition) => match &**definition {
                    Definition::App(settings) => set.rows.extend(heads(home, settings)),
                    Definition::Kind(_)
                    | Definition::Sequence(_)
                    | Definition::Record(_)
                    | Definition::KeyLimit(_) => {
                        let of_app = of_app(home, workspace, rows);
                        set.rows.extend(of_app.rows);
                        set.is_complete &= of_app.is_complete;
                    }
                },
                Change::Create { .. } | Change::Draw { .. } => {}
            }
        }
        set
    }

    fn of_command(&self, command: &Command, rows: &Rows) -> ReadSet {
        let home = self.home;
        let workspace = match known(home, &command.workspace, rows) {
            Known::Id(workspace) => workspace,
            Known::Unread(name) => return incomplete(vec![name]),
            Known::New => return complete(Vec::new()),
        };
        let mut set =
            vec![home.workspace(workspace), home.key(workspace, &command.client, command.key)];
        for change in command.events.iter().flat_map(|event| &event.changes) {
            self.add_change(&mut set, workspace, change);
        }
        complete(set)
    }

    fn add_change(&self, set: &mut Vec<RowId>, workspace: WorkspaceId, change: &CommandChange) {
        let home = self.home;
        // A raw id means a record that is not there yet.
        let real = |id: u64| Number::new(id).filter(|_| IdClass::of(id) != IdClass::Raw);
        match change {
            CommandChange::Create { id, kind, parent, .. } => {
                let definition = self.defined.as_ref().and_then(|defined| defined.record(kind));
                let fixed = definition.and_then(|definition| definition.singleton);
                let ids = [fixed.or_else(|| real(*id)), parent.and_then(real)];
                set.extend(ids.into_iter().flatten().map(|id| home.record(workspace, id)));
            }
            CommandChange::Update { id, .. } | CommandChange::Delete { id, .. } => {
                set.extend(real(*id).map(|id| home.record(workspace, id)));
            }
            CommandChange::Set { key, .. } | CommandChange::Unset { key, .. } => {
                set.push(home.entity(workspace, key));
            }
            CommandChange::Draw { .. } => {}
        }
    }
}

fn of_define(home: Home, define: &Define, rows: &Rows) -> ReadSet {
    let workspace = match known(home, &WorkspaceRef::Name(define.app.clone()), rows) {
        Known::Id(workspace) => workspace,
        Known::Unread(name) => return incomplete(vec![name]),
        Known::New => return complete(Vec::new()),
    };
    let mut set = of_app(home, workspace, rows);
    set.rows.push(home.workspace(workspace));
    set
}

/// The definitions of an app, and what was sent to its partitions.
fn of_app(home: Home, workspace: WorkspaceId, rows: &Rows) -> ReadSet {
    let app = home.app(workspace);
    let Some(row) = rows.peek(&app) else { return incomplete(vec![app]) };
    // What cannot be read here cannot be read by apply, which says so.
    let plain = row.and_then(|bytes| Definitions::from_bytes(bytes).ok());
    complete(plain.iter().flat_map(|plain| heads(home, &plain.app)).collect())
}

fn heads(home: Home, app: &AppSettings) -> impl Iterator<Item = RowId> {
    outbox_targets(app).map(move |target| home.outbox_head(target))
}

fn known(home: Home, workspace: &WorkspaceRef, rows: &Rows) -> Known {
    let name = match workspace {
        WorkspaceRef::Id(id) => return Known::Id(*id),
        WorkspaceRef::Name(name) => home.name(name),
    };
    match rows.peek(&name) {
        None => Known::Unread(name),
        Some(None) => Known::New,
        Some(Some(bytes)) => {
            decode_number(bytes).map_or(Known::New, |id| Known::Id(WorkspaceId(id)))
        }
    }
}

fn complete(rows: Vec<RowId>) -> ReadSet {
    ReadSet { rows, is_complete: true }
}

fn incomplete(rows: Vec<RowId>) -> ReadSet {
    ReadSet { rows, is_complete: false }
}
