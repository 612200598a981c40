//! The direction of dependencies between our crates: inward only.
//!
//! ```text
//! pure ◄── edge ◄── proof          tool: alone          binary ──► simulator
//! ```
//!
//! **Invariant:** a pure crate compiles without any runtime, because nothing that it is compiled
//! with is more than a data type or a derive.

use super::Finding;
use super::metadata::{Metadata, Package};
use super::tree::Tree;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ring {
    /// No I/O, no clock, no async, no randomness.
    Pure,
    /// Where bytes, sockets, threads and users are.
    Edge,
    /// What shows that the others are right. Never shipped.
    Proof,
    /// What builds and checks the repository.
    Tool,
}

struct Member {
    name: &'static str,
    ring: Ring,
    /// Our crates that it may be compiled with. Development dependencies are free.
    may_use: &'static [&'static str],
}

const BINARY: &str = "seriatim-cli";
const SIMULATOR: &str = "seriatim-sim";
const EMBEDDING: &str = "seriatim";
const CONTRACT: &str = "seriatim-api";
const PLANTED: &str = "seriatim-planted";

/// A new crate, and a new arrow between two, is a decision about the architecture: it enters here
/// in the commit that says why.
const MEMBERS: &[Member] = &[
    Member { name: "seriatim-types", ring: Ring::Pure, may_use: &[] },
    // Bugs on purpose stand in the code that they are about, so every ring is compiled with their
    // list. In a normal build it is a constant and nothing else, and `planted` checks that nothing
    // makes it more. With its feature it asks which bug this thread was told to have: the one thing
    // in a pure crate that is no field of the input.
    Member { name: PLANTED, ring: Ring::Pure, may_use: &[] },
    Member { name: "seriatim-codec", ring: Ring::Pure, may_use: &["seriatim-types"] },
    Member { name: "seriatim-sequencer", ring: Ring::Pure, may_use: &[PLANTED, "seriatim-types"] },
    Member { name: "seriatim-merkle", ring: Ring::Pure, may_use: &["seriatim-types"] },
    // Which worker may commit which places of a projection. It reads no event, so it needs only
    // time and the limits.
    Member { name: "seriatim-lanes", ring: Ring::Pure, may_use: &["seriatim-types"] },
    // Workflow code is replayed with the ids, names and times that everybody else uses.
    Member { name: "seriatim-replay", ring: Ring::Pure, may_use: &["seriatim-types"] },
    // A leaf of the tree is the event's stored bytes, so the core writes them itself.
    Member {
        name: "seriatim-core",
        ring: Ring::Pure,
        may_use: &[
            PLANTED,
            "seriatim-types",
            "seriatim-codec",
            "seriatim-merkle",
            "seriatim-sequencer",
        ],
    },
    // Keys have the time in them and are made wherever commands are.
    Member { name: "seriatim-keys", ring: Ring::Edge, may_use: &[] },
    // What a message says is made of the domain's values beside its struct.
    Member { name: "seriatim-api", ring: Ring::Edge, may_use: &["seriatim-types"] },
    Member {
        name: "seriatim-client",
        ring: Ring::Edge,
        may_use: &[PLANTED, "seriatim-api", "seriatim-keys"],
    },
    Member {
        name: "seriatim-json",
        ring: Ring::Edge,
        may_use: &["seriatim-types", "seriatim-codec"],
    },
    Member { name: "seriatim-storage", ring: Ring::Edge, may_use: &[PLANTED, "seriatim-types"] },
    Member { name: "seriatim-storage-fjall", ring: Ring::Edge, may_use: &["seriatim-storage"] },
    Member {
        name: "seriatim-sequencer-runtime",
        ring: Ring::Edge,
        may_use: &["seriatim-types", "seriatim-codec", "seriatim-sequencer", "seriatim-storage"],
    },
    Member {
        name: "seriatim-node",
        ring: Ring::Edge,
        may_use: &[
            PLANTED,
            "seriatim-types",
            "seriatim-codec",
            "seriatim-core",
            "seriatim-merkle",
            "seriatim-sequencer",
            "seriatim-storage",
        ],
    },
    // It opens the files of the default backend itself, because it checks every byte of them. Of a live
    // server it checks the messages of the contract.
    Member {
        name: "seriatim-verify",
        ring: Ring::Edge,
        may_use: &[
            "seriatim-api",
            "seriatim-types",
            "seriatim-codec",
            "seriatim-core",
            "seriatim-merkle",
            "seriatim-sequencer",
            "seriatim-storage",
            "seriatim-storage-fjall",
        ],
    },
    // The one package without the prefix: it is what an embedder puts into their manifest. Its module
    // `service` is what the server stands on, so it must not pull anything of a network in.
    Member {
        name: "seriatim",
        ring: Ring::Edge,
        may_use: &[
            "seriatim-types",
            "seriatim-api",
            "seriatim-codec",
            "seriatim-core",
            "seriatim-json",
            "seriatim-keys",
            "seriatim-node",
            "seriatim-storage",
            "seriatim-storage-fjall",
        ],
    },
    // What is asked of a node and what is answered, it has from the service layer that embedders have too:
    // one place where a workspace is found, a reply is settled, and an error gets its code and facts. Its
    // own are memory, waiting and slow clients.
    Member {
        name: "seriatim-server",
        ring: Ring::Edge,
        may_use: &[
            "seriatim",
            "seriatim-api",
            "seriatim-types",
            "seriatim-codec",
            "seriatim-core",
            "seriatim-json",
            "seriatim-node",
        ],
    },
    // The binary is the one crate outside of the proof ring that uses something of it: whoever has
    // Seriatim can run the simulator.
    Member {
        name: BINARY,
        ring: Ring::Edge,
        may_use: &[
            "seriatim-types",
            "seriatim-api",
            "seriatim-client",
            "seriatim-json",
            "seriatim-merkle",
            "seriatim-node",
            "seriatim-server",
            SIMULATOR,
            "seriatim-storage",
            "seriatim-storage-fjall",
            "seriatim-verify",
        ],
    },
    Member {
        name: "seriatim-testkit",
        ring: Ring::Proof,
        may_use: &[
            PLANTED,
            "seriatim-types",
            "seriatim-codec",
            "seriatim-core",
            "seriatim-json",
            "seriatim-merkle",
            "seriatim-sequencer",
            "seriatim-storage",
        ],
    },
    Member {
        name: "seriatim-bench",
        ring: Ring::Proof,
        may_use: &[
            "seriatim-types",
            "seriatim-codec",
            "seriatim-core",
            "seriatim-node",
            "seriatim-sequencer",
            "seriatim-sequencer-runtime",
            "seriatim-storage",
            "seriatim-storage-fjall",
            "seriatim-testkit",
        ],
    },
    Member {
        name: SIMULATOR,
        ring: Ring::Proof,
        may_use: &[
            PLANTED,
            "seriatim-types",
            "seriatim-client",
            "seriatim-codec",
            "seriatim-core",
            "seriatim-merkle",
            "seriatim-node",
            "seriatim-storage",
            "seriatim-testkit",
            "seriatim-verify",
        ],
    },
    Member {
        name: "seriatim-torture",
        ring: Ring::Proof,
        may_use: &[
            "seriatim-types",
            "seriatim-merkle",
            "seriatim-node",
            "seriatim-server",
            "seriatim-storage",
            "seriatim-storage-fjall",
            "seriatim-testkit",
        ],
    },
    Member { name: "xtask", ring: Ring::Tool, may_use: &[] },
];

