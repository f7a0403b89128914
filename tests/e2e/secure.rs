use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme, StreamOwned,
};

use crate::harness::{Cluster, Folder, GYRE, Host};
use crate::plane::Plane;

#[derive(Clone, Copy)]
enum Trust<'a> {
    Only(&'a CertificateDer<'static>),
    Anybody,
}

#[derive(Debug)]
struct TrustAnybody(CryptoProvider);

impl ServerCertVerifier for TrustAnybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Sends a GET over TLS, and returns status and body. Errors: the client does not trust the server.
fn get(host: &Host, path: &str, token: Option<&str>, trust: Trust<'_>) -> std::io::Result<(u16, String)> {
    let provider = ring::default_provider();
    let builder = ClientConfig::builder_with_provider(Arc::new(provider.clone())).with_safe_default_protocol_versions();
    let builder = builder.expect("versions");
    let config = match trust {
        Trust::Only(certificate) => {
            let mut roots = RootCertStore::empty();
            roots.add(certificate.clone()).expect("a certificate");
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        Trust::Anybody => {
            let verifier = Arc::new(TrustAnybody(provider));
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    };
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(connection, TcpStream::connect(&host.address)?);
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n{authorization}\r\n")?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        // The server may close the connection without a `close_notify`.
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof && !answer.is_empty() => {}
        result => drop(result?),
    }
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Ok((status, body.to_owned()))
}

fn put_certificate(folder: &Folder) -> CertificateDer<'static> {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    folder.put("tls.key", own.signing_key.serialize_pem());
    folder.put("tls.crt", own.cert.pem());
    own.cert.der().clone()
}

fn token(cluster: &Cluster, namespace: &str, account: &str) -> String {
    cluster.kubectl(&["create", "serviceaccount", account, "-n", namespace]);
    cluster.kubectl(&["create", "token", account, "-n", namespace]).trim().to_owned()
}

#[test]
fn metrics_and_state_need_a_permission_and_probes_need_none() {
    let Some(cluster) = Cluster::for_test("secure", &["secure"]) else { return };
    // The host has only the permissions of `gyre rbac`.
    cluster.kubectl(&["create", "serviceaccount", "host", "-n", "secure"]);
    let arguments = ["--namespace", "secure", "--home-namespace", "secure", "--service-account", "secure/host"];
    let rbac = Command::new(GYRE)
        .args(["rbac", gyre_artifacts::ECHO, "--name", "secure", "--metrics-secure"])
        .args(arguments)
        .output()
        .expect("gyre runs");
    cluster.apply(&String::from_utf8(rbac.stdout).expect("YAML"));
    let Plane::Real(plane) = &cluster.plane else { panic!("devcluster knows no service accounts") };
    let kubeconfig = plane.kubeconfig_for_service_account("secure", "host").expect("a token");
    let (scraper, nobody) = (token(&cluster, "secure", "scraper"), token(&cluster, "secure", "nobody"));
    cluster.kubectl(&["create", "clusterrole", "secure-scraper", "--verb=get", "--non-resource-url=/metrics"]);
    let binding = ["create", "clusterrolebinding", "secure-scraper", "--clusterrole=secure-scraper"];
    cluster.kubectl(&[&binding[..], &["--serviceaccount=secure:scraper"]].concat());

    let certificates = Folder::new();
    let first = put_certificate(&certificates);
    let path = certificates.path();
    let arguments = ["--name", "secure", "--metrics-secure", "--metrics-cert-path", &path];
    let host = cluster.host_as(&kubeconfig, &[gyre_artifacts::ECHO], &["secure"], &arguments);
    let ask = |path: &str, token: Option<&str>| get(&host, path, token, Trust::Only(&first)).expect("an answer");
    cluster.eventually("it to be ready", || (ask("/readyz", None).0 == 200).then_some(()));
    assert_eq!(ask("/healthz", None).0, 200);

    assert_eq!(ask("/metrics", None).0, 401);
    assert_eq!(ask("/debug/state", None).0, 401);
    assert_eq!(ask("/metrics", Some("made.up.token")).0, 401);
    let (status, body) = ask("/metrics", Some(&nobody));
    assert_eq!((status, body.as_str()), (403, "Forbidden: system:serviceaccount:secure:nobody may not get /metrics\n"));
    assert_eq!(ask("/debug/state", Some(&scraper)).0, 403, "it may see the metrics alone");
    let asked = || {
        let (status, metrics) = ask("/metrics", Some(&scraper));
        assert_eq!(status, 200, "{metrics}");
        let reviews = metrics.lines().find(|line| line.starts_with("rest_client_requests_total{code=\"201\",method=\"POST\""));
        reviews.expect("reviews").to_owned()
    };
    // Without a cache, each request needs two reviews.
    cluster.eventually("an answer to be good for a while", || {
        let reviews = asked();
        (asked() == reviews).then_some(())
    });

    let second = put_certificate(&certificates);
    cluster.eventually("the other certificate", || get(&host, "/healthz", None, Trust::Only(&second)).ok());
    assert!(get(&host, "/healthz", None, Trust::Only(&first)).is_err(), "the first one is gone");
}

