//! What the events of a partition come to, as far as a server shows it.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;
use seriatim_client::{Change, Error, Event, Json, Timestamp, Workspace};
use seriatim_merkle::Frontier;
use seriatim_types::Hash;

use super::super::different;
use crate::remote::not_read;

/// What the events of a partition come to.
#[derive(Debug, Default)]
pub(super) struct Walk {
    time: Option<Timestamp>,
    pub(super) workspaces: BTreeMap<String, Expected>,
}

/// What the events of a workspace come to.
#[derive(Debug, Default)]
pub(super) struct Expected {
    tree: Frontier,
    clients: BTreeMap<String, Client>,
    records: BTreeMap<u64, Document>,
    entities: BTreeMap<String, Document>,
}

#[derive(Debug)]
struct Client {
    /// The count of its commands, and the key of the last one.
    last: (u64, String),
    offset: u64,
}

/// A record or an entity; one that was removed has no content.
#[derive(Debug, Clone, PartialEq)]
struct Document {
    content: Option<Value>,
    version: u64,
    offset: u64,
    expires_at: Option<Timestamp>,
}

impl Walk {
    /// Takes in the next event, or says what is wrong with it.
    pub(super) fn take(&mut self, event: &Event) -> Result<(), String> {
        if self.time.replace(event.committed_at).is_some_and(|last| event.committed_at < last) {
            return Err("it is earlier than the event before it".to_owned());
        }
        self.workspaces.entry(event.workspace.clone()).or_default().take(event)
    }
}

impl Expected {
    fn take(&mut self, event: &Event) -> Result<(), String> {
        let next = self.tree.size().saturating_add(1);
        if event.offset != next {
            let (workspace, found) = (&event.workspace, event.offset);
            return Err(format!("offset {next} of {workspace} should come, not {found}"));
        }
        self.tree.push(Hash(event.hash.0), &mut |_, _| {});
        self.count(event)?;
        event.changes.iter().try_for_each(|change| self.change(change, event.offset))
    }

    /// The commands of a client are counted without a hole.
    fn count(&mut self, event: &Event) -> Result<(), String> {
        let (Some(client), Some(key), Some(found)) =
            (&event.client, event.key, event.client_sequence)
        else {
            return Ok(());
        };
        let (key, offset) = (key.to_string(), event.offset);
        let next = match self.clients.get(client).map(|client| &client.last) {
            None => 1,
            // A further event of the same command.
            Some((count, last)) if *last == key => *count,
            Some((count, _)) => count.saturating_add(1),
        };
        if found != next {
            return Err(format!("command {next} of client {client} should come, not {found}"));
        }
        self.clients.insert(client.clone(), Client { last: (next, key), offset });
        Ok(())
    }

    fn change(&mut self, change: &Change, offset: u64) -> Result<(), String> {
        let document = |content: &Json, version, expires_at| Document {
            content: Some(content.to_value()),
            version,
            offset,
            expires_at,
        };
        match change {
            Change::Create(it) => {
                let before = self.records.insert(it.id, document(&it.fields, 1, None));
                // An id that was freed by a delete can be used again: a singleton's, or an import's.
                if before.is_some_and(|before| before.content.is_some()) {
                    return Err(format!("record {} is created a second time", it.id));
                }
            }
            Change::Update(it) => {
                let record = self.record(it.id, it.version.saturating_sub(1))?;
                if let (Some(Value::Object(all)), Value::Object(new)) =
                    (&mut record.content, it.fields.to_value())
                {
                    all.extend(new);
                }
                (record.version, record.offset) = (it.version, offset);
            }
            Change::Delete(it) => self.record(it.id, it.version)?.content = None,
            Change::Set(it) => {
                let document = document(&it.value, it.version, it.expires_at);
                self.entities.insert(it.key.clone(), document);
            }
            Change::Unset(it) => {
                let removed = Document { content: None, version: 0, offset, expires_at: None };
                self.entities.insert(it.key.clone(), removed);
            }
            Change::Draw(_) | Change::Define(_) => {}
        }
        Ok(())
    }

    /// A record that is there in a version.
    fn record(&mut self, id: u64, version: u64) -> Result<&mut Document, String> {
        let record = self.records.get_mut(&id);
        let record = record.filter(|it| it.content.is_some() && it.version == version);
        record.ok_or_else(|| format!("record {id} is not there in version {version}"))
    }