/// All that a pure crate may be compiled with: byte buffers, the derive for errors, SHA-256, and a
/// map in the order of use for caches, which decide nothing.
const PURE_MAY_USE: &[&str] = &[
    "bytes",
    "sha2",
    "digest",
    "block-buffer",
    "crypto-common",
    "hybrid-array",
    "typenum",
    "cfg-if",
    "cpufeatures",
    "libc",
    "thiserror",
    "thiserror-impl",
    "syn",
    "quote",
    "proc-macro2",
    "unicode-ident",
    "hashlink",
    "indexmap",
    "equivalent",
    "hashbrown",
    "foldhash",
];

/// What an embedder is never compiled with, although the server stands on the same crate.
const NETWORK: &[&str] = &["axum", "h2", "hyper", "mio", "socket2", "tokio", "tonic"];

pub(super) fn check(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (id, package) in metadata.members() {
        let Some(member) = MEMBERS.iter().find(|member| member.name == package.name) else {
            let sentence = format!(
                "`{}` has no ring: add it to the table in xtask/src/tidy/rings.rs in the commit \
                 that says why it exists",
                package.name
            );
            findings.push(Finding::new(&package.manifest, 1, sentence));
            continue;
        };
        findings.extend(check_arrows(tree, member, package));
        if member.ring == Ring::Pure {
            findings.extend(check_closure(tree, metadata, id, package));
        }
        if member.name == EMBEDDING {
            findings.extend(check_network(tree, metadata, id, package));
        }
    }
    findings
}

