//! What all handlers share: the node, and how it is asked off the async threads.

use std::sync::Arc;
use std::time::Duration;

use seriatim::service::{self, SYSTEM};
use seriatim_api::code::ErrorCode;
use seriatim_codec::PartitionPrefix;
use seriatim_core::SYSTEM_NAME;
use seriatim_node::{AskError, Clock, Node, RETRY_AFTER, Reader, State, View};
use seriatim_types::{Name, PartitionId, PartitionRef, Time, WorkspaceRef};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinError;

use crate::error::{ApiError, Fact};
use crate::metrics::Metrics;
use crate::overload::memory_budget::{Budgets, MemoryBudget, Reservation, Reserved};
use crate::overload::reader_pool::ReaderPool;
use crate::overload::slow_responses::LARGE_BYTES;
use crate::settings::Settings;

/// How long to wait for a place among those who follow something.
const PLACE_AFTER: Duration = Duration::from_secs(1);

/// Reads of all apps at the same time. How large they are is not known before they are read, so they
/// are few.
const APP_READERS_MAX: usize = 4;

/// What all handlers share.
pub(crate) struct Context {
    pub(crate) node: Arc<Node>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Settings,
    /// Whether only this machine can reach the server.
    pub(crate) is_local: bool,
    pub(crate) metrics: Metrics,
    pub(crate) budgets: Budgets,
    pub(crate) readers: ReaderPool,
    /// As many permits as there may be reads of all apps more.
    app_readers: Semaphore,
    /// As many permits as there may be streams of commands more.
    submit_streams: Arc<Semaphore>,
    /// As many permits as there may be subscriptions more.
    subscriptions: Arc<Semaphore>,
    /// Whether the server is to end.
    pub(crate) ending: watch::Receiver<bool>,
}

impl Context {
    pub(crate) fn new(
        node: Arc<Node>,
        readers: ReaderPool,
        clock: Arc<dyn Clock>,
        settings: Settings,
        is_local: bool,
        ending: watch::Receiver<bool>,
    ) -> Self {
        Self {
            clock,
            is_local,
            metrics: Metrics::new(&node),
            node,
            budgets: Budgets::new(settings.held_bytes_max),
            readers,
            app_readers: Semaphore::new(APP_READERS_MAX),
            submit_streams: Arc::new(Semaphore::new(settings.submit_streams_max)),
            subscriptions: Arc::new(Semaphore::new(settings.subscriptions_max)),
            settings,
            ending,
        }
    }

    /// A place among those who follow something, if one is left.
    pub(crate) fn subscribe(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        self.subscriptions.clone().try_acquire_owned().map_err(|_| {
            let most = self.settings.subscriptions_max;
            let error =
                ApiError::new(ErrorCode::RateLimited, format!("{most} subscriptions are open"));
            error.retryable_after(PLACE_AFTER)
        })
    }

    /// A place among those who send commands in a stream, if one is left.
    pub(crate) fn begin_stream(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        self.submit_streams.clone().try_acquire_owned().map_err(|_| {
            let most = self.settings.submit_streams_max;
            let error = ApiError::new(ErrorCode::RateLimited, format!("{most} streams are open"));
            error.retryable_after(PLACE_AFTER)
        })
    }

    /// Ends once the server is to end.
    pub(crate) async fn ended(&self) {
        let mut ending = self.ending.clone();
        // A sender that is gone has ended too.
        drop(ending.wait_for(|is_ending| *is_ending).await);
    }

    /// The time for reads. A clock that cannot be believed leaves it to the partition's own.
    pub(crate) fn now(&self) -> Time {
        self.clock.now().unwrap_or(Time(0))
    }

    /// The partition of a workspace that is to be read. An app that is there is found in memory;
    /// only a name that no app has is looked for in the store, so this may be called on an async
    /// thread.
    pub(crate) fn partition_of(
        &self,
        app: &Name,
        workspace: &WorkspaceRef,
    ) -> Result<PartitionRef, ApiError> {
        self.node.partition_of(app, workspace).map_err(|error| self.not_asked(error))
    }

    /// The same of a workspace that is to be written. The system's app is only to be read.
    pub(crate) fn partition_to_write(
        &self,
        app: &Name,
        workspace: &WorkspaceRef,
    ) -> Result<PartitionRef, ApiError> {
        if app.as_str() == SYSTEM_NAME {
            let why = "the app of this name is Seriatim's own, and may only be read";
            return Err(ApiError::new(ErrorCode::PermissionDenied, why));
        }
        self.partition_of(app, workspace)
    }

    /// Why something could not be asked: while the apps cannot be read, none is missing.
    pub(crate) fn not_asked(&self, error: AskError) -> ApiError {
        service::not_asked(&self.node, error)
    }

    /// Whether readers can see the partition: why not, if not.
    pub(crate) fn check_serves(&self, partition: PartitionRef) -> Result<(), ApiError> {
        self.view(partition).map(drop)
    }

    /// What every partition is doing, by the name of its app.
    pub(crate) fn partitions(&self) -> Vec<(String, PartitionId, State)> {
        let named = |(PartitionRef { app, partition }, doing)| {
            let name = self.node.app_name(app);
            (name.map_or_else(|| app.to_string(), |name| name.to_string()), partition, doing)
        };
        self.node.partitions().into_iter().map(named).collect()
    }

