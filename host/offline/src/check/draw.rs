//! Generates valid objects from a schema, with values that people would not think of.

use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::texts;

/// Below this depth, only required fields are generated.
const DEPTH: usize = 8;

/// A value that the schema allows, or `None` if no such value could be generated.
pub(super) fn value(schema: &Value, sample: Option<&Value>, dice: &mut Dice) -> Option<Value> {
    at_depth(schema, sample, dice, 0)
}

fn at_depth(schema: &Value, sample: Option<&Value>, dice: &mut Dice, depth: usize) -> Option<Value> {
    let text = |field: &str| schema.get(field).and_then(Value::as_str).unwrap_or_default();
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return dice.pick(choices).cloned();
    }
    if schema.get("x-kubernetes-int-or-string").is_some_and(|is| *is == true) {
        return Some(if dice.in_percent(50) { json!(dice.below(100)) } else { json!(format!("{}%", dice.below(101))) });
    }
    match text("type") {
        "string" => texts::text(schema, sample, dice),
        "integer" => Some(integer(schema, dice)),
        "number" => Some(number(schema, dice)),
        "boolean" => Some(json!(dice.in_percent(50))),
        "array" => array(schema, sample, dice, depth),
        "object" | "" => object(schema, sample, dice, depth),
        _ => sample.cloned(),
    }
}

fn integer(schema: &Value, dice: &mut Dice) -> Value {
    let narrow = schema.get("format").is_some_and(|format| format == "int32");
    let (lowest, highest) = if narrow { (i64::from(i32::MIN), i64::from(i32::MAX)) } else { (i64::MIN, i64::MAX) };
    let exclusive = |field: &str| i64::from(schema.get(field).is_some_and(|is| *is == true));
    let bound = |field: &str| schema.get(field).and_then(Value::as_i64);
    let least = bound("minimum").map_or(lowest, |least| least.saturating_add(exclusive("exclusiveMinimum"))).max(lowest);
    let most = bound("maximum").map_or(highest, |most| most.saturating_sub(exclusive("exclusiveMaximum"))).min(highest);
    let choices = [least, most, 0, 1, -1, 2, 3, 7, 100];
    let allowed: Vec<i64> = choices.into_iter().filter(|choice| (least..=most).contains(choice)).collect();
    let drawn = dice.pick(&allowed).copied().unwrap_or(least);
    let step = bound("multipleOf").unwrap_or(1);
    json!(drawn.checked_rem(step).map_or(drawn, |rest| drawn - rest))
}

fn number(schema: &Value, dice: &mut Dice) -> Value {
    let bound = |field: &str| schema.get(field).and_then(Value::as_f64);
    let least = bound("minimum").unwrap_or(-1e9);
    let most = bound("maximum").unwrap_or(1e9);
    let choices = [least, most, 0.0, 0.5, (least + most) / 2.0];
    let allowed: Vec<f64> = choices.into_iter().filter(|choice| (least..=most).contains(choice)).collect();
    json!(dice.pick(&allowed).copied().unwrap_or(least))
}

fn array(schema: &Value, sample: Option<&Value>, dice: &mut Dice, depth: usize) -> Option<Value> {
    let bound = |field: &str| schema.get(field).and_then(Value::as_u64);
    let least = bound("minItems").unwrap_or_default();
    let spread = if depth > DEPTH { 0 } else { bound("maxItems").map_or(3, |most| most.saturating_sub(least).min(3)) };
    let count = least + dice.below(spread + 1);
    let model = sample.and_then(|sample| sample.get(0));
    let items = schema.get("items")?;
    let mut drawn: Vec<Value> = Vec::new();
    let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
    for _ in 0..count.min(100) {
        let item = at_depth(items, model, dice, depth + 1)?;
        // Lists may be sets or maps, so items are made unique in all lists.
        let is_alike = |other: &Value| match keys {
            Some(keys) => keys.iter().filter_map(Value::as_str).all(|key| other.get(key) == item.get(key)),
            None => *other == item,
        };
        if !drawn.iter().any(is_alike) {
            drawn.push(item);
        }
    }
    (drawn.len() as u64 >= least).then_some(Value::Array(drawn))
}

fn object(schema: &Value, sample: Option<&Value>, dice: &mut Dice, depth: usize) -> Option<Value> {
    let mut fields = Map::new();
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let is_required = required.contains(&name.as_str());
        if !is_required && (depth > DEPTH || dice.in_percent(40)) {
            continue;
        }
        let model = sample.and_then(|sample| sample.get(name));
        match at_depth(property, model, dice, depth + 1) {
            Some(drawn) => drop(fields.insert(name.clone(), drawn)),
            None if is_required => return None,
            None => {}
        }
    }
    if let Some(property) = schema.get("additionalProperties").filter(|property| property.is_object()) {
        for number in 0..dice.below(3) {
            if let Some(drawn) = at_depth(property, None, dice, depth + 1) {
                fields.insert(format!("key-{number}"), drawn);
            }
        }
    }
    let is_open = schema.get("x-kubernetes-preserve-unknown-fields").is_some_and(|is| *is == true);
    if is_open && dice.in_percent(50) {
        // A value from the files, with an unexpected change.
        fields.extend(sample.and_then(Value::as_object).cloned().unwrap_or_default());
        fields.insert("unexpected".to_owned(), json!({ "list": [1, "two", null], "deep": { "er": dice.below(10) } }));
    }
    Some(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same() {
        let schema = json!({ "type": "object", "properties": {
            "a": { "type": "string" }, "b": { "type": "array", "items": { "type": "integer" } } } });
        let drawn = |seed| {
            let mut dice = Dice::new(seed);
            (0..10).map(|_| value(&schema, None, &mut dice)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn generated_values_stay_within_bounds() {
        let schema = json!({ "type": "integer", "minimum": 2, "maximum": 5 });
        let mut dice = Dice::new(0);
        for _ in 0..100 {
            let drawn = value(&schema, None, &mut dice).and_then(|drawn| drawn.as_i64());
            assert!(drawn.is_some_and(|drawn| (2..=5).contains(&drawn)), "{drawn:?}");
        }
        let schema = json!({ "type": "string", "minLength": 3, "maxLength": 4 });
        for _ in 0..100 {
            let drawn = value(&schema, None, &mut dice);
            let length = drawn.as_ref().and_then(Value::as_str).map(|text| text.chars().count());
            assert!(length.is_some_and(|length| (3..=4).contains(&length)), "{drawn:?}");
        }
    }
}