#[test]
fn a_host_without_a_certificate_makes_one_and_answers_only_over_tls() {
    let Some(cluster) = Cluster::for_test("own-certificate", &["own-certificate"]) else { return };
    let host = cluster.host_with(&[gyre_artifacts::ECHO], &["own-certificate"], &["--metrics-secure"]);
    let ask = |path: &str, token| get(&host, path, token, Trust::Anybody).expect("an answer").0;
    assert_eq!(ask("/healthz", None), 200);
    assert_eq!(ask("/metrics", None), 401);
    let anybody = token(&cluster, "own-certificate", "anybody");
    cluster.eventually("an answer of the API server's", || (ask("/metrics", Some(&anybody)) == 403).then_some(()));
    let mut open = TcpStream::connect(&host.address).unwrap();
    open.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = open.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn a_certificate_that_cannot_be_used_is_an_error_that_names_it() {
    let folder = Folder::new();
    folder.put("tls.crt", "nothing");
    folder.put("tls.key", "nothing");
    let path = folder.path();
    let kubeconfig = "apiVersion: v1\nkind: Config\nclusters: [{name: x, cluster: {server: 'http://127.0.0.1:9'}}]\n\
                      contexts: [{name: x, context: {cluster: x, user: x}}]\ncurrent-context: x\nusers: [{name: x}]\n";
    let kubeconfig = folder.put("kubeconfig", kubeconfig);
    let arguments = ["--kubeconfig", &kubeconfig, "--listen", "127.0.0.1:0", "--metrics-secure", "--metrics-cert-path", &path];
    let run = Command::new(GYRE).args(["run", gyre_artifacts::ECHO]).args(arguments).output().expect("gyre runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(said.contains(&format!("cannot use the certificate in {path}")), "{said}");
    assert_eq!(run.status.code(), Some(1));
}

#[test]
fn the_status_of_a_secure_host_needs_a_token() {
    let Some(cluster) = Cluster::for_test("secure-status", &["secure-status"]) else { return };
    let host = cluster.host_with(&[gyre_artifacts::ECHO], &["secure-status"], &["--metrics-secure"]);
    let from = host.url().replace("http://", "https://");
    let status = |arguments: &[&str]| {
        let output = Command::new(GYRE).arg("status").args(arguments).output().expect("gyre runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
    };
    let (code, said) = cluster.eventually("the host to know its API server", || {
        Some(status(&["--from", &from])).filter(|(_, said)| said.contains("Unauthorized"))
    });
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--token-file"), "{said}");
    cluster.kubectl(&["create", "serviceaccount", "viewer", "-n", "secure-status"]);
    cluster.kubectl(&["create", "clusterrole", "secure-status", "--verb=get", "--non-resource-url=/debug/state"]);
    let binding = ["create", "clusterrolebinding", "secure-status", "--clusterrole=secure-status"];
    cluster.kubectl(&[&binding[..], &["--serviceaccount=secure-status:viewer"]].concat());
    let token = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(token.path(), cluster.kubectl(&["create", "token", "viewer", "-n", "secure-status"])).expect("written");
    let arguments = ["--from", &from, "--token-file", &token.path().display().to_string()];
    cluster.eventually("the permission", || status(&arguments).1.contains("Running").then_some(()));
}
