//! The command line of the torture.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use seriatim_torture::serve::{Serve, serve};
use seriatim_torture::{Plan, Program, Summary, markdown, run};

const USAGE: &str = "\
usage: seriatim-torture run --dev PROGRAM [--kills N] [--seed N] [--folder DIR] [--report FILE]

  --dev PROGRAM  the binary `seriatim`, which takes half of the kills; the server library takes the
                 other half, and loses with each what no sync has covered
  --kills N      how often a server is killed, over both (200)
  --seed N       where all choices come from; the moments of kills are not reproducible (1)
  --folder DIR   where the data goes; decides which disk is used
  --report FILE  writes the result as Markdown
";

fn main() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((task, words)) if task == "run" => {
            if let Some(asked) = Asked::parse(words) {
                torture(&asked)?;
                return Ok(ExitCode::SUCCESS);
            }
        }
        // For this program itself, which starts the processes that it kills.
        Some((task, words)) if task == "serve" => {
            serve(&parse_serve(words).context("serve takes --data, --listen, --synced, --hasty")?)?;
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    eprint!("{USAGE}");
    Ok(ExitCode::from(2))
}

fn torture(asked: &Asked) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("torture-").tempdir_in(&asked.folder)?;
    match run_all(asked, folder.path()) {
        Ok(runs) => {
            let page = markdown(&asked.command_line(), &runs)?;
            print!("\n{page}");
            asked.report.as_ref().map_or(Ok(()), |file| Ok(std::fs::write(file, page)?))
        }
        Err(error) => {
            // Whoever looks for the fault needs what it left.
            drop(folder.keep());
            Err(error)
        }
    }
}

fn run_all(asked: &Asked, folder: &Path) -> Result<Vec<Summary>> {
    let own = std::env::current_exe()?;
    let halves = [
        ("dev", Program::Dev(asked.dev.clone()), asked.kills.div_ceil(2)),
        ("lost", Program::ServeAndNote(own), asked.kills / 2),
    ];
    let mut runs = Vec::new();
    for (name, program, kills) in halves {
        let folder = folder.join(name);
        std::fs::create_dir(&folder)?;
        let seed = asked.seed;
        let plan = Plan { program, kills, seed, clients: 8, acknowledged_max: 600, folder };
        runs.push(run(&plan, &mut |summary| println!("{summary}"))?);
    }
    Ok(runs)
}

struct Asked {
    dev: PathBuf,
    kills: u64,
    seed: u64,
    folder: PathBuf,
    report: Option<PathBuf>,
}

impl Asked {
    fn parse(words: &[String]) -> Option<Self> {
        let (mut dev, folder) = (None, std::env::temp_dir());
        let mut asked = Self { dev: PathBuf::new(), kills: 200, seed: 1, folder, report: None };
        let mut words = words.iter();
        while let Some(flag) = words.next() {
            let value = words.next()?;
            match flag.as_str() {
                "--dev" => dev = Some(value.into()),
                "--kills" => asked.kills = value.parse().ok()?,
                "--seed" => asked.seed = value.parse().ok()?,
                "--folder" => asked.folder = value.into(),
                "--report" => asked.report = Some(value.into()),
                _ => return None,
            }
        }
        asked.dev = dev?;
        Some(asked)
    }

    fn command_line(&self) -> String {
        format!("cargo xtask torture --kills {} --seed {}", self.kills, self.seed)
    }
}

fn parse_serve(words: &[String]) -> Option<Serve> {
    let (mut data, mut listen, mut synced, mut is_hasty) = (None, None, None, false);
    let mut words = words.iter();
    while let Some(flag) = words.next() {
        match flag.as_str() {
            "--data" => data = Some(words.next()?.into()),
            "--listen" => listen = words.next()?.parse().ok(),
            "--synced" => synced = Some(words.next()?.into()),
            "--hasty" => is_hasty = true,
            _ => return None,
        }
    }
    Some(Serve { data: data?, listen: listen?, synced, is_hasty })
}
