//! Registers and counters are linearizable: what all clients were told of them can be put into one
//! order that keeps what was over before something else began.
//!
//! Each contended workspace has a register, which is an entity that is written with and without conditions, and a
//! counter, which is a sequence: to draw from it is to fetch and increment. A contended workspace is left for a new
//! one after so many calls that its history can be searched.
//!
//! **Invariant:** this looks at what clients saw. The log, the store and the model are not asked.
//!
//! **Deliberately absent:** contended workspaces where a key may have been forgotten before the run was over. There
//! a command that is sent again too late is another command, and may be carried out once more.

mod search;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use seriatim_types::{CommandChange, Condition, Retention};

use self::search::{Call, Searched, search};
use super::Violation;
use crate::client::{Asked, Ended};
use crate::world::World;
use crate::world::contended::Contended;
use crate::world::reading::Found;

pub(crate) use self::search::CALLS_MAX;

/// The version and the value of a register, if it is there.
pub(crate) type Register = Option<(u64, Bytes)>;

/// What is done with a register.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OnRegister {
    Read(Register),
    /// A value is written, or taken away.
    Write {
        condition: Option<Condition>,
        value: Option<Bytes>,
        came_to: Written,
    },
}

/// What is done with a counter.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OnCounter {
    /// Reads the last number; 0 for none.
    Read(u64),
    /// Draws a number; `None` if nobody knows which, or whether.
    Draw(Option<u64>),
}

/// What came of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Done,
    /// Its condition did not hold.
    Refused,
    Maybe,
}

/// Refusals of a condition.
const CONDITIONS: [&str; 4] = ["KEY_EXISTS", "KEY_NOT_FOUND", "VERSION_MISMATCH", "VALUE_MISMATCH"];

/// Looks at all contended workspaces. Returns how many histories were searched and in how many there was a maybe.
pub(crate) fn check(world: &World) -> Result<(u64, u64), Violation> {
    let (mut searched, mut maybes) = (0_u64, 0_u64);
    for contended in world.contended.iter().filter(|contended| has_all_keys(world, contended)) {
        let (registers, counters) = histories(contended, &world.asked);
        let has_maybe = registers.iter().any(|call| call.ended.is_none())
            || counters.iter().any(|call| call.ended.is_none());
        maybes = maybes.saturating_add(u64::from(has_maybe));
        let found = search(&registers, None, on_register);
        verdict(contended, found, || format!("{registers:#?}"))?;
        let found = search(&counters, 0, on_counter);
        verdict(contended, found, || format!("{counters:#?}"))?;
        searched = searched.saturating_add(2);
    }
    Ok((searched, maybes))
}

/// Whether no key that was used at a contended workspace can have been forgotten since.
fn has_all_keys(world: &World, contended: &Contended) -> bool {
    let Retention::Milliseconds(ms) = world.retention else { return true };
    let was_set = world.trace.has_counted("clock_jumps");
    let mut asked = contended.asked.iter().filter_map(|number| world.asked.get(*number));
    let retention = std::time::Duration::from_millis(ms);
    let is_young = |asked: &Asked| world.agenda.now().saturating_sub(asked.asked_at) < retention;
    !was_set && asked.all(is_young)
}

fn verdict(
    contended: &Contended,
    found: Searched,
    history: impl Fn() -> String,
) -> Result<(), Violation> {
    let why = match found {
        Searched::Found => return Ok(()),
        Searched::None => "no order explains",
        Searched::TooMany => "there are too many orders of",
    };
    let what = format!("workspace {}: {why} {}", contended.workspace.0, history());
    Err(Violation::new("linearizable", what))
}

