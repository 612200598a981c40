//! What a partition does, said once more: slowly, and as plainly as it can be said.
//!
//! ```text
//!  entry ─► copy the whole state ─► do everything in the copy ─┬─► done: keep the copy
//!                                                              └─► refused: throw it away
//! ```
//!
//! It is written from what the design and the HTTP contract say. It knows no rows, no codec, no
//! sequencer and nothing of the machine, so that a mistake would have to be made twice to stay
//! unseen. Only `stored.rs` knows how things are stored, and what the machine's answers mean.
//!
//! **Invariant:** a refusal leaves no trace but the time, because there is nothing that could
//! hold one.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a model that panics has found something, and it says plainly what it means"
)]

mod command;
mod define;
mod numbers;
mod shape;
mod stored;

use std::collections::BTreeMap;

use super::random::Writer;
pub(super) use numbers::record_ids;
use seriatim_storage::faulty::Dice;
use seriatim_types::{
    Body, ClientId, Command, Declare, Definition, Definitions, Delivered, Delivery, DueEntity,
    DueKey, EntityKey, Entry, Event, FieldName, Fingerprint, Key, KindId, Message, Name,
    PartitionOffset, PartitionRef, Receipt, RecordClass, RecordDefinition, Retention,
    SequenceDefinition, SequenceId, Tick, Time, Unknown, WorkspaceId, WorkspaceRef, Year,
};

/// A partition: what it holds and its log.
#[derive(Debug, Clone)]
pub struct Model {
    pub(super) state: State,
    log: Vec<Event>,
}

/// What comes of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The answer.
    pub answer: Answer,
    /// The events that it made.
    pub events: Vec<Event>,
    /// What other partitions are told.
    pub messages: Vec<(PartitionRef, Delivery)>,
}

/// The answer to an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the same as those of the machine")]
pub enum Answer {
    Committed(Receipt),
    Duplicate { first: PartitionOffset, count: u32 },
    Refused(Refused),
    Declared { workspace: WorkspaceId, is_new: bool },
    Swept { entities: u32, keys: u32 },
    Received { is_new: bool },
    OutOfOrder { expected: u64 },
    Removed,
    Defined { app: u32, version: u64, is_new: bool },
}

/// Why nothing was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The stable code.
    pub code: &'static str,
    /// What is told beside the code: where, which one, what it is now.
    pub about: String,
}

/// Everything that a partition holds.
#[derive(Debug, Clone)]
pub(super) struct State {
    partition: PartitionRef,
    pub(super) time: Time,
    /// How many events its log has.
    pub(super) offset: u64,
    /// Keys of events up to this one were looked at when their time was over.
    keys_through: u64,
    pub(super) names: BTreeMap<Name, u64>,
    pub(super) workspaces: BTreeMap<u64, Workspace>,
    pub(super) definitions: Option<Definitions>,
    /// The last message of each partition.
    pub(super) received: BTreeMap<PartitionRef, u64>,
    /// The definitions of each app, by its workspace, in the system app.
    apps: BTreeMap<u64, Definitions>,
    /// Messages that are not known to have arrived, with the event that each is about.
    outbox: BTreeMap<(PartitionRef, u64), u64>,
    /// How many messages each partition was sent.
    sent: BTreeMap<PartitionRef, u64>,
}

/// A workspace, with everything in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Workspace {
    pub(super) kind: u16,
    name: Option<Name>,
    /// How many events its log has.
    pub(super) offset: u64,
    pub(super) records: BTreeMap<u64, Record>,
    pub(super) entities: BTreeMap<EntityKey, Entity>,
    keys: BTreeMap<(ClientId, Key), Kept>,
    clients: BTreeMap<ClientId, Client>,
    /// The last number of each sequence, of each year of it when it begins anew.
    pub(super) last_numbers: BTreeMap<(SequenceId, Option<Year>), u64>,
}

#[derive(Debug, Clone)]
pub(super) struct Record {
    kind: Name,
    class: RecordClass,
    parent: Option<u64>,
    pub(super) version: u64,
    offset: u64,
    fields: BTreeMap<FieldName, String>,
}

#[derive(Debug, Clone)]
pub(super) struct Entity {
    pub(super) version: u64,
    pub(super) value: String,
    pub(super) expires_at: Option<Time>,
    offset: u64,
}

/// An idempotency key, with the answer to its command.
#[derive(Debug, Clone)]
struct Kept {
    fingerprint: Fingerprint,
    time: Time,
    count: u32,
    receipt: Receipt,
}

