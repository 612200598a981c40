//! Invoices of several shops, numbered without a gap: `cargo run --example invoicing [folder]`.
//!
//! The module that an engineer would write is [`invoices`]; [`story`] uses it.

mod invoices;
mod story;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let folder = std::env::args_os().nth(1);
    let folder = folder.map_or_else(|| PathBuf::from(".seriatim/invoicing"), PathBuf::from);
    match story::run(&folder, &mut std::io::stdout()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("invoicing: {failure}");
            ExitCode::FAILURE
        }
    }
}
