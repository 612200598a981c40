//! The client of a Seriatim server: commands, reads and subscriptions over the network.
//!
//! ```text
//!  Client ─ app ─► App ─ create, define_… ─► sequences, kinds of records and of workspaces
//!                   ├─ workspace ─► Workspace ─┬─ submit ─► all numbers of the command
//!                   │                          ├─ record, entity, sequence, events, proof, …
//!                   │                          └─ subscribe ─► what is stored, then what comes
//!                   └─ partition ─► Partition ─ events, subscribe, restart
//! ```
//!
//! ```
//! use seriatim_client::{Client, Command, NewApp, NewSequence, RecordClass, next_text};
//! use serde_json::json;
//!
//! # use std::sync::Arc;
//! # use seriatim_node::{Node, SystemClock, schema};
//! # use seriatim_storage::memory::MemoryStore;
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let address = "http://127.0.0.1:7600"; // of `seriatim dev`
//! #   let (store, clock) = (MemoryStore::new(&schema()), Arc::new(SystemClock::new()));
//! #   let node = Arc::new(Node::open(Arc::new(store), clock.clone(), Default::default()));
//! #   let any = "127.0.0.1:0".parse()?;
//! #   let server = seriatim_server::Server::bind(any, node, clock, Default::default())?;
//! #   let address = &format!("http://{}", server.address());
//! #   tokio::spawn(server.run(std::future::pending()));
//!     let client = Client::builder().client_id("till-4").connect(address)?;
//!     let shop = client.app("shop");
//!     shop.create(NewApp::default()).await?;
//!     shop.define_record("invoice", RecordClass::C).await?;
//!     shop.define_sequence("invoice", NewSequence::yearly("INV-{yyyy}-{n:06}")).await?;
//!
//!     let store = shop.workspace("store-1");
//!     let command = Command::new("InvoiceIssued")
//!         .create(1, "invoice", json!({"number": next_text("invoice"), "total_cents": 1250}));
//!     let submitted = store.submit(command).await?;
//!     let number = submitted.number("invoice").expect("the command draws one");
//!     assert_eq!(number.number, 1);
//!
//!     let event = store.subscribe(1).next().await?;
//!     assert_eq!(event.name, "InvoiceIssued");
//!     Ok(())
//! }
//! ```
//!
//! Commands and subscriptions are streams of gRPC; everything else is asked over HTTP/JSON, on the
//! same connection. What is answered are the messages of the contract, `seriatim-api`. The guide is
//! `docs/guide/client.md`.
//!
//! **Invariants**
//! - Every attempt of a command has the same key, so trying again cannot become a second event.
//! - The answer is the right one of four: done, refused, not written, unknown. It speaks of the
//!   attempts of its own call; `docs/guarantees.md` says what one can still do that lies in a
//!   connection which was lost.
//! - Commands of one client to one workspace that get a receipt are carried out in the order in
//!   which they were submitted, across answers of a busy server, broken connections and a server that
//!   is killed.
//!
//! **Deliberately absent:** a way to take back a command that was submitted, and blocking calls.

mod app;
mod client;
mod error;
mod failure;
mod http;
mod key;
mod partition;
mod reads;
mod receipt;
mod retry;
mod submitter;
mod subscription;
mod workspace;

pub use app::App;
pub use client::{BadAddress, Client, ClientBuilder};
pub use error::{Error, Outcome, SubmitError};
pub use key::{Key, NotAKey};
pub use partition::Partition;
pub use receipt::Submitted;
pub use retry::RetryPolicy;
pub use subscription::Subscription;
pub use workspace::{Submission, Workspace};

pub use seriatim_api::message::{
    App as AppInfo, Change, ClientState, ClockAccepted, Condition, Consistency, Created, Declared,
    Defined, DefinitionStep, Definitions, Deleted, Entity, EntitySet, EntityUnset, Event, Events,
    Hash, Head, InclusionProof, Json, Kind, NewApp, NewSequence, NumberDrawn, PartitionState,
    PartitionStatus, Receipt, Record, RecordClass, RecordIds, RecordKind, Records, Reset,
    SequenceDefinition, SequenceState, Timestamp, Updated,
};
pub use seriatim_api::{Command, CommandJson, NotJson, drawn, id_of, literal, next, next_text};

/// What decides, without a network: for whoever drives it on time or over a network of its own.
#[doc(hidden)]
pub mod parts {
    pub use crate::error::Outcome;
    pub use crate::failure::Failure;
    pub use crate::retry::Dice;
    pub use crate::submitter::{BEHIND_THE_KEY, GivenUp, Pipeline, Sending, Target};
}
