//! What the events of a partition come to, beside what a server answers.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

use anyhow::Result;
use serde_json::Value;
use seriatim_api::message::Json;
use seriatim_client::{App, Workspace};
use seriatim_merkle::Frontier;
use seriatim_types::{ClientId, EntityKey, EntityRow, Fields, Number, RecordRow, WorkspaceId};
use seriatim_verify::{Client, Error, Expected, Visitor, Workspace as Expect};
use tokio::sync::mpsc;

use super::super::different;
use crate::progress::Progress;
use crate::remote::not_read;

/// Rows that are found ahead of the server's answers.
const ROWS_AHEAD: usize = 64;

/// Workspaces of which all was compared, and those that were written to meanwhile.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) whole: u64,
    pub(super) moved: u64,
}

/// A row that must be there, or must not.
enum Row {
    Workspace(WorkspaceId, String, Box<Frontier>),
    Client(WorkspaceId, String, (u64, u64)),
    Record(WorkspaceId, u64, Document),
    Entity(WorkspaceId, String, Document),
}

/// Content, version and offset of a record or an entity, if it is there.
type Document = Option<(Value, u64, u64)>;

/// Compares all rows with what the server answers. What has changed meanwhile cannot be compared, and
/// what has not is.
pub(super) async fn compare(
    app: &App,
    expected: Expected,
    (progress, name): (&mut Progress, &str),
) -> Result<Compared> {
    let (sender, mut rows) = mpsc::channel(ROWS_AHEAD);
    let visit = tokio::task::spawn_blocking(move || expected.visit(None, &mut Rows(sender)));
    let (mut workspaces, mut count) = (BTreeMap::new(), 0_u64);
    while let Some(row) = rows.recv().await {
        count = count.saturating_add(1);
        progress.say(|| format!("{name}: {count} rows are compared"));
        match row {
            Row::Workspace(id, name, tree) => {
                let seen = Seen {
                    workspace: app.workspace(&*name),
                    name,
                    size: tree.size(),
                    has_moved: false,
                };
                seen.check_tree(&tree).await?;
                workspaces.insert(id, seen);
            }
            Row::Client(id, ..) | Row::Record(id, ..) | Row::Entity(id, ..) => {
                let seen = workspaces.get_mut(&id).expect("workspaces come before their rows");
                seen.check(&row).await?;
            }
        }
    }
    visit.await?.map_err(|error| super::failure(error, name))?;
    let moved = workspaces.values().filter(|seen| seen.has_moved).count();
    let whole = workspaces.len().saturating_sub(moved);
    Ok(Compared { whole: u64::try_from(whole)?, moved: u64::try_from(moved)? })
}

/// A workspace, and how much of its log was read.
struct Seen {
    workspace: Workspace,
    name: String,
    size: u64,
    has_moved: bool,
}

impl Seen {
    async fn check_tree(&self, tree: &Frontier) -> Result<()> {
        let (size, root) = (tree.size(), tree.root());
        let proof = self.workspace.proof(size, size).await.map_err(|error| not_read(&error))?;
        if proof.root.0 != root.0 {
            let what = format!("its {size} events have the root {root}, and not {}", proof.root);
            return Err(different("TREE_DIFFERENT", format!("{}: {what}", self.name)).into());
        }
        Ok(())
    }

