//! `/debug/shadow`: the report about a shadow, as JSON. Only for local clients.

use std::sync::Arc;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use tokio::sync::Semaphore;

use crate::admin::local::{self, Ends};
use crate::leadership::election::Leaders;
use crate::mounts::Mounts;
use crate::mounts::mount::Lead;
use crate::shadow::Shadow;
use crate::shadow::report::Report;

/// The path of the endpoint.
pub const PATH: &str = "/debug/shadow";
/// The media type of the report.
pub const MEDIA_TYPE: &str = "application/json";

/// Reports may have some MiB, so one is made at a time.
static TURN: Semaphore = Semaphore::const_new(1);

pub(crate) async fn answer(
    ends: Ends,
    headers: &HeaderMap,
    query: String,
    mounts: Arc<Mounts>,
    leaders: Option<Arc<Leaders>>,
) -> Response {
    if !local::is_local(ends, headers) {
        let text = "reports about shadows are served only to clients on the host's own machine; in a cluster, use kubectl port-forward, or \
                    kubectl exec and gyre shadow\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    let _turn = TURN.acquire().await;
    let text = move || report(&query, &mounts, leaders.as_deref()).map(|report| format!("{:#}\n", report.json()));
    match tokio::task::spawn_blocking(text).await {
        Ok(Ok(text)) => ([(CONTENT_TYPE, MEDIA_TYPE)], text).into_response(),
        Ok(Err((status, text))) => (status, text + "\n").into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("cannot make a report: {error}\n")).into_response(),
    }
}

fn report(query: &str, mounts: &Mounts, leaders: Option<&Leaders>) -> Result<Report, (StatusCode, String)> {
    let mut name = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("mount", value)) => name = Some(value),
            _ => return Err((StatusCode::BAD_REQUEST, format!("unknown parameter {pair:?}; the only parameter is mount"))),
        }
    }
    let all = || mounts.all().into_iter().map(|(mount, _)| mount);
    let candidates = all().filter(|mount| Shadow::of(mount).is_some() || name == Some(&*mount.name)).collect();
    let none = "no mount has a shadow; give a mount one in the configuration file: shadow: {plugin: FILE}";
    let mount = local::find(name, candidates, none, "report").map_err(|text| (StatusCode::NOT_FOUND, text))?;
    let shadow = Shadow::of(&mount).ok_or_else(|| {
        let text =
            format!("the mount {} has no shadow; give it one in the configuration file: shadow: {{plugin: FILE}}", mount.name);
        (StatusCode::NOT_FOUND, text)
    })?;
    if mount.leads() == Lead::No {
        return Err((StatusCode::CONFLICT, local::follows(&mount, leaders, "shadow")));
    }
    Ok(Report::of(&mount.name, &shadow))
}
