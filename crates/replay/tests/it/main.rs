//! The machine against its histories: the rules one by one, and random workflows.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::wildcard_enum_match_arm,
    clippy::panic,
    reason = "helpers of tests, which clippy does not take for tests: a panic fails the test"
)]

mod book;
mod combinators;
mod feeding;
mod linear;
mod matrix;
mod mutations;
mod prefixes;
mod program;
mod races;
mod seed;
mod support;
mod versions;
mod violations;
mod world;