    /// Compares a row. One that differs counts, unless the workspace has changed since.
    async fn check(&mut self, row: &Row) -> Result<()> {
        let asked = difference(&self.workspace, row).await.map_err(|error| not_read(&error))?;
        let Some(difference) = asked else { return Ok(()) };
        let now = self.workspace.head().await.map_err(|error| not_read(&error))?;
        if !difference.is_later(self.size, now.size) {
            let what = format!("{}: {}", self.name, difference.what);
            return Err(different("STATE_DIFFERENT", what).into());
        }
        self.has_moved = true;
        Ok(())
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
    /// Whether an event after those that were read explains it. What is not there any more may have
    /// been removed since, if anything has happened.
    fn is_later(&self, read: u64, now: u64) -> bool {
        now != read && self.found_offset.is_none_or(|found| found > read)
    }
}

async fn difference(
    workspace: &Workspace,
    row: &Row,
) -> Result<Option<Difference>, seriatim_client::Error> {
    Ok(match row {
        Row::Workspace(..) => None,
        Row::Client(_, client, (count, offset)) => {
            let found = workspace.client(client).await?;
            let found = found.map(|it| (it.last_client_sequence, it.last_offset));
            (found != Some((*count, *offset))).then(|| {
                let expected = format!("{count} commands, the last at offset {offset}");
                let what = format!("client {client} has {expected}, and not {found:?}");
                Difference { what, found_offset: found.map(|(_, offset)| offset) }
            })
        }
        Row::Record(_, id, expected) => {
            let found = workspace.record(*id).await?;
            let found = found.map(|it| (it.fields.to_value(), it.version, it.offset));
            of_documents(&format!("record {id}"), expected, &found)
        }
        Row::Entity(_, key, expected) => {
            let found = workspace.entity(key).await?;
            let found = found.map(|it| (it.value.to_value(), it.version, it.offset));
            of_documents(&format!("entity {key}"), expected, &found)
        }
    })
}

fn of_documents(name: &str, expected: &Document, found: &Document) -> Option<Difference> {
    let show = |document: &Document| match document {
        None => "absent".to_owned(),
        Some((content, version, offset)) => {
            format!("{content} in version {version} of offset {offset}")
        }
    };
    let found_offset = found.as_ref().map(|(_, _, offset)| *offset);
    let what = || format!("{name} should be {}, and is {}", show(expected), show(found));
    (expected != found).then(|| Difference { what: what(), found_offset })
}

/// Hands rows over to whoever asks the server, on another thread.
struct Rows(mpsc::Sender<Row>);

impl Rows {
    fn send(&self, row: Row) -> Result<(), Error> {
        // Whoever does not take it has found a difference, and this is not heard any more.
        self.0.blocking_send(row).map_err(|_| io::Error::from(ErrorKind::BrokenPipe).into())
    }
}

impl Visitor for Rows {
    fn workspace(&mut self, it: &Expect) -> Result<(), Error> {
        let name = it.name.as_ref().map_or_else(|| it.id.0.to_string(), ToString::to_string);
        self.send(Row::Workspace(it.id, name, Box::new(it.now.tree.clone())))
    }

    fn client(&mut self, Client { workspace, client, now, .. }: &Client) -> Result<(), Error> {
        let (count, offset) = (now.0.get(), now.1.get());
        self.send(Row::Client(*workspace, text(client), (count, offset)))
    }

    fn record(
        &mut self,
        workspace: WorkspaceId,
        id: Number,
        row: Option<&RecordRow>,
    ) -> Result<(), Error> {
        let document = row.map(|it| (fields(&it.fields), it.version, it.offset.get()));
        self.send(Row::Record(workspace, id.get(), document))
    }

    fn entity(
        &mut self,
        workspace: WorkspaceId,
        key: &EntityKey,
        row: Option<&EntityRow>,
    ) -> Result<(), Error> {
        // Whether one that expires is over, only the server's clock tells.
        if row.is_some_and(|it| it.expires_at.is_some()) {
            return Ok(());
        }
        let value = |bytes| Json::stored(bytes).to_value();
        let document = row.map(|it| (value(&it.value), it.version, it.offset.get()));
        self.send(Row::Entity(workspace, key.as_str().to_owned(), document))
    }
}

fn text(client: &ClientId) -> String {
    String::from_utf8_lossy(client.as_bytes()).into_owned()
}

fn fields(fields: &Fields) -> Value {
    Json::object(fields).to_value()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    #[test]
    fn content_version_and_offset_are_compared_and_what_is_absent() {
        let row = |content, version, offset| Some((content, version, offset));
        let expected = row(json!({"a": 1, "b": 3}), 2, 2);
        let differs = |found: &Document| of_documents("it", &expected, found);
        assert_eq!(differs(&row(json!({"b": 3, "a": 1}), 2, 2)), None);
        let wrong = differs(&row(json!({"a": 1, "b": 3}), 2, 1)).unwrap();
        assert!(wrong.what.ends_with("in version 2 of offset 1"), "{wrong:?}");
        assert_eq!(wrong.found_offset, Some(1));
        assert!(differs(&row(json!({"a": 1}), 2, 2)).is_some());
        assert!(differs(&None).unwrap().what.ends_with("and is absent"));
        assert_eq!(of_documents("it", &None, &None), None);
        assert!(of_documents("it", &None, &expected).is_some());
    }
}
