//! A server with TLS, for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

pub(super) struct Certificate {
    pub(super) der: Vec<u8>,
    pub(super) acceptor: TlsAcceptor,
}

impl Certificate {
    /// A certificate that signs itself.
    pub(super) fn of(host: &str) -> Self {
        let made = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
        let der = made.cert.der().to_vec();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let config = config.with_single_cert(vec![CertificateDer::from(der.clone())], key).unwrap();
        Self { der, acceptor: TlsAcceptor::from(Arc::new(config)) }
    }
}

/// Answers each request with the code, over a connection of its own.
pub(super) async fn serve(listener: TcpListener, acceptor: Arc<Mutex<TlsAcceptor>>, code: Arc<AtomicU16>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let acceptor = acceptor.lock().clone();
        let Ok(mut stream) = acceptor.accept(stream).await else { continue };
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") && stream.read_buf(&mut head).await.unwrap() > 0 {}
        let code = code.load(Ordering::Relaxed);
        let answer = format!("HTTP/1.1 {code} Code\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
    }
}
