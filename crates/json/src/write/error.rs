//! Errors, and other small bodies that are a list of facts.

use bytes::Bytes;
use seriatim_types::{Fields, Hash, Time};

use super::object::{Object, object};

/// Something that a body says under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are what they hold")]
pub enum Fact {
    Null,
    Flag(bool),
    Number(u64),
    Text(String),
    Time(Time),
    Hash(Hash),
    /// The fields of a record, as an object.
    Fields(Fields),
    /// What is JSON already.
    Json(Bytes),
    /// A list of what is JSON already.
    List(Vec<Vec<u8>>),
}

/// The body of an error or a refusal: its code, a sentence, whether the same request can succeed
/// later, and the facts of the case.
#[must_use]
pub fn error(code: &str, message: &str, is_retryable: bool, facts: &[(&str, Fact)]) -> Vec<u8> {
    object(|object| {
        object.text("code", code);
        object.text("message", message);
        object.flag("retryable", is_retryable);
        write_facts(object, facts);
    })
}

/// The body that says some facts, in their order.
#[must_use]
pub fn facts(facts: &[(&str, Fact)]) -> Vec<u8> {
    object(|object| write_facts(object, facts))
}

fn write_facts(object: &mut Object<'_>, facts: &[(&str, Fact)]) {
    for (name, fact) in facts {
        match fact {
            Fact::Null => object.null(name),
            Fact::Flag(flag) => object.flag(name, *flag),
            Fact::Number(number) => object.number(name, *number),
            Fact::Text(text) => object.text(name, text),
            Fact::Time(time) => object.time(name, *time),
            Fact::Hash(hash) => object.hash(name, hash),
            Fact::Fields(fields) => object.object(name, |object| {
                fields.iter().for_each(|(name, value)| object.raw(name.as_str(), value));
            }),
            Fact::Json(json) => object.raw(name, json),
            Fact::List(items) => {
                object.list(name, items, |out, item| out.extend_from_slice(item));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use seriatim_types::FieldName;

    use super::*;

    #[test]
    fn an_error_says_its_code_its_sentence_and_its_facts_in_order() {
        let fields = vec![(FieldName::new("left").unwrap(), Bytes::from_static(b"3"))];
        let facts = [
            ("key", Fact::Text("a \"b\"".to_owned())),
            ("current_version", Fact::Number(8)),
            ("current_value", Fact::Fields(fields)),
            ("none", Fact::Null),
            ("items", Fact::List(vec![b"1".to_vec(), b"{}".to_vec()])),
            ("at", Fact::Time(Time(0))),
        ];
        let body = error("VERSION_MISMATCH", "it is so", false, &facts);
        let expected = r#"{"code":"VERSION_MISMATCH","message":"it is so","retryable":false,"key":"a \"b\"","current_version":8,"current_value":{"left":3},"none":null,"items":[1,{}],"at":"1970-01-01T00:00:00.000Z"}"#;
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }
}
