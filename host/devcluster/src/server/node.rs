//! Refuses requests that need a node, because there are none, and Pods have no containers.

use http::StatusCode;

use crate::answer::Answer;
use crate::kinds::Kind;
use crate::object;
use crate::request::ResourcePath;
use crate::server::Server;
use crate::status::{Named, Status};
use crate::store::{Key, Resource};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeRequest {
    Log,
    /// `exec`, `attach`, `portforward` or `proxy`.
    Connection,
}

impl NodeRequest {
    pub(super) fn of(kind: &Kind, path: &ResourcePath) -> Option<Self> {
        match path.subresource.as_deref() {
            _ if !kind.is_pod() || path.namespace.is_none() => None,
            Some("log") => Some(Self::Log),
            Some("exec" | "attach" | "portforward" | "proxy") => Some(Self::Connection),
            _ => None,
        }
    }
}

impl Server {
    /// Answers for Pods without a node like the API server; for other Pods, nothing runs.
    pub(super) fn of_node(&self, asked: NodeRequest, path: &ResourcePath) -> Result<Answer, Status> {
        let (namespace, name) = (path.namespace.as_deref().unwrap_or_default(), path.name.as_deref().unwrap_or_default());
        let pod = self.registry.store.get(&Resource::new("", "pods"), &Key::new(namespace, name));
        let pod = pod.ok_or_else(|| Status::not_found(Named { group: "", resource: "pods", name }))?;
        let is_scheduled = pod.value.get("spec").is_some_and(|spec| !object::text(spec, "nodeName").is_empty());
        match (asked, is_scheduled) {
            (NodeRequest::Log, false) => Ok(Answer::text(StatusCode::OK, "")),
            (NodeRequest::Connection, false) => Err(Status::bad_request(format!("pod {name} does not have a host assigned"))),
            (NodeRequest::Log, true) => Err(not_implemented("nothing runs in the Pods of devcluster, so they have no logs")),
            (NodeRequest::Connection, true) => {
                Err(not_implemented("nothing runs in the Pods of devcluster, so there is nothing to connect to"))
            }
        }
    }
}

fn not_implemented(message: &str) -> Status {
    Status::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
}
