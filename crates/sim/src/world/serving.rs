//! What the server does, and what the world does for it.

use std::time::Duration;

use seriatim_core::{DefineOutcome, Outcome, partition_of_id, partition_of_name};
use seriatim_node::{Busy, Reason, Reply, RequestError, State, Written};
use seriatim_storage::Store as _;
use seriatim_testkit::core::Answer;
use seriatim_types::{AppId, Body, PartitionRef, Time, WorkspaceRef};

use super::{DefinitionEnd, Happening, World, covering};
use crate::agenda::Moment;
use crate::answers::answer;
use crate::client::{Stage, Style};
use crate::invariants::{self, Violation};
use crate::network::Way;
use crate::oracle::show;
use crate::rates::{happens, part_of};
use crate::server::{Asker, Seen, Server, Wish};

/// The app that everything is about.
pub(crate) const SHOP: AppId = AppId(1);

/// How long it takes at most until a thread that was woken runs.
const WAKE: Duration = Duration::from_micros(300);

/// How late a timer is at least: one that is over at once would let no time pass.
const TIMER_MIN: Duration = Duration::from_micros(100);

impl World {
    pub(super) fn wake(&mut self, life: u64, partition: PartitionRef, timer: Option<Moment>) {
        let now = self.agenda.now();
        let time = self.clock.now(now);
        if let Some(server) = self.server.as_mut().filter(|_| life == self.life) {
            server.wake(partition, timer, now, time);
        }
    }

    pub(super) fn direct(&mut self, life: u64) {
        let now = self.agenda.now();
        if let Some(server) = self.server.as_mut().filter(|_| life == self.life) {
            server.direct(now);
        }
    }

