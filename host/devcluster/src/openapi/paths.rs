//! The requests of a custom kind with their parameters, as clients look them up.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Names, SHARED, capitalized, reference};
use crate::kinds::{Kind, Scope, Subresource};

const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

const LIST_PARAMETERS: [&str; 11] = [
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
];
const WRITE_PARAMETERS: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];

const WRITTEN: [&str; 2] = ["application/json", "application/yaml"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    List,
    Create,
    DeleteCollection,
    Read,
    Replace,
    Delete,
    Patch,
}

pub(super) fn add(paths: &mut BTreeMap<String, Value>, kind: &Kind, names: &Names) {
    let base = format!("/apis/{}/{}", kind.group(), kind.version);
    let plural = &kind.resource.plural;
    let operations = Operations { kind, names };
    let mut root = format!("{base}/{plural}");
    if kind.scope == Scope::Namespaced {
        // A path with a single request has the parameters instead of the request.
        let mut parameters: Vec<Value> = LIST_PARAMETERS.iter().chain(&["pretty"]).map(|name| parameter(name)).collect();
        parameters.sort_by_key(|parameter| parameter.get("name").map(Value::to_string));
        let mut list = operations.operation(Verb::List, None);
        list.remove("parameters");
        list.insert("operationId".to_owned(), format!("list{}{}ForAllNamespaces", names.operation, kind.kind).into());
        paths.insert(root, json!({ "get": list, "parameters": parameters }));
        root = format!("{base}/namespaces/{{namespace}}/{plural}");
    }
    let object = format!("{root}/{{name}}");
    paths.insert(root, operations.path(&[Verb::List, Verb::Create, Verb::DeleteCollection], None));
    for subresource in [Subresource::Status, Subresource::Scale] {
        if kind.has(subresource) {
            let name = if subresource == Subresource::Status { "status" } else { "scale" };
            let path = operations.path(&[Verb::Read, Verb::Replace, Verb::Patch], Some(name));
            paths.insert(format!("{object}/{name}"), path);
        }
    }
    paths.insert(object, operations.path(&[Verb::Read, Verb::Replace, Verb::Delete, Verb::Patch], None));
}

fn parameter(name: &str) -> Value {
    SHARED.get("parameters").and_then(|parameters| parameters.get(name)).cloned().unwrap_or_default()
}

fn content(types: &[&str], schema: &Value) -> Value {
    Value::Object(types.iter().map(|name| ((*name).to_owned(), json!({ "schema": schema }))).collect())
}

struct Operations<'a> {
    kind: &'a Kind,
    names: &'a Names,
}

