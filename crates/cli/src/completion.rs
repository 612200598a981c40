//! `seriatim completion`.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::output::print;

/// Prints what makes a shell complete `seriatim`.
pub(crate) fn print_for(shell: Shell) -> Result<()> {
    // The generator panics when it cannot write, and a pipe may be closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "seriatim", &mut script);
    Ok(print(&String::from_utf8(script)?)?)
}
