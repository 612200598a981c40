//! What can be said against a command by looking at it and at the definitions alone.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use seriatim_types::{
    Command, CommandChange, CommandLimits, Condition, Definitions, FieldName, FieldTemplates,
    Filler, Name, Step, Template,
};

use super::numbers::{is_raw, record_ids};
use super::{HIGHEST, Refused, record_definition, refuse, sequence_definition};

/// First what is too long where it stands, then what is too much in all.
pub(super) fn check_limits(command: &Command, limits: &CommandLimits) -> Result<(), Refused> {
    for event in &command.events {
        at_most(event.args.text().len(), limits.field_bytes)?;
        for change in &event.changes {
            for template in change.templates() {
                at_most(template.text().len(), limits.field_bytes)?;
            }
            at_most(fields(change).len(), limits.fields)?;
            at_most(expected_value(change).map_or(0, Bytes::len), limits.field_bytes)?;
        }
    }
    let changes = || command.events.iter().flat_map(|event| &event.changes);
    let args = command.events.iter().map(|event| &event.args);
    let templates: Vec<&Template> = args.chain(changes().flat_map(|it| it.templates())).collect();
    let holes = || templates.iter().flat_map(|template| template.holes());
    // All names and keys that stand in the command, also those of what is drawn.
    let drawn = changes().filter_map(drawn).chain(holes().filter_map(|it| it.filler.draws()));
    let drawn: Vec<&str> = drawn.map(Name::as_str).collect();
    let events = command.events.iter().map(|event| event.name.as_str());
    let fields = changes().flat_map(fields).map(|(name, _)| name.as_str());
    let others = changes().filter_map(kind_or_key);
    let names = events.chain(fields).chain(others).chain(drawn.iter().copied());
    let expected = changes().filter_map(expected_value);
    let texts = templates.iter().map(|template| template.text()).chain(expected).map(Bytes::len);
    at_most(command.events.len(), limits.events)?;
    at_most(changes().count(), limits.changes)?;
    at_most(drawn.len(), limits.draws)?;
    at_most(holes().count(), limits.holes)?;
    at_most(names.map(str::len).chain(texts).sum(), limits.bytes)
}

pub(super) fn at_most(found: usize, max: u32) -> Result<(), Refused> {
    let is_within = u32::try_from(found).is_ok_and(|found| found <= max);
    is_within.then_some(()).ok_or(refuse("TOO_LARGE", format!("{found} of {max}")))
}

fn fields(change: &CommandChange) -> &FieldTemplates {
    const NONE: &FieldTemplates = &Vec::new();
    match change {
        CommandChange::Create { fields, .. } | CommandChange::Update { fields, .. } => fields,
        CommandChange::Delete { .. }
        | CommandChange::Set { .. }
        | CommandChange::Unset { .. }
        | CommandChange::Draw { .. } => NONE,
    }
}

/// The value of a condition.
fn expected_value(change: &CommandChange) -> Option<&Bytes> {
    match change {
        CommandChange::Set { condition: Some(Condition::Value(value)), .. }
        | CommandChange::Unset { condition: Some(Condition::Value(value)), .. } => Some(value),
        _ => None,
    }
}

fn drawn(change: &CommandChange) -> Option<&Name> {
    if let CommandChange::Draw { sequence } = change { Some(sequence) } else { None }
}

fn kind_or_key(change: &CommandChange) -> Option<&str> {
    match change {
        CommandChange::Create { kind, .. } => Some(kind.as_str()),
        CommandChange::Set { key, .. } | CommandChange::Unset { key, .. } => Some(key.as_str()),
        _ => None,
    }
}

/// Everything as it stands in the document.
pub(super) fn check_shape(
    command: &Command,
    definitions: &Definitions,
    kind: u16,
) -> Result<(), Refused> {
    if command.events.is_empty() {
        return Err(invalid("events"));
    }
    let changes = command.events.iter().flat_map(|event| &event.changes);
    let created = changes.filter_map(|change| match change {
        CommandChange::Create { id, .. } if is_raw(*id) => Some(*id),
        _ => None,
    });
    let created = created.collect();
    let (draws, parents, seen) = (count_draws(command), parents(command), BTreeSet::new());
    let mut shape = Shape { definitions, kind, draws, created, parents, seen };
    for (event, at) in command.events.iter().zip(0..) {
        shape.check_holes([(None, &event.args)].into_iter(), &format!("events[{at}].args"))?;
        for (change, index) in event.changes.iter().zip(0..) {
            shape.check_change(change, &format!("events[{at}].changes[{index}]"))?;
        }
    }
    Ok(())
}

fn count_draws(command: &Command) -> usize {
    let changes = || command.events.iter().flat_map(|event| &event.changes);
    let args = command.events.iter().map(|event| &event.args);
    let holes = args.chain(changes().flat_map(|it| it.templates())).flat_map(Template::holes);
    changes().filter_map(drawn).count() + holes.filter_map(|hole| hole.filler.draws()).count()
}

