//! What clients do: ask, ask again, and take what they are told.

use std::sync::Arc;
use std::time::Duration;

use seriatim_client::parts::{BEHIND_THE_KEY, Failure, Outcome, Target};
use seriatim_storage::faulty::Dice;
use seriatim_types::{
    Body, ClientId, Command, Declare, Definitions, Key, Name, PartitionRef, Retention, Time,
    WorkspaceId, WorkspaceRef,
};

use super::{DefinitionEnd, Happening, World};
use crate::agenda::Moment;
use crate::answers::Answer;
use crate::client::{Asked, Client, Ended, Stage, Style, error};
use crate::invariants::{self, Violation};
use crate::network::Way;
use crate::rates::{happens, part_of};
use crate::server::world_time;

/// How long a request is waited for before it is sent again.
const ATTEMPT: Duration = Duration::from_millis(400);

/// How long a client waits before it connects again, at most.
const RECONNECT: Duration = Duration::from_millis(200);

/// How many commands a client sends at once, at most.
const BURST_MAX: u64 = 12;

/// How long a client thinks before it asks for the next thing, at most.
const THINKING: Duration = Duration::from_millis(60);

/// Refusals of a partition that are found before a command's key is looked at. Of a workspace that is not
/// there (`NOT_FOUND`) no key was ever used, so that one is about the key too.
const BEFORE_THE_KEY: [&str; 2] = ["APP_NOT_FOUND", "PERMISSION_DENIED"];

impl World {
    pub(super) fn invite_clients(&mut self) {
        let count = self.dice.below(5).saturating_add(2);
        for number in 0..count {
            let style = if self.dice.below(3) == 0 { Style::OneShot } else { Style::Stream };
            let name = ClientId::new(format!("client-{number}").as_bytes()).expect("a short name");
            self.clients.push(Client::new(name, style, &mut self.dice));
            let client = self.clients.len().saturating_sub(1);
            let delay = part_of(&mut self.dice, Duration::from_millis(300));
            self.agenda.after(delay, Happening::Client { client, life: 0 });
        }
    }

    /// A client looks at its clock, asks for something, sends what there is to send.
    pub(super) fn client_acts(&mut self, index: usize, life: u64) -> Result<(), Violation> {
        let now = self.agenda.now();
        let Some(client) = self.clients.get_mut(index).filter(|it| it.is_up && it.life == life)
        else {
            return Ok(());
        };
        if now < client.wakes_at {
            self.agenda.at(client.wakes_at, Happening::Client { client: index, life });
            return Ok(());
        }
        let instant = client.instant(now);
        for (asked, failure) in client.pipeline.tick(instant) {
            self.cover_impatience(asked);
            self.end_of(index, asked, Err(failure), false)?;
        }
        invariants::patience::check(self, index)?;
        self.look_for_lost(index);
        match self.dice.below(8) {
            _ if self.is_healed => self.ask_again(index),
            _ if !self.quiet_for().is_zero() => {}
            0 => self.begin_read(index),
            1 | 2 => self.ask_again(index),
            3 | 4 => self.ask_contended(index),
            5 => {
                // Several at once, so that commits are shared and follow each other closely.
                for _ in 0..self.dice.below(BURST_MAX) {
                    self.ask(index);
                }
            }
            _ => self.ask(index),
        }
        self.send_all(index);
        let delay = part_of(&mut self.dice, THINKING).saturating_add(Duration::from_millis(1));
        let has_work = |client: &Client| client.pipeline.unsettled() > 0;
        let is_at_work = self.clients.get(index).is_some_and(has_work);
        let rest = if is_at_work { Duration::ZERO } else { self.quiet_for() };
        self.agenda.after(rest.saturating_add(delay), Happening::Client { client: index, life });
        Ok(())
    }

    /// Requests that were not answered in time are sent again.
    fn look_for_lost(&mut self, index: usize) {
        let now = self.agenda.now();
        let Some(client) = self.clients.get_mut(index) else { return };
        let is_late = |since: &Moment| now.saturating_sub(*since) > ATTEMPT;
        if client.attempts.values().any(|(_, since)| is_late(since)) {
            client.attempts.clear();
            let lost = error("UNAVAILABLE", Outcome::Unknown, true, "").error;
            let instant = client.instant(now);
            client.pipeline.broken(&lost, instant);
            self.trace.line(now, format_args!("client {index}: waited long enough"));
        }
    }

