//! Requests of clients, and invalid ones.

use bytes::Bytes;
use gyre_devcluster::random::Random;
use http::{HeaderValue, Method, Request, header};
use serde_json::{Value, json};

use crate::corpus::{self, Kind};
use crate::mutate::{self, Draw as _};

const NAMESPACES: &[&str] = &["default", "default", "default", "work", "kube-system", "none", "A_b"];
const NAMES: &[&str] = &["a", "a", "b", "c", "web", "default", "shelves.example.com", "kubernetes", "x%2Fy", "%ff", "-"];
const ACCEPTS: &[&str] = &[
    "*/*",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf,application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    "application/json;q=0.000001;as=;;,,/",
];
const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
];
const BODIES: &[&str] =
    &["application/json", "application/json; charset=utf-8", "application/yaml", "text/plain", "application/cbor"];
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Parts of earlier answers for later requests.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) tokens: Vec<String>,
    pub(crate) objects: Vec<Value>,
}

impl Memory {
    pub(crate) fn learn(&mut self, random: &mut Random, answer: &Value) {
        if let Some(token) = answer["metadata"]["continue"].as_str() {
            keep_at_random(random, &mut self.tokens, token.to_owned());
        }
        if answer["metadata"]["uid"].is_string() && answer["kind"].is_string() {
            keep_at_random(random, &mut self.objects, answer.clone());
        }
    }
}

fn keep_at_random<T>(random: &mut Random, all: &mut Vec<T>, new: T) {
    if all.len() < 16 {
        all.push(new);
    } else {
        let index = random.size(all.len());
        all[index] = new;
    }
}

/// Draws a request, usually a plausible one.
pub(crate) fn draw(random: &mut Random, memory: &Memory) -> Request<Bytes> {
    let kind = random.pick(corpus::kinds());
    // These kinds have the most behaviour.
    let manifest = random.pick(corpus::manifests());
    let kind = if random.chance(0.7) { of(manifest).unwrap_or(kind) } else { kind };
    let method = match random.below(20) {
        0..5 => Method::POST,
        5..8 => Method::PUT,
        8..13 => Method::PATCH,
        13..15 => Method::DELETE,
        15 => random.pick(&[Method::HEAD, Method::OPTIONS, Method::CONNECT]).clone(),
        _ => Method::GET,
    };
    let mut path = path(random, kind, &method);
    path.push_str(&query(random, memory));
    let (content_type, body) = match method {
        Method::GET | Method::HEAD if random.chance(0.95) => ("", Vec::new()),
        Method::PATCH => patch(random, kind, memory),
        Method::DELETE if random.chance(0.7) => ("", Vec::new()),
        Method::DELETE => (*random.pick(BODIES), delete_options(random)),
        _ => body(random, kind, memory),
    };
    let mut request = Request::new(Bytes::from(body));
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().unwrap_or_default();
    let headers = request.headers_mut();
    if !content_type.is_empty() {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    if random.chance(0.5) {
        headers.insert(header::ACCEPT, HeaderValue::from_static(random.pick::<&str>(ACCEPTS)));
    }
    if random.chance(0.3)
        && let Ok(value) = HeaderValue::try_from(mutate::text(random))
    {
        headers.insert(header::USER_AGENT, value);
    }
    request
}

pub(crate) fn of(object: &Value) -> Option<&'static Kind> {
    let (version, kind) = (object["apiVersion"].as_str()?, object["kind"].as_str()?);
    corpus::kinds().iter().find(|candidate| candidate.kind == kind && candidate.api_version() == version)
}

fn path(random: &mut Random, kind: &Kind, method: &Method) -> String {
    if random.chance(0.04) {
        return (*random.pick(&["/", "/api", "/apis", "/version", "/healthz?verbose", "/openapi/v3", "/openapi/v3/api/v1"]))
            .to_owned();
    }
    let mut path = kind.path(random.pick::<&str>(NAMESPACES));
    if random.chance(0.05) {
        path = format!("{}/{}", kind.root, kind.plural);
    }
    let names = if *method == Method::POST { 0.1 } else { 0.8 };
    if random.chance(names) {
        path = format!("{path}/{}", random.pick(NAMES));
        if !kind.subresources.is_empty() && random.chance(0.2) {
            path = format!("{path}/{}", random.pick(&kind.subresources));
        }
    }
    if random.chance(0.02) {
        path = format!("{path}/{}", random.pick(&["status", "scale", "log", "%00", "a/b/c/d"]));
    }
    path
}

