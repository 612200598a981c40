//! The way to a server.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use seriatim_api::message::{
    App as AppInfo, Apps, ClockAccepted, Empty, PartitionStatus, Partitions, Version,
};
use seriatim_api::method::MethodId;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::transport::{Channel, Endpoint};

use crate::app::App;
use crate::error::{Error, Outcome};
use crate::failure::Failure;
use crate::http::{Answered, Request};
use crate::key::Key;
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
        let request = Request::of(MethodId::ListApps, &[])?;
        Ok(self.ask::<Apps>(request).await?.apps)
    }

    /// All partitions of the server, and what they are doing.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn partitions(&self) -> Result<Vec<PartitionStatus>, Error> {
        let request = Request::of(MethodId::ListPartitions, &[])?;
        Ok(self.ask::<Partitions>(request).await?.partitions)
    }

    /// Vouches for the server's clock, which is then believed although it is far ahead. Returns the
    /// time that it shows.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn accept_clock(&self) -> Result<ClockAccepted, Error> {
        self.ask(Request::of(MethodId::AcceptClock, &[])?.body(&Empty {})).await
    }

    /// The server's version.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn version(&self) -> Result<String, Error> {
        let request = Request::of(MethodId::Version, &[])?;
        Ok(self.ask::<Version>(request).await?.version)
    }

    /// Asks for something, and asks again as long as that can help and there is time.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T, Error> {
        Ok(self.ask_whole(request).await?.body)
    }

    /// The same with all that was answered. The last error is the answer when there is no time left;
    /// what it says was not written, an attempt before it may have written.
    pub(crate) async fn ask_whole<T: DeserializeOwned>(
        &self,
        request: Request,
    ) -> Result<Answered<T>, Error> {
        let Inner { channel, patience, retry, .. } = &*self.inner;
        let now = Instant::now();
        let deadline = now.checked_add(*patience).unwrap_or(now);
        let late = format!("no answer within {} ms", patience.as_millis());
        let mut last = Error::new(Error::DEADLINE_EXCEEDED, late).retryable(None);
        let mut may_be_written = false;
        for failures in 1.. {
            let attempt = request.clone().send(channel.clone());
            let Ok(answered) = timeout_at(deadline, attempt).await else {
                may_be_written = true;
                break;
            };
            let Failure { error, outcome } = match answered {
                Ok(answered) => return Ok(answered),
                Err(failure) => failure,
            };
            may_be_written |= outcome == Outcome::Unknown;
            last = error.with_outcome(outcome);
            if !last.is_retryable() {
                break;
            }
            let delay = retry.delay(failures, last.retry_after(), &mut Dice::random());
            if deadline.saturating_duration_since(Instant::now()) <= delay {
                break;
            }
            sleep(delay).await;
        }
        let is_open = may_be_written && last.outcome() != Some(Outcome::Refused);
        Err(if is_open { last.with_outcome(Outcome::Unknown) } else { last })
    }
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
