//! JSON that an application stores, carried as it is.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, Value};
use seriatim_types::Fields;

/// A JSON value as text: what an application has sent or stored, byte for byte.
///
/// Numbers keep all their digits. [`parse`](Self::parse) reads it into a type of the application.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// The text of something that becomes JSON.
    ///
    /// # Errors
    ///
    /// It does not become JSON, as a map whose keys are no text.
    pub fn of(value: impl Serialize) -> serde_json::Result<Self> {
        serde_json::value::to_raw_value(&value).map(Self)
    }

    /// Takes bytes that are said to be JSON.
    ///
    /// # Errors
    ///
    /// They are not.
    pub fn from_bytes(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes).map(Self)
    }

    /// A value as it is stored.
    ///
    /// # Panics
    ///
    /// If it is not JSON, which no value can be that was stored.
    #[must_use]
    pub fn stored(bytes: &[u8]) -> Self {
        Self::from_bytes(bytes).expect("what is stored was read as JSON before")
    }

    /// The fields of a record, as one object.
    ///
    /// # Panics
    ///
    /// If a value is not JSON, which none can be that was stored.
    #[must_use]
    pub fn object(fields: &Fields) -> Self {
        let sizes = fields.iter().flat_map(|(name, value)| [name.as_str().len(), value.len(), 4]);
        let mut bytes = Vec::with_capacity(sizes.chain([2]).sum());
        bytes.push(b'{');
        for (index, (name, value)) in fields.iter().enumerate() {
            if index > 0 {
                bytes.push(b',');
            }
            serde_json::to_writer(&mut bytes, name.as_str()).expect("a text becomes JSON");
            bytes.push(b':');
            bytes.extend_from_slice(value);
        }
        bytes.push(b'}');
        Self::stored(&bytes)
    }

    /// The text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Reads it into a type.
    ///
    /// # Errors
    ///
    /// It has another shape.
    pub fn parse<'j, T: Deserialize<'j>>(&'j self) -> serde_json::Result<T> {
        serde_json::from_str(self.get())
    }

    /// The members of an object, in their order and as they are written; one that stands there
    /// twice is there twice. `None` if it is no object.
    #[must_use]
    pub fn members(&self) -> Option<Vec<(String, Self)>> {
        self.parse::<Members>().ok().map(|Members(members)| members)
    }

    /// Reads it into a tree.
    ///
    /// # Panics
    ///
    /// Never: the text was read as JSON before.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.parse().expect("it was read as JSON before")
    }
}

/// The members of an object.
struct Members(Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

impl From<Value> for Json {
    /// A tree always has a text.
    fn from(value: Value) -> Self {
        Self::of(value).expect("the names of a tree's members are texts")
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.get())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.get())
    }
}

impl JsonSchema for Json {
    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}
