//! Heads and proofs: the log has the root that is shown for it, and a head that was shown once
//! stays the beginning of every later one.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use seriatim_merkle::{Frontier, verify_consistency, verify_inclusion};
use seriatim_testkit::ReconnectingClient;
use seriatim_types::Hash;

use super::get;
use super::logs::Logs;
use crate::history::History;
use crate::workload::APP;

/// Heads as they were shown, by workspace, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Heads(BTreeMap<String, Vec<Head>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    size: u64,
    root: Hash,
}

impl Heads {
    /// Reads the head of a workspace. It must be built on the last one that was shown.
    pub(crate) fn look(&mut self, http: &mut ReconnectingClient, workspace: &str) -> Result<()> {
        let path = format!("{APP}/workspaces/{workspace}");
        let now = Head::read(&get(http, &format!("{path}/head"))?)?;
        let shown = self.0.entry(workspace.to_owned()).or_default();
        if let Some(before) = shown.last() {
            check_growth(http, &path, *before, now).with_context(|| path.clone())?;
        }
        shown.push(now);
        Ok(())
    }

    /// All heads that were shown against the last one.
    pub(crate) fn check(&self, http: &mut ReconnectingClient) -> Result<()> {
        for (workspace, shown) in &self.0 {
            let path = format!("{APP}/workspaces/{workspace}");
            let Some(now) = shown.last() else { continue };
            for before in shown {
                check_growth(http, &path, *before, *now).with_context(|| path.clone())?;
            }
        }
        Ok(())
    }
}

impl Head {
    fn read(head: &Value) -> Result<Self> {
        let size = head["size"].as_u64().with_context(|| format!("no size: {head}"))?;
        Ok(Self { size, root: hash(&head["root"])? })
    }
}

fn check_growth(http: &mut ReconnectingClient, path: &str, before: Head, now: Head) -> Result<()> {
    let (from, to) = (before.size, now.size);
    ensure!(from <= to, "the log had {from} events and now has {to}");
    if from == 0 {
        return Ok(());
    }
    let shown = get(http, &format!("{path}/consistency?from={from}&to={to}"))?;
    let siblings = hashes(&shown["path"])?;
    verify_consistency(from, to, &before.root, &now.root, &siblings)
        .with_context(|| format!("the log of {to} events does not begin with that of {from}"))
}

/// The log of each workspace with the roots that it has had.
#[derive(Debug)]
pub(crate) struct Trees(BTreeMap<String, Tree>);

#[derive(Debug, Default)]
struct Tree {
    leaves: Vec<Hash>,
    /// The root after each of them.
    roots: Vec<Hash>,
}

impl Trees {
    pub(crate) fn of(logs: &Logs) -> Result<Self> {
        let mut trees = BTreeMap::new();
        for (workspace, events) in &logs.workspaces {
            let (mut frontier, mut tree) = (Frontier::default(), Tree::default());
            for event in events {
                let leaf = parse_hash(&event.hash)?;
                frontier.push(leaf, &mut |_, _| {});
                tree.leaves.push(leaf);
                tree.roots.push(frontier.root());
            }
            trees.insert(workspace.clone(), tree);
        }
        Ok(Self(trees))
    }

    /// The root of each workspace is that of its events, and the server's proofs of some of them
    /// hold.
    pub(crate) fn check(&self, http: &mut ReconnectingClient) -> Result<()> {
        for (workspace, tree) in &self.0 {
            let place = || format!("workspace {workspace}");
            let path = format!("{APP}/workspaces/{workspace}");
            let head = Head::read(&get(http, &format!("{path}/head"))?)?;
            let size = u64::try_from(tree.leaves.len())?;
            let own = Head { size, root: *tree.roots.last().with_context(place)? };
            ensure!(head == own, "{}: the head is {head:?}, its events make {own:?}", place());
            for offset in [1, size / 2 + 1, size].map(|offset| offset.min(size)) {
                let proof = get(http, &format!("{path}/proofs/{offset}?size={size}"))?;
                tree.check_proof(&proof).with_context(place)?;
            }
        }
        Ok(())
    }

    /// The proofs that came with receipts hold. Returns how many there were.
    pub(crate) fn check_receipts<'a>(
        &self,
        histories: impl Iterator<Item = &'a History>,
    ) -> Result<u64> {
        let mut count = 0;
        for (asked, receipt) in histories.flat_map(|history| &history.acknowledged) {
            let receipt: Value = serde_json::from_slice(receipt)?;
            if let Some(proof) = receipt.get("proof") {
                let place = || format!("the receipt of key {}", asked.key);
                let workspace = receipt["workspace"].as_str().with_context(place)?;
                let tree = self.0.get(workspace).with_context(place)?;
                tree.check_proof(proof).with_context(place)?;
                count += 1;
            }
        }
        Ok(count)
    }
}

impl Tree {
    /// A proof is about an event of the log, and leads to the root of the log's beginning.
    fn check_proof(&self, proof: &Value) -> Result<()> {
        let place = || format!("of {} events: {proof}", self.leaves.len());
        // Of an offset or a size, the index of the leaf or root.
        let index = |name: &str| proof[name].as_u64()?.checked_sub(1);
        let (leaf, last) = index("offset").zip(index("size")).with_context(place)?;
        let hash_at = |hashes: &[Hash], index| hashes.get(usize::try_from(index).ok()?).copied();
        let expected = hash_at(&self.leaves, leaf).with_context(place)?;
        ensure!(hash(&proof["leaf"])? == expected, "a proof of another event, {}", place());
        let root = hash_at(&self.roots, last).with_context(place)?;
        ensure!(hash(&proof["root"])? == root, "a proof with another root, {}", place());
        verify_inclusion(&expected, leaf, last + 1, &hashes(&proof["path"])?, &root)
            .with_context(place)
    }
}

fn hashes(path: &Value) -> Result<Vec<Hash>> {
    path.as_array().with_context(|| format!("no path: {path}"))?.iter().map(hash).collect()
}

fn hash(value: &Value) -> Result<Hash> {
    parse_hash(value.as_str().with_context(|| format!("no hash: {value}"))?)
}

fn parse_hash(text: &str) -> Result<Hash> {
    let mut hash = [0; 32];
    ensure!(text.len() == 64 && text.is_ascii(), "no hash: {text}");
    for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits)?, 16)?;
    }
    Ok(Hash(hash))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::event::tests::event;
    use super::super::logs::tests::logs;
    use super::*;

    #[test]
    fn a_proof_holds_for_its_event_and_its_root_alone() {
        let two = logs(vec![event(1), event(2)]);
        let (one, other) = (event(1).hash, event(2).hash);
        let hashed = seriatim_merkle::node_hash;
        let root = hashed(&parse_hash(&one).unwrap(), &parse_hash(&other).unwrap()).to_string();
        let is_good = |leaf: &str, path: &str, root: &str, logs: &Logs| {
            let proof = json!({"offset": 1, "size": 2, "leaf": leaf, "path": [path], "root": root});
            Trees::of(logs).unwrap().0["7"].check_proof(&proof).is_ok()
        };
        assert!(is_good(&one, &other, &root, &two));
        assert!(!is_good(&other, &other, &root, &two));
        assert!(!is_good(&one, &one, &root, &two));
        assert!(!is_good(&one, &other, &one, &two));
        assert!(!is_good(&one, &other, &root, &logs(vec![event(1)])));
    }
}
