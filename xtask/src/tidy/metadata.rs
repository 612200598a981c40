//! What cargo knows about our packages and everything they pull in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::tasks::cargo_command;

/// The packages of the lock file, by package id.
#[derive(Default)]
pub(super) struct Metadata {
    pub(super) packages: BTreeMap<String, Package>,
}

#[derive(Default)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// Absent for packages that come from a path.
    pub(super) source: Option<String>,
    pub(super) licence: Option<String>,
    /// Relative to the root of the workspace when it lies below it.
    pub(super) manifest: String,
    pub(super) is_member: bool,
    /// Names of all declared dependencies, optional ones too, that are not for development.
    pub(super) declared: BTreeSet<String>,
    /// What its features and its dependencies turn on: by whom, and what.
    pub(super) turns_on: Vec<(String, String)>,
    /// Resolved dependencies by id, and whether each is for development only.
    edges: Vec<(String, bool)>,
}

impl Metadata {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut command = cargo_command(root, &["metadata", "--format-version", "1", "--locked"]);
        let output = command.output().context("cannot start cargo metadata")?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cargo metadata failed: {}", complaint.trim());
        let json = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
        Self::parse(&json)
    }

    fn parse(json: &Value) -> Result<Self> {
        let root = format!("{}/", text(json, "workspace_root")?);
        let members: Vec<&str> =
            list(json, "workspace_members")?.iter().filter_map(Value::as_str).collect();
        let mut packages = BTreeMap::new();
        for package in list(json, "packages")? {
            let id = text(package, "id")?;
            let manifest = text(package, "manifest_path")?;
            let mut declared = BTreeSet::new();
            let mut turns_on = features(package)?;
            for dependency in list(package, "dependencies")? {
                let name = text(dependency, "name")?;
                for feature in list(dependency, "features")?.iter().filter_map(Value::as_str) {
                    turns_on.push(("a dependency".to_owned(), format!("{name}/{feature}")));
                }
                if !is_dev(dependency) {
                    declared.insert(name.to_owned());
                }
            }
            let package = Package {
                name: text(package, "name")?.to_owned(),
                version: text(package, "version")?.to_owned(),
                source: text(package, "source").ok().map(str::to_owned),
                licence: text(package, "license").ok().map(str::to_owned),
                manifest: manifest.strip_prefix(&root).unwrap_or(manifest).to_owned(),
                is_member: members.contains(&id),
                declared,
                turns_on,
                edges: Vec::new(),
            };
            packages.insert(id.to_owned(), package);
        }
        for node in list(json.get("resolve").unwrap_or(&Value::Null), "nodes")? {
            let package = packages.get_mut(text(node, "id")?).context("a node has no package")?;
            for edge in list(node, "deps")? {
                let only_dev = list(edge, "dep_kinds")?.iter().all(is_dev);
                package.edges.push((text(edge, "pkg")?.to_owned(), only_dev));
            }
        }
        Ok(Self { packages })
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &Package)> {
        self.packages.iter().filter(|(_, it)| it.is_member).map(|(id, it)| (id.as_str(), it))
    }

    /// Everything that is compiled into the roots; what only their tests use is left out. Below a
    /// package that is not `open` the search ends.
    pub(super) fn closure<'a>(
        &'a self,
        roots: impl IntoIterator<Item = &'a str>,
        is_open: impl Fn(&Package) -> bool,
    ) -> BTreeSet<&'a str> {
        let mut ahead: Vec<&str> = roots.into_iter().collect();
        let mut seen = BTreeSet::new();
        while let Some(id) = ahead.pop() {
            if let Some(package) = self.packages.get(id)
                && seen.insert(id)
                && is_open(package)
            {
                let edges = package.edges.iter().filter(|(_, only_dev)| !only_dev);
                ahead.extend(edges.map(|(to, _)| to.as_str()));
            }
        }
        seen
    }

    /// The names of the packages that depend directly on one, for a reader who wants it gone.
    pub(super) fn who_pulls(&self, id: &str) -> String {
        let pulls = |package: &&Package| package.edges.iter().any(|(to, _)| to == id);
        let names: BTreeSet<&str> =
            self.packages.values().filter(pulls).map(|package| package.name.as_str()).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }
}