fn query(random: &mut Random, memory: &Memory) -> String {
    let mut query = String::new();
    for _ in 0..random.pick(&[0u8, 0, 1, 1, 2, 4]).to_owned() {
        let (key, value) = parameter(random, memory);
        let value: String = form(&value);
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(&format!("{key}={value}"));
    }
    query
}

fn form(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn parameter(random: &mut Random, memory: &Memory) -> (&'static str, String) {
    let mut one = |values: &[&str]| (*random.pick(values)).to_owned();
    let known = [
        ("limit", one(&["1", "2", "0", "-1", "99999999999999999999"])),
        ("resourceVersion", one(&["0", "1", "10", "999999", "-1", "x", ""])),
        ("resourceVersionMatch", one(&["Exact", "NotOlderThan", "x"])),
        ("labelSelector", one(&["app=a", "app in (a,b),!c", "a!=b,c notin ()", "app", "x>1", "((", "a=b=c", "ä=1", ",,"])),
        (
            "fieldSelector",
            one(&["metadata.name=a", "status.phase!=Running", "spec.title=a", "x", "a\\,b=c", "metadata.name==a,,"]),
        ),
        ("watch", one(&["true", "1", "", "x"])),
        ("timeoutSeconds", one(&["0", "5", "-1", "99999999999999999"])),
        ("allowWatchBookmarks", one(&["true", "x"])),
        ("sendInitialEvents", one(&["true", "false", "x"])),
        ("dryRun", one(&["All", "x", ""])),
        ("fieldManager", one(&["one", "two", "", "\u{7f}", &"m".repeat(200)])),
        ("force", one(&["true", "false", "x"])),
        ("fieldValidation", one(&["Strict", "Warn", "Ignore", "x"])),
        ("propagationPolicy", one(&["Foreground", "Background", "Orphan", "x"])),
        ("gracePeriodSeconds", one(&["0", "5", "-9223372036854775808", "x"])),
        ("orphanDependents", one(&["true", "x"])),
        ("includeObject", one(&["None", "Metadata", "Object", "x"])),
        ("pretty", one(&["true"])),
    ];
    match random.below(8) {
        0 if !memory.tokens.is_empty() => {
            let mut token = random.pick(&memory.tokens).clone().into_bytes();
            if random.chance(0.3) {
                mutate::bytes(random, &mut token);
            }
            ("continue", String::from_utf8_lossy(&token).into_owned())
        }
        1 => (random.pick(&known).0, mutate::text(random)),
        _ => random.pick(&known).clone(),
    }
}

fn object(random: &mut Random, kind: &Kind, memory: &Memory) -> Value {
    let is_meant = |value: &&Value| value["kind"] == kind.kind && value["apiVersion"] == kind.api_version();
    let written: Vec<&Value> = corpus::manifests().iter().chain(corpus::definitions()).filter(is_meant).collect();
    let seen: Vec<&Value> = memory.objects.iter().filter(is_meant).collect();
    let sample = corpus::samples().iter().map(|sample| &sample.json).find(is_meant);
    let mut object = match (random.below(10), sample) {
        (0..4, _) if !seen.is_empty() => (*random.pick(&seen)).clone(),
        (4, Some(sample)) => sample.clone(),
        _ if !written.is_empty() => (*random.pick(&written)).clone(),
        (_, Some(sample)) => sample.clone(),
        _ => json!({ "apiVersion": kind.api_version(), "kind": kind.kind }),
    };
    if object["metadata"]["name"].is_null() || random.chance(0.2) {
        object["metadata"]["name"] = json!(random.pick(NAMES));
    }
    if random.chance(0.05) {
        object["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "a",
            "uid": memory.objects.first().map_or(Value::Null, |owner| owner["metadata"]["uid"].clone()),
            "blockOwnerDeletion": true, "controller": true}]);
    }
    if random.chance(0.1) {
        object["metadata"]["finalizers"] = json!(["example.com/hold", "foregroundDeletion"]);
    }
    object
}

