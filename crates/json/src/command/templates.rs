//! Values with markers become templates with holes.
//!
//! ```text
//!  {"$ref": n}                        the id of a record
//!  {"$next": sequence, "as": "text"}  a number that is drawn here, or its text
//!  {"$draw": i, "as": "text"}         the i-th number that the command draws, again
//!  {"$lit": x}                        x as it is, whatever it holds
//! ```
//!
//! The arguments of an event, each field of a record and the value of an entity are templates, and
//! a marker may stand anywhere in one, also in its place. Arguments must still come out as an
//! object, and so must the fields of a record: of the markers `$lit` alone may stand in their place.
//! Beside other fields a field may be called `$ref`.
//!
//! An object whose only member begins with `$` and is none of the four is refused: a marker that is
//! mistyped must not be stored as data. Beside other members such a name is data.
//!
//! **Invariant:** holes are numbered in the order in which their markers stood in the document,
//! although the members around them are sorted.

use std::mem;

use bytes::{BufMut, Bytes};
use seriatim_types::limits::{
    DRAWS_PER_COMMAND_MAX, FIELD_BYTES_MAX, FIELDS_PER_RECORD_MAX, HOLES_PER_COMMAND_MAX,
};
use seriatim_types::{FieldName, FieldTemplates, Filler, Hole, Name, Shown, Template};

use super::{CommandReader, IDS, too_many};
use crate::canonical::{self, write_comma, write_name};
use crate::error::{Invalid, Problem, excerpt};
use crate::node::{Node, Slot};
use crate::read::{Object, Value};

/// A hole that does not know its turn yet.
pub(super) struct SourceHole {
    /// The byte of the document at which its marker stood.
    source: usize,
    at: usize,
    filler: Filler,
}

/// A template whose holes do not know their turn yet.
struct Draft {
    text: Bytes,
    holes: Vec<SourceHole>,
}

#[derive(Clone, Copy, PartialEq)]
enum Marker {
    Draw,
    Lit,
    Next,
    Ref,
}

const MARKERS: [Marker; 4] = [Marker::Draw, Marker::Lit, Marker::Next, Marker::Ref];

const SHOWN: &[(&str, Shown)] = &[("number", Shown::Number), ("text", Shown::Text)];

/// What a value is for.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// To be filled and stored.
    Stored,
    /// To be compared, before anything can be filled.
    Compared,
    /// To be stored as it is, whatever it holds.
    Literal,
}

impl CommandReader {
    pub(super) fn args(&mut self, slot: Slot<'_>) -> Result<Template, Invalid> {
        let Some(node) = slot.optional() else {
            return Ok(Template::plain(Bytes::from_static(b"{}")));
        };
        node.object()?;
        let draft = self.draft(&node, Use::Stored)?;
        self.check_counts(&node)?;
        if !draft.text.starts_with(b"{") {
            return Err(node.invalid(Problem::ArgsNotAnObject));
        }
        Ok(draft.alone())
    }

    /// The fields of one change: their holes are numbered together.
    pub(super) fn fields(&mut self, node: &Node<'_>) -> Result<FieldTemplates, Invalid> {
        let object = node.object()?;
        let literal = literal_fields(node, object)?;
        let (node, purpose) = match &literal {
            Some(literal) => (literal, Use::Literal),
            None => (node, Use::Stored),
        };
        let members = &node.object()?.members;
        if members.len() > FIELDS_PER_RECORD_MAX as usize {
            return Err(node.invalid(too_many("fields of a record", FIELDS_PER_RECORD_MAX)));
        }
        let mut drafts = Vec::with_capacity(members.len());
        for (name, value) in members {
            let field = node.child(name, value);
            let name = FieldName::new(name)
                .ok_or_else(|| field.invalid(Problem::FieldNameTooLong { bytes: name.len() }))?;
            drafts.push((name, self.draft(&field, purpose)?));
        }
        self.check_counts(node)?;
        let sources = sources(drafts.iter().map(|(_, draft)| draft));
        Ok(drafts.into_iter().map(|(name, draft)| (name, draft.template(&sources))).collect())
    }

