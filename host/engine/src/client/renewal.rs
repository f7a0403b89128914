//! A connection whose certificates and credentials are read again when requests fail because of
//! them. kube reads the files of a service account's token again itself, and runs an exec plugin
//! again when the token expires, but nothing else.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use kube::Config;
use kube::client::Body;
use parking_lot::RwLock;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tower::util::service_fn;
use tracing::{info, warn};

use crate::client::connection::{Connection, ResponseBody};
use crate::client::request::BoxError;
use crate::client::transport::connection;
use crate::error::error_chain;

/// How often the files are read at most: while the API server is gone, every request fails.
const READ_AT_MOST_EVERY: Duration = Duration::from_secs(5);

type Reading = Pin<Box<dyn Future<Output = Result<Config, BoxError>> + Send>>;

/// As [`connection`]. After a request that got no answer, or a 401, `read` reads the configuration
/// again. If certificates or credentials differ, new requests use them; earlier requests end over
/// their connections. After a 401, an exec plugin is also run again. If the address differs, the
/// configuration is ignored with a warning.
///
/// # Errors
///
/// As [`connection`]. An error of `read`, or of its result, is logged, and changes nothing.
pub fn renewed<F>(
    config: Config,
    arrives_within: Option<Duration>,
    read: impl Fn() -> F + Send + Sync + 'static,
) -> Result<Connection, kube::Error>
where
    F: Future<Output = Result<Config, BoxError>> + Send + 'static,
{
    let (namespace, fingerprint) = (config.default_namespace.clone(), fingerprint(&config));
    let api_server = config.cluster_url.clone();
    let renewal = Arc::new(Renewal {
        api_server,
        arrives_within,
        current: RwLock::new(connection(config, arrives_within)?),
        read: Box::new(move || -> Reading { Box::pin(read()) }),
        last: Mutex::new(LastReading { at: None, fingerprint }),
    });
    let send = move |request| {
        let renewal = Arc::clone(&renewal);
        async move { renewal.send(request).await }
    };
    Ok(Connection::new(service_fn(send), namespace))
}

struct Renewal {
    api_server: http::Uri,
    arrives_within: Option<Duration>,
    current: RwLock<Connection>,
    read: Box<dyn Fn() -> Reading + Send + Sync>,
    last: Mutex<LastReading>,
}

/// Why the configuration is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    NoAnswer,
    Unauthorized,
}

struct LastReading {
    at: Option<Instant>,
    fingerprint: u64,
}

impl Renewal {
    async fn send(&self, request: Request<Body>) -> Result<Response<ResponseBody>, BoxError> {
        let current = self.current.read().clone();
        let answer = current.send(request).await;
        let cause = match &answer {
            Ok(answer) if answer.status() == StatusCode::UNAUTHORIZED => Some(Cause::Unauthorized),
            Ok(_) => None,
            Err(_) => Some(Cause::NoAnswer),
        };
        if let Some(cause) = cause {
            self.read_again(cause).await;
        }
        answer
    }

    async fn read_again(&self, cause: Cause) {
        // Others need not wait for it.
        let Ok(mut last) = self.last.try_lock() else { return };
        if last.at.is_some_and(|at| at.elapsed() < READ_AT_MOST_EVERY) {
            return;
        }
        last.at = Some(Instant::now());
        let config = match (self.read)().await {
            Ok(config) => config,
            Err(error) => return warn!(error = %error_chain(&*error), "cannot read the credentials for the API server again"),
        };
        // Another cluster would need other caches.
        if config.cluster_url != self.api_server {
            let (address, used) = (&config.cluster_url, &self.api_server);
            return warn!(%address, %used, "the kubeconfig has another address for the API server: ignored until a restart");
        }
        let (known, arrives_within) = (last.fingerprint, self.arrives_within);
        // It reads files, and runs exec plugins.
        let renewed = tokio::task::spawn_blocking(move || {
            let fingerprint = fingerprint(&config);
            let may_differ = fingerprint != known || cause == Cause::Unauthorized && runs_a_program(&config);
            may_differ.then(|| connection(config, arrives_within).map(|connection| (fingerprint, connection)))
        });
        match renewed.await {
            Ok(None) => {}
            Ok(Some(Ok((fingerprint, connection)))) => {
                last.fingerprint = fingerprint;
                *self.current.write() = connection;
                info!("the certificates or credentials for the API server have been read again: new requests use them");
            }
            Ok(Some(Err(error))) => {
                warn!(error = %error_chain(&error), "cannot use the credentials for the API server that were read again");
            }
            Err(error) => warn!(error = %error_chain(&error), "cannot read the credentials for the API server again"),
        }
    }
}

/// Returns whether the credentials are the output of a program, which nothing but a 401 shows to
/// have changed.
fn runs_a_program(config: &Config) -> bool {
    config.auth_info.exec.is_some() || config.auth_info.auth_provider.is_some()
}

