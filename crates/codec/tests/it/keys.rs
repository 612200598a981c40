//! Keys: their bytes, their order, and that no two rows share one.

use std::collections::BTreeSet;

use proptest::prelude::*;
use seriatim_codec::{
    DecodeError, KeyBytes, Problem, Table, app_key, client_key, decode_event_key,
    decode_expiry_key, decode_idempotency_key, decode_outbox_key, decode_record_of_kind_key,
    decode_workspace_log_key, definitions_key, entities_prefix, entity_key, event_key,
    event_numbers_key, events_prefix, expiries_prefix, expiry_key, head_key, idempotency_key,
    inbox_key, outbox_head_key, outbox_key, outbox_prefix, partition_key, position_key, record_key,
    record_of_kind_key, records_of_kind_prefix, tree_node_key, workspace_key, workspace_log_key,
    workspace_log_prefix, workspace_name_key, workspace_row_key,
};
use seriatim_types::{ClientId, Time, WorkspaceId};

use crate::golden::line;
use crate::samples::{client, entity, key, name, neighbour, number, offset, prefix};
use crate::strategies;

const WORKSPACE: WorkspaceId = WorkspaceId((1 << 40) + 2);

fn all() -> [(&'static str, KeyBytes); 17] {
    let (at, id) = (prefix(), number(200_019));
    let expires_at = Time(1_798_761_600_000);
    [
        ("event 101", event_key(at, offset(101))),
        ("offset 13 of a workspace", workspace_log_key(at, WORKSPACE, number(13))),
        ("record 200019", record_key(at, WORKSPACE, id)),
        ("invoice 200019", record_of_kind_key(at, WORKSPACE, &name("invoice"), id)),
        ("entity", entity_key(at, WORKSPACE, &entity("größe/A-7"))),
        ("expiry of an entity", expiry_key(at, expires_at, WORKSPACE, &entity("größe/A-7"))),
        ("idempotency key of pos-4", idempotency_key(at, WORKSPACE, &client(), key())),
        ("partition", partition_key(at)),
        ("definitions", definitions_key(at)),
        ("workspace", workspace_row_key(at, WORKSPACE)),
        ("workspace store-1", workspace_name_key(at, &name("store-1"))),
        ("received from partition 3 of app 9", inbox_key(at, neighbour())),
        ("message 7 to partition 3 of app 9", outbox_key(at, neighbour(), 7)),
        ("last message to partition 3 of app 9", outbox_head_key(at, neighbour())),
        ("definitions of an app", app_key(at, WORKSPACE)),
        ("node 5 of level 2", tree_node_key(at, WORKSPACE, 2, 5)),
        ("position", position_key(at)),
    ]
}

#[test]
fn the_golden_file_of_keys_still_holds() {
    let now: String = all().iter().map(|(name, bytes)| line(name, bytes)).collect();
    assert_eq!(now, include_str!("../../golden/keys.txt"), "stored keys changed");
}

#[test]
fn the_golden_file_of_keys_of_long_clients_still_holds() {
    let lines = [("x", 255), ("é", 128), ("😀", 255)].map(|(letter, count)| {
        let client = ClientId::new(letter.repeat(count).as_bytes()).unwrap();
        let idempotency = idempotency_key(prefix(), WORKSPACE, &client, key());
        let numbers = client_key(prefix(), WORKSPACE, &client);
        line(&format!("idempotency key of {count} times {letter}"), &idempotency)
            + &line(&format!("numbers of {count} times {letter}"), &numbers)
    });
    let golden = include_str!("../../golden/long_clients.txt");
    assert_eq!(lines.concat(), golden, "stored keys changed");
}

#[test]
fn every_kind_of_key_has_a_tag_of_its_own() {
    let older = [
        head_key(prefix()),
        workspace_key(prefix(), WORKSPACE),
        client_key(prefix(), WORKSPACE, &client()),
        event_numbers_key(prefix(), offset(1)),
    ];
    let newer = all();
    let keys = older.iter().map(Vec::as_slice).chain(newer.iter().map(|(_, key)| key.as_ref()));
    let tags: BTreeSet<u8> = keys.map(|key| key[prefix().encode().len()]).collect();
    assert_eq!(tags, (0x01..=0x14).chain([0x16]).collect());
}

#[test]
fn tables_have_different_names_and_are_listed_in_their_order() {
    let names: BTreeSet<&str> = Table::ALL.iter().map(|table| table.name()).collect();
    assert_eq!(names.len(), Table::ALL.len());
    assert!(Table::ALL.is_sorted_by(|one, next| one < next));
}

#[test]
fn keys_are_read_as_they_were_written() {
    let (at, id) = (prefix(), number(200_019));
    assert_eq!(decode_event_key(&event_key(at, offset(101))), Ok(offset(101)));
    let found = decode_workspace_log_key(&workspace_log_key(at, WORKSPACE, number(13)));
    assert_eq!(found, Ok((WORKSPACE, number(13))));
    let found = decode_record_of_kind_key(&record_of_kind_key(at, WORKSPACE, &name("line"), id));
    assert_eq!(found, Ok((WORKSPACE, name("line"), id)));
    let found = decode_expiry_key(&expiry_key(at, Time(5), WORKSPACE, &entity("a")));
    assert_eq!(found, Ok((Time(5), WORKSPACE, entity("a"))));
    let found = decode_idempotency_key(&idempotency_key(at, WORKSPACE, &client(), key()));
    assert_eq!(found, Ok((WORKSPACE, client(), key())));
    let found = decode_outbox_key(&outbox_key(at, neighbour(), 7));
    assert_eq!(found, Ok((neighbour(), 7)));
}

#[test]
fn other_keys_are_errors() {
    type Decode = fn(&[u8]) -> Result<(), DecodeError>;
    let decoders: [Decode; 6] = [
        |key| decode_event_key(key).map(drop),
        |key| decode_workspace_log_key(key).map(drop),
        |key| decode_record_of_kind_key(key).map(drop),
        |key| decode_expiry_key(key).map(drop),
        |key| decode_idempotency_key(key).map(drop),
        |key| decode_outbox_key(key).map(drop),
    ];
    for decode in decoders {
        let mut own = all().into_iter().filter(|(_, key)| decode(key).is_ok());
        let (_, key) = own.next().expect("one of all keys is its own");
        assert!(own.next().is_none(), "and no other");
        for end in 0..prefix().encode().len() + 9 {
            assert!(decode(&key[..end]).is_err(), "cut at {end}");
        }
    }
    let long = [event_key(prefix(), offset(1)).as_ref(), &[0]].concat();
    let problem = Problem::Invalid("as short as such a key is");
    let error = DecodeError { message: "event key", field: None, problem };
    assert_eq!(decode_event_key(&long), Err(error));
    let zero = [events_prefix(prefix()).as_ref(), &[0; 8]].concat();
    assert!(decode_event_key(&zero).is_err(), "there is no event 0");
}

proptest! {
    #[test]
    fn keys_stand_in_the_order_of_what_they_hold(
        a in (strategies::number(), strategies::workspace_id(), strategies::time()),
        b in (strategies::number(), strategies::workspace_id(), strategies::time()),
        entities in (strategies::entity_key(), strategies::entity_key()),
        names in (strategies::name(), strategies::name()),
        neighbours in (strategies::neighbour(), strategies::neighbour()),
        levels: (u8, u8),
    ) {
        let at = prefix();
        let ((number_a, ws_a, time_a), (number_b, ws_b, time_b)) = (a, b);
        prop_assert_eq!(
            (ws_a, number_a).cmp(&(ws_b, number_b)),
            workspace_log_key(at, ws_a, number_a).cmp(&workspace_log_key(at, ws_b, number_b))
        );
        prop_assert_eq!(
            (ws_a, number_a).cmp(&(ws_b, number_b)),
            record_key(at, ws_a, number_a).cmp(&record_key(at, ws_b, number_b))
        );
        prop_assert_eq!(
            (ws_a, &entities.0).cmp(&(ws_b, &entities.1)),
            entity_key(at, ws_a, &entities.0).cmp(&entity_key(at, ws_b, &entities.1))
        );
        prop_assert_eq!(
            (time_a, ws_a, &entities.0).cmp(&(time_b, ws_b, &entities.1)),
            expiry_key(at, time_a, ws_a, &entities.0)
                .cmp(&expiry_key(at, time_b, ws_b, &entities.1))
        );
        prop_assert_eq!(
            names.0.cmp(&names.1),
            workspace_name_key(at, &names.0).cmp(&workspace_name_key(at, &names.1))
        );
        prop_assert_eq!(
            (neighbours.0, number_a).cmp(&(neighbours.1, number_b)),
            outbox_key(at, neighbours.0, number_a.get())
                .cmp(&outbox_key(at, neighbours.1, number_b.get()))
        );
        prop_assert_eq!(
            (ws_a, levels.0, number_a).cmp(&(ws_b, levels.1, number_b)),
            tree_node_key(at, ws_a, levels.0, number_a.get())
                .cmp(&tree_node_key(at, ws_b, levels.1, number_b.get()))
        );
    }

    #[test]
    fn a_scan_finds_its_own_rows_and_no_others(
        workspaces in (strategies::workspace_id(), strategies::workspace_id()),
        kinds in (strategies::name(), strategies::name()),
        neighbours in (strategies::neighbour(), strategies::neighbour()),
        number in strategies::number(),
        entity in strategies::entity_key(),
        time in strategies::time(),
    ) {
        let at = prefix();
        let ((a, b), (kind_a, kind_b)) = (workspaces, kinds);
        let is_found = workspace_log_key(at, a, number).starts_with(&workspace_log_prefix(at, b));
        prop_assert_eq!(is_found, a == b);
        let is_found = entity_key(at, a, &entity).starts_with(&entities_prefix(at, b));
        prop_assert_eq!(is_found, a == b);
        for (b, kind_b) in [(a, &kind_a), (a, &kind_b), (b, &kind_a)] {
            let is_found = record_of_kind_key(at, a, &kind_a, number)
                .starts_with(&records_of_kind_prefix(at, b, kind_b));
            prop_assert_eq!(is_found, a == b && &kind_a == kind_b);
        }
        let is_found = outbox_key(at, neighbours.0, number.get())
            .starts_with(&outbox_prefix(at, neighbours.1));
        prop_assert_eq!(is_found, neighbours.0 == neighbours.1);
        prop_assert!(expiry_key(at, time, a, &entity).starts_with(&expiries_prefix(at)));
        prop_assert!(event_key(at, offset(number.get())).starts_with(&events_prefix(at)));
    }

    #[test]
    fn records_of_one_kind_stand_by_id_and_kinds_do_not_mix(
        kinds in ("a{1,3}", "a{1,3}"),
        numbers in (strategies::number(), strategies::number()),
    ) {
        let key = |kind: &str, id| record_of_kind_key(prefix(), WORKSPACE, &name(kind), id);
        let length = |kind: &String| kind.len();
        prop_assert_eq!(
            (length(&kinds.0), numbers.0).cmp(&(length(&kinds.1), numbers.1)),
            key(&kinds.0, numbers.0).cmp(&key(&kinds.1, numbers.1))
        );
    }

    #[test]
    fn clients_never_share_an_idempotency_key(
        a in (strategies::client(), any::<[u8; 16]>()),
        b in (strategies::client(), any::<[u8; 16]>()),
        cut in any::<prop::sample::Index>(),
    ) {
        let key = |(client, key): &(_, _)| {
            idempotency_key(prefix(), WORKSPACE, client, seriatim_types::Key(*key))
        };
        prop_assert_eq!(a == b, key(&a) == key(&b));
        // Another client that is called like the beginning of this one.
        let name = a.0.as_bytes();
        let shorter = &name[..1 + cut.index(name.len())];
        if let Some(shorter) = ClientId::new(shorter) {
            let other = (shorter, a.1);
            prop_assert_eq!(a == other, key(&a).starts_with(&key(&other)));
        }
        let found = decode_idempotency_key(&key(&a));
        prop_assert_eq!(found, Ok((WORKSPACE, a.0, seriatim_types::Key(a.1))));
    }

    #[test]
    fn any_bytes_are_the_key_of_an_idempotency_key_or_an_error(
        length in proptest::collection::vec(0..3_u8, 0..4),
        rest in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        let front = [&prefix().encode()[..], &[0x0b], &WORKSPACE.0.to_be_bytes()].concat();
        let bytes = [front, length, rest].concat();
        if let Ok((workspace, client, key)) = decode_idempotency_key(&bytes) {
            prop_assert_eq!(idempotency_key(prefix(), workspace, &client, key).to_vec(), bytes);
        }
    }

    #[test]
    fn idempotency_keys_of_a_workspace_and_then_of_a_client_stand_together(
        a in (strategies::workspace_id(), strategies::client(), any::<[u8; 16]>()),
        b in (strategies::workspace_id(), strategies::client(), any::<[u8; 16]>()),
    ) {
        let key = |(workspace, client, key): &(_, _, _)| {
            idempotency_key(prefix(), *workspace, client, seriatim_types::Key(*key))
        };
        // Long clients come first, then the short ones; in both, by length.
        let place = |client: &ClientId| (client.as_bytes().len() < 256, client.as_bytes().len());
        prop_assert_eq!(
            (a.0, place(&a.1), &a.1, a.2).cmp(&(b.0, place(&b.1), &b.1, b.2)),
            key(&a).cmp(&key(&b))
        );
    }
}
