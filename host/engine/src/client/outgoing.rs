//! Clients for one purpose each: the headers of a request, and whether it may be sent.

use std::sync::Arc;
use std::task::Poll;

use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tower::util::service_fn;

use crate::client::connection::{Connection, ResponseBody, boxed};
use crate::client::incoming::Incoming;
use crate::client::lists::Lists;
use crate::client::request::{BoxError, has_parameter, is_watch};
use crate::health::Health;
use crate::leadership::claim::{Claim, NotHeld};
use crate::program::{Program, ServiceAccount};
use crate::target::Projection;

/// The user to impersonate (`authenticationv1.ImpersonateUserHeader`).
const IMPERSONATE_USER: HeaderName = HeaderName::from_static("impersonate-user");

/// The fenced client for a mount's writes, marked in the audit log with the plugin's digest and, if
/// it comes from a registry, that of its manifest there.
pub(crate) fn for_program(connection: &Connection, claim: &Claim, program: &Program) -> Client {
    let (manifest, digest) = (program.manifest(), program.plugin.digest());
    let version: String =
        manifest.version.chars().filter(char::is_ascii_graphic).filter(|letter| !"();".contains(*letter)).collect();
    let artifact = program.artifact_digest().map(|digest| format!("; artifact {digest}")).unwrap_or_default();
    let user_agent = format!("gyre/{} ({}/{version}; {digest}{artifact})", env!("CARGO_PKG_VERSION"), manifest.name);
    let user_agent = HeaderValue::from_str(&user_agent).ok();
    let impersonate = program.impersonate.as_ref().and_then(user);
    Outgoing { user_agent, impersonate, ..Outgoing::over(connection, claim) }.client()
}

/// The fenced client for a removed mount's writes, as the service account that it used.
pub(crate) fn for_account(connection: &Connection, claim: &Claim, account: &ServiceAccount) -> Client {
    Outgoing { impersonate: user(account), ..Outgoing::over(connection, claim) }.client()
}

fn user(account: &ServiceAccount) -> Option<HeaderValue> {
    HeaderValue::from_str(&account.to_string()).ok()
}

/// The fenced client for the host's own writes.
pub(crate) fn fenced(connection: &Connection, claim: &Claim) -> Client {
    Outgoing::over(connection, claim).client()
}

/// The client for an informer's watch. Every list shows a state after its request: [`consistent`].
pub(crate) fn for_watch(connection: &Connection, projection: Projection, health: &Arc<Health>, lists: &Arc<Lists>) -> Client {
    let form = match projection {
        Projection::Whole => Form::Whole,
        Projection::Metadata => Form::Metadata,
    };
    let watch = Some((Arc::clone(health), Arc::clone(lists)));
    Outgoing { form, watch, ..Outgoing::over(connection, &Claim::always()) }.client()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Whole,
    Metadata,
}

#[derive(Clone)]
struct Outgoing {
    inner: Connection,
    claim: Claim,
    user_agent: Option<HeaderValue>,
    impersonate: Option<HeaderValue>,
    form: Form,
    watch: Option<(Arc<Health>, Arc<Lists>)>,
}

impl Outgoing {
    fn over(connection: &Connection, claim: &Claim) -> Self {
        Self {
            inner: connection.clone(),
            claim: claim.clone(),
            user_agent: None,
            impersonate: None,
            form: Form::Whole,
            watch: None,
        }
    }

    fn client(self) -> Client {
        let namespace = self.inner.default_namespace().to_owned();
        Client::new(service_fn(move |request| self.clone().send(request)), namespace)
    }

    async fn send(self, mut request: Request<Body>) -> Result<Response<Incoming<ResponseBody>>, BoxError> {
        if let Some(user_agent) = self.user_agent {
            request.headers_mut().insert(USER_AGENT, user_agent);
        }
        if let Some(account) = self.impersonate {
            request.headers_mut().insert(IMPERSONATE_USER, account);
        }
        if self.form == Form::Metadata {
            let accept = metadata_form(&request);
            request.headers_mut().insert(ACCEPT, accept);
        }
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        // A leader reads in order to write, and a read after the loss of the claim would delay the
        // next leader. A host that has not led yet may read.
        let is_fenced = !is_read || self.claim.check().is_ok();
        if !is_read {
            request.extensions_mut().insert(self.claim.clone());
        }
        let is_watch = is_watch(&request);
        if let Some((_, lists)) = &self.watch
            && begins_list(&request)
        {
            lists.ask(self.inner.restores().count());
            request = consistent(request);
        }
        let (transport, restores) = (self.inner.transport(), self.inner.restores().clone());
        let sent = self.inner.send(request);
        let response = with_retry_after(if is_fenced { fence(&self.claim, sent).await? } else { sent.await? });
        match self.watch {
            Some((health, lists)) if is_watch && response.status().is_success() => {
                health.connected();
                let restored = restores.since(lists.restores());
                Ok(response.map(|body| Incoming::watch(body, health, transport, restored)))
            }
            _ => Ok(response.map(Incoming::as_it_is)),
        }
    }
}

