//! The sequencer with a thread and storage around it, for whoever has a log of their own.
//!
//! ```text
//!  start ─► draws ─► the caller writes its event ─► flush ──► checkpoint, later, in the
//!                              │ failed                       background, 5 ms at a time
//!                              └─► actualize: the log is read again
//! ```
//!
//! The caller supplies two things: where numbers are kept ([`NumberStorage`]) and how its log is
//! read ([`EventLog`]). [`StoreNumbers`] and [`StoreLog`] do both on our own storage.
//!
//! **Invariant:** one thread writes checkpoints, one after another, each under the epoch that
//! this runtime claimed. Storage refuses an older one, so a former owner changes nothing.

mod runtime;
mod settings;
mod started;
mod store;
mod sync;
mod traits;
mod worker;

pub use runtime::{Health, Runtime, Shutdown, StartError};
pub use settings::RuntimeSettings;
pub use started::Started;
pub use store::{StoreLog, StoreNumbers, tables};
pub use traits::{EventLog, LogError, NumberStorage, StorageError, WriteError};
