//! `seriatim verify`: folders, live servers, sequences and proofs.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use seriatim_storage::{Batch, KeyRange, Read, Scan, ScanEnd, Store};

use crate::process::{Dev, Ran, run};
use crate::shop::{KEY, ORDER, fill, shop};

fn verify(data: &Path, more: &[&str]) -> Ran {
    run(&[&["verify", "--data", data.to_str().unwrap()], more].concat()).into()
}

/// The largest file of a folder and those in it.
fn largest(folder: &Path) -> PathBuf {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                files.push((fs::metadata(&entry).unwrap().len(), entry));
            }
        }
    }
    files.sort();
    files.pop().unwrap().1
}

#[test]
fn a_folder_is_checked_once_its_server_has_ended() {
    let (folder, dev) = shop();
    let said = verify(folder.path(), &[]).failed(1);
    assert!(said.contains("a server has") && said.contains("leave out --data"), "{said}");
    dev.end();
    let printed = verify(folder.path(), &[]).ok();
    assert!(
        printed.contains("events       6\n") && printed.ends_with("Nothing differs.\n"),
        "{printed}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&verify(folder.path(), &["-o", "json"]).ok()).unwrap();
    assert_eq!(
        (&json["apps"], &json["records"], &json["entities"]),
        (&1.into(), &1.into(), &1.into())
    );
    let sequence = verify(folder.path(), &["--app", "shop", "--sequence", "ticket"]).ok();
    let expected = "\
WORKSPACE  PERIOD  FIRST  LAST  COUNT  GAPS  REPEATS
store-1    -       1      2     2      0     0

ticket: 2 numbers, 0 gaps, 0 repeats
";
    assert_eq!(sequence, expected);
    let said = verify(folder.path(), &["--app", "shop", "--sequence", "nope"]).failed(3);
    assert!(said.contains("there is no sequence nope") && said.contains(": ticket"), "{said}");
    let said = verify(folder.path(), &["--app", "nope", "--sequence", "ticket"]).failed(3);
    assert!(said.contains("APP_NOT_FOUND") && said.contains("these apps: shop"), "{said}");
}

#[test]
fn a_damaged_folder_is_a_difference_with_its_place() {
    let (folder, dev) = shop();
    dev.end();
    let file = largest(folder.path());
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.iter().position(|byte| *byte != 0).unwrap() + 40;
    bytes[at] ^= 1;
    fs::write(&file, bytes).unwrap();
    let said = verify(folder.path(), &[]).failed(6);
    assert!(said.contains("code: FILE_DAMAGED"), "{said}");
    assert!(said.contains(file.file_name().unwrap().to_str().unwrap()), "{said}");
    let json = verify(folder.path(), &["-o", "json"]).failed(6);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["code"], "FILE_DAMAGED");
}

/// What somebody kept beside a store was called damage of it.
#[test]
fn a_neighbour_in_the_folder_of_a_store_is_not_called_damaged() {
    let (folder, dev) = shop();
    dev.end();
    let note = folder.path().join("notes.txt");
    fs::write(&note, "Dear Sir").unwrap();
    let said = verify(folder.path(), &[]).failed(1);
    assert!(said.contains("code: FOLDER_OCCUPIED") && !said.contains("damaged"), "{said}");
    assert!(said.contains("was to be checked as a part of one store"), "{said}");
    assert!(said.contains(&format!("move {} elsewhere", note.display())), "{said}");
    fs::remove_file(note).unwrap();
    // As the example of invoices was, in the folder of `seriatim dev`.
    let inner = folder.path().join("invoicing");
    Dev::start(&inner).end();
    let said = verify(folder.path(), &["--app", "shop", "--sequence", "ticket"]).failed(1);
    let advice = format!("check it with `seriatim verify --data {}`", inner.display());
    assert!(said.contains(&advice) && !said.contains("damaged"), "{said}");
    assert!(verify(&inner, &[]).ok().ends_with("Nothing differs.\n"));
    fs::remove_dir_all(inner).unwrap();
    assert!(verify(folder.path(), &[]).ok().ends_with("Nothing differs.\n"));
}

#[test]
fn a_folder_without_a_store_is_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("letters.txt");
    fs::write(&file, "Dear Sir").unwrap();
    for data in [folder.path(), &folder.path().join("none"), &file] {
        for more in [&[][..], &["--app", "shop", "--sequence", "s"]] {
            let said = verify(data, more).failed(3);
            assert!(said.contains(&format!("there is no store in {}\n", data.display())), "{said}");
            assert!(said.contains("code: NOT_FOUND") && said.contains("./.seriatim"), "{said}");
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made");
}

#[test]
fn a_server_that_says_it_has_stopped_has_let_go_of_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..5 {
        let mut dev = Dev::start(folder.path());
        dev.signal(rustix::process::Signal::TERM);
        while !dev.line().starts_with("Stopped.") {}
        let lock = fs::File::open(folder.path().join("lock")).unwrap();
        lock.try_lock().unwrap();
    }
}

