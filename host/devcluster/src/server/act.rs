use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controllers::{Action, Write};
use crate::object;
use crate::request::options::DeleteOptions;
use crate::server::Server;
use crate::status::Status;
use crate::store::{Key, Resource};
use crate::verbs::Call;
use crate::verbs::delete::Deleted;

impl Server {
    /// Executes an action, which loses the object that it writes, and returns the name of the
    /// object.
    pub(super) fn act(&mut self, action: &mut Action, now: Timestamp) -> Result<String, Status> {
        let manager = action.component.field_manager();
        match &mut action.write {
            Write::Create { resource, object } => {
                let (mut call, object) = self.internal_write(resource, std::mem::take(object), manager, now)?;
                Ok(object::name(self.registry.create(&mut call, object)?.value()).to_owned())
            }
            Write::Update { resource, subresource, object } => {
                let (call, object) = self.internal_write(resource, std::mem::take(object), manager, now)?;
                Ok(object::name(self.registry.update(&mut call.about(*subresource), object)?.value()).to_owned())
            }
            Write::Delete { resource, key, uid, resource_version, propagation, grace } => {
                let kind = self.registry.kinds.of_resource(resource).next().cloned().ok_or_else(Status::no_such_path)?;
                let mut call = Call::internal(kind, &key.namespace, &key.name, manager, now);
                let options = DeleteOptions {
                    uid: Some(uid.clone()),
                    resource_version: resource_version.clone(),
                    propagation: *propagation,
                    grace_period_seconds: *grace,
                    ..DeleteOptions::default()
                };
                let (Deleted::Gone(value) | Deleted::Pending(value)) = self.registry.delete(&mut call, &options)?;
                Ok(object::name(&value).to_owned())
            }
            Write::Bind { key, uid, node } => {
                self.bind(key, uid, node, manager, now)?;
                Ok(key.name.to_string())
            }
        }
    }

    /// Decodes an object of a controller like one from a client, in the version that it names.
    fn internal_write(
        &self,
        resource: &Resource,
        mut object: Value,
        manager: &str,
        now: Timestamp,
    ) -> Result<(Call, Value), Status> {
        let kind = self.registry.kinds.by_kind(object::text(&object, "apiVersion"), object::text(&object, "kind"));
        let kind =
            kind.or_else(|| self.registry.kinds.of_resource(resource).next()).cloned().ok_or_else(Status::no_such_path)?;
        kind.decode(&mut object, crate::kinds::FieldValidation::Ignore)?;
        kind.default(&mut object);
        Ok((Call::internal(kind, object::namespace(&object), object::name(&object), manager, now), object))
    }

    /// Binds a Pod to a node, as a POST to its `binding` does. Nobody owns the field.
    pub(super) fn bind(&mut self, key: &Key, uid: &str, node: &str, manager: &str, now: Timestamp) -> Result<Value, Status> {
        let kind =
            self.registry.kinds.of_resource(&Resource::new("", "pods")).next().cloned().ok_or_else(Status::no_such_path)?;
        let call = Call::internal(kind, &key.namespace, &key.name, manager, now);
        let live = call.live(&self.registry.store)?;
        if object::uid(&live.value) != Some(uid) {
            return Err(Status::conflict(call.named(), "the pod is another one now"));
        }
        let mut pod = live.value.clone();
        let condition = json!({
            "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": object::seconds(now),
        });
        if let Some(pod) = pod.as_object_mut() {
            if let Some(spec) = pod.entry("spec").or_insert_with(|| json!({})).as_object_mut() {
                spec.insert("nodeName".to_owned(), Value::from(node));
            }
            let status = pod.entry("status").or_insert_with(|| json!({})).as_object_mut();
            if let Some(conditions) =
                status.and_then(|status| status.entry("conditions").or_insert_with(|| json!([])).as_array_mut())
            {
                conditions.retain(|condition| object::text(condition, "type") != "PodScheduled");
                conditions.push(condition);
            }
        }
        Ok(self.registry.store.put(&call.kind.storage(), key, pod).value.clone())
    }
}
