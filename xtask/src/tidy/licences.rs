//! What others wrote and we ship: where it comes from, under which licence, and only once.

use std::collections::{BTreeMap, BTreeSet};

use spdx::{Expression, Licensee, ParseMode};

use super::Finding;
use super::metadata::{Metadata, Package};
use super::rings::{Ring, ring};
use super::tree::Tree;

/// How cargo names the source of a package that comes from a registry, in every lock file.
pub(super) const REGISTRY: &str = "registry+";

const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "CC0-1.0",
    "Unlicense",
    "BSL-1.0",
    "0BSD",
];

/// Crates that must not enter, not even below another crate.
const BANNED: &[(&str, &str)] = &[
    ("openssl", "TLS is rustls: one implementation, no C library to patch on every host"),
    ("openssl-sys", "TLS is rustls: one implementation, no C library to patch on every host"),
    ("native-tls", "TLS is rustls: the same behaviour on every platform"),
    ("bincode", "unmaintained, and its format cannot evolve"),
    ("sqlx", "cannot share a build with rusqlite, and hops a thread per statement"),
    ("rocksdb", "takes a quarter of an hour to compile and commits slower than fjall"),
    ("async-std", "discontinued, and a second runtime beside tokio"),
];

/// Crates that we ship in two versions, and why we cannot help it.
const TWICE: &[(&str, &str)] = &[
    ("foldhash", "pulled by protox: only the build of seriatim-api runs it"),
    ("hashbrown", "pulled by fjall: its map and its cache have not agreed on a version"),
    ("logos", "pulled by protox: only the build of seriatim-api runs it"),
    ("logos-codegen", "pulled by protox: only the build of seriatim-api runs it"),
    ("logos-derive", "pulled by protox: only the build of seriatim-api runs it"),
    ("syn", "pulled by fjall: one of its macros is behind; only compilers run it"),
];

pub(super) fn check(tree: &Tree, metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (id, package) in metadata.packages.iter().filter(|(_, package)| !package.is_member) {
        for fault in faults(package) {
            let (name, version, who) = (&package.name, &package.version, metadata.who_pulls(id));
            let sentence = format!("`{name}` {version}, pulled in by {who}, {fault}");
            findings.push(at_lock(tree, name, sentence));
        }
    }
    findings.extend(check_twice(tree, metadata, TWICE));
    findings
}

fn faults(package: &Package) -> Vec<String> {
    let mut faults = Vec::new();
    if !package.source.as_deref().is_some_and(|source| source.starts_with(REGISTRY)) {
        faults.push("does not come from a registry".to_owned());
    }
    match package.licence.as_deref() {
        None => faults.push("names no licence".to_owned()),
        Some(licence) if !is_allowed(licence) => {
            faults.push(format!("is under `{licence}`, which the list of licences does not allow"));
        }
        Some(_) => {}
    }
    let banned = BANNED.iter().find(|(name, _)| *name == package.name);
    faults.extend(banned.map(|(_, reason)| format!("is banned: {reason}")));
    faults
}

/// Whether the list satisfies an expression. Old manifests write a slash for OR.
fn is_allowed(licence: &str) -> bool {
    let mode = ParseMode { allow_slash_as_or_operator: true, ..ParseMode::STRICT };
    let allowed: Vec<Licensee> = LICENCES
        .iter()
        .map(|name| Licensee::parse(name).expect("the list holds SPDX names"))
        .collect();
    Expression::parse_mode(licence, mode).is_ok_and(|expression| {
        expression.evaluate(|wanted| allowed.iter().any(|it| it.satisfies(wanted)))
    })
}

