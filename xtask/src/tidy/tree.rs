//! The files of the repository, read once and parsed once.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use super::rust::{RustFile, TestModule};

/// Built, private or local: not part of the repository.
const SKIPPED: &[&str] = &["target", ".git", ".seriatim", "invoicing-data", "first-minute-data"];
/// What the checks read. Of other files only the existence matters.
const READ: &[&str] = &["rs", "md", "toml", "lock"];

/// Paths relative to the root, with `/` between the parts.
pub(super) struct Tree {
    files: BTreeMap<String, String>,
    rust: BTreeMap<String, RustFile>,
    /// Files and directories (with a `/` at the end) of modules declared under `#[cfg(test)]`.
    test_modules: Vec<String>,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        read_directory(root, "", &mut files)?;
        Ok(Self::new(files))
    }

    fn new(files: BTreeMap<String, String>) -> Self {
        let rust: BTreeMap<String, RustFile> = files
            .iter()
            .filter(|(path, _)| path.ends_with(".rs"))
            .map(|(path, text)| (path.clone(), RustFile::parse(text)))
            .collect();
        let test_modules = rust
            .iter()
            .flat_map(|(path, file)| file.test_modules.iter().map(move |module| (path, module)))
            .flat_map(|(path, module)| places(path, module))
            .collect();
        Self { files, rust, test_modules }
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(super) fn rust_files(&self) -> impl Iterator<Item = (&str, &RustFile)> {
        self.rust.iter().map(|(path, file)| (path.as_str(), file))
    }

    pub(super) fn rust(&self, path: &str) -> Option<&RustFile> {
        self.rust.get(path)
    }

    /// Whether a file or a directory of this name exists; the root is the empty name.
    pub(super) fn exists(&self, path: &str) -> bool {
        let directory = format!("{path}/");
        let mut after = self.files.range(directory.clone()..);
        path.is_empty()
            || self.files.contains_key(path)
            || after.next().is_some_and(|(found, _)| found.starts_with(&directory))
    }

    /// Whether a line is below `#[cfg(test)]`. The files of integration tests are not.
    pub(super) fn is_cfg_test(&self, path: &str, line: usize) -> bool {
        let in_module =
            |module: &String| path == module || (module.ends_with('/') && path.starts_with(module));
        self.test_modules.iter().any(in_module)
            || self.rust(path).is_some_and(|file| file.is_cfg_test(line))
    }

    /// The first line that holds a text, or the first of the file: a place to start looking.
    pub(super) fn line_of(&self, path: &str, needle: &str) -> usize {
        let lines = self.text(path).unwrap_or_default().lines();
        lines.zip(1..).find(|(line, _)| line.contains(needle)).map_or(1, |(_, number)| number)
    }
}

fn read_directory(at: &Path, prefix: &str, files: &mut BTreeMap<String, String>) -> Result<()> {
    let entries = std::fs::read_dir(at).with_context(|| format!("cannot list {}", at.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {}", at.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            read_directory(&path, &format!("{prefix}{name}/"), files)?;
        } else if kind.is_file() {
            let is_read = READ.iter().any(|end| path.extension().is_some_and(|it| it == *end));
            let text = if is_read {
                std::fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?
            } else {
                String::new()
            };
            files.insert(format!("{prefix}{name}"), text);
        }
    }
    Ok(())
}

/// Where a module that is declared in the file `path` can lie.
fn places(path: &str, module: &TestModule) -> Vec<String> {
    let (directory, file) = path.rsplit_once('/').unwrap_or(("", path));
    if let Some(path) = &module.path {
        return vec![format!("{directory}/{path}")];
    }
    let base = match file {
        "lib.rs" | "main.rs" | "mod.rs" => directory,
        _ => path.trim_end_matches(".rs"),
    };
    vec![format!("{base}/{}.rs", module.name), format!("{base}/{}/", module.name)]
}

#[cfg(test)]
impl Tree {
    /// A tree of samples.
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        Self::new(files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_exists_when_a_file_lies_in_it() {
        let tree = Tree::of(&[("a/b/c.md", ""), ("ab.md", "")]);
        assert!(["", "a", "a/b", "a/b/c.md"].iter().all(|path| tree.exists(path)));
        assert!(!tree.exists("a/c") && !tree.exists("b") && !tree.exists("a/b/c"));
    }

    #[test]
    fn a_test_module_in_its_own_file_is_test_code() {
        let tree = Tree::of(&[
            ("src/lib.rs", "mod a;\n#[cfg(test)]\nmod tests;\n"),
            ("src/a.rs", "#[cfg(test)]\nmod tests;\nmod b;\n"),
            ("src/c.rs", "#[cfg(test)]\n#[path = \"c_tests.rs\"]\nmod tests;\n"),
            ("src/tests.rs", ""),
            ("src/a/tests/deep.rs", ""),
            ("src/a/b.rs", ""),
        ]);
        let tests = ["src/tests.rs", "src/a/tests/deep.rs", "src/c_tests.rs"];
        assert!(tests.iter().all(|path| tree.is_cfg_test(path, 1)));
        assert!(!tree.is_cfg_test("src/a/b.rs", 1) && !tree.is_cfg_test("src/a.rs", 3));
    }
}
