use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::conversion::convert;
use crate::fields;
use crate::kinds::{Origin, Scope, Subresource};
use crate::render::Rendering;
use crate::reply::ListMetadata;
use crate::request::accept::{Accept, Offer};
use crate::request::body::{self, Decoded};
use crate::request::expected::Expected;
use crate::request::options::{DeleteOptions, DryRun, ListOptions, Query, WriteOptions};
use crate::request::{ResourcePath, Target};
use crate::server::Server;
use crate::server::node::NodeRequest;
use crate::status::{Named, Status};
use crate::user::Requester;
use crate::verbs::patch::{Created, PatchType};
use crate::verbs::{Call, Written};

pub(super) struct Incoming<'a> {
    pub(super) method: &'a Method,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a Bytes,
    pub(super) query: Query,
    pub(super) rendering: Rendering,
}

impl Server {
    pub(super) fn dispatch(&mut self, now: Timestamp, request: &Request<Bytes>) -> Result<Answer, Status> {
        if request.body().len() > body::LIMIT {
            return Err(Status::too_large(body::LIMIT));
        }
        let target = Target::parse(request.uri().path());
        if !matches!(target, Target::Resource(_)) && !matches!(*request.method(), Method::GET) {
            return Ok(match target {
                Target::Unknown | Target::Root => Answer::no_such_page(),
                _ => method_not_allowed(),
            });
        }
        Ok(match target {
            Target::CoreVersions => self.core_versions(request)?,
            Target::Groups => self.groups(request)?,
            Target::Group(group) => self.group(&group, request)?,
            Target::Version { group, version } => self.version(&group, &version, request)?,
            Target::Resource(path) => return self.resource(now, request, &path),
            Target::OpenApiV2 => super::discover::openapi_v2(request),
            Target::OpenApiIndex => self.openapi_index(),
            Target::OpenApi(path) => self.openapi_document(&path, request),
            Target::ServerVersion => Answer::json(StatusCode::OK, crate::builtin::version()),
            Target::Health(path) => health(&path, &Query::parse(request.uri().query())),
            Target::Root => self.root(),
            Target::Unknown => {
                let mut segments = request.uri().path().split('/').filter(|segment| !segment.is_empty());
                return match (segments.next(), segments.next()) {
                    (Some("api"), _) => self.nothing_at(""),
                    (Some("apis"), Some(group)) => self.nothing_at(group),
                    _ => Ok(Answer::no_such_page()),
                };
            }
        })
    }

    fn resource(&mut self, now: Timestamp, request: &Request<Bytes>, path: &ResourcePath) -> Result<Answer, Status> {
        let Some(kind) = self.registry.kinds.get(&path.group, &path.version, &path.plural).cloned() else {
            return self.nothing_at(&path.group);
        };
        // Cluster-scoped kinds have no path in a namespace.
        if kind.scope == Scope::Cluster && path.namespace.is_some() {
            return self.nothing_at(&path.group);
        }
        if let Some(asked) = NodeRequest::of(&kind, path) {
            return self.of_node(asked, path);
        }
        let subresource = match path.subresource.as_deref() {
            None => None,
            Some(name) => match Subresource::of(name).filter(|subresource| kind.has(*subresource)) {
                Some(subresource) => Some(subresource),
                None if matches!(kind.origin, Origin::Custom(_)) => {
                    let name = path.name.as_deref().unwrap_or_default();
                    return Err(Status::not_found(Named { group: kind.group(), resource: &kind.resource.plural, name }));
                }
                None => return self.nothing_at(&path.group),
            },
        };
        let query = Query::parse(request.uri().query());
        let accept = Accept::of(request.headers(), Offer::Resource)?;
        let rendering = Rendering::new(accept, Rendering::include(query.get("includeObject"))?);
        let incoming =
            Incoming { method: request.method(), headers: request.headers(), body: request.body(), query, rendering };
        let call = Call::internal(
            kind,
            path.namespace.as_deref().unwrap_or_default(),
            path.name.as_deref().unwrap_or_default(),
            "",
            now,
        )
        .about(subresource);
        let warnings = match &call.kind.origin {
            Origin::Custom(version) => version.warnings.clone(),
            Origin::Builtin => Vec::new(),
        };
        // Objects of a namespaced kind have no path without a namespace.
        let is_across = call.kind.scope == Scope::Namespaced && path.namespace.is_none();
        let answer = match (path.name.is_some(), subresource) {
            (false, _) if call.kind.is_review() && !is_across => self.review(call, &incoming),
            (false, _) => self.collection(call, incoming, path.is_watch, is_across),
            (true, None) if call.kind.is_review() => Err(Status::no_such_path()),
            (true, _) if is_across => self.nothing_at(&path.group),
            (true, None) => self.object(call, incoming, path.is_watch),
            (true, Some(Subresource::Token)) => self.token(call, &incoming),
            (true, Some(Subresource::Scale)) => self.scale(call, &incoming),
            (true, Some(Subresource::Binding | Subresource::Eviction)) => self.act_on_pod(call, &incoming),
            (true, Some(_)) => self.part(call, &incoming),
        };
        answer.map(|answer| answer.with_warnings(&warnings))
    }

