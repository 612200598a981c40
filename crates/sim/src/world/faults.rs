//! What goes wrong, and that it stops going wrong.

use std::sync::Arc;
use std::time::Duration;

use seriatim_node::parts::{AHEAD_MAX, newest_time};
use seriatim_node::{ClockSettings, Reason, Settings, State};
use seriatim_storage::Store;
use seriatim_storage::faulty::{Dice, FaultyStore, PowerLoss};
use seriatim_types::{PartitionRef, Time};

use super::{Happening, World};
use crate::client::Style;
use crate::disk::End;
use crate::invariants::{self, Violation};
use crate::network::Way;
use crate::rates::{Rates, part_of};
use crate::server::{JUMPS, LONG_JUMP, Server};

/// How often somebody looks after the server.
const OPERATOR: Duration = Duration::from_millis(500);

/// How often, and how long at most, the end of a process waits for commits in flight.
pub(super) const CRASH_WAITS: u32 = 100;
const CRASH_WAIT: Duration = Duration::from_millis(3);

/// How long a process may take to end in good order, at most, and how much longer before it is killed.
const SHUT_DOWN_WITHIN: Duration = Duration::from_secs(4);
const SHUT_DOWN_GRACE: Duration = Duration::from_secs(1);

/// Settings with small limits, so that they are reached: all of them as low as they go, all high, or
/// any of them.
pub(super) fn settings(dice: &mut Dice) -> Settings {
    let kind = dice.below(3);
    let mut pick = |of: &[usize]| {
        let any = dice.index_below(of.len());
        let chosen = match kind {
            0 => of.first(),
            1 => of.last(),
            _ => of.get(any),
        };
        chosen.copied().unwrap_or(1)
    };
    let milliseconds =
        |count: usize| Duration::from_millis(u64::try_from(count).unwrap_or(u64::MAX));
    Settings {
        batch_entries_max: pick(&[1, 3, 16, 256]),
        commit_bytes: pick(&[1, 2_000, 8 * 1024 * 1024]),
        queue_max: pick(&[4, 32, 4096]),
        commits_in_flight_max: pick(&[1, 2, 4]),
        cached_rows_max: pick(&[1, 8, 1_000]),
        cached_workspaces_max: pick(&[1, 2, 1_000]),
        unflushed_rows_max: pick(&[1, 16, 4_096]),
        checkpoint_delay: milliseconds(pick(&[0, 5, 100, 10_000])),
        tick_interval: milliseconds(pick(&[50, 1_000])),
        due_items_max: pick(&[1, 3, 512]),
        actualize_events: pick(&[1, 7, 512]),
        page_events: pick(&[1, 3, 256]),
        subscription_lag_max: u64::try_from(pick(&[1, 8, 100_000])).unwrap_or(u64::MAX),
        ..Settings::default()
    }
}

/// Whether a time is further ahead of the newest one than is believed by itself.
fn is_far(newest: Option<Time>, time: Time) -> bool {
    let ahead = newest.map_or(0, |newest| time.0.saturating_sub(newest.0));
    u128::from(ahead) > AHEAD_MAX.as_millis()
}

impl World {
    /// From here on things go wrong. Enters the first of each kind.
    pub(super) fn begin_trouble(&mut self) {
        let Some(trouble) = self.trouble.take().filter(|_| !self.is_healed) else { return };
        self.rates = trouble;
        self.disk.set_healed(false);
        for (every, what) in [
            (self.rates.crash_every, Happening::Crash),
            (self.rates.shut_down_every, Happening::ShutDown),
            (self.rates.pause_every, Happening::Pause),
            (self.rates.restart_every, Happening::Restart),
            (OPERATOR, Happening::Operator),
            (self.rates.jump_every, Happening::Jump),
            (self.rates.cut_every, Happening::Cut),
            (self.rates.client_crash_every, Happening::ClientCrash),
            (self.rates.cut_every, Happening::FollowerBreaks),
            (self.rates.lull_every, Happening::Lull),
        ] {
            self.plan(every, what);
        }
    }