/// Sends a request while the claim is held, and cancels it with its connection when it is lost.
/// A request that has reached the network cannot be revoked.
async fn fence<T>(claim: &Claim, sent: impl Future<Output = Result<T, BoxError>>) -> Result<T, BoxError> {
    let (mut sent, mut lost) = (std::pin::pin!(sent), std::pin::pin!(claim.lost()));
    std::future::poll_fn(|context| {
        // After a pause of the process (e.g. SIGSTOP), timers have not fired yet.
        claim.check()?;
        if lost.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(NotHeld.into()));
        }
        sent.as_mut().poll(context)
    })
    .await
}

fn begins_list(request: &Request<Body>) -> bool {
    if is_watch(request) {
        has_parameter(request, |parameter| parameter == "sendInitialEvents=true")
    } else {
        !has_parameter(request, |parameter| parameter.starts_with("continue="))
    }
}

/// Removes `resourceVersion=0`, which kube's watcher sends for streams: an API server that lags
/// could show deleted objects.
fn consistent(mut request: Request<Body>) -> Request<Body> {
    const ANY: &str = "resourceVersion=0";
    let Some(query) =
        request.uri().query().filter(|_| is_watch(&request) && has_parameter(&request, |parameter| parameter == ANY))
    else {
        return request;
    };
    let kept: Vec<&str> = query.split('&').filter(|parameter| !parameter.is_empty() && *parameter != ANY).collect();
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = format!("{}?{}", request.uri().path(), kept.join("&")).parse().ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    request
}

fn metadata_form(request: &Request<Body>) -> HeaderValue {
    HeaderValue::from_static(if is_watch(request) {
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    } else {
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    })
}