    /// The answer for an unknown path: built-in groups have a router that answers with a Status.
    pub(super) fn nothing_at(&self, group: &str) -> Result<Answer, Status> {
        let is_builtin = self.registry.kinds.versions().any(|(known, version)| {
            known == group && self.registry.kinds.of_version(known, version).any(|kind| matches!(kind.origin, Origin::Builtin))
        });
        if is_builtin { Err(Status::no_such_path()) } else { Ok(Answer::no_such_page()) }
    }

    fn act_on_pod(&mut self, mut call: Call, incoming: &Incoming<'_>) -> Result<Answer, Status> {
        if *incoming.method != Method::POST {
            return Ok(method_not_allowed());
        }
        let options = WriteOptions::parse(&incoming.query, "CreateOptions", false)?;
        call.take(&options, incoming.headers);
        let kind = if call.subresource == Some(Subresource::Binding) { ("v1", "Binding") } else { ("policy/v1", "Eviction") };
        let decoded = body::object(incoming.headers, incoming.body, &Expected::typed(kind.0, kind.1))?;
        let live = call.live(&self.registry.store)?;
        let success = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
        if call.subresource == Some(Subresource::Binding) {
            let node = decoded.value.pointer("/target/name").and_then(Value::as_str).unwrap_or_default();
            let bound = live.value.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or_default();
            if !bound.is_empty() {
                let why = format!("pod {} is already assigned to node {bound:?}", call.name);
                return Err(Status::conflict(Named { resource: "pods/binding", ..call.named() }, &why));
            }
            let uid = crate::object::uid(&live.value).unwrap_or_default();
            if call.dry_run == DryRun::No {
                self.bind(&call.key(), uid, node, &call.manager, call.now)?;
            }
        } else {
            let options = decoded.value.get("deleteOptions");
            let mut options = DeleteOptions::parse(&incoming.query, options.filter(|options| options.is_object()))?;
            options.dry_run = call.dry_run;
            call.subresource = None;
            self.registry.delete(&mut call, &options)?;
        }
        Ok(incoming.rendering.answer(StatusCode::CREATED, &success))
    }

