//! What cannot work says why, and what to do.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use crate::process::{Dev, run};

/// What it says on its way out, which must be one line for people, and the code.
fn complaint(code: i32, listen: &str, data: &Path) -> String {
    let output = run(&["dev", "--listen", listen, "--data", data.to_str().unwrap()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    let (first, code) = said.split_once('\n').unwrap();
    assert!(first.starts_with("seriatim: "), "{said}");
    assert!(
        code.is_empty() || (code.starts_with("  code: ") && code.lines().count() == 1),
        "{said}"
    );
    assert!(!said.contains("panicked") && !said.contains("{ "), "{said}");
    said
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for listen in ["0.0.0.0:0", "[::]:0", "192.168.0.1:7600"] {
        let said = complaint(2, listen, &data);
        assert!(said.contains("no authentication") && said.contains("127.0.0.1"), "{said}");
    }
    assert!(!data.exists(), "nothing was made");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = folder.path().join("data");
    let said = complaint(1, &address, &data);
    assert!(!data.exists(), "nothing was made");
    assert!(said.contains(&address) && said.contains("--listen"), "{said}");
    assert!(said.ends_with("code: ADDRESS_UNUSABLE\n"), "{said}");
}

#[test]
fn a_folder_that_is_in_use_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let _dev = Dev::start(folder.path());
    let said = complaint(1, "127.0.0.1:0", folder.path());
    let name = folder.path().to_str().unwrap();
    assert!(said.contains("in use") && said.contains(name), "{said}");
    assert!(said.ends_with("code: STORE_IN_USE\n"), "{said}");
}

#[test]
fn no_store_is_made_beside_what_somebody_else_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("letters.txt");
    fs::write(&file, "Dear Sir").unwrap();
    let said = complaint(1, "127.0.0.1:0", folder.path());
    assert!(said.contains(file.to_str().unwrap()) && said.contains("empty"), "{said}");
    assert!(said.ends_with("code: FOLDER_OCCUPIED\n"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made");
}

#[test]
fn a_folder_that_is_none_or_is_damaged_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "something else").unwrap();
    let said = complaint(1, "localhost:0", &file);
    assert!(said.contains(&format!("{} is no folder", file.display())), "{said}");
    let data = folder.path().join("data");
    Dev::start(&data).kill();
    damage(&data);
    let said = complaint(1, "127.0.0.1:0", &data);
    assert!(said.contains(data.to_str().unwrap()), "{said}");
}

/// Cuts every file of a folder short.
fn damage(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => damage(&path),
            false => fs::write(&path, "x").unwrap(),
        }
    }
}

#[test]
fn wrong_arguments_are_explained() {
    for arguments in [&["dev", "--port", "1"][..], &["server"], &[]] {
        let output = run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("Usage") || said.contains("--help"), "{said}");
    }
    for listen in ["here", "127.0.0.1", "localhost", "::1", "localhost:99999"] {
        let said = complaint(2, listen, Path::new("unused"));
        assert!(said.starts_with(&format!("seriatim: --listen: {listen:?} is not an")), "{said}");
    }
}
