//! The page about the command line has every command and every exit code.

use std::fs;
use std::path::Path;

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
