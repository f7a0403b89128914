//! The typed round trip of built-in kinds: decodes an object into the API server's types and
//! encodes it again, with the server's errors.
//!
//! Like Go's decoder, it continues after a value of a wrong type and reports the first one. A value
//! with its own decoder (quantities, times) that fails ends it at once, with that error.

use std::fmt;

use gyre_core::quantity::Quantity;
use serde_json::{Map, Number, Value};

use super::time::{self, Precision};
use super::{base64, openapi};
use crate::go;
use crate::kinds::{FieldValidation, Kind};
use crate::schema::{SchemaRef, Type};
use crate::status::Status;

pub(crate) fn decode(kind: &Kind, object: &mut Value, validation: FieldValidation) -> Result<Vec<String>, Status> {
    let cannot = |why: &str| {
        let (version, kind) = (&kind.version, &kind.kind);
        Status::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
    };
    let unknown = round_trip(kind.schema.root(), object).map_err(|error| cannot(&error))?;
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(unknown),
        FieldValidation::Strict if unknown.is_empty() => Ok(unknown),
        FieldValidation::Strict => Err(cannot(&format!("strict decoding error: {}", unknown.join(", ")))),
    }
}

/// Normalizes a value of any definition, and returns the warnings about unknown fields. Fails with
/// the error of Go's decoder.
pub(crate) fn round_trip(schema: SchemaRef<'_>, value: &mut Value) -> Result<Vec<String>, String> {
    let mut decoder =
        Decoder { unknown: Vec::new(), first_error: None, path: String::new(), fields: Vec::new(), structs: Vec::new() };
    decoder.value(schema, value)?;
    match decoder.first_error {
        Some(error) => Err(error),
        None => Ok(decoder.unknown),
    }
}

struct Decoder<'a> {
    unknown: Vec<String>,
    first_error: Option<String>,
    /// The current path with indices, for unknown fields.
    path: String,
    /// The current path as Go's decoder reports it: names of fields only.
    fields: Vec<&'a str>,
    structs: Vec<&'a str>,
}

impl<'a> Decoder<'a> {
    /// Normalizes a value; the caller removes it if it is null then.
    fn value(&mut self, schema: SchemaRef<'a>, value: &mut Value) -> Result<(), String> {
        match schema.kind {
            Type::Any => Ok(()),
            _ if value.is_null() => Ok(()),
            Type::Quantity => quantity(value),
            Type::IntOrString => {
                if !value.is_string() {
                    self.integer(value, "int32", i32::MIN.into(), i32::MAX.into());
                }
                Ok(())
            }
            Type::Object if schema.properties.is_empty() => self.map(schema, value),
            Type::Object => self.object(schema, value),
            Type::Array => self.list(schema, value),
            Type::String => self.string(schema, value),
            Type::Integer => {
                match schema.format.as_deref() {
                    Some("int32") => self.integer(value, "int32", i32::MIN.into(), i32::MAX.into()),
                    _ => self.integer(value, "int64", i64::MIN, i64::MAX),
                }
                Ok(())
            }
            Type::Number => {
                if !value.is_number() {
                    self.mismatch(value, "float64");
                }
                Ok(())
            }
            Type::Boolean => {
                if !value.is_boolean() {
                    self.mismatch(value, "bool");
                }
                Ok(())
            }
        }
    }

    fn object(&mut self, schema: SchemaRef<'a>, value: &mut Value) -> Result<(), String> {
        let Some(object) = value.as_object_mut() else {
            self.mismatch(value, &go_type(schema));
            return Ok(());
        };
        let struct_name = schema.schema().definition.as_deref().map_or("", last_segment);
        self.structs.push(struct_name);
        let length = self.path.len();
        for (name, field) in object.iter_mut() {
            let Some((known, field_schema)) =
                schema.schema().properties.get_key_value(name).map(|(known, _)| known.as_str()).zip(schema.property(name))
            else {
                let path = crate::validation::field::child(&self.path, name);
                self.unknown.push(format!("unknown field \"{path}\""));
                *field = Value::Null;
                continue;
            };
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(name);
            self.fields.push(known);
            self.value(field_schema, field)?;
            self.fields.pop();
            self.path.truncate(length);
        }
        self.structs.pop();
        settle(schema, object);
        Ok(())
    }

    fn map(&mut self, schema: SchemaRef<'a>, value: &mut Value) -> Result<(), String> {
        let Some(object) = value.as_object_mut() else {
            self.mismatch(value, &go_type(schema));
            return Ok(());
        };
        let Some(values) = schema.additional_properties() else { return Ok(()) };
        self.each(values, object.iter_mut())
    }

