//! The inputs of mutations: real objects of all kinds, and their paths.

use std::io::Read as _;
use std::sync::OnceLock;

use base64::Engine as _;
use bytes::Bytes;
use gyre_devcluster::{Options, Server};
use http::Request;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Objects with every field of their kinds, which a real server wrote as JSON and as protobuf.
const SAMPLES: &[u8] = include_bytes!("../../../host/devcluster/src/builtin/dump/wireSamples.json.gz");

/// A kind, as in discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// E.g. `/api/v1` or `/apis/G/V`.
    pub(crate) root: String,
    pub(crate) plural: String,
    pub(crate) kind: String,
    pub(crate) is_namespaced: bool,
    pub(crate) subresources: Vec<String>,
}

impl Kind {
    /// Returns e.g. `v1` or `G/V`.
    pub(crate) fn api_version(&self) -> &str {
        self.root.trim_start_matches("/apis/").trim_start_matches("/api/")
    }

    pub(crate) fn path(&self, namespace: &str) -> String {
        let (root, plural) = (&self.root, &self.plural);
        if self.is_namespaced { format!("{root}/namespaces/{namespace}/{plural}") } else { format!("{root}/{plural}") }
    }
}

#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) json: Value,
    pub(crate) protobuf: Vec<u8>,
}

pub(crate) fn samples() -> &'static [Sample] {
    static ALL: OnceLock<Vec<Sample>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut text = String::new();
        flate2::read::GzDecoder::new(SAMPLES).read_to_string(&mut text).unwrap();
        let samples: Vec<Value> = serde_json::from_str(&text).unwrap();
        let decode = |sample: &Value| base64::engine::general_purpose::STANDARD.decode(sample["protobuf"].as_str().unwrap());
        let read = |sample: &Value| Sample { json: sample["json"].clone(), protobuf: decode(sample).unwrap() };
        samples.iter().map(read).collect()
    })
}

/// Returns the built-in kinds, and those of [`definitions`].
pub(crate) fn kinds() -> &'static [Kind] {
    static ALL: OnceLock<Vec<Kind>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut server = Server::new(&Options::default(), Timestamp::UNIX_EPOCH);
        let mut roots = vec!["/api/v1".to_owned()];
        for group in get(&mut server, "/apis")["groups"].as_array().into_iter().flatten() {
            let versions = group["versions"].as_array().into_iter().flatten();
            roots.extend(versions.filter_map(|version| Some(format!("/apis/{}", version["groupVersion"].as_str()?))));
        }
        let mut kinds: Vec<Kind> = roots.iter().flat_map(|root| of_version(root, &get(&mut server, root))).collect();
        kinds.extend(definitions().iter().map(custom));
        kinds
    })
}

fn get(server: &mut Server, path: &str) -> Value {
    let answer = server.handle(Timestamp::UNIX_EPOCH, &Request::get(path).body(Bytes::new()).unwrap());
    match answer.body {
        gyre_devcluster::answer::Body::Full(bytes) => serde_json::from_slice(&bytes).unwrap(),
        gyre_devcluster::answer::Body::Watch(_) => Value::Null,
    }
}

fn of_version(root: &str, list: &Value) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for resource in list["resources"].as_array().into_iter().flatten() {
        let text = |key: &str| resource[key].as_str().unwrap_or_default().to_owned();
        let name = text("name");
        match name.split_once('/') {
            None => kinds.push(Kind {
                root: root.to_owned(),
                plural: name,
                kind: text("kind"),
                is_namespaced: resource["namespaced"] == true,
                subresources: Vec::new(),
            }),
            Some((plural, subresource)) => {
                if let Some(kind) = kinds.iter_mut().find(|kind| kind.plural == plural) {
                    kind.subresources.push(subresource.to_owned());
                }
            }
        }
    }
    kinds
}

fn custom(definition: &Value) -> Kind {
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Kind {
        root: format!("/apis/{}/{}", text(&spec["group"]), text(&spec["versions"][0]["name"])),
        plural: text(&spec["names"]["plural"]),
        kind: text(&spec["names"]["kind"]),
        is_namespaced: spec["scope"] == "Namespaced",
        subresources: vec!["status".to_owned(), "scale".to_owned()],
    }
}

