//! What this server writes otherwise than it was told, the host takes for the same, and nothing else: `gyre_core::contains` knows the
//! places by name, and here they are looked up in the schemas.

use std::collections::BTreeSet;

use gyre_core::contains::first_difference;
use serde_json::{Value, json};

use super::super::kinds;
use crate::kinds::{FieldValidation, Kind};
use crate::schema::{SchemaRef, Type};

/// Keys of maps, such as resources and labels: one of no meaning, and the words that name a quantity or bytes elsewhere.
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
    /// If true, the field is absent when it is false, 0 or empty.
    is_left_out: bool,
}

impl Leaf<'_> {
    fn name(&self) -> String {
        self.path.iter().fold(String::new(), |name, step| match step {
            Step::Field(field) => name + "." + field,
            Step::Item => name + "[]",
        })
    }

    /// An object of the kind that has this value at the place, and nothing else; none: it ends there.
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

/// Everything in objects of a kind that has no parts of its own. What contains itself (schemas do) is looked at once.
fn leaves<'a>(
    (schema, is_left_out): (SchemaRef<'a>, bool),
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
        let is_left_out = matches!(&step, Step::Field(field) if schema.omit_zero.contains(field));
        path.push(step);
        leaves((inner, is_left_out), path, above, found);
        path.pop();
    };
    if let Some(items) = schema.items() {
        inside(Step::Item, items);
    } else if let Some(values) = schema.additional_properties() {
        KEYS.iter().for_each(|key| inside(Step::Field((*key).to_owned()), values));
    } else if schema.properties.is_empty() {
        found.push(Leaf { path: path.clone(), schema, is_left_out });
    } else {
        schema.properties().for_each(|(name, field)| inside(Step::Field(name.to_owned()), field));
    }
    above.pop();
}

/// Calls back for all that objects of each kind may be wanted to hold.
fn each_leaf(mut look: impl FnMut(&Kind, &Leaf<'_>)) {
    for kind in kinds() {
        let mut found = Vec::new();
        leaves((kind.schema.root(), false), &mut Vec::new(), &mut Vec::new(), &mut found);
        // Nobody wants a status, and the type of an object is what it is looked up by.
        let is_wanted = |leaf: &Leaf<'_>| {
            let is_status = |step: &Step| matches!(step, Step::Field(field) if field == "status");
            let of_type = matches!(leaf.path.as_slice(), [Step::Field(field)] if field == "kind" || field == "apiVersion");
            !of_type && !leaf.path.iter().any(is_status)
        };
        found.iter().filter(|leaf| is_wanted(leaf)).for_each(|leaf| look(&kind, leaf));
    }
}

#[test]
fn quantities_and_bytes_are_the_same_however_they_are_written_and_no_other_text_is() {
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
fn what_this_server_makes_of_a_quantity_holds_it() {
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
fn what_the_host_takes_for_left_out_is_what_this_server_leaves_out() {
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
        if is_held && !leaf.is_left_out {
            wrong.insert(format!("{} {}{}", kind.api_version(), kind.kind, leaf.name()));
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 100, "{count}");
}
