//! Compares this server with recorded answers of a real API server to definitions and objects.

use std::collections::BTreeMap;

use jiff::Timestamp;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::object;

mod laws;

#[derive(Deserialize)]
struct DefinitionCase {
    name: String,
    definition: Value,
    causes: Vec<(String, String)>,
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Recorded {
    definitions: BTreeMap<String, Value>,
    cases: Vec<ObjectCase>,
}

#[derive(Deserialize)]
struct ObjectCase {
    resource: String,
    object: Value,
    strict: bool,
    subresource: String,
    old: Option<Value>,
    outcome: Outcome,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Outcome {
    code: u16,
    #[serde(default)]
    causes: Vec<(String, String)>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    object: Value,
    warnings: Vec<String>,
}

/// The causes, sorted, because the server iterates over maps in random order.
fn causes(errors: &[FieldError]) -> Vec<(String, String)> {
    let split = |error: &FieldError| {
        let text = error.to_string();
        (error.field.clone(), text[error.field.len() + 2..].to_owned())
    };
    let mut causes: Vec<_> = errors.iter().map(split).collect();
    causes.sort();
    causes.dedup();
    causes
}

fn sorted(mut causes: Vec<(String, String)>) -> Vec<(String, String)> {
    causes.sort();
    causes.dedup();
    causes
}

pub(super) fn established(definition: &Value) -> Value {
    let mut definition = definition.clone();
    definition::default(&mut definition);
    definition::prepare_for_create(&mut definition);
    let wrong = definition::validate(&definition);
    assert_eq!(causes(&wrong), []);
    definition["status"] = settle(&definition, std::iter::empty(), Timestamp::UNIX_EPOCH).unwrap();
    definition
}

pub(super) fn only_kind(definition: &Value) -> Kind {
    kinds(&established(definition)).into_iter().next().unwrap()
}

#[test]
fn definitions_are_refused_as_the_api_server_refuses_them() {
    let cases: Vec<DefinitionCase> = serde_json::from_str(include_str!("tests/definitions.json")).unwrap();
    // The root of a schema is shown as a Go value, and some errors have Go's words or a place
    // in an expression.
    let place = Regex::new(r"ERROR: <input>:\d+:\d+: ([^\n]*)(\n [^\n]*)*").unwrap();
    let words = |text: &str| match text.split_once("but isn't: ") {
        _ if text.contains("at the root of the schema") => String::new(),
        Some((before, _)) => before.to_owned(),
        None => place.replace(text, "$1").into_owned(),
    };
    let comparable = |causes: &[(String, String)]| -> Vec<(String, String)> {
        causes.iter().map(|(field, text)| (field.clone(), words(text))).collect()
    };
    let mut failed = Vec::new();
    for case in &cases {
        let mut definition = case.definition.clone();
        definition::default(&mut definition);
        definition::prepare_for_create(&mut definition);
        let found = causes(&definition::validate(&definition));
        let expected = sorted(case.causes.clone());
        if comparable(&found) != comparable(&expected) {
            failed.push(format!("{}:\n  expected {expected:#?}\n  found {found:#?}", case.name));
        }
        let warnings = if found.is_empty() { definition::warnings(&definition, None) } else { Vec::new() };
        if warnings != case.warnings {
            failed.push(format!("{}: expected {:?}, found {warnings:?}", case.name, case.warnings));
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

fn write(case: &ObjectCase, kind: &Kind) -> Outcome {
    let failure = |code, message: String, errors: &[FieldError], warnings| {
        let causes = causes(errors);
        Outcome { code, causes, message, object: Value::Null, warnings }
    };
    let mut object = case.object.clone();
    let validation = if case.strict { FieldValidation::Strict } else { FieldValidation::Warn };
    let warnings = match kind.decode(&mut object, validation) {
        Ok(warnings) => warnings,
        Err(status) => return failure(status.code.as_u16(), status.message, &[], Vec::new()),
    };
    kind.default(&mut object);
    let subresource = (case.subresource == "/status").then_some(Subresource::Status);
    let errors = match &case.old {
        None => {
            kind.prepare_for_create(&mut object);
            kind.validate(&object)
        }
        Some(old) => {
            kind.prepare_for_update(subresource, &mut object, old);
            kind.validate_update(subresource, &object, old)
        }
    };
    if errors.is_empty() {
        object::remove_metadata(&mut object, "creationTimestamp");
        let code = if case.old.is_some() { 200 } else { 201 };
        return Outcome { code, causes: Vec::new(), message: String::new(), object, warnings };
    }
    failure(422, String::new(), &errors, warnings)
}

#[test]
fn objects_are_treated_as_the_api_server_treats_them() {
    let recorded: Recorded = serde_json::from_str(include_str!("tests/objects.json")).unwrap();
    let kinds: BTreeMap<&String, Kind> =
        recorded.definitions.iter().map(|(name, definition)| (name, only_kind(definition))).collect();
    let mut failed = Vec::new();
    for case in &recorded.cases {
        let mut found = write(case, &kinds[&case.resource]);
        let expected = &case.outcome;
        if found.code == 422 && expected.code == 422 {
            found.warnings.clone_from(&expected.warnings);
        }
        // The real server also warns about failures that ratcheting ignores.
        let warnings: Vec<&String> = expected.warnings.iter().filter(|warning| !warning.contains("Invalid value")).collect();
        let same = found.code == expected.code
            && found.causes == sorted(expected.causes.clone())
            && (found.message == expected.message || expected.message.contains("json: cannot unmarshal "))
            && found.object == expected.object
            && found.warnings.iter().collect::<Vec<_>>() == warnings;
        if !same {
            let before = case.old.as_ref().map(|old| &old["spec"]);
            failed.push(format!(
                "{} {} <- {before:?}:\n  expected {expected:?}\n  found    {found:?}",
                case.resource, case.object
            ));
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), recorded.cases.len(), failed.join("\n"));
}

#[test]
fn the_status_of_a_definition_is_settled_at_once_and_then_stays() {
    let recorded: Recorded = serde_json::from_str(include_str!("tests/objects.json")).unwrap();
    let definition = established(&recorded.definitions["checks"]);
    let since = "1970-01-01T00:00:00Z";
    assert_eq!(
        definition["status"],
        json!({
            "conditions": [
                { "type": "NamesAccepted", "status": "True", "lastTransitionTime": since, "reason": "NoConflicts", "message": "no conflicts found" },
                { "type": "Established", "status": "True", "lastTransitionTime": since, "reason": "InitialNamesAccepted", "message": "the initial names have been accepted" },
            ],
            "acceptedNames": { "plural": "checks", "singular": "check", "kind": "Check", "listKind": "CheckList" },
            "storedVersions": ["v1"],
        })
    );
    assert_eq!(settle(&definition, std::iter::empty(), Timestamp::MAX), None);
}

#[test]
fn the_definitions_of_this_project_are_served() {
    for crd in [include_str!("../../../../plugins/echo/crd.json"), include_str!("../../../../plugins/scheduled-echo/crd.json")]
    {
        let definition: Value = serde_json::from_str(crd).unwrap();
        let kind = only_kind(&definition);
        assert!(kind.has(Subresource::Status));
        assert_eq!(kind.discovery["resource"], kind.resource.plural.as_ref());
        assert_eq!(kind.discovery["subresources"][0]["subresource"], "status");
        assert!(kind.schema.root().property("spec").is_some());
        let mut object = json!({ "apiVersion": kind.api_version(), "kind": &*kind.kind, "metadata": { "name": "a" }, "spec": { "unknown": 1 } });
        assert_eq!(kind.decode(&mut object, FieldValidation::Warn).unwrap(), ["unknown field \"spec.unknown\""]);
        kind.default(&mut object);
        assert!(causes(&kind.validate(&object)).iter().all(|(_, message)| message == "Required value"));
    }
}

#[test]
fn names_that_are_taken_are_not_accepted() {
    let recorded: Recorded = serde_json::from_str(include_str!("tests/objects.json")).unwrap();
    let first = established(&recorded.definitions["checks"]);
    let mut second = recorded.definitions["rules"].clone();
    second["spec"]["names"] = json!({ "plural": "rules", "singular": "check", "kind": "Check", "listKind": "CheckList", "shortNames": ["checks", "r"] });
    definition::default(&mut second);
    definition::prepare_for_create(&mut second);
    second["status"] = settle(&second, [&first].into_iter(), Timestamp::UNIX_EPOCH).unwrap();
    let condition = |index: usize| {
        (second["status"]["conditions"][index]["reason"].clone(), second["status"]["conditions"][index]["message"].clone())
    };
    assert_eq!(condition(0), (json!("ListKindConflict"), json!("\"CheckList\" is already in use")));
    assert_eq!(condition(1), (json!("NotAccepted"), json!("not all names are accepted")));
    assert_eq!(second["status"]["acceptedNames"], json!({ "plural": "rules", "kind": "" }));
    assert!(kinds(&second).is_empty());
    second["status"] = settle(&second, std::iter::empty(), Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(kinds(&second).len(), 1);
}