    /// Compares all of it with what the server answers. Returns whether all of it was comparable: what
    /// has changed meanwhile is not, and what has not is.
    pub(super) async fn compare(&self, workspace: &Workspace) -> Result<bool> {
        let (size, root) = (self.tree.size(), self.tree.root());
        let head = workspace.head().await.map_err(|error| not_read(&error))?;
        let proof = workspace.proof(size, size).await.map_err(|error| not_read(&error))?;
        if proof.root.0 != root.0 {
            let what = format!("its {size} events have the root {root}, and not {}", proof.root);
            return Err(different("TREE_DIFFERENT", format!("{}: {what}", head.workspace)).into());
        }
        let differences = self.differences(workspace).await.map_err(|error| not_read(&error))?;
        let now = workspace.head().await.map_err(|error| not_read(&error))?;
        match differences.iter().find(|it| !it.is_later(size, now.size)) {
            None => Ok(differences.is_empty()),
            Some(Difference { what, .. }) => {
                Err(different("STATE_DIFFERENT", format!("{}: {what}", head.workspace)).into())
            }
        }
    }

    async fn differences(&self, workspace: &Workspace) -> Result<Vec<Difference>, Error> {
        let mut differences = Vec::new();
        for (name, Client { last: (count, _), offset }) in &self.clients {
            let found = workspace.client(name).await?;
            let found = found.map(|it| (it.last_client_sequence, it.last_offset));
            if found != Some((*count, *offset)) {
                let expected = format!("{count} commands, the last at offset {offset}");
                let what = format!("client {name} has {expected}, and not {found:?}");
                differences.push(Difference { what, found_offset: found.map(|(_, it)| it) });
            }
        }
        for (id, expected) in &self.records {
            let found = workspace.record(*id).await?;
            let found = found.map(|it| (it.fields.to_value(), it.version, it.offset));
            differences.extend(expected.difference(&format!("record {id}"), found));
        }
        // Whether one that expires is over, only the server's clock tells.
        for (key, expected) in self.entities.iter().filter(|(_, it)| it.expires_at.is_none()) {
            let found = workspace.entity(key).await?;
            let found = found.map(|it| (it.value.to_value(), it.version, it.offset));
            differences.extend(expected.difference(&format!("entity {key}"), found));
        }
        Ok(differences)
    }
}

/// What is not as the events say.
#[derive(Debug, PartialEq)]
struct Difference {
    what: String,
    /// The offset of the event that made what was found, if anything was.
    found_offset: Option<u64>,
}

impl Difference {
    /// Whether an event behind those that were read explains it. What is not there any more may have
    /// been removed since, if anything has happened.
    fn is_later(&self, read: u64, now: u64) -> bool {
        now != read && self.found_offset.is_none_or(|found| found > read)
    }
}

impl Document {
    fn difference(&self, name: &str, found: Option<(Value, u64, u64)>) -> Option<Difference> {
        let expected = self.content.clone().map(|content| (content, self.version, self.offset));
        let show = |document: &Option<(Value, u64, u64)>| match document {
            None => "absent".to_owned(),
            Some((content, version, offset)) => {
                format!("{content} in version {version} of offset {offset}")
            }
        };
        let found_offset = found.as_ref().map(|(_, _, offset)| *offset);
        let what = || format!("{name} should be {}, and is {}", show(&expected), show(&found));
        (expected != found).then(|| Difference { what: what(), found_offset })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use serde_json::json;
    use seriatim_client::{Created, Deleted, EntitySet, EntityUnset, Key, Updated};

    use super::*;

    /// All differences of a workspace that was written to meanwhile were excused, so that of a busy
    /// server nothing but logs and trees was compared.
    #[test]
    fn only_what_later_events_have_changed_is_excused() {
        let found = |found_offset| Difference { what: String::new(), found_offset };
        assert!(found(Some(8)).is_later(7, 8) && found(None).is_later(7, 8));
        assert!(!found(Some(7)).is_later(7, 8) && !found(Some(1)).is_later(7, 8));
        assert!(!found(Some(7)).is_later(7, 7) && !found(None).is_later(7, 7));
    }

    /// The next event of a workspace, by a command of its own.
    fn event(offset: u64, client_sequence: u64, changes: Vec<Change>) -> Event {
        let key = format!("0b0e8a4e-5f0a-4c3e-9d6b-{client_sequence:012x}");
        let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(1000)).unwrap();
        Event {
            offset,
            partition: 0,
            partition_offset: offset,
            workspace: "store-1".to_owned(),
            workspace_id: 7,
            name: "X".to_owned(),
            args: json!({}).into(),
            changes,
            client: Some("me".to_owned()),
            client_sequence: Some(client_sequence),
            key: Some(key.parse::<Key>().unwrap().into()),
            committed_at: at.into(),
            hash: seriatim_client::Hash([0; 32]),
        }
    }

