//! Bugs on purpose are asked for, or they are not there.
//!
//! Cargo builds a crate once, with all features that anybody asks for: one line would put the bugs
//! into the binary and into every test of the workspace. So a feature `planted` is turned on by
//! others of that name, and those by whoever runs cargo.

use super::Finding;
use super::metadata::Metadata;
use super::tree::Tree;

const FEATURE: &str = "planted";

pub(super) fn check(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (_, member) in metadata.members() {
        for (who, what) in member.turns_on.iter().filter(|(who, what)| plants(who, what)) {
            let sentence = format!(
                "{who} turns on `{what}`: only a feature `{FEATURE}` may, so that a normal build \
                 has no bugs on purpose"
            );
            let line = tree.line_of(&member.manifest, FEATURE);
            findings.push(Finding::new(&member.manifest, line, sentence));
        }
    }
    findings
}

fn plants(who: &str, what: &str) -> bool {
    // `sim/planted`, `sim?/planted`, or a feature of the same crate.
    let feature = what.rsplit_once('/').map_or(what, |(_, feature)| feature);
    feature == FEATURE && who != FEATURE
}

#[cfg(test)]
mod tests {
    use super::super::printed;
    use super::*;

    fn findings(turns_on: &[(&str, &str)]) -> Vec<String> {
        let mut metadata = Metadata::sample(&[("seriatim-node@1", &[])]);
        for package in metadata.packages.values_mut() {
            let both = |(who, what): &(&str, &str)| ((*who).to_owned(), (*what).to_owned());
            package.turns_on = turns_on.iter().map(both).collect();
        }
        printed(&check(&Tree::of(&[("crates/node/Cargo.toml", "")]), &metadata))
    }

    #[test]
    fn a_feature_that_passes_it_on_passes() {
        let passed = [("planted", "seriatim-planted/planted"), ("default", "dep:seriatim-planted")];
        assert_eq!(findings(&passed), [""; 0]);
    }

    #[test]
    fn whatever_else_turns_it_on_is_found() {
        for (who, what) in [
            ("default", "planted"),
            ("fast", "seriatim-core?/planted"),
            ("a dependency", "seriatim-core/planted"),
        ] {
            let found = findings(&[(who, what)]);
            assert_eq!(found.len(), 1, "{found:?}");
            let expected = format!("crates/node/Cargo.toml:1: {who} turns on `{what}`");
            assert!(found[0].starts_with(&expected), "{found:?}");
        }
    }
}
