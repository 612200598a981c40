//! A client: sends commands, remembers what it was told, and insists on it.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use seriatim_testkit::{HttpAnswer, ReconnectingClient};

use crate::history::{Counts, History};
use crate::progress::Progress;
use crate::workload::{APP, Asked, Workload};

/// How often a command is sent again that the server has no room for.
const BUSY_MAX: u64 = 100_000;

pub(crate) struct Client {
    workload: Workload,
    history: History,
    /// The command that was not answered before the last kill.
    unknown: Option<Asked>,
    /// Versions of entities as they were seen last.
    versions: BTreeMap<(String, String), u64>,
    /// New definitions that it has heard of.
    defined: u64,
}

/// What came of sending a command.
enum Answer {
    Receipt {
        bytes: Vec<u8>,
        is_repeated: bool,
    },
    Refused {
        code: String,
        body: Value,
    },
    /// The connection broke. Only sending it again can tell.
    Unknown,
}

impl Client {
    pub(crate) fn new(workload: Workload) -> Self {
        let (history, versions) = (History::default(), BTreeMap::new());
        Self { workload, history, unknown: None, versions, defined: 0 }
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// Works until the server is killed, which it learns from a command that is not answered.
    pub(crate) fn live(&mut self, address: SocketAddr, progress: &Progress) -> Result<()> {
        let mut http = ReconnectingClient::new(address);
        self.resolve(&mut http, progress)?;
        while self.unknown.is_none() {
            let old = self.history.acknowledged.len();
            match self.workload.dice().below(16) {
                0 if old > 0 => {
                    let index = self.workload.dice().index_below(old);
                    self.repeat(&mut http, index, progress)?;
                }
                1 if old > 0 => {
                    let index = self.workload.dice().index_below(old);
                    self.reuse_key(&mut http, index, progress)?;
                }
                _ => {
                    let asked = self.next(progress.defined());
                    self.submit(&mut http, asked, progress)?;
                }
            }
        }
        Ok(())
    }

    /// Finds out what became of the last command, while nobody kills the server.
    pub(crate) fn resolve_now(&mut self, address: SocketAddr) -> Result<()> {
        self.resolve(&mut ReconnectingClient::new(address), &Progress::default())
    }

    /// Has an event of this name, while nobody kills the server.
    pub(crate) fn say(&mut self, address: SocketAddr, workspace: &str, event: &str) -> Result<()> {
        let asked = self.workload.say(workspace, event);
        self.submit(&mut ReconnectingClient::new(address), asked, &Progress::default())
    }

    /// The next command: one that uses a definition as soon as it was acknowledged, or any.
    fn next(&mut self, defined: u64) -> Asked {
        if defined > self.defined {
            self.defined = defined;
            return self.workload.use_newest(defined);
        }
        let versions = &self.versions;
        let version_of = |workspace: &str, key: &str| {
            versions.get(&(workspace.to_owned(), key.to_owned())).copied()
        };
        self.workload.next(defined, version_of)
    }

    /// Asks again for receipts that were given: for the newest and for some others, or for all.
    pub(crate) fn insist(&mut self, address: SocketAddr, on: Insist) -> Result<()> {
        let (mut http, progress) = (ReconnectingClient::new(address), Progress::default());
        let count = self.history.acknowledged.len();
        let indexes: Vec<usize> = match on {
            Insist::OnAll => (0..count).collect(),
            Insist::OnSome { newest, older } => {
                let older = (0..older).map(|_| self.workload.dice().index_below(count.max(1)));
                let older: Vec<usize> = older.filter(|index| *index < count).collect();
                (count.saturating_sub(newest)..count).chain(older).collect()
            }
        };
        indexes.into_iter().try_for_each(|index| self.repeat(&mut http, index, &progress))
    }

    /// Finds out what became of the command that was not answered, by sending it again.
    fn resolve(&mut self, http: &mut ReconnectingClient, progress: &Progress) -> Result<()> {
        let Some(asked) = self.unknown.take() else { return Ok(()) };
        let counts = &mut self.history.counts;
        match ask(http, &asked, counts, progress)? {
            Answer::Unknown => self.unknown = Some(asked),
            Answer::Refused { code, body } => {
                counts.unknown_refused += 1;
                self.refused(&asked, code, &body)?;
            }
            Answer::Receipt { bytes, is_repeated } => {
                let counter = if is_repeated {
                    &mut counts.unknown_written
                } else {
                    &mut counts.unknown_not_written
                };
                *counter += 1;
                self.acknowledged(asked, bytes, progress);
                // What was found out once must not be found to be otherwise.
                self.repeat(http, self.history.acknowledged.len() - 1, progress)?;
            }
        }
        Ok(())
    }

    fn submit(
        &mut self,
        http: &mut ReconnectingClient,
        asked: Asked,
        progress: &Progress,
    ) -> Result<()> {
        match ask(http, &asked, &mut self.history.counts, progress)? {
            Answer::Receipt { bytes, is_repeated } => {
                ensure!(!is_repeated, "{}: a new key was taken for a known one", asked.place());
                self.acknowledged(asked, bytes, progress);
            }
            Answer::Refused { code, body } => self.refused(&asked, code, &body)?,
            Answer::Unknown => {
                self.history.counts.unknown += 1;
                self.unknown = Some(asked);
            }
        }
        Ok(())
    }

    fn acknowledged(&mut self, asked: Asked, bytes: Vec<u8>, progress: &Progress) {
        if let Some(key) = &asked.stock {
            *self.versions.entry((asked.workspace.clone(), key.clone())).or_default() += 1;
        }
        self.history.counts.acknowledged += 1;
        self.history.acknowledged.push((asked, bytes));
        progress.acknowledged();
    }

    fn refused(&mut self, asked: &Asked, code: String, body: &Value) -> Result<()> {
        let is_expected = asked.refusals.contains(&code.as_str());
        ensure!(is_expected, "{}: refused for no good reason: {body}", asked.place());
        if let (Some(key), Some(version)) = (&asked.stock, body["current_version"].as_u64()) {
            self.versions.insert((asked.workspace.clone(), key.clone()), version);
        }
        self.history.counts.refused += 1;
        self.history.refused.insert(asked.key.clone(), code);
        Ok(())
    }

    /// Sends an old command again: it must get the same bytes, and be told that it is known.
    fn repeat(
        &mut self,
        http: &mut ReconnectingClient,
        index: usize,
        progress: &Progress,
    ) -> Result<()> {
        let (asked, first) = self.history.acknowledged.get(index).context("it was acknowledged")?;
        match ask(http, asked, &mut self.history.counts, progress)? {
            Answer::Receipt { bytes, is_repeated } => {
                let (first, now) = (text(first), text(&bytes));
                let place = asked.place();
                ensure!(
                    is_repeated,
                    "{place}: an acknowledged command was carried out again: it had the receipt {first} and now has {now}"
                );
                ensure!(first == now, "{place}: the receipt was {first} and now is {now}");
                self.history.counts.repeated += 1;
            }
            Answer::Refused { body, .. } => {
                bail!("{}: acknowledged, and now refused: {body}", asked.place())
            }
            Answer::Unknown => {}
        }
        Ok(())
    }

    /// Uses an old key for another command, which must be refused.
    fn reuse_key(
        &mut self,
        http: &mut ReconnectingClient,
        index: usize,
        progress: &Progress,
    ) -> Result<()> {
        let (asked, _) = self.history.acknowledged.get(index).context("it was acknowledged")?;
        let mut other = asked.clone();
        other.body = r#"{"events":[{"name":"Other"}]}"#.to_owned();
        match ask(http, &other, &mut self.history.counts, progress)? {
            Answer::Refused { code, .. } if code == "IDEMPOTENCY_KEY_REUSED" => {}
            Answer::Unknown => {}
            Answer::Refused { body, .. } => bail!("{}: a used key: {body}", asked.place()),
            Answer::Receipt { bytes, .. } => {
                bail!(
                    "{}: a used key was given to another command: {}",
                    asked.place(),
                    text(&bytes)
                )
            }
        }
        Ok(())
    }
}

/// Which receipts are asked for again.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Insist {
    OnAll,
    OnSome { newest: usize, older: usize },
}

