//! The partition machine in a test: driven as a node drives it, with everything in memory.

mod build;
mod model;
mod node;
mod random;
mod shop;

pub use build::{changes, events};
pub use model::{Answer, Applied, Model, Refused};
pub use node::Node;
pub use random::{Dice, History, Requests};
pub use shop::{Shop, ShopSettings, command, name};
