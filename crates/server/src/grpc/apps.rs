//! `AppService`: apps and what is defined for them.
//!
//! Definitions are rare. So what is asked for is put into the body that HTTP has for it, and read
//! from there: there is one place that knows what is allowed.

use std::sync::Arc;

use prost::Message;
use seriatim_api as proto;
use seriatim_api::app_service_server::AppService;
use seriatim_json::define;
use seriatim_json::write::{self, Fact};
use seriatim_types::{Declare, DefineRequest};
use tonic::{Request, Response, Status};

use super::reads::reserved;
use super::write as answer;
use crate::apps;
use crate::asked::{name, workspace};
use crate::context::Context;
use crate::definitions::{self, Declared, Defined};
use crate::error::ApiError;

/// The service.
pub(super) struct Apps(pub(super) Arc<Context>);

#[tonic::async_trait]
impl AppService for Apps {
    async fn create_app(
        &self,
        request: Request<proto::CreateAppRequest>,
    ) -> Result<Response<proto::CreateAppResponse>, Status> {
        let app = request.into_inner().app.unwrap_or_default();
        let made = async { apps::make(&self.0, app_body(&app)?.into()).await };
        let (settings, created) = made.await.map_err(ApiError::of_write)?;
        let app = Some(answer::app(&settings));
        Ok(Response::new(proto::CreateAppResponse { app, created }))
    }

    async fn list_apps(
        &self,
        _: Request<proto::ListAppsRequest>,
    ) -> Result<Response<proto::ListAppsResponse>, Status> {
        let list = |context: &Context| {
            let apps = context.node.apps().map_err(ApiError::from)?;
            let apps = apps.iter().map(|definitions| answer::app(&definitions.app)).collect();
            Ok(proto::ListAppsResponse { apps })
        };
        Ok(reserved(self.0.read_apps(list, twice_encoded).await?))
    }

    async fn get_app(
        &self,
        request: Request<proto::GetAppRequest>,
    ) -> Result<Response<proto::App>, Status> {
        let app = name("app", &request.into_inner().app)?;
        let get = move |context: &Context| Ok(answer::app(&apps::find(context, &app)?.app));
        Ok(reserved(self.0.read_apps(get, twice_encoded).await?))
    }

    async fn get_definitions(
        &self,
        request: Request<proto::GetDefinitionsRequest>,
    ) -> Result<Response<proto::Definitions>, Status> {
        let app = name("app", &request.into_inner().app)?;
        let get = move |context: &Context| Ok(answer::definitions(&apps::find(context, &app)?));
        Ok(reserved(self.0.read_apps(get, twice_encoded).await?))
    }

    async fn define_kind(
        &self,
        request: Request<proto::DefineKindRequest>,
    ) -> Result<Response<proto::Defined>, Status> {
        let proto::DefineKindRequest { app, kind } = request.into_inner();
        let read = || Ok(DefineRequest::Kind { name: name("name", &kind)? });
        self.define(&app, read).await
    }

    async fn define_sequence(
        &self,
        request: Request<proto::DefineSequenceRequest>,
    ) -> Result<Response<proto::Defined>, Status> {
        let proto::DefineSequenceRequest { app, sequence } = request.into_inner();
        let sequence = sequence.unwrap_or_default();
        let read =
            || Ok(define::sequence(name("name", &sequence.name)?, &sequence_body(&sequence)?)?);
        self.define(&app, read).await
    }

    async fn define_record(
        &self,
        request: Request<proto::DefineRecordRequest>,
    ) -> Result<Response<proto::Defined>, Status> {
        let proto::DefineRecordRequest { app, record } = request.into_inner();
        let record = record.unwrap_or_default();
        let read = || Ok(define::record(name("name", &record.kind)?, &record_body(&record)?)?);
        self.define(&app, read).await
    }

    async fn declare_workspace(
        &self,
        request: Request<proto::DeclareWorkspaceRequest>,
    ) -> Result<Response<proto::Declared>, Status> {
        let asked = request.into_inner();
        let declared = async {
            let app = name("app", &asked.app)?;
            let workspace = workspace(&asked.workspace)?;
            let kind = define::workspace(&body(&[("kind", text(&asked.kind))]))?;
            let kind_name = kind.as_str().to_owned();
            let declared = definitions::settle(&self.0, app, Declare { workspace, kind }).await?;
            Ok((declared, kind_name))
        };
        let (Declared { workspace, id, is_new }, kind) =
            declared.await.map_err(ApiError::of_write)?;
        let declared = proto::Declared { workspace, workspace_id: id.0, kind, created: is_new };
        Ok(Response::new(declared))
    }
}

