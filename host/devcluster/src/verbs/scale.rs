//! The scale subresource: another object's view of how many replicas there are.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::kinds::{Kind, Origin};
use crate::object;
use crate::patch;
use crate::request::body::{self, Decoded};
use crate::request::options::WriteOptions;
use crate::selector::LabelSelector;
use crate::server::Server;
use crate::status::{FieldError, Named, Status};
use crate::verbs::Call;
use crate::verbs::patch::PatchType;

/// Where an object keeps what a Scale shows, as JSON pointers.
struct Paths {
    spec: String,
    status: String,
    selector: Option<String>,
}

impl Server {
    /// The Scale of the call's object.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub(crate) fn get_scale(&self, call: &Call) -> Result<Value, Status> {
        let live = call.live(&self.store)?;
        scale_of(&call.kind, &call.served(&self.kinds, &live))
    }

    /// Replaces the Scale of the call's object, by a PUT (`patch_type` none) or a patch.
    ///
    /// # Errors
    ///
    /// As those of an update.
    pub(crate) fn set_scale(
        &mut self,
        call: &mut Call,
        patch_type: Option<PatchType>,
        bytes: &Bytes,
        decoded: Decoded,
        options: &WriteOptions,
    ) -> Result<Value, Status> {
        let live = call.live(&self.store)?;
        let served = call.served(&self.kinds, &live);
        let scale = scale_of(&call.kind, &served)?;
        let wanted = match patch_type {
            None => decoded.value,
            Some(PatchType::Json) => patch::json::apply(&scale, &body::json(bytes)?.value)?,
            Some(PatchType::Merge | PatchType::Strategic) => patch::merge::apply(&scale, &body::json(bytes)?.value)?,
            Some(PatchType::Apply) => patch::merge::apply(&scale, &body::yaml(bytes)?.value)?,
        };
        let name = object::name(&wanted);
        if !name.is_empty() && name != call.name {
            let message = format!("the name of the object ({name}) does not match the name on the URL ({})", call.name);
            return Err(Status::bad_request(message));
        }
        let replicas = wanted.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
        if replicas < 0 {
            let detail = "must be greater than or equal to 0";
            let named = Named { group: "autoscaling", resource: "Scale", name: &call.name };
            return Err(Status::invalid(named, &[FieldError::invalid("spec.replicas", replicas, detail)]));
        }
        let mut value = served.clone();
        let paths = paths(&call.kind)?;
        set(&mut value, &paths.spec, Value::from(replicas));
        match wanted.pointer("/metadata/resourceVersion") {
            Some(version) => object::set_metadata(&mut value, "resourceVersion", version.clone()),
            None => object::set_resource_version(&mut value, live.revision),
        }
        let _ = options;
        self.record_update(call, &served, &mut value);
        // The parent's own strategy runs, and its validation; the managed fields say that it came through the scale.
        let subresource = call.subresource.take();
        let written = self.replace(call, &live, &served, value);
        call.subresource = subresource;
        scale_of(&call.kind, written?.value())
    }
}

fn paths(kind: &Kind) -> Result<Paths, Status> {
    let pointer = |path: &str| path.replace('.', "/");
    match &kind.origin {
        Origin::Builtin => Ok(Paths {
            spec: "/spec/replicas".to_owned(),
            status: "/status/replicas".to_owned(),
            selector: Some("/spec/selector".to_owned()),
        }),
        Origin::Custom(version) => match &version.scale {
            Some(scale) => Ok(Paths {
                spec: pointer(&scale.spec_replicas_path),
                status: pointer(&scale.status_replicas_path),
                selector: scale.label_selector_path.as_deref().map(pointer),
            }),
            None => Err(Status::no_such_path()),
        },
    }
}

fn scale_of(kind: &Kind, value: &Value) -> Result<Value, Status> {
    let paths = paths(kind)?;
    let mut metadata = serde_json::Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(text) = value.get("metadata").and_then(|metadata| metadata.get(field)) {
            metadata.insert(field.to_owned(), text.clone());
        }
    }
    let number = |path: &str| value.pointer(path).and_then(Value::as_i64);
    let mut status = json!({ "replicas": number(&paths.status).unwrap_or(0) });
    let selector = match (&kind.origin, paths.selector.as_deref().and_then(|path| value.pointer(path))) {
        (Origin::Custom(_), Some(Value::String(text))) => Some(text.clone()),
        (Origin::Builtin, Some(selector)) => {
            LabelSelector::from_object(Some(selector)).ok().map(|selector| selector.to_string())
        }
        _ => None,
    };
    if let (Some(selector), Some(status)) = (selector.filter(|text| !text.is_empty()), status.as_object_mut()) {
        status.insert("selector".to_owned(), Value::from(selector));
    }
    let mut spec = json!({});
    match number(&paths.spec) {
        Some(replicas) if replicas != 0 => set(&mut spec, "/replicas", Value::from(replicas)),
        Some(_) => {}
        None if matches!(kind.origin, Origin::Custom(_)) => {
            return Err(Status::internal(format!("the spec replicas field {:?} does not exist", paths.spec.replace('/', "."))));
        }
        None => {}
    }
    Ok(json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status,
    }))
}

fn set(value: &mut Value, pointer: &str, new: Value) {
    let mut place = value;
    for segment in pointer.split('/').filter(|segment| !segment.is_empty()) {
        if !place.is_object() {
            *place = json!({});
        }
        let Some(object) = place.as_object_mut() else { return };
        place = object.entry(segment).or_insert(Value::Null);
    }
    *place = new;
}
