//! Derived schemas meet the rules of Kubernetes and follow serde.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;
use crate::{CustomResource, Schema};

fn schema<T: Schema>() -> Value {
    serde_json::from_str(&format!("{{{}{}}}", written(T::DESCRIPTION), written(T::KEYWORDS))).unwrap()
}

fn written(fragments: Fragments) -> String {
    let parts = fragments.iter().map(|fragment| match fragment {
        Fragment::Text(text) => (*text).to_owned(),
        Fragment::Nested(fragments) => written(fragments),
    });
    parts.collect()
}

/// The desired state.
///
/// In two paragraphs,
/// the second of two lines.
#[derive(Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
#[schema(rule("self.least <= self.most"), rule("self.least > 0", "it \"must\" be"))]
#[expect(dead_code, reason = "only its schema matters")]
struct Wanted {
    /// A text.
    #[schema(min_length = 1, max_length = 9, pattern = r"^\d+$")]
    some_text: String,
    #[schema(minimum = -1, maximum = 1.5, multiple_of = 0.5)]
    fraction: Option<f64>,
    least: i32,
    #[serde(default)]
    most: u32,
    #[serde(rename = "type")]
    kind: Phase,
    #[schema(default = "No", rule("self != 'Yes' || oldSelf == 'Yes'"))]
    phase: Phase,
    /// Another description.
    inner: Option<Inner>,
    #[schema(max_items = 3, elements(max_length = 63))]
    list: Vec<String>,
    #[schema(elements(elements(minimum = 0)))]
    map: Option<BTreeMap<String, Vec<i64>>>,
    any: Value,
    labels: Labels,
    #[schema(json = r#"{"x-kubernetes-int-or-string": true}"#)]
    port: Port,
    #[serde(skip)]
    left_out: Port,
}

#[derive(Default, Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema matters")]
enum Port {
    #[default]
    None,
    Name(String),
    Number(u16),
}

/// How far it is.
#[derive(Deserialize, Schema)]
#[serde(rename_all = "camelCase")]
enum Phase {
    NotYet,
    #[serde(rename = "Yes")]
    Done,
}

/// Something inside.
#[derive(Default, Deserialize, Schema)]
#[serde(default)]
struct Inner {
    name: Name,
}

#[derive(Default, Deserialize, Schema)]
#[serde(transparent)]
#[expect(dead_code, reason = "only its schema matters")]
struct Name(#[schema(max_length = 253)] String);

#[test]
fn schemas_follow_the_types_the_attributes_and_serde() {
    let phase = json!({"description": "How far it is.", "type": "string", "enum": ["notYet", "Yes"]});
    let mut phase_with_default = phase.clone();
    phase_with_default["default"] = json!("No");
    phase_with_default["x-kubernetes-validations"] = json!([{"rule": "self != 'Yes' || oldSelf == 'Yes'"}]);
    let expected = json!({
        "description": "The desired state.\nIn two paragraphs, the second of two lines.",
        "type": "object",
        "required": ["someText", "least", "type", "list", "any", "labels", "port"],
        "x-kubernetes-validations": [
            {"rule": "self.least <= self.most"},
            {"rule": "self.least > 0", "message": "it \"must\" be"},
        ],
        "properties": {
            "someText": {"description": "A text.", "type": "string", "minLength": 1, "maxLength": 9, "pattern": "^\\d+$"},
            "fraction": {"type": "number", "format": "double", "minimum": -1, "maximum": 1.5, "multipleOf": 0.5},
            "least": {"type": "integer", "format": "int32"},
            "most": {"type": "integer", "format": "int64", "minimum": 0},
            "type": phase,
            "phase": phase_with_default,
            "inner": {
                "description": "Another description.",
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": 253}},
            },
            "list": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 63}},
            "map": {"type": "object", "additionalProperties": {
                "type": "array",
                "items": {"type": "integer", "format": "int64", "minimum": 0},
            }},
            "any": {"x-kubernetes-preserve-unknown-fields": true},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "port": {"x-kubernetes-int-or-string": true},
        },
    });
    assert_eq!(schema::<Wanted>(), expected);
    assert_eq!(schema::<Vec<Phase>>(), json!({"type": "array", "items": phase}));
}

