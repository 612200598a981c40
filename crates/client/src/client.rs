//! The way to a server.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use seriatim_api as api;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::transport::{Channel, Endpoint};
use tonic::{Response, Status};

use crate::app::App;
use crate::definitions::AppInfo;
use crate::error::Error;
use crate::failure::{Failure, Outcome};
use crate::key::Key;
use crate::partition::PartitionStatus;
use crate::receipt::time_of;
use crate::retry::{Dice, RetryPolicy};
use crate::submitter::Submitter;

/// The largest answer that is taken: a page of events, and one event that goes over it.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long a connection may take to come about.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// How often a connection is asked whether it is alive, and how long it may take to say so.
const ALIVE_EVERY: Duration = Duration::from_secs(10);

/// What the server may send before the client has taken it, on a stream and on all together.
const STREAM_BYTES: u32 = 1024 * 1024;
const CONNECTION_BYTES: u32 = 4 * 1024 * 1024;

/// A client of one server. Clones are handles to the same connection, and to the same order of
/// commands.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
}

/// What can be set for a client before it is made.
#[derive(Debug, Clone)]
pub struct ClientBuilder {
    client_id: Option<String>,
    deadline: Duration,
    retry: RetryPolicy,
}

/// An address that a client cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address:?} is no address of a server: it is to look like http://127.0.0.1:7600")]
pub struct BadAddress {
    address: String,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) channel: Channel,
    pub(crate) client_id: String,
    pub(crate) patience: Duration,
    pub(crate) retry: RetryPolicy,
    pub(crate) submitter: Submitter,
}

impl Client {
    /// A client of the server at an address such as `http://127.0.0.1:7600`. It connects when it is
    /// first asked something, and again whenever the connection is lost. It belongs to the tokio
    /// runtime in which it is made.
    ///
    /// # Errors
    ///
    /// When the address is none.
    pub fn connect(address: &str) -> Result<Self, BadAddress> {
        Self::builder().connect(address)
    }

    /// A client with other settings than the defaults.
    #[must_use]
    pub fn builder() -> ClientBuilder {
        ClientBuilder {
            client_id: None,
            deadline: Duration::from_secs(30),
            retry: Default::default(),
        }
    }

    /// Who the server takes this client for: see [`ClientBuilder::client_id`].
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.inner.client_id
    }

    /// How often this client has sent a command again, each time with its key: because the connection
    /// broke before the answer, or because the server could not take it then.
    #[must_use]
    pub fn sent_again(&self) -> u64 {
        self.inner.submitter.sent_again()
    }

    /// An app, by its name. Whether it exists shows when it is used.
    #[must_use]
    pub fn app(&self, name: impl Into<String>) -> App {
        App { client: self.clone(), name: name.into() }
    }

    /// All apps of the server.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn apps(&self) -> Result<Vec<AppInfo>, Error> {
        let request = api::ListAppsRequest {};
        let answer = ask!(self, AppServiceClient::list_apps, request)?;
        Ok(answer.apps.into_iter().map(AppInfo::from).collect())
    }

    /// All partitions of the server, and what they are doing.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn partitions(&self) -> Result<Vec<PartitionStatus>, Error> {
        let request = api::ListPartitionsRequest {};
        let answer = ask!(self, PartitionServiceClient::list_partitions, request)?;
        answer.partitions.into_iter().map(PartitionStatus::try_from).collect()
    }

    /// Vouches for the server's clock, which is then believed although it is far ahead. Returns the
    /// time that it shows.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn accept_clock(&self) -> Result<SystemTime, Error> {
        let request = api::AcceptClockRequest {};
        let answer = ask!(self, PartitionServiceClient::accept_clock, request)?;
        Ok(time_of(answer.time_ms))
    }

    /// The server's version.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn version(&self) -> Result<String, Error> {
        let request = api::GetVersionRequest {};
        Ok(ask!(self, PartitionServiceClient::get_version, request)?.version)
    }

    /// Asks, and asks again as long as that can help and there is time. The last error is the
    /// answer when there is none left.
    pub(crate) async fn ask<A, F>(&self, attempt: impl Fn(Channel) -> F) -> Result<A, Error>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let Inner { channel, patience, retry, .. } = &*self.inner;
        let now = Instant::now();
        let deadline = now.checked_add(*patience).unwrap_or(now);
        let late = format!("no answer within {} ms", patience.as_millis());
        let mut last = Error::new(Error::DEADLINE_EXCEEDED, late).retryable(None);
        // What an attempt has left open, no later one settles by not being taken.
        let mut is_not_written = true;
        for failures in 1.. {
            match timeout_at(deadline, attempt(channel.clone())).await {
                Ok(Ok(answer)) => return Ok(answer.into_inner()),
                Ok(Err(status)) => {
                    let Failure { error, outcome } = status.into();
                    is_not_written &= outcome == Outcome::NotWritten;
                    last = error;
                }
                Err(_) => {
                    is_not_written = false;
                    break;
                }
            }
            if !last.is_retryable() {
                break;
            }
            let delay = retry.delay(failures, last.retry_after(), &mut Dice::random());
            if deadline.saturating_duration_since(Instant::now()) <= delay {
                break;
            }
            sleep(delay).await;
        }
        Err(if is_not_written { last.with("outcome", "not_written") } else { last })
    }
}

