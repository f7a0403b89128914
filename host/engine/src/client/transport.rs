//! The connections to the API server, built as in kube, with four additions: TCP_NODELAY; the check
//! of a write's claim immediately before it is sent; a time limit for acknowledgements; and read
//! buffers of a fixed size.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config};
use tower::ServiceBuilder;
use tower_service::Service;

use crate::client::connection::Connection;
use crate::leadership::claim::Claim;

/// The read buffer, and the longest response head, in bytes. hyper's own buffer grows to 400 KiB,
/// which a watch would keep.
const READ_BUFFER: usize = 16 << 10;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Returns the connection to the API server.
///
/// # Guarantees
///
/// - A request with a body, and a [`Claim`] among its extensions, is not sent completely once the
///   claim is lost.
/// - What was sent arrives within `arrives_within` or never, because a longer partition ends the
///   connection. This assumes that the peer is the API server, or a proxy that acknowledges only
///   what it has passed on.
///
/// # Errors
///
/// As [`Client::try_from`].
pub fn connection(config: Config, arrives_within: Option<Duration>) -> Result<Connection, kube::Error> {
    if config.proxy_url.is_some() {
        return Ok(Client::try_from(config)?.into());
    }
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    // With Nagle's algorithm, a body would wait up to 40 ms for the acknowledgement of its head.
    connector.set_nodelay(true);
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(arrives_within);
    #[cfg(not(target_os = "linux"))]
    let _ = arrives_within;
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(connector)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let connections = legacy::Builder::new(TokioExecutor::new()).http1_read_buf_exact_size(READ_BUFFER).build(connector);
    let service = ServiceBuilder::new()
        .option_layer(config.auth_layer()?)
        .layer(config.base_uri_layer())
        .layer(config.extra_headers_layer()?)
        .service(Connections(connections));
    Ok(Connection::new(service, config.default_namespace))
}

#[derive(Clone)]
struct Connections<C>(legacy::Client<C, Claimed<Body>>);

impl<C> Service<Request<Body>> for Connections<C>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let claim = request.extensions().get::<Claim>().cloned();
        let sent = self.0.request(request.map(|inner| Claimed { inner, claim }));
        Box::pin(async move { Ok(sent.await?) })
    }
}

/// A body that is polled immediately before it is sent. Without the claim, the connection is
/// closed.
struct Claimed<B> {
    inner: B,
    claim: Option<Claim>,
}

impl<B> http_body::Body for Claimed<B>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(claim) = &self.claim {
            claim.check()?;
        }
        Pin::new(&mut self.inner).poll_frame(context).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::leadership::claim::ClaimSender;

    async fn received(listener: &TcpListener) -> String {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        while stream.read_buf(&mut bytes).await.unwrap() > 0 {
            if bytes.ends_with(b"body") {
                stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await.unwrap();
                break;
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn a_connection_sends_no_write_whose_claim_is_lost() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let client = connection(Config::new(url), Some(Duration::from_secs(5))).unwrap().client();
        let (holder, claim) = ClaimSender::new();
        let write = || {
            let mut request = Request::post("/api").body(Body::from(b"body".to_vec())).unwrap();
            request.extensions_mut().insert(claim.clone());
            client.send(request)
        };
        holder.hold_until(tokio::time::Instant::now() + Duration::from_secs(3600));
        let (sent, text) = tokio::join!(write(), received(&listener));
        assert!(sent.is_ok() && text.starts_with("POST /api HTTP/1.1\r\n") && text.ends_with("\r\n\r\nbody"), "{text}");
        holder.lose();
        let (sent, text) = tokio::join!(write(), received(&listener));
        assert!(sent.is_err() && !text.contains("body"), "{text}");
    }
}
