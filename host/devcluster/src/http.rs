//! HTTP/1.1 on a loopback port, for kubectl and other local programs. [`Limits`] bound the memory
//! and connections of clients.
//!
//! Every client may do everything, so requests of web pages must be refused. They have a foreign
//! `Origin`, or a foreign `Host` if their name resolves to this machine (DNS rebinding).

mod stall;

use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::uri::Authority;
use http::{HeaderMap, Request, Response, StatusCode, Uri, Version, header};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::audit::Source;
use crate::cluster;
use crate::service::{BoxError, refusal};
use crate::status::Status;
use stall::StallLimit;

/// The limits of clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of connections. Further ones wait to be accepted.
    pub connections: usize,
    /// The timeout for the head of a request and for idle connections, as in Go's server.
    pub head: Duration,
    /// The maximum size of a request's head, and of an answer's unread part.
    pub buffer: usize,
    /// The timeout for a client that does not read its answer.
    pub stall: Duration,
    /// The time in which requests may finish at shutdown.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8_192,
            head: Duration::from_secs(90),
            buffer: 64 * 1024,
            stall: Duration::from_secs(60),
            grace: Duration::from_secs(2),
        }
    }
}

/// The pause after a connection could not be accepted, probably for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A service to be served. Its errors close the connection.
pub trait Handler:
    tower_service::Service<
        Request<Incoming>,
        Response = Response<Self::Body>,
        Error: Into<BoxError>,
        Future: Future<Output = Result<Response<Self::Body>, Self::Error>> + Send,
    > + Clone
    + Send
    + 'static
{
    /// The body of its answers.
    type Body: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Unpin + Send + 'static;
}

impl<S, B> Handler for S
where
    S: tower_service::Service<Request<Incoming>, Response = Response<B>, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Unpin + Send + 'static,
{
    type Body = B;
}

/// Serves until `shutdown`. Then watches end, and other requests get [`Limits::grace`].
pub async fn serve<S: Handler>(listener: TcpListener, service: S, limits: Limits, shutdown: impl Future<Output = ()>) {
    let mut shutdown = pin!(shutdown);
    let slots = Arc::new(Semaphore::new(limits.connections));
    let ending = CancellationToken::new();
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => continue,
            accepted = accept(&listener, &slots) => accepted,
        };
        let Ok((stream, peer, slot)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (service, ending) = (service.clone(), ending.clone());
        connections.spawn(async move {
            // Answers are small and urgent. Without this option they are only slower.
            drop(stream.set_nodelay(true));
            drop(serve_connection(stream, Some(peer), service, limits, ending).await);
            drop(slot);
        });
    }
    drop(listener);
    ending.cancel();
    // Dropping the set ends the remaining connections.
    drop(tokio::time::timeout(limits.grace, async { while connections.join_next().await.is_some() {} }).await);
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(tokio::net::TcpStream, IpAddr, tokio::sync::OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer.ip(), slot))
}

/// Serves the requests of one connection.
///
/// # Errors
///
/// If the connection fails, other than by its client or `ending`.
pub async fn serve_connection<S: Handler>(
    connection: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    peer: Option<IpAddr>,
    service: S,
    limits: Limits,
    ending: CancellationToken,
) -> Result<(), BoxError> {
    let answer = hyper::service::service_fn({
        let ending = ending.clone();
        move |request| answer(service.clone(), request, peer, ending.clone())
    });
    let mut connection = pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head)
            // hyper's minimum.
            .max_buf_size(limits.buffer.max(8 * 1024))
            .serve_connection(TokioIo::new(StallLimit::new(connection, limits.stall)), answer)
    );
    tokio::select! {
        biased;
        result = &mut connection => return Ok(result?),
        () = ending.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    Ok(connection.await?)
}

