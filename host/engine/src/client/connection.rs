//! The connection that all clients of a host share.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use kube::Client;
use kube::client::Body;
use tower::util::{BoxCloneSyncService, service_fn};
use tower::{Service, ServiceExt as _};

use crate::client::request::BoxError;
use crate::restores::Restores;

pub(super) type ResponseBody = UnsyncBoxBody<Bytes, BoxError>;

/// Sends requests to the API server. Clones share one pool of connections.
///
/// All clients are built directly on this type: each [`Client`] passes requests to its own task, so
/// a client over another client would pass them through two.
#[derive(Clone)]
pub struct Connection {
    service: BoxCloneSyncService<Request<Body>, Response<ResponseBody>, BoxError>,
    default_namespace: String,
    transport: Transport,
    restores: Restores,
}

/// The way to the API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// A network, which can break without notice: watches have time limits.
    #[default]
    Network,
    /// The API server is in this process: a watch without changes needs no sign of life.
    InProcess,
}

impl Connection {
    /// Sends requests through a service.
    pub fn new<S, B>(service: S, default_namespace: impl Into<String>) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let service = service.map_response(|response: Response<B>| response.map(boxed)).map_err(Into::into);
        Self {
            service: BoxCloneSyncService::new(service),
            default_namespace: default_namespace.into(),
            transport: Transport::Network,
            restores: Restores::default(),
        }
    }

    /// Sets the transport.
    #[must_use]
    pub fn over(self, transport: Transport) -> Self {
        Self { transport, ..self }
    }

    /// Watches over this connection list again after each of these restores.
    #[must_use]
    pub(crate) fn with_restores(self, restores: Restores) -> Self {
        Self { restores, ..self }
    }

    pub(crate) fn restores(&self) -> &Restores {
        &self.restores
    }

    pub(crate) fn transport(&self) -> Transport {
        self.transport
    }

    /// A client that sends its requests here.
    pub fn client(&self) -> Client {
        Client::new(self.service.clone(), self.default_namespace.clone())
    }

    pub(super) fn default_namespace(&self) -> &str {
        &self.default_namespace
    }

    pub(super) async fn send(&self, request: Request<Body>) -> Result<Response<ResponseBody>, BoxError> {
        self.service.clone().oneshot(request).await
    }
}

/// Sends through an existing client, and so through one more task.
impl From<Client> for Connection {
    fn from(client: Client) -> Self {
        let namespace = client.default_namespace().to_owned();
        let send = move |request| {
            let client = client.clone();
            async move { client.send(request).await }
        };
        Self::new(service_fn(send), namespace)
    }
}

pub(super) fn boxed<B>(body: B) -> ResponseBody
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    body.map_err(Into::into).boxed_unsync()
}
