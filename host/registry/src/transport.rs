//! Requests to a registry and to the places that it names: checked, repeated and timed.
//!
//! ```text
//!   request ──▶ check the place ──▶ route: directly (addresses are checked at connect), or proxy
//!      ▲                                   │
//!      ├── busy: wait, then again ◀────────┤ answer
//!      └── redirect: without Authorization ┘   unless it is to the registry itself
//! ```

mod response;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_rustls::rustls::ClientConfig;
use tracing::debug;

pub(crate) use self::response::{Response, Transfer};
use crate::address::{LONGEST_HOST, Refused};
use crate::bounds;
use crate::error::Error;
use crate::guard::{Guard, Resolver};
use crate::progress::Progress;
use crate::routes::{Route, Routes};
use crate::settings::Settings;
use crate::upload::Upload;

const USER_AGENT: &str = concat!("gyre/", env!("CARGO_PKG_VERSION"));
/// The time that connections are kept without a request: a pull takes several in a row, and the
/// next one comes after minutes.
const KEEP_IDLE: Duration = Duration::from_secs(15);

/// A request that can be repeated.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

impl Request {
    pub(crate) fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: None }
    }

    pub(crate) fn header(mut self, name: http::HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub(crate) fn body(self, body: Bytes) -> Self {
        Self { body: Some(body), ..self }
    }

    fn may_be_redirected(&self) -> bool {
        self.method == Method::GET || self.method == Method::HEAD
    }
}

/// The connections of one registry.
#[derive(Debug)]
pub(crate) struct Transport {
    base: Url,
    guard: Arc<Guard>,
    direct: Client,
    proxied: Option<Client>,
    routes: Routes,
    insecure: BTreeSet<String>,
    timeout: Duration,
    second: Duration,
}

impl Transport {
    /// The connections of the registry whose API is at `base`.
    pub(crate) fn new(base: Url, tls: &ClientConfig, settings: &Settings) -> Result<Self, Error> {
        let guard = Guard::new(&base);
        let routes = Routes::new(settings.environment.clone());
        let proxies = routes.proxies()?;
        let direct = client(tls, settings).dns_resolver(Resolver(Arc::clone(&guard)));
        let direct = direct.build().map_err(Error::Client)?;
        let proxied = if proxies.is_empty() {
            None
        } else {
            let client = proxies.into_iter().fold(client(tls, settings), ClientBuilder::proxy);
            Some(client.build().map_err(Error::Client)?)
        };
        Ok(Self {
            base,
            guard,
            direct,
            proxied,
            routes,
            insecure: settings.insecure.clone(),
            timeout: settings.timeout,
            second: settings.second,
        })
    }

    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// The length of this number of seconds.
    pub(crate) fn seconds(&self, seconds: f64) -> Duration {
        self.second.mul_f64(seconds)
    }

    /// Sends a request, and follows redirects.
    ///
    /// # Guarantees
    ///
    /// The authorization is sent to the registry only: not to another scheme, host or port, and
    /// not back to the registry after a redirect through another host.
    ///
    /// # Errors
    ///
    /// If there is no answer, or a place must not be gone to. An answer with an error is none.
    pub(crate) async fn follow(
        &self,
        mut request: Request,
        authorization: Option<&HeaderValue>,
        progress: Option<&dyn Progress>,
    ) -> Result<Response, Error> {
        let mut is_of_registry = self.is_of_registry(&request.url);
        for _ in 0..=bounds::REDIRECTS {
            request.headers.remove(AUTHORIZATION);
            if let Some(authorization) = authorization.filter(|_| is_of_registry) {
                request.headers.insert(AUTHORIZATION, authorization.clone());
            }
            let mut response = self.send(&request, progress).await?;
            let Some(place) = response.redirect() else {
                response.is_of_registry = is_of_registry;
                return Ok(response);
            };
            if !request.may_be_redirected() {
                return Err(Error::Redirects { host: response.host, what: "an upload" });
            }
            request.url = self.place(&request.url, &place)?;
            is_of_registry = is_of_registry && self.is_of_registry(&request.url);
        }
        let host = host_of(&request.url);
        Err(Error::Redirects { host, what: "a request more than 5 times" })
    }

    /// Sends a request to one place, and repeats it while that is busy.
    pub(crate) async fn send(&self, request: &Request, progress: Option<&dyn Progress>) -> Result<Response, Error> {
        let mut tries = 0;
        loop {
            let response = self.send_once(request, progress).await?;
            if !is_busy(response.status()) {
                return Ok(response);
            }
            let asked = response.retry_after();
            let wait = asked.unwrap_or(1 << tries);
            if tries == bounds::RETRIES || wait > bounds::RETRY_AFTER {
                let (status, retry_after) = (response.status().as_u16(), asked.map(Duration::from_secs));
                return Err(Error::Busy { host: response.host, status, retry_after });
            }
            debug!(host = response.host, status = response.status().as_u16(), wait, "the registry is busy");
            drop(response);
            sleep(self.second.saturating_mul(u32::try_from(wait).unwrap_or(u32::MAX))).await;
            tries += 1;
        }
    }

    /// The URL that a registry names, relative to the one that was asked for.
    pub(crate) fn place(&self, from: &Url, place: &str) -> Result<Url, Error> {
        from.join(place).map_err(|_| self.no_place(place))
    }

