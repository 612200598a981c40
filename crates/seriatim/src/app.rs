//! An app: its definitions, and the way to its workspaces.
//!
//! **Invariant:** a definition that returns holds in all partitions of the app, so the next command
//! can use it. Defining the same again changes nothing; a program defines what it needs each time
//! it starts.

use std::sync::Arc;

use seriatim_core::Refusal;
use seriatim_json::header;
use seriatim_node::Node;
use seriatim_types::limits::NAME_BYTES_MAX;
use seriatim_types::{
    AppSettings, CommandLimits, Declare, DefineRequest, Definitions, NUMBER_MAX, Name, PartitionId,
    PartitionRef, RecordClass, RecordIdScheme, Reset, Retention, TrustLevel,
};

use crate::error::{ReadError, WriteError, refusal_of};
use crate::opened::Opened;
use crate::partition::Partition;
use crate::service;
use crate::workspace::Workspace;

/// An app of a folder that is open. Clones are handles to the same.
#[derive(Clone)]
pub struct App {
    opened: Arc<Opened>,
    name: Name,
}

/// What is settled when an app is created, and never changes but for [`keys_max`](Self::keys_max). The
/// defaults are those of the HTTP contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppOptions {
    /// How many partitions it has, from 1 on. Each has a thread; workspaces of different partitions
    /// do not wait for each other.
    pub partitions: u16,
    /// Whether one sequence gives all record ids, or one per class.
    pub record_ids: RecordIdScheme,
    /// How much its partitions trust their own numbers.
    pub trust_level: TrustLevel,
    /// How long a command that is sent again is known by its key.
    pub retention: Retention,
    /// How many keys a partition keeps at most; `None` for no limit. Of an app that exists it stays as
    /// it is: [`App::limit_keys`] changes it.
    pub keys_max: Option<u64>,
}

/// How a sequence numbers. Only its format may change later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbering {
    /// How numbers are shown, such as `INV-{yyyy}-{n:06}`.
    pub format: String,
    /// Whether it begins anew with each year.
    pub reset: Reset,
    /// Where its years turn, in minutes from UTC. It is fixed: with daylight saving one hour of a
    /// year would belong to two.
    pub utc_offset_minutes: i16,
    /// First and last number of each range, in the order of their use.
    pub ranges: Vec<(u64, u64)>,
    /// The kind of workspaces that has it.
    pub kind: String,
}

impl App {
    pub(crate) fn define(
        opened: &Arc<Opened>,
        name: &str,
        options: AppOptions,
    ) -> Result<Self, WriteError> {
        let app = Self { opened: opened.clone(), name: name_of("app", name)? };
        let AppOptions { partitions, record_ids, trust_level, retention, keys_max } = options;
        let limits = CommandLimits::default();
        let request =
            DefineRequest::App { partitions, record_ids, trust_level, retention, keys_max, limits };
        app.ask(request)?;
        Ok(app)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// What was settled when it was created.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn settings(&self) -> Result<AppSettings, ReadError> {
        Ok(self.definitions()?.app)
    }

