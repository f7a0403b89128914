//! Finds out what the status of a kind can hold.

use serde_json::{Map, Value};

use super::{READY, RECONCILING, STALLED};
use crate::manifest::Manifest;
use crate::object::GroupVersionKind;

/// The host's fields that the status of a kind can hold. The plugin's own status is always written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusCapabilities {
    /// Conditions and generations.
    Everything,
    /// None: another controller owns the status, or there is none.
    Nothing,
    /// Those in the kind's schema. The API server drops or rejects others.
    Schema(Fields),
}

/// The host's fields in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// `conditions`, in the form of the host's.
    pub conditions: bool,
    /// `observedGeneration` in each condition.
    pub condition_generation: bool,
    /// `observedGeneration`.
    pub observed_generation: bool,
    /// Whether the host's fields alone are a valid status, because no others are required.
    pub alone: bool,
}

impl Fields {
    const EVERYTHING: Self = Self { conditions: true, condition_generation: true, observed_generation: true, alone: true };
    const NOTHING: Self = Self { conditions: false, condition_generation: false, observed_generation: false, alone: false };
}

impl StatusCapabilities {
    /// The capabilities of a kind, from the schema that a manifest brings. Kubernetes' own kinds
    /// have controllers, whose conditions the host's would be mistaken for. Any other kind gets
    /// everything: it was written for a controller that the plugin replaces.
    ///
    /// Without a status subresource there are no generations, because writing the status changes
    /// them.
    pub fn of(manifest: &Manifest, kind: &GroupVersionKind, has_status_subresource: bool) -> Self {
        let schema = manifest.crds.iter().find_map(|definition| schema(definition, kind));
        let fields = match schema {
            Some(schema) => fields(schema, has_status_subresource),
            None if is_kubernetes_own(&kind.group) => Fields::NOTHING,
            None => Fields::EVERYTHING,
        };
        let no_generations = Fields { condition_generation: false, observed_generation: false, ..fields };
        match if has_status_subresource { fields } else { no_generations } {
            Fields::EVERYTHING => Self::Everything,
            Fields { conditions: false, observed_generation: false, .. } => Self::Nothing,
            some => Self::Schema(some),
        }
    }

    pub(super) fn fields(self) -> Fields {
        match self {
            Self::Everything => Fields::EVERYTHING,
            Self::Nothing => Fields::NOTHING,
            Self::Schema(fields) => fields,
        }
    }
}

/// Groups without a dot are Kubernetes' own (`apps`), and those of `k8s.io` are reserved for it.
fn is_kubernetes_own(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

fn schema<'a>(definition: &'a Value, kind: &GroupVersionKind) -> Option<&'a Value> {
    let spec = definition.get("spec")?;
    let is_its = spec.get("group")? == kind.group.as_str() && spec.pointer("/names/kind")? == kind.kind.as_str();
    let mut versions = spec.get("versions").filter(|_| is_its)?.as_array()?.iter();
    let version = versions.find(|version| version.get("name").is_some_and(|name| name == kind.version.as_str()))?;
    version.pointer("/schema/openAPIV3Schema")
}

enum Field<'a> {
    Absent,
    Any,
    Like(&'a Value),
}

/// As the API server prunes: first what is specified, then what is preserved.
fn field<'a>(schema: &'a Value, name: &str) -> Field<'a> {
    let specified = schema.get("properties").and_then(|properties| properties.get(name));
    match (specified, schema.get("additionalProperties")) {
        (Some(specified), _) => Field::Like(specified),
        (None, Some(additional @ Value::Object(_))) => Field::Like(additional),
        (None, Some(Value::Bool(true))) => Field::Any,
        _ if is_true(schema, "x-kubernetes-preserve-unknown-fields") => Field::Any,
        _ => Field::Absent,
    }
}

fn fields(schema: &Value, has_status_subresource: bool) -> Fields {
    let status = match field(schema, "status") {
        Field::Absent => return Fields::NOTHING,
        Field::Any => return Fields::EVERYTHING,
        Field::Like(status) => status,
    };
    let observed_generation = has_status_subresource && takes_an_integer(&field(status, "observedGeneration"));
    let (conditions, condition_generation) = match field(status, "conditions") {
        Field::Absent => (false, false),
        Field::Any => (true, true),
        Field::Like(conditions) => conditions_of(conditions, has_status_subresource),
    };
    let alone = required(status).all(|name| match name {
        "conditions" => conditions,
        "observedGeneration" => observed_generation,
        _ => false,
    });
    Fields { conditions, condition_generation, observed_generation, alone }
}

