//! What the server does, and what the world does for it.

use std::time::Duration;

use seriatim_core::{Outcome, partition_of_id, partition_of_name};
use seriatim_node::{Busy, Reason, Reply, State};
use seriatim_storage::Store as _;
use seriatim_testkit::core::Answer;
use seriatim_types::{AppId, Body, PartitionRef, WorkspaceRef};

use super::{DefinitionEnd, Happening, World, covering};
use crate::answers::answer;
use crate::client::{Stage, Style};
use crate::invariants::{self, Violation};
use crate::network::Way;
use crate::oracle::show;
use crate::rates::{happens, part_of};
use crate::server::{Handle, Seen, Server, Wish};

/// The app that everything is about.
pub(crate) const SHOP: AppId = AppId(1);

/// How long a partition waits for its turn at most.
const TURN: Duration = Duration::from_micros(300);

/// How long one that has nothing to do waits before it looks by itself.
const IDLE: Duration = Duration::from_millis(40);

impl World {
    pub(super) fn run_partition(&mut self, life: u64, partition: PartitionRef, is_soon: bool) {
        let now = self.clock.now(self.agenda.now());
        if let Some(server) = self.server.as_mut().filter(|_| life == self.life) {
            server.run(partition, is_soon, now);
        }
    }

    pub(super) fn synced(&mut self, life: u64, begun: Result<(), String>, is_early: bool) {
        let now = self.agenda.now();
        if let Some(server) = self.server.as_mut().filter(|_| life == self.life) {
            let result = if begun.is_ok() { "" } else { ", and has failed" };
            self.trace.line(now, format_args!("disk: a sync ends{result}"));
            server.end_sync(begun, is_early);
        }
    }

    pub(super) fn command_arrives(
        &mut self,
        connection: u64,
        generation: Option<u64>,
        id: u64,
        index: usize,
    ) {
        let now = self.agenda.now();
        let Some(asked) = self.asked.get_mut(index) else { return };
        asked.under_way = asked.under_way.saturating_sub(1);
        let is_over = generation.is_some() && self.network.has_ended(connection);
        if is_over || self.network.is_broken(connection) {
            return;
        }
        let client = asked.client;
        let Some(server) = &mut self.server else {
            // There is nobody who listens.
            self.network.break_off(connection);
            self.agenda.after(Duration::from_millis(1), Happening::Broken { client, connection });
            return;
        };
        self.trace.line(now, format_args!("server: #{index} arrives over {connection}"));
        asked.stage = Stage::AtServer;
        let body = Body::Command(asked.command.clone());
        server.command(asked.partition, body, generation, (connection, id, index));
    }

    /// Does what the server wishes, and looks at what it has done.
    pub(super) fn fulfil(&mut self) -> Result<(), Violation> {
        let Some(server) = &mut self.server else { return Ok(()) };
        let seen = std::mem::take(&mut server.seen);
        let wishes = std::mem::take(&mut server.wishes);
        for seen in &seen {
            let now = self.agenda.now();
            if let Seen::Flew { batch, .. } = seen {
                let mut entries = batch.iter().map(|(entry, _)| entry);
                entries.try_for_each(|entry| invariants::clock::check(&self.clock, now, entry))?;
            }
            self.trace.line(now, format_args!("{}", invariants::show_seen(seen)));
            self.note_refusals(seen);
            self.cover(seen);
            let right = self.oracle.see(seen, &self.disk);
            right.map_err(|what| Violation::new("model", what))?;
        }
        for wish in wishes {
            if let Wish::Answer { partition, handle, reply } = &wish {
                self.chains.answered(self.life, *partition, handle, reply)?;
                self.note_denied(*partition, handle, reply);
            }
            self.fulfil_wish(wish);
        }
        invariants::outcomes::check_denied(&self.oracle)?;
        self.check_server()
    }

    fn note_denied(&mut self, partition: PartitionRef, handle: &Handle, reply: &Reply) {
        // Both are said of a command that was tried and not committed.
        let is_denied =
            matches!(reply, Reply::NotWritten { .. } | Reply::Busy(Busy::DiskFull { .. }));
        let (Handle::Client { asked, .. }, true) = (handle, is_denied) else { return };
        if let Some(asked) = self.asked.get(*asked) {
            self.oracle.deny(partition, &asked.command);
        }
    }

    /// A refusal leaves no trace. Should nobody hear of it, the command is decided anew when it comes
    /// again, behind those that came after it: it has lost its turn.
    fn note_refusals(&mut self, seen: &Seen) {
        let (Seen::Flew { batch, .. } | Seen::Dropped { batch, .. }) = seen else { return };
        for (entry, applied) in batch {
            self.latest = self.latest.max(entry.time);
            if let (Body::Command(command), Answer::Refused(_)) = (&entry.body, &applied.answer) {
                let number = self.numbers.get(&(command.key, command.fingerprint));
                if let Some(asked) = number.and_then(|number| self.asked.get_mut(*number)) {
                    asked.turn = None;
                }
            }
        }
    }