    fn collection(
        &mut self,
        mut call: Call,
        incoming: Incoming<'_>,
        is_watch: bool,
        is_across: bool,
    ) -> Result<Answer, Status> {
        let (query, rendering) = (&incoming.query, incoming.rendering);
        match *incoming.method {
            Method::GET => {
                let mut options = ListOptions::parse(query)?;
                options.watch |= is_watch;
                if options.watch {
                    self.registry.start_watch(&call, &options, rendering)
                } else {
                    self.registry.list(&call, &options, &rendering)
                }
            }
            Method::POST if !is_across => {
                let options = WriteOptions::parse(query, "CreateOptions", false)?;
                let decoded = body::object(incoming.headers, incoming.body, &Expected::object(&call.kind))?;
                call.take(&options, incoming.headers);
                let value = self.registry.decode(&mut call, decoded, &options)?;
                let written = self.registry.create(&mut call, value).map_err(|status| status.with_warnings(&call.warnings))?;
                Ok(self.written(&call, &rendering, StatusCode::CREATED, &written))
            }
            Method::DELETE if call.kind.verbs.iter().any(|verb| verb == "deletecollection") && !is_across => {
                let list = ListOptions::parse(query)?;
                let options = delete_options(&incoming.query, incoming.headers, incoming.body)?;
                call.dry_run = options.dry_run;
                let deleted = self.registry.delete_collection(&mut call, &options, &list)?;
                let metadata = ListMetadata { resource_version: self.registry.store.revision(), ..ListMetadata::default() };
                Ok(rendering.list(&self.registry.kinds, &call.kind, &metadata, &deleted, call.now))
            }
            ref method => not_for_collections(&call, method),
        }
    }

    fn object(&mut self, mut call: Call, incoming: Incoming<'_>, is_watch: bool) -> Result<Answer, Status> {
        let (query, rendering) = (&incoming.query, incoming.rendering);
        match *incoming.method {
            Method::GET if is_watch || ListOptions::parse(query).is_ok_and(|options| options.watch) => {
                let mut options = ListOptions::parse(query)?;
                options.watch = true;
                self.registry.start_watch(&call, &options, rendering)
            }
            Method::GET => {
                let live = call.live(&self.registry.store)?;
                Ok(rendering.stored(StatusCode::OK, &self.registry.kinds, &call.kind, &live, call.now))
            }
            Method::PUT | Method::PATCH => {
                let Incoming { method, headers, body, query, .. } = incoming;
                let incoming = Incoming { method, headers, body, query, rendering };
                self.part(call, &incoming)
            }
            Method::DELETE => {
                let options = delete_options(query, incoming.headers, incoming.body)?;
                call.dry_run = options.dry_run;
                let deleted = self.registry.delete(&mut call, &options)?;
                let answer = match self.registry.deletion_body(&call, deleted) {
                    Ok(value) => {
                        let served = convert(&self.registry.kinds, &call.kind, &value);
                        rendering.one(StatusCode::OK, &call.kind, &served, call.now)
                    }
                    Err(status) => rendering.answer(StatusCode::OK, &status),
                };
                Ok(answer.with_warnings(&call.warnings))
            }
            _ => Ok(method_not_allowed()),
        }
    }

    /// Reads or writes the object through its status, a namespace's finalizers, or similar parts.
    fn part(&mut self, mut call: Call, incoming: &Incoming<'_>) -> Result<Answer, Status> {
        let rendering = &incoming.rendering;
        match *incoming.method {
            Method::GET => {
                let live = call.live(&self.registry.store)?;
                Ok(rendering.stored(StatusCode::OK, &self.registry.kinds, &call.kind, &live, call.now))
            }
            Method::PUT => {
                let options = WriteOptions::parse(&incoming.query, "UpdateOptions", false)?;
                let decoded = body::object(incoming.headers, incoming.body, &Expected::object(&call.kind))?;
                call.take(&options, incoming.headers);
                let value = self.registry.decode(&mut call, decoded, &options)?;
                let was_there = call.live(&self.registry.store).is_ok();
                let written = self.registry.update(&mut call, value).map_err(|status| status.with_warnings(&call.warnings))?;
                let code = if was_there { StatusCode::OK } else { StatusCode::CREATED };
                Ok(self.written(&call, rendering, code, &written))
            }
            Method::PATCH => {
                let kind = PatchType::of(body::content_type(incoming.headers), &call.kind.origin)?;
                let options = WriteOptions::parse(&incoming.query, "PatchOptions", kind == PatchType::Apply)?;
                call.take(&options, incoming.headers);
                let patched = self.registry.patch(&mut call, kind, incoming.body, &options);
                let (written, created) = patched.map_err(|status| status.with_warnings(&call.warnings))?;
                let code = if created == Created::Yes { StatusCode::CREATED } else { StatusCode::OK };
                Ok(self.written(&call, rendering, code, &written))
            }
            _ => Ok(method_not_allowed()),
        }
    }