/// Returns valid objects like those of people.
pub(crate) fn manifests() -> &'static [Value] {
    static ALL: OnceLock<Vec<Value>> = OnceLock::new();
    ALL.get_or_init(|| {
        let template = json!({
            "metadata": {"labels": {"app": "a"}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {"name": "one", "image": "one:1", "env": [{"name": "A", "value": "1"}, {"name": "B"}],
                        "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}],
                        "resources": {"limits": {"cpu": "0.5", "memory": "1Gi"}}},
                    {"name": "two", "image": "two"},
                ],
                "volumes": [{"name": "v", "emptyDir": {}}],
            },
        });
        let mut always = template.clone();
        always["spec"]["restartPolicy"] = json!("Always");
        let labels = json!({"app": "a"});
        vec![
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1", "b": "2"}, "binaryData": {"c": "AAEC"}}),
            json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "stringData": {"a": "b"}, "data": {"c": "ZA=="}}),
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"labels": {"a": "b"}}}),
            json!({"apiVersion": "v1", "kind": "Pod", "spec": template["spec"]}),
            json!({"apiVersion": "v1", "kind": "Service", "spec": {"selector": labels,
                "ports": [{"name": "http", "port": 80, "targetPort": "web"}, {"name": "dns", "port": 53, "protocol": "UDP"}]}}),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "secrets": [{"name": "s"}]}),
            json!({"apiVersion": "v1", "kind": "Event", "involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"},
                "reason": "R", "message": "m", "type": "Normal", "firstTimestamp": "2026-01-01T00:00:00Z", "count": 1}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 2,
                "selector": {"matchLabels": labels}, "template": always, "strategy": {"type": "RollingUpdate"}}}),
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"serviceName": "s", "replicas": 1,
                "selector": {"matchLabels": labels}, "template": always}}),
            json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {"selector": {"matchLabels": labels}, "template": always}}),
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": {"selector": {"matchLabels": labels}, "template": always}}),
            json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"completions": 3, "parallelism": 2, "backoffLimit": 1,
                "ttlSecondsAfterFinished": 5, "template": {"spec": template["spec"]}}}),
            json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"completions": 3, "parallelism": 3,
                "completionMode": "Indexed", "backoffLimitPerIndex": 1, "activeDeadlineSeconds": 30,
                "template": {"spec": template["spec"]}}}),
            json!({"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"schedule": "*/1 * * * *", "timeZone": "Europe/Berlin",
                "startingDeadlineSeconds": 100, "concurrencyPolicy": "Replace",
                "jobTemplate": {"spec": {"template": {"spec": template["spec"]}}}}}),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]}),
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "a",
                "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}}),
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": {"rules": [{"host": "a.example",
                "http": {"paths": [{"path": "/", "pathType": "Prefix",
                    "backend": {"service": {"name": "a", "port": {"number": 80}}}}]}}]}}),
            json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": {"minAvailable": "50%",
                "selector": {"matchLabels": labels}}}),
            json!({"apiVersion": "example.com/v1", "kind": "Shelf", "spec": {"height": 3, "title": "a", "replicas": 1,
                "books": [{"isbn": "1", "pages": 10}, {"isbn": "2", "tags": ["x", "y"]}],
                "tags": ["a", "b"], "by": {"k": {"n": 1}}, "any": {"free": [1, {"x": null}]}, "size": "10Gi", "port": 80}}),
            json!({"apiVersion": "example.com/v1", "kind": "Wall", "spec": {"raw": {"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "x"}}, "more": {"a": 1}}}),
        ]
    })
}

/// Returns CustomResourceDefinitions that use many features of schemas.
pub(crate) fn definitions() -> &'static [Value] {
    static ALL: OnceLock<Vec<Value>> = OnceLock::new();
    ALL.get_or_init(|| {
        let book = json!({"type": "object", "required": ["isbn"], "properties": {
            "isbn": {"type": "string", "maxLength": 20}, "pages": {"type": "integer", "format": "int32", "minimum": 1, "default": 1},
            "tags": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 10}},
        }});
        let shelf = json!({"type": "object", "properties": {
            "spec": {
                "type": "object",
                "x-kubernetes-validations": [
                    {"rule": "!has(self.height) || self.height < 100", "message": "too high"},
                    {"rule": "!has(oldSelf.title) || self.title == oldSelf.title", "messageExpression": "'was ' + oldSelf.title"},
                    {"rule": "!has(self.books) || self.books.all(b, !has(b.pages) || b.pages < 10000)", "reason": "FieldValueForbidden"},
                ],
                "properties": {
                    "height": {"type": "integer", "minimum": 1, "maximum": 1000, "multipleOf": 1},
                    "title": {"type": "string", "pattern": "^[a-z]*$", "maxLength": 30, "default": "untitled"},
                    "color": {"type": "string", "enum": ["red", "green"], "nullable": true},
                    "replicas": {"type": "integer", "default": 1},
                    "books": {"type": "array", "maxItems": 20, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["isbn"], "items": book},
                    "tags": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 9}},
                    "by": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "object",
                        "properties": {"n": {"type": "integer"}}, "x-kubernetes-map-type": "atomic"}},
                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "size": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true,
                        "x-kubernetes-validations": [{"rule": "quantity(string(self)).isGreaterThan(quantity('1'))", "optionalOldSelf": false}]},
                    "port": {"x-kubernetes-int-or-string": true},
                    "at": {"type": "string", "format": "date-time"},
                    "ratio": {"type": "number", "exclusiveMinimum": true, "minimum": 0},
                },
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}},
        }});
        let wall = json!({"type": "object", "properties": {"spec": {"type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"raw": {"type": "object", "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true}}}}});
        vec![
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "shelves.example.com"},
                "spec": {"group": "example.com", "scope": "Namespaced",
                    "names": {"plural": "shelves", "singular": "shelf", "kind": "Shelf", "shortNames": ["sh"], "categories": ["all"]},
                    "versions": [
                        {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": shelf},
                            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                                "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
                            "selectableFields": [{"jsonPath": ".spec.title"}],
                            "additionalPrinterColumns": [
                                {"name": "Height", "type": "integer", "jsonPath": ".spec.height"},
                                {"name": "Books", "type": "string", "jsonPath": ".spec.books[*].isbn", "priority": 1},
                                {"name": "At", "type": "date", "jsonPath": ".spec.at"},
                            ]},
                        {"name": "v1beta1", "served": true, "storage": false, "deprecated": true, "schema": {"openAPIV3Schema": shelf}},
                    ]}}),
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "walls.example.com"},
                "spec": {"group": "example.com", "scope": "Cluster",
                    "names": {"plural": "walls", "singular": "wall", "kind": "Wall"},
                    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": wall}}]}}),
        ]
    })
}
