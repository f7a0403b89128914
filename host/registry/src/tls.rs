//! TLS to registries: rustls with ring, and the roots of the system, as kube's client has them.
//!
//! The provider of cryptography is chosen here, by name, and not by what the process has installed
//! as its default. So these clients work in every program, and always on ring.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use rustls_platform_verifier::Verifier;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tracing::debug;

use crate::bounds;
use crate::error::Error;

/// The configuration for all registries, with the certificates in `bundle` beside the system's.
pub(crate) fn client_config(bundle: Option<&Path>) -> Result<ClientConfig, Error> {
    let roots = bundle.map(read_bundle).transpose()?.unwrap_or_default();
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(Error::Tls)?;
    let is_without_bundle = roots.is_empty();
    let mut config = match Verifier::new_with_extra_roots(roots, provider) {
        Ok(verifier) => builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth(),
        // An image may be without roots, and a registry without TLS. Others are not trusted then.
        Err(error) if is_without_bundle => {
            debug!(%error, "no registry with TLS can be used");
            builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
        }
        Err(error) => return Err(Error::Tls(error)),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn read_bundle(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let failed = |reason: String| Error::CaBundle { path: path.to_owned(), reason };
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(bounds::CA_BUNDLE + 1).read_to_end(&mut bytes));
    read.map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > bounds::CA_BUNDLE {
        return Err(failed(format!("it has more than {} bytes", bounds::CA_BUNDLE)));
    }
    let certificates = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| failed(error.to_string()))?;
    if certificates.is_empty() {
        return Err(failed("it has no certificate in PEM".to_owned()));
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_bundle_has_certificates() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let certificate = rcgen::generate_simple_self_signed(["registry.example.com".to_owned()]).unwrap();
        let pem = certificate.cert.pem();
        for (text, expected) in [
            (pem.clone(), None),
            (format!("{pem}# a comment\n{pem}"), None),
            (String::new(), Some("it has no certificate in PEM")),
            (pem.replace("CERTIFICATE", "PRIVATE KEY"), Some("it has no certificate in PEM")),
            (pem.replace("-----END CERTIFICATE-----", ""), Some("cannot be read")),
            ("-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n".to_owned(), Some("TLS cannot be set up")),
        ] {
            fs::write(&path, &text).unwrap();
            match (client_config(Some(&path)), expected) {
                (Ok(_), None) => {}
                (Err(error), Some(expected)) => assert!(error.to_string().contains(expected), "{text}: {error}"),
                (Ok(_), Some(_)) => panic!("{text} is accepted"),
                (Err(error), None) => panic!("{text}: {error}"),
            }
        }
        assert!(matches!(client_config(Some(&folder.path().join("absent"))), Err(Error::CaBundle { .. })));
    }
}