fn body(random: &mut Random, kind: &Kind, memory: &Memory) -> (&'static str, Vec<u8>) {
    if random.chance(0.08) {
        let mut protobuf = random.pick(corpus::samples()).protobuf.clone();
        if let Some(sample) = corpus::samples().iter().find(|sample| sample.json["kind"] == kind.kind) {
            protobuf.clone_from(&sample.protobuf);
        }
        mutate::bytes(random, &mut protobuf);
        return (PROTOBUF, protobuf);
    }
    let mut object = object(random, kind, memory);
    if random.chance(0.6) {
        mutate::structure(random, &mut object);
    }
    let content_type = if random.chance(0.8) { "application/json" } else { *random.pick(BODIES) };
    (content_type, mutate::json_text(random, &object))
}

fn delete_options(random: &mut Random) -> Vec<u8> {
    let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
        "propagationPolicy": random.pick(&["Foreground", "Background", "Orphan"]), "preconditions": {"resourceVersion": "3"}});
    mutate::structure(random, &mut options);
    mutate::json_text(random, &options)
}

fn patch(random: &mut Random, kind: &Kind, memory: &Memory) -> (&'static str, Vec<u8>) {
    let content_type = *random.pick(PATCHES);
    let mut object = object(random, kind, memory);
    let mut patch = match content_type {
        "application/json-patch+json" => {
            let operations = random.size(4);
            Value::Array((0..operations).map(|_| operation(random, &object)).collect())
        }
        "application/strategic-merge-patch+json" if random.chance(0.5) => {
            json!({"spec": {"template": {"spec": {
                "containers": [{"name": "one", "$patch": random.pick(&["delete", "replace", "merge", "x"])}, {"name": "new", "image": "x"}],
                "$setElementOrder/containers": [{"name": "new"}, {"name": random.pick(NAMES)}],
                "$retainKeys": ["containers"], "volumes": [{"name": "v", "$retainKeys": ["name"]}]}}},
                "metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/hold"], "labels": {"$patch": "replace", "x": "y"}}})
        }
        "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
            if let Some(map) = object.as_object_mut()
                && random.chance(0.7)
            {
                let key = map.keys().nth(random.size(map.len())).cloned().unwrap_or_default();
                map.retain(|name, _| *name == key);
            }
            object
        }
        _ => {
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.retain(|key, _| matches!(key.as_str(), "name" | "labels" | "annotations" | "finalizers"));
            }
            object
        }
    };
    if random.chance(0.7) {
        mutate::structure(random, &mut patch);
    }
    (content_type, mutate::json_text(random, &patch))
}

fn operation(random: &mut Random, object: &Value) -> Value {
    let from = pointer(random, object);
    json!({
        "op": random.pick(&["add", "remove", "replace", "move", "copy", "test", "x"]),
        "path": pointer(random, object), "from": from, "value": mutate::value(random),
    })
}

fn pointer(random: &mut Random, mut value: &Value) -> String {
    let mut pointer = String::new();
    loop {
        let index = |length: usize, random: &mut Random| random.size(length);
        let (token, next) = match value {
            _ if random.chance(0.15) => break,
            Value::Object(map) if !map.is_empty() => {
                let Some((key, next)) = map.iter().nth(index(map.len(), random)) else { break };
                (key.replace('~', "~0").replace('/', "~1"), next)
            }
            Value::Array(items) if !items.is_empty() => {
                let at = index(items.len(), random);
                (at.to_string(), &items[at])
            }
            _ => break,
        };
        pointer = format!("{pointer}/{token}");
        value = next;
    }
    match random.below(10) {
        0 => format!("{pointer}/-"),
        1 => format!("{pointer}/{}", mutate::text(random)),
        _ => pointer,
    }
}
