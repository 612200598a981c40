//! Protection against overload and slow clients: what a client may hold of the server, and for how
//! long.
//!
//! ```text
//!  socket ─► connections ────── so many; a head in time; closed if the peer reads nothing
//!              │ window: 256 KiB of a stream, 16 MiB of a connection, before anything is read
//!              ▼
//!            slow_messages ──── a body or a message, once begun, is whole in time ──┐
//!              │                                                                    │ reserve
//!              ▼                                                                    ▼
//!            handler ─► reader_pool: so many reads at a time ──reserve──► memory_budget
//!              │                                                                    ▲
//!              ▼                                                                    │ reserve
//!            slow_responses ─── a large body is counted until it is sent; drained, or stalled
//! ```
//!
//! Whatever is counted is given back on drop: by an answer, an error, or a client that has left.
//! Bodies over HTTP are read by [`Asked::body`](crate::asked::Asked::body), with the same time and out
//! of the same budget as messages. ARCHITECTURE has every bound from here to the disk in one drawing.
//!
//! **Invariant:** a client that is slow costs others nothing but their share of a budget; a receipt
//! of what was committed is never withheld for lack of memory.
//!
//! **Deliberately absent:** the queues of commands. A stream stops reading in `grpc::stream`, and
//! a partition turns away what it cannot take, in the node.

pub(crate) mod connections;
pub(crate) mod memory_budget;
pub(crate) mod reader_pool;
pub(crate) mod slow_messages;
pub(crate) mod slow_responses;