    pub(super) fn plan(&mut self, every: Duration, what: Happening) {
        if !self.is_healed {
            // Less of it happens while everybody rests, so that a rest costs few steps.
            let quiet = self.quiet_for();
            let is_within = self.dice.below(2) == 0;
            let quiet = if is_within { part_of(&mut self.dice, quiet) } else { quiet };
            let delay = part_of(&mut self.dice, every.saturating_mul(2));
            self.agenda.after(quiet.saturating_add(delay), what);
        }
    }

    /// Everybody rests for a while: nobody asks for anything new, and what is under way comes to its
    /// end. Some clients do not even do that, as one whose lid was closed.
    pub(super) fn lull(&mut self) {
        let now = self.agenda.now();
        // Short ones are as likely as long ones.
        let parts = 1_u32.checked_shl(u32::try_from(self.dice.below(8)).unwrap_or(0));
        let longest = self.rates.lull_for.checked_div(parts.unwrap_or(1)).unwrap_or_default();
        let length = part_of(&mut self.dice, longest);
        self.quiet_until = now.saturating_add(length);
        self.trace.line(now, format_args!("everybody rests for {} ms", length.as_millis()));
        self.count("lulls");
        for client in &mut self.clients {
            if self.dice.below(4) == 0 {
                let late = part_of(&mut self.dice, Duration::from_millis(60));
                client.wakes_at = self.quiet_until.saturating_add(late);
            }
        }
        let delay = part_of(&mut self.dice, self.rates.lull_every.saturating_mul(2));
        self.agenda.at(self.quiet_until.saturating_add(delay), Happening::Lull);
    }

    /// For how long everybody rests from now on.
    pub(super) fn quiet_for(&self) -> Duration {
        self.quiet_until.saturating_sub(self.agenda.now())
    }

    /// From here on nothing goes wrong any more.
    pub(super) fn heal(&mut self) -> Result<(), Violation> {
        let now = self.agenda.now();
        self.trace.line(now, format_args!("everything heals"));
        self.is_healed = true;
        self.rates = Rates::calm();
        self.network.heal();
        self.disk.set_healed(true);
        self.clock.set(0);
        self.paused_until = now;
        // A new process forgets whatever has got stuck in the old one, so half of them live on.
        let is_ill = self.server.as_ref().is_some_and(|server| server.store().health().is_err());
        let is_new = self.dice.below(2) == 0;
        if is_new || is_ill {
            return self.crash();
        }
        self.look_at_clock();
        if self.server.is_some() {
            self.count("covered_healed_within_a_process");
        }
        let stopped = self.server.iter().flat_map(Server::states);
        let stopped = stopped.filter(|(_, state)| matches!(state, State::Stopped(_)));
        let stopped: Vec<_> = stopped.map(|(partition, _)| partition).collect();
        stopped.into_iter().for_each(|partition| self.restart(partition));
        Ok(())
    }

    /// The process is to end. Every other time that waits a little for several commits in flight: most
    /// moments have none, and what is lost then is what is looked for.
    pub(super) fn crash_rather_in_flight(&mut self) -> Result<(), Violation> {
        let unsynced = |server: &Server| server.store().unsynced_batches();
        let unsynced = self.server.as_ref().map_or(0, unsynced);
        if unsynced < 2 && self.crash_patience > 0 {
            self.crash_patience = self.crash_patience.saturating_sub(1);
            let delay = part_of(&mut self.dice, CRASH_WAIT);
            self.agenda.after(delay, Happening::Crash);
            return Ok(());
        }
        self.crash_patience = if self.dice.below(2) == 0 { CRASH_WAITS } else { 0 };
        self.crash()
    }