    /// The error about a text that is not such a URL.
    pub(crate) fn no_place(&self, place: &str) -> Error {
        let place = gyre_core::text::cut(&gyre_core::text::without_control(place), 200);
        Error::Place { host: host_of(&self.base), place }
    }

    fn is_of_registry(&self, url: &Url) -> bool {
        url.origin() == self.base.origin()
    }

    /// Checks a place before anything is sent there. What a name resolves to is checked later.
    fn check_place(&self, url: &Url) -> Result<(), Error> {
        let host = host_of(url);
        let is_plain = match url.scheme() {
            "https" => false,
            "http" => true,
            _ => return Err(self.no_place(url.as_str())),
        };
        // Credentials in a URL would be sent as if they were the user's.
        if host.is_empty() || !url.username().is_empty() || url.password().is_some() {
            return Err(self.no_place(&host));
        }
        // A registry with TLS never leads to a place without.
        if is_plain && (self.base.scheme() == "https" || !self.is_insecure(url)) {
            return Err(Error::PlainHttp { host: host_of(&self.base), place: host });
        }
        Ok(self.guard.check_host(url)?)
    }

    /// Returns whether the host is one of those that the user allows to be without TLS.
    fn is_insecure(&self, url: &Url) -> bool {
        let with_port = format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
        self.insecure.contains(&host_of(url)) || self.insecure.contains(&with_port)
    }

    async fn send_once(&self, request: &Request, progress: Option<&dyn Progress>) -> Result<Response, Error> {
        self.check_place(&request.url)?;
        let client = match self.routes.route(&request.url) {
            Route::Direct => &self.direct,
            Route::Proxy => self.proxied.as_ref().unwrap_or(&self.direct),
        };
        let host = host_of(&request.url);
        let mut outgoing = reqwest::Request::new(request.method.clone(), request.url.clone());
        *outgoing.headers_mut() = request.headers.clone();
        let answer = match &request.body {
            None => {
                let answer = timeout(self.timeout, client.execute(outgoing)).await;
                answer.map_err(|_| Error::Timeout { host: host.clone(), waited: self.timeout })?
            }
            Some(body) => {
                let (upload, taken) = Upload::new(body.clone());
                *outgoing.body_mut() = Some(reqwest::Body::wrap(upload));
                self.upload(client.execute(outgoing), taken, &host, body.len() as u64, progress).await?
            }
        };
        match answer {
            Ok(answer) => Ok(Response::new(answer, host, self.timeout)),
            Err(error) => Err(failure(error, host)),
        }
    }

    /// Waits for the answer to an upload as long as the connection takes pieces of the body.
    async fn upload<T>(
        &self,
        sending: impl Future<Output = T>,
        mut taken: watch::Receiver<u64>,
        host: &str,
        size: u64,
        progress: Option<&dyn Progress>,
    ) -> Result<T, Error> {
        let mut sending = std::pin::pin!(sending);
        let whole = bounds::time_for(size, self.timeout);
        let end = Instant::now() + whole;
        let mut deadline = end.min(Instant::now() + self.timeout);
        let mut is_sent = false;
        loop {
            tokio::select! {
                answer = &mut sending => return Ok(answer),
                changed = taken.changed(), if !is_sent => {
                    is_sent = changed.is_err();
                    let done = *taken.borrow_and_update();
                    if let Some(progress) = progress.filter(|_| !is_sent) {
                        progress.advance(done);
                    }
                    // Registries store what they got before they answer.
                    deadline = if is_sent { Instant::now() + whole } else { end.min(Instant::now() + self.timeout) };
                }
                () = sleep_until(deadline) => {
                    let host = host.to_owned();
                    let is_slow = !is_sent && deadline >= end;
                    return Err(if is_slow { Error::Slow { host } } else { Error::Timeout { host, waited: self.timeout } });
                }
            }
        }
    }
}

fn client(tls: &ClientConfig, settings: &Settings) -> ClientBuilder {
    Client::builder()
        .user_agent(USER_AGENT)
        .tls_backend_preconfigured(tls.clone())
        // Each redirect is checked first, in `follow`.
        .redirect(Policy::none())
        .referer(false)
        // Which proxy is used is decided in `routes`.
        .no_proxy()
        .connect_timeout(bounds::CONNECT.min(settings.timeout))
        .pool_idle_timeout(KEEP_IDLE)
}

/// The host of a URL for people, with its port if it is not the default. A URL may have a host of
/// any length, although no name is as long.
pub(crate) fn host_of(url: &Url) -> String {
    let host = gyre_core::text::cut(url.host_str().unwrap_or_default(), LONGEST_HOST);
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host,
    }
}

fn is_busy(status: StatusCode) -> bool {
    [StatusCode::TOO_MANY_REQUESTS, StatusCode::BAD_GATEWAY, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT]
        .contains(&status)
}

/// The error of a request without an answer: a refused address is somewhere among its sources.
fn failure(error: reqwest::Error, host: String) -> Error {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(cause) = source {
        if let Some(refused) = cause.downcast_ref::<Refused>() {
            return Error::Address(refused.clone());
        }
        source = cause.source();
    }
    // The URL may have a signature for the storage behind the registry.
    Error::Unreachable { host, source: error.without_url() }
}

impl Response {
    /// The place that it redirects to.
    fn redirect(&self) -> Option<String> {
        let is_redirect = [301, 302, 303, 307, 308].contains(&self.status().as_u16());
        is_redirect.then(|| self.header(LOCATION).map(str::to_owned)).flatten()
    }
}
