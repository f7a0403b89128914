//! Registries with TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::serve::Listener;
use gyre_registry::{Digest, Error, Registries, Settings};
use http::Method;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::server::TlsStream;

use super::client::{Folder, expect, settings};
use super::server::{Registry, redirect};

struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = self.listener.accept().await.unwrap();
            // A client that does not trust the certificate goes away.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A registry with a certificate that signs itself, in PEM.
async fn stage() -> (Registry, String) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = config.with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let listener = TlsListener { listener, acceptor: TlsAcceptor::from(Arc::new(config)) };
    let registry = Registry::serve(listener, address);
    registry.put_component("1", b"component");
    (registry, made.cert.pem())
}

fn client(folder: &Folder, pem: &str, insecure: &[&str]) -> Registries {
    let path = folder.path().join("ca.pem");
    std::fs::write(&path, pem).unwrap();
    Registries::new(Settings { ca_bundle: Some(path), ..settings(insecure) }).unwrap()
}

#[tokio::test]
async fn a_certificate_is_trusted_by_the_bundle_and_not_without_it() {
    let ((registry, pem), folder) = (stage().await, Folder::new());
    folder.pull(&client(&folder, &pem, &[]), &registry, "1").await.unwrap();
    let (_, other) = stage().await;
    for stranger in [Registries::new(settings(&[])).unwrap(), client(&folder, &other, &[])] {
        let error = expect(stranger.resolve(&registry.reference("1")).await, "cannot be reached");
        assert!(matches!(error, Error::Unreachable { .. }));
    }
}

#[tokio::test]
async fn a_registry_with_tls_never_leads_to_a_place_without() {
    let ((registry, pem), plain, folder) = (stage().await, Registry::start().await, Folder::new());
    let client = client(&folder, &pem, &[&plain.host()]);
    let place = format!("http://{}/a", plain.host());
    let blob = format!("/blobs/{}", Digest::of(b"component"));
    registry.on(Method::GET, &blob, 1, move |_| redirect(&place));
    let error = expect(folder.pull(&client, &registry, "1").await, "which has no TLS");
    assert!(matches!(error, Error::PlainHttp { .. }));
    assert!(plain.seen().is_empty());
}

#[tokio::test]
async fn plain_http_is_for_the_registries_that_are_named_only() {
    let (registry, folder) = (Registry::start().await, Folder::new());
    registry.put_component("1", b"component");
    let error = expect(folder.pull(&Registries::new(settings(&[])).unwrap(), &registry, "1").await, "cannot be reached");
    assert!(matches!(error, Error::Unreachable { .. }));
    assert!(registry.seen().is_empty());
    let error = expect(Registries::new(settings(&["http://registry.example.com"])).map(drop), "is not the host of a registry");
    assert!(matches!(error, Error::Insecure(_)));
}