#[derive(Debug, Clone, Default)]
struct Client {
    commands: u64,
    last_offset: u64,
}

/// The app that holds all apps.
const SYSTEM: u32 = 0;
/// From here on, the ids of workspaces belong to names.
const NAMED_FIRST: u64 = 1 << 40;
/// No number is higher.
const HIGHEST: u64 = (1 << 53) - 1;
/// Items of one tick.
const TICK_MAX: usize = 1024;
/// Messages that one entry removes from the outbox.
const DELIVERED_MAX: u64 = 1024;

impl Model {
    /// A partition of which nothing is stored.
    #[must_use]
    pub fn new(partition: PartitionRef) -> Self {
        let state = State {
            partition,
            time: Time(0),
            offset: 0,
            keys_through: 0,
            names: BTreeMap::new(),
            workspaces: BTreeMap::new(),
            definitions: None,
            received: BTreeMap::new(),
            apps: BTreeMap::new(),
            outbox: BTreeMap::new(),
            sent: BTreeMap::new(),
        };
        Self { state, log: Vec::new() }
    }

    /// What comes of an entry.
    pub fn apply(&mut self, entry: &Entry) -> Applied {
        self.state.time = self.state.time.max(entry.time);
        let mut copy = self.state.clone();
        let applied = match &entry.body {
            Body::Command(command) => copy.command(command),
            Body::Declare(declare) => copy.declare(declare),
            Body::Tick(tick) => copy.tick(tick),
            Body::Delivery(delivery) => Ok(copy.delivery(delivery)),
            Body::Delivered(delivered) => Ok(copy.delivered(*delivered)),
            Body::Define(define) => copy.define(define),
        };
        match applied {
            Ok(mut applied) => {
                self.state = copy;
                self.log.extend(applied.events.iter().cloned());
                if let (Body::Command(command), Answer::Committed(receipt)) =
                    (&entry.body, &mut applied.answer)
                {
                    let proof = || Box::new(self.proof(receipt.workspace));
                    receipt.proof = command.include_proof.then(proof);
                }
                applied
            }
            Err(refused) => Applied::only(Answer::Refused(refused)),
        }
    }

    /// A tick that names what is due at a time, at most so many items of each kind.
    #[must_use]
    pub fn tick(&self, time: Time, count_max: usize) -> Entry {
        let mut due = Vec::new();
        for (workspace, held) in &self.state.workspaces {
            for (key, entity) in &held.entities {
                if let Some(expires_at) = entity.expires_at.filter(|at| *at <= time) {
                    let workspace = WorkspaceId(*workspace);
                    due.push(DueEntity { workspace, key: key.clone(), expires_at });
                }
            }
        }
        due.sort_by_key(|due| (due.expires_at, due.workspace, due.key.clone()));
        due.truncate(count_max);
        let mut tick = Tick { entities: due, ..Tick::default() };
        for event in self.log.iter().filter(|event| event.index == 0) {
            let Some(origin) = &event.origin else { continue };
            let first = event.partition_offset.get();
            if first <= self.state.keys_through {
                continue;
            }
            if tick.keys.len() == count_max || !self.state.is_over(event.time, time) {
                break;
            }
            let (client, key) = (origin.client.clone(), origin.key);
            tick.keys.push(DueKey { workspace: event.workspace, client, key });
            tick.keys_through = PartitionOffset::new(first + u64::from(event.count) - 1);
        }
        Entry { time, body: Body::Tick(tick) }
    }

    /// A command that could come now, from a client to a workspace of this partition.
    #[must_use]
    pub fn random_command(
        &self,
        dice: Dice,
        workspace: WorkspaceRef,
        client: ClientId,
        key: Key,
        now: Time,
    ) -> Command {
        let time = self.state.time.max(now);
        Writer::new(dice, &self.state, &workspace, time).command(workspace, client, key)
    }

    /// A partition that was opened again goes on from the time that is stored: entries that were
    /// refused leave none.
    pub fn set_time(&mut self, time: Time) {
        self.state.time = time;
    }

    /// Whether an entity is still held whose time is over by now.
    #[must_use]
    pub fn holds_expired(&self, workspace: WorkspaceId, key: &EntityKey, now: Time) -> bool {
        let held = self.state.workspaces.get(&workspace.0);
        let entity = held.and_then(|held| held.entities.get(key));
        entity.and_then(|entity| entity.expires_at).is_some_and(|at| at <= now)
    }

    /// Its log.
    #[must_use]
    pub fn log(&self) -> &[Event] {
        &self.log
    }

