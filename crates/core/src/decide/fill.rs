//! Holes are filled by copying bytes: JSON is never read here.

use std::io::Write;
use std::ops::Range;

use bytes::Bytes;
use seriatim_types::{FieldTemplates, Fields, Filler, NumberDrawn, Shown, Template};

use super::numbers::Numbers;

/// The text with its holes filled. Without holes nothing is copied. `part` says which draws are
/// those of the arguments or the change that the template belongs to.
pub(crate) fn fill(template: &Template, numbers: &Numbers, part: &Range<usize>) -> Bytes {
    let (text, holes) = (template.text(), template.holes());
    if holes.is_empty() {
        return text.clone();
    }
    let room = holes.len().saturating_mul(16).saturating_add(text.len());
    let mut filled = Vec::with_capacity(room);
    let mut from = 0;
    for hole in holes {
        let before = text.get(from..hole.at).expect("holes stand in order inside the text");
        filled.extend_from_slice(before);
        from = hole.at;
        match &hole.filler {
            Filler::Ref(id) => put_digits(&mut filled, numbers.id(*id).get()),
            Filler::Next { shown, .. } => {
                put(&mut filled, numbers.of_hole(part, hole.order), *shown);
            }
            Filler::Draw { index, shown } => {
                let index = usize::try_from(*index).expect("a u32 fits");
                let drawn = numbers.drawn.get(index).expect("the shape was checked");
                put(&mut filled, drawn, *shown);
            }
        }
    }
    filled.extend_from_slice(text.get(from..).expect("the last hole stands inside the text"));
    filled.into()
}

/// The same for all fields of a change.
pub(crate) fn fill_fields(
    fields: &FieldTemplates,
    numbers: &Numbers,
    part: &Range<usize>,
) -> Fields {
    fields.iter().map(|(name, template)| (name.clone(), fill(template, numbers, part))).collect()
}

fn put(filled: &mut Vec<u8>, drawn: &NumberDrawn, shown: Shown) {
    match shown {
        Shown::Number => put_digits(filled, drawn.number.get()),
        Shown::Text => put_text(filled, &drawn.text),
    }
}

fn put_digits(filled: &mut Vec<u8>, number: u64) {
    write!(filled, "{number}").expect("memory takes all that is written to it");
}

/// A JSON string in its canonical form. A format has no control characters, so nothing else needs
/// to be escaped.
fn put_text(filled: &mut Vec<u8>, text: &str) {
    filled.push(b'"');
    for byte in text.bytes() {
        if matches!(byte, b'"' | b'\\') {
            filled.push(b'\\');
        }
        filled.push(byte);
    }
    filled.push(b'"');
}