    /// Asks for something new.
    fn ask(&mut self, index: usize) {
        let workspace = self.some_workspace();
        let partition = self.partition_of(&workspace);
        let Some(client) = self.with_room(index, partition) else { return };
        let misused = if self.dice.below(4) == 0 { self.used_key(index, &workspace) } else { None };
        let key = misused.unwrap_or_else(|| self.new_key());
        let dice = Dice::new(self.dice.next_u64());
        let time = world_time(self.agenda.now());
        let model = self.model(partition);
        let command = model.random_command(dice, workspace, client, key, time);
        if !self.numbers.contains_key(&(command.key, command.fingerprint)) {
            self.take_on(index, partition, command);
        }
    }

    /// Asks for something new where everybody does the same, one thing at a time.
    fn ask_contended(&mut self, index: usize) {
        let at = self.some_contended();
        let contended = self.contended.get(at).expect("it was just chosen");
        let workspace = WorkspaceRef::Id(contended.workspace);
        let is_busy = self
            .clients
            .get(index)
            .is_some_and(|client| contended.asked.iter().any(|asked| client.kept.contains(asked)));
        let partition = self.partition_of(&workspace);
        let Some(client) = self.with_room(index, partition).filter(|_| !is_busy) else { return };
        let events = self.something_contended(index, at);
        let command = Command {
            workspace,
            client,
            key: self.new_key(),
            fingerprint: seriatim_codec::fingerprint(&events, None),
            deadline: None,
            if_offset: None,
            include_proof: false,
            events,
        };
        if let Some(contended) = self.contended.get_mut(at) {
            contended.asked.push(self.asked.len());
        }
        self.take_on(index, partition, command);
    }

    /// The name of a client that may ask for one more thing, of a partition that is defined.
    fn with_room(&mut self, index: usize, partition: PartitionRef) -> Option<ClientId> {
        let is_defined = |definitions: &Definitions| {
            definitions.records.len() > 4 && definitions.sequences.len() > 4
        };
        let is_ready = self.model(partition).definitions().is_some_and(is_defined);
        let client = self.clients.get(index)?;
        let has_room = client.pipeline.unsettled() < client.room;
        (is_ready && has_room).then(|| client.name.clone())
    }

    fn new_key(&mut self) -> Key {
        self.keys = self.keys.saturating_add(1);
        Key(self.keys.to_be_bytes())
    }

    /// A key that a client has used in a workspace, and uses for something else by mistake; or one
    /// that somebody has used elsewhere, which means nothing.
    fn used_key(&mut self, index: usize, workspace: &WorkspaceRef) -> Option<Key> {
        let is_anybodys = self.dice.below(2) == 0;
        let asked = self.asked.get(self.dice.index_below(self.asked.len().max(1)))?;
        let is_its = asked.client == index && asked.command.workspace == *workspace;
        (is_anybodys || is_its).then_some(asked.command.key)
    }

    fn take_on(&mut self, index: usize, partition: PartitionRef, command: Command) {
        let workspace = show(&command.workspace);
        let target = Arc::new(Target { app: "shop".to_owned(), workspace });
        let number = self.asked.len();
        let before = self.numbers.insert((command.key, command.fingerprint), number);
        assert!(before.is_none(), "a key and what is asked under it tell commands apart");
        self.asked.push(Asked {
            client: index,
            partition,
            target,
            command,
            rank: None,
            asked_at: self.agenda.now(),
            ended: None,
            receipts: Vec::new(),
            done_at: None,
            ended_at: None,
            ended_time: Time(0),
            is_open: false,
            stage: Stage::Waiting,
            turned_away: 0,
            submitted_at: self.agenda.now(),
            under_way: 0,
            was_hasty: false,
        });
        self.submit(index, number, true);
    }

    /// Something whose end is not known is sent again, with its key.
    fn ask_again(&mut self, index: usize) {
        let is_open = |asked: &usize| {
            let ended = self.asked.get(*asked).and_then(|asked| asked.ended.as_ref());
            matches!(ended, Some(Ended::Unknown | Ended::NotWritten))
        };
        let Some(client) = self.clients.get(index) else { return };
        let first = client.kept.iter().copied().find(is_open);
        let first = first.or_else(|| self.something_done(index));
        if let Some(asked) = first {
            if let Some(asked) = self.asked.get_mut(asked) {
                asked.ended = None;
            }
            self.submit(index, asked, false);
        }
    }

