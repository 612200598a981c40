//! What was asked for, in 16 bytes: two commands under one idempotency key are the same request
//! if their fingerprints are.
//!
//! ```text
//!  hash      first 16 bytes of SHA-256( "seriatim.fingerprint.v1" 00 command )
//!  message   ( tag u8, not 00 │ value ) … 00        ascending tags, absent fields left out
//!  value     number u64 · length u64, bytes · message · count u64, messages
//!
//!  command    01 events · 02 if_offset
//!  event      01 name · 02 args, a template · 03 changes, if any · 04 turns of args
//!  template   01 text · 02 holes, if any
//!  hole       01 at · 02 ref | 03 next, a name | 04 draw · 05 shown: 1 number, 2 text
//!  change     01 kind: 1 create, 2 update, 3 delete, 4 set, 5 unset, 6 draw
//!             02 id · 03 record kind · 04 parent · 05 fields · 06 if_version · 07 entity key
//!             08 value, a template · 09 condition · 0a expires_at · 0b sequence · 0c turns
//!  field      01 name · 02 value, a template
//!  condition  01 number: 1 exists, 2 absent | 02 version | 03 value
//!  turns      which place in the document each draw had, from 0, in canonical order: count u64,
//!             numbers u64; left out if they are drawn in canonical order
//! ```
//!
//! Every part says where it ends, so no two commands have the same bytes. A field that is added
//! later changes nothing for commands without it.
//!
//! The members of a JSON object have no order, except that numbers are drawn as the document has
//! them: `{"a": $next, "b": $next}` gives `b` the higher number, and `{"b": $next, "a": $next}` gives
//! it to `a`. So the turns of draws are part of what is asked for, and no other order is.
//!
//! **Deliberately absent:** the order of holes that draw nothing; key, client and deadline, because
//! a repetition may come later; and the stored encoding, which may change while fingerprints may
//! not.

use seriatim_types::{
    CommandChange, CommandEvent, Condition, FieldTemplates, Filler, Fingerprint, Hole, Shown,
    Template,
};
use sha2::{Digest as _, Sha256};

use crate::wire::widen;

const VERSION: u8 = 1;
const DOMAIN: &[u8] = b"seriatim.fingerprint.v1\0";

/// The fingerprint of what a command asks for.
#[must_use]
pub fn fingerprint(events: &[CommandEvent], if_offset: Option<u64>) -> Fingerprint {
    let mut to = Hasher(Sha256::new());
    to.0.update(DOMAIN);
    to.list(1, events, Hasher::event);
    to.optional_number(2, if_offset);
    to.end();
    let digest = <[u8; 32]>::from(to.0.finalize());
    let hash = *digest.first_chunk().expect("32 bytes begin with 16");
    Fingerprint { version: VERSION, hash }
}

struct Hasher(Sha256);

impl Hasher {
    fn event(&mut self, event: &CommandEvent) {
        self.bytes(1, event.name.as_str().as_bytes());
        self.message(2, &event.args, Self::template);
        self.list(3, &event.changes, Self::change);
        self.turns(4, [&event.args].into_iter());
        self.end();
    }

    fn template(&mut self, template: &Template) {
        self.bytes(1, template.text());
        self.list(2, template.holes(), Self::hole);
        self.end();
    }

    fn hole(&mut self, hole: &Hole) {
        let Hole { at, order: _, filler } = hole;
        self.number(1, widen(*at));
        match filler {
            Filler::Ref(id) => self.number(2, *id),
            Filler::Next { sequence, shown } => {
                self.bytes(3, sequence.as_str().as_bytes());
                self.shown(*shown);
            }
            Filler::Draw { index, shown } => {
                self.number(4, u64::from(*index));
                self.shown(*shown);
            }
        }
        self.end();
    }

    fn turns<'t>(&mut self, tag: u8, templates: impl Iterator<Item = &'t Template> + Clone) {
        let draws = templates.flat_map(Template::holes).filter(|hole| match hole.filler {
            Filler::Next { .. } => true,
            Filler::Ref(_) | Filler::Draw { .. } => false,
        });
        let orders = draws.map(|hole| hole.order);
        if orders.clone().is_sorted() {
            return;
        }
        let orders: Vec<u32> = orders.collect();
        let mut sorted = orders.clone();
        sorted.sort_unstable();
        self.number(tag, widen(orders.len()));
        for order in orders {
            let turn = sorted.partition_point(|other| *other < order);
            self.0.update(widen(turn).to_be_bytes());
        }
    }

    fn shown(&mut self, shown: Shown) {
        self.number(
            5,
            match shown {
                Shown::Number => 1,
                Shown::Text => 2,
            },
        );
    }

    fn change(&mut self, change: &CommandChange) {
        match change {
            CommandChange::Create { id, kind, parent, fields } => {
                self.number(1, 1);
                self.number(2, *id);
                self.bytes(3, kind.as_str().as_bytes());
                self.optional_number(4, *parent);
                self.fields(fields);
            }
            CommandChange::Update { id, fields, if_version } => {
                self.number(1, 2);
                self.number(2, *id);
                self.fields(fields);
                self.optional_number(6, *if_version);
            }
            CommandChange::Delete { id, if_version } => {
                self.number(1, 3);
                self.number(2, *id);
                self.optional_number(6, *if_version);
            }
            CommandChange::Set { key, value, condition, expires_at } => {
                self.number(1, 4);
                self.bytes(7, key.as_str().as_bytes());
                self.message(8, value, Self::template);
                self.condition(condition.as_ref());
                self.optional_number(10, expires_at.map(|time| time.0));
            }
            CommandChange::Unset { key, condition } => {
                self.number(1, 5);
                self.bytes(7, key.as_str().as_bytes());
                self.condition(condition.as_ref());
            }
            CommandChange::Draw { sequence } => {
                self.number(1, 6);
                self.bytes(11, sequence.as_str().as_bytes());
            }
        }
        self.turns(12, change.templates());
        self.end();
    }

    fn fields(&mut self, fields: &FieldTemplates) {
        self.list(5, fields, |to, (name, template)| {
            to.bytes(1, name.as_str().as_bytes());
            to.message(2, template, Self::template);
            to.end();
        });
    }

    fn condition(&mut self, condition: Option<&Condition>) {
        let Some(condition) = condition else { return };
        self.message(9, condition, |to, condition| {
            match condition {
                Condition::Exists => to.number(1, 1),
                Condition::Absent => to.number(1, 2),
                Condition::Version(version) => to.number(2, *version),
                Condition::Value(value) => to.bytes(3, value),
            }
            to.end();
        });
    }

    fn number(&mut self, tag: u8, number: u64) {
        self.0.update([tag]);
        self.0.update(number.to_be_bytes());
    }

    fn optional_number(&mut self, tag: u8, number: Option<u64>) {
        if let Some(number) = number {
            self.number(tag, number);
        }
    }

    fn bytes(&mut self, tag: u8, bytes: &[u8]) {
        self.number(tag, widen(bytes.len()));
        self.0.update(bytes);
    }

    fn message<M>(&mut self, tag: u8, message: &M, write: impl Fn(&mut Self, &M)) {
        self.0.update([tag]);
        write(self, message);
    }

    fn list<M>(&mut self, tag: u8, messages: &[M], write: impl Fn(&mut Self, &M)) {
        if !messages.is_empty() {
            self.number(tag, widen(messages.len()));
            messages.iter().for_each(|message| write(self, message));
        }
    }

    fn end(&mut self) {
        self.0.update([0]);
    }
}
