//! Where something stands in a document, as a person writes it: `events[0].args["unit price"]`.
//!
//! A path is a list on the stack from the leaf to the root. It costs nothing until something is
//! wrong, and only then becomes a text.

use std::fmt;

use seriatim_types::Step;

use crate::error::{Invalid, Problem};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'p> {
    Root,
    Member(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl Path<'_> {
    pub(crate) fn member<'p>(&'p self, name: &'p str) -> Path<'p> {
        Path::Member(self, name)
    }

    pub(crate) fn item(&self, index: usize) -> Path<'_> {
        Path::Item(self, index)
    }

    pub(crate) fn invalid(&self, problem: Problem) -> Invalid {
        Invalid { field: self.to_string(), problem }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parent, step) = match *self {
            Self::Root => return Ok(()),
            Self::Member(parent, name) => (parent, Step::Member(name.into())),
            Self::Item(parent, index) => (parent, Step::Item(index)),
        };
        match parent {
            // A path begins with a name, and not with a dot.
            Path::Root => f.write_str(step.to_string().trim_start_matches('.')),
            Path::Member(..) | Path::Item(..) => write!(f, "{parent}{step}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str) -> String {
        Path::Root.member("fields").member(name).to_string()
    }

    #[test]
    fn a_path_reads_as_a_person_writes_it() {
        let event_name = Path::Root.member("events").item(3).member("name").to_string();
        assert_eq!(event_name, "events[3].name");
        assert_eq!(Path::Root.item(0).to_string(), "[0]");
        assert_eq!(Path::Root.to_string(), "");
    }

    #[test]
    fn names_that_are_no_identifiers_stand_in_quotes() {
        assert_eq!(member("$ref"), "fields.$ref");
        assert_eq!(member("a b"), r#"fields["a b"]"#);
        assert_eq!(member("1st"), r#"fields["1st"]"#);
        assert_eq!(member(""), r#"fields[""]"#);
        assert_eq!(member("größe"), r#"fields["größe"]"#);
        assert_eq!(member("say \"hi\"\n"), r#"fields["say \"hi\"\n"]"#);
    }

    #[test]
    fn a_long_name_is_cut_and_cannot_flood_the_answer() {
        assert_eq!(member(&"x".repeat(1000)), format!("fields[\"{}…\"]", "x".repeat(64)));
    }
}
