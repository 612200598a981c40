//! Everything that a client can ask, against a server that is well.

use std::time::{Duration, SystemTime};

use serde_json::json;
use seriatim_client::{
    AppInfo, AppOptions, Change, Client, Command, Condition, Declared, Defined, Key, Numbering,
    PartitionState, RecordClass, RecordIds, Reset, Retention, SubmitError, id_of,
};

use crate::world::{World, all, client, invoice, noted, shop};

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_its_numbers_and_a_repetition_the_same_ones() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    let key = Key::random();
    let submitted = store.submit_with_key(key, invoice(1)).await.unwrap();
    assert_eq!((submitted.key, submitted.is_replayed), (key, false));
    let number = submitted.number("invoice").unwrap();
    assert_eq!((number.number, number.period.is_some()), (1, true));
    assert!(number.text.starts_with("INV-") && number.text.ends_with("-000001"));
    let receipt = &submitted.receipt;
    assert_eq!((receipt.app.as_str(), receipt.workspace.as_str()), ("shop", "store-1"));
    assert_eq!((receipt.first_offset, receipt.last_offset, receipt.client_sequence), (1, 1, 1));
    assert!(receipt.committed_at <= SystemTime::now() + Duration::from_secs(60));

    // Another client of the same id, as after a restart.
    let again = client(world.address).app("shop").workspace("store-1");
    let again = again.submit_with_key(key, invoice(1)).await.unwrap();
    assert_eq!((again.is_replayed, &again.receipt), (true, receipt));
    assert_eq!(store.receipt("till-4", key).await.unwrap().as_ref(), Some(receipt));
    assert_eq!(store.receipt("till-5", key).await.unwrap(), None);

    let record = store.record(submitted.id(1).unwrap()).await.unwrap().unwrap();
    assert_eq!(
        (record.kind.as_str(), record.class, record.version),
        ("invoice", RecordClass::C, 1)
    );
    assert_eq!(record.fields, json!({"number": number.text}));
    assert_eq!(all(&store).await.len(), 1);
    // What cannot even be sent is measured by the server's limit too.
    let large = store.submit(Command::new("Large").args("x".repeat(3 << 20))).await.unwrap_err();
    assert_eq!(large.error().facts()["limit"], 1 << 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_change_comes_back_in_its_event() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
    let first = Command::new("First")
        .create(1, "invoice", json!({"self": id_of(1)}))
        .create_under(1, 2, "invoice", json!({}))
        .set_until("hold", "me", Some(Condition::Absent), at)
        .draw("invoice")
        .with_proof();
    let first = store.submit(first).await.unwrap();
    let (one, two) = (first.id(1).unwrap(), first.id(2).unwrap());
    let second = Command::new("Second")
        .update_if(one, json!({"open": false}), 1)
        .delete_if(two, 1)
        .then("Third")
        .args(json!({"a": [1, null]}))
        .unset_if("hold", Condition::Value(json!("me")))
        .unset("nothing");
    let second = store.submit(second).await.unwrap();
    assert_eq!((second.receipt.first_offset, second.receipt.last_offset), (2, 3));

    let events = all(&store).await;
    let drawn = first.number("invoice").unwrap().clone();
    let (kind, fields) = ("invoice".to_owned(), json!({"self": one}));
    let set = ("hold".to_owned(), json!("me"));
    assert_eq!(
        events[0].changes,
        [
            Change::Create { id: one, kind: kind.clone(), parent: None, fields },
            Change::Create { id: two, kind, parent: Some(one), fields: json!({}) },
            Change::Set { key: set.0, version: 1, value: set.1, expires_at: Some(at) },
            Change::Draw(drawn),
        ]
    );
    assert_eq!(
        events[1].changes,
        [
            Change::Update { id: one, version: 2, fields: json!({"open": false}) },
            Change::Delete { id: two, version: 1 },
        ]
    );
    assert_eq!((events[2].name.as_str(), &events[2].args), ("Third", &json!({"a": [1, null]})));
    assert_eq!(
        events[2].changes,
        [
            Change::Unset { key: "hold".to_owned(), version: Some(1) },
            Change::Unset { key: "nothing".to_owned(), version: None },
        ]
    );
    let proof = first.receipt.proof.unwrap();
    assert_eq!((proof.offset, proof.size, proof.leaf), (1, 1, events[0].hash));
    assert_eq!(proof.root, events[0].hash, "the root of a tree with one leaf");
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_tell_what_is_there_and_what_is_not() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    for turn in 1..=3 {
        store.submit(invoice(turn).set("last", turn)).await.unwrap();
    }
    let entity = store.entity("last").await.unwrap().unwrap();
    assert_eq!((entity.value, entity.version, entity.expires_at), (json!(3), 3, None));
    assert_eq!(store.entity("none").await.unwrap(), None);
    assert_eq!(store.record(7_000_000).await.unwrap(), None);
    let sequence = store.sequence("invoice", None).await.unwrap().unwrap();
    assert_eq!((sequence.last, sequence.next.map(|next| next.0)), (Some(3), Some(4)));
    assert_eq!(store.sequence("none", None).await.unwrap(), None);
    let state = store.client("till-4").await.unwrap().unwrap();
    assert_eq!((state.last_client_sequence, state.last_offset), (3, 3));
    assert_eq!(store.client("till-5").await.unwrap(), None);
    let first = store.records("invoice", 0, 2).await.unwrap();
    let rest = store.records("invoice", first.next.unwrap(), 2).await.unwrap();
    assert_eq!((first.records.len(), rest.records.len(), rest.next), (2, 1, None));
    let error = store.records("none", 0, 2).await.unwrap_err();
    assert_eq!(error.code(), "UNKNOWN_KIND");
    let page = store.events(2, 1).await.unwrap();
    assert_eq!((page.events.len(), page.next, page.last), (1, 3, 3));

    let head = store.head().await.unwrap();
    let proof = store.proof(2, 0).await.unwrap();
    assert_eq!((head.size, proof.size, proof.root), (3, 3, head.root));
    let consistency = store.consistency(1, 3).await.unwrap();
    assert_eq!((consistency.from, consistency.to_root), (1, head.root));
    assert_eq!(store.proof(9, 0).await.unwrap_err().code(), "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_says_why_and_leaves_the_key_free() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    let open = || Command::new("Opened").set_if("day", "open", Condition::Absent);
    store.submit(open()).await.unwrap();
    let key = Key::random();
    let error = store.submit_with_key(key, open()).await.unwrap_err();
    assert!(matches!(error, SubmitError::Refused { .. }), "{error}");
    assert_eq!((error.code(), error.key()), ("KEY_EXISTS", key));
    assert_eq!(error.error().facts()["current_value"], "open");
    store.submit(Command::new("Closed").unset("day")).await.unwrap();
    let opened = store.submit_with_key(key, open()).await.unwrap();
    assert!(!opened.is_replayed);
    let error = store.submit_with_key(key, noted(1)).await.unwrap_err();
    assert!(matches!(error, SubmitError::Refused { .. }), "{error}");
    assert_eq!(error.code(), "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(error.error().facts()["committed_offset"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_sent_is_refused_before_it_is() {
    let world = World::new().await;
    let client = world.client();
    let store = shop(&client).await;
    store.submit(noted(1)).await.unwrap();
    for (workspace, command, code) in [
        // On the wire an empty name stands for the one before.
        (client.app("shop").workspace(""), noted(2), "INVALID_ARGUMENT"),
        (client.app("").workspace("store-1"), noted(2), "INVALID_ARGUMENT"),
        (store.clone(), Command::new("Large").args("x".repeat(3 << 20)), "TOO_LARGE"),
        // And what the server finds.
        (store.clone(), Command::new("Large").args(json!({"x": "x".repeat(1 << 20)})), "TOO_LARGE"),
        (store.clone(), Command::new("Odd").args(7), "INVALID_ARGUMENT"),
        (client.app("none").workspace("store-1"), noted(2), "APP_NOT_FOUND"),
    ] {
        let error = workspace.submit(command).await.unwrap_err();
        assert!(matches!(error, SubmitError::Refused { .. }), "{error}");
        assert_eq!(error.code(), code, "{error}");
    }
    assert_eq!(all(&store).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_and_definitions_are_made_once_and_shown() {
    let world = World::new().await;
    let client = world.client();
    let options = AppOptions {
        partitions: Some(3),
        record_ids: Some(RecordIds::Split),
        trust_level: Some(1),
        retention: Some(Retention::Forever),
        keys_max: Some(1000),
    };
    let books = client.app("books");
    assert_eq!(books.info().await.unwrap(), None);
    assert!(books.create(options).await.unwrap());
    assert!(!books.create(options).await.unwrap());
    let other = AppOptions { partitions: Some(2), ..options };
    assert_eq!(books.create(other).await.unwrap_err().code(), "APP_EXISTS");
    let info = AppInfo {
        name: "books".to_owned(),
        partitions: 3,
        record_ids: RecordIds::Split,
        trust_level: 1,
        retention: Retention::Forever,
        keys_max: 1000,
    };
    assert_eq!(books.info().await.unwrap(), Some(info));
    shop(&client).await;
    let names: Vec<_> = client.apps().await.unwrap().into_iter().map(|app| app.name).collect();
    assert_eq!(names, ["books", "shop"]);

    let defined = books.define_kind("archive").await.unwrap();
    assert_eq!(defined, Defined { version: 2, is_changed: true });
    let again = books.define_kind("archive").await.unwrap();
    assert_eq!(again, Defined { version: 2, is_changed: false });
    books.define_singleton("settings", RecordClass::W).await.unwrap();
    let tickets = Numbering {
        ranges: vec![(10, 19), (30, 39)],
        kind: "archive".to_owned(),
        ..Numbering::continuous("T{n}")
    };
    books.define_sequence("ticket", tickets.clone()).await.unwrap();
    let definitions = books.definitions().await.unwrap();
    assert_eq!(definitions.kinds, ["default", "archive"]);
    assert_eq!(definitions.sequences, [("ticket".to_owned(), tickets.clone())]);
    assert_eq!(
        (definitions.records[0].class, definitions.records[0].is_singleton),
        (RecordClass::W, true)
    );
    let yearly = Numbering { reset: Reset::Yearly, ..tickets };
    let error = books.define_sequence("ticket", yearly).await.unwrap_err();
    assert_eq!(error.code(), "DEFINITION_CONFLICT");
    let archive = books.workspace("1");
    let declared = archive.declare("archive").await.unwrap();
    let expected = Declared {
        workspace: "1".to_owned(),
        workspace_id: 1,
        kind: "archive".to_owned(),
        is_new: true,
    };
    assert_eq!(declared, expected);
    assert!(!archive.declare("archive").await.unwrap().is_new);
    let drawn = archive.submit(Command::new("Drawn").draw("ticket")).await.unwrap();
    assert_eq!(drawn.number("ticket").unwrap().text, "T10");
    let error = archive.declare("default").await.unwrap_err();
    assert_eq!(error.code(), "KIND_CONFLICT");
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_shown_and_their_logs_read() {
    let world = World::new().await;
    let client = world.client();
    let store = shop(&client).await;
    let partition = store.submit(noted(1)).await.unwrap().receipt.partition;
    let partitions = client.partitions().await.unwrap();
    let served = partitions.iter().filter(|it| it.app == "shop");
    assert!(served.clone().all(|it| it.state == PartitionState::Serving), "{partitions:?}");
    assert_eq!(served.count(), 2);
    let partition = client.app("shop").partition(partition);
    let page = partition.events(1, 10).await.unwrap();
    assert_eq!((page.events.len(), page.events[0].workspace.as_str()), (1, "store-1"));
    assert_eq!(partition.subscribe(0).next().await.unwrap(), page.events[0]);
    partition.restart().await.unwrap();
    store.submit(noted(2)).await.unwrap();
    let nowhere = client.app("shop").partition(77);
    assert_eq!(nowhere.events(1, 10).await.unwrap_err().code(), "NOT_FOUND");
    assert_eq!(client.version().await.unwrap(), env!("CARGO_PKG_VERSION"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_waits_for_its_offset() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    let waiting = store.min_offset(2);
    let head = tokio::spawn(async move { waiting.head().await });
    store.submit(noted(1)).await.unwrap();
    store.submit(noted(2)).await.unwrap();
    assert!(head.await.unwrap().unwrap().size >= 2);
    // The server says so before the client gives up by itself.
    let hasty = Client::builder().deadline(Duration::from_secs(3));
    let hasty = hasty.connect(&format!("http://{}", world.address)).unwrap();
    let error = hasty.app("shop").workspace("store-1").min_offset(9).head().await.unwrap_err();
    assert_eq!(error.code(), "NOT_YET", "{error}");
}

#[tokio::test]
async fn an_address_that_is_none_is_told_at_once() {
    for address in ["", "127.0.0.1:7600", "https://127.0.0.1:7600", "ftp://x", "http://"] {
        assert!(Client::connect(address).is_err(), "{address}");
    }
    let client = Client::connect("http://127.0.0.1:7600").unwrap();
    assert!(client.client_id().parse::<Key>().is_ok(), "a random one");
}