/// What a message takes until it is sent: as it is, and encoded.
fn twice_encoded<M: Message>(message: &M) -> usize {
    message.encoded_len().saturating_mul(2)
}

impl Apps {
    async fn define(
        &self,
        app: &str,
        read: impl FnOnce() -> Result<DefineRequest, ApiError>,
    ) -> Result<Response<proto::Defined>, Status> {
        let defined = async {
            let app = name("app", app)?;
            definitions::carry_out(&self.0, app, read()?).await
        };
        let Defined { version, is_new } = defined.await.map_err(ApiError::of_write)?;
        Ok(Response::new(proto::Defined { version, changed: is_new }))
    }
}

fn app_body(app: &proto::App) -> Result<Vec<u8>, ApiError> {
    let record_ids = match word("record_ids", app.record_ids)? {
        proto::RecordIds::Unspecified => None,
        proto::RecordIds::Single => text("single"),
        proto::RecordIds::Split => text("split"),
    };
    let retention = match app.idempotency_retention_ms {
        _ if app.idempotency_retention_forever => text("forever"),
        0 => None,
        ms => text(&format!("{ms}ms")),
    };
    Ok(body(&[
        ("name", Some(Fact::Text(app.name.clone()))),
        ("partitions", number(u64::from(app.partitions))),
        ("record_ids", record_ids),
        ("trust_level", app.trust_level.map(|level| Fact::Number(u64::from(level)))),
        ("idempotency_retention", retention),
        ("idempotency_keys_max", number(app.idempotency_keys_max)),
    ]))
}

fn sequence_body(sequence: &proto::SequenceDefinition) -> Result<Vec<u8>, ApiError> {
    let ranges = sequence.ranges.iter();
    let ranges: Vec<Vec<u8>> =
        ranges.map(|range| format!("[{},{}]", range.first, range.last).into_bytes()).collect();
    let reset = match word("reset", sequence.reset)? {
        proto::Reset::Unspecified => None,
        proto::Reset::Never => text("never"),
        proto::Reset::Yearly => text("yearly"),
    };
    let minutes = sequence.utc_offset_minutes;
    let sign = if minutes < 0 { '-' } else { '+' };
    let (hours, rest) = (minutes.unsigned_abs() / 60, minutes.unsigned_abs() % 60);
    Ok(body(&[
        ("kind", text(&sequence.kind)),
        ("ranges", (!ranges.is_empty()).then_some(Fact::List(ranges))),
        ("format", text(&sequence.format)),
        ("reset", reset),
        ("utc_offset", text(&format!("{sign}{hours:02}:{rest:02}"))),
    ]))
}

fn record_body(record: &proto::RecordDefinition) -> Result<Vec<u8>, ApiError> {
    let class = match word("class", record.class)? {
        proto::RecordClass::Unspecified => None,
        proto::RecordClass::C => text("c"),
        proto::RecordClass::O => text("o"),
        proto::RecordClass::W => text("w"),
    };
    Ok(body(&[("class", class), ("singleton", Some(Fact::Flag(record.singleton)))]))
}

/// What the number of a word stands for. One that this version does not know must not pass for
/// one that is absent.
fn word<T: TryFrom<i32>>(field: &str, number: i32) -> Result<T, ApiError> {
    T::try_from(number).map_err(|_| ApiError::invalid(field, format!("{number} is not known here")))
}

/// The body with those members that are there.
fn body(members: &[(&'static str, Option<Fact>)]) -> Vec<u8> {
    let there = members.iter().filter_map(|(name, fact)| Some((*name, fact.clone()?)));
    write::facts(&there.collect::<Vec<_>>())
}

/// A text; one that is empty is absent.
fn text(text: &str) -> Option<Fact> {
    (!text.is_empty()).then(|| Fact::Text(text.to_owned()))
}

/// A number; 0 is absent.
fn number(number: u64) -> Option<Fact> {
    (number != 0).then_some(Fact::Number(number))
}