    pub(super) fn value(&mut self, node: &Node<'_>) -> Result<Template, Invalid> {
        let draft = self.draft(node, Use::Stored)?;
        self.check_counts(node)?;
        Ok(draft.alone())
    }

    /// A value that a condition compares with.
    pub(super) fn compared(&mut self, node: &Node<'_>) -> Result<Bytes, Invalid> {
        self.write(node, Use::Compared)?;
        self.take_text(node)
    }

    /// The sequence of a draw, which is counted.
    pub(super) fn sequence(&mut self, node: &Node<'_>) -> Result<Name, Invalid> {
        self.draw_count = self.draw_count.saturating_add(1);
        node.name()
    }

    /// Checks what was counted behind each part of the document. Its members are read in their
    /// canonical order, so the part is named and not the member that happened to be the last.
    pub(super) fn check_counts(&self, part: &Node<'_>) -> Result<(), Invalid> {
        if self.draw_count > DRAWS_PER_COMMAND_MAX {
            return Err(part.invalid(too_many("draws of a command", DRAWS_PER_COMMAND_MAX)));
        }
        if self.hole_count > HOLES_PER_COMMAND_MAX {
            return Err(part.invalid(too_many("holes of a command", HOLES_PER_COMMAND_MAX)));
        }
        Ok(())
    }

    /// Checks that each `$draw` has its draw, once all of them are counted.
    pub(super) fn check_draws(&mut self) -> Result<(), Invalid> {
        match self.draw_highest.take() {
            Some((index, field)) if index >= self.draw_count => Err(Invalid {
                field,
                problem: Problem::NoSuchDraw { index, draws: self.draw_count },
            }),
            Some(_) | None => Ok(()),
        }
    }

    fn draft(&mut self, node: &Node<'_>, purpose: Use) -> Result<Draft, Invalid> {
        match purpose {
            Use::Literal => canonical::write(node.value, &mut self.text),
            Use::Stored | Use::Compared => self.write(node, purpose)?,
        }
        Ok(Draft { text: self.take_text(node)?, holes: mem::take(&mut self.holes) })
    }

    fn take_text(&mut self, node: &Node<'_>) -> Result<Bytes, Invalid> {
        let text = self.text.split().freeze();
        if text.len() > FIELD_BYTES_MAX as usize {
            let bytes = text.len();
            return Err(node.invalid(Problem::TooLarge { bytes, max: FIELD_BYTES_MAX }));
        }
        Ok(text)
    }

    fn write(&mut self, node: &Node<'_>, purpose: Use) -> Result<(), Invalid> {
        match node.value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
                canonical::write(node.value, &mut self.text);
            }
            Value::Array(_) => {
                self.text.put_u8(b'[');
                for (index, item) in node.items()?.enumerate() {
                    write_comma(index, &mut self.text);
                    self.write(&item, purpose)?;
                }
                self.text.put_u8(b']');
            }
            Value::Object(object) => {
                if let Some(marker) = Marker::of(object) {
                    return self.write_marked(node, object, marker, purpose);
                }
                if let [(name, _)] = object.members.as_slice()
                    && name.starts_with('$')
                {
                    return Err(node.invalid(Problem::UnknownMarker { found: excerpt(name) }));
                }
                self.text.put_u8(b'{');
                for (index, (name, value)) in object.members.iter().enumerate() {
                    write_comma(index, &mut self.text);
                    write_name(name, &mut self.text);
                    self.write(&node.child(name, value), purpose)?;
                }
                self.text.put_u8(b'}');
            }
        }
        Ok(())
    }

    fn write_marked(
        &mut self,
        node: &Node<'_>,
        object: &Object<'_>,
        marker: Marker,
        purpose: Use,
    ) -> Result<(), Invalid> {
        if purpose == Use::Compared && marker != Marker::Lit {
            return Err(node.invalid(Problem::MarkerInCondition { marker: marker.name() }));
        }
        // Members are sorted, so the marker stands before "as".
        let may_have_as = matches!(marker, Marker::Draw | Marker::Next);
        let (content, shown) = match object.members.as_slice() {
            [(name, content)] => (node.child(name, content), Shown::Number),
            [(name, content), (second, shown)] if may_have_as && second == "as" => {
                (node.child(name, content), node.child(second, shown).word(SHOWN)?)
            }
            _ => {
                let marker = marker.name();
                return Err(node.invalid(Problem::BesideMarker { marker, may_have_as }));
            }
        };
        let filler = match marker {
            Marker::Lit => {
                canonical::write(content.value, &mut self.text);
                return Ok(());
            }
            Marker::Ref => {
                let id = content.whole(IDS)?;
                self.raw_ids.check_created(id, &content)?;
                Filler::Ref(id)
            }
            Marker::Next => Filler::Next { sequence: self.sequence(&content)?, shown },
            Marker::Draw => Filler::Draw { index: self.draw_index(&content)?, shown },
        };
        self.hole_count = self.hole_count.saturating_add(1);
        self.holes.push(SourceHole { source: object.at, at: self.text.len(), filler });
        Ok(())
    }

    fn draw_index(&mut self, node: &Node<'_>) -> Result<u32, Invalid> {
        let index = node.whole(0..=u64::from(u32::MAX))?;
        let index = u32::try_from(index).expect("the range is that of a u32");
        if self.draw_highest.as_ref().is_none_or(|(highest, _)| *highest < index) {
            self.draw_highest = Some((index, node.path.to_string()));
        }
        Ok(index)
    }
}

