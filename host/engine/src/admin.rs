//! The admin server: `/healthz`, `/readyz`, `/metrics` and `/debug/state`, and for local clients
//! `/debug/record` and `/debug/shadow`. Probes answer as kube-apiserver's, with `?verbose` and
//! `?exclude=NAME`. With TLS, metrics and state need a permission ([`Security`]).

mod access;
pub(crate) mod local;
pub mod recording;
pub mod shadow;
pub(crate) mod state;
mod tls;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::connect_info::ConnectInfo;
use axum::extract::{RawQuery, Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tracing::info;

use crate::admin::recording::Recorded;
use crate::client::is_there;
use crate::cluster::informer::Informer;
use crate::error::error_chain;
use crate::health::{ApiServerHealth, CriticalTasks, Probe};
use crate::leadership::election::{Denials, Leaders};
use crate::mounts::Mounts;
use crate::mounts::mount::{Lead, Mount, Phase};
use crate::mounts::services::HostServices;
use crate::program::Program;
use crate::shadow::Shadow;
use crate::telemetry::metrics::{Form, Gauges, Metrics, MountGauges, WatchGauges};
use crate::work::WorkQueue;
use access::Access;
use local::Ends;
use tls::{Certificate, Secure};

/// The options of the server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on.
    pub address: SocketAddr,
    /// The path of the metrics; they are not served if `None`.
    pub metrics_path: Option<String>,
    /// The access rules.
    pub security: Security,
}

/// Whether clients need permissions.
#[derive(Clone, Debug)]
pub enum Security {
    /// No permissions, no encryption.
    None,
    /// TLS with a self-signed certificate; metrics and state need a permission.
    OwnCertificate,
    /// The same with the certificate in this directory, which is reloaded when it changes.
    Certificate(PathBuf),
}

impl Options {
    /// Everything, for everybody.
    pub fn open(address: SocketAddr) -> Self {
        Self { address, metrics_path: Some("/metrics".to_owned()), security: Security::None }
    }
}

#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) mounts: Arc<Mounts>,
    pub(crate) queue: Arc<WorkQueue>,
    pub(crate) recorded: Recorded,
    pub(crate) denials: Option<Arc<Denials>>,
    pub(crate) leaders: Option<Arc<Leaders>>,
    /// Set once the API server has answered.
    pub(crate) services: Arc<OnceLock<Arc<HostServices>>>,
    pub(crate) api_server: Arc<ApiServerHealth>,
    pub(crate) critical_tasks: Arc<CriticalTasks>,
}

impl Shown {
    fn informers(&self) -> Vec<Arc<Informer>> {
        self.services.get().map(|services| services.informers.running()).unwrap_or_default()
    }
}

/// Paths that the metrics cannot have.
pub const RESERVED_PATHS: [&str; 5] = ["/healthz", "/readyz", "/debug/state", recording::PATH, shadow::PATH];

/// The time limit of a probe of the API server, which is then probed again.
const ASKED_FOR: Duration = Duration::from_secs(15);

