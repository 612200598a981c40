//! What can be said against a command by looking at it and at the definitions alone.

use std::collections::{BTreeMap, BTreeSet};

use seriatim_sequencer::{IdClass, RecordIds};
use seriatim_types::{
    Command, CommandChange, CommandEvent, CommandLimits, Condition, Filler, KindId, Name, Number,
    Step, Template,
};

use crate::defined::Defined;
use crate::refusal::Refusal;

/// Checks limits first, then everything else in the order of the document.
pub(crate) fn check(
    command: &Command,
    defined: &Defined,
    record_ids: &RecordIds,
    kind: KindId,
) -> Result<(), Refusal> {
    let draws = check_limits(command, &defined.app().limits)?;
    if command.events.is_empty() {
        let why = "a command has at least one event".to_owned();
        return Err(Refusal::InvalidArgument { field: "events".to_owned(), why });
    }
    let created = raw_ids(command);
    let circular = circular(command);
    let seen = BTreeSet::new();
    let mut shape = Shape { defined, record_ids, kind, draws, created, circular, seen };
    for (event, index) in command.events.iter().zip(0_usize..) {
        shape.check_event(event, index)?;
    }
    Ok(())
}

/// Returns how many numbers the command draws.
fn check_limits(command: &Command, limits: &CommandLimits) -> Result<u32, Refusal> {
    let mut size = Size::default();
    for event in &command.events {
        size.add_event(event, limits)?;
    }
    at_most("events of a command", command.events.len(), limits.events)?;
    at_most("changes of a command", size.changes, limits.changes)?;
    at_most("numbers drawn by a command", size.draws, limits.draws)?;
    at_most("holes of a command", size.holes, limits.holes)?;
    at_most("bytes of a command", size.bytes, limits.bytes)?;
    Ok(u32::try_from(size.draws).expect("at most the limit, which is a u32"))
}

/// Refuses what is more than a limit allows.
pub(crate) fn at_most(what: &'static str, found: usize, max: u32) -> Result<(), Refusal> {
    let (found, max) = (u64::try_from(found).unwrap_or(u64::MAX), u64::from(max));
    if found > max { Err(Refusal::TooLarge { what, max, found }) } else { Ok(()) }
}

/// How much a command holds.
#[derive(Default)]
struct Size {
    changes: usize,
    draws: usize,
    holes: usize,
    bytes: usize,
}

impl Size {
    fn add_event(&mut self, event: &CommandEvent, limits: &CommandLimits) -> Result<(), Refusal> {
        self.add_bytes(event.name.as_str().len());
        self.add_template(&event.args, limits)?;
        self.changes = self.changes.saturating_add(event.changes.len());
        for change in &event.changes {
            self.add_change(change, limits)?;
        }
        Ok(())
    }

    fn add_change(
        &mut self,
        change: &CommandChange,
        limits: &CommandLimits,
    ) -> Result<(), Refusal> {
        for template in change.templates() {
            self.add_template(template, limits)?;
        }
        match change {
            CommandChange::Create { kind, fields, .. } => {
                self.add_bytes(kind.as_str().len());
                at_most("fields of a record", fields.len(), limits.fields)?;
                fields.iter().for_each(|(name, _)| self.add_bytes(name.as_str().len()));
            }
            CommandChange::Update { fields, .. } => {
                at_most("fields of a record", fields.len(), limits.fields)?;
                fields.iter().for_each(|(name, _)| self.add_bytes(name.as_str().len()));
            }
            CommandChange::Set { key, condition, .. } | CommandChange::Unset { key, condition } => {
                self.add_bytes(key.as_str().len());
                if let Some(Condition::Value(value)) = condition {
                    at_most("bytes of a field", value.len(), limits.field_bytes)?;
                    self.add_bytes(value.len());
                }
            }
            CommandChange::Draw { sequence } => {
                self.add_bytes(sequence.as_str().len());
                self.draws = self.draws.saturating_add(1);
            }
            CommandChange::Delete { .. } => {}
        }
        Ok(())
    }

    fn add_template(&mut self, template: &Template, limits: &CommandLimits) -> Result<(), Refusal> {
        at_most("bytes of a field", template.text().len(), limits.field_bytes)?;
        self.add_bytes(template.text().len());
        self.holes = self.holes.saturating_add(template.holes().len());
        for sequence in template.holes().iter().filter_map(|hole| hole.filler.draws()) {
            self.draws = self.draws.saturating_add(1);
            self.add_bytes(sequence.as_str().len());
        }
        Ok(())
    }

