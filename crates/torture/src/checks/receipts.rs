//! Receipts against events: what was acknowledged is in the log, once and as it was told, and
//! nothing else is.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::event::{Draw, Event};
use super::logs::Logs;
use crate::history::History;
use crate::workload::Asked;

/// To be called when no outcome is unknown any more.
pub(crate) fn check<'a>(
    logs: &Logs,
    histories: impl Iterator<Item = &'a History> + Clone,
) -> Result<()> {
    let mut commands: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for event in logs.workspaces.values().flatten() {
        commands.entry(&event.key).or_default().push(event);
    }
    for (key, code) in histories.clone().flat_map(|history| &history.refused) {
        let event = commands.get(key.as_str());
        ensure!(event.is_none(), "key {key} was refused with {code} and left a trace: {event:?}");
    }
    for (asked, receipt) in histories.flat_map(|history| &history.acknowledged) {
        let events = commands.remove(asked.key.as_str());
        let check = || {
            let events = events.context("it was acknowledged and is not in the log")?;
            check_one(asked, receipt, &events)
        };
        let Asked { workspace, client, key, .. } = asked;
        check().with_context(|| format!("workspace {workspace}, client {client}, key {key}"))?;
    }
    let stranger = commands.first_key_value();
    ensure!(stranger.is_none(), "nobody was told of {stranger:?}");
    Ok(())
}

fn check_one(asked: &Asked, receipt: &[u8], events: &[&Event]) -> Result<()> {
    let receipt: Value = serde_json::from_slice(receipt)?;
    let count = events.len();
    ensure!(count == asked.events, "{} events were asked for and {count} were made", asked.events);
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return Ok(()) };
    let client = events.iter().find(|event| event.client != asked.client);
    ensure!(client.is_none(), "an event of another client: {client:?}");
    let members = [
        ("workspace_id", first.workspace_id),
        ("partition", first.partition),
        ("first_offset", first.offset),
        ("last_offset", last.offset),
        ("first_partition_offset", first.partition_offset),
        ("last_partition_offset", last.partition_offset),
        ("client_sequence", first.client_sequence),
    ];
    for (name, in_log) in members {
        let told = &receipt[name];
        ensure!(*told == in_log, "{name} is {told} in the receipt and {in_log} in the log");
    }
    ensure!(
        last.offset - first.offset + 1 == u64::try_from(count)?,
        "events of one command are not beside each other"
    );
    let told = receipt["numbers"].as_array().into_iter().flatten().map(Draw::read);
    let told: Option<Vec<Draw>> = told.collect();
    let drawn: Vec<Draw> = events.iter().flat_map(|event| event.draws.clone()).collect();
    ensure!(told.as_ref() == Some(&drawn), "{told:?} was told, {drawn:?} is in the log");
    // The receipt goes by raw ids, which here have the order of the document.
    let told = receipt["ids"].as_object().context("a receipt has ids")?;
    let told: BTreeMap<u64, u64> =
        told.iter().filter_map(|(raw, id)| Some((raw.parse().ok()?, id.as_u64()?))).collect();
    let told: Vec<u64> = told.into_values().collect();
    let created: Vec<u64> = events.iter().flat_map(|event| event.created.clone()).collect();
    ensure!(told == created, "the ids {told:?} were told, {created:?} are in the log");
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::event::tests::event;
    use super::super::logs::tests::logs;
    use super::*;

    fn asked(key: &str) -> Asked {
        Asked {
            workspace: "7".to_owned(),
            client: "till".to_owned(),
            key: key.to_owned(),
            body: String::new(),
            events: 1,
            refusals: &[],
            stock: None,
        }
    }

    fn receipt(offset: u64) -> Value {
        json!({
            "workspace_id": 7, "partition": 0, "first_offset": offset, "last_offset": offset,
            "first_partition_offset": offset, "last_partition_offset": offset,
            "client_sequence": offset, "ids": {"1": 200_000 + offset},
            "numbers": [
                {"sequence": "invoice", "number": offset, "text": ""},
                {"sequence": "ticket", "period": 2026, "number": offset, "text": ""},
            ],
        })
    }

    fn history(receipts: &[Value]) -> History {
        let told = (1..).zip(receipts).map(|(offset, receipt)| {
            (asked(&format!("key-{offset}")), receipt.to_string().into_bytes())
        });
        History { acknowledged: told.collect(), ..History::default() }
    }

    fn found(history: &History, offsets: &[u64]) -> Option<String> {
        let events = offsets.iter().map(|offset| event(*offset)).collect();
        check(&logs(events), [history].into_iter()).err().map(|error| format!("{error:#}"))
    }

    #[test]
    fn receipts_that_say_what_the_log_says_pass() {
        assert_eq!(found(&history(&[receipt(1), receipt(2)]), &[1, 2]), None);
    }

    #[test]
    fn a_lost_command_a_stranger_and_a_trace_are_found() {
        let lost = found(&history(&[receipt(1), receipt(2)]), &[1]).unwrap();
        assert!(lost.ends_with("key key-2: it was acknowledged and is not in the log"), "{lost}");
        let stranger = found(&history(&[receipt(1)]), &[1, 2]).unwrap();
        assert!(stranger.starts_with("nobody was told of"), "{stranger}");
        let mut refused = history(&[receipt(1)]);
        refused.refused.insert("key-2".to_owned(), "KEY_EXISTS".to_owned());
        let trace = found(&refused, &[1, 2]).unwrap();
        assert!(trace.starts_with("key key-2 was refused with KEY_EXISTS and left"), "{trace}");
    }

    #[test]
    fn a_command_that_was_carried_out_twice_is_found() {
        let mut again = event(2);
        again.key = event(1).key;
        let found = check(&logs(vec![event(1), again]), [&history(&[receipt(1)])].into_iter());
        let found = format!("{:#}", found.unwrap_err());
        assert!(found.ends_with("1 events were asked for and 2 were made"), "{found}");
    }

    #[test]
    fn a_receipt_that_says_something_else_is_found() {
        let whole = receipt(1);
        for name in whole.as_object().unwrap().keys() {
            let mut other = whole.clone();
            other[name] = match name.as_str() {
                "ids" => json!({"1": 200_002}),
                "numbers" => json!([]),
                _ => json!(5),
            };
            assert!(found(&history(&[other]), &[1]).is_some(), "{name}");
        }
    }
}
