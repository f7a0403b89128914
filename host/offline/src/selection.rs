//! Selects the objects that programs reconcile, and says why not the others.

use std::borrow::Cow;

use gyre_core::grants::Namespaces;
use gyre_core::groups::{Group, Members};
use gyre_core::plan::{DIGEST_ANNOTATION, PLUGIN_LABEL};
use gyre_core::text::list;
use gyre_engine::program::Program;
use serde_json::Value;

use crate::plan::Subject;

const MOST_SHOWN: usize = 10;

pub(crate) fn selects(program: &Program, object: &Value) -> bool {
    program.reconciles(object) && is_within(program, object) && is_selected(program, object) && is_grouped(program, object)
}

/// Returns whether an object of the kinds of a program's parents is one of them: not a child, in a
/// group if the plugin groups them, or its own group.
pub(crate) fn is_parent(program: &Program, object: &Value) -> bool {
    if program.reconciles(object) {
        return !is_child(program, object) && is_grouped(program, object);
    }
    let manifest = program.manifest();
    manifest.members.is_some() && Group::of_object(&manifest.name, object).is_some()
}

/// Returns whether an object is in a group, if the plugin groups its parents.
fn is_grouped(program: &Program, object: &Value) -> bool {
    let manifest = program.manifest();
    let group = |members: &Members| Group::of_member(&manifest.name, &members.grouping, object);
    manifest.members.as_ref().is_none_or(|members| group(members).is_some())
}

fn is_within(program: &Program, object: &Value) -> bool {
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    match &program.namespaces {
        Namespaces::All => true,
        Namespaces::Only(names) => namespace.is_some_and(|namespace| names.contains(namespace)),
    }
}

/// Returns whether an object is a child of a plugin, and where its mount is.
pub(crate) fn is_child_of(programs: &[Program], object: &Value) -> bool {
    let plugin = label(object, PLUGIN_LABEL);
    programs.iter().any(|program| plugin == Some(program.manifest().name.as_str()) && is_within(program, object))
}

fn is_selected(program: &Program, object: &Value) -> bool {
    program.selector.matches(|name| label(object, name).map(Cow::Borrowed)) && !is_child(program, object)
}

/// Returns whether an object is of the parent kind of a program, but a child of its plugin.
pub fn is_child(program: &Program, object: &Value) -> bool {
    let has_digest = || object.pointer("/metadata/annotations").is_some_and(|all| all.get(DIGEST_ANNOTATION).is_some());
    program.reconciles(object) && program.manifest().is_child(label(object, PLUGIN_LABEL), has_digest)
}

fn label<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.pointer("/metadata/labels")?.get(name)?.as_str()
}

/// The objects of reconciled kinds that no program reconciles.
pub fn unselected<'a>(programs: &[Program], objects: impl IntoIterator<Item = &'a Value>) -> Vec<&'a Value> {
    let is_selected = |object: &Value| programs.iter().any(|program| selects(program, object));
    let is_of_a_kind = |object: &Value| programs.iter().any(|program| program.reconciles(object));
    let mut unselected: Vec<&Value> = Vec::new();
    for object in objects.into_iter().filter(|object| is_of_a_kind(object) && !is_selected(object)) {
        if !unselected.iter().any(|other| Subject::of(other) == Subject::of(object)) {
            unselected.push(object);
        }
    }
    unselected
}

/// A sentence about each of the first objects, and one about the rest.
pub fn why(programs: &[Program], unselected: &[&Value]) -> Vec<String> {
    let shown = unselected.iter().take(MOST_SHOWN);
    let mut sentences: Vec<String> = shown.map(|object| why_one(programs, object)).collect();
    if unselected.len() > MOST_SHOWN {
        sentences.push(format!("{} more are not reconciled either", unselected.len() - MOST_SHOWN));
    }
    sentences
}

fn why_one(programs: &[Program], object: &Value) -> String {
    let subject = Subject::of(object);
    let of_its_kind: Vec<&Program> = programs.iter().filter(|program| program.reconciles(object)).collect();
    let reason = match (of_its_kind.as_slice(), &subject.namespace) {
        ([one], _) if is_child(one, object) => format!("it is a child of the plugin {}", one.manifest().name),
        ([one], _) if !is_grouped(one, object) => {
            format!("it has no value by which {} groups its parents", one.manifest().name)
        }
        ([one], _) if is_within(one, object) => "the mount's selector does not select it".to_owned(),
        ([one], Some(_)) => match &one.namespaces {
            Namespaces::Only(names) if names.len() == 1 => format!("the mount watches only the namespace {}", list(names)),
            Namespaces::Only(names) => format!("the mount watches only the namespaces {}", list(names)),
            Namespaces::All => "the mount does not select it".to_owned(),
        },
        ([_], None) => "it has no namespace, and the mount watches only some namespaces".to_owned(),
        _ => "no mount selects its namespace and labels".to_owned(),
    };
    format!("{subject} is not reconciled: {reason}")
}
