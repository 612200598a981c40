//! A connection of HTTP/2 that sends what no good client would.

use std::future::poll_fn;
use std::pin::pin;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tonic::{Code, Status};

use crate::world::{PATIENCE, World};

/// A connection.
pub(crate) struct Raw {
    runtime: Handle,
    connection: SendRequest<Body>,
    /// Bodies of answers that nobody reads.
    unread: Vec<Incoming>,
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub(crate) http: StatusCode,
    headers: HeaderMap,
    trailers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl RawAnswer {
    /// The status of gRPC, unless it is well.
    pub(crate) fn status(&self) -> Option<Status> {
        let found = Status::from_header_map(&self.headers);
        let status = found.or_else(|| Status::from_header_map(&self.trailers));
        let status = status.unwrap_or_else(|| panic!("a status: {self:?}"));
        (status.code() != Code::Ok).then_some(status)
    }
}

impl Raw {
    pub(crate) fn connect(world: &World) -> Self {
        Self::built(world, &Builder::new(TokioExecutor::new()))
    }

    /// One that takes the heads of answers and nothing of their bodies.
    pub(crate) fn deaf(world: &World) -> Self {
        Self::built(world, Builder::new(TokioExecutor::new()).initial_stream_window_size(0))
    }

    fn built(world: &World, builder: &Builder<TokioExecutor>) -> Self {
        let runtime = world.runtime.handle().clone();
        let connection = runtime.block_on(async {
            let stream = TcpStream::connect(world.address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (connection, io) = builder.handshake(TokioIo::new(stream)).await.unwrap();
            tokio::spawn(io);
            connection
        });
        Self { runtime, connection, unread: Vec::new() }
    }

    /// Asks for something, and reads only the status.
    pub(crate) fn head(&mut self, path: &str) -> StatusCode {
        let request = Request::get(format!("http://localhost{path}")).body(Body::empty()).unwrap();
        let connection = &mut self.connection;
        let answered = async {
            connection.ready().await.unwrap();
            connection.send_request(request).await.unwrap()
        };
        let (head, body) = self.runtime.block_on(answered).into_parts();
        self.unread.push(body);
        head.status
    }

    /// Calls a method with one message.
    pub(crate) fn call(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        message: &[u8],
    ) -> RawAnswer {
        self.send(path, headers, framed(message)).unwrap()
    }

    /// Sends a body as it is.
    pub(crate) fn send(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<RawAnswer, hyper::Error> {
        let mut request = Request::post(format!("http://localhost{path}"));
        request = request.header("content-type", "application/grpc").header("te", "trailers");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.ask(request.body(Body::from(Bytes::from(body))).unwrap())
    }

    /// Asks anything.
    pub(crate) fn ask(&mut self, request: Request<Body>) -> Result<RawAnswer, hyper::Error> {
        let connection = &mut self.connection;
        let answer = async {
            connection.ready().await?;
            let (head, body) = connection.send_request(request).await?.into_parts();
            let mut body = pin!(body);
            let mut answer = RawAnswer {
                http: head.status,
                headers: head.headers,
                trailers: HeaderMap::new(),
                body: Vec::new(),
            };
            while let Some(frame) = poll_fn(|task| body.as_mut().poll_frame(task)).await {
                match frame?.into_data() {
                    Ok(data) => answer.body.extend_from_slice(&data),
                    Err(frame) => answer.trailers = frame.into_trailers().unwrap_or_default(),
                }
            }
            Ok(answer)
        };
        let limit = |answer| async { tokio::time::timeout(PATIENCE, answer).await };
        self.runtime.block_on(limit(answer)).expect("no request hangs")
    }
}

/// A message as it stands in a body.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], length.as_slice(), message].concat()
}
