//! The page about the command line has every command and every exit code, and every code of an error
//! is explained.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use seriatim_api::code::ErrorCode;

use crate::process::{Ran, run};

/// The names of the commands in a help text.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| line.starts_with("  "));
    let names = listed.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_page_has_every_command_and_every_exit_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let page = fs::read_to_string(path).unwrap();
    let top = commands(&Ran::from(run(&["--help"])).ok());
    assert!(top.len() > 15, "{top:?}");
    let mut all = Vec::new();
    for name in &top {
        let below = commands(&Ran::from(run(&[name, "--help"])).ok());
        all.extend(below.iter().map(|below| format!("seriatim {name} {below}")));
        all.extend(below.is_empty().then(|| format!("seriatim {name}")));
    }
    for command in &all {
        assert!(page.contains(&format!("`{command}")), "{command}");
    }
    for code in 0..=8 {
        assert!(page.contains(&format!("| {code} |")), "exit code {code}");
    }
    // And nothing that does not exist.
    for line in page.lines().filter(|line| line.starts_with("| `seriatim ")) {
        let words: Vec<&str> = line.trim_start_matches("| `").split([' ', '`']).collect();
        let known = |count: usize| all.contains(&words[..count.min(words.len())].join(" "));
        assert!(known(2) || known(3), "{line}");
    }
}

/// Whatever stands in quotes and looks like a code, in everything that the command line is made of.
fn codes() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<PathBuf> =
        ["cli/src", "client/src", "verify/src"].map(|folder| crates.join(folder)).into();
    let mut codes = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = fs::read_to_string(path).unwrap();
            let parts: Vec<&str> = source.split('"').collect();
            let is_code = |word: &str| {
                word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
            };
            // What stands for a value in a help text, and variables of the environment, are none.
            let words = parts.array_windows().filter(|[before, word]| {
                let is_other = before.ends_with("value_name = ") || before.ends_with("env!(");
                is_code(word) && !is_other && !word.starts_with("SERIATIM_")
            });
            codes.extend(words.map(|[_, word]| (*word).to_owned()));
        }
    }
    codes
}

/// The headings of a page that are codes.
fn sections(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| line.strip_prefix("### ")).collect()
}

#[test]
fn every_code_that_it_can_print_is_explained_once_and_nothing_else_is() {
    let codes = codes();
    assert!(codes.len() > 60 && codes.contains("TORN_TAIL"), "{codes:?}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let [found, own] = ["verify.md", "cli-errors.md"].map(|name| folder.join(name));
    let [found, own] = [found, own].map(|page| fs::read_to_string(page).unwrap());
    let mut explained: Vec<&str> = sections(&found);
    explained.extend(sections(&own));
    let is_of_contract = |code: &str| code.parse::<ErrorCode>().is_ok();
    for code in codes.iter().filter(|code| !is_of_contract(code)) {
        let count = explained.iter().filter(|it| *it == code).count();
        assert_eq!(count, 1, "{code}: in verify.md or in cli-errors.md");
    }
    for code in explained {
        assert!(codes.contains(code) && !is_of_contract(code), "nothing prints {code}");
    }
    for code in sections(&own) {
        let row = format!("| [{code}](#{}) | ", code.to_lowercase());
        assert!(own.lines().any(|line| line.starts_with(&row)), "{code} has no row in the table");
    }
}
