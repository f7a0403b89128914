//! Admission of new objects, like the admission plugins of the same names that are always on.
//!
//! What is absent: webhooks and policies; LimitRanger; quotas for changed objects.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::builtin;
use crate::object;
use crate::quota::{self, Amounts, QUOTAS};
use crate::registry::{Registry, ServiceAccounts};
use crate::status::{Named, Status};
use crate::store::{Key, Resource};
use crate::verbs::Call;

impl Registry {
    /// `NamespaceLifecycle`: the namespace must exist and not be terminating.
    pub(super) fn admit_to_namespace(&self, call: &Call, named: Named<'_>) -> Result<(), Status> {
        if call.namespace.is_empty() {
            return Ok(());
        }
        let namespaces = Resource::new("", "namespaces");
        let Some(namespace) = self.store.get(&namespaces, &Key::new("", &call.namespace)) else {
            return Err(Status::not_found(Named { group: "", resource: "namespaces", name: &call.namespace }));
        };
        let phase = namespace.value.pointer("/status/phase").and_then(Value::as_str);
        if phase != Some("Terminating") && !object::is_deleting(&namespace.value) {
            return Ok(());
        }
        let why = format!("unable to create new content in namespace {} because it is being terminated", call.namespace);
        let mut status = Status::forbidden(named, &why);
        if let Some(details) = status.details.as_mut().and_then(Value::as_object_mut) {
            let message = format!("namespace {} is being terminated", call.namespace);
            let cause = json!({ "reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace" });
            details.insert("causes".to_owned(), json!([cause]));
        }
        Err(status)
    }

    /// `ServiceAccount`: the account of a Pod must exist.
    pub(super) fn admit_service_account(&self, call: &Call, named: Named<'_>, pod: &mut Value) -> Result<(), Status> {
        let asked = pod.pointer("/spec/serviceAccountName").and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = asked.unwrap_or("default").to_owned();
        let accounts = Resource::new("", "serviceaccounts");
        match self.store.get(&accounts, &Key::new(&call.namespace, &name)) {
            Some(account) => builtin::admit_service_account(pod, &name, &account.value),
            None if self.service_accounts == ServiceAccounts::Optional => {}
            None => {
                let account = format!("{}/{name}", call.namespace);
                let why = format!("error looking up service account {account}: serviceaccount {name:?} not found");
                return Err(Status::forbidden(named, &why));
            }
        }
        Ok(())
    }

    /// `Priority`: the class of a Pod determines its priority.
    pub(super) fn admit_priority(&self, named: Named<'_>, pod: &mut Value) -> Result<(), Status> {
        let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
        let classes = Resource::new("scheduling.k8s.io", "priorityclasses");
        let class = match spec.get("priorityClassName").and_then(Value::as_str).filter(|name| !name.is_empty()) {
            Some(name) => {
                let class = self.store.get(&classes, &Key::new("", name));
                let missing = || Status::forbidden(named, &format!("no PriorityClass with name {name} was found"));
                Some(&class.ok_or_else(missing)?.value)
            }
            None => {
                let all = self.store.list(&classes, None).map(|(_, class)| &class.value);
                let defaults = all.filter(|class| class.get("globalDefault") == Some(&Value::Bool(true)));
                defaults.min_by_key(|class| class.get("value").and_then(Value::as_i64))
            }
        };
        let of_class = |field: &str| class.and_then(|class| class.get(field)).cloned();
        let priority = of_class("value").unwrap_or_else(|| json!(0));
        let policy = of_class("preemptionPolicy").unwrap_or_else(|| json!("PreemptLowerPriority"));
        for (field, what, computed) in [
            ("priority", "the integer value of priority", &priority),
            ("preemptionPolicy", "the string value of PreemptionPolicy", &policy),
        ] {
            if let Some(given) = spec.get(field).filter(|given| *given != computed) {
                let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let why = format!(
                    "{what} ({}) must not be provided in pod spec; priority admission controller computed {} from the given PriorityClass name",
                    plain(given),
                    plain(computed)
                );
                return Err(Status::forbidden(named, &why));
            }
        }
        if let Some(class) = class {
            spec.insert("priorityClassName".to_owned(), Value::from(object::name(class)));
        }
        spec.insert("priority".to_owned(), priority);
        spec.insert("preemptionPolicy".to_owned(), policy);
        Ok(())
    }

    /// `ResourceQuota`: the namespace may have another object that uses this much.
    pub(super) fn admit_to_quota(&self, call: &Call, named: Named<'_>, object: &Value) -> Result<(), Status> {
        if call.namespace.is_empty() {
            return Ok(());
        }
        let quotas = self.store.list(&QUOTAS, Some(&call.namespace)).map(|(_, stored)| &stored.value);
        let quotas: Vec<&Value> = quotas.filter(|quota| quota::limits(quota, &call.kind, object)).collect();
        for quota in &quotas {
            let missing = quota::unspecified(quota, &call.kind, object);
            if !missing.is_empty() {
                let names = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(",");
                let missing =
                    missing.into_iter().map(|(resource, containers)| format!("{resource} for: {}", names(containers)));
                let missing: Vec<String> = missing.collect();
                let why = format!("failed quota: {}: must specify {}", object::name(quota), missing.join("; "));
                return Err(Status::forbidden(named, &why));
            }
        }
        for quota in quotas {
            if let Some(why) = self.exceeded(call, quota, object) {
                return Err(Status::forbidden(named, &why));
            }
        }
        Ok(())
    }

    /// Returns which resources of a quota a new object would exceed, or `None`.
    fn exceeded(&self, call: &Call, quota: &Value, object: &Value) -> Option<String> {
        let hard = quota::hard(quota);
        let used = quota::used(&self.store, [&call.kind], quota);
        let mut requested = quota::of_object(&call.kind, object);
        requested.retain(|resource, amount| {
            let Some(limit) = hard.get(resource) else { return false };
            let mut total = amount.clone();
            if let Some(used) = used.get(resource) {
                total.add(used);
            }
            total > *limit
        });
        if requested.is_empty() {
            return None;
        }
        let show = |amounts: &Amounts| {
            let shown = amounts.iter().filter(|(resource, _)| requested.contains_key(*resource));
            shown.map(|(resource, amount)| format!("{resource}={}", amount.canonical())).collect::<Vec<_>>().join(",")
        };
        let name = object::name(quota);
        Some(format!(
            "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
            show(&requested),
            show(&used),
            show(&hard)
        ))
    }
}
