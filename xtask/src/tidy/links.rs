//! Every relative link in a document leads somewhere.
//!
//! A fragment on a Rust file is the name of an item, not a line: names survive edits.

use super::Finding;
use super::markdown::{anchors, links, resolve};
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".md")) {
        for (line, target) in links(text).into_iter().filter(|(_, target)| is_relative(target)) {
            let fault = fault(tree, path, &target);
            findings
                .extend(fault.map(|fault| Finding::new(path, line, format!("`{target}` {fault}"))));
        }
    }
    findings
}

fn is_relative(target: &str) -> bool {
    let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.is_empty() || !scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn fault(tree: &Tree, from: &str, target: &str) -> Option<&'static str> {
    let Some((path, fragment)) = resolve(from, target) else {
        return Some("leaves the repository");
    };
    if !tree.exists(&path) {
        return Some("leads to a file that does not exist");
    }
    let fragment = fragment?;
    if let Some(file) = tree.rust(&path) {
        let is_item = file.items.iter().any(|item| item.name == fragment);
        return (!is_item).then_some("names no item declared in that file");
    }
    let is_dead = path.ends_with(".md") && !anchors(tree.text(&path)?).contains(&fragment);
    is_dead.then_some("names no heading of that document")
}

#[cfg(test)]
mod tests {
    use super::super::printed;
    use super::*;

    fn findings(document: &str) -> Vec<String> {
        let code = "pub struct Log;\nimpl Log {\n    pub fn append(&self) {}\n}\n";
        let files = [("docs/a.md", document), ("b.md", "# One Two\n"), ("src/log.rs", code)];
        printed(&check(&Tree::of(&files)))
    }

    #[test]
    fn links_to_files_directories_headings_and_items_pass() {
        let document = "# Here\n[a](../b.md) [b](../b.md#one-two) [c](#here) [d](../src)\n\
                        [e](../src/log.rs#Log) [f](../src/log.rs#append) [g](https://x.y/z#no)\n";
        assert_eq!(findings(document), [""; 0]);
    }

    #[test]
    fn dead_links_and_dead_fragments_are_found() {
        let document = "[a](b.md)\n[b](../b.md#three)\n[c](#gone)\n[d](../../b.md)\n\
                        [e](../src/log.rs#remove)\n[f](../src/log.rs#L2)\n";
        let found = findings(document);
        assert_eq!(found.len(), 6, "{found:?}");
        assert_eq!(found[0], "docs/a.md:1: `b.md` leads to a file that does not exist");
        assert_eq!(found[1], "docs/a.md:2: `../b.md#three` names no heading of that document");
        assert_eq!(found[3], "docs/a.md:4: `../../b.md` leaves the repository");
        assert!(found[5].ends_with("names no item declared in that file"), "{found:?}");
    }
}
