//! What clients read: through the real reader, on what a partition shows, over the network.
//!
//! ```text
//!  client ─► network ─► the view is taken ─► read, at once or later ─► network ─► client
//!                       └ what must be found is noted                             └ not older than
//!                                                                                   what was known
//! ```

use std::time::Duration;

use seriatim_merkle::{ProofError, verify_consistency};
use seriatim_node::parts::{causes, prefix_of};
use seriatim_node::{ClientState, Consistency, Head, ReadFailed, Reader, View};
use seriatim_storage::{Schema, Store as _};
use seriatim_types::{
    ClientId, CommandChange, EntityKey, EntityRow, Hash, Key, Name, Number, PartitionOffset,
    PartitionRef, Receipt, RecordRow, Time, WorkspaceId, WorkspaceRef, Year,
};

use super::contended::{COUNTER, register};
use super::{Happening, World};
use crate::agenda::Moment;
use crate::client::Style;
use crate::invariants::{self, Violation};
use crate::network::Way;
use crate::rates::part_of;

/// How long a read may take that has its view.
const SLOW: Duration = Duration::from_millis(400);

/// Something that is asked.
#[derive(Debug, Clone)]
pub(crate) enum Query {
    Entity { workspace: WorkspaceId, key: EntityKey },
    Receipt { workspace: WorkspaceId, client: ClientId, key: Key },
    Head { workspace: WorkspaceId },
    Sequence { workspace: WorkspaceId, name: Name, year: Option<Year> },
    Client { workspace: WorkspaceId, client: ClientId },
    Record { workspace: WorkspaceId, id: Number },
    Records { workspace: WorkspaceId, kind: Name, from: u64, limit: usize },
    Consistency { workspace: WorkspaceId, from: u64, to: u64 },
}

/// What is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    Entity(Option<EntityRow>),
    Receipt(Option<Receipt>),
    Head(Head),
    Sequence(Option<Standing>),
    Client(Option<ClientState>),
    Record(Option<RecordRow>),
    Records(Vec<(Number, RecordRow)>),
    /// Both roots, and whether the proof holds; `None` if there are not as many events.
    Consistency(Option<(Hash, Hash, bool)>),
}

/// Where a sequence stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) last: Option<u64>,
    /// The number that comes next, and its text.
    pub(crate) next: Option<(u64, String)>,
}

/// A read that a client waits for.
#[derive(Debug)]
pub(crate) struct Reading {
    client: usize,
    life: u64,
    connection: u64,
    partition: PartitionRef,
    query: Query,
    /// The contended workspace that it is about, if it is about one.
    contended: Option<usize>,
    begun: Moment,
    /// Up to where somebody knew the partition's log when it began.
    known: u64,
    is_over: bool,
}

/// A read with the view that it has taken, and what it must find there.
#[derive(Debug)]
pub(crate) struct Taken {
    view: View,
    now: Time,
    expected: Found,
}

impl World {
    /// A client asks for something.
    pub(super) fn begin_read(&mut self, client: usize) {
        let now = self.agenda.now();
        let (query, contended) = self.some_query();
        let partition = self.partition_of(&WorkspaceRef::Id(query.workspace()));
        let known = self.known.get(&partition).copied().unwrap_or(0);
        let Some(it) = self.clients.get_mut(client) else { return };
        let (life, to) = (it.life, (client, Way::ToServer));
        let (connection, moments) = match it.style {
            Style::Stream => {
                // There is none before the first command, and none while it is broken.
                let Some(connection) = it.stream else { return };
                let moment = self.network.stream(to, now, &mut self.dice, &self.rates);
                (connection, vec![moment])
            }
            Style::OneShot => {
                let moments = self.network.single(to, now, &mut self.dice, &self.rates);
                (self.network.connect(), moments)
            }
        };
        let reading = self.readings.len();
        self.trace.line(now, format_args!("client {client}: reads {query:?}"));
        self.count("reads");
        let (begun, is_over) = (now, false);
        let it = Reading {
            client,
            life,
            connection,
            partition,
            query,
            contended,
            begun,
            known,
            is_over,
        };
        self.readings.push(it);
        for moment in moments {
            self.agenda.at(moment, Happening::Read { reading });
        }
    }

    /// A read reaches the server, and takes the view that is shown.
    pub(super) fn read_arrives(&mut self, index: usize) -> Result<(), Violation> {
        let Some(reading) = self.readings.get(index) else { return Ok(()) };
        let shared = self.server.as_ref().and_then(|server| server.shared(reading.partition));
        let settled = self.oracle.settled().find(|(name, _)| *name == reading.partition);
        let (Some(view), Some((_, model))) = (shared.and_then(|shared| shared.view()), settled)
        else {
            return Ok(());
        };
        if self.network.is_broken(reading.connection) {
            return Ok(());
        }
        invariants::reads::check_view(reading.partition, &view, model)?;
        let now = self.clock.now(self.agenda.now()).unwrap_or(Time(0));
        let expected = invariants::reads::expected(model, &reading.query, now);
        let taken = Box::new(Taken { view, now, expected });
        let is_slow = self.dice.below(4) == 0;
        let delay = if is_slow { part_of(&mut self.dice, SLOW) } else { Duration::ZERO };
        let life = self.life;
        self.agenda.after(delay, Happening::ReadRuns { life, reading: index, taken });
        Ok(())
    }

