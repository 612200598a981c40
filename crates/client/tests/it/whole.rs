//! Everything that a client can ask, against a server that is well.

use std::time::{Duration, SystemTime};

use serde_json::json;
use seriatim_client::{
    AppInfo, Change, Client, Command, Condition, Created, Declared, Defined, Deleted, EntitySet,
    EntityUnset, Key, NewApp, NewSequence, Outcome, PartitionState, RecordClass, RecordIds, Reset,
    SequenceDefinition, SubmitError, Updated, id_of,
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
    assert!(receipt.committed_at.system_time() <= SystemTime::now() + Duration::from_secs(60));

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
    assert_eq!(record.fields.to_value(), json!({"number": number.text}));
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
        .unset_if("hold", Condition::Value(json!("me").into()))
        .unset("nothing");
    let second = store.submit(second).await.unwrap();
    assert_eq!((second.receipt.first_offset, second.receipt.last_offset), (2, 3));

    let events = all(&store).await;
    let drawn = first.number("invoice").unwrap().clone();
    let created = |id, parent, fields: serde_json::Value| {
        Change::Create(Created { id, kind: "invoice".to_owned(), parent, fields: fields.into() })
    };
    let (key, value) = ("hold".to_owned(), json!("me").into());
    assert_eq!(
        events[0].changes,
        [
            created(one, None, json!({"self": one})),
            created(two, Some(one), json!({})),
            Change::Set(EntitySet { key, version: 1, value, expires_at: Some(at.into()) }),
            Change::Draw(drawn),
        ]
    );
    assert_eq!(
        events[1].changes,
        [
            Change::Update(Updated { id: one, version: 2, fields: json!({"open": false}).into() }),
            Change::Delete(Deleted { id: two, version: 1 }),
        ]
    );
    assert_eq!(
        (events[2].name.as_str(), events[2].args.to_value()),
        ("Third", json!({"a": [1, null]}))
    );
    assert_eq!(
        events[2].changes,
        [
            Change::Unset(EntityUnset { key: "hold".to_owned(), version: Some(1) }),
            Change::Unset(EntityUnset { key: "nothing".to_owned(), version: None }),
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
    assert_eq!((entity.value.to_value(), entity.version, entity.expires_at), (json!(3), 3, None));
    assert_eq!(store.entity("none").await.unwrap(), None);
    assert_eq!(store.record(7_000_000).await.unwrap(), None);
    let sequence = store.sequence("invoice", None).await.unwrap().unwrap();
    assert_eq!((sequence.last, sequence.next), (3, Some(4)));
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
    // The first moment that has no text.
    let late = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_800);
    for (workspace, command, code) in [
        // On the wire an empty name stands for the one before.
        (client.app("shop").workspace(""), noted(2), "INVALID_ARGUMENT"),
        (client.app("").workspace("store-1"), noted(2), "INVALID_ARGUMENT"),
        (store.clone(), Command::new("Large").args("x".repeat(3 << 20)), "TOO_LARGE"),
        // And what the server finds.
        (store.clone(), Command::new("Large").args(json!({"x": "x".repeat(1 << 20)})), "TOO_LARGE"),
        (store.clone(), Command::new("Odd").args(7), "INVALID_ARGUMENT"),
        (store.clone(), Command::new("Late").set_until("a", 1, None, late), "INVALID_ARGUMENT"),
        (client.app("none").workspace("store-1"), noted(2), "APP_NOT_FOUND"),
    ] {
        let error = workspace.submit(command).await.unwrap_err();
        assert!(matches!(error, SubmitError::Refused { .. }), "{error}");
        assert_eq!(error.code(), code, "{error}");
    }
    // A document is left to the server, whatever it says.
    for document in ["{}", "[]", r#"{"events":[{"name":"A","arg":1}]}"#] {
        let error = store.submit(Command::from_json(document).unwrap()).await.unwrap_err();
        assert!(matches!(error, SubmitError::Refused { .. }), "{error}");
        assert_eq!(error.code(), "INVALID_ARGUMENT");
    }
    assert_eq!(all(&store).await.len(), 1);
    // What is empty would be another path.
    for error in [
        store.entity("").await.unwrap_err(),
        client.app("").define_kind("x").await.unwrap_err(),
        client.app("shop").define_kind("").await.unwrap_err(),
        client.app("shop").workspace("").head().await.unwrap_err(),
    ] {
        assert_eq!(error.code(), "INVALID_ARGUMENT");
    }
}

/// A command that was read from a file is the one that was put together.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_the_command_that_it_says() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    let key = Key::random();
    let document = r#"{"events":[{"name":"InvoiceIssued","args":{"turn":1},"changes":
        [{"create":{"id":1,"kind":"invoice","fields":{"number":{"$next":"invoice","as":"text"}}}}]}]}"#;
    let first = store.submit_with_key(key, document).await.unwrap();
    let again = store.submit_with_key(key, invoice(1)).await.unwrap();
    assert_eq!((again.is_replayed, &again.receipt), (true, &first.receipt));
    let other = Command::from_json(document).unwrap().if_offset(0);
    assert_eq!(store.submit(other).await.unwrap_err().code(), "OFFSET_MISMATCH");
    let proven = Command::from_json(document).unwrap().if_offset(1).with_proof();
    assert!(store.submit(proven).await.unwrap().receipt.proof.is_some());
    let late = Command::from_json(document).unwrap().deadline(SystemTime::UNIX_EPOCH);
    assert_eq!(store.submit(late).await.unwrap_err().code(), "DEADLINE_EXCEEDED");
}

