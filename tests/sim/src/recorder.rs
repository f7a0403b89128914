//! What the host sends, and what it is answered.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use gyre_devcluster::faults;
use http::{Method, Request, Response};

/// A request, with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub uri: String,
    /// The code of the answer; 0 while there is none, or when the connection failed.
    pub code: u16,
}

impl Sent {
    /// Whether it is a watch, a list or a look at what is served: what a host does without having anything to do.
    pub fn is_routine(&self) -> bool {
        self.method == Method::GET
    }
}

/// A service that notes what goes through it.
#[derive(Clone)]
pub struct Recorder {
    inner: faults::Service,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Recorder {
    /// Notes what goes to `inner`.
    pub fn new(inner: faults::Service) -> Self {
        Self { inner, sent: Arc::default() }
    }

    /// Everything so far.
    pub fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How much that is.
    pub fn len(&self) -> usize {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether that is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<B> tower_service::Service<Request<B>> for Recorder
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    type Response = Response<faults::Body>;
    type Error = gyre_devcluster::service::BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        tower_service::Service::<Request<B>>::poll_ready(&mut self.inner, context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let uri = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
        let (sent, method) = (Arc::clone(&self.sent), request.method().clone());
        let index = {
            let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
            sent.push(Sent { method, uri, code: 0 });
            sent.len() - 1
        };
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            if let Ok(answer) = &answer {
                sent.lock().unwrap_or_else(PoisonError::into_inner)[index].code = answer.status().as_u16();
            }
            answer
        })
    }
}
