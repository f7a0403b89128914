//! A native plugin whose answers follow from a seed, converted like those of a component.

use std::sync::OnceLock;

use gyre_core::grants::Scope;
use gyre_core::object::GroupVersionKind;
use gyre_devcluster::random::Random;
use gyre_sandbox::native::{Imports, Native, types};
use gyre_sandbox::{Bytes, HostImports, Limits, LogLine, Plugin, ReadError};
use serde_json::{Value, json};

use crate::mutate::{self, Draw as _};
use crate::outcome::Failure;

pub(crate) const PARENT: &str = "example.com/v1/Thing";

/// A kind of children. Its scope is `None` if no API server serves it.
pub(crate) struct ChildKind {
    pub(crate) kind: &'static str,
    strategy: types::Strategy,
    propagation: types::Propagation,
    pub(crate) scope: Option<Scope>,
}

pub(crate) const CHILDREN: &[ChildKind] = &[
    ChildKind {
        kind: "v1/ConfigMap",
        strategy: types::Strategy::Apply,
        propagation: types::Propagation::Foreground,
        scope: Some(Scope::Namespaced),
    },
    ChildKind {
        kind: "batch/v1/Job",
        strategy: types::Strategy::Recreate,
        propagation: types::Propagation::Background,
        scope: Some(Scope::Namespaced),
    },
    ChildKind {
        kind: "v1/Secret",
        strategy: types::Strategy::CreateOnly,
        propagation: types::Propagation::Orphan,
        scope: Some(Scope::Namespaced),
    },
    ChildKind {
        kind: "rbac.authorization.k8s.io/v1/ClusterRole",
        strategy: types::Strategy::Apply,
        propagation: types::Propagation::Background,
        scope: Some(Scope::Cluster),
    },
    ChildKind {
        kind: "example.com/v1/Widget",
        strategy: types::Strategy::Apply,
        propagation: types::Propagation::Background,
        scope: None,
    },
];

const UNDECLARED: &[&str] = &["v1/Pod", "batch/v1beta1/Job", "v1/Namespace", "no/such/v9/Kind", "//"];

/// Parses `apiVersion/kind`.
pub(crate) fn kind(text: &str) -> GroupVersionKind {
    let (api_version, kind) = text.rsplit_once('/').unwrap_or(("v1", text));
    GroupVersionKind::from_api_version(api_version, kind)
}

fn raw(kind: GroupVersionKind) -> types::GroupVersionKind {
    types::GroupVersionKind { group: kind.group, version: kind.version, kind: kind.kind }
}

pub(crate) type Answer = Result<types::Response, types::Failure>;

pub(crate) type Answers = Box<dyn Fn(&[u8]) -> Answer + Send + Sync>;

pub(crate) struct Script {
    pub(crate) name: &'static str,
    pub(crate) parent: &'static str,
    pub(crate) settings_schema: Option<Value>,
    pub(crate) crds: Vec<Value>,
    pub(crate) answer: Answers,
}

impl Script {
    /// Returns a plugin that wants nothing.
    pub(crate) fn new(name: &'static str, parent: &'static str) -> Self {
        Self { name, parent, settings_schema: None, crds: Vec::new(), answer: Box::new(|_| Ok(types::Response::default())) }
    }

    pub(crate) fn plugin(self, identity: &str) -> Result<Plugin, Failure> {
        Plugin::native(identity, self).map_err(|error| Failure(format!("the plugin: {error}")))
    }
}