    /// What is defined there.
    #[must_use]
    pub fn definitions(&self) -> Option<&Definitions> {
        self.state.definitions.as_ref()
    }

    /// The time of its last entry.
    #[must_use]
    pub fn time(&self) -> Time {
        self.state.time
    }

    /// The receipt that a repeated command is answered with.
    #[must_use]
    pub fn receipt(&self, first: PartitionOffset) -> Option<&Receipt> {
        let keys = self.state.workspaces.values().flat_map(|held| held.keys.values());
        keys.map(|kept| &kept.receipt).find(|receipt| receipt.first_partition_offset == first)
    }
}

impl Applied {
    /// An answer, and nothing else.
    fn only(answer: Answer) -> Self {
        Self { answer, events: Vec::new(), messages: Vec::new() }
    }
}

impl State {
    fn declare(&mut self, declare: &Declare) -> Result<Applied, Refused> {
        if self.is_system() {
            return Err(refuse("PERMISSION_DENIED", ""));
        }
        let definitions = self.definitions.clone().ok_or(refuse("APP_NOT_FOUND", ""))?;
        let (workspace, is_new) = self.find(&declare.workspace)?;
        let Some(kind) = kind_id(&definitions, &declare.kind) else {
            return Err(refuse("UNKNOWN_KIND", format!("kind {}", declare.kind)));
        };
        let held = self.workspace(workspace);
        if is_new {
            held.kind = kind.0;
        } else if held.kind != kind.0 {
            let current = kind_name(&definitions, held.kind);
            return Err(refuse("KIND_CONFLICT", current));
        }
        Ok(Applied::only(Answer::Declared { workspace: WorkspaceId(workspace), is_new }))
    }

    fn tick(&mut self, tick: &Tick) -> Result<Applied, Refused> {
        let found = tick.entities.len() + tick.keys.len();
        if found > TICK_MAX {
            return Err(refuse("TOO_LARGE", format!("{found} of {TICK_MAX}")));
        }
        let (now, through) = (self.time, tick.keys_through.map_or(0, PartitionOffset::get));
        let (mut entities, mut keys, mut is_early) = (0, 0, false);
        for due in &tick.entities {
            let Some(held) = self.workspaces.get_mut(&due.workspace.0) else { continue };
            let at = held.entities.get(&due.key).and_then(|entity| entity.expires_at);
            if at == Some(due.expires_at) && now >= due.expires_at {
                held.entities.remove(&due.key);
                entities += 1;
            }
        }
        for due in &tick.keys {
            let name = (due.client.clone(), due.key);
            let held = self.workspaces.get(&due.workspace.0);
            let Some(kept) = held.and_then(|held| held.keys.get(&name)) else { continue };
            if self.is_over(kept.time, now) {
                self.workspace(due.workspace.0).keys.remove(&name);
                keys += 1;
            } else if kept.receipt.first_partition_offset.get() <= through {
                is_early = true;
            }
        }
        if !is_early {
            self.keys_through = self.keys_through.max(through.min(self.offset));
        }
        Ok(Applied::only(Answer::Swept { entities, keys }))
    }

    fn delivery(&mut self, delivery: &Delivery) -> Applied {
        let last = self.received.get(&delivery.source).copied().unwrap_or(0);
        if delivery.number <= last {
            return Applied::only(Answer::Received { is_new: false });
        }
        if delivery.number > last + 1 {
            return Applied::only(Answer::OutOfOrder { expected: last + 1 });
        }
        self.received.insert(delivery.source, delivery.number);
        let Message::Definition { version, definition } = &delivery.message;
        step(&mut self.definitions, *version, definition);
        Applied::only(Answer::Received { is_new: true })
    }

    fn delivered(&mut self, delivered: Delivered) -> Applied {
        let Delivered { target, first, through } = delivered;
        let is_named =
            |number| first <= number && number <= through && number - first < DELIVERED_MAX;
        self.outbox.retain(|(to, number), _| *to != target || !is_named(*number));
        Applied::only(Answer::Removed)
    }

