//! A decision says when it was made, why, and what was not chosen.

use super::Finding;
use super::tree::Tree;

const DIRECTORY: &str = "docs/decisions/";
const HEADINGS: &[&str] = &["## Context", "## Choice", "## Rejected"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        let Some(name) = path.strip_prefix(DIRECTORY).filter(|name| *name != "README.md") else {
            continue;
        };
        if !is_dated_topic(name) {
            findings.push(Finding::new(path, 1, "name a decision YYYY-MM-DD-topic.md"));
        }
        let lacking =
            HEADINGS.iter().filter(|heading| !text.lines().any(|it| it.trim_end() == **heading));
        findings.extend(
            lacking.map(|it| Finding::new(path, 1, format!("a decision needs the heading `{it}`"))),
        );
    }
    findings
}

fn is_dated_topic(name: &str) -> bool {
    let parts: Vec<&str> = name.splitn(4, '-').collect();
    let [year, month, day, topic] = parts.as_slice() else { return false };
    let number = |text: &str, digits: usize, max: u16| {
        let is_plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        is_plain && text.parse().is_ok_and(|value: u16| (1..=max).contains(&value))
    };
    let topic = topic.strip_suffix(".md").unwrap_or_default();
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
    };
    number(year, 4, 9999)
        && number(month, 2, 12)
        && number(day, 2, 31)
        && topic.split('-').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# Engine\n\n## Context\n\n## Choice\n\n## Rejected\n";

    #[test]
    fn a_dated_decision_with_its_headings_passes() {
        let files =
            [("docs/decisions/2026-11-15-engine.md", GOOD), ("docs/decisions/README.md", "")];
        assert_eq!(check(&Tree::of(&files)), []);
    }

    #[test]
    fn a_wrong_name_is_found() {
        for name in
            ["engine.md", "2026-13-01-x.md", "2026-1-1-x.md", "2026-11-15.md", "2026-11-15-A b.md"]
        {
            let found = check(&Tree::of(&[(&format!("docs/decisions/{name}"), GOOD)]));
            assert_eq!(found.len(), 1, "{name}");
        }
    }

    #[test]
    fn a_decision_without_what_was_rejected_is_found() {
        let text = GOOD.replace("## Rejected", "### Rejected");
        let found = check(&Tree::of(&[("docs/decisions/2026-11-15-engine.md", &text)]));
        assert_eq!(found[0].sentence, "a decision needs the heading `## Rejected`");
    }
}
