use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::openapi;
use crate::fields::ownership::Ownership;
use crate::fields::{Force, Manager, apply, record_update};
use crate::object;
use crate::schema::{SchemaId, Schemas};

const UPDATE: &str = "UPDATE_GOLDEN";

#[test]
fn cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fields/tests/cases");
    let mut count = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let mut case: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let expected = case.clone();
        run(&mut case);
        if std::env::var_os(UPDATE).is_some() {
            std::fs::write(&path, compact(&case, 0) + "\n").unwrap();
        } else {
            assert_eq!(case, expected, "{}: {}", path.display(), expected["says"]);
        }
        count += 1;
    }
    assert!(count > 20, "{count} cases");
}

fn run(case: &mut Value) {
    let schemas = [schema(case, "spec"), schema(case, "later")];
    let with_times = case["times"] == true;
    let mut live: Option<Value> = None;
    for step in case["steps"].as_array_mut().unwrap() {
        let result = run_step(step, live.as_ref(), &schemas);
        let step = step.as_object_mut().unwrap();
        for field in ["error", "spec", "owners", "annotated"] {
            step.remove(field);
        }
        match result {
            Ok(object) => {
                step.insert("spec".to_owned(), object["spec"].clone());
                step.insert("owners".to_owned(), owners(&object, with_times));
                if let Some(annotations) = object["metadata"].get("annotations") {
                    step.insert("annotated".to_owned(), annotations.clone());
                }
                live = Some(object);
            }
            Err(message) => drop(step.insert("error".to_owned(), Value::from(message))),
        }
    }
}

fn run_step(step: &Value, live: Option<&Value>, schemas: &[(Schemas, SchemaId)]) -> Result<Value, String> {
    let (schemas, root) = if step["schema"] == "later" { &schemas[1] } else { &schemas[0] };
    let text = |field: &str| step[field].as_str().unwrap_or_default();
    let manager = Manager { name: text("by"), api_version: "apps/v1", subresource: text("sub") };
    let reset: Vec<Vec<&str>> = step["reset"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|path| path.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect())
        .collect();
    let now = Timestamp::from_second(step["at"].as_i64().unwrap_or_default()).unwrap();
    match step.get("apply") {
        Some(spec) => {
            let force = if step["force"] == true { Force::Yes } else { Force::No };
            let applied = thing(spec, step);
            apply(live, &applied, schemas.at(*root), &manager, force, &reset, now).map_err(|error| error.into_status().message)
        }
        None => {
            let mut new = thing(&step["update"], step);
            record_update(live, &mut new, schemas.at(*root), &manager, &reset, now);
            Ok(new)
        }
    }
}

fn thing(spec: &Value, step: &Value) -> Value {
    let mut thing = json!({ "apiVersion": "apps/v1", "kind": "Thing", "metadata": { "name": "n" } });
    for field in ["uid", "annotations", "managedFields"] {
        if let Some(value) = step.get(field) {
            object::set_metadata(&mut thing, field, value.clone());
        }
    }
    if !spec.is_null() {
        thing["spec"] = spec.clone();
    }
    if let Some(status) = step.get("status") {
        thing["status"] = status.clone();
    }
    thing
}

fn schema(case: &Value, field: &str) -> (Schemas, SchemaId) {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "object", "additionalProperties": text });
    openapi::load(&json!({
        "type": "object",
        "properties": {
            "apiVersion": text, "kind": text, "spec": case[field], "status": texts,
            "metadata": { "type": "object", "properties": { "name": text, "uid": text, "annotations": texts } },
        },
        "always": case["always"],
    }))
}

fn owners(object: &Value, with_times: bool) -> Value {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let line = |entry: &Value| {
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        let one = Ownership::decode(Some(&json!([entry]))).unwrap();
        let paths: Vec<_> = one.owners.values().flat_map(|owned| owned.set.paths()).map(|path| path.to_string()).collect();
        let mut line = format!("{} {}", text("manager"), text("operation"));
        if !text("subresource").is_empty() {
            line += &format!(" of {}", text("subresource"));
        }
        if text("apiVersion") != "apps/v1" {
            line += &format!(" in {}", text("apiVersion"));
        }
        if with_times {
            line += &format!(" at {}", entry.get("time").and_then(Value::as_str).unwrap_or("no time"));
        }
        json!({ line: paths })
    };
    entries.map(line).collect()
}

fn compact(value: &Value, indent: usize) -> String {
    let line = value.to_string();
    if line.len() + indent < 120 && (indent > 2 || !value.is_array()) {
        return line;
    }
    let (space, end) = (" ".repeat(indent + 2), " ".repeat(indent));
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| format!("{space}{}", compact(item, indent + 2))).collect();
            format!("[\n{}\n{end}]", items.join(",\n"))
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{space}{}: {}", json!(name), compact(value, indent + 2)));
            format!("{{\n{}\n{end}}}", fields.collect::<Vec<_>>().join(",\n"))
        }
        _ => line,
    }
}
