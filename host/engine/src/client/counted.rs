//! The counters and the time limit of all requests.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use kube::client::Body;
use tower::util::service_fn;

use crate::client::connection::{Connection, ResponseBody};
use crate::client::incoming::Incoming;
use crate::client::request::{BoxError, is_watch};
use crate::health::ApiServerHealth;
use crate::telemetry::metrics::Metrics;

/// Longer than kube-apiserver's own limit of a minute (`--request-timeout`).
const ANSWERED_WITHIN: Duration = Duration::from_secs(75);

/// Returns whether an API server sent this status; the others are of a gateway.
pub(crate) fn is_there(status: u16) -> bool {
    !matches!(status, 502..=504)
}

/// Returns whether the API server works for this host. A 401 may be the answer of a webhook, so it
/// only raises a doubt, which causes a probe.
fn proves_health(status: u16) -> bool {
    is_there(status) && status != 401
}

/// Counts requests with the metrics of client-go. `host` is the API server.
pub(crate) fn counted(
    connection: Connection,
    metrics: &Arc<Metrics>,
    api_server: &Arc<ApiServerHealth>,
    host: String,
) -> Connection {
    let (namespace, transport) = (connection.default_namespace().to_owned(), connection.transport());
    let (metrics, api_server) = (Arc::clone(metrics), Arc::clone(api_server));
    let counted = Counted { inner: connection, metrics, api_server, host: host.into() };
    Connection::new(service_fn(move |request| counted.clone().send(request)), namespace).over(transport)
}

#[derive(Clone)]
struct Counted {
    inner: Connection,
    metrics: Arc<Metrics>,
    api_server: Arc<ApiServerHealth>,
    host: Arc<str>,
}

impl Counted {
    async fn send(self, request: Request<Body>) -> Result<Response<Incoming<ResponseBody>>, BoxError> {
        let (method, is_watch) = (request.method().clone(), is_watch(&request));
        let answer = tokio::time::timeout(ANSWERED_WITHIN, self.inner.send(request)).await;
        let code = answer.as_ref().ok().and_then(|answer| answer.as_ref().ok()).map(|answer| answer.status().as_u16());
        self.metrics.requested(code, method.as_str(), &self.host);
        if code.is_some_and(proves_health) {
            self.api_server.heard()
        } else {
            self.api_server.doubt()
        }
        let Ok(answer) = answer else {
            let message = format!("the API server did not answer within {ANSWERED_WITHIN:?}");
            return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, message).into());
        };
        let answer = answer?;
        // Watches may be silent for longer, and have their own time limit.
        Ok(if is_watch { answer.map(Incoming::as_it_is) } else { answer.map(|body| Incoming::answer(body, ANSWERED_WITHIN)) })
    }
}

#[cfg(test)]
mod tests {
    use kube::Client;

    use super::*;
    use crate::health::Probe;
    use crate::telemetry::metrics::Form;

    fn client(status: Option<u16>) -> (Client, Arc<Metrics>, Arc<ApiServerHealth>) {
        let server = service_fn(move |_| async move {
            match status {
                Some(status) => Ok::<_, BoxError>(Response::builder().status(status).body(Body::from(b"{}".to_vec()))?),
                None => std::future::pending().await,
            }
        });
        let (metrics, api_server) = (Arc::new(Metrics::default()), Arc::default());
        let connection = Connection::new(server, "default");
        let client = counted(connection, &metrics, &api_server, "10.0.0.1:443".to_owned()).client();
        (client, metrics, api_server)
    }

    async fn get(client: &Client) -> Result<String, kube::Error> {
        client.request_text(Request::get("/version").body(Vec::new()).unwrap()).await
    }

    #[tokio::test(start_paused = true)]
    async fn requests_are_counted_by_how_they_were_answered() {
        let cases = [
            (Some(200), "200", true),
            (Some(403), "403", true),
            (Some(401), "401", false),
            (Some(503), "503", false),
            (None, "<error>", false),
        ];
        for (status, code, is_there) in cases {
            let (client, metrics, api_server) = client(status);
            assert_eq!(get(&client).await.is_ok(), status == Some(200));
            let counted = format!("rest_client_requests_total{{code=\"{code}\",method=\"GET\",host=\"10.0.0.1:443\"}} 1\n");
            let text = metrics.encode(Form::Text).unwrap();
            assert!(text.contains(&counted), "{text}");
            assert_eq!(api_server.check().0 == Probe::NotNow, is_there, "{code}");
        }
    }
}