impl Operations<'_> {
    fn path(&self, verbs: &[Verb], subresource: Option<&str>) -> Value {
        let mut path = Map::new();
        for verb in verbs {
            path.insert(verb.method().to_owned(), Value::Object(self.operation(*verb, subresource)));
        }
        let mut parameters = Vec::new();
        if verbs.contains(&Verb::Read) {
            let description = format!("name of the {}", self.kind.kind);
            parameters.push(json!({
                "name": "name", "in": "path", "description": description, "required": true,
                "schema": { "type": "string", "uniqueItems": true },
            }));
        }
        if self.kind.scope == Scope::Namespaced {
            parameters.push(SHARED.get("namespace").cloned().unwrap_or_default());
        }
        parameters.push(parameter("pretty"));
        path.insert("parameters".to_owned(), parameters.into());
        Value::Object(path)
    }

    fn operation(&self, verb: Verb, subresource: Option<&str>) -> Map<String, Value> {
        let Kind { kind, version, .. } = self.kind;
        let subject = match verb {
            Verb::List => reference(&self.names.list_definition),
            Verb::Delete | Verb::DeleteCollection => reference(STATUS),
            _ if subresource == Some("scale") => reference(SCALE),
            _ => reference(&self.names.definition),
        };
        let mut operation = Map::from_iter([
            ("tags".to_owned(), json!([self.names.tag])),
            ("description".to_owned(), self.description(verb, subresource).into()),
            ("operationId".to_owned(), self.operation_id(verb, subresource).into()),
            ("parameters".to_owned(), verb.parameters()),
            ("responses".to_owned(), verb.responses(&subject)),
            ("x-kubernetes-action".to_owned(), verb.action().into()),
            (
                "x-kubernetes-group-version-kind".to_owned(),
                json!({ "group": self.kind.group(), "version": &**version, "kind": &**kind }),
            ),
        ]);
        if let Some(body) = verb.request_body(&subject) {
            operation.insert("requestBody".to_owned(), body);
        }
        operation
    }

    fn operation_id(&self, verb: Verb, subresource: Option<&str>) -> String {
        let (verb, collection) = match verb {
            Verb::DeleteCollection => ("delete", "Collection"),
            other => (other.name(), ""),
        };
        let namespaced = if self.kind.scope == Scope::Namespaced { "Namespaced" } else { "" };
        let subresource = capitalized(subresource.unwrap_or_default());
        format!("{verb}{}{collection}{namespaced}{}{subresource}", self.names.operation, self.kind.kind)
    }

    fn description(&self, verb: Verb, subresource: Option<&str>) -> String {
        let kind = &self.kind.kind;
        let of = subresource.map(|name| format!(" {name} of")).unwrap_or_default();
        match verb {
            Verb::List => format!("list objects of kind {kind}"),
            Verb::Read | Verb::Replace => format!("{}{of} the specified {kind}", verb.name()),
            Verb::Patch => format!("partially update{of} the specified {kind}"),
            Verb::Create | Verb::Delete => format!("{}{}{kind}", verb.name(), article(kind)),
            Verb::DeleteCollection => format!("delete collection of {kind}"),
        }
    }
}

fn article(noun: &str) -> &'static str {
    if noun.ends_with('s') && !noun.ends_with("ss") {
        " "
    } else if noun.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']) {
        " an "
    } else {
        " a "
    }
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Create => "create",
            Self::DeleteCollection => "deletecollection",
            Self::Read => "read",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Patch => "patch",
        }
    }

    fn action(self) -> &'static str {
        match self {
            Self::Create => "post",
            Self::Read => "get",
            Self::Replace => "put",
            other => other.name(),
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::List | Self::Read => "get",
            Self::Create => "post",
            Self::Replace => "put",
            Self::Delete | Self::DeleteCollection => "delete",
            Self::Patch => "patch",
        }
    }

    fn parameters(self) -> Value {
        let names: &[&str] = match self {
            Self::List | Self::DeleteCollection => &LIST_PARAMETERS,
            Self::Create | Self::Replace => &WRITE_PARAMETERS,
            Self::Read => &["resourceVersion"],
            Self::Patch => &["dryRun", "patch.fieldManager", "fieldValidation", "force"],
            Self::Delete => &[
                "dryRun",
                "gracePeriodSeconds",
                "ignoreStoreReadErrorWithClusterBreakingPotential",
                "orphanDependents",
                "propagationPolicy",
            ],
        };
        names.iter().map(|name| parameter(name)).collect()
    }

    fn responses(self, subject: &Value) -> Value {
        let further: &[(&str, &str)] = match self {
            Self::Create => &[("201", "Created"), ("202", "Accepted")],
            Self::Replace => &[("201", "Created")],
            Self::Delete => &[("202", "Accepted")],
            _ => &[],
        };
        let mut responses = Map::from_iter([("401".to_owned(), json!({ "description": "Unauthorized" }))]);
        for (code, description) in further.iter().chain(&[("200", "OK")]) {
            let response = json!({ "description": description, "content": content(&WRITTEN, subject) });
            responses.insert((*code).to_owned(), response);
        }
        Value::Object(responses)
    }

    fn request_body(self, subject: &Value) -> Option<Value> {
        match self {
            Self::Create | Self::Replace => Some(json!({ "content": content(&WRITTEN, subject), "required": true })),
            Self::Patch => {
                let types = ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
                Some(json!({ "content": content(&types, &reference(PATCH)), "required": true }))
            }
            Self::Delete => Some(json!({ "content": content(&WRITTEN, &reference(DELETE_OPTIONS)) })),
            Self::List | Self::DeleteCollection | Self::Read => None,
        }
    }
}