    pub(super) fn synced(
        &mut self,
        life: u64,
        of: Option<PartitionRef>,
        begun: Result<(), String>,
        is_early: bool,
    ) {
        let now = self.agenda.now();
        if let Some(server) = self.server.as_mut().filter(|_| life == self.life) {
            let result = if begun.is_ok() { "" } else { ", and has failed" };
            self.trace.line(now, format_args!("disk: a sync ends{result}"));
            server.end_sync(of, begun, is_early, now);
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
        server.command(asked.partition, body, generation, (connection, id, index), now);
    }

    /// Does what the server wishes, and looks at what it has done.
    pub(super) fn fulfil(&mut self) -> Result<(), Violation> {
        // What is done for it may make it wish for more.
        while let Some(server) = &mut self.server {
            let seen = std::mem::take(&mut server.seen);
            let wishes = std::mem::take(&mut server.wishes);
            if seen.is_empty() && wishes.is_empty() {
                break;
            }
            seen.iter().try_for_each(|seen| self.look_at(seen))?;
            for wish in wishes {
                if let Wish::Answer { asker, reply } = &wish {
                    self.chains.answered(self.life, asker, reply)?;
                    self.note_denied(asker, reply);
                }
                self.fulfil_wish(wish)?;
            }
        }
        invariants::outcomes::check_denied(&self.oracle)?;
        self.check_server()?;
        self.end_in_order()
    }

    /// Looks at something that the server has done.
    fn look_at(&mut self, seen: &Seen) -> Result<(), Violation> {
        let now = self.agenda.now();
        if let Seen::Flew { batch, .. } = seen {
            let mut entries = batch.iter().map(|(entry, _)| entry);
            entries.try_for_each(|entry| invariants::clock::check(&self.clock, now, entry))?;
        }
        self.trace.line(now, format_args!("{}", invariants::show_seen(seen)));
        invariants::answered::check(seen)?;
        self.note_refusals(seen);
        self.cover(seen);
        let right = self.oracle.see(seen, &self.disk);
        right.map_err(|what| Violation::new("model", what))?;
        if matches!(seen, Seen::Restarted { .. } | Seen::Dropped { .. }) {
            self.forget_lost_commits();
        }
        if let Seen::Flew { partition, batch } = seen {
            let events: usize = batch.iter().map(|(_, applied)| applied.events.len()).sum();
            let count = self.oracle.log_ahead(*partition).len();
            if events == 0 {
                return Ok(());
            }
            let time = self.clock.now(now).unwrap_or(Time(0));
            let committed = self.committed.entry(*partition).or_default();
            committed.push((count, now, time));
        }
        Ok(())
    }

    /// What was committed and is not in the log any more has no time.
    pub(super) fn forget_lost_commits(&mut self) {
        for (partition, committed) in &mut self.committed {
            let count = self.oracle.log_ahead(*partition).len();
            committed.retain(|(behind, ..)| *behind <= count);
        }
    }

    fn note_denied(&mut self, asker: &Asker, reply: &Reply) {
        // Both are said of a command that was tried and not committed.
        let is_denied = matches!(
            reply,
            Err(RequestError::NotWritten { .. } | RequestError::Busy(Busy::DiskFull { .. }))
        );
        let (Asker::Client { asked, partition, arrived, .. }, true) = (asker, is_denied) else {
            return;
        };
        if let Some(asked) = self.asked.get(*asked) {
            self.oracle.deny(*partition, &asked.command, *arrived);
        }
    }

    /// A refusal leaves no trace. Should nobody hear of it, the command is decided anew when it comes
    /// again, behind those that came after it: it has lost its rank.
    fn note_refusals(&mut self, seen: &Seen) {
        let (Seen::Flew { batch, .. } | Seen::Dropped { batch, .. }) = seen else { return };
        for (entry, applied) in batch {
            self.latest = self.latest.max(entry.time);
            if let (Body::Command(command), Answer::Refused(_)) = (&entry.body, &applied.answer) {
                let number = self.numbers.get(&(command.key, command.fingerprint));
                if let Some(asked) = number.and_then(|number| self.asked.get_mut(*number)) {
                    asked.rank = None;
                }
            }
        }
    }

    fn fulfil_wish(&mut self, wish: Wish) -> Result<(), Violation> {
        let life = self.life;
        match wish {
            Wish::Wake { partition } => {
                let delay = part_of(&mut self.dice, WAKE);
                self.agenda.after(delay, Happening::Wake { life, partition, timer: None });
            }
            Wish::Timer { partition, at } => {
                // While everybody rests it wakes now and then all the same.
                let quiet = self.quiet_for();
                let late = part_of(&mut self.dice, quiet)
                    .saturating_add(part_of(&mut self.dice, WAKE))
                    .saturating_add(TIMER_MIN);
                let woken = Happening::Wake { life, partition, timer: Some(at) };
                self.agenda.at(at.saturating_add(late), woken);
            }
            Wish::Directory => {
                let delay = part_of(&mut self.dice, WAKE);
                self.agenda.after(delay, Happening::Direct { life });
            }
            Wish::Sync => self.begin_sync(None),
            Wish::OwnSync { partition } => self.begin_sync(Some(partition)),
            Wish::Answer { asker, reply } => self.send_answer(asker, reply)?,
        }
        Ok(())
    }

    fn begin_sync(&mut self, of: Option<PartitionRef>) {
        let (life, now) = (self.life, self.agenda.now());
        let is_early = self.dice.below(4) == 0;
        let mut delay = part_of(&mut self.dice, self.rates.sync);
        if happens(&mut self.dice, self.rates.slow_sync) {
            delay = part_of(&mut self.dice, Duration::from_secs(3));
        }
        let Some(server) = &mut self.server else { return };
        let begun = server.begin_sync(of, is_early, now);
        self.agenda.after(delay, Happening::Synced { life, of, begun, is_early });
    }

    fn send_answer(&mut self, asker: Asker, reply: Reply) -> Result<(), Violation> {
        match asker {
            Asker::Client { connection, id, asked, partition, .. } => {
                self.answer_client((connection, id, asked), partition, reply);
            }
            Asker::Definer { number } => {
                let came_to = match reply.map(Outcome::of_define) {
                    Ok(DefineOutcome { app, version, is_new }) => {
                        invariants::definitions::check_answered(self, app, version, is_new)?;
                        DefinitionEnd::Done
                    }
                    Err(error) if error.written() == Written::Refused => DefinitionEnd::Done,
                    Err(_) => DefinitionEnd::Open,
                };
                let delay = part_of(&mut self.dice, self.rates.way);
                self.agenda.after(delay, Happening::Defined { number, came_to });
            }
            Asker::Nobody => {}
        }
        Ok(())
    }

    fn answer_client(
        &mut self,
        (connection, id, number): (u64, u64, usize),
        partition: PartitionRef,
        reply: Reply,
    ) {
        let now = self.agenda.now();
        let (Some(asked), Some(server)) = (self.asked.get(number), &self.server) else {
            return;
        };
        let (client, include_proof) = (asked.client, asked.command.include_proof);
        let covered = covering::name_of(&reply);
        let shared = server.shared(partition).map(|shared| &**shared);
        let answer = answer(reply, include_proof, partition, shared, server.store().schema());
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
        let (life, to) = (it.life, (client, Way::FromServer));
        let moments = match it.style {
            Style::Stream if self.network.is_broken(connection) => return,
            Style::Stream => vec![self.network.stream(to, now, &mut self.dice, &self.rates)],
            Style::OneShot => self.network.single(to, now, &mut self.dice, &self.rates),
        };
        for moment in moments {
            let (asked, answer) = (number, answer.clone());
            let answered = Happening::Answered { client, life, connection, id, asked, answer };
            self.agenda.at(moment, answered);
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
                && !server.is_restarting(partition)
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
