//! The real binary, from outside.
#![expect(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "tests fail by panicking, and say so briefly"
)]

mod bench;
mod clock;
mod commands;
mod configuration;
mod damage;
mod data_folder;
mod dev;
mod documents;
mod failures;
mod flood;
mod interrupts;
mod pages;
mod process;
mod server_log;
mod shop;
mod sim;
mod tools;
mod verify;
mod wrong;