    fn list(&mut self, schema: SchemaRef<'a>, value: &mut Value) -> Result<(), String> {
        let Some(list) = value.as_array_mut() else {
            self.mismatch(value, &go_type(schema));
            return Ok(());
        };
        let Some(items) = schema.items() else { return Ok(()) };
        self.each(items, list.iter_mut().enumerate())
    }

    fn each<'v, K: fmt::Display>(
        &mut self,
        schema: SchemaRef<'a>,
        values: impl Iterator<Item = (K, &'v mut Value)>,
    ) -> Result<(), String> {
        let length = self.path.len();
        for (key, value) in values {
            if value.is_null() {
                *value = zero(schema);
            }
            self.path.push_str(&format!("[{key}]"));
            self.value(schema, value)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn string(&mut self, schema: SchemaRef<'a>, value: &mut Value) -> Result<(), String> {
        let Value::String(text) = &*value else {
            let named = named_string(self.structs.last(), self.fields.last());
            let expected = match schema.format.as_deref() {
                Some("byte") => "[]uint8",
                Some("date-time") => "string",
                _ => named.unwrap_or("string"),
            };
            self.mismatch(value, expected);
            return Ok(());
        };
        match schema.format.as_deref() {
            Some("date-time") => {
                let precision = match schema.definition.as_deref() {
                    Some(openapi::MICRO_TIME) => Precision::Micros,
                    _ => Precision::Seconds,
                };
                *value = time::normalise(text, precision)?.map_or(Value::Null, Value::from);
            }
            Some("byte") => match base64::decode(text) {
                Ok(bytes) => *value = Value::from(base64::encode(&bytes)),
                Err(position) => self.report(format!("illegal base64 data at input byte {position}")),
            },
            _ => {}
        }
        Ok(())
    }

    fn integer(&mut self, value: &Value, go_type: &str, least: i64, most: i64) {
        match value {
            Value::Number(number) if number.as_i64().is_some_and(|number| (least..=most).contains(&number)) => {}
            Value::Number(number) => self.wrong(&format!("number {number}"), go_type),
            other => self.mismatch(other, go_type),
        }
    }

    fn mismatch(&mut self, value: &Value, go_type: &str) {
        self.wrong(go::json_type_name(value), go_type);
    }

    fn wrong(&mut self, what: &str, go_type: &str) {
        let place = match self.structs.last() {
            Some(name) if !self.fields.is_empty() => format!("Go struct field {name}.{}", self.fields.join(".")),
            _ => "Go value".to_owned(),
        };
        self.report(format!("json: cannot unmarshal {what} into {place} of type {go_type}"));
    }

    fn report(&mut self, error: String) {
        self.first_error.get_or_insert(error);
    }
}

/// Go decodes quantities from the JSON text, so numbers are allowed.
fn quantity(value: &mut Value) -> Result<(), String> {
    let text = match &*value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    *value = Value::from(Quantity::parse(&text)?.canonical());
    Ok(())
}

/// Drops the fields of a struct that Go omits, and adds those that it always encodes.
fn settle(place: SchemaRef<'_>, object: &mut Map<String, Value>) {
    let schema = place.schema();
    object.retain(|name, value| match value {
        Value::Null => false,
        _ if schema.omit_zero.iter().any(|omitted| omitted == name) => !is_zero(value),
        _ if schema.omit_empty.iter().any(|omitted| omitted == name) => !is_empty(value),
        Value::String(text) => {
            // `TypeMeta` is inlined in every object, and the dump does not describe it.
            !(text.is_empty() && matches!(name.as_str(), "apiVersion" | "kind") && !schema.always.contains_key(name))
        }
        _ => true,
    });
    for (name, rendered) in &schema.always {
        let value = object.entry(name.clone()).or_insert_with(|| rendered.clone());
        // A pointer to an empty struct is not nil.
        let is_struct = place.property(name).is_some_and(|property| !property.properties.is_empty());
        if rendered.is_null() && is_empty(value) && !is_struct {
            *value = Value::Null;
        }
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Array(_) => false,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Null => true,
        _ => false,
    }
}

/// Returns the zero value that Go uses for a null in a list or map.
fn zero(schema: SchemaRef<'_>) -> Value {
    match schema.kind {
        Type::Any => Value::Null,
        Type::Object if schema.properties.is_empty() => Value::Null,
        Type::Object => Value::Object(Map::new()),
        Type::Array => Value::Null,
        Type::String if schema.format.as_deref() == Some("date-time") => Value::Null,
        Type::String => Value::from(""),
        Type::Integer | Type::Number | Type::IntOrString => Value::Number(Number::from(0)),
        Type::Boolean => Value::Bool(false),
        Type::Quantity => Value::from("0"),
    }
}

fn last_segment(definition: &str) -> &str {
    definition.rsplit('.').next().unwrap_or(definition)
}

fn go_type(schema: SchemaRef<'_>) -> String {
    match schema.kind {
        Type::Object | Type::Any if schema.definition.is_some() => {
            let mut segments = schema.definition.as_deref().unwrap_or_default().rsplit('.');
            let name = segments.next().unwrap_or_default();
            format!("{}.{name}", segments.next().unwrap_or_default())
        }
        Type::Object => match schema.additional_properties() {
            Some(values) if values.kind == Type::Quantity => "v1.ResourceList".to_owned(),
            Some(values) => format!("map[string]{}", go_type(values)),
            None => "map[string]interface {}".to_owned(),
        },
        Type::Array => format!("[]{}", schema.items().map_or_else(|| "interface {}".to_owned(), go_type)),
        Type::String if schema.format.as_deref() == Some("byte") => "[]uint8".to_owned(),
        Type::String => "string".to_owned(),
        Type::Integer if schema.format.as_deref() == Some("int32") => "int32".to_owned(),
        Type::Integer => "int64".to_owned(),
        Type::Number => "float64".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::IntOrString => "intstr.IntOrString".to_owned(),
        Type::Quantity => "resource.Quantity".to_owned(),
        Type::Any => "interface {}".to_owned(),
    }
}

fn named_string(struct_name: Option<&&str>, field: Option<&&str>) -> Option<&'static str> {
    Some(match (*struct_name?, *field?) {
        ("ObjectMeta" | "OwnerReference" | "ObjectReference", "uid") => "types.UID",
        ("ServicePort" | "ContainerPort" | "EndpointPort" | "NetworkPolicyPort", "protocol") => "v1.Protocol",
        ("Container" | "EphemeralContainer", "imagePullPolicy") => "v1.PullPolicy",
        ("Container" | "EphemeralContainer", "terminationMessagePolicy") => "v1.TerminationMessagePolicy",
        ("Container", "restartPolicy") => "v1.ContainerRestartPolicy",
        ("PodSpec", "restartPolicy") => "v1.RestartPolicy",
        ("PodSpec", "dnsPolicy") => "v1.DNSPolicy",
        ("PodStatus", "phase") => "v1.PodPhase",
        ("PodStatus", "qosClass") => "v1.PodQOSClass",
        ("ServiceSpec", "type") => "v1.ServiceType",
        ("ServiceSpec", "sessionAffinity") => "v1.ServiceAffinity",
        ("Secret", "type") => "v1.SecretType",
        ("NamespaceStatus", "phase") => "v1.NamespacePhase",
        ("NamespaceSpec", "finalizers") => "v1.FinalizerName",
        ("Toleration", "operator") => "v1.TolerationOperator",
        ("Toleration" | "Taint", "effect") => "v1.TaintEffect",
        ("HTTPGetAction", "scheme") => "v1.URIScheme",
        ("JobSpec", "completionMode") => "v1.CompletionMode",
        ("JobSpec", "podReplacementPolicy") => "v1.PodReplacementPolicy",
        ("CronJobSpec", "concurrencyPolicy") => "v1.ConcurrencyPolicy",
        ("JobCondition", "type") => "v1.JobConditionType",
        ("PodCondition", "type") => "v1.PodConditionType",
        ("DeploymentCondition", "type") => "v1.DeploymentConditionType",
        ("JobCondition" | "PodCondition" | "DeploymentCondition" | "ReplicaSetCondition", "status") => "v1.ConditionStatus",
        ("Condition", "status") => "v1.ConditionStatus",
        ("DeploymentStrategy", "type") => "v1.DeploymentStrategyType",
        ("DaemonSetUpdateStrategy", "type") => "v1.DaemonSetUpdateStrategyType",
        ("StatefulSetUpdateStrategy", "type") => "v1.StatefulSetUpdateStrategyType",
        ("StatefulSetSpec", "podManagementPolicy") => "v1.PodManagementPolicyType",
        ("LabelSelectorRequirement", "operator") => "v1.LabelSelectorOperator",
        ("ManagedFieldsEntry", "operation") => "v1.ManagedFieldsOperationType",
        _ => return None,
    })
}
