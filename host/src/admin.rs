//! The admin server: `/healthz`, `/readyz`, `/metrics` and `/debug/state`.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tracing::info;

use crate::metrics::Metrics;
use crate::mount::Phase;
use crate::mounts::Mounts;
use crate::state;
use crate::work::WorkQueue;

/// What the server shows.
#[derive(Clone)]
pub struct Shown {
    /// Behind `/metrics`.
    pub metrics: Arc<Metrics>,
    /// Behind `/readyz`: ready when none is still starting. One that waits for its CRD does not hold the others up.
    pub mounts: Arc<Mounts>,
    /// Behind `/debug/state`, with the mounts.
    pub queue: Arc<WorkQueue>,
}

/// Binds the address, then serves until `shutdown` ends. Binding fails at once; nothing after that does.
///
/// # Errors
///
/// When the address cannot be bound.
pub async fn serve(
    address: SocketAddr,
    shown: Shown,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<tokio::task::JoinHandle<std::io::Result<()>>> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; choose another with --listen, or --listen off"))?;
    info!(address = %listener.local_addr()?, "serving /healthz, /readyz, /metrics and /debug/state");
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/debug/state", get(debug_state))
        .with_state(shown);
    Ok(tokio::spawn(axum::serve(listener, router).with_graceful_shutdown(shutdown).into_future()))
}

async fn ready(State(shown): State<Shown>) -> Response {
    let mounts = shown.mounts.all();
    let starting = mounts.iter().filter(|(mount, _)| mount.phase() == Phase::Starting);
    let waiting: Vec<&str> = starting.map(|(mount, _)| &*mount.name).collect();
    if waiting.is_empty() {
        (StatusCode::OK, "ok\n".to_owned()).into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, format!("still starting: {}\n", waiting.join(", "))).into_response()
    }
}

async fn debug_state(State(shown): State<Shown>) -> Response {
    let text = format!("{:#}\n", state::dump(&shown.mounts, &shown.queue));
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

async fn metrics(State(shown): State<Shown>) -> Response {
    match shown.metrics.encode() {
        Ok(text) => ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