/// Makes a plain 429 or 503 a `Status`, because kube would lose its `Retry-After`.
fn with_retry_after(response: Response<ResponseBody>) -> Response<ResponseBody> {
    if !matches!(response.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return response;
    }
    let text = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let is_status = text(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
    let seconds = text(RETRY_AFTER).and_then(|seconds| seconds.trim().parse::<u32>().ok());
    let (Some(seconds), false) = (seconds, is_status) else { return response };
    let code = response.status();
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "code": code.as_u16(),
        "reason": if code == StatusCode::TOO_MANY_REQUESTS { "TooManyRequests" } else { "ServiceUnavailable" },
        "message": format!("the server asks for a retry after {seconds} s"),
        "details": { "retryAfterSeconds": seconds },
    });
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(http::header::CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(parts, boxed(Body::from(status.to_string().into_bytes())))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use http_body::Frame;
    use http_body_util::StreamBody;
    use parking_lot::Mutex;

    use super::*;
    use crate::leadership::claim::ClaimSender;
    use crate::restores::Restores;

    fn server(code: u16, retry_after: Option<&'static str>) -> (Connection, Arc<Mutex<Vec<Request<Body>>>>) {
        let requests = Arc::<Mutex<Vec<Request<Body>>>>::default();
        let received = Arc::clone(&requests);
        let server = service_fn(move |request| {
            received.lock().push(request);
            let mut response = Response::builder().status(code);
            if let Some(seconds) = retry_after {
                response = response.header(RETRY_AFTER, seconds);
            }
            std::future::ready(response.body(Body::from(b"slow down".to_vec())))
        });
        (Connection::new(server, "default"), requests)
    }

    async fn send(client: &Client, method: Method, uri: &str) -> Result<String, kube::Error> {
        client.request_text(Request::builder().method(method).uri(uri).body(Vec::new()).unwrap()).await
    }

    #[tokio::test]
    async fn without_the_claim_nothing_is_written_and_everything_can_be_read() {
        let (server, requests) = server(200, None);
        let (_holder, claim) = ClaimSender::new();
        let client = fenced(&server, &claim);
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let error = send(&client, method, "/api").await.unwrap_err();
            assert!(
                matches!(&error, kube::Error::Service(error) if error.is::<crate::leadership::claim::NotHeld>()),
                "{error:?}"
            );
        }
        assert!(requests.lock().is_empty());
        send(&client, Method::GET, "/api").await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_leaders_read_is_given_up_with_the_claim() {
        let silence = service_fn(|_| std::future::pending::<Result<Response<Body>, BoxError>>());
        let (holder, claim) = ClaimSender::new();
        let client = fenced(&Connection::new(silence, "default"), &claim);
        let patience = Duration::from_secs(3600);
        assert!(
            tokio::time::timeout(patience, send(&client, Method::GET, "/api")).await.is_err(),
            "one that waits for its turn"
        );
        holder.hold_until(tokio::time::Instant::now() + Duration::from_secs(10));
        let ended = tokio::time::timeout(patience, send(&client, Method::GET, "/api")).await.unwrap();
        assert!(matches!(ended, Err(kube::Error::Service(error)) if error.is::<NotHeld>()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_waits_is_given_up_with_the_claim() {
        let (holder, claim) = ClaimSender::new();
        holder.hold_until(tokio::time::Instant::now() + Duration::from_secs(10));
        let is_sent = std::cell::Cell::new(false);
        let write = |takes| {
            let is_sent = &is_sent;
            async move {
                tokio::time::sleep(takes).await;
                is_sent.set(true);
                Ok(())
            }
        };
        fence(&claim, write(Duration::from_secs(9))).await.unwrap();
        assert!(is_sent.replace(false));
        let started = tokio::time::Instant::now();
        assert!(fence(&claim, write(Duration::from_secs(1))).await.unwrap_err().is::<NotHeld>(), "both are due at once");
        assert!(fence(&claim, write(Duration::from_secs(9))).await.unwrap_err().is::<NotHeld>());
        assert_eq!(started.elapsed(), Duration::from_secs(1));
        holder.hold_until(tokio::time::Instant::now() + Duration::from_secs(10));
        let lose = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            holder.lose();
        };
        let (written, ()) = tokio::join!(fence(&claim, write(Duration::from_secs(2))), lose);
        assert!(written.unwrap_err().is::<NotHeld>());
        assert!(!is_sent.get());
    }

    #[tokio::test]
    async fn metadata_is_requested_as_partial_objects() {
        let (server, requests) = server(200, None);
        let health = Arc::new(Health::default());
        health.failed("refused".to_owned());
        let client = for_watch(&server, Projection::Metadata, &health, &Arc::default());
        send(&client, Method::GET, "/api/v1/pods?&watch=true").await.unwrap();
        send(&client, Method::GET, "/api/v1/pods?limit=500").await.unwrap();
        let accepts = |request: &Request<Body>| request.headers()[ACCEPT].to_str().unwrap().to_owned();
        let accepted: Vec<_> = requests.lock().iter().map(accepts).collect();
        assert!(accepted[0].contains("as=PartialObjectMetadata;"), "{accepted:?}");
        assert!(accepted[1].contains("as=PartialObjectMetadataList;"), "{accepted:?}");
        assert!(health.down().is_some_and(|down| down.error.is_none()), "the watch was taken, and has ended");
    }

    #[tokio::test]
    async fn lists_are_consistent_and_their_request_times_are_known() {
        let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        let cases = [
            (format!("?&watch=true&{initial}&resourceVersion=0"), format!("?watch=true&{initial}"), true),
            ("?limit=500".to_owned(), "?limit=500".to_owned(), true),
            ("?limit=500&continue=abc".to_owned(), "?limit=500&continue=abc".to_owned(), false),
            ("?watch=true&resourceVersion=07".to_owned(), "?watch=true&resourceVersion=07".to_owned(), false),
        ];
        for (asked, expected, begins_list) in cases {
            let (server, requests) = server(200, None);
            let lists = Arc::new(Lists::default());
            let client = for_watch(&server, Projection::Whole, &Arc::default(), &lists);
            send(&client, Method::GET, &format!("/api/v1/pods{asked}")).await.unwrap();
            assert_eq!(requests.lock()[0].uri().to_string(), format!("/api/v1/pods{expected}"));
            lists.end();
            assert_eq!(lists.asked().is_some(), begins_list, "{asked}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_expires_if_the_cluster_has_been_restored_since_its_list_was_requested() {
        let server = service_fn(|request: Request<Body>| {
            let body = if is_watch(&request) {
                boxed(StreamBody::new(futures::stream::pending::<Result<Frame<Bytes>, BoxError>>()))
            } else {
                boxed(Body::empty())
            };
            std::future::ready(Ok::<_, BoxError>(Response::new(body)))
        });
        let restores = Restores::default();
        let connection = Connection::new(server, "default").with_restores(restores.clone());
        let client = for_watch(&connection, Projection::Whole, &Arc::default(), &Arc::default());
        let a_while = Duration::from_secs(60);
        let list = async || send(&client, Method::GET, "/api/v1/pods?limit=500").await.unwrap();
        let watch = async || {
            let sent = send(&client, Method::GET, "/api/v1/pods?watch=true&resourceVersion=7");
            tokio::time::timeout(a_while, sent).await.ok().map(|text| text.unwrap().contains("Expired"))
        };
        list().await;
        assert_eq!(watch().await, None, "there is nothing to receive");
        restores.report();
        assert_eq!(watch().await, Some(true), "it begins after the restore, with the version of the list before");
        list().await;
        assert_eq!(watch().await, None);
    }

    #[tokio::test]
    async fn a_plain_text_answer_keeps_its_retry_after() {
        for code in [429, 503] {
            let (server, _) = server(code, Some("7"));
            let error = send(&fenced(&server, &Claim::always()), Method::GET, "/api").await.unwrap_err();
            let kube::Error::Api(status) = error else { panic!("{error:?}") };
            assert_eq!((status.code, status.details.unwrap().retry_after_seconds), (code, 7));
        }
        let (server, _) = server(429, None);
        let error = send(&fenced(&server, &Claim::always()), Method::GET, "/api").await.unwrap_err();
        let kube::Error::Api(status) = error else { panic!("{error:?}") };
        assert!(status.message.contains("slow down"), "{status:?}");
    }
}