impl Native for Script {
    fn describe(&self) -> types::Manifest {
        let child = |child: &ChildKind| types::ChildKind {
            kind: raw(kind(child.kind)),
            strategy: child.strategy,
            // The API server is asked to replace only the kinds that are replaced anyway.
            strongest_strategy: None,
            propagation: child.propagation,
            outlives_parent: false,
        };
        types::Manifest {
            children: CHILDREN.iter().map(child).collect(),
            reads: vec![types::ReadKind {
                kind: raw(kind("v1/ConfigMap")),
                namespace: None,
                label_selector: None,
                metadata_only: false,
            }],
            settings_schema: self.settings_schema.as_ref().map(|schema| schema.to_string().into_bytes()),
            crds: self.crds.iter().map(|crd| crd.to_string().into_bytes()).collect(),
            ..types::Manifest::new(self.name, raw(kind(self.parent)))
        }
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<(), String> {
        let settings = String::from_utf8_lossy(settings);
        if settings.contains("forbidden") { Err(format!("not these: {settings}")) } else { Ok(()) }
    }

    fn reconcile(&self, request: types::Request<'_>, _: &Imports) -> Answer {
        (self.answer)(request.parent)
    }

    fn finalize(&self, request: types::Request<'_>, _: &Imports) -> Result<types::Teardown, types::Failure> {
        (self.answer)(request.parent).map(|response| types::Teardown { response, done: true })
    }
}

/// Returns the CRD of [`PARENT`], with a random schema of the status.
pub(crate) fn definition(random: &mut Random, is_namespaced: bool) -> Value {
    static CONDITIONS: OnceLock<Value> = OnceLock::new();
    let conditions = CONDITIONS.get_or_init(|| {
        json!({ "type": "array", "items": { "type": "object", "required": ["type", "status"], "properties": {
            "type": { "type": "string" }, "status": { "type": "string" }, "reason": { "type": "string" },
            "message": { "type": "string" }, "lastTransitionTime": { "type": "string" }, "observedGeneration": { "type": "integer" } } } })
    });
    let status = match random.below(3) {
        0 => json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
        1 => json!({ "type": "object", "properties": { "phase": { "type": "string" } } }),
        _ => {
            json!({ "type": "object", "properties": { "conditions": conditions, "observedGeneration": { "type": "integer" } } })
        }
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com", "scope": if is_namespaced { "Namespaced" } else { "Cluster" },
            "names": { "plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "subresources": { "status": {} }, "schema": {
                "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true }, "status": status } } } }],
        },
    })
}

/// Draws a valid or nearly valid answer; one of eight is a failure.
pub(crate) fn answer(random: &mut Random) -> Answer {
    if random.chance(0.12) {
        let message = mutate::text(random);
        return Err(match random.below(3) {
            0 => types::Failure::Transient(message),
            1 => types::Failure::Terminal(message),
            _ => types::Failure::RetryAfter(types::RetryAfter { delay_ms: delay(random), message }),
        });
    }
    // An unreadable text spoils the whole answer, so most answers have none.
    let is_clean = random.chance(0.8);
    let children =
        if random.chance(0.05) { None } else { Some((0..random.size(9)).map(|_| child(random, is_clean)).collect()) };
    let status = random.chance(0.7).then(|| {
        let mut status = json!({ "phase": mutate::text(random), "observedGeneration": 7, "conditions": [] });
        mutate::structure(random, &mut status);
        text(random, &status, is_clean)
    });
    let conditions = (0..random.size(6)).map(|_| condition(random)).collect();
    let events = (0..random.size(6)).map(|_| event(random)).collect();
    let requeue_after_ms = random.chance(0.3).then(|| delay(random));
    let parent = random.chance(0.1).then(|| {
        let mut fields = json!({ "metadata": { "labels": { "size": mutate::text(random) } }, "spec": {} });
        mutate::structure(random, &mut fields);
        text(random, &fields, is_clean)
    });
    // Nothing declares it, so it is refused.
    let delete_parent = random
        .chance(0.05)
        .then(|| types::ParentDeletion { after_ms: delay(random), propagation: types::Propagation::Background });
    // The plugin does not group its parents, so they are refused.
    let members =
        if random.chance(0.05) { (0..random.size(4)).map(|_| member(random, is_clean)).collect() } else { Vec::new() };
    Ok(types::Response { children, status, conditions, events, requeue_after_ms, parent, delete_parent, members })
}

fn member(random: &mut Random, is_clean: bool) -> types::MemberStatus {
    let mut status = json!({ "phase": mutate::text(random) });
    mutate::structure(random, &mut status);
    types::MemberStatus {
        namespace: random.chance(0.7).then(|| mutate::text(random)),
        name: name(random),
        status: random.chance(0.7).then(|| text(random, &status, is_clean)),
        conditions: (0..random.size(3)).map(|_| condition(random)).collect(),
    }
}

fn delay(random: &mut Random) -> u64 {
    *random.pick(&[0, 1, 999, 60_000, u64::MAX])
}

fn text(random: &mut Random, value: &Value, is_clean: bool) -> Vec<u8> {
    if is_clean {
        let odd = random.chance(0.02);
        mutate::spelled(random, value, odd).into_bytes()
    } else {
        mutate::json_text(random, value)
    }
}

pub(crate) fn namespace(random: &mut Random) -> Option<String> {
    match random.below(16) {
        0..5 => None,
        5 => Some(mutate::text(random)),
        6 | 7 => Some("other".to_owned()),
        _ => Some("default".to_owned()),
    }
}

