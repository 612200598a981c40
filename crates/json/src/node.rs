//! A value together with its path: what is asked of it either is there or is an error that says
//! where.

use std::ops::RangeInclusive;

use seriatim_types::limits::{ENTITY_KEY_BYTES_MAX, NAME_BYTES_MAX};
use seriatim_types::{EntityKey, Name};

use crate::error::{Invalid, Problem, excerpt};
use crate::path::Path;
use crate::read::{Object, Value};

#[derive(Clone, Copy)]
pub(crate) struct Node<'p> {
    pub(crate) value: &'p Value<'p>,
    pub(crate) path: Path<'p>,
}

/// A member that is there or not.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'p> {
    value: Option<&'p Value<'p>>,
    path: Path<'p>,
}

impl<'p> Node<'p> {
    pub(crate) fn root(value: &'p Value<'p>) -> Self {
        Self { value, path: Path::Root }
    }

    pub(crate) fn invalid(&self, problem: Problem) -> Invalid {
        self.path.invalid(problem)
    }

    /// The members with these names, in this order. Any other is an error: a name that is
    /// mistyped must not pass for one that is absent.
    pub(crate) fn members<const N: usize>(
        &self,
        known: &'static [&'static str; N],
    ) -> Result<[Slot<'_>; N], Invalid> {
        let mut slots = known.map(|name| Slot { value: None, path: self.path.member(name) });
        for (name, value) in &self.object()?.members {
            match known.iter().zip(&mut slots).find(|(known, _)| *known == name) {
                Some((_, slot)) => slot.value = Some(value),
                None => {
                    return Err(self.path.member(name).invalid(Problem::UnknownMember { known }));
                }
            }
        }
        Ok(slots)
    }

    pub(crate) fn object(&self) -> Result<&'p Object<'p>, Invalid> {
        let Value::Object(object) = self.value else { return Err(self.wrong("an object")) };
        Ok(object)
    }

    pub(crate) fn child(&self, name: &'p str, value: &'p Value<'p>) -> Node<'_> {
        Node { value, path: self.path.member(name) }
    }

    pub(crate) fn items(&self) -> Result<impl ExactSizeIterator<Item = Node<'_>>, Invalid> {
        let Value::Array(items) = self.value else { return Err(self.wrong("an array")) };
        let node = |(index, value)| Node { value, path: self.path.item(index) };
        Ok(items.iter().enumerate().map(node))
    }

    pub(crate) fn text(&self) -> Result<&'p str, Invalid> {
        let Value::Text(text) = self.value else { return Err(self.wrong("a string")) };
        Ok(text)
    }

    pub(crate) fn flag(&self) -> Result<bool, Invalid> {
        let Value::Bool(flag) = self.value else { return Err(self.wrong("true or false")) };
        Ok(*flag)
    }

    /// A number that is whole and lies in a range, however it is written.
    pub(crate) fn whole(&self, range: RangeInclusive<u64>) -> Result<u64, Invalid> {
        let Value::Number(number) = self.value else { return Err(self.wrong("a number")) };
        number.whole().filter(|whole| range.contains(whole)).ok_or_else(|| {
            let found = number.text(&mut ryu_js::Buffer::new()).to_owned();
            self.invalid(Problem::NotInRange { min: *range.start(), max: *range.end(), found })
        })
    }

    pub(crate) fn name(&self) -> Result<Name, Invalid> {
        let not_a_name = Problem::NotAName { bytes_max: NAME_BYTES_MAX };
        Name::new(self.text()?).ok_or_else(|| self.invalid(not_a_name))
    }

    pub(crate) fn entity_key(&self) -> Result<EntityKey, Invalid> {
        let not_a_name = Problem::NotAName { bytes_max: ENTITY_KEY_BYTES_MAX };
        EntityKey::new(self.text()?).ok_or_else(|| self.invalid(not_a_name))
    }

    /// What one of some words stands for.
    pub(crate) fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Result<T, Invalid> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words = words.iter().map(|(word, _)| *word).collect();
            self.invalid(Problem::NotOneOf { words, found: excerpt(text) })
        })
    }

    fn wrong(&self, expected: &'static str) -> Invalid {
        self.invalid(Problem::WrongType { expected, found: self.value.noun() })
    }
}

impl<'p> Slot<'p> {
    pub(crate) fn required(self) -> Result<Node<'p>, Invalid> {
        self.optional().ok_or_else(|| self.path.invalid(Problem::Missing))
    }

    pub(crate) fn optional(self) -> Option<Node<'p>> {
        self.value.map(|value| Node { value, path: self.path })
    }

    /// The member, unless it is absent or null.
    pub(crate) fn non_null(self) -> Option<Node<'p>> {
        self.optional().filter(|node| !matches!(node.value, Value::Null))
    }
}