fn conditions_of(schema: &Value, has_status_subresource: bool) -> (bool, bool) {
    if is_true(schema, "x-kubernetes-preserve-unknown-fields") && schema.get("type").is_none() {
        return (true, true);
    }
    let Some(items) = schema.get("items").filter(|_| schema.get("type").is_some_and(|kind| kind == "array")) else {
        return (false, false);
    };
    let generation = has_status_subresource && takes_an_integer(&field(items, "observedGeneration"));
    let fits = ["type", "status"].into_iter().all(|name| !matches!(field(items, name), Field::Absent))
        && required(items).all(|name| match name {
            "type" | "status" | "reason" | "message" | "lastTransitionTime" => true,
            "observedGeneration" => generation,
            _ => false,
        })
        && items.pointer("/properties/type/enum").and_then(Value::as_array).is_none_or(|kinds| {
            [READY, RECONCILING, STALLED].into_iter().all(|kind| kinds.iter().any(|allowed| allowed == kind))
        });
    (fits, fits && generation)
}

fn takes_an_integer(field: &Field<'_>) -> bool {
    match field {
        Field::Absent => false,
        Field::Any => true,
        Field::Like(schema) => match schema.get("type").and_then(Value::as_str) {
            Some("integer" | "number") => true,
            Some(_) => false,
            None => {
                ["x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"].iter().any(|mark| is_true(schema, mark))
            }
        },
    }
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn is_true(schema: &Value, mark: &str) -> bool {
    schema.as_object().and_then(|schema: &Map<String, Value>| schema.get(mark)) == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn manifest(group: &str, crds: Vec<Value>) -> Manifest {
        Manifest { crds, ..Manifest::new("echo", "1", GroupVersionKind::new(group, "v1", "Echo")) }
    }

    fn definition(schema: &Value) -> Value {
        json!({
            "kind": "CustomResourceDefinition",
            "spec": {"group": "example.com", "names": {"kind": "Echo"}, "versions": [
                {"name": "v1alpha1", "schema": {"openAPIV3Schema": {"type": "object"}}},
                {"name": "v1", "schema": {"openAPIV3Schema": schema}},
            ]},
        })
    }

    fn check(schema: &Value, expected: StatusCapabilities) {
        let another = json!({"spec": {"group": "example.com", "names": {"kind": "Other"}, "versions": []}});
        let manifest = manifest("example.com", vec![another, json!(1), definition(schema)]);
        assert_eq!(StatusCapabilities::of(&manifest, &manifest.parent, true), expected, "{schema}");
    }

    fn check_status(status: &Value, expected: StatusCapabilities) {
        check(&json!({"type": "object", "properties": {"spec": {"type": "object"}, "status": status}}), expected);
    }

    fn check_conditions(conditions: &Value, (conditions_fit, condition_generation): (bool, bool)) {
        let expected =
            StatusCapabilities::Schema(Fields { conditions: conditions_fit, condition_generation, ..Fields::EVERYTHING });
        let expected =
            if (conditions_fit, condition_generation) == (true, true) { StatusCapabilities::Everything } else { expected };
        let generation = json!({"type": "integer"});
        check_status(
            &json!({"type": "object", "properties": {"observedGeneration": generation, "conditions": conditions}}),
            expected,
        );
    }

    fn list_of(items: &Value) -> Value {
        json!({"type": "array", "items": items})
    }

    #[test]
    fn the_capabilities_follow_from_the_schema() {
        let some = |fields| StatusCapabilities::Schema(fields);
        let text = json!({"type": "string"});
        for schema in [json!({}), json!({"type": "object", "properties": {"spec": {}}}), json!(true)] {
            check(&schema, StatusCapabilities::Nothing);
        }
        check(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}), StatusCapabilities::Everything);
        check_status(&json!({"type": "object"}), StatusCapabilities::Nothing);
        check_status(&json!({"type": "object", "properties": {"phase": text}}), StatusCapabilities::Nothing);
        check_status(&json!({"type": "object", "properties": {"observedGeneration": text}}), StatusCapabilities::Nothing);
        check_status(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}), StatusCapabilities::Everything);
        check_status(&json!({"type": "object", "additionalProperties": true}), StatusCapabilities::Everything);
        check_status(&json!({"type": "object", "additionalProperties": text}), StatusCapabilities::Nothing);
        let only_generation = Fields { observed_generation: true, alone: true, ..Fields::NOTHING };
        let generation = json!({"observedGeneration": {"type": "integer", "format": "int64"}});
        check_status(&json!({"type": "object", "properties": generation}), some(only_generation));
        let with_phase = json!({"type": "object", "properties": generation, "required": ["observedGeneration", "phase"]});
        check_status(&with_phase, some(Fields { alone: false, ..only_generation }));
    }

    #[test]
    fn conditions_have_to_be_of_the_usual_form() {
        let text = json!({"type": "string"});
        let usual = json!({"type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": text});
        let mut with_generation = usual.clone();
        with_generation["observedGeneration"] = json!({"type": "integer"});
        let mut of_few_types = usual.clone();
        of_few_types["type"] = json!({"type": "string", "enum": ["Available"]});
        let preserving = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        check_conditions(&list_of(&json!({"type": "object", "properties": with_generation})), (true, true));
        check_conditions(&list_of(&json!({"type": "object", "properties": usual})), (true, false));
        check_conditions(&list_of(&preserving), (true, true));
        check_conditions(&json!({"x-kubernetes-preserve-unknown-fields": true}), (true, true));
        let required = |names: &[&str]| list_of(&json!({"type": "object", "properties": with_generation, "required": names}));
        check_conditions(&required(&["type", "status", "observedGeneration"]), (true, true));
        check_conditions(&required(&["type", "status", "lastHeartbeatTime"]), (false, false));
        check_conditions(&list_of(&json!({"type": "object", "properties": of_few_types})), (false, false));
        check_conditions(&list_of(&text), (false, false));
        check_conditions(&json!({"type": "object", "additionalProperties": text}), (false, false));
    }

    #[test]
    fn a_kind_without_schema_has_all_capabilities_unless_it_is_kubernetes_own() {
        for (group, expected) in [
            ("", StatusCapabilities::Nothing),
            ("apps", StatusCapabilities::Nothing),
            ("networking.k8s.io", StatusCapabilities::Nothing),
            ("echo.k8s.kb.cx", StatusCapabilities::Everything),
            ("cluster.x-k8s.io", StatusCapabilities::Everything),
            ("example.com", StatusCapabilities::Everything),
        ] {
            let manifest = manifest(group, Vec::new());
            assert_eq!(StatusCapabilities::of(&manifest, &manifest.parent, true), expected, "{group}");
        }
        let other_version = manifest("example.com", vec![definition(&json!({}))]);
        let other_version = Manifest { parent: GroupVersionKind::new("example.com", "v2", "Echo"), ..other_version };
        assert_eq!(StatusCapabilities::of(&other_version, &other_version.parent, true), StatusCapabilities::Everything);
    }

    #[test]
    fn without_a_status_subresource_no_generation_is_written() {
        let conditions_only = StatusCapabilities::Schema(Fields { conditions: true, alone: true, ..Fields::NOTHING });
        let preserving = definition(&json!({"x-kubernetes-preserve-unknown-fields": true}));
        for (manifest, expected) in [
            (manifest("example.com", Vec::new()), conditions_only),
            (manifest("example.com", vec![preserving]), conditions_only),
            (manifest("", Vec::new()), StatusCapabilities::Nothing),
        ] {
            assert_eq!(StatusCapabilities::of(&manifest, &manifest.parent, false), expected);
        }
        let generation = json!({"observedGeneration": {"type": "integer"}});
        let only_generation = definition(&json!({"properties": {"status": {"properties": generation}}}));
        let manifest = manifest("example.com", vec![only_generation]);
        assert_eq!(StatusCapabilities::of(&manifest, &manifest.parent, false), StatusCapabilities::Nothing);
    }
}