    /// Everything that is defined for it.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn definitions(&self) -> Result<Definitions, ReadError> {
        Ok(self.opened.with(|node| service::find_app(node, &self.name))??)
    }

    /// Its partitions, from 0 on.
    ///
    /// # Errors
    ///
    /// When the app could not be read.
    pub fn partitions(&self) -> Result<Vec<Partition>, ReadError> {
        let AppSettings { app, partitions, .. } = self.settings()?;
        let partition = |number| self.found(PartitionRef { app, partition: PartitionId(number) });
        Ok((0..partitions).map(partition).collect())
    }

    /// One of its partitions, by its number.
    ///
    /// # Errors
    ///
    /// [`ReadError::NotFound`] when it has fewer, or the app could not be read.
    pub fn partition(&self, number: u16) -> Result<Partition, ReadError> {
        let find = |node: &Node| service::find_partition(node, &self.name, PartitionId(number));
        Ok(self.found(self.opened.with(find)??))
    }

    /// Changes how many idempotency keys each partition keeps at most; `None` is no limit. Where more are
    /// kept already, none is forgotten before its time: only new commands are refused, as
    /// `KEY_WINDOW_FULL`.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for 0 or more than a billion, or when not all partitions had it in time.
    pub fn limit_keys(&self, keys_max: Option<u64>) -> Result<(), WriteError> {
        self.ask(DefineRequest::KeyLimit { keys_max })
    }

    /// Defines a sequence, from which commands draw numbers. Each workspace has a series of its
    /// own.
    ///
    /// # Errors
    ///
    /// `DEFINITION_CONFLICT` when more than the format of an existing one is to change,
    /// `UNKNOWN_KIND`, or `INVALID_ARGUMENT`.
    pub fn define_sequence(&self, name: &str, numbering: Numbering) -> Result<(), WriteError> {
        let Numbering { format, reset, utc_offset_minutes, ranges, kind } = numbering;
        self.ask(DefineRequest::Sequence {
            name: name_of("sequence", name)?,
            kind: name_of("kind", &kind)?,
            ranges,
            format,
            reset,
            utc_offset_minutes,
        })
    }

    /// Defines a kind of records. Only those of class c can be [listed](Workspace::records).
    ///
    /// # Errors
    ///
    /// `DEFINITION_CONFLICT` when it is defined otherwise, or `INVALID_ARGUMENT`.
    pub fn define_record(&self, kind: &str, class: RecordClass) -> Result<(), WriteError> {
        let name = name_of("kind", kind)?;
        self.ask(DefineRequest::Record { name, class, singleton: false })
    }

    /// Defines a kind of records of which each workspace has at most one, under a fixed id.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn define_singleton(&self, kind: &str, class: RecordClass) -> Result<(), WriteError> {
        let name = name_of("kind", kind)?;
        self.ask(DefineRequest::Record { name, class, singleton: true })
    }

    /// Defines a kind of workspaces beside `default`, which always exists.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT`, or when it was not defined in time.
    pub fn define_kind(&self, kind: &str) -> Result<(), WriteError> {
        self.ask(DefineRequest::Kind { name: name_of("kind", kind)? })
    }

    /// A workspace by its name, or by its id if it is written in digits only: one below 2^40, without
    /// zeros in front. It comes into being by being used.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for what can be neither.
    pub fn workspace(&self, name: &str) -> Result<Workspace, Refusal> {
        let workspace = header::workspace(name).map_err(refusal_of)?;
        Ok(Workspace { opened: self.opened.clone(), app: self.name.clone(), workspace })
    }

    /// A workspace of a kind other than `default`, which is settled here if it was not before.
    ///
    /// # Errors
    ///
    /// `KIND_CONFLICT` when it has another kind, `UNKNOWN_KIND`, or `INVALID_ARGUMENT`.
    pub fn workspace_of_kind(&self, name: &str, kind: &str) -> Result<Workspace, WriteError> {
        let workspace = self.workspace(name)?;
        let kind = name_of("kind", kind)?;
        let declare = Declare { workspace: workspace.workspace.clone(), kind };
        let within = self.opened.answer_within;
        let declare = |node: &Node| service::declare(node, &self.name, declare, within);
        self.opened.applied(self.opened.with(declare)??)?;
        Ok(workspace)
    }

    pub(crate) fn named(opened: &Arc<Opened>, name: Name) -> Self {
        Self { opened: opened.clone(), name }
    }

    fn found(&self, partition: PartitionRef) -> Partition {
        Partition { opened: self.opened.clone(), app: self.name.clone(), partition }
    }

    fn ask(&self, request: DefineRequest) -> Result<(), WriteError> {
        let within = self.opened.answer_within;
        let define = |node: &Node| service::define(node, &self.name, request, within);
        self.opened.applied(self.opened.with(define)??)?;
        Ok(())
    }
}

impl Default for AppOptions {
    fn default() -> Self {
        Self {
            partitions: 4,
            record_ids: RecordIdScheme::Single,
            trust_level: TrustLevel::Zero,
            retention: Retention::Milliseconds(24 * 60 * 60 * 1000),
            keys_max: None,
        }
    }
}

impl Numbering {
    /// One series for ever, from 1 on.
    #[must_use]
    pub fn continuous(format: &str) -> Self {
        Self {
            format: format.to_owned(),
            reset: Reset::Never,
            utc_offset_minutes: 0,
            ranges: vec![(1, NUMBER_MAX)],
            kind: "default".to_owned(),
        }
    }

    /// A series of its own for every year, each from 1 on.
    #[must_use]
    pub fn yearly(format: &str) -> Self {
        Self { reset: Reset::Yearly, ..Self::continuous(format) }
    }
}

pub(crate) fn name_of(field: &str, text: &str) -> Result<Name, Refusal> {
    Name::new(text).ok_or_else(|| not_a_name(field, NAME_BYTES_MAX))
}

pub(crate) fn not_a_name(field: &str, bytes_max: usize) -> Refusal {
    let why =
        format!("must have 1 to {bytes_max} bytes and no control characters, and not be . or ..");
    Refusal::InvalidArgument { field: field.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same app can be served and embedded, one after the other.
    #[test]
    fn the_defaults_are_those_of_the_http_contract() {
        let AppOptions { partitions, record_ids, trust_level, retention, keys_max } =
            AppOptions::default();
        let limits = CommandLimits::default();
        let ours =
            DefineRequest::App { partitions, record_ids, trust_level, retention, keys_max, limits };
        assert_eq!(seriatim_json::define::app(br#"{"name":"shop"}"#).unwrap().request, ours);

        // What a sequence leaves out is filled in where it is decided: a test of `core` holds that.
        let Numbering { format, reset, utc_offset_minutes, ranges, kind } =
            Numbering::continuous("{n}");
        assert_eq!((format.as_str(), kind.as_str(), reset), ("{n}", "default", Reset::Never));
        assert_eq!((ranges, utc_offset_minutes), (vec![(1, NUMBER_MAX)], 0));
    }
}
