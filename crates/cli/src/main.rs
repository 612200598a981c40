//! The binary `seriatim`.

mod dev;
mod signals;
mod welcome;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// An event-sourcing server: every command gets its place, exactly once.
#[derive(Parser)]
#[command(name = "seriatim", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs a server on this machine, for development: no configuration, no authentication, data kept.
    Dev {
        /// The address to listen on. It must be one of this machine's own: there is no authentication.
        #[arg(long, default_value = "127.0.0.1:7600")]
        listen: SocketAddr,
        /// The folder that holds the data. It is made if it is not there.
        #[arg(long, default_value = "./.seriatim")]
        data: PathBuf,
    },
    /// Says which version this is.
    Version,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Task::Dev { listen, data } => dev::run(listen, &data),
        Task::Version => {
            println!("seriatim {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("seriatim: {error:#}");
            ExitCode::FAILURE
        }
    }
}