type Check = (&'static str, Result<(), String>);

/// Probes are open to everybody; the other endpoints reveal cluster state and need a permission.
/// Recordings and reports have their own rule, see [`mod@recording`].
fn router(metrics_path: Option<&str>, shown: Shown, access: Option<Arc<Access>>) -> Router {
    let [healthz, readyz, state, recording, shadowed] = RESERVED_PATHS;
    let mut closed = Router::new().route(state, get(debug_state));
    if let Some(path) = metrics_path {
        closed = closed.route(path, get(metrics));
    }
    if let Some(access) = access {
        let shown = shown.clone();
        closed = closed.route_layer(from_fn(move |request: Request, next: Next| {
            let (access, shown) = (Arc::clone(&access), shown.clone());
            async move {
                let client = shown.services.get().map(|services| &services.client);
                match access.check(client, request.headers(), request.uri().path()).await {
                    Ok(()) => next.run(request).await,
                    Err(refusal) => (refusal.status, format!("{}\n", refusal.message)).into_response(),
                }
            }
        }));
    }
    let open = Router::new()
        .route(healthz, get(health))
        .route(readyz, get(ready))
        .route(recording, get(record))
        .route(shadowed, get(shadow));
    open.merge(closed).with_state(shown)
}

/// Binds the address, and serves until `shutdown` completes. Fails if address or certificate cannot
/// be used.
pub(crate) async fn serve(
    options: Options,
    shown: Shown,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<JoinHandle<std::io::Result<()>>> {
    let Options { address, metrics_path, security } = options;
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; choose another with --listen, or --listen off"))?;
    let (certificate, following) = match &security {
        Security::None => (None, None),
        Security::OwnCertificate => (Some(Certificate::of_our_own()?), None),
        Security::Certificate(directory) => {
            let (certificate, following) = tls::follow_certificate(directory)?;
            shown.critical_tasks.add("reloading the certificate", following.task());
            (Some(certificate), Some(following))
        }
    };
    let (metrics, scheme) =
        (metrics_path.as_deref().unwrap_or("no metrics"), if certificate.is_some() { "https" } else { "http" });
    info!(address = %listener.local_addr()?, metrics, scheme, "serving /healthz, /readyz and /debug/state");
    let access = certificate.is_some().then(Access::new);
    let router = router(metrics_path.as_deref(), shown, access).into_make_service_with_connect_info::<Ends>();
    Ok(match certificate {
        None => tokio::spawn(axum::serve(listener, router).with_graceful_shutdown(shutdown).into_future()),
        Some(certificate) => {
            let listener = Secure::new(listener, certificate, following)?;
            tokio::spawn(axum::serve(listener, router).with_graceful_shutdown(shutdown).into_future())
        }
    })
}

/// How far a call may exceed its deadline, e.g. after a suspension of the machine.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// Checks what only a restart can repair; so it does not depend on the API server.
async fn health(State(shown): State<Shown>, RawQuery(query): RawQuery) -> Response {
    shown.queue.inspect(|_, _| ());
    let calls = stopped_in_time(&shown.mounts);
    let tasks = going_on(&shown.critical_tasks, &shown.mounts, &shown.informers());
    answer(vec![("queue", Ok(())), ("calls", calls), ("tasks", tasks)], query.as_deref().unwrap_or_default())
}

fn stopped_in_time(mounts: &Mounts) -> Result<(), String> {
    let mounts = mounts.all();
    let stuck = mounts.iter().filter(|(mount, _)| mount.running.overdue() >= STUCK_AFTER);
    let names: Vec<&str> = stuck.map(|(mount, _)| &*mount.name).collect();
    if names.is_empty() { Ok(()) } else { Err(format!("plugin calls run past their deadline: {}", names.join(", "))) }
}

pub(crate) fn going_on(critical_tasks: &CriticalTasks, mounts: &Mounts, informers: &[Arc<Informer>]) -> Result<(), String> {
    let mut ended: Vec<String> = critical_tasks.ended().into_iter().map(str::to_owned).collect();
    ended.extend(mounts.ended_tasks());
    let watches = informers.iter().filter(|informer| !informer.is_running());
    ended.extend(watches.map(|informer| format!("the watch of {}", informer.target().kind)));
    if ended.is_empty() { Ok(()) } else { Err(format!("ended: {}", ended.join(", "))) }
}

/// Checks whether the host works, or could take over. Mounts that wait for their CRD do not count.
async fn ready(State(shown): State<Shown>, RawQuery(query): RawQuery) -> Response {
    let denied = shown.denials.as_ref().and_then(|denials| denials.current());
    let election = denied.map_or(Ok(()), |error| Err(format!("this host can neither lead nor take over the Lease: {error}")));
    let checks = vec![
        ("api-server", answering(&shown)),
        ("election", election),
        ("inventory", shown.services.get().map_or(Ok(()), |services| services.inventory.check())),
        ("mounts", started(&shown.mounts)),
        ("watches", alive(&shown.informers())),
    ];
    answer(checks, query.as_deref().unwrap_or_default())
}

/// Checks whether the API server answers, without waiting: the kubelet waits only a second.
fn answering(shown: &Shown) -> Result<(), String> {
    let Some(services) = shown.services.get() else { return Err("it has not answered yet".to_owned()) };
    let (ask, result) = shown.api_server.check();
    if ask == Probe::Now {
        let (client, api_server) = (services.client.clone(), Arc::clone(&shown.api_server));
        tokio::spawn(async move {
            match tokio::time::timeout(ASKED_FOR, client.apiserver_version()).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) if matches!(&error, kube::Error::Api(status) if status.code == 401) => {
                    api_server.unanswered(format!("it rejects the credentials of this host: {}", error_chain(&error)));
                }
                Ok(Err(kube::Error::Api(status))) if is_there(status.code) => {}
                Ok(Err(error)) => api_server.unanswered(error_chain(&error)),
                Err(_) => api_server.unanswered(format!("it has not answered for {} s", ASKED_FOR.as_secs())),
            }
        });
    }
    result
}