/// A fingerprint of the certificates and credentials, with the contents of their files. The file
/// of a token is left out, because kube reads it again.
fn fingerprint(config: &Config) -> u64 {
    let auth = &config.auth_info;
    let files = [&auth.client_certificate, &auth.client_key];
    let contents = files.map(|path| path.as_ref().map(|path| std::fs::read(path).unwrap_or_default()));
    // A `Value` has sorted keys; those of the hash maps in `auth` are in random order.
    let auth = serde_json::to_value(auth).unwrap_or_default().to_string();
    crate::fingerprint::fingerprint(&(&config.root_cert, auth, contents))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU16, Ordering};

    use parking_lot::Mutex;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::client::tls_server::{Certificate, serve};

    #[tokio::test]
    async fn certificates_and_credentials_are_read_again_when_requests_fail_because_of_them() {
        let [first, second] = [Certificate::of("127.0.0.1"), Certificate::of("127.0.0.1")];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: http::Uri = format!("https://{}", listener.local_addr().unwrap()).parse().unwrap();
        let (served, code) = (Arc::new(Mutex::new(first.acceptor)), Arc::new(AtomicU16::new(200)));
        tokio::spawn(serve(listener, Arc::clone(&served), Arc::clone(&code)));
        let mut config = Config::new(url);
        config.root_cert = Some(vec![first.der]);
        let (readable, readings) = (Arc::new(Mutex::new(config.clone())), Arc::new(AtomicU16::new(0)));
        let read = {
            let (readable, readings) = (Arc::clone(&readable), Arc::clone(&readings));
            move || {
                readings.fetch_add(1, Ordering::Relaxed);
                std::future::ready(Ok(readable.lock().clone()))
            }
        };
        let connection = renewed(config, None, read).unwrap();
        let get = async || {
            let request = Request::get("/version").body(Body::empty()).unwrap();
            connection.client().send(request).await.map(|answer| answer.status().as_u16())
        };
        assert_eq!(get().await.unwrap(), 200);

        readable.lock().root_cert = Some(vec![second.der]);
        *served.lock() = second.acceptor;
        let error = get().await.expect_err("the new certificate is unknown");
        assert!(error_chain(&error).contains("certificate"), "{}", error_chain(&error));
        assert_eq!(get().await.unwrap(), 200, "the new certificate was read");

        code.store(401, Ordering::Relaxed);
        assert_eq!((get().await.unwrap(), readings.load(Ordering::Relaxed)), (401, 1), "it was read a moment ago");
        tokio::time::pause();
        tokio::time::advance(READ_AT_MOST_EVERY).await;
        tokio::time::resume();
        assert_eq!((get().await.unwrap(), readings.load(Ordering::Relaxed)), (401, 2));
    }

    /// Answers 200 to requests with this token, and 401 to others.
    async fn serve_for_token(listener: TcpListener, token: &'static str) {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") && stream.read_buf(&mut head).await.is_ok_and(|read| read > 0) {}
            let is_known = String::from_utf8_lossy(&head).contains(&format!("Bearer {token}\r\n"));
            let code = if is_known { 200 } else { 401 };
            let answer = format!("HTTP/1.1 {code} Code\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn an_exec_plugin_is_run_again_after_a_401_without_blocking_other_tasks() {
        // It gives up after some seconds, so that a blocked runtime fails the test.
        const PLUGIN: &str = r#"
            touch "$DIRECTORY/started"
            for _ in $(seq 500); do [ -e "$DIRECTORY/go" ] && break; sleep 0.01; done
            [ -e "$DIRECTORY/go" ] || exit 1
            printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "%s"}}' \
                "$(cat "$DIRECTORY/token")"
        "#;
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        std::fs::write(file("token"), "old").unwrap();
        std::fs::write(file("go"), "").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(serve_for_token(listener, "new"));
        let exec = serde_json::json!({
            "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", PLUGIN],
            "env": [{ "name": "DIRECTORY", "value": directory.path() }], "interactiveMode": "Never",
        });
        let mut config = Config::new(url);
        config.auth_info = serde_json::from_value(serde_json::json!({ "exec": exec })).unwrap();
        let unchanged = config.clone();
        let connection = renewed(config, None, move || std::future::ready(Ok(unchanged.clone()))).unwrap();
        let get = async || {
            let request = Request::get("/version").body(Body::empty()).unwrap();
            connection.client().send(request).await.map(|answer| answer.status().as_u16())
        };

        std::fs::write(file("token"), "new").unwrap();
        for name in ["go", "started"] {
            std::fs::remove_file(file(name)).unwrap();
        }
        let release = async {
            while !file("started").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            std::fs::write(file("go"), "").unwrap();
        };
        let (answered, ()) = tokio::join!(get(), release);
        assert_eq!(answered.unwrap(), 401);
        assert_eq!(get().await.unwrap(), 200, "the plugin was run again");
    }

    #[test]
    fn files_and_credentials_are_part_of_the_fingerprint() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut config = Config::new("https://127.0.0.1".parse().unwrap());
        let mut fingerprints = vec![fingerprint(&config)];
        config.auth_info.token = Some("token".to_owned().into());
        fingerprints.push(fingerprint(&config));
        config.auth_info.client_certificate = Some(file.path().display().to_string());
        fingerprints.push(fingerprint(&config));
        std::fs::write(file.path(), "another certificate").unwrap();
        fingerprints.push(fingerprint(&config));
        assert_eq!(fingerprint(&config), fingerprints[3]);
        fingerprints.dedup();
        assert_eq!(fingerprints.len(), 4);
    }

    #[test]
    fn equal_kubeconfigs_have_one_fingerprint() {
        let text = r#"{
            "exec": {"command": "login", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            "auth-provider": {"name": "p", "config": {"a": "1", "b": "2", "c": "3"}}
        }"#;
        let parsed = || {
            let mut config = Config::new("https://127.0.0.1".parse().unwrap());
            config.auth_info = serde_json::from_str(text).unwrap();
            fingerprint(&config)
        };
        let first = parsed();
        assert!((0..20).all(|_| parsed() == first));
    }
}
