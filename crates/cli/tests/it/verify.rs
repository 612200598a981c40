//! `seriatim verify`: folders, live servers, sequences and proofs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{Dev, Ran, run};
use crate::shop::{KEY, ORDER, fill};

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
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    fill(&dev);
    let said = verify(folder.path(), &[]).failed(1);
    assert!(said.contains("a server has") && said.contains("leave out --data"), "{said}");
    dev.end();
    let printed = verify(folder.path(), &[]).ok();
    assert!(
        printed.contains("events      6\n") && printed.ends_with("Nothing differs.\n"),
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
WORKSPACE      PERIOD  FIRST  LAST  COUNT  GAPS  REPEATS
1099511627776  -       1      2     2      0     0

ticket: 2 numbers, 0 gaps, 0 repeats
";
    assert_eq!(sequence, expected);
    let said = verify(folder.path(), &["--app", "shop", "--sequence", "nope"]).failed(3);
    assert!(said.contains("there is no sequence nope"), "{said}");
}

#[test]
fn a_damaged_folder_is_a_difference_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    fill(&dev);
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

#[test]
fn a_folder_that_is_not_there_is_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("none");
    let said = verify(&data, &[]).failed(1);
    assert!(said.contains("none"), "{said}");
    verify(&data, &["--app", "shop", "--sequence", "s"]).failed(1);
    assert!(!data.exists(), "nothing was made");
}

#[test]
fn a_live_server_is_checked_through_what_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    fill(&dev);
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
    assert!(check(&wrong, &[]).failed(6).contains("code: PROOF_DOES_NOT_HOLD"));
    let wrong = receipt.replace("\"last_offset\":2", "\"last_offset\":1");
    assert!(check(&wrong, &[]).failed(6).contains("code: PROOF_CONTRADICTS_ITSELF"));
    assert!(check("{}", &[]).failed(2).contains("this is no proof"));
}