/// What was done at a contended workspace, and what everybody was told of it.
fn histories(
    contended: &Contended,
    all: &[Asked],
) -> (Vec<Call<OnRegister>>, Vec<Call<OnCounter>>) {
    let (mut registers, mut counters) = (Vec::new(), Vec::new());
    for (begun, ended, found) in &contended.reads {
        let (begun, ended) = (*begun, Some(*ended));
        match found {
            Found::Entity(row) => {
                let register = row.as_ref().map(|row| (row.version, row.value.clone()));
                registers.push(Call { begun, ended, what: OnRegister::Read(register) });
            }
            Found::Sequence(state) => {
                let last = state.as_ref().and_then(|state| state.last).unwrap_or(0);
                counters.push(Call { begun, ended, what: OnCounter::Read(last) });
            }
            Found::Receipt(_)
            | Found::Head(_)
            | Found::Client(_)
            | Found::Record(_)
            | Found::Records(_)
            | Found::Consistency(_) => {}
        }
    }
    for asked in contended.asked.iter().filter_map(|number| all.get(*number)) {
        let Some((came_to, ended)) = came_to(asked) else { continue };
        let begun = asked.asked_at;
        let changes = asked.command.events.iter().flat_map(|event| &event.changes);
        for change in changes {
            let (condition, value) = match change {
                CommandChange::Set { condition, value, .. } => {
                    (condition.clone(), Some(value.text().clone()))
                }
                CommandChange::Unset { condition, .. } => (condition.clone(), None),
                CommandChange::Draw { .. } => {
                    let receipt = asked.receipts.first();
                    let drawn = receipt.and_then(|receipt| receipt.numbers.first());
                    let what = OnCounter::Draw(drawn.map(|drawn| drawn.number.get()));
                    counters.push(Call { begun, ended, what });
                    continue;
                }
                CommandChange::Create { .. }
                | CommandChange::Update { .. }
                | CommandChange::Delete { .. } => continue,
            };
            registers.push(Call {
                begun,
                ended,
                what: OnRegister::Write { condition, value, came_to },
            });
        }
    }
    (registers, counters)
}

/// What a client knows of a command, and since when; `None` if it knows that nothing came of it.
fn came_to(asked: &Asked) -> Option<(Written, Option<crate::agenda::Moment>)> {
    if asked.done_at.is_some() {
        return Some((Written::Done, asked.done_at));
    }
    match &asked.ended {
        // Another attempt may still be carried out: it is on its way.
        _ if asked.was_hasty => Some((Written::Maybe, None)),
        Some(Ended::Refused(code)) if CONDITIONS.contains(&code.as_str()) => {
            Some((Written::Refused, asked.ended_at))
        }
        Some(Ended::Refused(_) | Ended::NotWritten) => None,
        Some(Ended::Done(_) | Ended::Unknown) | None => Some((Written::Maybe, None)),
    }
}

fn on_register(register: &Register, what: &OnRegister) -> Option<Register> {
    match what {
        OnRegister::Read(found) => (found == register).then(|| register.clone()),
        OnRegister::Write { condition, value, came_to } => {
            let is_met = condition.as_ref().is_none_or(|condition| is_met(register, condition));
            let version = register.as_ref().map_or(0, |(version, _)| *version).saturating_add(1);
            match (is_met, came_to) {
                (true, Written::Done | Written::Maybe) => {
                    Some(value.as_ref().map(|value| (version, value.clone())))
                }
                (false, Written::Refused) => Some(register.clone()),
                (true, Written::Refused) | (false, Written::Done | Written::Maybe) => None,
            }
        }
    }
}

fn is_met(register: &Register, condition: &Condition) -> bool {
    match (condition, register) {
        (Condition::Exists, register) => register.is_some(),
        (Condition::Absent, register) => register.is_none(),
        (Condition::Version(expected), Some((version, _))) => expected == version,
        (Condition::Value(expected), Some((_, value))) => expected == value,
        (Condition::Version(_) | Condition::Value(_), None) => false,
    }
}

fn on_counter(last: &u64, what: &OnCounter) -> Option<u64> {
    let next = last.saturating_add(1);
    match what {
        OnCounter::Read(found) => (found == last).then_some(*last),
        OnCounter::Draw(drawn) => drawn.is_none_or(|drawn| drawn == next).then_some(next),
    }
}
