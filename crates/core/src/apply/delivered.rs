//! Messages have reached another partition and leave the outbox.

use seriatim_types::Delivered;
use seriatim_types::limits::DELIVERED_MAX;

use super::keep;
use crate::effects::{Effects, Outcome};
use crate::machine::Machine;
use crate::rows::{Draft, Rows};

pub(crate) fn delivered(machine: &Machine, delivered: Delivered, rows: &mut Rows) -> Effects {
    let mut draft = Draft::new(rows);
    let Delivered { target, first, through } = delivered;
    let most = first.saturating_add(DELIVERED_MAX.saturating_sub(1));
    for number in first..=through.min(most) {
        draft.delete(machine.home.outbox(target, number));
    }
    keep(draft.settle(), Effects::only(Outcome::Delivered), rows)
}
