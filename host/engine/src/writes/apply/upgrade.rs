//! Prepares objects that were created by POST for server-side apply; see
//! `gyre_core::managed_fields`.

use gyre_core::managed_fields::as_applied;
use gyre_core::object::ObjectRef;
use gyre_core::outcome::{Problem, ProblemKind};
use kube::api::{GetParams, Patch, PatchParams};
use kube::core::Request;
use serde_json::{Value, json};

use super::{Applier, field_manager, parsed, problem};
use crate::client::answered;

/// Owns no field, because these writes change none; it marks them in the API server's audit log.
const FIELD_MANAGER: &str = "gyre-managed-fields";

impl Applier<'_> {
    /// Converts the plugin's Update entry in `metadata.managedFields` to an Apply entry, and
    /// returns the new resource version; `None` if there is no such entry.
    ///
    /// # Guarantees
    ///
    /// Writes only over the state that was read, and changes nothing else.
    /// # Errors
    ///
    /// Also if the object is no longer of the version `only`.
    pub(super) async fn upgrade(&self, child: &ObjectRef, uid: &str, only: Option<u64>) -> Result<Option<u64>, Problem> {
        let api = self.api(child)?;
        let odd = |error: &dyn std::fmt::Display| Problem::new(ProblemKind::Other, format!("{child}: {error}"));
        // The cache does not keep these entries.
        let request = Request::new(api.resource_url()).get_metadata(&child.key.name, &GetParams::default());
        let request = request.map_err(|error| odd(&error))?;
        let live: Value = answered(self.client.request(request)).await.map_err(|error| problem(&error, child))?;
        let metadata = |field: &str| live.pointer("/metadata").and_then(|metadata| metadata.get(field));
        if metadata("uid").and_then(Value::as_str) != Some(uid) {
            return Err(Problem::new(ProblemKind::Stale, format!("{child} is not the object that is in the cache")));
        }
        let version = metadata("resourceVersion").and_then(Value::as_str).unwrap_or_default();
        if only.is_some_and(|only| version != only.to_string()) {
            return Err(Problem::new(ProblemKind::Stale, format!("{child} has changed since the cache has seen it")));
        }
        let entries = metadata("managedFields").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let Some(entries) = as_applied(entries, &field_manager(self.plugin)) else { return Ok(None) };
        let view = self.views.get(&child.kind);
        let epoch = view.and_then(|view| view.write_epoch(child.key.namespace.as_deref()));
        let patch = json!({
            "metadata": { "uid": uid, "resourceVersion": metadata("resourceVersion"), "managedFields": entries },
        });
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        self.metrics.wrote(self.mount, "managed-fields");
        let answer = answered(api.patch(&child.key.name, &params, &Patch::Merge(&patch))).await;
        let (object, _) = parsed(answer.map_err(|error| problem(&error, child))?, child)?;
        // Otherwise the watch would report a change, and a refused child would be applied again.
        if let Some(view) = view {
            view.insert_written(&object, epoch);
        }
        Ok(Some(object.resource_version()))
    }
}
