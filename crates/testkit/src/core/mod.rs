//! The partition machine in a test: driven as a node drives it, with everything in memory.

mod build;
mod node;
mod shop;

pub use build::{changes, events};
pub use node::Node;
pub use shop::{Shop, ShopSettings, command, name};