pub(super) fn ring(package: &str) -> Option<Ring> {
    MEMBERS.iter().find(|member| member.name == package).map(|member| member.ring)
}

/// The directories of the pure crates.
pub(super) fn pure_directories() -> impl Iterator<Item = String> {
    let pure = MEMBERS.iter().filter(|member| member.ring == Ring::Pure);
    pure.map(|member| format!("crates/{}", member.name.trim_start_matches("seriatim-")))
}

fn check_arrows(tree: &Tree, member: &Member, package: &Package) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in &package.declared {
        let Some(target) = ring(name) else { continue };
        let rule = if name == SIMULATOR && member.name != BINARY {
            "nothing but the binary depends on the simulator".to_owned()
        } else if !is_arrow(member, name, target) {
            format!("{:?} must not depend on {target:?}; arrows point inward only", member.ring)
        } else if !member.may_use.contains(&name.as_str()) {
            "the table in xtask/src/tidy/rings.rs does not have this arrow: it needs its own \
             commit and its reason"
                .to_owned()
        } else {
            continue;
        };
        let line = tree.line_of(&package.manifest, name);
        let sentence = format!("`{}` depends on `{name}`: {rule}", member.name);
        findings.push(Finding::new(&package.manifest, line, sentence));
    }
    findings
}

fn check_closure(tree: &Tree, metadata: &Metadata, id: &str, member: &Package) -> Vec<Finding> {
    let is_allowed = |it: &Package| it.is_member || PURE_MAY_USE.contains(&it.name.as_str());
    let mut findings = Vec::new();
    for id in metadata.closure([id], is_allowed) {
        if let Some(package) = metadata.packages.get(id).filter(|package| !is_allowed(package)) {
            let sentence = format!(
                "the pure crate `{}` is compiled with `{}` (pulled in by {}): a pure crate may \
                 only use {}",
                member.name,
                package.name,
                metadata.who_pulls(id),
                PURE_MAY_USE.join(", ")
            );
            let line = tree.line_of(&member.manifest, &package.name);
            findings.push(Finding::new(&member.manifest, line, sentence));
        }
    }
    findings
}

/// The search ends at the contract: in the graph of the workspace it has its feature `grpc`, which the server
/// turns on and embedders do not.
fn check_network(tree: &Tree, metadata: &Metadata, id: &str, member: &Package) -> Vec<Finding> {
    let closure = metadata.closure([id], |package| package.name != CONTRACT);
    let packages = closure.into_iter().filter_map(|id| Some((id, metadata.packages.get(id)?)));
    let network = packages.filter(|(_, package)| NETWORK.contains(&package.name.as_str()));
    let finding = |(id, package): (&str, &Package)| {
        let sentence = format!(
            "an embedder of `{}` is compiled with `{}` (pulled in by {}): what needs a network \
             belongs into the server or the client",
            member.name,
            package.name,
            metadata.who_pulls(id),
        );
        Finding::new(&member.manifest, tree.line_of(&member.manifest, &package.name), sentence)
    };
    network.map(finding).collect()
}

