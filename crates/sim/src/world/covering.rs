//! Takes note of what a run has shown, so that runs can be asked what they never did.

use std::collections::BTreeMap;

use seriatim_node::{Busy, Reply, RequestError, State};
use seriatim_testkit::core::{Answer, Model};
use seriatim_types::{
    Body, Change, Command, CommandChange, Condition, DefineRequest, Entry, Event, PartitionRef,
    Receipt, Retention, SequenceId, WorkspaceId, WorkspaceRef, Year,
};

use super::World;
use crate::client::Stage;
use crate::server::Seen;

/// How often in a row a client is turned away before it waits for as long as it ever does.
const TIMES_TO_THE_LONGEST: u32 = 8;

/// The year in which each sequence was last drawn from.
pub(crate) type Years = BTreeMap<(WorkspaceId, SequenceId), Year>;

/// Refusals, and under which name they are counted.
const REFUSALS: [(&str, &str); 16] = [
    ("DEADLINE_EXCEEDED", "covered_deadline_exceeded"),
    ("IDEMPOTENCY_KEY_REUSED", "covered_idempotency_key_reused"),
    ("INVALID_ARGUMENT", "covered_invalid_argument"),
    ("KEY_EXISTS", "covered_key_exists"),
    ("KEY_NOT_FOUND", "covered_key_not_found"),
    ("KEY_WINDOW_FULL", "covered_key_window_full"),
    ("OFFSET_MISMATCH", "covered_offset_mismatch"),
    ("RECORD_EXISTS", "covered_record_exists"),
    ("RECORD_NOT_FOUND", "covered_record_not_found"),
    ("SEQUENCE_EXHAUSTED", "covered_sequence_exhausted"),
    ("SINGLETON_EXISTS", "covered_singleton_exists"),
    ("TOO_LARGE", "covered_too_large"),
    ("UNKNOWN_KIND", "covered_unknown_kind"),
    ("UNKNOWN_SEQUENCE", "covered_unknown_sequence"),
    ("VALUE_MISMATCH", "covered_value_mismatch"),
    ("VERSION_MISMATCH", "covered_version_mismatch"),
];

/// Under which name an answer is counted that is not about what was decided.
pub(super) fn name_of(reply: &Reply) -> Option<&'static str> {
    let Err(error) = reply else { return None };
    match error {
        RequestError::Refused(_) => None,
        RequestError::Busy(Busy::Actualizing(_)) => Some("covered_busy_actualizing"),
        RequestError::Busy(Busy::Unflushed) => Some("busy_unflushed"),
        RequestError::Busy(Busy::Clock(_)) => Some("covered_busy_clock"),
        RequestError::Busy(Busy::DiskFull { .. }) => Some("covered_busy_disk_full"),
        RequestError::Busy(Busy::Behind) => Some("covered_busy_behind"),
        RequestError::Busy(Busy::QueueFull { .. }) => Some("covered_busy_queue_full"),
        RequestError::Busy(Busy::QueueLarge { .. }) => Some("busy_queue_large"),
        RequestError::NotWritten { .. } => Some("covered_answer_not_written"),
        RequestError::Unknown { .. } => Some("covered_answer_unknown"),
        RequestError::Stopped(_) => Some("covered_answer_stopped"),
    }
}

impl World {
    /// Takes note of what was seen, before the oracle does.
    pub(super) fn cover(&mut self, seen: &Seen) {
        let mut covered = Vec::new();
        match seen {
            Seen::Flew { partition, batch } => {
                for (entry, applied) in batch {
                    self.cover_stage(&entry.body);
                    let log = self.oracle.ahead(*partition);
                    cover_expired(entry, log, &mut covered);
                    cover_answer(&entry.body, &applied.answer, log, &mut covered);
                    if let (Body::Command(command), Answer::Committed(receipt)) =
                        (&entry.body, &applied.answer)
                    {
                        let is_again = self.is_used_again(*partition, command, receipt);
                        covered.extend(is_again.then_some("covered_key_used_again"));
                        cover_command(command, &applied.events, &mut covered);
                        self.cover_years(receipt, &mut covered);
                    }
                }
            }
            Seen::Dropped { is_maybe: true, .. } => covered.push("covered_commit_maybe"),
            Seen::Dropped { partition, .. } => {
                let mut states = self.server.iter().flat_map(|server| server.states());
                let state = states.find(|(name, _)| name == partition);
                let is_full = matches!(state, Some((_, State::Actualizing(_))));
                covered.extend(is_full.then_some("covered_disk_full"));
            }
            Seen::Decided { .. }
            | Seen::Landed { .. }
            | Seen::Restarted { .. }
            | Seen::Unanswered { .. } => {}
        }
        covered.into_iter().for_each(|what| self.count(what));
    }

    /// A command is on its way to the disk.
    fn cover_stage(&mut self, body: &Body) {
        let Body::Command(command) = body else { return };
        let number = self.numbers.get(&(command.key, command.fingerprint));
        if let Some(asked) = number.and_then(|number| self.asked.get_mut(*number)) {
            asked.stage = Stage::Committing;
        }
    }

    /// A client loses its patience with a command.
    pub(super) fn cover_impatience(&mut self, asked: usize) {
        let Some(asked) = self.asked.get(asked) else { return };
        self.count(match asked.stage {
            Stage::Waiting => "covered_patience_ends_before_it_is_sent",
            Stage::ToServer => "covered_patience_ends_on_its_way",
            Stage::AtServer => "covered_patience_ends_at_the_server",
            Stage::Committing => "covered_patience_ends_before_the_sync",
            Stage::Answered => "covered_patience_ends_before_the_answer",
        });
    }

