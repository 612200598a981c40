//! Workflow code beside its history: what code saw first, it sees first on every replay.
//!
//! Two layers. A [`Book`] matches commands with history and decides what code is shown next; it
//! knows no futures, so other languages can use it. A [`Machine`] runs Rust futures on a book.
//!
//! ```text
//!  history ─► Book ── next ──► one delivery at a time ──► Machine polls the code until it rests
//!              ▲ create: (type, position), compared with the next recorded output ── Context ◄┘
//!              └─► turn: commands to submit, steps to start ─► accepted
//! ```
//!
//! A worker feeds events, shows them to code, submits what comes of it, and says what was accepted:
//!
//! ```
//! use seriatim_replay::{Context, End, Event, Input, Machine, Offset, Payload, Recorded, Rest,
//!     RunNumber, Settlement, Started, TaskOptions, Then};
//! use seriatim_types::{Name, Time, WorkspaceId};
//!
//! async fn code(ctx: Context) -> End {
//!     let charge = Name::new("charge").expect("it is a name");
//!     match ctx.task(charge, Payload::null(), TaskOptions::default()).await {
//!         Settlement::Value(payment) => End::Completed(payment),
//!         Settlement::Failed(failure) => End::Failed(failure),
//!         _ => End::Cancelled,
//!     }
//! }
//!
//! let name = |it| Name::new(it).expect("it is a name");
//! let started = Started {
//!     offset: Offset(1), at: Time(0), workspace: WorkspaceId(7), id: name("order-17"),
//!     run: RunNumber(1), workflow: name("fulfil"), input: Payload::null(), matching: 1,
//!     on_orphans: Default::default(), carried: Vec::new(),
//! };
//! let mut machine = Machine::new(started, code)?;
//! assert_eq!(machine.advance(), Rest::Waiting);
//!
//! let turn = machine.take_turn()?;                     // submit its commands: they get offset 2
//! assert_eq!((turn.commands.len(), turn.then), (1, Then::Wait));
//! machine.accepted(Offset(2), [])?;
//!
//! let done = Input::TaskCompleted { index: 0, result: Payload::null() };
//! machine.feed([Recorded { offset: Offset(3), at: Time(5), event: Event::Input(done) }])?;
//! assert_eq!(machine.advance(), Rest::Ended);
//! assert_eq!(machine.take_turn()?.then, Then::Close);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What may be changed in code while runs are open stands in `docs/reference/replay.md`, with a
//! test for each cell.
//!
//! **Invariants**
//! - A command is matched by its type and its position in that type, and in the order of all
//!   recorded outputs. A mismatch is never tried elsewhere.
//! - Delivery order follows from offsets and `seen` alone, so the winner of a race needs no record.
//! - A determinism violation never reaches code: what code awaits then does not resolve.
//! - Work grows in proportion to the history: see [`Work`].
//!
//! **Deliberately absent:** I/O, a clock, threads, randomness, a runtime. Time is data of the
//! history. Closures, retries and the transport belong to a worker.

mod book;
mod closing;
mod command_id;
mod context;
mod delivery;
mod feed;
mod handle;
mod history;
mod intake;
mod leaves;
mod machine;
mod matching;
mod order;
mod random;
mod reads;
mod root;
mod scope;
mod signals;
mod steps;
mod suspect;
mod turn;
mod versions;
mod violation;
mod waker;
mod work;

pub use book::{Book, Delivery, Next, NotRunning, UnknownMatching};
pub use closing::End;
pub use command_id::CommandId;
pub use context::Context;
pub use handle::{Handle, SignalHandle};
pub use history::{
    CarriedSignal, ChildOptions, Closing, Command, Event, Failure, Input, MATCHING_VERSION, Offset,
    OnOrphans, OnParentClose, OnViolation, Orphan, Output, Payload, Recorded, Retry, RunNumber,
    Settlement, Started, TaskOptions,
};
pub use intake::{Fault, FeedError};
pub use machine::{Machine, Rest, Stopped};
pub use scope::Awaited;
pub use steps::RecordedValue;
pub use turn::{Created, StepStart, Then, Turn};
pub use violation::{Class, Source, Violation};
pub use work::Work;