    /// It is carried out, and answered.
    pub(super) fn read_runs(
        &mut self,
        life: u64,
        index: usize,
        taken: &Taken,
    ) -> Result<(), Violation> {
        let now = self.agenda.now();
        let (Some(reading), Some(server)) = (self.readings.get(index), &self.server) else {
            return Ok(());
        };
        if life != self.life {
            return Ok(());
        }
        let Taken { view, now: time, expected } = taken;
        let found = match read(view, reading, *time, server.store().schema()) {
            Ok(found) => found,
            // Whoever asks is told so, and may ask again.
            Err(failed) if self.rates.may_fail() => {
                self.cover_rot(&causes(&failed));
                return Ok(());
            }
            Err(failed) => return Err(invariants::reads::failed(&reading.query, &failed)),
        };
        invariants::reads::check(&reading.query, view, &found, expected)?;
        let offset = view.offset.map_or(0, PartitionOffset::get);
        let shown = server.shared(reading.partition).and_then(|shared| shared.view());
        let is_old = shown.is_some_and(|shown| shown.offset != view.offset);
        let (client, connection, name) = (reading.client, reading.connection, reading.query.name());
        self.count(name);
        if is_old {
            self.count("covered_read_of_an_old_view");
        }
        let Some(it) = self.clients.get(client) else { return Ok(()) };
        let from = (client, Way::FromServer);
        let moments = match it.style {
            Style::Stream if self.network.is_broken(connection) => Vec::new(),
            Style::Stream => vec![self.network.stream(from, now, &mut self.dice, &self.rates)],
            Style::OneShot => self.network.single(from, now, &mut self.dice, &self.rates),
        };
        for moment in moments {
            let found = found.clone();
            self.agenda.at(moment, Happening::ReadAnswered { reading: index, offset, found });
        }
        Ok(())
    }

    /// The client has its answer.
    pub(super) fn read_answered(
        &mut self,
        index: usize,
        offset: u64,
        found: Found,
    ) -> Result<(), Violation> {
        let now = self.agenda.now();
        let Some(reading) = self.readings.get_mut(index) else { return Ok(()) };
        let client = self.clients.get_mut(reading.client);
        let Some(client) = client.filter(|client| client.is_up && client.life == reading.life)
        else {
            return Ok(());
        };
        let is_its = client.style == Style::OneShot || client.stream == Some(reading.connection);
        if reading.is_over || !is_its {
            return Ok(());
        }
        reading.is_over = true;
        self.trace.line(now, format_args!("client {}: has read {found:?}", reading.client));
        invariants::reads::check_order(&reading.query, reading.known, offset)?;
        let (contended, begun, partition) = (reading.contended, reading.begun, reading.partition);
        if let (Some(contended), Found::Entity(row)) = (contended, &found) {
            match row {
                Some(row) => client.known.insert(contended, (row.version, row.value.clone())),
                None => client.known.remove(&contended),
            };
        }
        if let Some(contended) = contended.and_then(|contended| self.contended.get_mut(contended)) {
            contended.reads.push((begun, now, found));
        }
        self.know(partition, offset);
        Ok(())
    }

    /// Somebody knows now that the log of a partition reaches so far.
    pub(super) fn know(&mut self, partition: PartitionRef, offset: u64) {
        let known = self.known.entry(partition).or_default();
        *known = offset.max(*known);
    }