async fn answer<S: Handler>(
    service: S,
    mut request: Request<Incoming>,
    peer: Option<IpAddr>,
    ending: CancellationToken,
) -> Result<Response<Outgoing<S::Body>>, BoxError> {
    let content = |response: Response<Content<S::Body>>| {
        response.map(|content| Outgoing { content, ending: Box::pin(ending.cancelled_owned()) })
    };
    if let Err(status) = check_sender(request.version(), request.uri(), request.headers()) {
        return Ok(content(refusal(&status).map(Content::Refusal)));
    }
    if let Some(peer) = peer {
        request.extensions_mut().insert(Source(peer));
    }
    match without_panic(service, request).await {
        Some(result) => Ok(content(result.map_err(Into::into)?.map(Content::Answer))),
        // The panic hook has reported the place.
        None => {
            tracing::error!("a request caused a panic");
            let status = Status::internal("this request caused the server to panic");
            Ok(content(refusal(&status).map(Content::Refusal)))
        }
    }
}

/// Returns `None` if the service panics, which must not affect other clients.
async fn without_panic<S: Handler>(mut service: S, request: Request<Incoming>) -> Option<Result<Response<S::Body>, S::Error>> {
    let mut answering = pin!(async move {
        std::future::poll_fn(|context| service.poll_ready(context)).await?;
        service.call(request).await
    });
    std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(context))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    })
    .await
}

/// Refuses requests of web pages from other sites.
fn check_sender(version: Version, uri: &Uri, headers: &HeaderMap) -> Result<(), Status> {
    let forbidden = |message: String| Err(Status::new(StatusCode::FORBIDDEN, "Forbidden", format!("forbidden: {message}")));
    let mut hosts = headers.get_all(header::HOST).into_iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(Status::bad_request("too many Host headers"));
    }
    if host.is_none() && version >= Version::HTTP_11 {
        return Err(Status::bad_request("missing required Host header"));
    }
    let is_loopback = |host: &[u8]| Authority::try_from(host).is_ok_and(|authority| is_loopback(authority.host()));
    if host.is_some_and(|host| !is_loopback(host.as_bytes())) || uri.host().is_some_and(|host| !self::is_loopback(host)) {
        return forbidden("the Host of a request to this development server must be a loopback name or address".to_owned());
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let uri = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
        if !uri.is_some_and(|uri| uri.host().is_some_and(self::is_loopback)) {
            return forbidden(format!("pages of the origin {origin:?} may not use this development server"));
        }
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    let name = host.to_ascii_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name);
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost") || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

struct Outgoing<B> {
    content: Content<B>,
    ending: Pin<Box<WaitForCancellationFutureOwned>>,
}

enum Content<B> {
    Refusal(cluster::Body),
    Answer(B),
}

impl<B> http_body::Body for Outgoing<B>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = match &mut self.content {
            Content::Refusal(body) => Pin::new(body).poll_frame(context).map_err(Into::into),
            Content::Answer(body) => Pin::new(body).poll_frame(context).map_err(Into::into),
        };
        if frame.is_pending() && self.ending.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Refusal(body) => body.is_end_stream(),
            Content::Answer(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Refusal(body) => body.size_hint(),
            Content::Answer(body) => body.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &'static str)], uri: &str, expected: u16) {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), http::HeaderValue::from_static(value)))
            .collect();
        let found = check_sender(Version::HTTP_11, &uri.parse().unwrap(), &headers);
        assert_eq!(found.map_or_else(|status| status.code.as_u16(), |()| 200), expected, "{headers:?} {uri}");
    }

    #[test]
    fn programs_on_this_machine_are_served() {
        for host in
            ["localhost", "LOCALHOST:80", "a.localhost", "localhost.", "127.0.0.1:8001", "127.9.9.9", "[::1]:80", "[::1]"]
        {
            check(&[("host", host)], "/", 200);
        }
        check(&[("host", "localhost"), ("origin", "http://localhost:3000")], "/", 200);
        check(&[("host", "localhost")], "http://127.0.0.1/api", 200);
    }

    #[test]
    fn web_pages_of_other_sites_are_refused() {
        for host in
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "", "a b", "0.0.0.0"]
        {
            check(&[("host", host)], "/", 403);
        }
        check(&[("host", "localhost")], "http://evil.example/api", 403);
        check(&[("host", "localhost"), ("origin", "https://evil.example")], "/", 403);
        check(&[("host", "localhost"), ("origin", "null")], "/", 403);
        check(&[("host", "localhost"), ("host", "evil.example")], "/", 400);
        check(&[], "/", 400);
    }
}
