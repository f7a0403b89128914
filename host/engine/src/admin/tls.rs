//! TLS for the admin server: its certificate, which may change, and concurrent handshakes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use axum::serve::Listener;
use parking_lot::RwLock;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::server::TlsStream;
use tracing::{debug, error, info};

use crate::error::error_chain;

const FILES: [&str; 2] = ["tls.crt", "tls.key"];
/// How often the files are polled. The kubelet updates a Secret within about a minute.
const LOOK_EVERY: Duration = Duration::from_secs(10);
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
const HANDSHAKES: usize = 64;

#[derive(Debug)]
pub(super) struct Certificate(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read()))
    }
}

impl Certificate {
    fn new(key: CertifiedKey) -> Arc<Self> {
        Arc::new(Self(RwLock::new(Arc::new(key))))
    }

    /// A self-signed certificate: it encrypts, but does not authenticate the server.
    pub(super) fn of_our_own() -> anyhow::Result<Arc<Self>> {
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let own = rcgen::generate_simple_self_signed(names).context("cannot make a certificate")?;
        Ok(Self::new(certified(own.cert.pem().as_bytes(), own.signing_key.serialize_pem().as_bytes())?))
    }
}

pub(super) struct Following(AbortHandle);

impl Following {
    pub(super) fn task(&self) -> AbortHandle {
        self.0.clone()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Loads a certificate, and reloads it when it changes. An unusable new one is ignored.
pub(super) fn follow_certificate(directory: &Path) -> anyhow::Result<(Arc<Certificate>, Following)> {
    let mut last = read(directory)?;
    let certificate = Certificate::new(parse(directory, &last)?);
    let (shown, directory) = (Arc::clone(&certificate), directory.to_owned());
    let task = tokio::spawn(async move {
        let mut last_error = None;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            // If they are partly written, the next poll reads the rest.
            let taken = read(&directory).and_then(|files| {
                if files != last {
                    let key = parse(&directory, &files)?;
                    *shown.0.write() = Arc::new(key);
                    info!(directory = %directory.display(), "the admin server uses a new certificate");
                    last = files;
                }
                Ok(())
            });
            let new_error = taken.err().map(|error| format!("{error:#}"));
            if let Some(error) = &new_error
                && new_error != last_error
            {
                error!("the admin server keeps its previous certificate: {error}");
            }
            last_error = new_error;
        }
    });
    Ok((certificate, Following(task.abort_handle())))
}

fn read(directory: &Path) -> anyhow::Result<[Vec<u8>; 2]> {
    let file = |path: PathBuf| {
        std::fs::read(&path).map_err(|error| {
            let what = format!("cannot read {}: {}", path.display(), error_chain(&error));
            anyhow!("{what}; --metrics-cert-path (or METRICS_CERT_PATH) must name a directory with tls.crt and tls.key")
        })
    };
    let [certificate, key] = FILES.map(|name| file(directory.join(name)));
    Ok([certificate?, key?])
}

fn parse(directory: &Path, [certificate, key]: &[Vec<u8>; 2]) -> anyhow::Result<CertifiedKey> {
    certified(certificate, key).with_context(|| format!("cannot use the certificate in {}", directory.display()))
}

fn certified(certificate: &[u8], key: &[u8]) -> anyhow::Result<CertifiedKey> {
    let [certificate_file, key_file] = FILES;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<_, _>>()
        .map_err(|error| anyhow!("{certificate_file} is not PEM: {error}"))?;
    if chain.is_empty() {
        return Err(anyhow!("{certificate_file} has no certificate"));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| anyhow!("{key_file} has no private key in PEM: {error}"))?;
    CertifiedKey::from_der(chain, key, &ring::default_provider())
        .map_err(|error| anyhow!("{certificate_file} and {key_file} do not match: {error}"))
}

pub(crate) struct Secure {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    handshakes: JoinSet<Option<(TlsStream<TcpStream>, SocketAddr)>>,
    _following: Option<Following>,
}

impl Secure {
    pub(super) fn new(
        listener: TcpListener,
        certificate: Arc<Certificate>,
        following: Option<Following>,
    ) -> anyhow::Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .context("cannot set up TLS")?
            .with_no_client_auth()
            .with_cert_resolver(certificate);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Self { listener, acceptor, handshakes: JoinSet::new(), _following: following })
    }
}

impl Listener for Secure {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            tokio::select! {
                biased;
                Some(ended) = self.handshakes.join_next() => {
                    if let Ok(Some(connection)) = ended {
                        return connection;
                    }
                }
                (stream, address) = Listener::accept(&mut self.listener), if self.handshakes.len() < HANDSHAKES => {
                    let handshake = self.acceptor.accept(stream);
                    self.handshakes.spawn(async move {
                        match tokio::time::timeout(HANDSHAKE_WITHIN, handshake).await {
                            Ok(Ok(stream)) => Some((stream, address)),
                            Ok(Err(error)) => {
                                debug!(%address, %error, "a TLS handshake failed");
                                None
                            }
                            Err(_) => None,
                        }
                    });
                }
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(directory: &Path, certificate: &str, key: &str) {
        std::fs::write(directory.join("tls.crt"), certificate).unwrap();
        std::fs::write(directory.join("tls.key"), key).unwrap();
    }

    fn pair() -> (String, String) {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (own.cert.pem(), own.signing_key.serialize_pem())
    }

    #[test]
    fn errors_about_a_certificate_name_the_cause() {
        let directory = tempfile::tempdir().unwrap();
        let refused = || match read(directory.path()).and_then(|files| parse(directory.path(), &files)) {
            Ok(_) => panic!("it is taken"),
            Err(error) => format!("{error:#}"),
        };
        assert!(refused().contains("cannot read"), "{}", refused());
        let ((certificate, key), (_, another_key)) = (pair(), pair());
        for (certificate, key, problem) in [
            ("", key.as_str(), "tls.crt has no certificate"),
            (&certificate, "", "tls.key has no private key in PEM"),
            (&certificate, &another_key, "do not match"),
        ] {
            write(directory.path(), certificate, key);
            assert!(refused().contains(problem), "{} is not {problem}", refused());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_certificate_is_followed_and_one_that_is_wrong_leaves_the_last() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (pair(), pair());
        write(directory.path(), &first.0, &first.1);
        let (certificate, _following) = follow_certificate(directory.path()).unwrap();
        let shown = || certificate.0.read().end_entity_cert().unwrap().to_vec();
        let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec();
        assert_eq!(shown(), der(&first.0));
        write(directory.path(), &second.0, &first.1);
        tokio::time::sleep(2 * LOOK_EVERY).await;
        assert_eq!(shown(), der(&first.0), "the key is still the first one's");
        write(directory.path(), &second.0, &second.1);
        tokio::time::sleep(2 * LOOK_EVERY).await;
        assert_eq!(shown(), der(&second.0));
    }
}
