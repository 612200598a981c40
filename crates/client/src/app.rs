//! Apps: the way to their definitions and their workspaces.
//!
//! A definition that returns holds in all partitions of the app, so the next command can use it.
//! Defining the same again changes nothing: a program defines what it needs each time it starts.

use std::sync::Arc;

use seriatim_api as api;

use crate::client::{Client, ask};
use crate::definitions::{AppInfo, AppOptions, Defined, Definitions, Numbering, RecordClass};
use crate::error::Error;
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

    /// Creates the app, unless it exists with the same options. Returns whether it was created by
    /// this call, or by an attempt of it whose answer got lost.
    ///
    /// # Errors
    ///
    /// `APP_EXISTS` when it exists with other options, or `INVALID_ARGUMENT`.
    pub async fn create(&self, options: AppOptions) -> Result<bool, Error> {
        let request = api::CreateAppRequest { app: Some(options.wire(&self.name)) };
        Ok(ask!(self.client, AppServiceClient::create_app, request)?.created)
    }

    /// The app as it is; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn info(&self) -> Result<Option<AppInfo>, Error> {
        let request = api::GetAppRequest { app: self.name.clone() };
        match ask!(self.client, AppServiceClient::get_app, request) {
            Ok(app) => Ok(Some(app.into())),
            Err(error) if error.code() == "APP_NOT_FOUND" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Everything that is defined for it.
    ///
    /// # Errors
    ///
    /// When there is no such app.
    pub async fn definitions(&self) -> Result<Definitions, Error> {
        let request = api::GetDefinitionsRequest { app: self.name.clone() };
        Ok(ask!(self.client, AppServiceClient::get_definitions, request)?.into())
    }

    /// Defines a sequence, from which commands draw numbers. Each workspace has a series of its
    /// own.
    ///
    /// # Errors
    ///
    /// `DEFINITION_CONFLICT` when more than the format of an existing one is to change,
    /// `UNKNOWN_KIND`, or `INVALID_ARGUMENT`.
    pub async fn define_sequence(
        &self,
        name: &str,
        numbering: Numbering,
    ) -> Result<Defined, Error> {
        let (app, sequence) = (self.name.clone(), Some(numbering.wire(name)));
        let request = api::DefineSequenceRequest { app, sequence };
        ask!(self.client, AppServiceClient::define_sequence, request).map(Defined::from)
    }

    /// Defines a kind of records. Only those of class c can be [listed](Workspace::records).
    ///
    /// # Errors
    ///
    /// `DEFINITION_CONFLICT` when it is defined otherwise, or `INVALID_ARGUMENT`.
    pub async fn define_record(&self, kind: &str, class: RecordClass) -> Result<Defined, Error> {
        self.define_records(kind, class, false).await
    }

    /// Defines a kind of records of which each workspace has at most one, under a fixed id.
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn define_singleton(&self, kind: &str, class: RecordClass) -> Result<Defined, Error> {
        self.define_records(kind, class, true).await
    }

    /// Defines a kind of workspaces beside `default`, which always exists.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT`, or when there is no answer.
    pub async fn define_kind(&self, kind: &str) -> Result<Defined, Error> {
        let request = api::DefineKindRequest { app: self.name.clone(), kind: kind.to_owned() };
        ask!(self.client, AppServiceClient::define_kind, request).map(Defined::from)
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
    pub fn partition(&self, number: u32) -> Partition {
        Partition { app: self.clone(), number }
    }

    async fn define_records(
        &self,
        kind: &str,
        class: RecordClass,
        singleton: bool,
    ) -> Result<Defined, Error> {
        let class = api::RecordClass::from(class).into();
        let record = Some(api::RecordDefinition { kind: kind.to_owned(), class, singleton });
        let request = api::DefineRecordRequest { app: self.name.clone(), record };
        ask!(self.client, AppServiceClient::define_record, request).map(Defined::from)
    }
}