/// Whether a crate may depend on another one of that ring.
fn is_arrow(from: &Member, name: &str, to: Ring) -> bool {
    points_inward(from.ring, to) || (from.name == BINARY && name == SIMULATOR)
}

fn points_inward(from: Ring, to: Ring) -> bool {
    match from {
        Ring::Pure => to == Ring::Pure,
        Ring::Edge => matches!(to, Ring::Pure | Ring::Edge),
        Ring::Proof => to != Ring::Tool,
        Ring::Tool => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::printed;
    use super::*;

    fn findings(packages: &[(&str, &[&str])]) -> Vec<String> {
        let tree = Tree::of(&[("crates/types/Cargo.toml", "[dependencies]\ntokio = \"1\"\n")]);
        printed(&check(&tree, &Metadata::sample(packages)))
    }

    #[test]
    fn arrows_of_the_table_and_development_dependencies_pass() {
        let found = findings(&[
            ("seriatim-types@1", &["bytes@1", "dev:seriatim-testkit@1", "dev:tokio@1"]),
            ("seriatim-storage@1", &["seriatim-types@1", "tokio@1"]),
            ("seriatim-testkit@1", &["seriatim-types@1", "seriatim-storage@1"]),
            ("bytes@1", &[]),
            ("tokio@1", &[]),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_crate_without_a_ring_is_found() {
        let found = findings(&[("seriatim-magnet@1", &[])]);
        assert!(found[0].starts_with("crates/magnet/Cargo.toml:1: `seriatim-magnet` has no ring"));
    }

    #[test]
    fn an_arrow_outward_and_an_arrow_without_a_reason_are_found() {
        let found = findings(&[
            ("seriatim-storage@1", &["seriatim-testkit@1"]),
            ("seriatim-storage-fjall@1", &["seriatim-codec@1"]),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("does not have this arrow"), "{found:?}");
        assert!(found[1].contains("Edge must not depend on Proof"), "{found:?}");
    }

    #[test]
    fn nothing_but_the_binary_depends_on_the_simulator() {
        assert_eq!(findings(&[("seriatim-cli@1", &["seriatim-sim@1"])]), [""; 0]);
        for name in ["seriatim-server@1", "seriatim-bench@1"] {
            let found = findings(&[(name, &["seriatim-sim@1"])]);
            assert!(found[0].contains("nothing but the binary depends on"), "{found:?}");
        }
    }

    #[test]
    fn a_runtime_far_below_a_pure_crate_is_found() {
        let found = findings(&[
            ("seriatim-types@1", &["bytes@1"]),
            ("bytes@1", &["tokio@1"]),
            ("tokio@1", &["mio@1"]),
            ("mio@1", &[]),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/types/Cargo.toml:2: the pure crate"), "{found:?}");
        assert!(found[0].contains("compiled with `tokio` (pulled in by bytes)"), "{found:?}");
    }

    #[test]
    fn a_network_below_the_crate_for_embedders_is_found_but_not_that_of_the_contract() {
        let found = findings(&[
            ("seriatim@1", &["seriatim-api@1", "seriatim-storage@1"]),
            ("seriatim-api@1", &["tonic@1"]),
            ("seriatim-storage@1", &["tokio@1"]),
            ("seriatim-server@1", &["seriatim@1", "tokio@1", "tonic@1"]),
            ("tonic@1", &[]),
            ("tokio@1", &[]),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("compiled with `tokio`"), "{found:?}");
    }

    #[test]
    fn every_arrow_of_the_table_points_inward() {
        for member in MEMBERS {
            for name in member.may_use {
                let target = ring(name).expect("the table names only its own crates");
                assert!(is_arrow(member, name, target), "{} -> {name}", member.name);
            }
        }
    }
}
