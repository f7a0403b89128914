//! The parts that the OpenAPI documents of all custom group versions share, from the document of
//! two definitions.

use anyhow::{Context as _, ensure};
use gyre_controlplane::ControlPlane;
use serde_json::{Map, Value, json};

use super::proxy::{self, Proxy};

const GROUP: &str = "example.com";
/// The beginning of the names of the schemas that are not shared.
const OWN_SCHEMAS: &str = "com.example.";

/// Defines `kinds` as custom resources, and returns the document about them. Each kind has a
/// `kind`, `plural`, `scope` and `schema`, and `scale` if it has the subresources.
pub(super) fn document(plane: &ControlPlane, proxy: &Proxy, kinds: &Value) -> anyhow::Result<Value> {
    let kinds = kinds.as_array().context("there are no kinds")?;
    let definitions: Vec<Value> = kinds.iter().map(definition).collect();
    plane.apply(&json!({ "apiVersion": "v1", "kind": "List", "items": definitions }).to_string())?;
    let plurals: Vec<String> = kinds.iter().map(|kind| format!("/apis/{GROUP}/v1/{}", text(kind, "plural"))).collect();
    proxy::wait("the definitions are not published", || {
        let document = proxy.json(&format!("/openapi/v3/apis/{GROUP}/v1"), "application/json").ok();
        let has_all =
            |document: &Value| plurals.iter().all(|path| document.get("paths").is_some_and(|it| it.get(path).is_some()));
        Ok(document.filter(has_all))
    })
}

fn definition(kind: &Value) -> Value {
    let plural = text(kind, "plural");
    let subresources = if kind.get("scale") == Some(&json!(true)) {
        let scale = json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" });
        json!({ "status": {}, "scale": scale })
    } else {
        json!({})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP,
            "names": { "kind": kind.get("kind"), "plural": plural },
            "scope": kind.get("scope"),
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": kind.get("schema") },
                "subresources": subresources,
            }],
        },
    })
}

/// Returns the schemas of a document that do not belong to its kinds, and the parameters: that of
/// the namespace, and those of queries by name. A parameter of PATCH that differs from the others
/// has the name `patch.NAME`.
pub(super) fn shared(document: &Value) -> anyhow::Result<Value> {
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object).context("there are no schemas")?;
    let schemas: Map<String, Value> = schemas
        .iter()
        .filter(|(name, _)| !name.starts_with(OWN_SCHEMAS))
        .map(|(name, one)| (name.clone(), one.clone()))
        .collect();
    let mut parameters = Map::new();
    let mut namespace = None;
    let mut of_patches = Vec::new();
    for path in objects(document.get("paths")) {
        for parameter in array(path.get("parameters")) {
            match (text(parameter, "in"), text(parameter, "name")) {
                ("query", name) => add(&mut parameters, name, parameter)?,
                (_, "namespace") => namespace = Some(parameter.clone()),
                _ => {}
            }
        }
        for (method, operation) in path.as_object().into_iter().flatten() {
            for parameter in array(operation.get("parameters")) {
                match method.as_str() {
                    "patch" => of_patches.push(parameter),
                    _ => add(&mut parameters, text(parameter, "name"), parameter)?,
                }
            }
        }
    }
    for parameter in of_patches {
        let name = text(parameter, "name");
        if parameters.get(name).is_some_and(|known| known != parameter) {
            add(&mut parameters, &format!("patch.{name}"), parameter)?;
        } else {
            add(&mut parameters, name, parameter)?;
        }
    }
    Ok(json!({ "namespace": namespace.context("no path has a namespace")?, "parameters": parameters, "schemas": schemas }))
}

/// Errors: another parameter has the name.
fn add(parameters: &mut Map<String, Value>, name: &str, parameter: &Value) -> anyhow::Result<()> {
    let known = parameters.entry(name).or_insert_with(|| parameter.clone());
    ensure!(known == parameter, "there are two parameters {name}");
    Ok(())
}

fn objects(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_object).into_iter().flat_map(Map::values)
}

fn array(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    of.get(field).and_then(Value::as_str).unwrap_or_default()
}
