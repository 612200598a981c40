//! JSON whose members keep their order, and the same as a table.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use crate::output::Table;

/// A JSON document. Members stand in the order in which the HTTP contract has them.
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

    /// A line for each member.
    pub(crate) fn table(&self) -> Table {
        let line = |(name, value): &(String, Self)| (name.replace('_', " "), value.plain());
        Table::members(self.members().iter().map(line))
    }

    /// Some of an object's members, for people.
    pub(crate) fn plain_members<const N: usize>(&self, names: [&str; N]) -> [String; N] {
        let find = |name: &str| self.members().iter().find(|(known, _)| known == name);
        names.map(|name| find(name).map(|(_, value)| value.plain()).unwrap_or_default())
    }

    /// The first members of an object, for people.
    pub(crate) fn plain_first<const N: usize>(&self) -> [String; N] {
        let members = self.members();
        std::array::from_fn(|nth| {
            members.get(nth).map(|(_, value)| value.plain()).unwrap_or_default()
        })
    }

    fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(members) => members,
            Self::Value(_) | Self::List(_) => &[],
        }
    }

    /// For people: texts without quotes, and a dash for null.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Value(Value::Null) => "-".to_owned(),
            Self::Value(Value::String(text)) => text.clone(),
            Self::Value(_) | Self::List(_) | Self::Object(_) => self.to_string(),
        }
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

    #[test]
    fn members_keep_their_order_in_both_forms() {
        let inner = object([("z", of(1)), ("a", list(["x"]))]);
        let document = object([("next_text", of("INV-1")), ("inner", inner)]).with("gone", of(()));
        assert_eq!(
            document.to_string(),
            r#"{"next_text":"INV-1","inner":{"z":1,"a":["x"]},"gone":null}"#
        );
        assert_eq!(
            document.table().to_string(),
            "next text  INV-1\ninner      {\"z\":1,\"a\":[\"x\"]}\ngone       -\n"
        );
    }
}
