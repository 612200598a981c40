//! Where settings are given: a file, the environment, the command line.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fs, io};

use toml::de::{DeTable, DeValue};

use super::table::TABLE;

/// What variables of the environment begin with.
const PREFIX: &str = "SERIATIM__";

/// What was given, from the weakest to the strongest.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) file: Option<PathBuf>,
    /// Names and values of the environment's variables. Those of others are passed over.
    pub(crate) variables: Vec<(String, String)>,
    /// Flags: what was written, the setting that is meant, and its value.
    pub(crate) flags: Vec<(String, String, String)>,
}

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Default,
    File { path: PathBuf, line: usize },
    Variable(String),
    Flag(String),
}

/// Something that was given and cannot be taken.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) source: Source,
    pub(crate) why: String,
}

/// Everything that cannot be taken.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub(crate) struct Problems(pub(crate) Vec<Problem>);

/// A setting's name, its value as text, and where it stands.
pub(super) type Assignment = (String, String, Source);

impl Given {
    /// All that is assigned, the weakest first. What cannot even be read is a problem.
    pub(super) fn assignments(&self, problems: &mut Vec<Problem>) -> Vec<Assignment> {
        let file = self.file.iter().flat_map(|path| read_file(path, problems)).collect::<Vec<_>>();
        let variables = self.variables.iter().filter_map(|(variable, text)| {
            let name = variable.strip_prefix(PREFIX)?.to_lowercase().replace("__", ".");
            Some((name, text.clone(), Source::Variable(variable.clone())))
        });
        let flags = self
            .flags
            .iter()
            .map(|(flag, name, text)| (name.clone(), text.clone(), Source::Flag(flag.clone())));
        file.into_iter().chain(variables).chain(flags).collect()
    }
}

fn read_file(path: &Path, problems: &mut Vec<Problem>) -> Vec<Assignment> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            let why = format!("cannot be read: {error}");
            let why = if is_missing { "there is no such file".to_owned() } else { why };
            let source = Source::File { path: path.to_owned(), line: 0 };
            problems.push(Problem { source, why });
            return Vec::new();
        }
    };
    let at = |span: Range<usize>| Source::File { path: path.to_owned(), line: line(&text, span) };
    let (table, errors) = DeTable::parse_recoverable(&text);
    let mut broken = BTreeMap::new();
    for error in &errors {
        let why = format!("is no TOML: {}", error.message());
        broken.entry(at(error.span().unwrap_or_default())).or_insert(why);
    }
    let mut read = Vec::new();
    let mut take = |name: String, value: &DeValue<'_>, span| match value {
        DeValue::String(text) => read.push((name, text.to_string(), at(span))),
        DeValue::Integer(number) => read.push((name, number.to_string(), at(span))),
        DeValue::Boolean(flag) => read.push((name, flag.to_string(), at(span))),
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
            let why = format!("{name}: a setting is a number, a flag or a text in quotes");
            problems.push(Problem { source: at(span), why });
        }
    };
    for (section, value) in table.get_ref() {
        // A table where a setting should stand is no section.
        let settings = value.get_ref().as_table().filter(|_| !is_setting(section.get_ref()));
        let Some(settings) = settings else {
            take(section.get_ref().to_string(), value.get_ref(), section.span());
            continue;
        };
        for (key, value) in settings {
            let name = format!("{}.{}", section.get_ref(), key.get_ref());
            take(name, value.get_ref(), key.span());
        }
    }
    // What is left of a line that is no TOML says nothing about it.
    read.retain(|(_, _, source)| !broken.contains_key(source));
    problems.extend(broken.into_iter().map(|(source, why)| Problem { source, why }));
    read
}

fn is_setting(name: &str) -> bool {
    TABLE.iter().any(|setting| setting.name == name)
}

/// The line of a place in a text, from 1.
fn line(text: &str, span: Range<usize>) -> usize {
    let before = text.as_bytes().get(..span.start).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count().saturating_add(1)
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line: 0 } => write!(f, "{}", path.display()),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.why)
    }
}
