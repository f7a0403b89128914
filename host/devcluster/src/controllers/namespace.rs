//! Namespaces: their initial content and their deletion.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::json::{integer, later, list, seconds, text, time, with};
use super::{CONFIG_MAPS, Intent, NAMESPACES, PODS, Propagation, SERVICE_ACCOUNTS, Step, Write};
use crate::kinds::{Kinds, Scope, Subresource};
use crate::object;
use crate::store::{Key, Resource, Store};

/// The finalizer in `spec.finalizers` for the whole content.
const CONTENT: &str = "kubernetes";

const ROOT_CERTIFICATES: &str = "kube-root-ca.crt";

const ROOT_CERTIFICATES_DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
     endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of \
     Kubernetes clusters.";

const DELETED_AT_ONCE: usize = 500;

/// The conditions, each with reason and message if all is well.
const CONDITIONS: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    ("NamespaceDeletionContentFailure", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

pub(super) fn sync(store: &Store, kinds: &Kinds, name: &str, now: Timestamp) -> Step {
    let Some(stored) = store.get(&NAMESPACES, &Key::new("", name)) else { return Step::default() };
    match object::is_deleting(&stored.value) {
        true => terminate(store, kinds, &stored.value, now),
        false => Step::of(furnish(store, name)),
    }
}

fn furnish(store: &Store, namespace: &str) -> Vec<Intent> {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": namespace },
    });
    // Plain HTTP needs no certificate, but Pods that mount the ConfigMap need it to exist.
    let certificates = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": ROOT_CERTIFICATES, "namespace": namespace,
            "annotations": { "kubernetes.io/description": ROOT_CERTIFICATES_DESCRIPTION },
        },
        "data": { "ca.crt": "" },
    });
    [(&*SERVICE_ACCOUNTS, account), (&*CONFIG_MAPS, certificates)]
        .into_iter()
        .filter(|(resource, object)| store.get(resource, &Key::new(namespace, object::name(object))).is_none())
        .map(|(resource, object)| Intent::new(Write::Create { resource: resource.clone(), object }))
        .collect()
}

fn terminate(store: &Store, kinds: &Kinds, namespace: &Value, now: Timestamp) -> Step {
    if text(namespace, "/status/phase") != "Terminating" {
        let mut status = namespace.get("status").cloned().unwrap_or_else(|| json!({}));
        if let Some(status) = status.as_object_mut() {
            status.insert("phase".to_owned(), Value::from("Terminating"));
        }
        return Step::of(vec![Intent::update_status(&NAMESPACES, with(namespace, "status", status))]);
    }
    let finalizers = list(namespace, "/spec/finalizers");
    if !finalizers.iter().any(|finalizer| finalizer == CONTENT) {
        return Step::default();
    }
    let name = object::name(namespace);
    // Pods go first, because they use other content.
    let pods = Content::of(store, [PODS.clone()], name);
    let content = match pods.remaining.is_empty() {
        true => Content::of(store, namespaced(kinds), name),
        false => pods,
    };
    if !content.to_delete.is_empty() {
        return Step::of(content.to_delete);
    }
    let (found, again) = match content.remaining.contains_key(&*PODS) {
        true => waiting_for_pods(store, namespace, &content, now),
        false => (content.conditions(), None),
    };
    let conditions = updated(list(namespace, "/status/conditions"), &found, now);
    if conditions.as_slice() != list(namespace, "/status/conditions") {
        let status = with(namespace.get("status").unwrap_or(&Value::Null), "conditions", Value::Array(conditions));
        let intents = vec![Intent::update_status(&NAMESPACES, with(namespace, "status", status))];
        return Step { intents, again, ..Step::default() };
    }
    if !content.remaining.is_empty() {
        return Step { again, ..Step::default() };
    }
    let rest: Vec<Value> = finalizers.iter().filter(|finalizer| *finalizer != CONTENT).cloned().collect();
    let spec = with(namespace.get("spec").unwrap_or(&Value::Null), "finalizers", Value::Array(rest));
    Step::of(vec![Intent::new(Write::Update {
        resource: NAMESPACES.clone(),
        subresource: Some(Subresource::Finalize),
        object: with(namespace, "spec", spec),
    })])
}

