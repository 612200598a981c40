//! Every module says what it is for, and every crate takes lints and licence from the workspace.

use super::Finding;
use super::metadata::Metadata;
use super::tree::Tree;

/// What each manifest must hold, by section.
const MANIFEST: &[(&str, &str)] =
    &[("[package]", "license.workspace = true"), ("[lints]", "workspace = true")];

pub(super) fn check(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    let sources = tree.files().filter(|(path, _)| is_source(path));
    let silent = sources.filter(|(_, text)| !text.starts_with("//!"));
    let mut findings: Vec<Finding> = silent
        .map(|(path, _)| Finding::new(path, 1, "open the file with a `//!` line: what is it for"))
        .collect();
    for (_, member) in metadata.members() {
        let text = tree.text(&member.manifest).unwrap_or_default();
        for (section, line) in MANIFEST.iter().filter(|(section, line)| !has(text, section, line)) {
            let sentence = format!("the manifest needs `{line}` in {section}");
            findings.push(Finding::new(&member.manifest, 1, sentence));
        }
    }
    findings
}

fn is_source(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    path.ends_with(".rs")
        && matches!(parts.as_slice(), ["crates", _, "src", ..] | ["xtask", "src", ..])
}

fn has(text: &str, section: &str, wanted: &str) -> bool {
    let lines = text.lines().map(str::trim).skip_while(|line| *line != section).skip(1);
    lines.take_while(|line| !line.starts_with('[')).any(|line| line == wanted)
}

#[cfg(test)]
mod tests {
    use super::super::printed;
    use super::*;

    fn findings(source: &str, manifest: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("crates/types/src/a/b.rs", source),
            ("crates/types/tests/it/main.rs", "mod a;"),
            ("crates/types/Cargo.toml", manifest),
        ]);
        printed(&check(&tree, &Metadata::sample(&[("seriatim-types@1", &[])])))
    }

    #[test]
    fn a_module_that_says_its_job_in_a_crate_that_inherits_passes() {
        let manifest = "[package]\nlicense.workspace = true\n\n[lints]\nworkspace = true\n";
        assert_eq!(findings("//! Job.\n", manifest), [""; 0]);
    }

    #[test]
    fn a_silent_module_and_a_manifest_of_its_own_are_found() {
        let manifest =
            "[package]\nlicense = \"MIT\"\n[lints]\n[dependencies.a]\nworkspace = true\n";
        let found = findings("use a;\n//! Too late.\n", manifest);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("crates/types/src/a/b.rs:1: "), "{found:?}");
        assert!(
            found[1].contains("license.workspace") && found[2].contains("[lints]"),
            "{found:?}"
        );
    }
}