/// Each feature with each thing that it turns on.
fn features(package: &Value) -> Result<Vec<(String, String)>> {
    let features = package.get("features").context("cargo metadata lacks `features`")?;
    let mut all = Vec::new();
    for name in features.as_object().into_iter().flat_map(|features| features.keys()) {
        let turned_on = list(features, name)?.iter().filter_map(Value::as_str);
        all.extend(turned_on.map(|what| (name.clone(), what.to_owned())));
    }
    Ok(all)
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value.get(key).and_then(Value::as_str).with_context(|| format!("cargo metadata lacks `{key}`"))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value
        .get(key)
        .and_then(Value::as_array)
        .with_context(|| format!("cargo metadata lacks `{key}`"))
}

fn is_dev(kind: &Value) -> bool {
    kind.get("kind").and_then(Value::as_str) == Some("dev")
}

#[cfg(test)]
impl Metadata {
    /// A sample: each package as `name@version` with what it depends on; `dev:` marks a
    /// development dependency. Ours are members; the others are under MIT from crates.io.
    pub(super) fn sample(packages: &[(&str, &[&str])]) -> Self {
        let package = |(id, dependencies): &(&str, &[&str])| {
            let (name, version) = id.split_once('@').expect("name@version");
            let is_member = name.starts_with("seriatim") || name == "xtask";
            let normal = dependencies.iter().filter(|it| !it.starts_with("dev:"));
            let edge =
                |it: &&str| (it.trim_start_matches("dev:").to_owned(), it.starts_with("dev:"));
            let package = Package {
                name: name.into(),
                version: version.into(),
                source: (!is_member).then(|| super::licences::REGISTRY.into()),
                licence: Some("MIT".into()),
                manifest: format!("crates/{}/Cargo.toml", name.trim_start_matches("seriatim-")),
                is_member,
                declared: normal.filter_map(|it| Some(it.split_once('@')?.0.to_owned())).collect(),
                turns_on: Vec::new(),
                edges: dependencies.iter().map(edge).collect(),
            };
            ((*id).to_owned(), package)
        };
        Self { packages: packages.iter().map(package).collect() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_closure_follows_what_is_compiled_in_and_nothing_else() {
        let package = |id: &str| {
            json!({"id": id, "name": id, "version": "1.0.0", "source": null, "license": null,
                "manifest_path": format!("/r/{id}/Cargo.toml"),
                "features": {"default": [], "fast": ["b/fast", "dep:c"]},
                "dependencies": [{"name": "b", "kind": null, "features": []},
                    {"name": "c", "kind": "dev", "features": ["all"]}]})
        };
        let edge = |to: &str, kinds: &[Value]| json!({"pkg": to, "dep_kinds": kinds});
        let (normal, dev, build) =
            (json!({"kind": null}), json!({"kind": "dev"}), json!({"kind": "build"}));
        let edges = [edge("b", &[dev.clone(), normal]), edge("c", &[dev]), edge("d", &[build])];
        let packages = ["a", "b", "c", "d"].map(package);
        let json = json!({"workspace_root": "/r", "workspace_members": ["a"],
            "packages": packages,
            "resolve": {"nodes": [{"id": "a", "deps": edges}]}});
        let metadata = Metadata::parse(&json).unwrap();
        assert_eq!(metadata.closure(["a"], |_| true), BTreeSet::from(["a", "b", "d"]));
        assert_eq!(metadata.who_pulls("c"), "a");
        let (id, member) = metadata.members().next().unwrap();
        assert_eq!((id, member.manifest.as_str()), ("a", "a/Cargo.toml"));
        assert_eq!(member.declared, BTreeSet::from(["b".to_owned()]));
        let turns_on = [("fast", "b/fast"), ("fast", "dep:c"), ("a dependency", "c/all")];
        assert_eq!(member.turns_on, turns_on.map(|(who, what)| (who.to_owned(), what.to_owned())));
    }
}
