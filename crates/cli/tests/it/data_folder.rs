//! Who can read what is stored, and what a clean end leaves.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::process::{Dev, command};
use crate::shop::fill;

/// Everything below a folder, and the folder.
fn all(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![path.to_owned()];
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        found.extend(entries.flat_map(|entry| all(&entry)));
    }
    found
}

fn check_private(data: &Path) {
    for path in all(data) {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, expected, "{} has the mode {mode:o}", path.display());
    }
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn data_folder_is_for_its_owner_alone() {
    let outer = tempfile::tempdir().unwrap();
    let data = outer.path().join("data");
    let dev = Dev::start(&data);
    fill(&dev);
    check_private(&data);
    dev.end();
    check_private(&data);

    // As an older server has made it.
    for path in all(&data) {
        set(&path, if path.is_dir() { 0o755 } else { 0o644 });
    }
    let mut again = command(&["dev", "--listen", "127.0.0.1:0"]);
    again.arg("--data").arg(&data).stderr(Stdio::piped());
    let mut again = Dev::spawn(again);
    check_private(&data);
    let mut errors = again.errors().unwrap();
    again.end();
    let mut said = String::new();
    errors.read_to_string(&mut said).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("could be read by other users of this machine"), "{said}");
}

/// Forty were acknowledged, twenty served, and the next number given again.
#[test]
fn journal_cut_short_after_a_clean_end_is_told_by_a_start_and_by_verify() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    fill(&dev);
    dev.end();
    let data = folder.path().to_str().unwrap();
    let verify = || crate::process::run(&["verify", "--data", data]);
    let journals = all(&folder.path().join("fjall"));
    let journal = journals.iter().find(|it| it.extension().is_some_and(|it| it == "jnl")).unwrap();
    let whole = fs::read(journal).unwrap();
    // A batch ends with these bytes: nothing is torn.
    let ends = whole.windows(4).enumerate().filter(|(_, bytes)| *bytes == b"FJL\x03");
    let ends: Vec<usize> = ends.map(|(at, _)| at + 4).collect();
    fs::write(journal, &whole[..ends[ends.len() / 2]]).unwrap();
    for (code, ran) in [(6, verify()), (1, crate::process::run(&["dev", "--data", data]))] {
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(code), "{said}");
        assert!(
            said.contains("FILE_DAMAGED") && said.contains("was closed after commit"),
            "{said}"
        );
    }
    fs::write(journal, &whole).unwrap();
    assert!(verify().status.success());
}
