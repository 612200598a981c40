//! The command line of the measurements.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use seriatim_bench::fill::{self, Then};
use seriatim_bench::network::NetworkSizes;
use seriatim_bench::node::{NodeSizes, ready};
use seriatim_bench::sequencer::{SequencerSizes, touch};
use seriatim_bench::sizes::Sizes;
use seriatim_bench::{Options, network, node, sequencer, storage};

const USAGE: &str = "\
usage: bench storage|sequencer|node|network [--short | --long] [--folder DIR] [--report FILE] [-o json]

  --short        about a minute (the default)
  --long         about ten minutes
  --folder DIR   where the data goes while it is needed; decides which disk is measured
  --report FILE  writes the result as Markdown too
  -o json        prints JSON instead of tables
";

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // `fill` is for this program itself, which starts the process that it will kill.
    if let ["fill", folder, pairs, then] = words.as_slice() {
        let kinds = [Then::Kill, Then::Reopen];
        if let Some(then) = kinds.into_iter().find(|kind| kind.name() == *then) {
            fill::run(folder.as_ref(), pairs.parse()?, then)?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    if let ["touch", way, workspaces] = words.as_slice() {
        touch(way, workspaces.parse()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let ["work", folder, events, workspaces] = words.as_slice() {
        ready::work(folder.as_ref(), events.parse()?, workspaces.parse()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(asked) = Asked::parse(&words) else {
        eprint!("{USAGE}");
        return Ok(ExitCode::from(2));
    };
    let options = Options {
        sizes: asked.sizes,
        folder: asked.folder,
        filler: std::env::current_exe()?,
        command_line: format!("cargo run --release -p seriatim-bench -- {}", words.join(" ")),
    };
    let report = match asked.subject {
        Subject::Storage => storage(&options)?,
        Subject::Sequencer if options.sizes.name == "long" => {
            sequencer(&options, &SequencerSizes::long())?
        }
        Subject::Sequencer => sequencer(&options, &SequencerSizes::short())?,
        Subject::Node if options.sizes.name == "long" => node(&options, &NodeSizes::long())?,
        Subject::Node => node(&options, &NodeSizes::short())?,
        Subject::Network if options.sizes.name == "long" => {
            network(&options, &NetworkSizes::long())?
        }
        Subject::Network => network(&options, &NetworkSizes::short())?,
    };
    print!("{}", if asked.json { report.json() } else { report.text() });
    if let Some(file) = asked.report {
        std::fs::write(file, report.markdown())?;
    }
    Ok(ExitCode::SUCCESS)
}

enum Subject {
    Storage,
    Sequencer,
    Node,
    Network,
}

struct Asked {
    subject: Subject,
    sizes: Sizes,
    folder: PathBuf,
    report: Option<PathBuf>,
    json: bool,
}

impl Asked {
    fn parse(words: &[&str]) -> Option<Self> {
        let (subject, mut rest) = words.split_first()?;
        let subject = match *subject {
            "storage" => Subject::Storage,
            "sequencer" => Subject::Sequencer,
            "node" => Subject::Node,
            "network" => Subject::Network,
            _ => return None,
        };
        let mut asked = Self {
            subject,
            sizes: Sizes::short(),
            folder: std::env::temp_dir(),
            report: None,
            json: false,
        };
        while let [word, behind @ ..] = rest {
            rest = behind;
            match (*word, behind) {
                ("--short", _) => asked.sizes = Sizes::short(),
                ("--long", _) => asked.sizes = Sizes::long(),
                ("--folder", [folder, behind @ ..]) => {
                    asked.folder = folder.into();
                    rest = behind;
                }
                ("--report", [file, behind @ ..]) => {
                    asked.report = Some(file.into());
                    rest = behind;
                }
                ("-o", ["json", behind @ ..]) => {
                    asked.json = true;
                    rest = behind;
                }
                _ => return None,
            }
        }
        Some(asked)
    }
}