    /// The workspace that is meant, and whether it comes into being.
    fn find(&mut self, asked: &WorkspaceRef) -> Result<(u64, bool), Refused> {
        let partitions = self.partitions();
        let here = u64::from(self.partition.partition.0);
        let is_system = self.is_system();
        let invalid = || refuse("INVALID_ARGUMENT", if is_system { "name" } else { "workspace" });
        let is_id = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        let (id, name) = match asked {
            // Those from 2^40 on belong to names, and are not asked for.
            WorkspaceRef::Id(id) if id.0 >= NAMED_FIRST || id.0 % partitions != here => {
                return Err(invalid());
            }
            WorkspaceRef::Id(id) => (id.0, None),
            WorkspaceRef::Name(name)
                if name_hash(name) % partitions != here || is_id(name.as_str()) =>
            {
                return Err(invalid());
            }
            WorkspaceRef::Name(name) => {
                let next = self.names.len() as u64;
                let first = (NAMED_FIRST..).find(|id| id % partitions == here);
                let fresh = first.expect("one of so many in a row") + next * partitions;
                (*self.names.entry(name.clone()).or_insert(fresh), Some(name.clone()))
            }
        };
        let is_new = !self.workspaces.contains_key(&id);
        if is_new {
            self.workspaces.insert(id, Workspace { name, ..Workspace::default() });
        }
        Ok((id, is_new))
    }

    fn workspace(&mut self, id: u64) -> &mut Workspace {
        self.workspaces.get_mut(&id).expect("it was found before")
    }

    fn is_system(&self) -> bool {
        self.partition.app.0 == SYSTEM
    }

    fn partitions(&self) -> u64 {
        self.definitions.as_ref().map_or(1, |it| it.app.partitions.into())
    }

    /// How many idempotency keys are held, also those whose time is over.
    fn keys(&self) -> u64 {
        self.workspaces.values().map(|held| held.keys.len() as u64).sum()
    }

    /// Whether the key of a command that was carried out at a time is over.
    fn is_over(&self, made: Time, now: Time) -> bool {
        match self.definitions.as_ref().map(|it| it.app.retention) {
            Some(Retention::Milliseconds(ms)) => now.0 >= made.0 + ms,
            Some(Retention::Forever) | None => false,
        }
    }
}

impl Workspace {
    /// An entity, unless its time is over.
    pub(super) fn entity(&self, key: &EntityKey, now: Time) -> Option<&Entity> {
        self.entities.get(key).filter(|entity| entity.expires_at.is_none_or(|at| now < at))
    }
}

fn refuse(code: &'static str, about: impl ToString) -> Refused {
    Refused { code, about: about.to_string() }
}

/// Takes a step of an app's definitions.
fn step(definitions: &mut Option<Definitions>, version: u64, definition: &Definition) {
    if let Definition::App(app) = definition {
        let (kinds, sequences, records) = (Vec::new(), Vec::new(), Vec::new());
        let (app, unknown) = (app.clone(), Unknown::default());
        *definitions = Some(Definitions { version, app, kinds, sequences, records, unknown });
        return;
    }
    let definitions = definitions.as_mut().expect("an app is defined first of all");
    assert_eq!(definitions.version + 1, version, "definitions come in their order");
    definitions.version = version;
    match definition {
        Definition::App(_) => {}
        Definition::Kind(kind) => definitions.kinds.push(kind.clone()),
        Definition::Record(record) => definitions.records.push(record.clone()),
        Definition::KeyLimit(keys_max) => definitions.app.keys_max = *keys_max,
        Definition::Sequence(sequence) => {
            let mut known = definitions.sequences.iter_mut();
            match known.find(|known| known.name == sequence.name) {
                Some(known) => *known = sequence.clone(),
                None => definitions.sequences.push(sequence.clone()),
            }
        }
    }
}

fn kind_id(definitions: &Definitions, name: &Name) -> Option<KindId> {
    let defined = definitions.kinds.iter().find(|kind| kind.name == *name);
    defined.map(|kind| kind.id).or((name.as_str() == "default").then_some(KindId(0)))
}

fn sequence_definition<'a>(
    definitions: &'a Definitions,
    name: &Name,
) -> Option<&'a SequenceDefinition> {
    definitions.sequences.iter().find(|sequence| sequence.name == *name)
}

fn record_definition<'a>(
    definitions: &'a Definitions,
    name: &Name,
) -> Option<&'a RecordDefinition> {
    definitions.records.iter().find(|record| record.name == *name)
}

fn kind_name(definitions: &Definitions, id: u16) -> String {
    let defined = definitions.kinds.iter().find(|kind| kind.id.0 == id);
    defined.map_or("default".to_owned(), |kind| kind.name.as_str().to_owned())
}

/// By which names are spread over partitions.
pub(super) fn name_hash(name: &Name) -> u64 {
    let hash = seriatim_merkle::leaf_hash(name.as_str().as_bytes());
    u64::from_be_bytes(*hash.0.first_chunk().expect("32 bytes begin with 8"))
}
