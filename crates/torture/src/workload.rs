//! What clients ask for: workspaces, definitions, and commands of many shapes.
//!
//! Every number that an event draws stands in the event, either as a `draw` or as `number` beside
//! `sequence` in its arguments, so that the checks can count them without asking anybody.

use serde_json::{Value, json};
use seriatim_storage::faulty::Dice;

/// The one app.
pub(crate) const APP: &str = "/v1/apps/shop";
/// How many partitions it has.
pub(crate) const PARTITIONS: u64 = 3;
/// Where three of four commands go, by name and by id: some in every partition.
pub(crate) const HOT: [&str; 4] = ["store-1", "store-2", "7", "8"];
/// How many other workspaces there are.
const COLD: u64 = 48;

/// The first record id that is drawn for a user's record.
pub(crate) const RECORDS_FROM: u64 = 200_001;

/// A kind of workspaces may have few sequences. The definitions after these are of record kinds.
const NEW_SEQUENCES: u64 = 40;

/// What is defined before the first command, with the path of each.
pub(crate) fn foundations() -> Vec<(&'static str, String, Value)> {
    let define = |path: &str, body| ("PUT", format!("{APP}/{path}"), body);
    vec![
        ("POST", "/v1/apps".to_owned(), json!({"name": "shop", "partitions": PARTITIONS})),
        define("sequences/invoice", json!({"format": "INV-{n:06}"})),
        define("sequences/ticket", json!({"reset": "yearly", "format": "{yyyy}/{n}"})),
        define("records/invoice", json!({"class": "c"})),
        define("records/line", json!({"class": "o"})),
        define("records/settings", json!({"class": "c", "singleton": true})),
    ]
}

/// What is defined while clients are at work, one after the other.
pub(crate) fn new_definition(index: u64) -> (String, Value) {
    let path = |what: &str| format!("{APP}/{what}/{}", new_name(index));
    if index < NEW_SEQUENCES {
        (path("sequences"), json!({}))
    } else {
        (path("records"), json!({"class": "c"}))
    }
}

fn new_name(index: u64) -> String {
    format!("new-{index}")
}

/// A command, with all that is needed to send it again.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) workspace: String,
    pub(crate) client: String,
    pub(crate) key: String,
    pub(crate) body: String,
    /// How many events it makes if it is carried out.
    pub(crate) events: usize,
    /// The refusals that are no fault.
    pub(crate) refusals: &'static [&'static str],
    /// The entity that it counts up.
    pub(crate) stock: Option<String>,
}

/// One client's stream of commands.
#[derive(Debug)]
pub(crate) struct Workload {
    client: String,
    dice: Dice,
}

impl Workload {
    pub(crate) fn new(client: String, dice: Dice) -> Self {
        Self { client, dice }
    }

    pub(crate) fn dice(&mut self) -> &mut Dice {
        &mut self.dice
    }

    /// The next command. `defined` counts the new definitions that were acknowledged;
    /// `version_of` says which version of an entity was seen last.
    pub(crate) fn next(
        &mut self,
        defined: u64,
        version_of: impl Fn(&str, &str) -> Option<u64>,
    ) -> Asked {
        let workspace = self.workspace();
        let count = self.dice.below(4);
        let (events, refusals, stock): (Vec<Value>, &[&str], _) = match self.dice.below(12) {
            0..4 => (vec![invoice(1, count)], &[], None),
            4 => (vec![invoice(1, count), ticket(2), invoice(11, 1)], &[], None),
            5 => (vec![ticket(1)], &[], None),
            6 => (vec![json!({"name": "Noted", "args": {"note": "n".repeat(200)}})], &[], None),
            7 => (vec![new(self.dice.below(defined.max(1)), defined)], &[], None),
            8 => (vec![invoice(1, 1), singleton()], &["SINGLETON_EXISTS"], None),
            9 => (vec![ticket(1), claim(self.dice.below(30))], &["KEY_EXISTS"], None),
            _ => {
                let key = format!("stock/A-{count}");
                let event = stock_event(&key, version_of(&workspace, &key));
                (vec![ticket(1), event], &["KEY_EXISTS", "VERSION_MISMATCH"], Some(key))
            }
        };
        let (body, refusals): (_, &[&str]) = match self.dice.below(16) {
            0 => (json!({"events": events, "include_proof": true}), refusals),
            // Refused before anything else, unless the workspace is new.
            1 => (json!({"events": events, "if_offset": 0}), &["OFFSET_MISMATCH"]),
            _ => (json!({ "events": events }), refusals),
        };
        self.asked(workspace, &body, refusals, stock)
    }

