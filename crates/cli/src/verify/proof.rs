//! A proof on its own, and the event that it is about.
//!
//! ```text
//!  proof ── its hashes lead to ──► root ── --root ──► one that somebody kept
//!    └ leaf = hash of stored bytes ◄── --data ── the same as JSON ◄── --event ──► what somebody has
//! ```
//!
//! **Deliberately absent:** an event's JSON beside a proof alone. It has the hash as a member, which
//! says nothing about the others: whoever changes them leaves the hash as it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value};
use seriatim_api::message::Event;
use seriatim_storage::Store;
use seriatim_types::{Hash, PartitionId, PartitionOffset};
use seriatim_verify::{ProofProblem, Proved, StoredEvent, check_proof, find_event};

use super::{different, offline};
use crate::document::{Json, list, object, of};
use crate::exit::Failure;
use crate::output::Form;

/// Checks a proof; that it leads to a root; that an event, with the folder that has it stored, is
/// the one that it is about.
pub(super) fn run(
    output: Form,
    proof: &Path,
    root: Option<Hash>,
    event: Option<(&Path, &Path)>,
) -> Result<()> {
    let proved = check_proof(&read(proof)?).map_err(failure)?;
    let (document, sentence) = shown(&proved);
    let (mut checked, mut said) = (vec!["proof"], vec![sentence]);
    if let Some(root) = root {
        said.push(format!("The root of {} is the one that was given.", check_root(&proved, root)?));
        checked.push("root");
    }
    if let Some((file, data)) = event {
        let app = check_event(&proved, file, data)?;
        let file = file.display();
        said.push(format!("The event is one of app {app}, and {file} says what is stored of it."));
        checked.push("event");
    }
    if root.is_none() {
        let advice = "Compare the root with one that you kept (--root does), or that the server \
                      shows: seriatim proof head";
        said.push(advice.to_owned());
    }
    let document = document.with("checked", list(checked));
    Ok(output.print_as(&document, || said.join("\n"))?)
}

fn shown(proved: &Proved) -> (Json, String) {
    match proved {
        Proved::Inclusion { offset, leaf, size, root } => (
            object([
                ("holds", of(true)),
                ("offset", of(*offset)),
                ("leaf", of(leaf.to_string())),
                ("size", of(*size)),
                ("root", of(root.to_string())),
            ]),
            format!(
                "The proof holds: event {offset} with the hash {leaf} is in the log of {size} \
                 events with the root {root}."
            ),
        ),
        Proved::Consistency { from, from_root, to, to_root } => (
            object([
                ("holds", of(true)),
                ("from", of(*from)),
                ("from_root", of(from_root.to_string())),
                ("to", of(*to)),
                ("to_root", of(to_root.to_string())),
            ]),
            format!(
                "The proof holds: the log of {from} events with the root {from_root} is the \
                 beginning of the log of {to} events with the root {to_root}."
            ),
        ),
    }
}

/// Of which log the root is that was given.
fn check_root(proved: &Proved, given: Hash) -> Result<String, Failure> {
    let roots = match *proved {
        Proved::Inclusion { size, root, .. } => vec![(size, root)],
        Proved::Consistency { from, from_root, to, to_root } => {
            vec![(from, from_root), (to, to_root)]
        }
    };
    let found = roots.iter().find(|(_, root)| *root == given);
    found.map(|(size, _)| format!("{size} events")).ok_or_else(|| {
        let roots: Vec<String> = roots.iter().map(|(_, root)| root.to_string()).collect();
        let what = format!("the proof leads to the root {}, not to {given}", roots.join(" or "));
        different("PROOF_OF_ANOTHER_ROOT", what).advise(
            "look whether the root that was given is of the same workspace and as many events; if it is, \
             the log is not the one that you kept it of",
        )
    })
}

/// Finds the event of a proof in a folder, and compares it with what somebody has of it. Returns
/// its app.
fn check_event(proved: &Proved, file: &Path, data: &Path) -> Result<String> {
    let Proved::Inclusion { leaf, .. } = proved else {
        return Err(Failure::usage("a consistency proof is not about an event").into());
    };
    let name = file.display();
    let no_event = |why: &str| Failure::usage(format!("{name} is no event: {why}"));
    let given: Map<String, Value> =
        serde_json::from_slice(&read(file)?).map_err(|error| no_event(&error.to_string()))?;
    let number = |member: &str| given.get(member).and_then(Value::as_u64);
    let partition = number("partition").and_then(|it| u16::try_from(it).ok()).map(PartitionId);
    let offset = number("partition_offset").and_then(PartitionOffset::new);
    let place = partition.zip(offset);
    let place = place.ok_or_else(|| no_event("it has no partition or no partition_offset"))?;
    let store = offline::open_checked(data)?;
    let snapshot = store.snapshot()?;
    let found = find_event((snapshot.as_ref(), store.schema()), place, *leaf);
    let found = found.map_err(|error| offline::failure(&error, data))?;
    let (partition, offset) = place;
    let StoredEvent { app, workspace_name, event } = found.ok_or_else(|| {
        let place = format!("event {offset} of {partition}");
        let what = format!("no app has {leaf} for the hash of {place}, which is what {name} names");
        different("EVENT_NOT_STORED", what)
    })?;
    let workspace = workspace_name.map_or(event.workspace.0.to_string(), |it| it.to_string());
    let stored: Map<String, Value> = serde_json::from_str(&serde_json::to_string(&Event::new(
        &event, &workspace, partition, leaf,
    ))?)?;
    let members: BTreeSet<&String> = stored.keys().chain(given.keys()).collect();
    for member in members {
        let [expected, found] = [&stored, &given].map(|it| it.get(member));
        if expected != found {
            let show = |value: Option<&Value>| value.map_or("absent".into(), Value::clone);
            let what = format!("{name} is not the event: {member} differs");
            let failure = different("EVENT_DIFFERENT", what);
            return Err(failure.fact("expected", show(expected)).fact("found", show(found)).into());
        }
    }
    Ok(app.to_string())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// What gives a proof.
const GET: &str = "`seriatim proof get APP WORKSPACE OFFSET -o json`";

fn failure(problem: ProofProblem) -> Failure {
    let said = match std::error::Error::source(&problem) {
        Some(source) => format!("{problem}: {source}"),
        None => problem.to_string(),
    };
    match problem {
        ProofProblem::Malformed { .. } => Failure::usage(said).advise(format!("{GET} prints one")),
        ProofProblem::Contradiction { .. } => {
            different("PROOF_CONTRADICTS_ITSELF", said).advise(format!("get it again: {GET}"))
        }
        ProofProblem::DoesNotHold(_) => different("PROOF_DOES_NOT_HOLD", said).advise(format!(
            "get it again: {GET}; if that does not hold either, verify the server's folder"
        )),
    }
}
