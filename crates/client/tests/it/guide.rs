//! The code of the guide, which is shown there as it stands here.

use std::pin::pin;
use std::time::Duration;

use serde_json::json;
use seriatim_client::{
    Client, Command, Condition, Entity, Key, NewApp, NewSequence, RecordClass, SubmitError,
    Workspace, id_of, next_text,
};
use seriatim_node::Settings;

use crate::gate::Gate;
use crate::world::{World, all, shop};

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_is_run() -> Result<(), Box<dyn std::error::Error>> {
    let world = World::new().await;
    let address = &format!("http://{}", world.address);

    let client = Client::builder().client_id("till-4").connect(address)?;
    let shop = client.app("shop");
    shop.create(NewApp::default()).await?;
    shop.define_record("invoice", RecordClass::C).await?;
    shop.define_sequence("invoice", NewSequence::yearly("INV-{yyyy}-{n:06}")).await?;
    let store = shop.workspace("store-1");

    let command = Command::new("InvoiceIssued")
        .args(json!({"customer": "C-17"}))
        .create(1, "invoice", json!({"number": next_text("invoice"), "lines": [id_of(2)]}))
        .create_under(1, 2, "invoice", json!({"sku": "A-7"}))
        .set_if("day/2026-11-16", "open", Condition::Absent);
    let submitted = store.submit(command).await?;
    println!("{}", submitted.number("invoice").unwrap().text);
    println!("{}", submitted.id(1).unwrap());

    let submissions: Vec<_> = (0..100).map(|_| store.submit(Command::new("Sold"))).collect();
    for submission in submissions {
        submission.await?;
    }

    open_the_day(&store).await?;

    let key = Key::random(); // kept in your database, with the order
    let first = store.submit_with_key(key, Command::new("Paid").draw("invoice")).await?;
    // ... the process ends, starts again and does not know ...
    let again = store.submit_with_key(key, Command::new("Paid").draw("invoice")).await?;
    assert!(again.is_replayed);
    assert_eq!(again.receipt, first.receipt);

    let record = store.record(submitted.id(1).unwrap()).await?.expect("it was created");
    let open: Option<Entity> = store.entity("day/2026-11-16").await?;
    let events = store.events(1, 100).await?;
    let fresh = store.min_offset(submitted.receipt.last_offset).records("invoice", 0, 10).await?;

    assert_eq!((record.version, open.is_some(), events.events.len()), (1, true, 100));
    assert_eq!(fresh.records.len(), 2);
    store.submit(Command::new("DayClosed")).await?;

    let mut events = store.subscribe(1);
    while let Ok(event) = events.next().await {
        println!("{} {}", event.offset, event.name);
        if event.name == "DayClosed" {
            break;
        }
    }

    assert_eq!(events.next_offset(), 105);
    Ok(())
}

/// The three answers beside success, as the guide has them.
async fn open_the_day(store: &Workspace) -> Result<(), Box<dyn std::error::Error>> {
    let command = Command::new("Opened").set_if("day", "open", Condition::Absent);
    match store.submit(command.clone()).await {
        Ok(submitted) => println!("{}", submitted.receipt.last_offset),

        // Never written, no number taken. The code and the facts say what has to change first.
        Err(SubmitError::Refused { error, .. }) if error.code() == "KEY_EXISTS" => {
            println!("the day is {}", error.facts()["current_value"]);
        }
        Err(SubmitError::Refused { error, .. }) => return Err(error.into()),

        // Not written by any attempt of this call: send it again.
        Err(SubmitError::NotWritten { error, .. }) => return Err(error.into()),

        // Perhaps written: send the same command again with the same key. That resolves it.
        Err(SubmitError::Unknown { key, .. }) => {
            let resolved = store.submit_with_key(key, command).await?;
            println!("{}", resolved.receipt.last_offset);
        }
    }
    Ok(())
}

/// The guide sent another command with the same key, which is refused.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_outcome_is_resolved_as_the_guide_says() {
    let (gate, store) = Gate::store();
    let world = World::with(store, Settings::default()).await;
    let patient = shop(&world.client()).await;
    let patience = Duration::from_secs(2);
    let impatient = |id: &str| {
        let client = Client::builder().client_id(id).deadline(patience);
        let client = client.connect(&format!("http://{}", world.address)).unwrap();
        client.app("shop").workspace("store-1")
    };
    let (first, second) = (impatient("till-4"), impatient("till-5"));
    gate.close();
    let mut opening = pin!(open_the_day(&first));
    // It is begun first, so once another that is as patient has given up, it has too.
    let given_up = tokio::select! {
        biased;
        opened = &mut opening => panic!("nothing was committed: {opened:?}"),
        given_up = second.submit(Command::new("Noted")) => given_up.unwrap_err(),
    };
    assert!(matches!(given_up, SubmitError::Unknown { .. }), "{given_up}");
    gate.open();
    opening.await.unwrap();
    let events = all(&patient).await;
    let opened: Vec<_> = events.iter().filter(|event| event.name == "Opened").collect();
    assert_eq!(opened.len(), 1, "it is there once");
    assert_eq!(patient.entity("day").await.unwrap().unwrap().value.to_value(), "open");
}

#[test]
fn the_guide_shows_what_is_run() {
    let lines = |text: &'static str| -> Vec<&str> { text.lines().map(str::trim).collect() };
    let run = lines(include_str!("guide.rs"));
    let guide = include_str!("../../../../docs/guide/client.md");
    let shown: Vec<&str> = guide.split("```rust\n").skip(1).collect();
    assert_eq!(shown.len(), 7);
    for block in shown {
        let block = lines(block.split("```").next().unwrap());
        assert!(run.windows(block.len()).any(|part| part == block), "{}", block.join("\n"));
    }
}
