//! What an event must be by itself, by the definitions of its app.

use seriatim_core::{partition_of_id, partition_of_name};
use seriatim_types::limits::NAMED_WORKSPACE_FIRST;
use seriatim_types::{Change, Event, NUMBER_MAX, NumberDrawn};

use crate::difference::{Difference, Error, Kind, Place};
use crate::rules::Rules;

/// A law that an event breaks.
struct Breach {
    kind: Kind,
    about: String,
    expected: String,
    found: String,
}

impl Breach {
    fn new(
        kind: Kind,
        about: impl Into<String>,
        expected: impl Into<String>,
        found: String,
    ) -> Self {
        Self { kind, about: about.into(), expected: expected.into(), found }
    }
}

pub(super) fn check(rules: &Rules, event: &Event) -> Result<(), Error> {
    let checked = check_home(rules, event)
        .and_then(|()| check_origin(rules, event))
        .and_then(|()| event.numbers.iter().try_for_each(|it| check_number(rules, event, it)))
        .and_then(|()| event.changes.iter().try_for_each(|it| check_change(rules, event, it)));
    checked.map_err(|Breach { kind, about, expected, found }| {
        let place = Place::of(rules.partition).event(event.partition_offset).about(about);
        Difference::error(kind, place, expected, found)
    })
}

/// The workspace belongs to the partition, has a kind that there is, and a name if it needs one.
fn check_home(rules: &Rules, event: &Event) -> Result<(), Breach> {
    let workspace = event.workspace;
    let breach = |expected: &str, found| {
        Err(Breach::new(Kind::Workspace, format!("workspace {}", workspace.0), expected, found))
    };
    let here = rules.partition.partition;
    let home = partition_of_id(workspace, rules.partitions);
    if home != here || workspace.0 > NUMBER_MAX {
        return breach("a workspace of this partition", home.to_string());
    }
    if !rules.has_kind(event.kind) {
        return breach("a kind that is defined", format!("kind {}", event.kind.0));
    }
    // The first event of a named workspace tells its name, and no other event has one.
    let is_named = workspace.0 >= NAMED_WORKSPACE_FIRST && event.offset.get() == 1;
    match &event.workspace_name {
        Some(name) if !is_named => breach("no name", name.to_string()),
        None if is_named => breach("the name of the workspace", "none".to_owned()),
        Some(name) if partition_of_name(name, rules.partitions) != here => {
            breach("a name that belongs to this partition", name.to_string())
        }
        Some(_) | None => Ok(()),
    }
}

/// Clients' events have an origin and come before their deadline; the system's have none.
fn check_origin(rules: &Rules, event: &Event) -> Result<(), Breach> {
    let breach = |expected: &str, found: String| {
        Err(Breach::new(Kind::Command, "its origin", expected, found))
    };
    match &event.origin {
        Some(_) if rules.is_system() => breach("none", "a client".to_owned()),
        None if !rules.is_system() => breach("a client", "none".to_owned()),
        Some(origin) => match origin.deadline.filter(|deadline| event.time > *deadline) {
            Some(deadline) => breach("a deadline that had not passed", format!("{}", deadline.0)),
            None => Ok(()),
        },
        None => Ok(()),
    }
}

/// A number is one of a sequence of the workspace's kind, of the year of its event, and shown as
/// the sequence shows it.
fn check_number(rules: &Rules, event: &Event, drawn: &NumberDrawn) -> Result<(), Breach> {
    let about = || format!("sequence {}", drawn.name);
    let rule = rules
        .sequence(drawn.sequence)
        .filter(|rule| rule.name == drawn.name && rule.kind == event.kind);
    let Some(rule) = rule else {
        let found = format!("sequence {} with id {}", drawn.name, drawn.sequence.0);
        let expected = "a sequence of the workspace's kind";
        return Err(Breach::new(Kind::Undefined, about(), expected, found));
    };
    let year = rule.year_at(event.time);
    if drawn.year != year {
        let show = |year: Option<seriatim_types::Year>| match year {
            Some(year) => format!("year {}", year.get()),
            None => "no year".to_owned(),
        };
        return Err(Breach::new(Kind::NumberOutside, about(), show(year), show(drawn.year)));
    }
    if !rule.shows(drawn.number, event.time, &drawn.text) {
        let expected = format!("{} as the sequence shows it", drawn.number);
        return Err(Breach::new(Kind::NumberText, about(), expected, drawn.text.clone()));
    }
    Ok(())
}

fn check_change(rules: &Rules, event: &Event, change: &Change) -> Result<(), Breach> {
    match change {
        Change::Create { raw, id, kind, class, .. } => {
            let about = || format!("record {id}");
            let Some(definition) = rules.record(kind).filter(|it| it.class == *class) else {
                let found = format!("kind {kind}, class {class:?}");
                return Err(Breach::new(Kind::Undefined, about(), "a kind of records", found));
            };
            match definition.singleton {
                Some(fixed) if *id != fixed || raw.is_none() && rules.is_whole => {
                    let expected = format!("the fixed id {fixed}");
                    Err(Breach::new(Kind::RecordIdOutside, about(), expected, id.to_string()))
                }
                Some(_) | None => Ok(()),
            }
        }
        Change::Draw { number } => {
            let index = usize::try_from(*number).unwrap_or(usize::MAX);
            let is_there = event.numbers.get(index).is_some();
            let expected = "one of the numbers of the event";
            let breach = || Breach::new(Kind::Command, "a draw", expected, number.to_string());
            if is_there { Ok(()) } else { Err(breach()) }
        }
        Change::Define(_) if !rules.is_system() => {
            let (expected, found) = ("none outside of the system app", "one".to_owned());
            Err(Breach::new(Kind::Undefined, "a definition", expected, found))
        }
        Change::Update { .. }
        | Change::Delete { .. }
        | Change::Set { .. }
        | Change::Unset { .. }
        | Change::Define(_) => Ok(()),
    }
}