    /// The process is killed or loses power, and another one begins after a while.
    pub(super) fn crash(&mut self) -> Result<(), Violation> {
        self.plan(self.rates.crash_every, Happening::Crash);
        // A kill takes nothing of what is not synced, unless a sync has failed.
        let kills = |store: &FaultyStore| match (store.health(), store.unsynced_batches()) {
            (Err(_), _) => 3,
            (Ok(_), 0 | 1) => 2,
            (Ok(_), _) => 1,
        };
        let kills = self.server.as_ref().map_or(0, |server| kills(server.store()));
        let end = if self.dice.below(4) < kills { End::Killed } else { End::PowerLost };
        self.end_process(end)
    }

    /// Somebody ends the process in good order.
    pub(super) fn shut_down(&mut self) {
        self.plan(self.rates.shut_down_every, Happening::ShutDown);
        let now = self.agenda.now();
        let Some(server) = self.server.as_mut().filter(|server| !server.is_ending()) else {
            return;
        };
        let within = part_of(&mut self.dice, SHUT_DOWN_WITHIN);
        self.trace.line(now, format_args!("server: is to end within {} ms", within.as_millis()));
        let by = now.saturating_add(within);
        server.shut_down(by, now);
        let over = Happening::ShutDownOver { life: self.life };
        self.agenda.at(by.saturating_add(SHUT_DOWN_GRACE), over);
    }

    /// A process that was told to end, and has not, is killed.
    pub(super) fn shut_down_over(&mut self, life: u64) -> Result<(), Violation> {
        if life != self.life || self.server.is_none() {
            return Ok(());
        }
        self.count("covered_shut_down_cut_off");
        self.end_process(End::Killed)
    }

    /// A process that was told to end, and has, is gone.
    pub(super) fn end_in_order(&mut self) -> Result<(), Violation> {
        let Some(server) = self.server.as_ref().filter(|server| server.has_ended()) else {
            return Ok(());
        };
        invariants::shut_down::check(self, server)?;
        let now = self.agenda.now();
        self.trace.line(now, format_args!("server: has ended"));
        self.count("covered_shut_down_in_order");
        self.end_process(End::Killed)
    }

    fn end_process(&mut self, end: End) -> Result<(), Violation> {
        let Some(server) = self.server.take() else { return Ok(()) };
        let now = self.agenda.now();
        let PowerLoss { kept, lost, torn } = self.disk.end(&mut self.dice, end);
        self.trace.line(now, format_args!("server: {end:?}, {lost} commits are gone"));
        for (is_so, what) in [
            (kept > 0 && lost > 0, "covered_some_flights_lost"),
            (kept == 0 && lost > 1, "covered_all_flights_lost"),
            (torn, "covered_torn_tail"),
            (server.has_deliveries(), "covered_delivery_cut_off"),
            (end == End::Killed && lost > 0, "covered_pages_dropped"),
            (end == End::Killed && kept > 0, "covered_tail_written_anew"),
        ] {
            if is_so {
                self.count(what);
            }
        }
        self.count(if end == End::Killed { "kills" } else { "power_losses" });
        self.life = self.life.saturating_add(1);
        self.paused_until = now;
        let reopened = self.oracle.reopen(&self.disk);
        reopened.map_err(|what| Violation::new("durability", what))?;
        self.forget_lost_commits();
        invariants::outcomes::check_denied(&self.oracle)?;
        let delay = part_of(&mut self.dice, Duration::from_millis(800));
        self.agenda.after(delay, Happening::Begin);
        self.network.end_streams();
        self.break_all();
        Ok(())
    }

    /// All connections break, and everybody notices it some time.
    fn break_all(&mut self) {
        for client in 0..self.clients.len() {
            let stream = self.clients.get(client).and_then(|client| client.stream);
            if let Some(connection) = stream {
                self.network.break_off(connection);
                let delay = part_of(&mut self.dice, Duration::from_secs(1));
                self.agenda.after(delay, Happening::Broken { client, connection });
            }
        }
        for follower in 0..self.followers.len() {
            self.reconnect(follower);
        }
    }

