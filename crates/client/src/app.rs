//! Apps: the way to their definitions and their workspaces.
//!
//! A definition that returns holds in all partitions of the app, so the next command can use it.
//! Defining the same again changes nothing: a program defines what it needs each time it starts.

use std::sync::Arc;

use serde::Serialize;
use seriatim_api::message::{
    App as AppInfo, AppChange, Defined, Definitions, Empty, NewApp, NewRecordKind, NewSequence,
    RecordClass,
};
use seriatim_api::method::MethodId;

use crate::client::Client;
use crate::error::Error;
use crate::http::{Answered, Request};
use crate::partition::Partition;
use crate::submitter::Target;
use crate::workspace::Workspace;

/// An app of the server. Clones are handles to the same.
#[derive(Debug, Clone)]
pub struct App {
    pub(crate) client: Client,
    pub(crate) name: String,
}

impl App {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates the app, unless it exists with the same options: their name is left out, it is that of
    /// the app. Returns whether it was created by this call. An attempt whose answer got lost may
    /// have created it before.
    ///
    /// # Errors
    ///
    /// `APP_EXISTS` when it exists with other options, or `INVALID_ARGUMENT`.
    pub async fn create(&self, options: NewApp) -> Result<bool, Error> {
        if self.name.is_empty() {
            return Err(Error::empty("app"));
        }
        let options = NewApp { name: self.name.clone(), ..options };
        let request = Request::of(MethodId::CreateApp, &[])?.body(&options);
        let Answered { is_created, .. } = self.client.ask_whole::<AppInfo>(request).await?;
        Ok(is_created)
    }

    /// The app as it is; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn info(&self) -> Result<Option<AppInfo>, Error> {
        let request = self.request(MethodId::GetApp, &[])?;
        match self.client.ask(request).await {
            Ok(app) => Ok(Some(app)),
            Err(error) if error.code() == "APP_NOT_FOUND" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Limits how many idempotency keys a partition keeps; `None` lifts the limit. Keys that are kept
    /// already stay until their retention is over.
    ///
    /// # Errors
    ///
    /// When there is no such app, or no answer.
    pub async fn set_keys_max(&self, keys_max: Option<u64>) -> Result<AppInfo, Error> {
        let change = AppChange { idempotency_keys_max: keys_max };
        self.client.ask(self.request(MethodId::ChangeApp, &[])?.body(&change)).await
    }

    /// Everything that is defined for it.
    ///
    /// # Errors
    ///
    /// When there is no such app.
    pub async fn definitions(&self) -> Result<Definitions, Error> {
        self.client.ask(self.request(MethodId::GetDefinitions, &[])?).await
    }

    /// Defines a sequence, from which commands draw numbers. Each workspace has a series of its
    /// own. What is left out has its default, and of a sequence that exists it stays as it is.
    ///
    /// # Errors
    ///
    /// `DEFINITION_CONFLICT` when more than the format of an existing one is to change,
    /// `UNKNOWN_KIND`, or `INVALID_ARGUMENT`.
    pub async fn define_sequence(
        &self,
        name: &str,
        sequence: NewSequence,
    ) -> Result<Defined, Error> {
        self.define(MethodId::DefineSequence, name, &sequence).await
    }

    /// Defines a kind of records. Only those of class c can be [listed](Workspace::records).
    ///
    /// # Errors
    ///
    /// `DEFINITION_CONFLICT` when it is defined otherwise, or `INVALID_ARGUMENT`.
    pub async fn define_record(&self, kind: &str, class: RecordClass) -> Result<Defined, Error> {
        let record = NewRecordKind { class: Some(class), singleton: Some(false) };
        self.define(MethodId::DefineRecord, kind, &record).await
    }

    /// Defines a kind of records of which each workspace has at most one, under a fixed id.
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn define_singleton(&self, kind: &str, class: RecordClass) -> Result<Defined, Error> {
        let record = NewRecordKind { class: Some(class), singleton: Some(true) };
        self.define(MethodId::DefineRecord, kind, &record).await
    }

    /// Defines a kind of workspaces beside `default`, which always exists.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT`, or when there is no answer.
    pub async fn define_kind(&self, kind: &str) -> Result<Defined, Error> {
        self.define(MethodId::DefineKind, kind, &Empty {}).await
    }

    /// A workspace by its name, or by its id if it is written in digits only. It comes into being
    /// by being used.
    #[must_use]
    pub fn workspace(&self, name: impl Into<String>) -> Workspace {
        let target = Target { app: self.name.clone(), workspace: name.into() };
        Workspace { client: self.client.clone(), target: Arc::new(target), min_offset: 0 }
    }

    /// A partition, by its number from 0 on.
    #[must_use]
    pub fn partition(&self, number: u16) -> Partition {
        Partition { app: self.clone(), number }
    }

    async fn define(
        &self,
        method: MethodId,
        name: &str,
        definition: &impl Serialize,
    ) -> Result<Defined, Error> {
        self.client.ask(self.request(method, &[("name", name)])?.body(definition)).await
    }

    /// A request about the app.
    pub(crate) fn request(
        &self,
        method: MethodId,
        parts: &[(&str, &str)],
    ) -> Result<Request, Error> {
        Request::of(method, &[&[("app", self.name.as_str())], parts].concat())
    }
}