/// Names may have any characters, and each stands in a part of a path of its own.
#[tokio::test(flavor = "multi_thread")]
async fn names_reach_the_server_as_they_are() {
    let world = World::new().await;
    let client = Client::builder().client_id("Kasse Süd/2 100%");
    let client = client.connect(&format!("http://{}", world.address)).unwrap();
    shop(&client).await;
    let store = client.app("shop").workspace("a/b c?d=%41&ü+#");
    let key = Key::random();
    let set = Command::new("Set").set("stock/A-7 %2F?", 1);
    let submitted = store.submit_with_key(key, set).await.unwrap();
    assert_eq!(submitted.receipt.workspace, "a/b c?d=%41&ü+#");
    assert_eq!(store.entity("stock/A-7 %2F?").await.unwrap().unwrap().version, 1);
    let state = store.client("Kasse Süd/2 100%").await.unwrap().unwrap();
    assert_eq!(state.last_offset, 1);
    let found = store.receipt("Kasse Süd/2 100%", key).await.unwrap();
    assert_eq!(found, Some(submitted.receipt));
    assert_eq!(store.subscribe(1).next().await.unwrap().workspace, "a/b c?d=%41&ü+#");
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_are_made_once_and_shown() {
    let world = World::new().await;
    let client = world.client();
    let options = || NewApp {
        partitions: Some(3),
        record_ids: Some(RecordIds::Split),
        trust_level: Some(1),
        idempotency_retention: Some("forever".to_owned()),
        idempotency_keys_max: Some(Some(1000)),
        ..NewApp::default()
    };
    let books = client.app("books");
    assert_eq!(books.info().await.unwrap(), None);
    assert!(books.create(options()).await.unwrap());
    assert!(!books.create(options()).await.unwrap());
    let other = NewApp { partitions: Some(2), ..options() };
    let error = books.create(other).await.unwrap_err();
    assert_eq!((error.code(), error.outcome()), ("APP_EXISTS", Some(Outcome::Refused)));
    let info = AppInfo {
        name: "books".to_owned(),
        partitions: 3,
        record_ids: RecordIds::Split,
        trust_level: 1,
        idempotency_retention: "forever".to_owned(),
        idempotency_keys_max: Some(1000),
    };
    assert_eq!(books.info().await.unwrap(), Some(info));
    shop(&client).await;
    let names: Vec<_> = client.apps().await.unwrap().into_iter().map(|app| app.name).collect();
    assert_eq!(names, ["books", "shop"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_are_made_once_and_shown() {
    let world = World::new().await;
    let books = world.client().app("books");
    books.create(NewApp::default()).await.unwrap();
    let defined = books.define_kind("archive").await.unwrap();
    assert_eq!(defined, Defined { version: 2, changed: true });
    let again = books.define_kind("archive").await.unwrap();
    assert_eq!(again, Defined { version: 2, changed: false });
    books.define_singleton("settings", RecordClass::W).await.unwrap();
    let tickets = NewSequence {
        ranges: Some(vec![[10, 19], [30, 39]]),
        kind: Some("archive".to_owned()),
        ..NewSequence::continuous("T{n}")
    };
    books.define_sequence("ticket", tickets.clone()).await.unwrap();
    let definitions = books.definitions().await.unwrap();
    assert!(definitions.kinds.iter().map(|kind| &*kind.name).eq(["default", "archive"]));
    let ticket = SequenceDefinition {
        name: "ticket".to_owned(),
        kind: "archive".to_owned(),
        ranges: vec![[10, 19], [30, 39]],
        format: "T{n}".to_owned(),
        reset: Reset::Never,
        utc_offset: "+00:00".to_owned(),
    };
    assert_eq!(definitions.sequences, [ticket]);
    assert_eq!(
        (definitions.records[0].class, definitions.records[0].singleton),
        (RecordClass::W, true)
    );
    let yearly = NewSequence { reset: Some(Reset::Yearly), ..tickets };
    let error = books.define_sequence("ticket", yearly).await.unwrap_err();
    assert_eq!(error.code(), "DEFINITION_CONFLICT");
    let archive = books.workspace("1");
    let declared = archive.declare("archive").await.unwrap();
    let expected = Declared {
        workspace: "1".to_owned(),
        workspace_id: 1,
        kind: "archive".to_owned(),
        created: true,
    };
    assert_eq!(declared, expected);
    assert!(!archive.declare("archive").await.unwrap().created);
    let drawn = archive.submit(Command::new("Drawn").draw("ticket")).await.unwrap();
    assert_eq!(drawn.number("ticket").unwrap().text, "T10");
    let error = archive.declare("default").await.unwrap_err();
    assert_eq!(error.code(), "KIND_CONFLICT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_keys_is_changed_and_lifted() {
    let world = World::new().await;
    let client = world.client();
    let store = shop(&client).await;
    let app = client.app("shop");
    assert_eq!(app.info().await.unwrap().unwrap().idempotency_keys_max, None);
    let limited = app.set_keys_max(Some(1)).await.unwrap();
    assert_eq!((limited.name.as_str(), limited.idempotency_keys_max), ("shop", Some(1)));
    store.submit(noted(1)).await.unwrap();
    let full = store.submit(noted(2)).await.unwrap_err();
    assert_eq!(full.code(), "KEY_WINDOW_FULL");
    assert_eq!(app.set_keys_max(None).await.unwrap().idempotency_keys_max, None);
    store.submit(noted(2)).await.unwrap();
    let error = client.app("none").set_keys_max(None).await.unwrap_err();
    assert_eq!((error.code(), error.outcome()), ("APP_NOT_FOUND", Some(Outcome::Refused)));
    let error = app.set_keys_max(Some(0)).await.unwrap_err();
    assert_eq!(error.code(), "INVALID_ARGUMENT");
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
