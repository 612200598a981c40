//! The Merkle tree over a workspace's log, in the manner of RFC 6962.
//!
//! A leaf is an event as it is stored; its index is its offset less one. Appending needs only the
//! frontier, and hands out the few nodes from which proofs about any size can be made later.
//!
//! ```text
//!  event bytes ─ leaf_hash ─► Frontier::push ─► root              the head that a receipt shows
//!                                  │
//!                                  ▼ completed: levels 4, 8, 12 …
//!                              stored nodes ─┐
//!                                            ├─► inclusion_proof, consistency_proof, root_at
//!  event bytes ─ leaf_hash ──────────────────┘             │
//!                                                          ▼ path
//!               head, leaf ───────────────► verify_inclusion, verify_consistency
//! ```
//!
//! **Invariants**
//! - One hash function for writer, reader and verifier: [`leaf_hash`], [`node_hash`],
//!   [`empty_root`].
//! - A complete node never changes, so a stored one holds for every later size.
//! - Roots and paths depend on the leaves alone, not on how they were appended or stored.
//!
//! **Deliberately absent:** reading and writing. Nodes are reported by the frontier and asked for
//! through [`Nodes`]; where they are kept is the caller's.

mod frontier;
mod hash;
mod node;
mod proof;
mod verify;

pub use frontier::Frontier;
pub use hash::{empty_root, leaf_hash, node_hash};
pub use node::{LEVELS_PER_STORED, NodeId, Nodes};
pub use proof::{ProofError, consistency_proof, inclusion_proof, root_at};
pub use verify::{VerifyError, verify_consistency, verify_inclusion};
