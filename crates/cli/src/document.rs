//! JSON whose members keep their order, and what of it people are shown.

use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;
use seriatim_client::Json as Text;

/// A JSON document that is no message of the contract. Members stand in the order in which they were
/// given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Value(Value),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

/// A value that is there already.
pub(crate) fn of(value: impl Into<Value>) -> Json {
    Json::Value(value.into())
}

/// Values that are there already.
pub(crate) fn list<T: Into<Value>>(values: impl IntoIterator<Item = T>) -> Json {
    Json::List(values.into_iter().map(of).collect())
}

/// An object with these members.
pub(crate) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(name, value)| (name.to_owned(), value)).into())
}

/// The members of anything that is an object in JSON, in their order, as people read them: texts
/// without quotes, and a dash for null. What is no object has none.
pub(crate) fn members_of(thing: &impl Serialize) -> Vec<(String, String)> {
    let text = Text::of(thing).expect("names are texts, so it has a JSON form");
    let members = text.members().unwrap_or_default();
    members.into_iter().map(|(name, value)| (name, plain(&value))).collect()
}

/// For people: texts without quotes, and a dash for null.
fn plain(value: &Text) -> String {
    match value.get() {
        "null" => "-".to_owned(),
        text => value.parse().unwrap_or_else(|_| text.to_owned()),
    }
}

impl Json {
    /// The same object with a further member.
    pub(crate) fn with(mut self, name: &str, value: Self) -> Self {
        if let Self::Object(members) = &mut self {
            members.push((name.to_owned(), value));
        }
        self
    }

    /// The same object with a further member, if there is one.
    pub(crate) fn with_some(self, name: &str, value: Option<Self>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).expect("names are texts, so it has a JSON form"))
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::List(items) => items.serialize(serializer),
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Table;

    #[test]
    fn members_keep_their_order_in_both_forms() {
        let inner = object([("z", of(1)), ("a", list(["x"]))]);
        let document = object([("next_text", of("INV-1")), ("inner", inner)]).with("gone", of(()));
        assert_eq!(
            document.to_string(),
            r#"{"next_text":"INV-1","inner":{"z":1,"a":["x"]},"gone":null}"#
        );
        assert_eq!(
            Table::of(&document).to_string(),
            "next text  INV-1\ninner      {\"z\":1,\"a\":[\"x\"]}\ngone       -\n"
        );
    }
}