    /// Asks the node something that waits, off the async threads.
    pub(crate) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        ask: impl FnOnce(&Self) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let context = self.clone();
        let asked = tokio::task::spawn_blocking(move || ask(&context)).await;
        asked.unwrap_or_else(|cut_off| Err(not_answered(&cut_off)))
    }

    /// The same for something that writes: it may have been written before its thread came to a fault.
    pub(crate) async fn ask_to_write<T: Send + 'static>(
        self: &Arc<Self>,
        ask: impl FnOnce(&Self) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let context = self.clone();
        let asked = tokio::task::spawn_blocking(move || ask(&context)).await;
        asked.unwrap_or_else(|cut_off| match not_answered(&cut_off) {
            fault if cut_off.is_panic() => Err(fault.unread()),
            ends => Err(ends),
        })
    }

    /// The same for something that reads, once it is its turn.
    pub(crate) async fn ask_reader<T: Send + 'static>(
        self: &Arc<Self>,
        ask: impl FnOnce(&Self) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let _turn = self.readers.turn().await;
        let context = self.clone();
        let asked = self.readers.spawn(move || ask(&context)).await;
        asked.unwrap_or_else(|cut_off| Err(not_answered(&cut_off)))
    }

    /// Reserves memory for a read before it begins. Whoever waits for it takes its turn, for a bounded
    /// time.
    pub(crate) async fn reserve(
        &self,
        bytes: usize,
        within: Duration,
    ) -> Result<Reservation, ApiError> {
        self.reserve_from(&self.budgets.reading, bytes, within).await
    }

    /// The same for an answer that is not sent yet.
    pub(crate) async fn reserve_unsent(
        &self,
        bytes: usize,
        within: Duration,
    ) -> Result<Reservation, ApiError> {
        self.reserve_from(&self.budgets.unsent, bytes, within).await
    }

    async fn reserve_from(
        &self,
        budget: &Arc<MemoryBudget>,
        bytes: usize,
        within: Duration,
    ) -> Result<Reservation, ApiError> {
        if let Ok(reservation) = budget.try_reserve(bytes) {
            return Ok(reservation);
        }
        tokio::select! {
            reserved = budget.reserve(bytes, within) => reserved,
            () = self.ended() => Err(server_ends()),
        }
    }

    /// Reads apps, as many as there are, and writes an answer of `size` bytes from them. Few do so at
    /// the same time, until the answer has its memory.
    pub(crate) async fn read_apps<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Self) -> Result<T, ApiError> + Send + 'static,
        size: impl FnOnce(&T) -> usize,
    ) -> Result<Reserved<T>, ApiError> {
        let _permit = self.app_readers.acquire().await.expect("permits are never closed");
        self.check_serves(SYSTEM)?;
        let value = self.ask_reader(read).await?;
        let bytes = Some(size(&value)).filter(|bytes| *bytes > LARGE_BYTES).unwrap_or(0);
        let reservation = self.reserve_unsent(bytes, self.settings.reserve_within).await?;
        Ok(Reserved { value, reservation })
    }

    /// Asks for something to be written about apps, once they are known.
    pub(crate) async fn ask_apps<T: Send + 'static>(
        self: &Arc<Self>,
        ask: impl FnOnce(&Self) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.check_serves(SYSTEM)?;
        self.ask_to_write(ask).await
    }

    /// Reads a partition as it is now, off the async threads. What is read and answered is small.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        partition: PartitionRef,
        read: impl FnOnce(&Reader<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.read_view(partition, move |reader, _| read(reader)).await
    }

    /// The same for whoever wants to know of which moment it is.
    pub(crate) async fn read_view<T: Send + 'static>(
        self: &Arc<Self>,
        partition: PartitionRef,
        read: impl FnOnce(&Reader<'_>, &View) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let read = move |context: &Self| {
            let (view, prefix) = context.view(partition)?;
            read(&Reader::new(&view, prefix, context.node.schema()), &view)
        };
        self.ask_reader(read).await
    }

    /// The same for an answer that has its memory. The read owns the reservation: it goes on when
    /// nobody waits for it any more.
    pub(crate) async fn read_reserved<T: Send + 'static>(
        self: &Arc<Self>,
        partition: PartitionRef,
        reservation: Reservation,
        read: impl FnOnce(&Reader<'_>, &View) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<Reserved<T>, ApiError> {
        let read = move |reader: &Reader<'_>, view: &View| {
            Ok(Reserved { value: read(reader, view)?, reservation })
        };
        self.read_view(partition, read).await
    }

    /// Reads a partition as it is now, on a thread that may wait.
    pub(crate) fn read_here<T>(
        &self,
        partition: PartitionRef,
        read: impl FnOnce(&Reader<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let (view, prefix) = self.view(partition)?;
        read(&Reader::new(&view, prefix, self.node.schema()))
    }

    fn view(&self, partition: PartitionRef) -> Result<(View, PartitionPrefix), ApiError> {
        Ok(service::view(&self.node, partition)?)
    }
}

/// Why a thread gave no answer.
fn not_answered(cut_off: &JoinError) -> ApiError {
    if cut_off.is_panic() {
        let why = "a fault of Seriatim's own: please report what was asked";
        return ApiError::new(ErrorCode::PartitionStopped, why);
    }
    server_ends()
}

/// The refusal of what was not begun when the server was told to end.
fn server_ends() -> ApiError {
    let ends = ApiError::new(ErrorCode::Busy, "the server ends").retryable_after(RETRY_AFTER);
    ends.with("reason", Fact::Text("interrupted".to_owned()))
}
