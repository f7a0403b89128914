//! Values that the API server renders differently although they are the same.
//!
//! It renders `1000m` of CPU as `1`, and omits `tty: false`, depending on the field. Custom kinds
//! keep their values, so only Kubernetes' own kinds matter; a test of the devcluster checks them.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::quantity::Quantity;

/// Kubernetes' own groups with such kinds, unlike e.g. `gateway.networking.k8s.io`.
const GROUPS: &[&str] = &[
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "certificates.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "storage.k8s.io",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `resource.Quantity`, whose suffix and precision the writer chooses.
    Quantity,
    /// A quantity of a `ResourceList`, which the server also rounds up to thousandths.
    Resource,
    /// Bytes in base64, where line breaks mean nothing.
    Base64,
}

/// A field that the API server may render differently.
struct RenderedField {
    /// The last fields of the path. `*` is any field; an empty one is the object itself.
    fields: &'static [&'static str],
    spelling: Spelling,
}

const fn quantity(fields: &'static [&'static str]) -> RenderedField {
    RenderedField { fields, spelling: Spelling::Quantity }
}

const fn resource(fields: &'static [&'static str]) -> RenderedField {
    RenderedField { fields, spelling: Spelling::Resource }
}

const fn base64(fields: &'static [&'static str]) -> RenderedField {
    RenderedField { fields, spelling: Spelling::Base64 }
}

const RENDERED_FIELDS: &[RenderedField] = &[
    // Containers, Pods and claims of volumes.
    resource(&["resources", "limits", "*"]),
    resource(&["resources", "requests", "*"]),
    resource(&["spec", "overhead", "*"]),
    quantity(&["emptyDir", "sizeLimit"]),
    quantity(&["resourceFieldRef", "divisor"]),
    // PersistentVolume, ResourceQuota, LimitRange, RuntimeClass, CSIStorageCapacity.
    resource(&["", "spec", "capacity", "*"]),
    resource(&["inlineVolumeSpec", "capacity", "*"]),
    resource(&["", "spec", "hard", "*"]),
    resource(&["limits", "max", "*"]),
    resource(&["limits", "min", "*"]),
    resource(&["limits", "default", "*"]),
    resource(&["limits", "defaultRequest", "*"]),
    resource(&["limits", "maxLimitRequestRatio", "*"]),
    resource(&["", "overhead", "podFixed", "*"]),
    quantity(&["", "capacity"]),
    quantity(&["", "maximumVolumeSize"]),
    // HorizontalPodAutoscaler.
    quantity(&["target", "value"]),
    quantity(&["target", "averageValue"]),
    quantity(&["behavior", "scaleUp", "tolerance"]),
    quantity(&["behavior", "scaleDown", "tolerance"]),
    // ConfigMaps, webhooks, APIServices and CertificateSigningRequests.
    base64(&["", "binaryData", "*"]),
    base64(&["clientConfig", "caBundle"]),
    base64(&["", "spec", "caBundle"]),
    base64(&["", "spec", "request"]),
];

/// Fields that the API server omits if they are false, 0 or empty, after their parents. Other
/// fields matter, e.g. `automountServiceAccountToken: false`.
const LEFT_OUT: &[(&[&str], &[&str])] = &[
    (&["spec"], &["hostNetwork", "hostPID", "hostIPC", "paused", "minReadySeconds", "publishNotReadyAddresses"]),
    (&["spec"], &["hostname", "subdomain", "priorityClassName"]),
    (super::CONTAINERS, &["stdin", "stdinOnce", "tty", "workingDir"]),
    (&["env"], &["value"]),
    (&["ports"], &["hostPort"]),
    (&["volumeMounts"], &["readOnly", "subPath", "subPathExpr"]),
    (&["livenessProbe", "readinessProbe", "startupProbe"], &["initialDelaySeconds"]),
    (&["httpGet"], &["host"]),
    (&["persistentVolumeClaim", "nfs"], &["readOnly"]),
    (&["emptyDir"], &["medium"]),
];

/// `data` is text in a ConfigMap and bytes in a Secret.
const SECRET_DATA: &[&str] = &["", "data", "*"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Secret,
    BuiltIn,
    /// A custom kind, or no kind: values are kept as they are.
    #[default]
    Other,
}

impl Kind {
    pub(super) fn of(object: &Map<String, Value>) -> Self {
        let text = |field: &str| object.get(field).and_then(Value::as_str);
        let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else { return Self::Other };
        match api_version.split_once('/').map_or("", |(group, _)| group) {
            "" if kind == "Secret" => Self::Secret,
            // Kubernetes' own groups have no dot; custom ones must have one.
            group if !group.contains('.') || GROUPS.contains(&group) => Self::BuiltIn,
            _ => Self::Other,
        }
    }

    fn spelling<'a>(self, fields: impl Iterator<Item = &'a str> + Clone) -> Option<Spelling> {
        match self {
            Self::Other => None,
            Self::Secret if is_at(SECRET_DATA, fields.clone()) => Some(Spelling::Base64),
            Self::Secret | Self::BuiltIn => {
                RENDERED_FIELDS.iter().find(|place| is_at(place.fields, fields.clone())).map(|place| place.spelling)
            }
        }
    }

    /// Returns whether the API server omits this value; `fields` as in [`Self::is_same`].
    pub(super) fn leaves_out<'a>(self, mut fields: impl Iterator<Item = &'a str>, desired: &Value) -> bool {
        let is_zero = match desired {
            Value::Bool(set) => !set,
            Value::Number(number) => number.as_i64() == Some(0),
            Value::String(text) => text.is_empty(),
            Value::Null | Value::Array(_) | Value::Object(_) => false,
        };
        if self == Self::Other || !is_zero {
            return false;
        }
        let (Some(field), Some(parent)) = (fields.next(), fields.next()) else { return false };
        LEFT_OUT.iter().any(|(parents, left_out)| parents.contains(&parent) && left_out.contains(&field))
    }

    /// Returns whether the values are the same. `fields` lead to them, the last one first.
    pub(super) fn is_same<'a>(self, fields: impl Iterator<Item = &'a str> + Clone, desired: &Value, live: &Value) -> bool {
        match self.spelling(fields) {
            None => false,
            Some(Spelling::Base64) => match (desired, live) {
                (Value::String(desired), Value::String(live)) => letters(desired).eq(letters(live)),
                _ => false,
            },
            Some(spelling @ (Spelling::Quantity | Spelling::Resource)) => {
                match (amount(desired, spelling), amount(live, spelling)) {
                    (Some(desired), Some(live)) => desired == live,
                    _ => false,
                }
            }
        }
    }
}

fn is_at<'a>(place: &[&str], fields: impl Iterator<Item = &'a str>) -> bool {
    let mut fields = fields.chain([""]);
    place.iter().rev().all(|expected| fields.next().is_some_and(|field| *expected == "*" || *expected == field))
}

fn letters(base64: &str) -> impl Iterator<Item = u8> {
    base64.bytes().filter(|letter| !matches!(letter, b'\n' | b'\r'))
}

fn amount(value: &Value, spelling: Spelling) -> Option<Quantity> {
    let text = match value {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        Value::Number(number) => Cow::Owned(number.to_string()),
        _ => return None,
    };
    let mut quantity = Quantity::parse(&text).ok()?;
    if spelling == Spelling::Resource {
        quantity.round_up_to_milli();
    }
    Some(quantity)
}

pub(super) fn is_text_in_base64(text: &Value, data: &Value) -> bool {
    match (text, data) {
        (Value::String(text), Value::String(data)) => STANDARD.encode(text) == *data,
        _ => false,
    }
}
