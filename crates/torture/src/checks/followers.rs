//! What followers saw is the log: each event once, in order, and none that was taken back.

use anyhow::{Context, Result, ensure};

use super::logs::Logs;
use crate::follower::Seen;

pub(crate) fn check(logs: &Logs, seen: &Seen) -> Result<()> {
    let Seen { workspace, events } = seen;
    let log = logs.workspaces.get(workspace).context("the log is not empty")?;
    let (count, expected) = (events.len(), log.len());
    for (event, (offset, sent)) in log.iter().zip(events) {
        let in_log = event.offset;
        ensure!(*offset == in_log, "a follower of {workspace} was sent {offset} before {in_log}");
        let (sent, text) = (sent.to_string(), &event.text);
        ensure!(sent == *text, "a follower of {workspace} was sent {sent}, and the log has {text}");
    }
    ensure!(
        count == expected,
        "a follower of {workspace} was sent {count} events, and the log has {expected}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::event::tests::event;
    use super::super::logs::tests::logs;
    use super::*;

    fn found(offsets: &[u64], change: impl Fn(&mut Value)) -> Option<String> {
        let log = logs((1..=3).map(event).collect());
        let sent = offsets.iter().map(|offset| {
            let mut sent = serde_json::from_str(&event(*offset).text).unwrap();
            change(&mut sent);
            (*offset, sent)
        });
        let seen = Seen { workspace: "7".to_owned(), events: sent.collect() };
        check(&log, &seen).err().map(|error| error.to_string())
    }

    #[test]
    fn a_follower_that_saw_the_log_passes_and_no_other() {
        assert_eq!(found(&[1, 2, 3], |_| {}), None);
        for offsets in [[1, 1, 2].as_slice(), &[1, 3], &[2, 1, 3], &[1, 2], &[1, 2, 3, 4]] {
            assert!(found(offsets, |_| {}).is_some(), "{offsets:?}");
        }
        let taken_back = found(&[1, 2, 3], |sent| sent["key"] = json!("another"));
        assert!(taken_back.unwrap().contains("and the log has"));
    }
}
