//! The `scale` subresource.

use bytes::Bytes;
use gyre_core::selector::Selector;
use serde_json::{Value, json};

use crate::fields::{self, Force, Manager, ReplicasPaths};
use crate::kinds::{Kind, Origin};
use crate::object;
use crate::patch;
use crate::registry::Registry;
use crate::request::body::{self, Decoded};
use crate::request::options::WriteOptions;
use crate::status::{FieldError, Named, Status};
use crate::verbs::Call;
use crate::verbs::patch::PatchType;

/// The fields of an object that its Scale shows, as JSON pointers.
struct ScalePaths {
    spec: String,
    status: String,
    selector: Option<String>,
}

impl Registry {
    /// Returns the Scale of the call's object, or `NotFound`.
    pub(crate) fn get_scale(&self, call: &Call) -> Result<Value, Status> {
        let live = call.live(&self.store)?;
        scale_of(&call.kind, &call.served(&self.kinds, &live))
    }

    /// Writes the Scale of the call's object: by a PUT if `patch_type` is `None`, else by a patch.
    /// The errors are those of an update.
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
        let mut scale = scale_of(&call.kind, &served)?;
        let versions: Vec<_> = self.kinds.of_resource(&call.kind.resource).cloned().collect();
        let replicas_paths: Vec<(String, String)> =
            versions.iter().filter_map(|kind| Some((kind.api_version(), scale_paths(kind).ok()?.spec))).collect();
        let replicas_paths: ReplicasPaths<'_> = replicas_paths
            .iter()
            .map(|(version, path)| (version.clone(), Some(path.split('/').filter(|segment| !segment.is_empty()).collect())))
            .collect();
        let entries = served.pointer("/metadata/managedFields");
        if let Some(entries) = fields::parent_to_scale(entries, &replicas_paths).map_err(fields::Error::into_status)? {
            object::set_metadata(&mut scale, "managedFields", entries);
        }
        let wanted = self.wanted_scale(call, patch_type, bytes, decoded, options, &scale)?;
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
        let paths = scale_paths(&call.kind)?;
        set_pointer(&mut value, &paths.spec, Value::from(replicas));
        match wanted.pointer("/metadata/resourceVersion") {
            Some(version) => object::set_metadata(&mut value, "resourceVersion", version.clone()),
            None => object::set_resource_version(&mut value, live.revision),
        }
        let scale_entries = wanted.pointer("/metadata/managedFields");
        let entries = fields::scale_to_parent(entries, scale_entries, &call.kind.api_version(), &replicas_paths);
        match entries.map_err(fields::Error::into_status)? {
            Some(entries) => object::set_metadata(&mut value, "managedFields", entries),
            None => drop(object::remove_metadata(&mut value, "managedFields")),
        }
        // The update is prepared and validated as one of the object itself. Only the managed fields
        // name the subresource.
        let subresource = call.subresource.take();
        let written = self.replace(call, &live, &served, value);
        call.subresource = subresource;
        scale_of(&call.kind, written?.value())
    }

    fn wanted_scale(
        &self,
        call: &Call,
        patch_type: Option<PatchType>,
        bytes: &Bytes,
        decoded: Decoded,
        options: &WriteOptions,
        scale: &Value,
    ) -> Result<Value, Status> {
        let schema = crate::builtin::scale_schema();
        let manager = Manager { name: &call.manager, api_version: "autoscaling/v1", subresource: "scale" };
        let mut wanted = match patch_type {
            None => decoded.value,
            Some(PatchType::Json) => patch::json::apply(scale, &body::patch(bytes)?.value)?,
            Some(PatchType::Merge | PatchType::Strategic) => patch::merge::apply(scale, &body::patch(bytes)?.value)?,
            Some(PatchType::Apply) => {
                let applied = body::yaml(bytes)?.value;
                let force = if options.force == Some(true) { Force::Yes } else { Force::No };
                let merged = fields::apply(Some(scale), &applied, schema.root(), &manager, force, &[], call.now);
                return merged.map_err(fields::Error::into_status);
            }
        };
        fields::record_update(Some(scale), &mut wanted, schema.root(), &manager, &[], call.now);
        Ok(wanted)
    }
}

fn scale_paths(kind: &Kind) -> Result<ScalePaths, Status> {
    let pointer = |path: &str| path.replace('.', "/");
    match &kind.origin {
        Origin::Builtin => Ok(ScalePaths {
            spec: "/spec/replicas".to_owned(),
            status: "/status/replicas".to_owned(),
            selector: Some("/spec/selector".to_owned()),
        }),
        Origin::Custom(version) => match &version.scale {
            Some(scale) => Ok(ScalePaths {
                spec: pointer(&scale.spec_replicas_path),
                status: pointer(&scale.status_replicas_path),
                selector: scale.label_selector_path.as_deref().map(pointer),
            }),
            None => Err(Status::no_such_path()),
        },
    }
}

fn scale_of(kind: &Kind, value: &Value) -> Result<Value, Status> {
    let paths = scale_paths(kind)?;
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
        (Origin::Builtin, Some(selector)) => Selector::from_object(selector).ok().map(|selector| selector.to_string()),
        _ => None,
    };
    if let (Some(selector), Some(status)) = (selector.filter(|text| !text.is_empty()), status.as_object_mut()) {
        status.insert("selector".to_owned(), Value::from(selector));
    }
    let mut spec = json!({});
    match number(&paths.spec) {
        Some(replicas) if replicas != 0 => set_pointer(&mut spec, "/replicas", Value::from(replicas)),
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

fn set_pointer(value: &mut Value, pointer: &str, new: Value) {
    let mut target = value;
    for segment in pointer.split('/').filter(|segment| !segment.is_empty()) {
        if !target.is_object() {
            *target = json!({});
        }
        let Some(object) = target.as_object_mut() else { return };
        target = object.entry(segment).or_insert(Value::Null);
    }
    *target = new;
}
