use serde_json::{Value, json};

use super::*;
use crate::kinds::Scope;
use crate::test_kinds;

/// The answers of a real API server for these objects.
const BUILTIN: &str = include_str!("tests/builtin.json");
const CUSTOM: &str = include_str!("tests/custom.json");

fn cases(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn now(case: &Value) -> Timestamp {
    case["now"].as_str().unwrap().parse().unwrap()
}

/// Compares ages that may differ by a second, because answers are dated to the second.
fn same_but_for_a_second(ours: &Value, theirs: &Value, case: &Value) {
    if ours == theirs {
        return;
    }
    let second = |value: &Value| value.as_str().and_then(|text| text.strip_suffix('s')?.parse::<i64>().ok());
    match (second(ours), second(theirs)) {
        (Some(ours), Some(theirs)) if (ours - theirs).abs() <= 1 => {}
        _ => panic!("{ours} is not {theirs} in {case}"),
    }
}

#[test]
fn rows_of_builtin_kinds_are_those_of_the_real_server() {
    let cases = cases(BUILTIN);
    for case in cases.as_array().unwrap() {
        let text = |field: &str| case[field].as_str().unwrap();
        let kind = test_kinds::builtin(text("group"), text("version"), text("plural"), text("kind"), Scope::Namespaced);
        let object = &case["object"];
        let table = render(&kind, &object["metadata"], &[object], IncludeObject::Object, Headings::Shown, now(case));
        let row = &table["rows"][0];
        let (ours, theirs) = (row["cells"].as_array().unwrap(), case["cells"].as_array().unwrap());
        assert_eq!(ours.len(), theirs.len(), "{row} {case}");
        for (ours, theirs) in ours.iter().zip(theirs) {
            same_but_for_a_second(ours, theirs, case);
        }
        assert_eq!(row["conditions"], case["conditions"], "{case}");
        assert_eq!(&row["object"], object);
        assert_eq!(table["columnDefinitions"].as_array().unwrap().len(), theirs.len(), "{case}");
        assert_eq!(table["metadata"]["resourceVersion"], object["metadata"]["resourceVersion"]);
    }
}

#[test]
fn rows_of_custom_kinds_are_those_of_the_real_server() {
    let case = cases(CUSTOM);
    let text = |column: &Value, field: &str| column[field].as_str().unwrap_or_default().to_owned();
    let columns: Vec<Column> = case["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| Column {
            name: text(column, "name"),
            kind: text(column, "type"),
            format: text(column, "format"),
            description: text(column, "description"),
            priority: column["priority"].as_i64().unwrap_or_default(),
            json_path: text(column, "jsonPath"),
        })
        .collect();
    let headings = custom::headings(&columns, headings::name());
    assert_eq!(headings.as_array().unwrap()[1..], *case["columnDefinitions"].as_array().unwrap());
    for row in case["rows"].as_array().unwrap() {
        let ours = custom::Cells::new(&columns, now(row)).of(&row["object"]);
        for (ours, theirs) in ours.iter().zip(row["cells"].as_array().unwrap()) {
            same_but_for_a_second(ours, theirs, row);
        }
    }
}

#[test]
fn tables_omit_what_is_not_asked_for() {
    let kind = test_kinds::builtin("", "v1", "configmaps", "ConfigMap", Scope::Namespaced);
    let object = json!({ "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "x": "y" } });
    let now = Timestamp::UNIX_EPOCH;
    let list = json!({ "resourceVersion": "7", "continue": "c", "remainingItemCount": 3, "selfLink": "x" });
    let table = |include, headings| render(&kind, &list, &[&object], include, headings, now);

    assert_eq!(
        table(IncludeObject::None, Headings::Omitted),
        json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1",
            "metadata": { "resourceVersion": "7", "continue": "c", "remainingItemCount": 3 },
            "columnDefinitions": null,
            "rows": [{ "cells": ["a", 1, "<unknown>"], "object": null }],
        })
    );
    let table = table(IncludeObject::Metadata, Headings::Shown);
    let partial = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": { "name": "a" } });
    assert_eq!(table["rows"][0]["object"], partial);
    assert_eq!(table["columnDefinitions"][1]["name"], "Data");
}

#[test]
fn kinds_without_a_printer_show_name_and_creation() {
    let kind = test_kinds::builtin("rbac.authorization.k8s.io", "v1", "roles", "Role", Scope::Namespaced);
    let object = json!({ "metadata": { "name": "a", "creationTimestamp": "2026-01-01T00:00:00Z" } });
    let table =
        |objects: &[&Value]| render(&kind, &json!({}), objects, IncludeObject::None, Headings::Shown, Timestamp::UNIX_EPOCH);
    assert_eq!(table(&[&object])["rows"][0]["cells"], json!(["a", "2026-01-01T00:00:00Z"]));
    assert_eq!(table(&[&object])["columnDefinitions"][1]["name"], "Created At");
    assert_eq!(table(&[])["rows"], Value::Null);
}

#[test]
fn every_printer_copes_with_an_empty_object() {
    for case in cases(BUILTIN).as_array().unwrap() {
        let text = |field: &str| case[field].as_str().unwrap();
        let kind = test_kinds::builtin(text("group"), text("version"), text("plural"), text("kind"), Scope::Namespaced);
        for object in [json!(null), json!({}), json!({ "spec": [], "status": "x", "metadata": 3 })] {
            render(&kind, &json!({}), &[&object], IncludeObject::Metadata, Headings::Shown, Timestamp::UNIX_EPOCH);
        }
    }
}
