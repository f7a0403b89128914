//! The host ignores exactly the differences in spelling that this server introduces.
//! `gyre_core::contains` knows these fields by name; these tests compare it with the schemas.

use std::collections::BTreeSet;

use gyre_core::contains::first_difference;
use serde_json::{Value, json};

use super::super::kinds;
use crate::kinds::{FieldValidation, Kind};
use crate::schema::{SchemaRef, Type};

/// Keys of maps: a meaningless one, and words that are quantities or bytes as names of fields.
const KEYS: &[&str] =
    &["x", "value", "averageValue", "sizeLimit", "divisor", "capacity", "maximumVolumeSize", "caBundle", "data"];

#[derive(Clone)]
enum Step {
    Field(String),
    Item,
}

struct Leaf<'a> {
    path: Vec<Step>,
    schema: SchemaRef<'a>,
    /// True if the field is omitted when it is false, 0 or empty.
    is_omitted: bool,
}

impl Leaf<'_> {
    fn name(&self) -> String {
        self.path.iter().fold(String::new(), |name, step| match step {
            Step::Field(field) => name + "." + field,
            Step::Item => name + "[]",
        })
    }

    /// Returns an object of the kind with only this value, or with only its parents if `None`.
    fn object(&self, kind: &Kind, value: impl Into<Option<Value>>) -> Value {
        let around = |inner: Option<Value>, step: &Step| match (step, inner) {
            (Step::Field(field), Some(inner)) => Some(json!({ field: inner })),
            (Step::Field(_), None) => Some(json!({})),
            (Step::Item, inner) => Some(inner.into_iter().collect()),
        };
        let mut object = self.path.iter().rev().fold(value.into(), around).unwrap_or_default();
        object["apiVersion"] = json!(kind.api_version());
        object["kind"] = json!(*kind.kind);
        object
    }
}

/// Collects the leaves of a schema. A definition inside itself is skipped.
fn leaves<'a>(
    (schema, is_omitted): (SchemaRef<'a>, bool),
    path: &mut Vec<Step>,
    above: &mut Vec<&'a str>,
    found: &mut Vec<Leaf<'a>>,
) {
    let definition = schema.schema().definition.as_deref().unwrap_or_default();
    if !definition.is_empty() && above.contains(&definition) {
        return;
    }
    above.push(definition);
    let mut inside = |step: Step, inner: SchemaRef<'a>| {
        let is_omitted = matches!(&step, Step::Field(field) if schema.omit_zero.contains(field));
        path.push(step);
        leaves((inner, is_omitted), path, above, found);
        path.pop();
    };
    if let Some(items) = schema.items() {
        inside(Step::Item, items);
    } else if let Some(values) = schema.additional_properties() {
        KEYS.iter().for_each(|key| inside(Step::Field((*key).to_owned()), values));
    } else if schema.properties.is_empty() {
        found.push(Leaf { path: path.clone(), schema, is_omitted });
    } else {
        schema.properties().for_each(|(name, field)| inside(Step::Field(name.to_owned()), field));
    }
    above.pop();
}

fn each_leaf(mut check: impl FnMut(&Kind, &Leaf<'_>)) {
    for kind in kinds() {
        let mut found = Vec::new();
        leaves((kind.schema.root(), false), &mut Vec::new(), &mut Vec::new(), &mut found);
        // A plugin sets no status, and the type of an object identifies it.
        let is_wanted = |leaf: &Leaf<'_>| {
            let is_status = |step: &Step| matches!(step, Step::Field(field) if field == "status");
            let of_type = matches!(leaf.path.as_slice(), [Step::Field(field)] if field == "kind" || field == "apiVersion");
            !of_type && !leaf.path.iter().any(is_status)
        };
        found.iter().filter(|leaf| is_wanted(leaf)).for_each(|leaf| check(&kind, leaf));
    }
}

#[test]
fn only_quantities_and_bytes_are_equal_in_another_spelling() {
    let mut wrong = BTreeSet::new();
    let mut counts = [0; 3];
    each_leaf(|kind, leaf| {
        let same = |one: &str, other: &str| {
            first_difference(&leaf.object(kind, json!(one)), &leaf.object(kind, json!(other))).is_none()
        };
        let is_quantity = leaf.schema.kind == Type::Quantity;
        let is_bytes = leaf.schema.kind == Type::String && leaf.schema.format.as_deref() == Some("byte");
        counts[0] += usize::from(is_quantity);
        counts[1] += usize::from(is_bytes);
        counts[2] += 1;
        if same("1000m", "1") != is_quantity
            || same("Zg==", "Zg=\n=\n") != is_bytes
            || same("1", "1001m")
            || same("Zg==", "Zw==")
        {
            wrong.insert(format!("{} {}{}", kind.api_version(), kind.kind, leaf.name()));
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(counts.iter().zip([100, 5, 5000]).all(|(count, least)| *count > least), "{counts:?}");
}

#[test]
fn a_stored_quantity_contains_the_one_that_was_sent() {
    each_leaf(|kind, leaf| {
        if leaf.schema.kind != Type::Quantity {
            return;
        }
        for amount in [json!("1000m"), json!("0.1m"), json!("1.5Gi"), json!("1e3"), json!("0.1n"), json!(1), json!(0.5)] {
            let desired = leaf.object(kind, amount.clone());
            let mut live = desired.clone();
            kind.decode(&mut live, FieldValidation::Strict).unwrap();
            kind.default(&mut live);
            let difference = first_difference(&desired, &live);
            assert_eq!(difference, None, "{amount} of {} {}{}: {live}", kind.api_version(), kind.kind, leaf.name());
        }
    });
}

#[test]
fn the_host_accepts_the_absence_only_of_fields_that_the_server_omits() {
    let mut wrong = BTreeSet::new();
    let mut count = 0;
    each_leaf(|kind, leaf| {
        let zero = match leaf.schema.kind {
            Type::Boolean => json!(false),
            Type::Integer | Type::Number => json!(0),
            _ => json!(""),
        };
        let is_held = first_difference(&leaf.object(kind, zero), &leaf.object(kind, None)).is_none();
        count += usize::from(is_held);
        if is_held && !leaf.is_omitted {
            wrong.insert(format!("{} {}{}", kind.api_version(), kind.kind, leaf.name()));
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 100, "{count}");
}