    /// Something that was answered is sent again all the same, now and then.
    fn something_done(&mut self, index: usize) -> Option<usize> {
        if self.is_healed || self.dice.below(3) != 0 || self.asked.is_empty() {
            return None;
        }
        // Rather one whose key is just being forgotten.
        let just_over = self.retention_is_just_over();
        let is_done =
            |asked: &Asked| asked.client == index && matches!(asked.ended, Some(Ended::Done(_)));
        let forgotten = self.asked.iter().position(|asked| {
            is_done(asked) && asked.done_at.is_some_and(|at| just_over.contains(&at))
        });
        let any = self.dice.index_below(self.asked.len());
        let any = self.asked.get(any).is_some_and(is_done).then_some(any);
        if self.dice.below(2) == 0 { forgotten.or(any) } else { any }
    }

    /// When commands were carried out whose keys have been over for no more than a second.
    fn retention_is_just_over(&self) -> std::ops::Range<Moment> {
        let Retention::Milliseconds(ms) = self.retention else { return Moment::ZERO..Moment::ZERO };
        let until = self.agenda.now().saturating_sub(Duration::from_millis(ms));
        until.saturating_sub(Duration::from_secs(1))..until
    }

    fn submit(&mut self, index: usize, number: usize, is_new: bool) {
        let now = self.agenda.now();
        let (Some(client), Some(asked)) = (self.clients.get_mut(index), self.asked.get_mut(number))
        else {
            return;
        };
        client.turns = client.turns.saturating_add(1);
        asked.rank = is_new.then_some((client.life, client.turns));
        client.kept.insert(number);
        (asked.stage, asked.turned_away, asked.submitted_at) = (Stage::Waiting, 0, now);
        let instant = client.instant(now);
        client.pipeline.submit(asked.target.clone(), number, instant);
        let to = invariants::show_partition(asked.partition);
        self.trace.line(now, format_args!("client {index}: asks #{number} of {to}"));
        self.count("commands");
    }

    fn send_all(&mut self, index: usize) {
        loop {
            let now = self.agenda.now();
            let Some(client) = self.clients.get_mut(index).filter(|client| client.is_up) else {
                return;
            };
            if now < client.connects_at {
                return;
            }
            let style = client.style;
            let Some(sending) = client.pipeline.send_next() else { return };
            let (id, generation, asked) = (sending.id, sending.generation, *sending.job);
            let (connection, moments) = match style {
                Style::Stream => {
                    let connection = match client.stream {
                        Some(connection) => connection,
                        None => *client.stream.insert(self.network.connect()),
                    };
                    let to = (index, Way::ToServer);
                    let moment = self.network.stream(to, now, &mut self.dice, &self.rates);
                    if happens(&mut self.dice, self.rates.snap) {
                        let delay = part_of(&mut self.dice, self.rates.way.saturating_mul(3));
                        self.agenda.after(delay, Happening::Broken { client: index, connection });
                    }
                    (connection, vec![moment])
                }
                Style::OneShot => {
                    let connection = self.network.connect();
                    client.attempts.insert(id, (connection, now));
                    let to = (index, Way::ToServer);
                    (connection, self.network.single(to, now, &mut self.dice, &self.rates))
                }
            };
            let generation = (style == Style::Stream).then_some(generation);
            let is_doubled = moments.len() > 1;
            for moment in moments {
                if let Some(asked) = self.asked.get_mut(asked) {
                    asked.under_way = asked.under_way.saturating_add(1);
                    asked.stage = Stage::ToServer;
                    // The answer to one copy says nothing of the other.
                    asked.was_hasty |= is_doubled;
                }
                self.agenda.at(moment, Happening::Command { connection, generation, id, asked });
            }
        }
    }

    pub(super) fn stream_breaks(&mut self, index: usize, connection: u64) {
        let now = self.agenda.now();
        let Some(client) = self.clients.get_mut(index) else { return };
        // What the server has not read may be lost, or not.
        if self.dice.below(2) == 0 {
            self.network.break_off(connection);
            self.server.iter_mut().for_each(|server| server.hang_up(connection));
        }
        if client.stream != Some(connection) {
            return;
        }
        client.stream = None;
        client.connects_at = now.saturating_add(part_of(&mut self.dice, RECONNECT));
        let broken = error("UNAVAILABLE", Outcome::Unknown, true, "").error;
        let instant = client.instant(now);
        client.pipeline.broken(&broken, instant);
        self.trace.line(now, format_args!("client {index}: connection {connection} is broken"));
        self.count("broken_streams");
    }