/// Which new record belongs to which, by their raw ids. The first counts, should there be two.
fn parents(command: &Command) -> BTreeMap<u64, u64> {
    let mut parents = BTreeMap::new();
    for change in command.events.iter().flat_map(|event| &event.changes) {
        if let CommandChange::Create { id, parent: Some(parent), .. } = change
            && is_raw(*id)
        {
            parents.entry(*id).or_insert(*parent);
        }
    }
    parents
}

struct Shape<'a> {
    definitions: &'a Definitions,
    /// The workspace's kind.
    kind: u16,
    draws: usize,
    /// All raw ids of the command.
    created: BTreeSet<u64>,
    /// Which of them belongs to which id.
    parents: BTreeMap<u64, u64>,
    /// Those that stand before the change that is looked at.
    seen: BTreeSet<u64>,
}

impl Shape<'_> {
    fn check_change(&mut self, change: &CommandChange, at: &str) -> Result<(), Refused> {
        let at_fields = match change {
            CommandChange::Create { id, kind, parent, .. } => {
                self.check_create(*id, kind, at)?;
                let is_good = |parent| is_record(parent, &self.created) && !self.is_own_parent(*id);
                if !parent.is_none_or(is_good) {
                    return Err(invalid(format!("{at}.create.parent")));
                }
                "create.fields"
            }
            CommandChange::Update { id, .. } => {
                if !is_record(*id, &self.seen) {
                    return Err(invalid(format!("{at}.update.id")));
                }
                "update.fields"
            }
            CommandChange::Delete { id, .. } => {
                if !is_record(*id, &self.seen) {
                    return Err(invalid(format!("{at}.delete.id")));
                }
                ""
            }
            CommandChange::Draw { sequence } => {
                self.check_sequence(sequence, &format!("{at}.draw.sequence"))?;
                ""
            }
            CommandChange::Set { .. } => "set.value",
            CommandChange::Unset { .. } => "",
        };
        self.check_holes(change.named_templates(), &format!("{at}.{at_fields}"))
    }

    /// Whether the parents of a new record lead back to it.
    fn is_own_parent(&self, id: u64) -> bool {
        let next = |at: &u64| self.parents.get(at).copied();
        std::iter::successors(next(&id), next).take(self.parents.len()).any(|at| at == id)
    }

    /// An id is raw and given once, or one that records of its kind can have.
    fn check_create(&mut self, id: u64, kind: &Name, at: &str) -> Result<(), Refused> {
        let Some(definition) = record_definition(self.definitions, kind) else {
            return Err(refuse("UNKNOWN_KIND", format!("{at}.create.kind {kind}")));
        };
        let scheme = self.definitions.app.record_ids;
        let (_, [(first, last)]) = record_ids(scheme, definition.class);
        let is_import = definition.singleton.is_none() && (first..=last).contains(&id);
        let is_good = if is_raw(id) { self.seen.insert(id) } else { is_import };
        if is_good { Ok(()) } else { Err(invalid(format!("{at}.create.id"))) }
    }

    /// Checks what fills the holes of one part, and that each has a turn of its own.
    fn check_holes<'t>(
        &self,
        templates: impl Iterator<Item = (Option<&'t FieldName>, &'t Template)>,
        field: &str,
    ) -> Result<(), Refused> {
        let (mut turns, mut count) = (BTreeSet::new(), 0);
        for (name, template) in templates {
            let name = name.map(|name| Step::Member(name.as_str().into()).to_string());
            let name = name.unwrap_or_default();
            for hole in template.holes() {
                let at = format!("{field}{name}{}", template.path_of(hole));
                let (is_good, marker) = match &hole.filler {
                    Filler::Next { sequence, .. } => {
                        self.check_sequence(sequence, &format!("{at}.$next"))?;
                        (true, "$next")
                    }
                    Filler::Draw { index, .. } => {
                        (usize::try_from(*index).is_ok_and(|it| it < self.draws), "$draw")
                    }
                    Filler::Ref(id) => (is_record(*id, &self.created), "$ref"),
                };
                if !is_good {
                    return Err(invalid(format!("{at}.{marker}")));
                }
                turns.insert(hole.order);
                count += 1;
            }
        }
        if turns.len() == count { Ok(()) } else { Err(invalid(field)) }
    }

    fn check_sequence(&self, name: &Name, field: &str) -> Result<(), Refused> {
        let sequence = sequence_definition(self.definitions, name);
        let is_known = sequence.is_some_and(|sequence| sequence.kind.0 == self.kind);
        is_known.then_some(()).ok_or(refuse("UNKNOWN_SEQUENCE", format!("{field} {name}")))
    }
}

/// Whether an id can be that of a record: raw ones are those of this command.
fn is_record(id: u64, raw_ids: &BTreeSet<u64>) -> bool {
    if is_raw(id) { raw_ids.contains(&id) } else { (1..=HIGHEST).contains(&id) }
}

fn invalid(field: impl ToString) -> Refused {
    refuse("INVALID_ARGUMENT", field)
}