    /// Something could not be read.
    pub(super) fn cover_rot(&mut self, why: &str) {
        if why.contains("checksum") {
            self.count("covered_rot_found");
        }
    }

    /// A command was turned away, and its client tries again by itself.
    pub(super) fn cover_turned_away(&mut self, asked: usize) {
        let Some(asked) = self.asked.get_mut(asked) else { return };
        asked.stage = Stage::Waiting;
        asked.turned_away = asked.turned_away.saturating_add(1);
        if asked.turned_away == TIMES_TO_THE_LONGEST {
            self.count("covered_longest_back_off");
        }
    }

    /// Whether something was carried out under the key before, and its retention has passed.
    fn is_used_again(
        &mut self,
        partition: PartitionRef,
        command: &Command,
        receipt: &Receipt,
    ) -> bool {
        let is_its = |event: &Event| {
            event.workspace == receipt.workspace
                && event.origin.as_ref().is_some_and(|origin| {
                    origin.key == command.key && origin.client == command.client
                })
        };
        self.retention != Retention::Forever
            && self.oracle.ahead(partition).log().iter().any(is_its)
    }

    fn cover_years(&mut self, receipt: &Receipt, covered: &mut Vec<&'static str>) {
        for drawn in &receipt.numbers {
            let Some(year) = drawn.year else { continue };
            let before = self.years.insert((receipt.workspace, drawn.sequence), year);
            let has_turned = before.is_some_and(|before| before < year);
            covered.extend(has_turned.then_some("covered_year_turned"));
        }
    }
}

/// A command meets an entity whose time is over and that was not swept yet.
fn cover_expired(entry: &Entry, log: &Model, covered: &mut Vec<&'static str>) {
    let Body::Command(Command { workspace: WorkspaceRef::Id(id), events, .. }) = &entry.body else {
        return;
    };
    let changes = events.iter().flat_map(|event| &event.changes);
    for change in changes {
        if let CommandChange::Set { key, .. } | CommandChange::Unset { key, .. } = change
            && log.holds_expired(*id, key, entry.time)
        {
            covered.push("covered_expired_and_not_swept");
        }
    }
}

fn cover_answer(body: &Body, answer: &Answer, log: &Model, covered: &mut Vec<&'static str>) {
    match (body, answer) {
        (Body::Command(_), Answer::Duplicate { .. }) => covered.push("covered_repetition"),
        (Body::Command(_), Answer::Refused(refused)) => {
            let known = REFUSALS.iter().find(|(code, _)| *code == refused.code);
            covered.extend(known.map(|(_, name)| *name));
        }
        (Body::Declare(_), Answer::Declared { is_new: true, .. }) => {
            covered.push("covered_declared")
        }
        (Body::Declare(_), Answer::Refused(_)) => covered.push("covered_declaration_refused"),
        (Body::Define(_), Answer::Refused(_)) => covered.push("covered_definition_refused"),
        (Body::Define(define), Answer::Defined { is_new: true, .. }) => {
            if let DefineRequest::KeyLimit { keys_max } = define.request {
                covered.push(match keys_max {
                    Some(_) => "covered_key_limit_set",
                    None => "covered_key_limit_removed",
                });
            }
        }
        (Body::Tick(_), Answer::Swept { entities, keys }) => {
            covered.extend((*entities > 0).then_some("covered_entities_expired"));
            covered.extend((*keys > 0).then_some("covered_keys_expired"));
        }
        (_, Answer::Received { is_new: true }) if !log.log().is_empty() => {
            covered.push("covered_definition_among_commands");
        }
        (_, Answer::Received { is_new: false }) => covered.push("covered_delivery_repeated"),
        (_, Answer::OutOfOrder { .. }) => covered.push("deliveries_out_of_order"),
        _ => {}
    }
}

/// What a command that was carried out had in it.
fn cover_command(command: &Command, events: &[Event], covered: &mut Vec<&'static str>) {
    covered.extend(command.include_proof.then_some("covered_proof"));
    covered.extend(command.if_offset.map(|_| "covered_if_offset"));
    covered.extend(command.deadline.map(|_| "covered_deadline_met"));
    for change in events.iter().flat_map(|event| &event.changes) {
        covered.push(match change {
            Change::Create { raw: None, .. } => "covered_import",
            Change::Create { parent: Some(_), .. } => "covered_create_with_parent",
            Change::Create { .. } => "covered_create",
            Change::Update { .. } => "covered_update",
            Change::Delete { .. } => "covered_delete",
            Change::Set { expires_at: Some(_), .. } => "covered_set_with_expiry",
            Change::Set { .. } => "covered_set",
            Change::Unset { .. } => "covered_unset",
            Change::Draw { .. } => "covered_draw",
            Change::Define(_) => continue,
        });
    }
    for change in command.events.iter().flat_map(|event| &event.changes) {
        let condition = match change {
            CommandChange::Set { condition, .. } | CommandChange::Unset { condition, .. } => {
                condition.as_ref()
            }
            CommandChange::Update { if_version, .. } | CommandChange::Delete { if_version, .. } => {
                covered.extend(if_version.map(|_| "covered_if_record_version"));
                None
            }
            CommandChange::Create { .. } | CommandChange::Draw { .. } => None,
        };
        covered.extend(condition.map(|condition| match condition {
            Condition::Exists => "covered_if_exists",
            Condition::Absent => "covered_if_absent",
            Condition::Version(_) => "covered_if_version",
            Condition::Value(_) => "covered_if_value",
        }));
    }
}
