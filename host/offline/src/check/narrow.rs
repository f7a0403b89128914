//! Leaves out objects that an experiment does not need, because every parent costs calls.
//!
//! A parent outside the focus is left out, with its children, if no plugin reads its kind or
//! creates objects of it: then no call depends on it. The run without changes has all objects.

use serde_json::Value;

use super::setup::{CheckSetup, OWNER_UID, is_named};
use crate::plan::Subject;

#[derive(Clone, Copy)]
pub(super) enum Focus<'a> {
    All,
    One(&'a Subject),
    /// Parents that the experiment itself creates.
    Others,
}

impl CheckSetup {
    pub(super) fn narrowed(&self, focus: Focus<'_>) -> Self {
        let objects = needed(&self.objects, focus, |object| self.is_unread_parent(object));
        let objects = objects.unwrap_or_else(|| self.objects.clone());
        let (programs, other_builds) = (self.programs.clone(), self.other_builds.clone());
        Self { objects, programs, other_builds, start: self.start, at_most_one: self.at_most_one.clone() }
    }

    fn is_unread_parent(&self, object: &Value) -> bool {
        let Some(program) = self.program_of(object) else { return false };
        let parent = program.manifest().users_kind();
        let manifests = || self.programs.iter().map(|program| program.manifest());
        let mut known = manifests().flat_map(|manifest| {
            manifest.reads.iter().map(|read| &read.kind).chain(manifest.children.iter().map(|child| &child.kind))
        });
        !known.any(|kind| kind.is_same(parent))
    }
}

/// The objects without parents out of focus and their children; `None` if all are needed.
fn needed(
    objects: &[(String, Value)],
    focus: Focus<'_>,
    is_unread_parent: impl Fn(&Value) -> bool,
) -> Option<Vec<(String, Value)>> {
    let is_of_focus = |object: &Value| match focus {
        Focus::All => true,
        Focus::One(parent) => is_named(object, parent),
        Focus::Others => false,
    };
    let is_out = |object: &Value| has_name(object) && !is_of_focus(object) && is_unread_parent(object);
    let (mut out, mut kept): (Vec<_>, Vec<_>) = objects.iter().partition(|(_, object)| is_out(object));
    if out.is_empty() {
        return None;
    }
    loop {
        let is_theirs = |object: &Value| !is_of_focus(object) && owners(object, &out) == Owners::Out;
        let (gone, left): (Vec<_>, Vec<_>) = kept.into_iter().partition(|(_, object)| is_theirs(object));
        kept = left;
        if gone.is_empty() {
            break;
        }
        out.extend(gone);
    }
    // An object that also has other owners needs all of them.
    let is_mixed = kept.iter().any(|(_, object)| owners(object, &out) != Owners::Others);
    (!is_mixed).then(|| kept.into_iter().cloned().collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owners {
    /// None of the objects that are left out.
    Others,
    /// Some of the objects that are left out, and others.
    Mixed,
    /// Only objects that are left out.
    Out,
}

fn owners(object: &Value, out: &[&(String, Value)]) -> Owners {
    let is_there = |owner: &Value| out.iter().any(|(_, other)| is_owner(owner, other, object));
    let references =
        object.pointer("/metadata/ownerReferences").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of_references = references.iter().filter(|owner| is_there(owner)).count();
    let label = object.pointer(OWNER_UID);
    let is_by_label = label.is_some_and(|uid| out.iter().any(|(_, other)| other.pointer("/metadata/uid") == Some(uid)));
    match of_references {
        0 if is_by_label && references.is_empty() => Owners::Out,
        0 if is_by_label => Owners::Mixed,
        0 => Owners::Others,
        count if count == references.len() => Owners::Out,
        _ => Owners::Mixed,
    }
}

/// Returns whether an owner reference names this object. An object without a namespace may be
/// cluster-scoped, or in the namespace `default`.
fn is_owner(reference: &Value, object: &Value, of: &Value) -> bool {
    let [subject, owned] = [Subject::of(object), Subject::of(of)];
    let is = |field: &str, text: &str| reference.get(field).is_some_and(|value| value == text);
    let is_beside = match (subject.namespace.as_deref(), owned.namespace.as_deref()) {
        (None, _) => true,
        (namespace, owned) => namespace == Some(owned.unwrap_or("default")),
    };
    is("kind", &subject.kind) && is("name", &subject.name) && is_beside
}

fn has_name(object: &Value) -> bool {
    object.pointer("/metadata/name").is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: &str, name: &str, owners: &[&str]) -> Value {
        let owners: Vec<Value> = owners
            .iter()
            .map(|owner| owner.split_once('/').unwrap())
            .map(|(kind, name)| json!({ "kind": kind, "name": name }))
            .collect();
        let mut metadata = json!({ "name": name });
        if !owners.is_empty() {
            metadata["ownerReferences"] = Value::from(owners);
        }
        json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata })
    }

    fn left(objects: &[Value]) -> Option<Vec<String>> {
        let it = Subject::of(&object("Parent", "it", &[]));
        let objects: Vec<(String, Value)> = objects.iter().map(|object| (String::new(), object.clone())).collect();
        let left = needed(&objects, Focus::One(&it), |object| object["kind"] == "Parent")?;
        Some(left.iter().map(|(_, object)| Subject::of(object).to_string()).collect())
    }

    #[test]
    fn other_parents_and_what_they_own_are_left_out() {
        let [it, other] = ["it", "other"].map(|name| object("Parent", name, &[]));
        let [own, theirs] = ["it", "other"].map(|name| object("Job", name, &[&format!("Parent/{name}")]));
        let pod = object("Pod", "other", &["Job/other"]);
        let read = object("Secret", "read", &[]);
        assert_eq!(
            left(&[pod, theirs, other, it.clone(), own.clone(), read.clone()]).unwrap(),
            ["Parent it", "Job it", "Secret read"]
        );
        assert_eq!(left(&[it, own, read]), None, "nobody is left out");
    }

    #[test]
    fn children_of_others_are_known_by_their_label_and_in_their_namespace() {
        let it = object("Parent", "it", &[]);
        let mut other = object("Parent", "other", &[]);
        other["metadata"]["uid"] = json!("1");
        let mut labelled = object("Role", "labelled", &[]);
        labelled["metadata"]["labels"] = json!({ "gyre.dev/owner-uid": "1" });
        let mut elsewhere = object("Parent", "it", &[]);
        elsewhere["metadata"]["namespace"] = json!("elsewhere");
        let mut theirs = object("Job", "theirs", &["Parent/it"]);
        theirs["metadata"]["namespace"] = json!("elsewhere");
        let own = object("Job", "own", &["Parent/it"]);
        let mut unnamed = object("Parent", "", &[]);
        unnamed["metadata"] = json!({ "generateName": "it-" });
        assert_eq!(left(&[it, other, labelled, elsewhere, theirs, own, unnamed]).unwrap(), ["Parent it", "Job own", "Parent "]);
    }

    #[test]
    fn nothing_is_left_out_if_an_object_has_owners_in_and_out_of_focus() {
        let [it, other] = ["it", "other"].map(|name| object("Parent", name, &[]));
        let shared = object("ConfigMap", "shared", &["Parent/it", "Parent/other"]);
        assert_eq!(left(&[it, other.clone(), shared]), None);
        let owned = object("Parent", "it", &["Parent/other"]);
        assert_eq!(left(&[owned, other]), None);
    }
}