async fn record(
    ConnectInfo(ends): ConnectInfo<Ends>,
    State(shown): State<Shown>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let host = recording::Host {
        recorded: &shown.recorded,
        mounts: &shown.mounts,
        metrics: &shown.metrics,
        leaders: shown.leaders.as_deref(),
        services: shown.services.get(),
    };
    recording::answer(ends, &headers, query.as_deref().unwrap_or_default(), &host)
}

async fn shadow(
    ConnectInfo(ends): ConnectInfo<Ends>,
    State(shown): State<Shown>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    shadow::answer(ends, &headers, query.unwrap_or_default(), shown.mounts, shown.leaders).await
}

pub(crate) fn started(mounts: &Mounts) -> Result<(), String> {
    let mounts = mounts.all();
    let starting = mounts.iter().filter(|(mount, _)| mount.phase() == Phase::Starting);
    let names: Vec<&str> = starting.map(|(mount, _)| &*mount.name).collect();
    if names.is_empty() { Ok(()) } else { Err(format!("still starting: {}", names.join(", "))) }
}

pub(crate) fn alive(informers: &[Arc<Informer>]) -> Result<(), String> {
    // An error that prevents a mount from starting is reported at once.
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
            let error = down.error.unwrap_or_else(|| "not connected yet".to_owned());
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
    let claims = shown.services.get().map(|services| &services.claims);
    let leading = state::Leading { claims, leaders: shown.leaders.as_deref() };
    let text = format!("{:#}\n", state::dump(&shown.mounts, &shown.queue, &shown.informers(), leading));
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

fn watch_gauges(informer: &Informer) -> WatchGauges {
    let health = informer.health();
    WatchGauges { target: informer.target().clone(), silent_for: health.silent_for(), is_connected: health.down().is_none() }
}

fn mount_gauges(mount: &Mount, wanted: &Program, queue: &WorkQueue) -> MountGauges {
    let active = mount.active();
    let program = active.as_ref().map_or(wanted, |active| &active.program);
    let plugin = &program.plugin;
    MountGauges {
        version: program.manifest().version.clone(),
        digest: plugin.digest().to_string(),
        artifact: program.artifact_digest().unwrap_or_default().to_owned(),
        compile: plugin.compile(),
        running: mount.running.count(),
        idle: plugin.idle_instances(),
        in_progress: queue.inspect(|queue, now| queue.in_progress_of(&mount.name, now)),
        is_quarantined: active.as_ref().is_some_and(|active| active.call_guard.quarantined().is_some()),
        quarantined_scopes: active.as_ref().map_or(0, |active| active.call_guard.quarantined_scopes(0).0),
        awaited_kinds: mount.awaited_kinds(),
        unpruned_kinds: active.as_ref().map_or(0, |active| active.unpruned_kinds().len()),
        held_deletions: mount.held_deletions().iter().map(|(_, held)| held.children).sum(),
    }
}

async fn metrics(State(shown): State<Shown>, headers: HeaderMap) -> Response {
    let mounts = shown.mounts.all();
    let shadows = mounts.iter().filter(|(mount, _)| mount.leads() != Lead::No);
    let gauges = Gauges {
        watches: shown.informers().iter().map(|informer| watch_gauges(informer)).collect(),
        mounts: mounts
            .iter()
            .map(|(mount, wanted)| (mount.name.to_string(), mount_gauges(mount, wanted, &shown.queue)))
            .collect(),
        shadows: shadows.filter_map(|(mount, _)| Some((mount.name.to_string(), Shadow::of(mount)?.moment()))).collect(),
    };
    let accepted: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|accept| accept.to_str().ok()).collect();
    let form = Form::accepted(Some(&accepted.join(",")));
    match shown.metrics.scrape(&gauges, form) {
        Ok(text) => ([(CONTENT_TYPE, form.content_type())], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
