//! The connections to the API server, built as in kube, with four additions: TCP_NODELAY; the check
//! of a write's claim immediately before it is sent; a time limit for acknowledgements; and read
//! buffers of a fixed size.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Uri};
use http_body::{Frame, SizeHint};
use hyper::rt::{Read, Write};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::SocksV5;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::{Body, ConfigExt as _};
use tower::ServiceBuilder;
use tower::util::service_fn;
use tower_service::Service;

use crate::client::connection::Connection;
use crate::client::proxy::{proxy, tunnel};
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
/// As [`kube::Client::try_from`].
pub fn connection(config: Config, arrives_within: Option<Duration>) -> Result<Connection, kube::Error> {
    let proxy = proxy(&config)?;
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    // With Nagle's algorithm, a body would wait up to 40 ms for the acknowledgement of its head.
    connector.set_nodelay(true);
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(arrives_within);
    #[cfg(not(target_os = "linux"))]
    let _ = arrives_within;
    let Some(proxy) = proxy else { return pooled(&config, connector) };
    match proxy.uri().scheme_str() {
        Some("https") => {
            // Its certificate is one of the system's, and not of the cluster.
            let to_proxy = Config::new(proxy.uri().clone());
            pooled(&config, tunnel(&proxy, to_proxy.rustls_https_connector_with_connector(connector)?))
        }
        Some("http") => pooled(&config, tunnel(&proxy, connector)),
        _ => {
            let connector = SocksV5::new(proxy.uri().clone(), connector);
            match proxy.raw_auth() {
                Some((user, password)) => pooled(&config, connector.with_auth(user.to_owned(), password.to_owned())),
                None => pooled(&config, connector),
            }
        }
    }
}

/// A pool of connections that `connector` makes to the API server, with TLS.
fn pooled<C>(config: &Config, connector: C) -> Result<Connection, kube::Error>
where
    C: Service<Uri, Error: Into<BoxError>> + Clone + Send + Sync + 'static,
    C::Response: hyper_util::client::legacy::connect::Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
{
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
        .service(service_fn(move |request: Request<Body>| {
            let claim = request.extensions().get::<Claim>().cloned();
            let sent = connections.request(request.map(|inner| Claimed { inner, claim }));
            async move { Ok::<_, BoxError>(sent.await?) }
        }));
    Ok(Connection::new(service, config.default_namespace.clone()))
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
    use std::sync::Arc;
    use std::sync::atomic::AtomicU16;

    use parking_lot::Mutex;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::client::tls_server::{Certificate, serve};
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

    /// Accepts one CONNECT, connects it to `server` whatever its target is, and returns its head.
    async fn connect_once(listener: &TcpListener, server: std::net::SocketAddr) -> String {
        let (mut host, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") && host.read_buf(&mut head).await.unwrap() > 0 {}
        host.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
        let mut server = TcpStream::connect(server).await.unwrap();
        // Either side may end it by a reset.
        let _ = copy_bidirectional(&mut host, &mut server).await;
        String::from_utf8(head).unwrap()
    }

    #[tokio::test]
    async fn a_proxy_connects_to_an_api_server_whose_name_only_it_knows() {
        let (listener, proxy) =
            (TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let (server, certificate) = (listener.local_addr().unwrap(), Certificate::of("api.invalid"));
        tokio::spawn(serve(listener, Arc::new(Mutex::new(certificate.acceptor)), Arc::new(AtomicU16::new(204))));
        let mut config = Config::new("https://api.invalid:6443".parse().unwrap());
        config.root_cert = Some(vec![certificate.der]);
        config.proxy_url = Some(format!("http://me:word@{}", proxy.local_addr().unwrap()).parse().unwrap());
        let client = connection(config, Some(Duration::from_secs(5))).unwrap().client();
        let request = Request::get("/version").body(Body::empty()).unwrap();
        let (answer, head) = tokio::join!(client.send(request), connect_once(&proxy, server));
        assert_eq!(answer.unwrap().status(), 204);
        assert!(head.starts_with("CONNECT api.invalid:6443 HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nProxy-Authorization: Basic bWU6d29yZA==\r\n"), "{head}");
    }
}
