//! Invoices of several shops, numbered without a gap: `cargo run --example invoicing [folder]`.
//!
//! Its data is in a folder of its own, `invoicing-data`, and not in the one of `seriatim dev`. It tells a
//! story that takes a year by a clock of its own, so its times are of the future.
//!
//! The module that an engineer would write is [`invoices`]; [`story`] uses it.

mod invoices;
mod story;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let folder = std::env::args_os().nth(1);
    let folder = folder.map_or_else(|| PathBuf::from(story::FOLDER), PathBuf::from);
    match story::run(&folder, &mut std::io::stdout()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("invoicing: {failure}");
            ExitCode::FAILURE
        }
    }
}