fn check_twice(tree: &Tree, metadata: &Metadata, excused: &[(&str, &str)]) -> Vec<Finding> {
    let shipped = |package: &Package| matches!(ring(&package.name), Some(Ring::Pure | Ring::Edge));
    let roots = metadata.members().filter(|(_, it)| shipped(it)).map(|(id, _)| id);
    let mut versions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for id in metadata.closure(roots, |_| true) {
        if let Some(package) = metadata.packages.get(id) {
            let copy = format!("{} (pulled in by {})", package.version, metadata.who_pulls(id));
            versions.entry(&package.name).or_default().insert(copy);
        }
    }
    let mut findings = Vec::new();
    for (name, copies) in &versions {
        if copies.len() > 1 && !excused.iter().any(|(excused, _)| excused == name) {
            let copies: Vec<&str> = copies.iter().map(String::as_str).collect();
            let sentence = format!(
                "we ship `{name}` more than once: {}; agree on one, or give the reason in \
                 xtask/src/tidy/licences.rs",
                copies.join(" and ")
            );
            findings.push(at_lock(tree, name, sentence));
        }
    }
    for (name, _) in excused {
        if versions.get(name).is_none_or(|copies| copies.len() < 2) {
            let sentence = format!(
                "`{name}` is excused in xtask/src/tidy/licences.rs for no reason: remove it there"
            );
            findings.push(at_lock(tree, name, sentence));
        }
    }
    findings
}

fn at_lock(tree: &Tree, name: &str, sentence: String) -> Finding {
    let line = tree.line_of("Cargo.lock", &format!("name = \"{name}\""));
    Finding::new("Cargo.lock", line, sentence)
}

#[cfg(test)]
mod tests {
    use super::super::printed;
    use super::*;

    fn external(change: impl Fn(&mut Package)) -> Vec<String> {
        let mut metadata = Metadata::sample(&[("seriatim-types@1", &["dep@2"]), ("dep@2", &[])]);
        change(metadata.packages.get_mut("dep@2").unwrap());
        let tree = Tree::of(&[("Cargo.lock", "[[package]]\nname = \"dep\"\n")]);
        // The excuses of today's lock file have no part in a sample.
        printed(&check(&tree, &metadata)).into_iter().filter(|it| it.contains("`dep`")).collect()
    }

    #[test]
    fn licences_are_read_as_expressions() {
        let good =
            ["MIT", "MIT/Apache-2.0", "GPL-3.0-only OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"];
        assert!(good.into_iter().all(is_allowed));
        assert!(is_allowed("Apache-2.0 WITH LLVM-exception"));
        let bad = [
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "GPL-2.0-only WITH LLVM-exception",
            "nonsense",
            "",
        ];
        assert!(!bad.into_iter().any(is_allowed));
    }

    #[test]
    fn a_strange_source_and_a_missing_licence_are_found_with_who_pulls_them_in() {
        assert_eq!(external(|_| ()), [""; 0]);
        let found = external(|it| it.source = Some("git+https://example.org/dep".into()));
        assert_eq!(
            found,
            ["Cargo.lock:2: `dep` 2, pulled in by seriatim-types, does not come from a registry"]
        );
        assert!(external(|it| it.source = None)[0].ends_with("does not come from a registry"));
        assert!(external(|it| it.licence = None)[0].ends_with("names no licence"));
        assert!(external(|it| it.licence = Some("AGPL-3.0-only".into()))[0].contains("AGPL"));
    }

    #[test]
    fn a_banned_crate_is_found_below_development_dependencies_too() {
        let sample = [("seriatim-types@1", ["dev:bincode@1"].as_slice()), ("bincode@1", &[])];
        let found = printed(&check(&Tree::of(&[]), &Metadata::sample(&sample)));
        assert!(
            found.iter().any(|it| it.contains("pulled in by seriatim-types, is banned")),
            "{found:?}"
        );
    }

    #[test]
    fn a_second_version_is_found_only_where_it_is_shipped() {
        let sample = |kind: &str| {
            let second = format!("{kind}dep@2");
            Metadata::sample(&[
                ("seriatim-storage@1", &["dep@1", &second]),
                ("seriatim-bench@1", &["dep@2"]),
                ("dep@1", &[]),
                ("dep@2", &[]),
            ])
        };
        let twice = |metadata: &Metadata, excused: &[(&str, &str)]| {
            printed(&check_twice(&Tree::of(&[]), metadata, excused)).len()
        };
        assert_eq!(twice(&sample(""), &[]), 1);
        assert_eq!(twice(&sample(""), &[("dep", "pulled by a")]), 0);
        assert_eq!(twice(&sample("dev:"), &[]), 0);
        assert_eq!(
            twice(&sample("dev:"), &[("dep", "pulled by a")]),
            1,
            "an excuse must be needed"
        );
    }
}
