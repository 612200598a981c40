//! An event as a log shows it, as far as the checks look into it.

use anyhow::{Context, Result};
use serde_json::Value;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) offset: u64,
    pub(crate) partition: u64,
    pub(crate) partition_offset: u64,
    pub(crate) workspace: String,
    pub(crate) workspace_id: u64,
    pub(crate) client: String,
    pub(crate) client_sequence: u64,
    pub(crate) key: String,
    pub(crate) hash: String,
    pub(crate) draws: Vec<Draw>,
    /// The ids of the records that it created, in order.
    pub(crate) created: Vec<u64>,
    /// The entities that it set, with their new versions.
    pub(crate) set: Vec<(String, u64)>,
    /// All of it. The order of members says nothing and is not kept.
    pub(crate) text: String,
}

/// A number that was drawn.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Draw {
    pub(crate) sequence: String,
    pub(crate) period: Option<u64>,
    pub(crate) number: u64,
}

impl Event {
    pub(crate) fn read(event: &Value) -> Result<Self> {
        Self::members(event).with_context(|| format!("an event lacks something: {event}"))
    }

    fn members(event: &Value) -> Option<Self> {
        let number = |name: &str| event[name].as_u64();
        let text = |name: &str| Some(event[name].as_str()?.to_owned());
        let changes = event["changes"].as_array()?;
        let of_kind = |kind: &'static str| changes.iter().filter_map(move |it| it.get(kind));
        // A draw in the arguments stands before all others.
        let in_args = event["args"].get("sequence").map(|_| &event["args"]);
        let draws = in_args.into_iter().chain(of_kind("draw")).map(Draw::read);
        let set =
            of_kind("set").map(|set| Some((set["key"].as_str()?.into(), set["version"].as_u64()?)));
        Some(Self {
            offset: number("offset")?,
            partition: number("partition")?,
            partition_offset: number("partition_offset")?,
            workspace: text("workspace")?,
            workspace_id: number("workspace_id")?,
            client: text("client")?,
            client_sequence: number("client_sequence")?,
            key: text("key")?,
            hash: text("hash")?,
            draws: draws.collect::<Option<_>>()?,
            created: of_kind("create")
                .map(|create| create["id"].as_u64())
                .collect::<Option<_>>()?,
            set: set.collect::<Option<_>>()?,
            text: event.to_string(),
        })
    }
}

impl Draw {
    /// Of an event, or of a receipt: both say it in the same words.
    pub(crate) fn read(draw: &Value) -> Option<Self> {
        Some(Self {
            sequence: draw["sequence"].as_str()?.to_owned(),
            period: draw["period"].as_u64(),
            number: draw["number"].as_u64()?,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// An event of the client `till` in workspace 7 of partition 0, alone in its command.
    pub(in crate::checks) fn event(offset: u64) -> Event {
        let event = json!({
            "offset": offset, "partition": 0, "partition_offset": offset,
            "workspace": "7", "workspace_id": 7, "name": "A", "args": {"sequence": "invoice", "number": offset},
            "changes": [
                {"create": {"id": 200_000 + offset}},
                {"draw": {"sequence": "ticket", "period": 2026, "number": offset, "text": "t"}},
                {"set": {"key": "stock", "version": offset, "value": {}}},
            ],
            "client": "till", "client_sequence": offset, "key": format!("key-{offset}"),
            "hash": format!("{offset:064x}"),
        });
        Event::read(&event).unwrap()
    }

    #[test]
    fn numbers_are_found_in_arguments_and_changes_in_order() {
        let draw = |sequence: &str, period| Draw { sequence: sequence.into(), period, number: 3 };
        assert_eq!(event(3).draws, [draw("invoice", None), draw("ticket", Some(2026))]);
        assert_eq!(event(3).created, [200_003]);
        assert_eq!(event(3).set, [("stock".to_owned(), 3)]);
        assert!(Event::read(&json!({"offset": 1})).is_err());
    }
}
