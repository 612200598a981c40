//! Gap-free invoice numbers for a program that has a log of its own: a text file.
//!
//! Run it twice: the second run goes on where the first one ended.

mod ledger;

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "./own-log".to_owned());
    ledger::run(Path::new(&folder), &mut std::io::stdout())
}