/// Calls a method of a service, again where that is safe. Only for what can be asked twice.
macro_rules! ask {
    ($client:expr, $service:ident :: $method:ident, $request:expr) => {{
        let request = $request;
        $client
            .ask(|channel| {
                let request = request.clone();
                async move {
                    let mut service = $crate::client::services::$service::new(channel)
                        .max_decoding_message_size($crate::client::ANSWER_BYTES_MAX);
                    service.$method(request).await
                }
            })
            .await
    }};
}
pub(crate) use ask;

pub(crate) mod services {
    //! The generated clients, by their names.
    pub(crate) use seriatim_api::app_service_client::AppServiceClient;
    pub(crate) use seriatim_api::command_service_client::CommandServiceClient;
    pub(crate) use seriatim_api::partition_service_client::PartitionServiceClient;
    pub(crate) use seriatim_api::read_service_client::ReadServiceClient;
}

impl ClientBuilder {
    /// Who the server takes this client for: 1 to 255 characters. Keys belong to their client, and
    /// the commands of a client are counted in each workspace.
    ///
    /// The default is random and new for each client that is made. Set it when a command may have to
    /// be sent again by another process, such as yours after a restart: it is known by its key only
    /// from the same client id.
    #[must_use]
    pub fn client_id(self, id: impl Into<String>) -> Self {
        Self { client_id: Some(id.into()), ..self }
    }

    /// How long anything is tried before the client gives up, 30 seconds by default. It should be
    /// shorter than the retention of the apps' keys, so that no attempt outlives its key.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// How long to wait between attempts.
    #[must_use]
    pub fn retry(self, retry: RetryPolicy) -> Self {
        Self { retry, ..self }
    }

    /// The client, in the current tokio runtime.
    ///
    /// # Errors
    ///
    /// When the address is none.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn connect(self, address: &str) -> Result<Client, BadAddress> {
        let bad = || BadAddress { address: address.to_owned() };
        let endpoint = Endpoint::from_shared(address.to_owned()).map_err(|_| bad())?;
        if endpoint.uri().scheme_str() != Some("http") {
            return Err(bad());
        }
        let channel = endpoint
            .connect_timeout(CONNECT_WITHIN)
            .http2_keep_alive_interval(ALIVE_EVERY)
            .keep_alive_timeout(ALIVE_EVERY)
            .initial_stream_window_size(STREAM_BYTES)
            .initial_connection_window_size(CONNECTION_BYTES)
            .connect_lazy();
        let Self { client_id, deadline: patience, retry } = self;
        let client_id = client_id.unwrap_or_else(|| Key::random().to_string());
        let submitter = Submitter::new(client_id.clone(), channel.clone(), patience, retry);
        let inner = Arc::new(Inner { channel, client_id, patience, retry, submitter });
        Ok(Client { inner })
    }
}