    /// A command that uses the newest of so many new definitions.
    pub(crate) fn use_newest(&mut self, defined: u64) -> Asked {
        let workspace = self.workspace();
        let newest = new(defined.saturating_sub(1), defined);
        self.asked(workspace, &json!({"events": [newest]}), &[], None)
    }

    /// A command with one event of this name and nothing else.
    pub(crate) fn say(&mut self, workspace: &str, event: &str) -> Asked {
        self.asked(workspace.to_owned(), &json!({"events": [{"name": event}]}), &[], None)
    }

    fn asked(
        &mut self,
        workspace: String,
        body: &Value,
        refusals: &'static [&'static str],
        stock: Option<String>,
    ) -> Asked {
        let events = body["events"].as_array().map_or(0, Vec::len);
        let (client, key) = (self.client.clone(), self.key());
        Asked { workspace, client, key, body: body.to_string(), events, refusals, stock }
    }

    fn workspace(&mut self) -> String {
        if self.dice.below(4) > 0 {
            return HOT[self.dice.index_below(HOT.len())].to_owned();
        }
        let cold = self.dice.below(COLD);
        if cold.is_multiple_of(2) { format!("branch-{cold}") } else { format!("{}", 1000 + cold) }
    }

    /// A UUID, as far as its form goes.
    fn key(&mut self) -> String {
        let (high, low) = (self.dice.next_u64(), self.dice.next_u64());
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }
}

/// The name of the event behind which nothing follows.
pub(crate) const LAST_EVENT: &str = "Ended";

/// An invoice with the raw id `raw`, and lines with the ones behind it.
fn invoice(raw: u64, lines: u64) -> Value {
    let create =
        |id: u64, kind, fields| json!({"create": {"id": id, "kind": kind, "fields": fields}});
    let lines = raw + 1..=raw + lines;
    let refs: Vec<Value> = lines.clone().map(|line| json!({ "$ref": line })).collect();
    let mut changes = vec![create(raw, "invoice", json!({ "lines": refs }))];
    changes.extend(lines.map(|line| create(line, "line", json!({"of": {"$ref": raw}}))));
    let args = json!({"sequence": "invoice", "number": {"$next": "invoice"}});
    json!({"name": "InvoiceIssued", "args": args, "changes": changes})
}

fn ticket(count: usize) -> Value {
    let draw = json!({"draw": {"sequence": "ticket"}});
    json!({"name": "TicketGiven", "changes": vec![draw; count]})
}

/// Uses what was defined while the server was at work; before that, nothing new.
fn new(index: u64, defined: u64) -> Value {
    if defined == 0 {
        return ticket(1);
    }
    let name = new_name(index);
    let change = if index < NEW_SEQUENCES {
        json!({"draw": {"sequence": name}})
    } else {
        json!({"create": {"id": 9, "kind": name, "fields": {}}})
    };
    json!({"name": "NewlyDefined", "changes": [change]})
}

fn singleton() -> Value {
    let create = json!({"create": {"id": 7, "kind": "settings", "fields": {"open": true}}});
    json!({"name": "SettingsMade", "changes": [create]})
}

fn claim(index: u64) -> Value {
    let set = json!({"set": {"key": format!("claim/{index}"), "value": {}, "if": "absent"}});
    json!({"name": "Claimed", "changes": [set]})
}

fn stock_event(key: &str, version: Option<u64>) -> Value {
    let condition = version.map_or(json!("absent"), |version| json!({ "version": version }));
    let set = json!({"set": {"key": key, "value": {"left": 4}, "if": condition}});
    json!({"name": "StockCounted", "changes": [set]})
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_gives_the_same_commands_and_no_key_twice() {
        let commands = |seed| {
            let mut workload = Workload::new("till".to_owned(), Dice::new(seed));
            let next = |_| workload.next(3, |_, _| None);
            (0..500).map(next).collect::<Vec<Asked>>()
        };
        let (first, again) = (commands(1), commands(1));
        assert!(first.iter().zip(&again).all(|(a, b)| (&a.key, &a.body) == (&b.key, &b.body)));
        let keys: BTreeSet<&str> = first.iter().map(|asked| asked.key.as_str()).collect();
        assert_eq!(keys.len(), 500);
        assert!(first.iter().all(|asked| asked.key.len() == 36));
    }
}
