//! Commands written as clients write them, with `'` in place of `"`.

use seriatim_types::CommandEvent;

/// Events, from JSON objects with commas between them.
///
/// # Panics
///
/// When the JSON is not that of events.
#[must_use]
pub fn events(json: &str) -> Vec<CommandEvent> {
    let body = format!("{{'events': [{json}]}}").replace('\'', "\"");
    let read = seriatim_json::command(body.as_bytes());
    read.unwrap_or_else(|invalid| panic!("{invalid}: {body}")).events
}

/// One event that makes these changes, from JSON objects with commas between them.
///
/// # Panics
///
/// When the JSON is not that of changes.
#[must_use]
pub fn changes(json: &str) -> Vec<CommandEvent> {
    events(&format!("{{'name': 'Happened', 'changes': [{json}]}}"))
}