    fn create(id: u64) -> Change {
        let fields = json!({"a": 1, "b": 2}).into();
        Change::Create(Created { id, kind: "order".to_owned(), parent: None, fields })
    }

    fn update(id: u64, version: u64) -> Change {
        Change::Update(Updated { id, version, fields: json!({"b": 3}).into() })
    }

    /// What is wrong with the last of some events.
    fn breach(events: &[Event]) -> String {
        let mut walk = Walk::default();
        let (last, before) = events.split_last().unwrap();
        before.iter().for_each(|event| walk.take(event).unwrap());
        walk.take(last).unwrap_err()
    }

    #[test]
    fn every_law_has_a_breach_that_is_found() {
        let first = event(1, 1, vec![create(5)]);
        let found = breach(&[first.clone(), event(3, 2, vec![])]);
        assert_eq!(found, "offset 2 of store-1 should come, not 3");
        let found = breach(&[first.clone(), event(1, 2, vec![])]);
        assert_eq!(found, "offset 2 of store-1 should come, not 1");
        let found = breach(&[first.clone(), event(2, 3, vec![])]);
        assert_eq!(found, "command 2 of client me should come, not 3");
        let early = Event { committed_at: SystemTime::UNIX_EPOCH.into(), ..event(2, 2, vec![]) };
        assert_eq!(breach(&[first.clone(), early]), "it is earlier than the event before it");
        let found = breach(&[first.clone(), event(2, 2, vec![create(5)])]);
        assert_eq!(found, "record 5 is created a second time");
        let found = breach(&[first.clone(), event(2, 2, vec![update(5, 3)])]);
        assert_eq!(found, "record 5 is not there in version 2");
        let delete = Change::Delete(Deleted { id: 5, version: 1 });
        let found = breach(&[first, event(2, 2, vec![delete, update(5, 2)])]);
        assert_eq!(found, "record 5 is not there in version 1");
    }

    /// A singleton that was deleted and created again was taken for damage.
    #[test]
    fn an_id_that_a_delete_has_freed_can_be_used_again() {
        let mut walk = Walk::default();
        let delete = Change::Delete(Deleted { id: 5, version: 1 });
        walk.take(&event(1, 1, vec![create(5), delete, create(5)])).unwrap();
    }

    #[test]
    fn what_is_left_of_all_changes_is_expected() {
        let mut walk = Walk::default();
        let set = |value: Value| {
            let (key, value) = ("k".to_owned(), value.into());
            Change::Set(EntitySet { key, version: 1, value, expires_at: None })
        };
        let unset = Change::Unset(EntityUnset { key: "k".to_owned(), version: Some(1) });
        walk.take(&event(1, 1, vec![create(5), create(6), set(json!(1))])).unwrap();
        // The second event of the same command.
        walk.take(&event(2, 1, vec![update(5, 2)])).unwrap();
        let delete = Change::Delete(Deleted { id: 6, version: 1 });
        walk.take(&event(3, 2, vec![delete, unset])).unwrap();
        let expected = &walk.workspaces["store-1"];
        assert_eq!((expected.clients["me"].last.0, expected.clients["me"].offset), (2, 3));
        let found = |content, version, offset| Some((content, version, offset));
        assert_eq!(
            expected.records[&5].difference("it", found(json!({"a": 1, "b": 3}), 2, 2)),
            None
        );
        assert_eq!(expected.records[&6].difference("it", None), None);
        assert_eq!(expected.entities["k"].difference("it", None), None);
        let wrong =
            expected.records[&5].difference("it", found(json!({"a": 1, "b": 3}), 2, 1)).unwrap();
        assert!(wrong.what.ends_with("in version 2 of offset 1"), "{wrong:?}");
        assert_eq!(wrong.found_offset, Some(1));
        let gone = expected.records[&5].difference("it", None).unwrap();
        assert!(gone.what.ends_with("and is absent"), "{gone:?}");
    }
}