#[test]
fn what_a_live_server_keeps_no_receipt_of_cannot_be_told() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    dev.run(&["app", "create", "shop", "--idempotency-retention", "300ms"]).ok();
    dev.run(&["sequence", "define", "shop", "ticket"]).ok();
    let args = r#"{"n":{"$next":"ticket"}}"#;
    let draw = ["submit", "shop", "store-1", "X", "--args", args, "--key", KEY];
    dev.run(&draw).ok();
    // Once its retention is over, the key is as good as new, and its receipt is another command's.
    while dev.run(&draw).ok().contains("yes: it was carried out before") {}
    let said = dev.run(&["verify", "--app", "shop", "--sequence", "ticket"]).failed(7);
    assert!(said.contains("code: CANNOT_TELL") && said.contains("--data FOLDER"), "{said}");
    dev.end();
    let sequence = verify(folder.path(), &["--app", "shop", "--sequence", "ticket"]).ok();
    assert!(sequence.contains("ticket: 2 numbers, 0 gaps, 0 repeats"), "{sequence}");
}

#[test]
fn a_live_server_is_checked_through_what_it_answers() {
    let (_folder, dev) = shop();
    let more = r#"{"events": [{"name": "Shipped", "changes": [
        {"update": {"id": 200001, "fields": {"open": false}}},
        {"create": {"id": 1, "kind": "order", "fields": {}}}, {"unset": {"key": "stock/A-7"}}]}]}"#;
    dev.run_with(&["submit", "shop", "store-1", "--file", "-"], more).ok();
    let gone = r#"{"events": [{"name": "Gone", "changes": [{"delete": {"id": 200002}}]}]}"#;
    dev.run_with(&["submit", "shop", "store-1", "--file", "-"], gone).ok();
    let expected = "\
apps                          1
partitions                    1
events                        5
workspaces                    1
workspaces changed meanwhile  0

Nothing differs.
";
    assert_eq!(dev.run(&["verify"]).ok(), expected);
    let sequence = dev.run(&["verify", "--app", "shop", "--sequence", "ticket", "-o", "json"]).ok();
    let sequence: serde_json::Value = serde_json::from_str(&sequence).unwrap();
    assert_eq!((&sequence["complete"], &sequence["count"]), (&true.into(), &2.into()));
    assert_eq!(sequence["series"][0]["workspace"], "store-1");
}

/// Writes what one record holds into the row of another one of the same workspace.
fn change_a_record(data: &Path) {
    let store = seriatim_verify::open(data).unwrap();
    let table = store.schema().table("records").unwrap();
    let mut rows = Vec::new();
    let all = Scan::new(table, KeyRange::all());
    // Behind the partition stands the tag of a record; other rows of the table list them.
    let visited = store.scan(&all, &mut |row| {
        rows.extend((row.key.get(10) == Some(&0x07)).then_some((row.key, row.value)));
        ControlFlow::Continue(())
    });
    assert_eq!(visited.unwrap(), ScanEnd::Complete);
    let [(_, first), .., (last, _)] = rows.as_slice() else { panic!("{rows:?}") };
    let mut batch = Batch::new();
    batch.put(table, last.clone(), first.clone());
    store.commit(batch).unwrap();
    store.sync().unwrap();
}