    fn fulfil_wish(&mut self, wish: Wish) {
        let life = self.life;
        match wish {
            Wish::Run { partition, is_soon } => {
                // While everybody rests it looks now and then all the same.
                let quiet = self.quiet_for();
                let delay = match is_soon {
                    true => part_of(&mut self.dice, TURN),
                    false => part_of(&mut self.dice, quiet).saturating_add(IDLE),
                };
                self.agenda.after(delay, Happening::Run { life, partition, is_soon });
            }
            Wish::Sync => {
                let is_early = self.dice.below(2) == 0;
                let mut delay = part_of(&mut self.dice, self.rates.sync);
                if happens(&mut self.dice, self.rates.slow_sync) {
                    delay = part_of(&mut self.dice, Duration::from_secs(3));
                }
                let Some(server) = &mut self.server else { return };
                let begun = server.begin_sync(is_early);
                self.agenda.after(delay, Happening::Synced { life, begun, is_early });
            }
            Wish::Answer { partition, handle, reply } => self.send_answer(partition, handle, reply),
        }
    }

    fn send_answer(&mut self, partition: PartitionRef, handle: Handle, reply: Reply) {
        let now = self.agenda.now();
        match handle {
            Handle::Client { connection, id, asked: number, .. } => {
                let (Some(asked), Some(server)) = (self.asked.get(number), &self.server) else {
                    return;
                };
                let (client, include_proof) = (asked.client, asked.command.include_proof);
                let covered = covering::name_of(&reply);
                let shared = server.shared(partition).map(|shared| &**shared);
                let schema = server.store().schema();
                let answer = answer(reply, include_proof, partition, shared, schema);
                if let Err(failure) = &answer {
                    let code = failure.error.code();
                    self.trace.line(now, format_args!("server: #{number} is answered {code}"));
                }
                if let Some(covered) = covered {
                    self.count(covered);
                }
                if let Some(asked) = self.asked.get_mut(number) {
                    asked.stage = Stage::Answered;
                }
                let Some(it) = self.clients.get(client) else { return };
                let life = it.life;
                let moments = match it.style {
                    Style::Stream if self.network.is_broken(connection) => return,
                    Style::Stream => {
                        let to = (client, Way::FromServer);
                        vec![self.network.stream(to, now, &mut self.dice, &self.rates)]
                    }
                    Style::OneShot => {
                        let to = (client, Way::FromServer);
                        self.network.single(to, now, &mut self.dice, &self.rates)
                    }
                };
                for moment in moments {
                    let answer = answer.clone();
                    let asked = number;
                    self.agenda.at(
                        moment,
                        Happening::Answered { client, life, connection, id, asked, answer },
                    );
                }
            }
            Handle::Definer { number } => {
                let came_to = match reply {
                    Reply::Applied(Outcome::Defined { app, version, .. }) => {
                        DefinitionEnd::Decided { app, version }
                    }
                    Reply::Applied(Outcome::Refused(_)) => DefinitionEnd::Refused,
                    Reply::Applied(_)
                    | Reply::Busy(_)
                    | Reply::NotWritten { .. }
                    | Reply::Unknown { .. }
                    | Reply::Stopped(_) => DefinitionEnd::Open,
                };
                let delay = part_of(&mut self.dice, self.rates.way);
                self.agenda.after(delay, Happening::Defined { number, came_to });
            }
            Handle::Outbox { .. } | Handle::Nobody => {}
        }
    }

    /// What must hold of a server at any time.
    fn check_server(&mut self) -> Result<(), Violation> {
        let Some(server) = &self.server else { return Ok(()) };
        invariants::bounded::check(server)?;
        for (partition, state) in server.states() {
            invariants::start_up::check(self, partition, &state)?;
            self.check_nodes(server, partition, &state)?;
            if let State::Stopped(Reason::Violation { what }) = state {
                let what = format!("partition {} has stopped: {what}", show(partition));
                return Err(Violation::new("no_stop", what));
            }
            if let State::Stopped(Reason::Unreadable { what }) = state
                && !self.rates.may_fail()
            {
                let what = format!("partition {} cannot be read: {what}", show(partition));
                return Err(Violation::new("no_stop", what));
            }
        }
        Ok(())
    }

    /// One that has stopped may have written a checkpoint without knowing it.
    fn check_nodes(
        &self,
        server: &Server,
        partition: PartitionRef,
        state: &State,
    ) -> Result<(), Violation> {
        if matches!(state, State::Stopped(_)) {
            return Ok(());
        }
        let uncovered = self.oracle.behind_checkpoint(&self.disk, partition);
        invariants::bounded::check_nodes(partition, server.waiting_nodes(partition), uncovered)
    }

    /// The partition of a workspace.
    pub(super) fn partition_of(&self, workspace: &WorkspaceRef) -> PartitionRef {
        let partition = match workspace {
            WorkspaceRef::Id(id) => partition_of_id(*id, self.partitions),
            WorkspaceRef::Name(name) => partition_of_name(name, self.partitions),
        };
        PartitionRef { app: SHOP, partition }
    }
}
