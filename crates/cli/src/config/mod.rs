//! What can be set, and where it was set.
//!
//! ```text
//!  table ─┬─► defaults ─► file ─► environment ─► flags ─► settings      rising precedence
//!         ├─► config print, config validate
//!         └─► config reference = docs/reference/configuration.md
//! ```
//!
//! **Invariant:** [the table](table::TABLE) is the only place that knows names, ranges and meanings.
//! A setting that it lacks cannot be set.
//!
//! **Deliberately absent:** reading a file again while the server runs.

mod print;
mod reference;
mod sources;
mod table;
mod value;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use seriatim_json::define::AppDefaults;
use seriatim_node::ClockSettings;

pub(crate) use print::{json, toml};
pub(crate) use reference::reference;
pub(crate) use sources::{Given, Problem, Problems, Source};
use table::TABLE;
pub(crate) use value::{retention, time};

use crate::server_log::{LogLevel, LogSettings};

/// The port of a server that was not told another.
const PORT: u16 = 7600;

/// Everything that can be set for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) data: PathBuf,
    pub(crate) server: seriatim_server::Settings,
    pub(crate) node: seriatim_node::Settings,
    pub(crate) storage: seriatim_storage_fjall::Settings,
    pub(crate) clock: ClockSettings,
    pub(crate) apps: AppDefaults,
    pub(crate) log: LogSettings,
}

impl Settings {
    /// What `dev` takes for granted: it is tried on machines that sleep for weeks, by somebody who looks at
    /// the terminal.
    pub(crate) fn for_dev() -> Self {
        let clock = ClockSettings { jump_max: None, ..ClockSettings::default() };
        let log = LogSettings { level: LogLevel::Warn, ..LogSettings::default() };
        Self { clock, log, ..Self::default() }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, PORT).into(),
            data: PathBuf::from("./.seriatim"),
            server: Default::default(),
            node: Default::default(),
            storage: Default::default(),
            clock: Default::default(),
            apps: Default::default(),
            log: Default::default(),
        }
    }
}

/// Settings, and where each comes from.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) settings: Settings,
    /// One for each row of the table.
    sources: Vec<Source>,
}

impl Configuration {
    /// Takes everything that was given over the defaults.
    pub(crate) fn load(defaults: Settings, given: &Given) -> Result<Self, Problems> {
        let mut configuration =
            Self { settings: defaults, sources: vec![Source::Default; TABLE.len()] };
        let mut problems = Vec::new();
        for (name, text, source) in given.assignments(&mut problems) {
            if let Err(why) = configuration.assign(&name, &text, &source) {
                problems.push(Problem { source, why });
            }
        }
        problems.sort_by(|a, b| a.source.cmp(&b.source));
        if problems.is_empty() { Ok(configuration) } else { Err(Problems(problems)) }
    }

    /// Where a setting comes from.
    pub(crate) fn source(&self, name: &str) -> &Source {
        let found = TABLE.iter().zip(&self.sources).find(|(setting, _)| setting.name == name);
        found.map(|(_, source)| source).expect("only settings of the table are asked for")
    }

    /// How many settings were set.
    pub(crate) fn set_count(&self) -> usize {
        self.sources.iter().filter(|source| **source != Source::Default).count()
    }

    /// What was set, apart from the address and the folder.
    pub(crate) fn changed(&self) -> String {
        let is_set = |source: &Source| *source != Source::Default;
        let rows = TABLE.iter().zip(&self.sources).filter(|(_, source)| is_set(source));
        let rows = rows.filter(|(setting, _)| !matches!(setting.name, "listen" | "data"));
        let shown = |it: &table::Setting| {
            let value = it.show(&self.settings);
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{}={text}", it.name)
        };
        rows.map(|(setting, _)| shown(setting)).collect::<Vec<_>>().join(", ")
    }

    fn assign(&mut self, name: &str, text: &str, source: &Source) -> Result<(), String> {
        let mut rows = TABLE.iter().zip(&mut self.sources);
        let Some((setting, its_source)) = rows.find(|(setting, _)| setting.name == name) else {
            return Err(unknown(name));
        };
        // A flag of its own says already which setting it is.
        let is_named = *source == Source::Flag(format!("--{name}"));
        let value = setting.kind.read(text);
        let value = value.map_err(|why| if is_named { why } else { format!("{name}: {why}") })?;
        setting.set(&mut self.settings, value);
        *its_source = source.clone();
        Ok(())
    }
}

/// That there is no such setting, and which one may be meant.
fn unknown(name: &str) -> String {
    let distances = TABLE.iter().map(|it| (strsim::damerau_levenshtein(name, it.name), it.name));
    match distances.min() {
        Some((distance, nearest)) if distance <= name.len() / 3 => {
            format!("{name}: there is no such setting; did you mean {nearest}?")
        }
        _ => format!("{name}: there is no such setting; `seriatim config print` shows all"),
    }
}

#[cfg(test)]
mod tests;