    fn scale(&mut self, mut call: Call, incoming: &Incoming<'_>) -> Result<Answer, Status> {
        let rendering = &incoming.rendering;
        let scale = match *incoming.method {
            Method::GET => self.registry.get_scale(&call)?,
            Method::PUT => {
                let options = WriteOptions::parse(&incoming.query, "UpdateOptions", false)?;
                call.take(&options, incoming.headers);
                let decoded = body::object(incoming.headers, incoming.body, &Expected::scale())?;
                self.registry.set_scale(&mut call, None, incoming.body, decoded, &options)?
            }
            Method::PATCH => {
                let kind = PatchType::of(body::content_type(incoming.headers), &call.kind.origin)?;
                let options = WriteOptions::parse(&incoming.query, "PatchOptions", kind == PatchType::Apply)?;
                call.take(&options, incoming.headers);
                self.registry.set_scale(&mut call, Some(kind), incoming.body, Decoded::default(), &options)?
            }
            _ => return Ok(method_not_allowed()),
        };
        Ok(rendering.scale(StatusCode::OK, &scale, call.now).with_warnings(&call.warnings))
    }

    fn written(&self, call: &Call, rendering: &Rendering, code: StatusCode, written: &Written) -> Answer {
        let answer = match written {
            Written::Stored(stored) => rendering.stored(code, &self.registry.kinds, &call.kind, stored, call.now),
            Written::Tried(value) => {
                let served = convert(&self.registry.kinds, &call.kind, value);
                rendering.one(code, &call.kind, &served, call.now)
            }
        };
        answer.with_warnings(&call.warnings)
    }
}

impl Call {
    pub(super) fn take(&mut self, options: &WriteOptions, headers: &HeaderMap) {
        let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        self.manager = fields::manager_name(&options.field_manager, agent);
        self.dry_run = options.dry_run;
        self.user = Requester::of(headers).ok().map(|requester| requester.effective().clone());
    }
}

fn delete_options(query: &Query, headers: &HeaderMap, bytes: &Bytes) -> Result<DeleteOptions, Status> {
    if bytes.is_empty() {
        return DeleteOptions::parse(query, None);
    }
    let decoded = body::object(headers, bytes, &Expected::delete_options())?;
    DeleteOptions::parse(query, Some(&decoded.value))
}

/// The router of built-in kinds refuses other methods; custom kinds have a handler that does.
fn not_for_collections(call: &Call, method: &Method) -> Result<Answer, Status> {
    match (&call.kind.origin, method) {
        (Origin::Builtin, _) | (_, &Method::HEAD | &Method::POST | &Method::DELETE) => Ok(method_not_allowed()),
        (Origin::Custom(_), &Method::PUT | &Method::PATCH) => Err(Status::bad_request("name must be provided")),
        (Origin::Custom(_), _) => {
            let resource = format!("{}.{}", call.kind.resource.plural, call.kind.group());
            let message = format!(" is not supported on resources of kind {resource:?}");
            let details = json!({ "group": call.kind.group(), "kind": &*call.kind.resource.plural });
            let code = StatusCode::METHOD_NOT_ALLOWED;
            Err(Status { details: Some(details), ..Status::new(code, "MethodNotAllowed", message) })
        }
    }
}

pub(super) fn method_not_allowed() -> Answer {
    Status::method_not_allowed().into()
}

fn health(path: &str, query: &Query) -> Answer {
    let (check, rest) = path.split_once('/').unwrap_or((path, ""));
    if !matches!(rest, "" | "ping" | "log" | "etcd") {
        return Answer::no_such_page();
    }
    if query.has("verbose") && rest.is_empty() {
        return Answer::text(StatusCode::OK, format!("[+]ping ok\n[+]log ok\n[+]etcd ok\n{check} check passed\n"));
    }
    Answer::text(StatusCode::OK, "ok")
}
