//! The admin server: `/healthz`, `/readyz`, `/metrics` and `/debug/state`.
//!
//! The probes answer as those of kube-apiserver do: `ok`, or each check with what it found; with `?verbose` always so, and without the
//! checks that `?exclude=NAME` names.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use anyhow::Context as _;
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tracing::info;

use crate::election::Denials;
use crate::informer::Informer;
use crate::live::Ground;
use crate::metrics::Metrics;
use crate::mount::Phase;
use crate::mounts::Mounts;
use crate::state;
use crate::work::WorkQueue;

/// What the server shows.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) mounts: Arc<Mounts>,
    pub(crate) queue: Arc<WorkQueue>,
    /// What the election is not permitted; none: there is none.
    pub(crate) denials: Option<Arc<Denials>>,
    /// Set once the API server has answered.
    pub(crate) ground: Arc<OnceLock<Arc<Ground>>>,
}

impl Shown {
    fn informers(&self) -> Vec<Arc<Informer>> {
        self.ground.get().map(|ground| ground.informers.running()).unwrap_or_default()
    }
}

/// Paths that the metrics cannot have.
pub(crate) const RESERVED_PATHS: [&str; 3] = ["/healthz", "/readyz", "/debug/state"];

/// One thing that a probe looks at: its name, and what is wrong.
type Check = (&'static str, Result<(), String>);

/// Binds the address, then serves until `shutdown` ends. Binding fails at once; nothing after that does.
///
/// # Errors
///
/// When the address cannot be bound.
pub(crate) async fn serve(
    address: SocketAddr,
    metrics_path: Option<&str>,
    shown: Shown,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<tokio::task::JoinHandle<std::io::Result<()>>> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; choose another with --listen, or --listen off"))?;
    let metrics_path_shown = metrics_path.unwrap_or("no metrics");
    info!(address = %listener.local_addr()?, metrics = metrics_path_shown, "serving /healthz, /readyz and /debug/state");
    let [healthz, readyz, state] = RESERVED_PATHS;
    let mut router = Router::new().route(healthz, get(health)).route(readyz, get(ready)).route(state, get(debug_state));
    if let Some(path) = metrics_path {
        router = router.route(path, get(metrics));
    }
    let router = router.with_state(shown);
    Ok(tokio::spawn(axum::serve(listener, router).with_graceful_shutdown(shutdown).into_future()))
}

/// Whether the process works at all: what answers here has a thread, and gets at the queue and the mounts.
async fn health(State(shown): State<Shown>, RawQuery(query): RawQuery) -> Response {
    shown.queue.look(|_, _| ());
    shown.mounts.all();
    answer(vec![("queue", Ok(())), ("mounts", Ok(()))], query.as_deref().unwrap_or_default())
}

/// Whether the host does its work, or, where another one leads, could take it over. A mount that waits for its CRD does not hold the
/// others up.
async fn ready(State(shown): State<Shown>, RawQuery(query): RawQuery) -> Response {
    let api_server = shown.ground.get().map(|_| ()).ok_or_else(|| "it has not answered yet".to_owned());
    let denied = shown.denials.as_ref().and_then(|denials| denials.current());
    let election = denied.map_or(Ok(()), |error| Err(format!("this host can neither lead nor take over: {error}")));
    let checks = vec![
        ("api-server", api_server),
        ("election", election),
        ("mounts", started(&shown.mounts)),
        ("watches", alive(&shown.informers())),
    ];
    answer(checks, query.as_deref().unwrap_or_default())
}

fn started(mounts: &Mounts) -> Result<(), String> {
    let mounts = mounts.all();
    let starting = mounts.iter().filter(|(mount, _)| mount.phase() == Phase::Starting);
    let names: Vec<&str> = starting.map(|(mount, _)| &*mount.name).collect();
    if names.is_empty() { Ok(()) } else { Err(format!("still starting: {}", names.join(", "))) }
}

fn alive(informers: &[Arc<Informer>]) -> Result<(), String> {
    // What keeps a mount from starting is told at once.
    let never_began =
        |informer: &&Arc<Informer>| !informer.is_synced() && informer.health().down().is_some_and(|down| down.error.is_some());
    let dead = informers.iter().filter(|informer| informer.health().is_dead() || never_began(informer));
    let mut told: Vec<String> = dead.map(|informer| describe(informer)).collect();
    told.sort_unstable();
    if told.is_empty() { Ok(()) } else { Err(told.join("; ")) }
}

fn describe(informer: &Informer) -> String {
    let target = informer.target();
    let place = target.namespace.as_ref().map(|namespace| format!(" in {namespace}")).unwrap_or_default();
    match informer.health().down() {
        Some(down) => {
            let error = down.error.unwrap_or_else(|| "the API server has not taken it yet".to_owned());
            format!("the watch of {}{place} has been down for {} s: {error}", target.kind, down.since.elapsed().as_secs())
        }
        None => format!("the watch of {}{place} is back", target.kind),
    }
}

fn answer(checks: Vec<Check>, query: &str) -> Response {
    let parameters: Vec<(&str, &str)> =
        query.split('&').map(|parameter| parameter.split_once('=').unwrap_or((parameter, ""))).collect();
    let is_verbose = parameters.iter().any(|(name, _)| *name == "verbose");
    let is_excluded = |name: &str| parameters.contains(&("exclude", name));
    let failed = checks.iter().any(|(name, result)| result.is_err() && !is_excluded(name));
    let code = if failed { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    if !failed && !is_verbose {
        return (code, "ok\n".to_owned()).into_response();
    }
    let mut text = String::new();
    for (name, result) in &checks {
        text.push_str(&match result {
            _ if is_excluded(name) => format!("[+]{name} excluded: ok\n"),
            Ok(()) => format!("[+]{name} ok\n"),
            Err(reason) => format!("[-]{name} failed: {reason}\n"),
        });
    }
    text.push_str(if failed { "check failed\n" } else { "check passed\n" });
    (code, text).into_response()
}

async fn debug_state(State(shown): State<Shown>) -> Response {
    let text = format!("{:#}\n", state::dump(&shown.mounts, &shown.queue, &shown.informers()));
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

async fn metrics(State(shown): State<Shown>) -> Response {
    let informers = shown.informers();
    shown.metrics.watched(informers.iter().map(|informer| (informer.target(), informer.health())));
    match shown.metrics.encode() {
        Ok(text) => ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