    /// Something at a contended workspace, or something that somebody has a receipt for.
    fn some_query(&mut self) -> (Query, Option<usize>) {
        let number = self.dice.index_below(self.asked.len().max(1));
        let asked = self.asked.get(number);
        let known = asked.and_then(|asked| Some((asked, asked.receipts.last()?)));
        let (Some((asked, receipt)), true) = (known, self.dice.below(2) == 0) else {
            return self.some_query_of_contended();
        };
        let workspace = receipt.workspace;
        let head = Query::Head { workspace };
        let (drawn, from, limit) =
            (self.dice.below(10), self.dice.below(4), self.dice.index_below(4));
        let created = asked.command.events.iter().flat_map(|event| &event.changes);
        let kind = created.clone().find_map(|change| match change {
            CommandChange::Create { kind, .. } => Some(kind.clone()),
            CommandChange::Update { .. }
            | CommandChange::Delete { .. }
            | CommandChange::Set { .. }
            | CommandChange::Unset { .. }
            | CommandChange::Draw { .. } => None,
        });
        let id = receipt.ids.last().map(|(_, id)| *id);
        let query = match drawn {
            6 => Query::Client { workspace, client: asked.command.client.clone() },
            7 => {
                let to = receipt.last_offset.get();
                Query::Consistency { workspace, from: to.saturating_sub(from), to }
            }
            8 => id.map_or(head, |id| Query::Record { workspace, id }),
            9 => kind.map_or(head, |kind| {
                // From the beginning on, or from behind some record.
                let from = id.filter(|_| from == 0).map_or(0, Number::get);
                Query::Records { workspace, kind, from, limit: limit.saturating_add(1) }
            }),
            0 => head,
            1 => {
                let (client, key) = (asked.command.client.clone(), asked.command.key);
                Query::Receipt { workspace, client, key }
            }
            2 => receipt.numbers.last().map_or(head, |drawn| {
                let (name, year) = (drawn.name.clone(), drawn.year);
                Query::Sequence { workspace, name, year }
            }),
            _ => {
                let changes = asked.command.events.iter().flat_map(|event| &event.changes);
                // Rather one whose time may be over.
                let expiring = changes.clone().find_map(|change| match change {
                    CommandChange::Set { key, expires_at: Some(_), .. } => Some(key),
                    CommandChange::Set { .. }
                    | CommandChange::Unset { .. }
                    | CommandChange::Create { .. }
                    | CommandChange::Update { .. }
                    | CommandChange::Delete { .. }
                    | CommandChange::Draw { .. } => None,
                });
                let mut keys = changes.filter_map(|change| match change {
                    CommandChange::Set { key, .. } | CommandChange::Unset { key, .. } => Some(key),
                    CommandChange::Create { .. }
                    | CommandChange::Update { .. }
                    | CommandChange::Delete { .. }
                    | CommandChange::Draw { .. } => None,
                });
                let key = expiring.or_else(|| keys.next());
                key.map_or(head, |key| Query::Entity { workspace, key: key.clone() })
            }
        };
        (query, None)
    }

    fn some_query_of_contended(&mut self) -> (Query, Option<usize>) {
        let contended = self.some_contended();
        let workspace = self.contended.get(contended).expect("it was just chosen").workspace;
        let query = match self.dice.below(3) {
            0 => {
                let name = Name::new(COUNTER).expect("a short name");
                Query::Sequence { workspace, name, year: None }
            }
            _ => Query::Entity { workspace, key: register() },
        };
        (query, Some(contended))
    }
}

impl Query {
    pub(crate) fn workspace(&self) -> WorkspaceId {
        match self {
            Self::Entity { workspace, .. }
            | Self::Receipt { workspace, .. }
            | Self::Head { workspace }
            | Self::Sequence { workspace, .. }
            | Self::Client { workspace, .. }
            | Self::Record { workspace, .. }
            | Self::Records { workspace, .. }
            | Self::Consistency { workspace, .. } => *workspace,
        }
    }

    /// Under which name it is counted.
    fn name(&self) -> &'static str {
        match self {
            Self::Entity { .. } => "covered_read_of_an_entity",
            Self::Receipt { .. } => "covered_read_of_a_receipt",
            Self::Head { .. } => "covered_read_of_a_head",
            Self::Sequence { .. } => "covered_read_of_a_sequence",
            Self::Client { .. } => "covered_read_of_a_client",
            Self::Record { .. } => "covered_read_of_a_record",
            Self::Records { .. } => "covered_read_of_records",
            Self::Consistency { .. } => "covered_read_of_two_heads",
        }
    }
}

fn read(view: &View, reading: &Reading, now: Time, schema: &Schema) -> Result<Found, ReadFailed> {
    let reader = Reader::new(view, prefix_of(reading.partition), schema);
    Ok(match &reading.query {
        Query::Entity { workspace, key } => Found::Entity(reader.entity(*workspace, key, now)?),
        Query::Receipt { workspace, client, key } => {
            Found::Receipt(reader.receipt(*workspace, client, *key, now)?)
        }
        Query::Head { workspace } => Found::Head(reader.head(*workspace)?),
        Query::Sequence { workspace, name, year } => {
            let Some(workspace) = reader.workspace(&WorkspaceRef::Id(*workspace))? else {
                return Ok(Found::Sequence(None));
            };
            let state = reader.sequence(&workspace, name, *year, now)?;
            Found::Sequence(state.map(|state| Standing {
                last: state.last.map(seriatim_types::Number::get),
                next: state.next.map(|(next, text)| (next.get(), text)),
            }))
        }
        Query::Client { workspace, client } => Found::Client(reader.client(*workspace, client)?),
        Query::Record { workspace, id } => Found::Record(reader.record(*workspace, *id)?),
        Query::Records { workspace, kind, from, limit } => {
            Found::Records(reader.records(*workspace, kind, *from, *limit)?)
        }
        Query::Consistency { workspace, from, to } => {
            Found::Consistency(match reader.consistency(*workspace, *from, *to) {
                Ok(Consistency { path, from_root, to_root }) => {
                    let proved = verify_consistency(*from, *to, &from_root, &to_root, &path);
                    Some((from_root, to_root, proved.is_ok()))
                }
                Err(ProofError::OutOfRange { .. }) => None,
                Err(ProofError::Nodes(failed)) => return Err(failed),
            })
        }
    })
}