impl Asked {
    /// Where a broken fact is found.
    fn place(&self) -> String {
        format!("workspace {}, client {}, key {}", self.workspace, self.client, self.key)
    }
}

/// Sends a command until it is answered. A connection that breaks while nobody kills the server
/// is a broken fact of its own.
fn ask(
    http: &mut ReconnectingClient,
    asked: &Asked,
    counts: &mut Counts,
    progress: &Progress,
) -> Result<Answer> {
    let path = format!("{APP}/workspaces/{}/commands", asked.workspace);
    let headers = [("Idempotency-Key", asked.key.as_str()), ("Client-Id", asked.client.as_str())];
    for _ in 0..BUSY_MAX {
        let response = match http.send("POST", &path, &headers, asked.body.as_bytes()) {
            Ok(response) => response,
            Err(error) => {
                check_break(&error, progress).with_context(|| asked.place())?;
                return Ok(Answer::Unknown);
            }
        };
        if let Some(answer) = read(response).with_context(|| asked.place())? {
            return Ok(answer);
        }
        counts.busy += 1;
    }
    bail!("{}: the server stays busy", asked.place())
}

/// What an answer says; `None` when the command is to be sent again.
fn read(response: HttpAnswer) -> Result<Option<Answer>> {
    if response.status == 200 {
        let is_repeated = match response.header("idempotent-replayed") {
            Some("true") => true,
            Some("false") => false,
            other => bail!("a receipt says Idempotent-Replayed: {other:?}"),
        };
        return Ok(Some(Answer::Receipt { bytes: response.body, is_repeated }));
    }
    let body: Value = serde_json::from_slice(&response.body)
        .with_context(|| format!("{} {}", response.status, text(&response.body)))?;
    let code = body["code"].as_str().context("a refusal has a code")?.to_owned();
    match response.status {
        503 | 504 if body["retryable"] == true => Ok(None),
        409 | 412 | 422 => Ok(Some(Answer::Refused { code, body })),
        status => bail!("{status} {body}"),
    }
}

/// Only a kill may break a connection.
pub(crate) fn check_break(error: &io::Error, progress: &Progress) -> Result<()> {
    ensure!(progress.is_over(), "a connection broke while the server was alive: {error}");
    Ok(())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