    pub(super) fn answer_arrives(
        &mut self,
        (index, life): (usize, u64),
        connection: u64,
        (id, asked): (u64, usize),
        answer: Answer,
    ) -> Result<(), Violation> {
        let now = self.agenda.now();
        let Some(client) = self.clients.get_mut(index) else { return Ok(()) };
        if now < client.wakes_at {
            let answered =
                Happening::Answered { client: index, life, connection, id, asked, answer };
            self.agenda.at(client.wakes_at, answered);
            return Ok(());
        }
        let is_its = match client.style {
            Style::Stream => client.stream == Some(connection),
            Style::OneShot => client.attempts.get(&id).is_some_and(|it| it.0 == connection),
        };
        if !client.is_up || client.life != life || !is_its {
            return Ok(());
        }
        client.attempts.remove(&id);
        let instant = client.instant(now);
        match client.pipeline.answered(id, answer, instant) {
            Some((asked, answer)) => self.end_of(index, asked, answer, true)?,
            None => self.cover_turned_away(asked),
        }
        self.send_all(index);
        Ok(())
    }

    /// A client knows what came of a command, or gives it up.
    fn end_of(
        &mut self,
        index: usize,
        number: usize,
        answer: Result<seriatim_types::Receipt, Failure>,
        is_answered: bool,
    ) -> Result<(), Violation> {
        let now = self.agenda.now();
        let is_decided = is_answered
            && match &answer {
                Ok(_) => true,
                Err(Failure { error, outcome: Outcome::Refused }) => {
                    !BEFORE_THE_KEY.contains(&error.code())
                }
                Err(Failure { error, .. }) => BEHIND_THE_KEY.contains(&error.code()),
            };
        let chance = self.chance_to_give_up(&answer, is_answered);
        let ended = match answer {
            Ok(receipt) => Ended::Done(receipt),
            Err(Failure { error, outcome }) => match outcome {
                Outcome::Refused => Ended::Refused(error.code().to_owned()),
                Outcome::NotWritten => Ended::NotWritten,
                Outcome::Unknown => Ended::Unknown,
            },
        };
        let short = invariants::show_ended(&ended);
        self.trace.line(now, format_args!("client {index}: #{number} is {short}"));
        self.count(invariants::name_of(&ended));
        let gives_up = self.dice.below(100) < chance;
        let (Some(client), Some(asked)) = (self.clients.get_mut(index), self.asked.get_mut(number))
        else {
            return Ok(());
        };
        // A call speaks of its own attempts: what an earlier one has left open stays open, unless the
        // key was looked at.
        asked.is_open = !is_decided && (asked.is_open || ended == Ended::Unknown);
        let ended = if asked.is_open { Ended::Unknown } else { ended };
        asked.was_hasty |= asked.under_way > 0;
        if let Ended::Done(receipt) = &ended {
            let settled = self.oracle.settled().find(|(name, _)| *name == asked.partition);
            let definitions = settled.and_then(|(_, model)| model.definitions());
            let retention = definitions.map(|definitions| definitions.app.retention);
            invariants::receipts::check(number, &asked.receipts, receipt, retention)?;
            asked.receipts.push(receipt.clone());
            asked.done_at = asked.done_at.or(Some(now));
        }
        if gives_up || matches!(ended, Ended::Done(_) | Ended::Refused(_)) {
            client.kept.remove(&number);
        }
        asked.ended_at = Some(now);
        asked.ended_time = self.latest;
        let known = match &ended {
            Ended::Done(receipt) => Some((asked.partition, receipt.last_partition_offset)),
            Ended::Refused(_) | Ended::NotWritten | Ended::Unknown => None,
        };
        let is_left = gives_up && ended == Ended::Unknown;
        asked.ended = Some(ended);
        if let Some((partition, last)) = known {
            self.know(partition, last.get());
        }
        if is_left {
            self.count("covered_unknown_left_so");
        }
        Ok(())
    }

    /// How likely a caller is to give something up that was not carried out, out of a hundred.
    fn chance_to_give_up(&self, answer: &Answer, is_answered: bool) -> u64 {
        let Err(Failure { error, outcome }) = answer else { return 0 };
        match (outcome, error.code()) {
            // It is too late for good.
            (Outcome::NotWritten, "DEADLINE_EXCEEDED") if is_answered => 100,
            (Outcome::NotWritten, "KEY_WINDOW_FULL") => 90,
            (Outcome::NotWritten, _) => 25,
            (Outcome::Unknown, _) if self.is_healed => 0,
            (Outcome::Unknown, _) => 10,
            (Outcome::Refused, _) => 0,
        }
    }

