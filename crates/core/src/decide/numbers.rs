//! The numbers of a command: drawn in the order of the document, before anything is filled in.
//!
//! A hole may refer to what is drawn further down, so all numbers are drawn first.

use std::collections::BTreeMap;
use std::ops::Range;

use seriatim_sequencer::{Drawn, Draws, EventOffsets, IdClass, ImportError, NextError, Sequences};
use seriatim_types::{
    Command, CommandChange, Filler, Hole, Name, Number, NumberDrawn, SequenceId, Template, Time,
};

use crate::defined::Defined;
use crate::refusal::{Exhausted, Refusal};

/// All numbers that a command is given.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) events: Vec<EventNumbers>,
    /// Raw ids with what they stand for.
    pub(crate) ids: BTreeMap<u64, Number>,
    /// What is drawn from the app's own sequences, of all events.
    pub(crate) drawn: Vec<NumberDrawn>,
    /// The turn of each draw among the holes of its part.
    orders: Vec<u32>,
}

/// The numbers of one event.
#[derive(Debug)]
pub(crate) struct EventNumbers {
    pub(crate) offsets: EventOffsets,
    /// Which of the command's draws its arguments and its changes make, in this order.
    pub(crate) parts: Vec<Range<usize>>,
}

impl EventNumbers {
    /// Which of the command's draws are its own.
    pub(crate) fn drawn(&self) -> Range<usize> {
        let first = self.parts.first().map_or(0, |part| part.start);
        first..self.parts.last().map_or(first, |part| part.end)
    }
}

impl Numbers {
    /// The id that is meant: a raw one stands for another.
    pub(crate) fn id(&self, id: u64) -> Number {
        let real = self.ids.get(&id).copied().or_else(|| Number::new(id));
        real.expect("the shape of the command was checked")
    }

    /// What was drawn for a hole of a part.
    pub(crate) fn of_hole(&self, part: &Range<usize>, order: u32) -> &NumberDrawn {
        let orders = self.orders.get(part.clone()).expect("a part lies among the draws");
        let at = orders.binary_search(&order).expect("every hole that draws has drawn");
        self.drawn.get(part.start.saturating_add(at)).expect("a part lies among the draws")
    }
}

/// Draws all numbers of a command, in the order of the document.
pub(crate) fn draw(
    command: &Command,
    draws: &mut Draws,
    sequences: &Sequences,
    defined: &Defined,
    time: Time,
) -> Result<Numbers, Refusal> {
    let mut drawer = Drawer { draws, sequences, defined, time, numbers: Numbers::default() };
    for (event, index) in command.events.iter().zip(0_usize..) {
        let offsets = if index == 0 {
            drawer.draws.event()
        } else {
            drawer.draws.next_event(sequences).map_err(|_| log_is_full())?
        };
        let mut parts = Vec::with_capacity(event.changes.len().saturating_add(1));
        let first = drawer.numbers.drawn.len();
        drawer.draw_holes([&event.args].into_iter())?;
        parts.push(first..drawer.numbers.drawn.len());
        for change in &event.changes {
            let first = drawer.numbers.drawn.len();
            drawer.draw_change(change)?;
            parts.push(first..drawer.numbers.drawn.len());
        }
        drawer.numbers.events.push(EventNumbers { offsets, parts });
    }
    Ok(drawer.numbers)
}

pub(crate) fn log_is_full() -> Refusal {
    Refusal::SequenceExhausted { what: Exhausted::Log }
}

struct Drawer<'a> {
    draws: &'a mut Draws,
    sequences: &'a Sequences,
    defined: &'a Defined,
    time: Time,
    numbers: Numbers,
}

impl Drawer<'_> {
    fn draw_change(&mut self, change: &CommandChange) -> Result<(), Refusal> {
        match change {
            CommandChange::Create { id, kind, .. } => self.draw_record_id(*id, kind)?,
            CommandChange::Draw { sequence } => self.draw(0, sequence)?,
            CommandChange::Update { .. }
            | CommandChange::Delete { .. }
            | CommandChange::Set { .. }
            | CommandChange::Unset { .. } => {}
        }
        self.draw_holes(change.templates())
    }

    fn draw_record_id(&mut self, id: u64, kind: &Name) -> Result<(), Refusal> {
        let definition = self.defined.record(kind).expect("the shape was checked");
        let sequence = self.sequences.record_ids().sequence_of(definition.class);
        if IdClass::of(id) != IdClass::Raw {
            let number = Number::new(id).expect("the shape was checked");
            let imported = self.draws.import(self.sequences, sequence, number);
            return imported.map_err(|error| match error {
                ImportError::Unknown { .. } | ImportError::Outside { .. } => {
                    unreachable!("the shape was checked: {error}")
                }
            });
        }
        let real = match definition.singleton {
            Some(fixed) => fixed,
            None => self.next(sequence, || Exhausted::RecordIds(kind.clone()))?.number,
        };
        self.numbers.ids.insert(id, real);
        Ok(())
    }

    /// Draws for the holes of one part of the document, as they stood in it.
    fn draw_holes<'t>(
        &mut self,
        templates: impl Iterator<Item = &'t Template> + Clone,
    ) -> Result<(), Refusal> {
        let holes = templates.flat_map(Template::holes);
        let next = |hole: &'t Hole| match &hole.filler {
            Filler::Next { sequence, .. } => Some((hole.order, sequence)),
            Filler::Ref(_) | Filler::Draw { .. } => None,
        };
        let mut next = holes.filter_map(next);
        if next.clone().is_sorted_by_key(|(order, _)| order) {
            return next.try_for_each(|(order, sequence)| self.draw(order, sequence));
        }
        let mut next: Vec<(u32, &Name)> = next.collect();
        next.sort_by_key(|(order, _)| *order);
        next.into_iter().try_for_each(|(order, sequence)| self.draw(order, sequence))
    }

    fn draw(&mut self, order: u32, name: &Name) -> Result<(), Refusal> {
        let sequence = self.defined.sequence(name).expect("the shape was checked");
        let (id, kind) = (sequence.id, sequence.kind);
        let Drawn { number, series } = self.next(id, || Exhausted::Sequence(name.clone()))?;
        let definition = self.sequences.get(kind, id).expect("it was just drawn from");
        let year = definition.utc_offset.year_of(self.time);
        let text = definition.format.show(number, year);
        let name = name.clone();
        self.numbers.orders.push(order);
        self.numbers.drawn.push(NumberDrawn {
            sequence: id,
            name,
            year: series.year,
            number,
            text,
        });
        Ok(())
    }

    fn next(
        &mut self,
        sequence: SequenceId,
        what: impl Fn() -> Exhausted,
    ) -> Result<Drawn, Refusal> {
        self.draws.next(self.sequences, sequence).map_err(|error| match error {
            NextError::Exhausted { .. } => Refusal::SequenceExhausted { what: what() },
            NextError::Unknown { .. } | NextError::LogFull => {
                unreachable!("the definitions and the sequences are the same: {error}")
            }
        })
    }
}
