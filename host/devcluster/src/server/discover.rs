//! Documents about the server: discovery, OpenAPI, paths.

use std::collections::HashMap;

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

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Documents derived from the kinds, kept until these change.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// The [`crate::kinds::Kinds::generation`] of the documents.
    generation: u64,
    aggregated: HashMap<Root, Bytes>,
    openapi_index: Option<Bytes>,
    /// The documents of custom group versions; those of built-in ones never change.
    openapi: HashMap<(String, String), Document>,
}

#[derive(Clone, Debug)]
struct Document {
    json: Bytes,
    hash: String,
}

impl Server {
    pub(super) fn core_versions(&mut self, request: &Request<Bytes>) -> Result<Answer, Status> {
        let address = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        self.discovery(request, Root::Core, |_| discovery::api_versions(address))
    }

    pub(super) fn groups(&mut self, request: &Request<Bytes>) -> Result<Answer, Status> {
        self.discovery(request, Root::Groups, |server| discovery::groups(&server.registry.kinds))
    }

    fn discovery(
        &mut self,
        request: &Request<Bytes>,
        root: Root,
        plain: impl FnOnce(&Self) -> Value,
    ) -> Result<Answer, Status> {
        let accept = Accept::of(request.headers(), Offer::Discovery)?;
        if accept.form == Form::AggregatedDiscovery {
            self.renew_documents();
            let kinds = &self.registry.kinds;
            let make = || Bytes::from(discovery::aggregated(kinds, root).to_string());
            let body = self.documents.aggregated.entry(root).or_insert_with(make).clone();
            return Ok(Answer::new(StatusCode::OK, AGGREGATED, body));
        }
        Ok(plain_answer(accept, &plain(self)))
    }

    fn renew_documents(&mut self) {
        let generation = self.registry.kinds.generation();
        if self.documents.generation != generation {
            self.documents = Documents { generation, ..Documents::default() };
        }
    }

    pub(super) fn group(&self, group: &str, request: &Request<Bytes>) -> Result<Answer, Status> {
        let accept = Accept::of(request.headers(), Offer::Discovery)?;
        let found = discovery::group(&self.registry.kinds, group);
        Ok(found.map_or_else(Answer::no_such_page, |group| plain_answer(accept, &group)))
    }

    pub(super) fn version(&self, group: &str, version: &str, request: &Request<Bytes>) -> Result<Answer, Status> {
        let accept = Accept::of(request.headers(), Offer::Discovery)?;
        let found = discovery::resources(&self.registry.kinds, group, version);
        Ok(match found {
            Some(resources) => plain_answer(accept, &resources),
            None => return self.nothing_at(group),
        })
    }

    pub(super) fn openapi_index(&mut self) -> Answer {
        self.renew_documents();
        if let Some(index) = &self.documents.openapi_index {
            return Answer::text(StatusCode::OK, index.clone());
        }
        let owned = |(group, version): (&str, &str)| (group.to_owned(), version.to_owned());
        let versions: Vec<(String, String)> = self.registry.kinds.versions().map(owned).collect();
        let mut documents = Vec::new();
        for (group, version) in versions {
            let hash = match builtin::openapi_hash(&group, &version) {
                Some(hash) => Some(hash.to_owned()),
                None => self.document(&group, &version).map(|document| document.hash),
            };
            let path = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
            documents.extend(hash.map(|hash| (path, hash)));
        }
        let index = openapi::index(documents.iter().map(|(path, hash)| (path.as_str(), hash.as_str())));
        let index = Bytes::from(index.to_string());
        self.documents.openapi_index = Some(index.clone());
        Answer::text(StatusCode::OK, index)
    }

    pub(super) fn openapi_document(&mut self, path: &str, request: &Request<Bytes>) -> Answer {
        let found = match path.split('/').collect::<Vec<_>>().as_slice() {
            ["api", version] => self.document("", version),
            ["apis", group, version] => self.document(group, version),
            _ => None,
        };
        let Some(document) = found else { return Answer::no_such_page() };
        let tag = format!("{:?}", document.hash);
        let is_known = request.headers().get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
        let mut answer = if is_known {
            Answer::new(StatusCode::NOT_MODIFIED, "application/json", Bytes::new())
        } else {
            Answer::new(StatusCode::OK, "application/json", document.json)
        };
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            answer.headers.insert(header::ETAG, tag);
        }
        answer
    }

    fn document(&mut self, group: &str, version: &str) -> Option<Document> {
        if let (Some(json), Some(hash)) = (builtin::openapi_json(group, version), builtin::openapi_hash(group, version)) {
            return Some(Document { json, hash: hash.to_owned() });
        }
        self.renew_documents();
        let key = (group.to_owned(), version.to_owned());
        if let Some(known) = self.documents.openapi.get(&key) {
            return Some(known.clone());
        }
        let json = self.custom_document(group, version)?;
        let document = Document { hash: openapi::hash(&json), json: json.into() };
        self.documents.openapi.insert(key, document.clone());
        Some(document)
    }

    fn custom_document(&self, group: &str, version: &str) -> Option<Vec<u8>> {
        let kinds: Vec<(&Kind, &Value)> = self
            .registry
            .kinds
            .of_version(group, version)
            .filter_map(|kind| match &kind.origin {
                Origin::Custom(custom) => Some((&**kind, &*custom.open_api_schema)),
                Origin::Builtin => None,
            })
            .collect();
        (!kinds.is_empty()).then(|| openapi::custom_document(&kinds).to_string().into_bytes())
    }

    pub(super) fn root(&self) -> Answer {
        let mut paths: Vec<String> = self
            .registry
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

/// Returns an OpenAPI 2 document without types, which makes kubectl report unknown kinds as such.
pub(super) fn openapi_v2(request: &Request<Bytes>) -> Answer {
    /// `swagger: "2.0"` and a title, in the protobuf of gnostic's `openapi.v2.Document`.
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