pub(crate) fn name(random: &mut Random) -> String {
    match random.below(10) {
        0 => mutate::text(random),
        1 => "Bad_Name".to_owned(),
        2 => "a".repeat(250 + random.size(6)),
        _ => (*random.pick(&["a", "b", "c"])).to_owned(),
    }
}

fn child_kind(random: &mut Random) -> GroupVersionKind {
    if random.chance(0.1) { kind(random.pick::<&str>(UNDECLARED)) } else { kind(random.pick(CHILDREN).kind) }
}

pub(crate) fn object(random: &mut Random) -> Value {
    let kind = child_kind(random);
    let mut object = match kind.kind.as_str() {
        "Job" => json!({ "spec": { "template": { "spec": {
            "restartPolicy": "Never", "containers": [{ "name": "one", "image": mutate::text(random) }] } } } }),
        "ClusterRole" => json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] }),
        "Secret" => json!({ "stringData": { "a": mutate::text(random) } }),
        _ => json!({ "data": { "a": mutate::text(random), "b": "x" } }),
    };
    object["apiVersion"] = json!(kind.api_version());
    object["kind"] = json!(kind.kind);
    object["metadata"] = json!({ "name": name(random) });
    if let Some(namespace) = namespace(random) {
        object["metadata"]["namespace"] = json!(namespace);
    }
    if random.chance(0.3) {
        object["metadata"]["labels"] =
            json!({ "app": mutate::text(random), "gyre.dev/plugin": "forged", "gyre.dev/owner-uid": "forged" });
    }
    if random.chance(0.2) {
        object["metadata"]["ownerReferences"] = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "forged",
            "controller": true }]);
    }
    if random.chance(0.3) {
        mutate::structure(random, &mut object);
    }
    object
}

fn child(random: &mut Random, is_clean: bool) -> types::Child {
    if random.chance(0.15) {
        let kind = raw(child_kind(random));
        return types::Child::Keep(types::ObjectRef { kind, namespace: namespace(random), name: name(random) });
    }
    let object = object(random);
    let strategies = [types::Strategy::CreateOnly, types::Strategy::Apply, types::Strategy::Recreate];
    let strategy = random.chance(0.2).then(|| *random.pick(&strategies));
    types::Child::Apply(types::DesiredChild { object: text(random, &object, is_clean), strategy })
}

fn word(random: &mut Random) -> String {
    if random.chance(0.4) {
        mutate::text(random)
    } else {
        (*random.pick(&["Ready", "Stalled", "Reconciling", "Progressing", "example.com/Fine", "not a word"])).to_owned()
    }
}

fn condition(random: &mut Random) -> types::Condition {
    types::Condition {
        type_: word(random),
        status: *random.pick(&[types::Truth::Yes, types::Truth::No, types::Truth::Unknown]),
        reason: word(random),
        message: mutate::text(random),
    }
}

fn event(random: &mut Random) -> types::Event {
    let severity = *random.pick(&[types::Severity::Normal, types::Severity::Warning]);
    types::Event { severity, reason: word(random), message: mutate::text(random) }
}

pub(crate) fn limits(random: &mut Random) -> Limits {
    let defaults = Limits::default();
    if random.chance(0.8) {
        return defaults;
    }
    Limits {
        output_bytes: *random.pick(&[defaults.output_bytes, 3_000]),
        output_depth: *random.pick(&[defaults.output_depth, 6]),
        children: *random.pick(&[defaults.children, 3]),
        conditions: *random.pick(&[defaults.conditions, 2]),
        events: *random.pick(&[defaults.events, 2]),
        text_bytes: *random.pick(&[defaults.text_bytes, 1_024]),
        ..defaults
    }
}

/// A cluster without visible objects.
pub(crate) struct Nothing;

impl HostImports for Nothing {
    fn children(&mut self, _: &GroupVersionKind) -> Result<Vec<Bytes>, ReadError> {
        Ok(Vec::new())
    }

    fn get(&mut self, _: &GroupVersionKind, _: Option<&str>, _: &str) -> Result<Option<Bytes>, ReadError> {
        Ok(None)
    }

    fn list(&mut self, _: &GroupVersionKind, _: Option<&str>, _: Option<&str>) -> Result<Vec<Bytes>, ReadError> {
        Ok(Vec::new())
    }

    fn log(&mut self, _: LogLine) {}
}