    fn add_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The raw ids that the command gives to new records.
fn raw_ids(command: &Command) -> BTreeSet<u64> {
    let changes = command.events.iter().flat_map(|event| &event.changes);
    let created = changes.filter_map(|change| match change {
        CommandChange::Create { id, .. } => Some(*id),
        CommandChange::Update { .. }
        | CommandChange::Delete { .. }
        | CommandChange::Set { .. }
        | CommandChange::Unset { .. }
        | CommandChange::Draw { .. } => None,
    });
    created.filter(|id| IdClass::of(*id) == IdClass::Raw).collect()
}

/// The raw ids of records that would belong to themselves, over others or at once.
fn circular(command: &Command) -> BTreeSet<u64> {
    let changes = command.events.iter().flat_map(|event| &event.changes);
    let parents = changes.filter_map(|change| match change {
        CommandChange::Create { id, parent: Some(parent), .. } => Some((*id, *parent)),
        CommandChange::Create { .. }
        | CommandChange::Update { .. }
        | CommandChange::Delete { .. }
        | CommandChange::Set { .. }
        | CommandChange::Unset { .. }
        | CommandChange::Draw { .. } => None,
    });
    // Of a raw id that is given twice the first counts; the second is told where it stands.
    let parents = parents.filter(|(id, _)| IdClass::of(*id) == IdClass::Raw);
    let parents: BTreeMap<u64, u64> = parents.rev().collect();
    let mut circular = BTreeSet::new();
    let mut visited = BTreeSet::new();
    for start in parents.keys() {
        let mut path = Vec::new();
        let mut id = *start;
        while parents.contains_key(&id) && visited.insert(id) {
            path.push(id);
            id = parents.get(&id).copied().expect("it was just looked at");
        }
        let circle = path.iter().position(|visited| *visited == id);
        circular.extend(circle.and_then(|at| path.get(at..)).into_iter().flatten());
    }
    circular
}

/// What the rest of the command is checked against.
struct Shape<'a> {
    defined: &'a Defined,
    record_ids: &'a RecordIds,
    kind: KindId,
    draws: u32,
    /// All raw ids of the command.
    created: BTreeSet<u64>,
    /// Those whose records would belong to themselves.
    circular: BTreeSet<u64>,
    /// Those that stand before the change that is looked at.
    seen: BTreeSet<u64>,
}