fn namespaced(kinds: &Kinds) -> BTreeSet<Resource> {
    kinds
        .versions()
        .flat_map(|(group, version)| kinds.of_version(group, version))
        .filter(|kind| kind.scope == Scope::Namespaced && kind.verbs.iter().any(|verb| verb == "delete"))
        .map(|kind| kind.storage())
        .collect()
}

#[derive(Default)]
struct Content {
    to_delete: Vec<Intent>,
    remaining: BTreeMap<Resource, usize>,
    finalizers: BTreeMap<String, usize>,
}

impl Content {
    fn of(store: &Store, resources: impl IntoIterator<Item = Resource>, namespace: &str) -> Self {
        let mut content = Self::default();
        for resource in resources {
            for (_, stored) in store.list(&resource, Some(namespace)) {
                *content.remaining.entry(resource.clone()).or_default() += 1;
                for finalizer in object::finalizers(&stored.value) {
                    *content.finalizers.entry(finalizer.to_owned()).or_default() += 1;
                }
                if !object::is_deleting(&stored.value) && content.to_delete.len() < DELETED_AT_ONCE {
                    content.to_delete.push(Intent::delete(&resource, &stored.value, Some(Propagation::Background)));
                }
            }
        }
        content
    }

    fn conditions(&self) -> BTreeMap<&'static str, (&'static str, String)> {
        let mut found = BTreeMap::new();
        if !self.remaining.is_empty() {
            let mut parts: Vec<String> = (self.remaining.iter())
                .map(|(resource, count)| format!("{}.{} has {count} resource instances", resource.plural, resource.group))
                .collect();
            parts.sort();
            let message = format!("Some resources are remaining: {}", parts.join(", "));
            found.insert("NamespaceContentRemaining", ("SomeResourcesRemain", message));
        }
        if !self.finalizers.is_empty() {
            let parts: Vec<String> =
                self.finalizers.iter().map(|(name, count)| format!("{name} in {count} resource instances")).collect();
            let message = format!("Some content in the namespace has finalizers remaining: {}", parts.join(", "));
            found.insert("NamespaceFinalizersRemaining", ("SomeFinalizersRemain", message));
        }
        found
    }
}

/// Reports overdue Pods without a finalizer, and no other content, as the real controller does.
fn waiting_for_pods(
    store: &Store,
    namespace: &Value,
    content: &Content,
    now: Timestamp,
) -> (BTreeMap<&'static str, (&'static str, String)>, Option<Timestamp>) {
    let name = object::name(namespace);
    let is_over = |pod: &Value| matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
    let graces = store.list(&PODS, Some(name)).map(|(_, stored)| &stored.value).filter(|pod| !is_over(pod));
    let grace = graces.filter_map(|pod| integer(pod, "/spec/terminationGracePeriodSeconds")).max().unwrap_or_default();
    let deadline = later(time(namespace, "/metadata/deletionTimestamp").unwrap_or(now), grace);
    let mut found = BTreeMap::new();
    if deadline > now {
        return (found, Some(deadline));
    }
    if content.finalizers.is_empty() {
        let error = format!("unexpected items still remain in namespace: {name} for gvr: /v1, Resource=pods");
        let message = format!(
            "Failed to delete all resource types, 1 remaining: failed to delete pods for namespace: {name}, err: {error}"
        );
        found.insert("NamespaceDeletionContentFailure", ("ContentDeletionFailed", message));
    }
    (found, None)
}

/// Returns all conditions, true if in `found`. The times of unchanged ones stay.
fn updated(old: &[Value], found: &BTreeMap<&'static str, (&'static str, String)>, now: Timestamp) -> Vec<Value> {
    let mut conditions = old.to_vec();
    for (kind, reason, message) in CONDITIONS {
        let (status, reason, message) = match found.get(kind) {
            Some((reason, message)) => ("True", *reason, message.as_str()),
            None => ("False", reason, message),
        };
        let new = |since: &str| json!({ "type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message });
        match conditions.iter_mut().find(|condition| text(condition, "/type") == kind) {
            Some(old) if text(old, "/status") == status => *old = new(text(old, "/lastTransitionTime")),
            Some(old) => *old = new(&seconds(now)),
            None => conditions.push(new(&seconds(now))),
        }
    }
    conditions
}