    pub(super) fn begin_server(&mut self) {
        let now = self.agenda.now();
        if self.server.is_some() {
            return;
        }
        self.trace.line(now, format_args!("server: begins"));
        // Somebody has changed its settings.
        if self.dice.below(2) == 0 {
            self.settings = settings(&mut self.dice);
        }
        let delay = self.settings.checkpoint_delay;
        self.checkpoint_delay_max = self.checkpoint_delay_max.max(delay);
        let store = self.disk.store().clone();
        let newest = newest_time(&(Arc::new(store.clone()) as Arc<dyn Store>));
        let strict = ClockSettings { jump_max: Some(Duration::ZERO), ..ClockSettings::default() };
        let clock = if self.dice.below(3) == 0 { ClockSettings::default() } else { strict };
        let is_served = self.dice.below(2) == 0;
        // A machine that boots may show any time until its time service has set it.
        if !self.is_healed && self.dice.below(8) == 0 {
            let ahead = i64::try_from(LONG_JUMP.as_millis()).unwrap_or(0);
            self.clock.set(if self.dice.below(3) == 0 { ahead.saturating_neg() } else { ahead });
            self.count("clock_jumps");
        }
        self.clock.begin(now, newest, clock, is_served);
        match self.clock.now(now) {
            Err(_) if !self.clock.is_right() => self.count("covered_clock_wrong_at_start"),
            Ok(time) if self.clock.is_synchronised() && is_far(newest, time) => {
                self.count("covered_clock_vouched_for");
            }
            Ok(_) | Err(_) => {}
        }
        self.server = Some(Server::begin(store, self.settings, now));
        if self.is_healed {
            self.look_at_clock();
        }
    }

    /// Somebody looks at a clock that is not believed: sets it right, or vouches for it.
    fn look_at_clock(&mut self) {
        let now = self.agenda.now();
        if self.clock.now(now).is_ok() || self.clock.is_synchronised() {
            return;
        }
        if self.clock.is_right() {
            self.trace.line(now, format_args!("server: its clock is accepted"));
            self.count("covered_clock_accepted");
            self.clock.accept(now);
        } else {
            self.trace.line(now, format_args!("server: its clock is set right"));
            self.clock.set(0);
        }
    }

    /// The process stands still for a while.
    pub(super) fn pause(&mut self) {
        self.plan(self.rates.pause_every, Happening::Pause);
        let now = self.agenda.now();
        let longest = self.quiet_for().max(Duration::from_secs(3));
        let delay = part_of(&mut self.dice, longest);
        self.paused_until = self.paused_until.max(now.saturating_add(delay));
        self.trace.line(now, format_args!("server: stands still for {} ms", delay.as_millis()));
        self.count("pauses");
        if self.clients.iter().any(|client| client.patience < delay) {
            self.count("covered_pause_beyond_patience");
        }
    }

    /// Somebody looks after the server. A partition that has stopped is restarted, the store only
    /// with the whole process.
    pub(super) fn operator_looks(&mut self) -> Result<(), Violation> {
        self.plan(OPERATOR, Happening::Operator);
        if self.dice.below(16) == 0 {
            self.look_at_clock();
        }
        let Some(server) = &self.server else { return Ok(()) };
        let mut stopped = server.states().filter_map(|(partition, state)| match state {
            State::Stopped(reason) => Some((partition, reason)),
            State::Serving | State::Actualizing(_) => None,
        });
        let Some((partition, reason)) = stopped.next() else { return Ok(()) };
        drop(stopped);
        match reason {
            Reason::Store { .. } if server.store().health().is_err() => {
                self.count("covered_store_stopped");
                self.crash()
            }
            // It could not see what it had committed, and goes on from what is stored.
            Reason::Store { .. } => {
                self.count("covered_restarted_after_a_maybe");
                self.restart(partition);
                Ok(())
            }
            Reason::Violation { what } | Reason::Unreadable { what } | Reason::Unready { what } => {
                self.cover_rot(&what);
                self.count("covered_stopped_partition_restarted");
                self.restart(partition);
                Ok(())
            }
        }
    }