/// The observed state.
#[derive(Serialize, Schema)]
struct Known {
    /// How many.
    count: i64,
    conditions: Vec<String>,
}

/// A thing.
#[derive(Deserialize, CustomResource)]
#[resource(group = "example.com", version = "v1", kind = "Policy", short_name = "pol", short_name = "py", category = "all")]
#[resource(status = Known, conditions = "Ready: it holds.", cluster_scoped, spec_optional)]
#[resource(column("Name", ".spec.name", 1), column("At", ".status.at", "date"), condition("Ready"), age)]
#[expect(dead_code, reason = "only its schema matters")]
struct PolicySpec {
    name: Option<Name>,
}

#[derive(Deserialize, CustomResource)]
#[resource(group = "example.com", version = "v1", kind = "Defaults", plural = "defaults", no_status)]
struct DefaultsSpec {}

#[derive(Deserialize, CustomResource)]
#[resource(group = "example.com", version = "v1", kind = "Plain")]
struct PlainSpec {}

#[test]
fn a_definition_has_what_its_attributes_say() {
    let crd: Value = serde_json::from_str(PolicySpec::CRD).unwrap();
    assert_eq!(crd["metadata"]["name"], "policies.example.com");
    let spec = &crd["spec"];
    assert_eq!((&spec["group"], &spec["scope"]), (&json!("example.com"), &json!("Cluster")));
    let names = json!({
        "kind": "Policy", "listKind": "PolicyList", "plural": "policies", "singular": "policy",
        "shortNames": ["pol", "py"], "categories": ["all"],
    });
    assert_eq!(spec["names"], names);
    let version = &spec["versions"][0];
    assert_eq!(version["subresources"], json!({"status": {}}));
    let columns = json!([
        {"name": "Name", "type": "string", "jsonPath": ".spec.name", "priority": 1},
        {"name": "At", "type": "date", "jsonPath": ".status.at"},
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    assert_eq!(version["additionalPrinterColumns"], columns);
    let schema = &version["schema"]["openAPIV3Schema"];
    assert_eq!((&schema["description"], &schema["required"]), (&json!("A thing."), &Value::Null));
    let status = &schema["properties"]["status"];
    // The host may write only conditions.
    assert_eq!(status["required"], Value::Null);
    assert_eq!(status["properties"]["conditions"]["description"], "Ready: it holds.");
    // The schema of the host takes precedence.
    assert_eq!(status["properties"]["conditions"]["x-kubernetes-list-type"], "map");
    assert_eq!(status["properties"]["count"], json!({"type": "integer", "format": "int64", "description": "How many."}));
    assert_eq!(PolicySpec::CRD.matches("\"conditions\"").count(), 1);
}

#[test]
fn the_type_of_the_objects_has_the_name_of_the_kind() {
    let plain = Plain::new("it", PlainSpec {});
    assert_eq!(plain.name(), "it");
}

#[test]
fn a_definition_has_a_status_unless_it_says_otherwise() {
    let version = |crd: &str| serde_json::from_str::<Value>(crd).unwrap()["spec"]["versions"][0].clone();
    let none = version(DefaultsSpec::CRD);
    assert_eq!(none.get("subresources"), None);
    assert_eq!(none["schema"]["openAPIV3Schema"]["properties"].get("status"), None);
    let plain = version(PlainSpec::CRD);
    assert_eq!(plain["subresources"], json!({"status": {}}));
    let schema = &plain["schema"]["openAPIV3Schema"];
    assert_eq!(
        (&schema["required"], &schema["properties"]["spec"]),
        (&json!(["spec"]), &json!({"type": "object", "properties": {}}))
    );
    let status = schema["properties"]["status"]["properties"].as_object().unwrap();
    assert_eq!(status.keys().collect::<Vec<_>>(), ["conditions", "observedGeneration"]);
    assert_eq!((PlainSpec::KIND.api_version, PlainSpec::KIND.kind), ("example.com/v1", "Plain"));
}
