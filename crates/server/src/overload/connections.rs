//! Connections: at most so many at once, each within its limits, until the server ends.
//!
//! ```text
//!  accept ─► HTTP/1.1 or HTTP/2, whichever is spoken ─► router
//!    └ a place, given back at the end                    end: GOAWAY or `connection: close`,
//!                                                             answers in flight, then closed
//! ```
//!
//! Each connection holds a handle of the process, and a store that finds no handle left has to
//! stop. So the next one waits to be accepted, and one that asks nothing, or reads nothing of what it
//! has asked for, loses its place.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};
use tonic::codegen::Service;

use crate::overload::memory_budget::MemoryBudget;
use crate::overload::slow_responses::Watch;
use crate::settings::Settings;

/// How long to wait when the machine gives no connection, for lack of handles or memory.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// How long a client that still sends is listened to after the last answer. Closing at once would
/// tear down the connection, and with it an answer that the client has not read yet.
const LINGER: Duration = Duration::from_secs(1);

/// The framework reads no less at a time.
const HEADER_BYTES_LEAST: usize = 8 * 1024;

/// What a client may send before it is read: of one stream, and of one connection.
///
/// The framework ends a connection whose unread pieces are too many for their size: each that is
/// below 256 bytes counts for what it lacks, and all may come to half of the connection's window. So
/// streams that are not read, each full of the smallest commands in pieces of their own, are held
/// back by their windows first: four of them.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 16 * 1024 * 1024;

/// A socket, and what is answered on it.
pub(crate) struct Connections {
    pub(crate) listener: TcpListener,
    pub(crate) router: Router,
    /// Memory for answers that are not sent yet.
    pub(crate) budget: Arc<MemoryBudget>,
    pub(crate) settings: Settings,
    /// Whether the server is to end.
    pub(crate) ending: watch::Receiver<bool>,
}

impl Connections {
    /// Serves until the server ends and all connections have.
    pub(crate) async fn serve(self) {
        let Self { listener, router, budget, settings, mut ending } = self;
        let builder = Arc::new(builder(&settings));
        let places = Arc::new(Semaphore::new(settings.connections_max));
        let is_ending = ending.clone();
        let mut ended = pin!(ending.wait_for(|is_ending| *is_ending));
        let mut open = JoinSet::new();
        loop {
            let connection = tokio::select! {
                _ = &mut ended => break,
                Some(_) = open.join_next() => continue,
                connection = accept(&listener, &places) => connection,
            };
            let (stream, place) = connection;
            let connection = Connection {
                stream,
                stalled: Stalled::new(settings.unread_within),
                ending: is_ending.clone(),
                linger: None,
                _place: place,
            };
            let watch = Watch {
                budget: budget.clone(),
                within: settings.unread_within,
                is_stalled: Arc::default(),
            };
            open.spawn(converse(
                builder.clone(),
                connection,
                (router.clone(), watch),
                settings.header_within,
                is_ending.clone(),
            ));
        }
        drop(listener);
        while open.join_next().await.is_some() {}
    }
}

type Builder = auto::Builder<TokioExecutor>;

fn builder(settings: &Settings) -> Builder {
    let header_bytes_max = settings.header_bytes_max.max(HEADER_BYTES_LEAST);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.header_within)
        .max_headers(settings.headers_max)
        .max_buf_size(header_bytes_max);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(header_bytes_max).unwrap_or(u32::MAX))
        .max_concurrent_streams(settings.streams_per_connection_max)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .keep_alive_interval(settings.keep_alive)
        .keep_alive_timeout(settings.keep_alive);
    builder
}

/// The next connection, once there is a place for it.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, OwnedSemaphorePermit) {
    let place = places.clone().acquire_owned().await.expect("places are never closed");
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are whole when they are written, so waiting for more only delays them.
                // A connection that is gone already shows when it is read.
                drop(stream.set_nodelay(true));
                return (stream, place);
            }
            Err(error) if is_of_the_client(&error) => {}
            Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
        }
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Answers what is asked on a connection, until one of the two ends.
async fn converse(
    builder: Arc<Builder>,
    connection: Connection,
    (router, watch): (Router, Watch),
    first_within: Duration,
    mut ending: watch::Receiver<bool>,
) {
    let has_asked = Arc::new(AtomicBool::new(false));
    let asked = has_asked.clone();
    let is_stalled = watch.is_stalled.clone();
    let answer = service_fn(move |request: Request<Incoming>| {
        asked.store(true, Ordering::Relaxed);
        let (method, watch) = (request.method().clone(), watch.clone());
        let answered = router.clone().call(request.map(Body::new));
        async move { answered.await.map(|answer| watch.watched(&method, answer)) }
    });
    let mut served = pin!(builder.serve_connection(TokioIo::new(connection), answer));
    let mut silent = pin!(tokio::time::sleep(first_within));
    let mut is_new = true;
    loop {
        tokio::select! {
            // What went wrong is known to the client, or the client is gone.
            _ = &mut served => return,
            // It does not drain a response.
            () = is_stalled.notified() => return,
            // Whoever says nothing is not told anything either.
            () = &mut silent, if is_new => {
                if !has_asked.load(Ordering::Relaxed) {
                    return;
                }
                is_new = false;
            }
            _ = ending.wait_for(|is_ending| *is_ending) => break,
        }
    }
    served.as_mut().graceful_shutdown();
    drop(served.await);
}

/// A connection, and the place that it gives back when it ends.
struct Connection {
    stream: TcpStream,
    stalled: Stalled,
    ending: watch::Receiver<bool>,
    linger: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

/// How long nothing can be written, because the client reads nothing.
struct Stalled {
    within: Duration,
    is_waiting: bool,
    /// Fires when it has been too long. Kept for the next time.
    too_long: Option<Pin<Box<Sleep>>>,
}

impl Stalled {
    fn new(within: Duration) -> Self {
        Self { within, is_waiting: false, too_long: None }
    }

    /// What came of an attempt to write: an error, if the first one that had to wait is too long ago.
    fn check<T>(
        &mut self,
        task: &mut TaskContext<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let was_waiting = std::mem::replace(&mut self.is_waiting, written.is_pending());
        if written.is_ready() {
            return written;
        }
        let now = Instant::now();
        let until = now.checked_add(self.within).unwrap_or(now);
        let too_long =
            self.too_long.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if !was_waiting {
            too_long.as_mut().reset(until);
        }
        too_long.as_mut().poll(task).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(task, to)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(task, bytes);
        self.stalled.check(task, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(task)
    }

    /// Says that nothing more comes, and takes what the client still sends for a while.
    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(task))?;
            self.linger = Some(Box::pin(tokio::time::sleep(LINGER)));
        }
        let this = self.get_mut();
        let mut dropped = [0; 8 * 1024];
        loop {
            let is_over = this.linger.as_mut().is_none_or(|it| it.as_mut().poll(task).is_ready());
            if is_over || *this.ending.borrow() {
                return Poll::Ready(Ok(()));
            }
            let mut dropped = ReadBuf::new(&mut dropped);
            let read = ready!(Pin::new(&mut this.stream).poll_read(task, &mut dropped));
            if read.is_err() || dropped.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(task, parts);
        self.stalled.check(task, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
