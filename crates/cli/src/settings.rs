//! Settings on the command line: flags of `dev` and `serve`, and `seriatim config`.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::config::{self, Configuration, Given, Problems, Settings};
use crate::document::{object, of};
use crate::exit::Failure;
use crate::output::{Form, print};

/// The file that is taken when none is named.
const FILE: &str = "seriatim.toml";

/// Flags of `seriatim dev`.
#[derive(Debug, Args)]
pub(crate) struct DevArgs {
    /// End when standard input does: for whoever starts it and may be killed.
    #[arg(long, hide = true)]
    pub(crate) until_input_ends: bool,
    #[command(flatten)]
    flags: Flags,
}

/// Flags of `seriatim serve`, and of whoever looks at what it would do.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// A file with settings. Without it ./seriatim.toml is taken, if it is there.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Args)]
struct Flags {
    /// The address to listen on, 127.0.0.1:7600 if nothing sets it. It must be one that only this
    /// machine reaches: there is no authentication.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The folder that holds the data: ./.seriatim for `dev`, while `serve` must be told. It is made if
    /// it is not there. One that holds anything else is left alone.
    #[arg(long, value_name = "FOLDER")]
    data: Option<String>,
    /// Any other setting, such as node.queue_max=1000. `seriatim config print` shows all.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigTask {
    /// Prints every setting as it would be in force, and where it comes from.
    Print(ServeArgs),
    /// Looks for errors in settings, without starting anything.
    Validate(ServeArgs),
    /// Prints what every setting is for, as a page in Markdown.
    Reference,
}

/// Carries out `seriatim config`.
pub(crate) fn run(output: Form, task: &ConfigTask) -> Result<()> {
    match task {
        ConfigTask::Print(args) => {
            let configuration = args.load()?;
            let document = config::json(&configuration);
            Ok(output.print_as(&document, || config::toml(&configuration))?)
        }
        ConfigTask::Validate(args) => {
            let count = args.load()?.set_count();
            let text = format!("Nothing is wrong. Settings that are set: {count}.");
            Ok(output.print_as(&object([("valid", of(true)), ("set", of(count))]), || text)?)
        }
        ConfigTask::Reference => Ok(print(&config::reference())?),
    }
}

impl DevArgs {
    pub(crate) fn load(&self) -> Result<Configuration, Failure> {
        load(Settings::for_dev(), None, &self.flags)
    }
}

impl ServeArgs {
    pub(crate) fn load(&self) -> Result<Configuration, Failure> {
        let found = Path::new(FILE).exists().then(|| PathBuf::from(FILE));
        load(Settings::default(), self.config.clone().or(found), &self.flags)
    }
}

fn load(
    defaults: Settings,
    file: Option<PathBuf>,
    flags: &Flags,
) -> Result<Configuration, Failure> {
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let mut variables: Vec<_> =
        env::vars_os().map(|(name, value)| (text(name), text(value))).collect();
    variables.sort();
    let given = Given { file, variables, flags: flags.assignments()? };
    Configuration::load(defaults, &given).map_err(|Problems(problems)| {
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::usage(match said.as_slice() {
            [one] => one.clone(),
            many => format!("{} settings cannot be taken:\n  {}", many.len(), many.join("\n  ")),
        })
    })
}

impl Flags {
    /// What was written, the setting that is meant, and its value.
    fn assignments(&self) -> Result<Vec<(String, String, String)>, Failure> {
        let mut assignments = Vec::new();
        for setting in &self.set {
            let Some((name, value)) = setting.split_once('=') else {
                return Err(Failure::usage(format!("--set {setting}: write NAME=VALUE")));
            };
            assignments.push(("--set".to_owned(), name.to_owned(), value.to_owned()));
        }
        for (name, value) in [("listen", &self.listen), ("data", &self.data)] {
            let value = value.clone().map(|value| (format!("--{name}"), name.to_owned(), value));
            assignments.extend(value);
        }
        Ok(assignments)
    }
}
