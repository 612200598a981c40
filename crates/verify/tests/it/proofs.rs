//! Proofs on their own, in the forms that a server answers.

use std::sync::Arc;

use seriatim_api::message::{self, Consistency, InclusionProof};
use seriatim_codec::{Stored, event_key};
use seriatim_core::CommandOutcome;
use seriatim_merkle::leaf_hash;
use seriatim_node::{Reader, schema};
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{Read, Store};
use seriatim_testkit::core::{command, events, name};
use seriatim_types::{Event, Key, Number, PartitionId, WorkspaceId, WorkspaceRef};
use seriatim_verify::{ProofProblem, Proved, check_proof, find_event};

use crate::breaches::{KIOSK, SHOP, offset, prefix};
use crate::world::{Checkpoints, World};

/// The JSON of a receipt with a proof, of a proof and of a consistency proof.
fn documents() -> [String; 3] {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&schema()));
    let mut world = World::open(store, Checkpoints::Soon);
    world.define();
    world.work(6);
    let event = "{'name': 'Asked', 'args': {'proof': true}}";
    let mut asked = command("pos-1", Key([9; 16]), "1", events(event));
    asked.include_proof = true;
    let reply =
        world.node.submit_and_wait(&name("shop"), asked, std::time::Duration::from_secs(60));
    let Ok(Ok(CommandOutcome::Committed(receipt))) = reply else { panic!("{reply:?}") };
    let body = message::Receipt::new(&receipt, &name("shop"), "1".to_owned(), PartitionId(1));
    let workspace = WorkspaceId(1);
    let partition = world.node.partition_of(&name("shop"), &WorkspaceRef::Id(workspace)).unwrap();
    let (view, prefix) = world.node.view(partition).unwrap();
    let reader = Reader::new(&view, prefix, world.node.schema());
    let size = receipt.last_offset.get();
    let offset = Number::new(3).unwrap();
    let proof = reader.inclusion(workspace, offset, size).unwrap();
    let proof = InclusionProof::new(offset.get(), size, &proof);
    let grown = reader.consistency(workspace, 5, size).unwrap();
    let grown = Consistency {
        from: 5,
        to: size,
        path: grown.path.iter().map(message::Hash::from).collect(),
        from_root: grown.from_root.into(),
        to_root: grown.to_root.into(),
    };
    world.end();
    [
        serde_json::to_string(&body).unwrap(),
        serde_json::to_string(&proof).unwrap(),
        serde_json::to_string(&grown).unwrap(),
    ]
}

fn check(text: &str) -> Result<Proved, ProofProblem> {
    check_proof(text.as_bytes())
}

#[test]
fn proofs_of_a_server_hold_and_altered_ones_do_not() {
    for text in documents() {
        check(&text).unwrap_or_else(|problem| panic!("{problem}: {text}"));
        // Every hexadecimal digit of a hash is turned into another one.
        let bytes = text.as_bytes();
        let is_hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
        for at in 0..bytes.len() {
            let is_in_hash = is_hex(at)
                && (at.saturating_sub(40)..at + 40).filter(|at| is_hex(*at)).count() > 41;
            if is_in_hash {
                let mut altered = bytes.to_vec();
                altered[at] = if altered[at] == b'0' { b'1' } else { b'0' };
                assert!(check_proof(&altered).is_err(), "digit {at} of {text}");
            }
        }
    }
}

#[test]
fn a_receipt_whose_parts_contradict_each_other_shows_nothing() {
    let [receipt, ..] = documents();
    let last = receipt.split("\"last_offset\":").nth(1).unwrap();
    let last = last.split(',').next().unwrap();
    let other = receipt.replace(&format!("\"last_offset\":{last}"), "\"last_offset\":1");
    assert!(matches!(check(&other), Err(ProofProblem::Contradiction { what: "the event", .. })));
    let smaller = receipt.replacen(&format!("\"size\":{last}"), "\"size\":1", 1);
    assert!(matches!(check(&smaller), Err(ProofProblem::Contradiction { what: "the size", .. })));
}

#[test]
fn the_event_of_a_proof_is_found_by_the_hash_of_its_stored_bytes() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&schema()));
    World::fill(&store, 6);
    let read = (store.as_ref() as &dyn Read, store.schema());
    let place = (PartitionId(0), offset(1));
    let log = store.schema().table("log").unwrap();
    // Both apps have an event there, and the hash says which one is meant.
    for (app, prefix) in [("shop", prefix(SHOP)), ("kiosk", prefix(KIOSK))] {
        let bytes = store.get(log, &event_key(prefix, offset(1))).unwrap().unwrap();
        let found = find_event(read, place, leaf_hash(&bytes)).unwrap().unwrap();
        assert_eq!(found.app, name(app));
        assert_eq!(found.event, Event::from_bytes(&bytes).unwrap());
        assert_eq!(found.workspace_name, found.event.workspace_name);
        let mut other = bytes.to_vec();
        other[8] ^= 1;
        assert_eq!(find_event(read, place, leaf_hash(&other)).unwrap(), None);
    }
}

#[test]
fn what_is_no_proof_is_said_and_never_a_panic() {
    for text in
        ["", "[]", "{}", "{\"offset\":0,\"size\":1,\"leaf\":\"\",\"path\":[],\"root\":\"\"}"]
    {
        assert!(matches!(check(text), Err(ProofProblem::Malformed { .. })), "{text}");
    }
    let [_, proof, _] = documents();
    for end in 0..proof.len() {
        assert!(check(&proof[..end]).is_err());
    }
}
