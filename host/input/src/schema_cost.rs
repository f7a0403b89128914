//! Limits what validating by a schema costs, because a plugin's schema may be hostile.
//!
//! Twenty definitions that each refer to the next one twice are a million visits. The limit is for
//! one value; the operator decides how many values there are, and how deep they nest.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// The most references in a schema. Validators recurse along them.
const MOST_REFERENCES: usize = 256;
/// The most visits of subschemas for one value.
const MOST_VISITS: u64 = 1_000;

/// Keywords whose subschemas apply to the same value.
const IN_PLACE: [&str; 8] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/// Checks that validating by this schema ends soon, or returns why it may not.
pub(crate) fn check(schema: &Value) -> Result<(), String> {
    let mut visits = Visits { root: schema, anchors: HashMap::new(), known: HashMap::new(), under_way: HashSet::new() };
    let mut schemas = Vec::new();
    let mut references = 0;
    let mut rest = vec![schema];
    while let Some(value) = rest.pop() {
        match value {
            Value::Object(object) => {
                for keyword in ["$anchor", "$dynamicAnchor"] {
                    if let Some(anchor) = object.get(keyword).and_then(Value::as_str) {
                        visits.anchors.insert(anchor, value);
                    }
                }
                references += ["$ref", "$dynamicRef"].iter().filter(|keyword| object.contains_key(**keyword)).count();
                schemas.push(value);
                rest.extend(object.values());
            }
            Value::Array(items) => rest.extend(items),
            _ => {}
        }
    }
    if references > MOST_REFERENCES {
        return Err(format!("it has {references} references, more than {MOST_REFERENCES}"));
    }
    schemas.into_iter().try_for_each(|schema| visits.of(schema).map(drop))
}

struct Visits<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    known: HashMap<*const Value, u64>,
    under_way: HashSet<*const Value>,
}

impl<'a> Visits<'a> {
    fn of(&mut self, schema: &'a Value) -> Result<u64, String> {
        let Value::Object(object) = schema else { return Ok(1) };
        let address: *const Value = schema;
        if let Some(known) = self.known.get(&address) {
            return Ok(*known);
        }
        if !self.under_way.insert(address) {
            return Err("a part of it refers to itself without end".to_owned());
        }
        let mut visits: u64 = 1;
        for keyword in ["$ref", "$dynamicRef"] {
            if let Some(reference) = object.get(keyword).and_then(Value::as_str) {
                let target = self.target(reference)?;
                visits = visits.saturating_add(self.of(target)?);
            }
        }
        for keyword in IN_PLACE {
            let Some(value) = object.get(keyword) else { continue };
            let parts: Vec<&Value> = match value {
                Value::Array(parts) => parts.iter().collect(),
                Value::Object(parts) if keyword == "dependentSchemas" => parts.values().collect(),
                _ => vec![value],
            };
            for part in parts {
                visits = visits.saturating_add(self.of(part)?);
            }
        }
        if visits > MOST_VISITS {
            return Err(format!("it takes more than {MOST_VISITS} steps for one value"));
        }
        self.under_way.remove(&address);
        self.known.insert(address, visits);
        Ok(visits)
    }

    fn target(&self, reference: &str) -> Result<&'a Value, String> {
        let fragment = reference.strip_prefix('#');
        let target = fragment.and_then(|fragment| match fragment {
            "" => Some(self.root),
            pointer if pointer.starts_with('/') => self.root.pointer(pointer),
            anchor => self.anchors.get(anchor).copied(),
        });
        target.ok_or_else(|| format!("it refers to {reference:?}, which is not in it"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chain(definitions: usize, references: usize, around: impl Fn(Value) -> Value) -> Value {
        let mut schema = json!({"$defs": {}, "$ref": "#/$defs/0"});
        for index in 0..definitions {
            let next = json!({"$ref": format!("#/$defs/{}", index + 1)});
            schema["$defs"][index.to_string()] = around(json!({"allOf": vec![next; references]}));
        }
        schema["$defs"][definitions.to_string()] = json!({"type": "object"});
        schema
    }

    #[test]
    fn schemas_that_take_too_long_are_refused() {
        let refused = [
            chain(20, 2, |schema| schema),
            chain(300, 1, |schema| schema),
            chain(300, 1, |schema| json!({"properties": {"a": schema}})),
            json!({"$ref": "#"}),
            json!({"anyOf": [{"not": {"$ref": "#"}}]}),
            json!({"$dynamicAnchor": "here", "if": {"$dynamicRef": "#here"}}),
            json!({"$ref": "https://example.com/schema"}),
            json!({"$ref": "#/$defs/none"}),
        ];
        for schema in refused {
            assert!(check(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn schemas_that_people_write_are_accepted() {
        let accepted = [
            json!(true),
            json!({}),
            chain(250, 1, |schema| schema),
            chain(250, 1, |schema| json!({"properties": {"a": schema}})),
            // A tree refers to itself, but only for the values inside it.
            json!({"$defs": {"tree": {"properties": {"branches": {"items": {"$ref": "#/$defs/tree"}}}}}, "$ref": "#/$defs/tree"}),
            json!({"$anchor": "top", "properties": {"a": {"$ref": "#top"}}}),
            json!({"properties": {"$ref": {"type": "string"}, "not": {"type": "string"}}}),
        ];
        for schema in accepted {
            assert_eq!(check(&schema), Ok(()), "{schema}");
            let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).offline().build(&schema);
            assert!(validator.is_ok(), "{schema}: {validator:?}");
        }
    }
}
