//! A message of another partition. The cursor of its source says which one comes next, so a
//! message is recognised for ever, however often it is sent.

use seriatim_codec::{Stored, encode_number};
use seriatim_planted::{self as planted, Bug};
use seriatim_sequencer::Sequencer;
use seriatim_types::{Definition, Delivery, Message};

use super::keep;
use crate::change::check_settings;
use crate::decide::Stop;
use crate::defined::{Defined, StepError, compile};
use crate::effects::{DeliveryOutcome, Effects, Fault, Outcome};
use crate::machine::Machine;
use crate::rows::{Draft, Rows};

pub(crate) fn delivery(
    machine: &mut Machine,
    delivery: &Delivery,
    rows: &mut Rows,
) -> Result<Effects, Stop> {
    let mut draft = Draft::new(rows);
    let cursor = machine.home.inbox(delivery.source);
    let last = draft.read_number(None, &cursor)?.unwrap_or(0);
    if delivery.number <= last && !planted::is(Bug::DeliveryTwice) {
        return Ok(Effects::only(Outcome::Delivery(DeliveryOutcome::Received { is_new: false })));
    }
    let expected = last.saturating_add(1);
    if delivery.number > expected {
        return Ok(Effects::only(Outcome::Delivery(DeliveryOutcome::OutOfOrder { expected })));
    }
    match &delivery.message {
        Message::Definition { version, definition } => {
            let stepped = take_definition(machine, *version, definition);
            stepped.map_err(|error| Stop::Fault(Fault::Definitions(error)))?;
            let defined = machine.defined.as_ref().expect("a definition was just taken");
            draft.put(machine.home.definitions(), defined.plain().to_bytes());
        }
    }
    draft.put(cursor, encode_number(delivery.number));
    let effects = Effects::only(Outcome::Delivery(DeliveryOutcome::Received { is_new: true }));
    Ok(keep(draft.settle(), effects, rows))
}

fn take_definition(
    machine: &mut Machine,
    version: u64,
    definition: &Definition,
) -> Result<(), StepError> {
    let Some(defined) = &mut machine.defined else {
        if version != 1 {
            return Err(StepError::Version { expected: 1, found: version });
        }
        let why = "the app itself comes first, with settings that an app can have";
        let unfounded = StepError::Unfounded { version, why };
        let Definition::App(settings) = definition else { return Err(unfounded) };
        if settings.app != machine.home.prefix.app || check_settings(settings).is_err() {
            return Err(unfounded);
        }
        let defined = Defined::new(settings.clone());
        let sequencer = Sequencer::new(defined.sequences()?, machine.settings);
        machine.sequencer = sequencer.expect("the same settings were good before");
        // Nothing was numbered before the first definition, so there is no log to read.
        let opened = machine.sequencer.resume(None, 0);
        opened
            .and_then(|()| machine.sequencer.serve())
            .expect("a new sequencer reads an empty log");
        machine.home.partitions = settings.partitions;
        machine.defined = Some(defined);
        return Ok(());
    };
    defined.step(version, definition)?;
    match definition {
        Definition::Kind(kind) => machine.sequencer.add_kind(kind.id),
        Definition::Sequence(sequence) => {
            let compiled = compile(sequence).expect("the step was taken");
            let defined = machine.sequencer.define(sequence.kind, sequence.id, compiled);
            defined.expect("the sequencer has what is defined");
        }
        Definition::App(_) | Definition::Record(_) | Definition::KeyLimit(_) => {}
    }
    Ok(())
}