impl Shape<'_> {
    fn check_event(&mut self, event: &CommandEvent, at: usize) -> Result<(), Refusal> {
        self.check_template(&event.args, || format!("events[{at}].args"))?;
        check_orders([&event.args].into_iter(), || format!("events[{at}].args"))?;
        for (change, index) in event.changes.iter().zip(0_usize..) {
            self.check_change(change, at, index)?;
            let field = || format!("events[{at}].changes[{index}].{}", word_of(change));
            for (name, template) in change.named_templates() {
                let step = name.map(|name| Step::Member(name.as_str().into()));
                let step = || step.as_ref().map(Step::to_string).unwrap_or_default();
                self.check_template(template, || format!("{}{}", field(), step()))?;
            }
            check_orders(change.templates(), field)?;
        }
        Ok(())
    }

    fn check_change(
        &mut self,
        change: &CommandChange,
        at: usize,
        index: usize,
    ) -> Result<(), Refusal> {
        match change {
            CommandChange::Create { id, kind, parent, .. } => {
                self.check_create(*id, kind, at, index)?;
                if let Some(parent) = *parent {
                    self.check_target(parent, &self.created, at, index, "create.parent")?;
                    if self.circular.contains(id) {
                        let why = format!("record {id} would belong to itself");
                        return Err(invalid(at, index, "create.parent", why));
                    }
                }
            }
            CommandChange::Update { id, .. } => {
                self.check_target(*id, &self.seen, at, index, "update.id")?;
            }
            CommandChange::Delete { id, .. } => {
                self.check_target(*id, &self.seen, at, index, "delete.id")?;
            }
            CommandChange::Draw { sequence } => {
                let field = || format!("events[{at}].changes[{index}].draw.sequence");
                self.check_sequence(sequence, field)?;
            }
            CommandChange::Set { .. } | CommandChange::Unset { .. } => {}
        }
        Ok(())
    }

    fn check_create(
        &mut self,
        id: u64,
        kind: &Name,
        at: usize,
        index: usize,
    ) -> Result<(), Refusal> {
        let Some(definition) = self.defined.record(kind) else {
            let field = format!("events[{at}].changes[{index}].create.kind");
            return Err(Refusal::UnknownKind { name: kind.clone(), field });
        };
        if IdClass::of(id) == IdClass::Raw {
            if !self.seen.insert(id) {
                let why = format!("raw id {id} is given to two records of the same command");
                return Err(invalid(at, index, "create.id", why));
            }
            return Ok(());
        }
        if definition.singleton.is_some() {
            let kind = kind.as_str();
            let why = format!("{kind:?} has one fixed id: create it with a raw id, 1 to 65535");
            return Err(invalid(at, index, "create.id", why));
        }
        let ranges = self.record_ids.ranges_of(definition.class);
        if Number::new(id).is_none_or(|id| !ranges.contains(id)) {
            let why = format!(
                "{id} is neither a raw id, 1 to 65535, nor one that records of this kind can have"
            );
            return Err(invalid(at, index, "create.id", why));
        }
        Ok(())
    }

    /// A record that is referred to: by an id, or by one of these raw ids.
    fn check_target(
        &self,
        id: u64,
        raw_ids: &BTreeSet<u64>,
        at: usize,
        index: usize,
        field: &str,
    ) -> Result<(), Refusal> {
        match IdClass::of(id) {
            IdClass::Raw if !raw_ids.contains(&id) => {
                let why = format!(
                    "raw id {id} belongs to no record of this command that may be meant here"
                );
                Err(invalid(at, index, field, why))
            }
            IdClass::Null => Err(invalid(at, index, field, "0 is no record".to_owned())),
            IdClass::User if Number::new(id).is_none() => {
                Err(invalid(at, index, field, format!("{id} is beyond all numbers")))
            }
            IdClass::Raw | IdClass::Singleton | IdClass::Reserved | IdClass::User => Ok(()),
        }
    }

    fn check_template(
        &self,
        template: &Template,
        field: impl Fn() -> String,
    ) -> Result<(), Refusal> {
        for hole in template.holes() {
            let field = |marker| format!("{}{}.{marker}", field(), template.path_of(hole));
            match &hole.filler {
                Filler::Next { sequence, .. } => {
                    self.check_sequence(sequence, || field("$next"))?;
                }
                Filler::Draw { index, .. } if *index >= self.draws => {
                    let why = format!("$draw {index} is beyond the {} draws there are", self.draws);
                    return Err(Refusal::InvalidArgument { field: field("$draw"), why });
                }
                Filler::Ref(id) if !self.is_reference(*id) => {
                    let why = format!("$ref {id} is no record of this command and no record's id");
                    return Err(Refusal::InvalidArgument { field: field("$ref"), why });
                }
                Filler::Draw { .. } | Filler::Ref(_) => {}
            }
        }
        Ok(())
    }

    /// A raw id of this command, or anything that a record can have.
    fn is_reference(&self, id: u64) -> bool {
        match IdClass::of(id) {
            IdClass::Raw => self.created.contains(&id),
            IdClass::Null => false,
            IdClass::Singleton | IdClass::Reserved | IdClass::User => Number::new(id).is_some(),
        }
    }

    fn check_sequence(&self, name: &Name, field: impl Fn() -> String) -> Result<(), Refusal> {
        let is_known = self.defined.sequence(name).is_some_and(|it| it.kind == self.kind);
        if is_known {
            return Ok(());
        }
        Err(Refusal::UnknownSequence { name: name.clone(), field: field() })
    }
}

/// Each hole of a part has a turn of its own: it decides which number it gets.
fn check_orders<'t>(
    templates: impl Iterator<Item = &'t Template> + Clone,
    field: impl Fn() -> String,
) -> Result<(), Refusal> {
    let orders = templates.flat_map(Template::holes).map(|hole| hole.order);
    let rises = |one: &u32, next: &u32| one < next;
    if orders.clone().is_sorted_by(rises) {
        return Ok(());
    }
    let mut orders: Vec<u32> = orders.collect();
    orders.sort_unstable();
    if orders.is_sorted_by(rises) {
        return Ok(());
    }
    let why = "two holes have the same turn".to_owned();
    Err(Refusal::InvalidArgument { field: field(), why })
}

fn invalid(at: usize, index: usize, field: &str, why: String) -> Refusal {
    Refusal::InvalidArgument { field: format!("events[{at}].changes[{index}].{field}"), why }
}

fn word_of(change: &CommandChange) -> &'static str {
    match change {
        CommandChange::Create { .. } => "create.fields",
        CommandChange::Update { .. } => "update.fields",
        CommandChange::Delete { .. } => "delete",
        CommandChange::Set { .. } => "set.value",
        CommandChange::Unset { .. } => "unset",
        CommandChange::Draw { .. } => "draw",
    }
}