#[test]
fn record_that_a_live_server_shows_otherwise_than_its_events_is_found() {
    let (folder, dev) = shop();
    let more = r#"{"events": [{"name": "More", "changes": [
        {"create": {"id": 1, "kind": "order", "fields": {"total": 7}}}]}]}"#;
    dev.run_with(&["submit", "shop", "store-1", "--file", "-"], more).ok();
    dev.end();
    change_a_record(folder.path());
    let dev = Dev::start(folder.path());
    let said = dev.run(&["verify"]).failed(6);
    assert!(said.contains("code: STATE_DIFFERENT"), "{said}");
    assert!(said.contains(r#"record 200002 should be {"total":7} in version 1"#), "{said}");
}

#[test]
fn a_proof_needs_neither_a_server_nor_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(&folder.path().join("data"));
    fill(&dev);
    let file = folder.path().join("proof.json");
    let check = |text: &str, more: &[&str]| {
        fs::write(&file, text).unwrap();
        Ran::from(run(&[&["verify", "--proof", file.to_str().unwrap()], more].concat()))
    };
    let proof = dev.run(&["proof", "get", "shop", "store-1", "2", "-o", "json"]).ok();
    let grown = dev.run(&["proof", "consistency", "shop", "store-1", "1", "-o", "json"]).ok();
    let submit =
        ["submit", "shop", "store-2", "--file", "-", "--key", KEY, "--proof", "-o", "json"];
    let receipt = dev.run_with(&submit, ORDER).ok();
    dev.end();
    assert!(check(&proof, &[]).ok().starts_with("The proof holds: event 2 with the hash "));
    assert!(check(&grown, &[]).ok().contains("the log of 1 events"));
    assert!(check(&receipt, &["-o", "json"]).ok().starts_with(r#"{"holds":true,"offset":2,"#));
    let wrong = proof.replace("\"offset\":2", "\"offset\":1");
    assert!(check(&wrong, &[]).failed(6).contains("code: PROOF_DOES_NOT_HOLD\n  next: get it"));
    let wrong = receipt.replace("\"last_offset\":2", "\"last_offset\":1");
    assert!(
        check(&wrong, &[]).failed(6).contains("code: PROOF_CONTRADICTS_ITSELF\n  next: get it")
    );
    let said = check("{}", &[]).failed(2);
    assert!(said.contains("this is no proof") && said.contains("seriatim proof get"), "{said}");
}

#[test]
fn a_proof_is_held_against_a_root_that_was_kept() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(&folder.path().join("data"));
    fill(&dev);
    let get = |task: &[&str], name: &str| {
        let text = dev.run(&[task, &["-o", "json"]].concat()).ok();
        let file = folder.path().join(name);
        fs::write(&file, &text).unwrap();
        (file, serde_json::from_str::<serde_json::Value>(&text).unwrap())
    };
    let (proof, shown) = get(&["proof", "get", "shop", "store-1", "2"], "proof.json");
    let (grown, both) = get(&["proof", "consistency", "shop", "store-1", "1"], "grown.json");
    let check = |file: &Path, root: &str| {
        Ran::from(run(&["verify", "--proof", file.to_str().unwrap(), "--root", root]))
    };
    let root = shown["root"].as_str().unwrap();
    let said = check(&proof, root).ok();
    assert!(said.ends_with("The root of 3 events is the one that was given.\n"), "{said}");
    assert!(check(&grown, both["from_root"].as_str().unwrap()).ok().contains("root of 1 events"));
    assert!(check(&grown, both["to_root"].as_str().unwrap()).ok().contains("root of 3 events"));
    let other = root.replace(['0', '1'], "2");
    assert!(check(&proof, &other).failed(6).contains("code: PROOF_OF_ANOTHER_ROOT\n  next: look"));
    assert!(check(&proof, "x").failed(2).contains("64 hexadecimal digits"));
}

/// An event whose arguments were changed kept its hash, and passed.
#[test]
fn an_event_that_was_changed_is_not_the_one_of_its_proof() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let dev = Dev::start(&data);
    fill(&dev);
    // Another app has an event at the same place.
    dev.run(&["app", "create", "kiosk", "--partitions", "1"]).ok();
    dev.run(&["submit", "kiosk", "store-1", "Sold"]).ok();
    let [proof, event] = ["proof.json", "event.json"].map(|name| folder.path().join(name));
    let tail = ["log", "tail", "shop", "store-1", "--from", "1", "--count", "1", "-o", "json"];
    let shown = dev.run(&tail).ok();
    fs::write(&proof, dev.run(&["proof", "get", "shop", "store-1", "1", "-o", "json"]).ok())
        .unwrap();
    let [proof_path, event_path] = [&proof, &event].map(|path| path.to_str().unwrap());
    let arguments = ["verify", "--proof", proof_path, "--event", event_path];
    let check = |text: &str| {
        fs::write(&event, text).unwrap();
        Ran::from(run(&[&arguments[..], &["--data", data.to_str().unwrap()]].concat()))
    };
    assert!(check(&shown).failed(1).contains("a server has"));
    dev.end();
    let said = check(&shown).ok();
    assert!(said.contains("The event is one of app shop"), "{said}");
    for (from, to, what) in [
        ("\"total\":12.5", "\"total\":1.5", "args differs"),
        ("stock/A-7", "stock/A-8", "changes differs"),
        ("\"workspace\":\"store-1\"", "\"workspace\":\"store-2\"", "workspace differs"),
        ("{\"offset\":1,", "{\"offset\":1,\"more\":1,", "more differs"),
    ] {
        let said = check(&shown.replace(from, to)).failed(6);
        assert!(said.contains("code: EVENT_DIFFERENT") && said.contains(what), "{said}");
    }
    let elsewhere = shown.replace("\"partition_offset\":1", "\"partition_offset\":2");
    assert!(check(&elsewhere).failed(6).contains("code: EVENT_NOT_STORED"));
    assert!(check("{}").failed(2).contains("is no event"));
    // Without the stored bytes nothing is pretended.
    assert!(Ran::from(run(&arguments)).failed(2).contains("--data"));
}