    /// Somebody restarts a partition that is well, and all others go on.
    pub(super) fn restart_some(&mut self) {
        self.plan(self.rates.restart_every, Happening::Restart);
        let Some(server) = &self.server else { return };
        let serving = server.states().filter(|(_, state)| *state == State::Serving);
        let serving: Vec<_> = serving.map(|(partition, _)| partition).collect();
        if serving.is_empty() {
            return;
        }
        let chosen = serving.get(self.dice.index_below(serving.len())).copied();
        if let Some(partition) = chosen {
            self.count("covered_partition_restarted_alone");
            self.restart(partition);
        }
    }

    fn restart(&mut self, partition: PartitionRef) {
        let now = self.agenda.now();
        if let Some(server) = &mut self.server {
            server.restart(partition, now);
        }
    }

    /// Somebody sets the clock.
    pub(super) fn jump(&mut self) {
        self.plan(self.rates.jump_every, Happening::Jump);
        let now = self.agenda.now();
        let jump = match self.dice.below(6) {
            0 => LONG_JUMP,
            _ => JUMPS.get(self.dice.index_below(JUMPS.len())).copied().unwrap_or_default(),
        };
        let ahead = i64::try_from(jump.as_millis()).unwrap_or(0);
        let ahead = if self.dice.below(3) == 0 { ahead.saturating_neg() } else { ahead };
        self.clock.set(ahead);
        self.trace.line(now, format_args!("server: its clock is {ahead} ms ahead"));
        self.count("clock_jumps");
        let time = self.clock.now(now);
        if time.is_ok_and(|time| time < self.latest) {
            self.count("covered_clock_set_back");
        }
    }

    /// The way to or from a client is cut for a while.
    pub(super) fn cut(&mut self) {
        self.plan(self.rates.cut_every, Happening::Cut);
        let now = self.agenda.now();
        let until = now.saturating_add(part_of(&mut self.dice, self.rates.cut_for));
        // One client is cut off, or the server from all of them.
        let count = self.clients.len();
        let chosen = self.dice.index_below(count.max(1));
        let clients =
            if self.dice.below(4) == 0 { 0..count } else { chosen..chosen.saturating_add(1) };
        let both = [Way::ToServer, Way::FromServer];
        let ways = match self.dice.below(3) {
            0 => &both[..],
            1 => &both[..1],
            _ => &both[1..],
        };
        self.trace.line(now, format_args!("network: {ways:?} of clients {clients:?} is cut"));
        self.count("cuts");
        self.count(if ways.len() == 1 { "covered_one_way_cut" } else { "covered_full_cut" });
        for client in clients {
            ways.iter().for_each(|way| self.network.cut(client, *way, until));
            // A stream that is silent for long is given up.
            let stream = self.clients.get(client).filter(|it| it.style == Style::Stream);
            if let Some(connection) = stream.and_then(|client| client.stream)
                && self.dice.below(2) == 0
            {
                let delay = part_of(&mut self.dice, self.rates.cut_for);
                self.agenda.after(delay, Happening::Broken { client, connection });
            }
        }
    }

    pub(super) fn client_crashes(&mut self) {
        self.plan(self.rates.client_crash_every, Happening::ClientCrash);
        let now = self.agenda.now();
        let index = self.dice.index_below(self.clients.len().max(1));
        let Some(client) = self.clients.get_mut(index).filter(|client| client.is_up) else {
            return;
        };
        if let Some(connection) = client.stream {
            self.network.break_off(connection);
        }
        client.end();
        self.trace.line(now, format_args!("client {index}: is killed"));
        self.count("client_kills");
        let delay = part_of(&mut self.dice, Duration::from_secs(2));
        self.agenda.after(delay, Happening::ClientBegin { client: index });
    }
}
