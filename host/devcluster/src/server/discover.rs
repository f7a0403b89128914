//! What the server says of itself: discovery, OpenAPI documents, paths.

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::discovery::{self, Root};
use crate::kinds::{Kind, Origin};
use crate::render::Rendering;
use crate::request::accept::{Accept, Form, Offer};
use crate::server::Server;
use crate::status::Status;
use crate::table::IncludeObject;
use crate::{builtin, openapi};

/// The media type of aggregated discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

impl Server {
    pub(super) fn core_versions(&self, request: &Request<Bytes>) -> Result<Answer, Status> {
        let address = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        self.discovery(request, Root::Core, || discovery::api_versions(address))
    }

    pub(super) fn groups(&self, request: &Request<Bytes>) -> Result<Answer, Status> {
        self.discovery(request, Root::Groups, || discovery::groups(&self.kinds))
    }

    fn discovery(&self, request: &Request<Bytes>, root: Root, plain: impl FnOnce() -> Value) -> Result<Answer, Status> {
        let accept = Accept::of(request.headers(), Offer::Discovery)?;
        if accept.form == Form::AggregatedDiscovery {
            let body = discovery::aggregated(&self.kinds, root).to_string();
            return Ok(Answer::new(StatusCode::OK, AGGREGATED, body));
        }
        Ok(plain_answer(accept, &plain()))
    }

    pub(super) fn group(&self, group: &str, request: &Request<Bytes>) -> Result<Answer, Status> {
        let accept = Accept::of(request.headers(), Offer::Discovery)?;
        let found = discovery::group(&self.kinds, group);
        Ok(found.map_or_else(Answer::no_such_page, |group| plain_answer(accept, &group)))
    }

    pub(super) fn version(&self, group: &str, version: &str, request: &Request<Bytes>) -> Result<Answer, Status> {
        let accept = Accept::of(request.headers(), Offer::Discovery)?;
        let found = discovery::resources(&self.kinds, group, version);
        Ok(match found {
            Some(resources) => plain_answer(accept, &resources),
            None => return self.nothing_at(group),
        })
    }

    pub(super) fn openapi_index(&self) -> Answer {
        let documents: Vec<(String, String)> = self
            .kinds
            .versions()
            .filter_map(|(group, version)| {
                let path = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
                Some((path, openapi::hash(&self.document(group, version)?)))
            })
            .collect();
        let index = openapi::index(documents.iter().map(|(path, hash)| (path.as_str(), hash.as_str())));
        Answer::text(StatusCode::OK, index.to_string())
    }

    pub(super) fn openapi_document(&self, path: &str, request: &Request<Bytes>) -> Answer {
        let found = match path.split('/').collect::<Vec<_>>().as_slice() {
            ["api", version] => self.document("", version),
            ["apis", group, version] => self.document(group, version),
            _ => None,
        };
        let Some(document) = found else { return Answer::no_such_page() };
        let tag = format!("{:?}", openapi::hash(&document));
        let is_known = request.headers().get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
        let mut answer = if is_known {
            Answer::new(StatusCode::NOT_MODIFIED, "application/json", Bytes::new())
        } else {
            Answer::new(StatusCode::OK, "application/json", document)
        };
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            answer.headers.insert(header::ETAG, tag);
        }
        answer
    }

    fn document(&self, group: &str, version: &str) -> Option<Vec<u8>> {
        if let Some(document) = builtin::openapi_json(group, version) {
            return Some(document);
        }
        let kinds: Vec<(&Kind, &Value)> = self
            .kinds
            .of_version(group, version)
            .filter_map(|kind| match &kind.origin {
                Origin::Custom(custom) => Some((&**kind, &*custom.open_api_schema)),
                Origin::Builtin => None,
            })
            .collect();
        (!kinds.is_empty()).then(|| openapi::custom_document(&kinds).to_string().into_bytes())
    }

    /// `/`: the paths that there are.
    pub(super) fn root(&self) -> Answer {
        let mut paths: Vec<String> = self
            .kinds
            .versions()
            .flat_map(|(group, version)| {
                if group.is_empty() {
                    vec!["/api".to_owned(), format!("/api/{version}")]
                } else {
                    vec!["/apis".to_owned(), format!("/apis/{group}"), format!("/apis/{group}/{version}")]
                }
            })
            .chain(["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(str::to_owned))
            .collect();
        paths.sort_unstable();
        paths.dedup();
        Answer::json(StatusCode::OK, &json!({ "paths": paths }))
    }
}

/// The document of OpenAPI 2: one that has no types. kubectl reads it when it does not find a kind in the documents of OpenAPI 3, and
/// then says that there is no such kind.
pub(super) fn openapi_v2(request: &Request<Bytes>) -> Answer {
    /// `swagger: "2.0"` and an `info` with a title, in the protobuf of gnostic's `openapi.v2.Document`.
    const DOCUMENT: &[u8] = b"\x0a\x032.0\x12\x0c\x0a\x0aKubernetes";
    let accepted = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accepted.contains("com.github.proto-openapi.spec.v2") {
        let content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
        return Answer::new(StatusCode::OK, content_type, DOCUMENT);
    }
    let document =
        json!({ "swagger": "2.0", "info": { "title": "Kubernetes", "version": "" }, "paths": {}, "definitions": {} });
    Answer::json(StatusCode::OK, &document)
}

fn plain_answer(accept: Accept, value: &Value) -> Answer {
    Rendering::new(accept, IncludeObject::default()).answer(StatusCode::OK, value)
}
