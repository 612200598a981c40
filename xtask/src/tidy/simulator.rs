//! The simulator drives the node's own steps, and decides nothing that a driver of its own would.
//!
//! A bug in what it had written once more would be a bug of the simulator, and the same bug in the node
//! would never be found.

use super::Finding;
use super::tree::Tree;

/// Where the simulator is.
const SOURCES: &str = "crates/sim/src/";

const HOST: &str = "commits land and are answered in crates/node/src/host";
const ORDER: &str = "the order of a stream's commands is kept by crates/node/src/chain.rs";
const ANSWER: &str = "codes, and which of the three answers it is, are RequestError's";

/// What only a driver of its own would need, and where that is decided.
const WORDS: &[(&str, &str)] = &[
    ("Flight", HOST),
    (".landed(", HOST),
    (".publish(", HOST),
    (".renew(", HOST),
    (".turn_away(", HOST),
    ("set_state(", HOST),
    ("Chain::new", ORDER),
    ("is_behind", ORDER),
    ("Busy::Behind.into()", ORDER),
    ("\"BUSY\"", ANSWER),
    ("\"PARTITION_STOPPED\"", ANSWER),
    ("\"OUTCOME_UNKNOWN\"", ANSWER),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.files().filter(|(path, _)| path.starts_with(SOURCES));
    let mut findings = Vec::new();
    for (path, text) in sources {
        for (line, text) in (1..).zip(text.lines()) {
            let found = WORDS.iter().filter(|(word, _)| text.contains(word));
            findings.extend(found.map(|(word, instead)| {
                let sentence = format!("`{word}` in the simulator: {instead}");
                Finding::new(path, line, sentence)
            }));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::printed;
    use super::*;

    #[test]
    fn a_driver_of_its_own_is_found_and_a_driver_of_steps_passes() {
        let own = "fn land(flight: Flight) {\n    shared.publish(view);\n}\n";
        let steps = "fn land(landing: Landing) {\n    host.take(landing.land(&synced));\n}\n";
        let tree = Tree::of(&[
            ("crates/sim/src/server/mod.rs", own),
            ("crates/sim/src/server/seat.rs", steps),
            ("crates/node/src/host/syncer.rs", own),
        ]);
        let found = printed(&check(&tree));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("crates/sim/src/server/mod.rs:1: `Flight` in the simulator"));
        assert!(found[1].starts_with("crates/sim/src/server/mod.rs:2: `.publish(`"), "{found:?}");
    }
}