    /// A client begins again, and first of all sends what it has kept, in its order.
    pub(super) fn client_begins(&mut self, index: usize) {
        let now = self.agenda.now();
        let seed = self.dice.next_u64();
        let Some(client) = self.clients.get_mut(index) else { return };
        client.begin(seed);
        let (kept, life) = (client.kept.clone(), client.life);
        self.trace.line(now, format_args!("client {index}: begins, has kept {}", kept.len()));
        for asked in kept {
            if let Some(asked) = self.asked.get_mut(asked) {
                asked.ended = None;
                // It may have been written before.
                asked.is_open = true;
            }
            self.submit(index, asked, false);
        }
        self.agenda.after(Duration::ZERO, Happening::Client { client: index, life });
    }

    pub(super) fn definer_acts(&mut self) {
        let now = self.agenda.now();
        let is_impatient = !self.is_healed && self.dice.below(8) == 0;
        let definer = &mut self.definer;
        // One who does not wait until all partitions have a definition goes on to the next one.
        if is_impatient && definer.opening.is_empty() {
            definer.current = None;
        }
        if definer.current.is_none() {
            // Once the app is there, definitions are rare.
            definer.current = match definer.opening.pop() {
                Some(next) => Some(next),
                None if self.is_healed || self.dice.below(definer.rest) != 0 => None,
                None => Some(definer.requests.next(&mut self.dice)),
            };
            definer.number = definer.number.saturating_add(1);
        }
        let number = definer.number;
        let is_free = definer.current.is_none() && !self.is_healed;
        if definer.current.is_some() && !happens(&mut self.dice, self.rates.lose) {
            self.trace.line(now, format_args!("definer: asks for definition {number}"));
            let delay = part_of(&mut self.dice, self.rates.way);
            self.agenda.after(delay, Happening::Define { number });
        }
        if is_free && self.dice.below(12) == 0 {
            self.declare_some();
        }
        let longest = Duration::from_millis(if self.definer.rest == 1 { 12 } else { 60 });
        let pause = part_of(&mut self.dice, longest);
        let pause = pause.saturating_add(Duration::from_millis(5));
        self.agenda.after(self.quiet_for().saturating_add(pause), Happening::Definer);
    }

    /// Somebody wants a workspace to be of a kind. It has events already, or another kind, or neither.
    fn declare_some(&mut self) {
        let kinds = ["default", "warehouse", "warehouse", "depot"];
        let kind = kinds.get(self.dice.index_below(kinds.len())).copied().unwrap_or("default");
        let kind = Name::new(kind).expect("a short name");
        let declare = Declare { workspace: self.some_declared(), kind };
        if !happens(&mut self.dice, self.rates.lose) {
            let delay = part_of(&mut self.dice, self.rates.way);
            self.agenda.after(delay, Happening::Declare { declare });
        }
    }

    pub(super) fn declare_arrives(&mut self, declare: Declare) {
        let (partition, now) = (self.partition_of(&declare.workspace), self.agenda.now());
        if let Some(server) = &mut self.server {
            server.declare(partition, Body::Declare(declare), now);
        }
    }

    pub(super) fn define_arrives(&mut self, number: u64) {
        let (current, now) = (self.definer.current.clone(), self.agenda.now());
        if let (Some(define), Some(server)) =
            (current.filter(|_| number == self.definer.number), &mut self.server)
        {
            server.define(define, number, now);
        }
    }

    pub(super) fn defined(&mut self, number: u64, came_to: DefinitionEnd) {
        if matches!(came_to, DefinitionEnd::Done) && number == self.definer.number {
            self.definer.current = None;
            if self.definer.opening.is_empty() {
                self.begin_trouble();
            }
        }
    }

    /// Few workspaces, of which one is hot.
    fn some_workspace(&mut self) -> WorkspaceRef {
        match self.dice.below(10) {
            0..4 => WorkspaceRef::Id(WorkspaceId(7)),
            4..6 => WorkspaceRef::Id(WorkspaceId(self.dice.below(12).saturating_add(1))),
            6 => self.some_declared(),
            _ => {
                let name = format!("store-{}", self.dice.below(8));
                WorkspaceRef::Name(Name::new(&name).expect("a short name"))
            }
        }
    }

    /// A workspace that is declared some time.
    fn some_declared(&mut self) -> WorkspaceRef {
        WorkspaceRef::Id(WorkspaceId(self.dice.below(6).saturating_add(20)))
    }
}

fn show(workspace: &WorkspaceRef) -> String {
    match workspace {
        WorkspaceRef::Id(id) => id.0.to_string(),
        WorkspaceRef::Name(name) => name.as_str().to_owned(),
    }
}