impl Marker {
    fn of(object: &Object<'_>) -> Option<Self> {
        let mut names = object.members.iter().map(|(name, _)| name.as_ref());
        names.find_map(|name| MARKERS.into_iter().find(|marker| marker.name() == name))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Draw => "$draw",
            Self::Lit => "$lit",
            Self::Next => "$next",
            Self::Ref => "$ref",
        }
    }
}

impl Draft {
    /// The template, if no other shares its count of holes.
    fn alone(self) -> Template {
        let sources = sources([&self]);
        self.template(&sources)
    }

    /// The template, given where the holes that are counted together stood in the document.
    fn template(self, sources: &[usize]) -> Template {
        let holes = self.holes.into_iter().map(|SourceHole { source, at, filler }| {
            let order = sources.partition_point(|other| *other < source);
            Hole { at, order: u32::try_from(order).expect("holes are limited"), filler }
        });
        Template::new(self.text, holes.collect()).expect("holes were found while writing the text")
    }
}

/// The object that stands in `$lit`, if the fields of a record are written so. They come out as fields, so no
/// other marker can stand in their place: stored as data, it would look as if it had drawn a number. Beside
/// other members such a name is the name of a field.
fn literal_fields<'n>(
    node: &'n Node<'n>,
    object: &'n Object<'n>,
) -> Result<Option<Node<'n>>, Invalid> {
    match (Marker::of(object), object.members.as_slice()) {
        (Some(Marker::Lit), [(name, content)]) => {
            let content = node.child(name, content);
            content.object()?;
            Ok(Some(content))
        }
        (Some(_), [_]) => Err(node.invalid(Problem::ArgsNotAnObject)),
        (Some(Marker::Next | Marker::Draw), [_, (second, _)]) if second == "as" => {
            Err(node.invalid(Problem::ArgsNotAnObject))
        }
        (None, [(name, _)]) if name.starts_with('$') => {
            Err(node.invalid(Problem::UnknownMarker { found: excerpt(name) }))
        }
        (Some(_) | None, _) => Ok(None),
    }
}

/// Where the holes stood in the document, ascending. A lone hole is the first, wherever it stood.
fn sources<'d>(drafts: impl IntoIterator<Item = &'d Draft, IntoIter: Clone>) -> Vec<usize> {
    let holes = drafts.into_iter().flat_map(|draft| &draft.holes);
    if holes.clone().nth(1).is_none() {
        return Vec::new();
    }
    let mut sources: Vec<usize> = holes.map(|hole| hole.source).collect();
    sources.sort_unstable();
    sources
}
