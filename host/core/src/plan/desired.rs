//! Checks, normalises and marks what the plugin returned.

use std::collections::{BTreeSet, HashMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::digest::digest_of;
use super::listed::{ChildList, LARGEST_LIST, LIST_ANNOTATION_PREFIX};
use super::ownership::{Ownership, has_controller_reference, ownership};
use super::refusals::{Refusal, RefusalReason};
use super::step::Desired;
use super::{DIGEST_ANNOTATION, Input, OUTLIVES_ANNOTATION, OWNER_UID_LABEL, PLUGIN_LABEL, cannot_refer, is_owned, outlives};
use crate::contains::{RepeatedElement, first_repeated_element};
use crate::generated::{GENERATED_ANNOTATION, MOST_VALUES, PLACEHOLDER_PREFIX, Requests};
use crate::grants::{Outside, Scope, WriteNamespaces};
use crate::manifest::{ChildKind, Propagation, Strategy};
use crate::names::{is_dns_label, is_object_name};
use crate::object::{GroupVersionKind, ObjectKey, ObjectRef};
use crate::response::{Child, DesiredChild};

/// Names an object by group, kind, namespace and name: it is the same in all versions.
pub(super) type Identity = (String, String, Option<String>, String);

pub(super) fn identity(kind: &GroupVersionKind, namespace: Option<&str>, name: &str) -> Identity {
    (kind.group.clone(), kind.kind.clone(), namespace.map(str::to_owned), name.to_owned())
}

pub(super) struct Target {
    pub(super) desired: Desired,
    pub(super) propagation: Propagation,
}

#[derive(Default)]
pub(super) struct DesiredSet {
    pub(super) targets: Vec<Target>,
    pub(super) refusals: Vec<Refusal>,
    retained: HashSet<Identity>,
    unnamed: Unnamed,
    listed: ChildList,
    own_namespaces: BTreeSet<String>,
    /// The number of generated values.
    values: usize,
}

/// Children without a name. Objects that could be them are not pruned.
#[derive(Default)]
struct Unnamed {
    kinds: BTreeSet<(String, String)>,
    any: bool,
}

impl DesiredSet {
    pub(super) fn new(input: &Input<'_>, children: &[Child]) -> Self {
        // An entry stays on the list until the API server says that the child is gone.
        let (listed, own_namespaces) = (input.parent.children.clone(), own_namespaces(input, children));
        let mut wanted = Self { listed, own_namespaces, ..Self::default() };
        let mut seen = HashMap::with_capacity(children.len());
        for child in children {
            match child {
                Child::Apply(child) => wanted.apply_child(input, child, &mut seen),
                Child::Keep(reference) => wanted.keep_child(input, reference, &mut seen),
            }
        }
        wanted
    }

    pub(super) fn retains(&self, kind: &GroupVersionKind, key: &ObjectKey) -> bool {
        self.unnamed.any
            || self.unnamed.kinds.contains(&(kind.group.clone(), kind.kind.clone()))
            || self.retained.contains(&identity(kind, key.namespace.as_deref(), &key.name))
    }

    fn apply_child(&mut self, input: &Input<'_>, child: &DesiredChild, seen: &mut HashMap<Identity, Seen>) {
        let DesiredChild { object, strategy } = child;
        let refusal = match kind_of(object) {
            Err(message) => {
                self.unnamed.any = true;
                invalid(None, message)
            }
            Ok(kind) => match self.locate(input, &kind, object).and_then(|(child, scope)| {
                first_of_its_name(&child, Seen::Applied, seen)?;
                let target = target(input, child, scope, object, *strategy)?;
                self.add_values(&target.desired)?;
                self.add_to_list(input, &target.desired.child)?;
                Ok(target)
            }) {
                Ok(target) => return self.targets.push(target),
                Err(refusal) => refusal,
            },
        };
        self.refusals.push(*refusal);
    }

    fn add_values(&mut self, desired: &Desired) -> Result<(), Box<Refusal>> {
        let values = self.values + desired.generated.len();
        if values <= MOST_VALUES {
            self.values = values;
            return Ok(());
        }
        let child = &desired.child;
        let message = format!(
            "{child} asks for generated values, which would be {values} with those of the Secrets before it, and the limit of a parent is {MOST_VALUES}: ask for fewer"
        );
        Err(invalid(Some(child.clone()), message))
    }

    fn add_to_list(&mut self, input: &Input<'_>, child: &ObjectRef) -> Result<(), Box<Refusal>> {
        if !cannot_refer(input, &child.key) || self.listed.insert_within_bounds(&child.kind, &child.key) {
            return Ok(());
        }
        let message = format!(
            "{child} cannot be added to the list of children outside of the parent's namespace, which an annotation of the parent holds: the list would exceed {LARGEST_LIST} bytes; return fewer of these children, or split the parent"
        );
        Err(Box::new(Refusal { child: Some(child.clone()), reason: RefusalReason::ChildListFull, message }))
    }

    /// Keeps an object. This writes nothing, so it needs neither a declared kind nor a grant.
    fn keep_child(&mut self, input: &Input<'_>, reference: &ObjectRef, seen: &mut HashMap<Identity, Seen>) {
        let ObjectRef { kind, key } = reference;
        if key.name.is_empty() {
            self.unname(kind);
            let message = format!("a {kind} to keep has no name: give it one");
            return self.refusals.push(*invalid(None, message));
        }
        self.retain(input, kind, key.namespace.as_deref(), &key.name);
        let namespace = match input.scopes.get(kind) {
            Some(Scope::Cluster) => None,
            _ => key.namespace.clone().or_else(|| input.parent.key.namespace.clone()),
        };
        let child = ObjectRef { kind: kind.clone(), key: ObjectKey { namespace, name: key.name.clone() } };
        if let Err(refusal) = first_of_its_name(&child, Seen::Kept, seen) {
            self.refusals.push(*refusal);
        }
    }

    /// Retains both meanings of a name: with and without a namespace.
    fn retain(&mut self, input: &Input<'_>, kind: &GroupVersionKind, namespace: Option<&str>, name: &str) {
        self.retained.insert(identity(kind, None, name));
        match namespace.or(input.parent.key.namespace.as_deref()) {
            Some(namespace) => {
                self.retained.insert(identity(kind, Some(namespace), name));
            }
            None if input.scopes.get(kind) == Some(&Scope::Cluster) => {}
            // The parent has no namespace to default to, so it could be in any.
            None => self.unname(kind),
        }
    }

    fn unname(&mut self, kind: &GroupVersionKind) {
        self.unnamed.kinds.insert((kind.group.clone(), kind.kind.clone()));
    }

    /// Retains the object even if it may not be written.
    fn locate(
        &mut self,
        input: &Input<'_>,
        kind: &GroupVersionKind,
        object: &Map<String, Value>,
    ) -> Result<(ObjectRef, Scope), Box<Refusal>> {
        let named = match name_of(kind, object) {
            Ok((namespace, name)) => {
                self.retain(input, kind, namespace, name);
                Ok((namespace, name))
            }
            Err(message) => {
                self.unname(kind);
                Err(invalid(None, message))
            }
        };
        let child_as_named = named.as_ref().ok().map(|(namespace, name)| ObjectRef {
            kind: kind.clone(),
            key: ObjectKey::new(namespace.or(input.parent.key.namespace.as_deref()), *name),
        });
        let scope =
            scope_of(input, kind).map_err(|(reason, message)| Box::new(Refusal { child: child_as_named, reason, message }))?;
        let (namespace, name) = named?;
        let namespace = match scope {
            // As kubectl does, the namespace of a cluster-scoped object is ignored.
            Scope::Cluster => None,
            Scope::Namespaced => Some(namespace.or(input.parent.key.namespace.as_deref()).ok_or_else(|| {
                let message = format!(
                    "the {kind} {name:?} has no namespace, and its parent has none that it could default to: set metadata.namespace"
                );
                invalid(None, message)
            })?),
        };
        let child = ObjectRef { kind: kind.clone(), key: ObjectKey::new(namespace, name) };
        if is_parent(input, &child) {
            let message = format!("{child} is the parent itself: return only other objects as children");
            return Err(invalid(Some(child), message));
        }
        let is_own = |name: &str| self.own_namespaces.contains(name);
        let Err(outside) = input.grants.check_namespace(input.parent.key.namespace.as_deref(), namespace, is_own) else {
            return Ok((child, scope));
        };
        let message = match outside {
            Outside::OfMount => not_in_mount(&child),
            Outside::OfWriteNamespaces => not_writable(&child, input.parent.key.namespace.as_deref()),
        };
        Err(Box::new(Refusal { child: Some(child), reason: RefusalReason::NamespaceNotGranted, message }))
    }
}

/// Returns whether a child is the parent itself. The kind of the parent may be among the children.
fn is_parent(input: &Input<'_>, child: &ObjectRef) -> bool {
    child.kind.is_same(&input.parent.kind) && child.key == input.parent.key
}

/// The namespaces that are children of a cluster-scoped parent, or will be. One that the plugin
/// only keeps may be anybody's.
fn own_namespaces(input: &Input<'_>, children: &[Child]) -> BTreeSet<String> {
    if input.parent.key.namespace.is_some() || *input.grants.write_namespaces() == WriteNamespaces::All {
        return BTreeSet::new();
    }
    let desired = children.iter().filter_map(|child| {
        let object = &child.applied()?.object;
        kind_of(object).ok().filter(|kind| kind.is_namespace() && input.grants.child(kind).is_some())?;
        object.get("metadata")?.get("name")?.as_str()
    });
    let owned = input.observed.iter().filter(|object| object.kind.is_namespace() && is_owned(input, object));
    desired.chain(owned.map(|object| object.key.name.as_str())).map(str::to_owned).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Applied,
    Kept,
}

/// Only keeping an object twice is no contradiction.
fn first_of_its_name(child: &ObjectRef, now: Seen, seen: &mut HashMap<Identity, Seen>) -> Result<(), Box<Refusal>> {
    let identity = identity(&child.kind, child.key.namespace.as_deref(), &child.key.name);
    let message = match seen.insert(identity.clone(), now) {
        None => return Ok(()),
        Some(Seen::Kept) if now == Seen::Kept => return Ok(()),
        Some(before) => {
            seen.insert(identity, before);
            format!("{child} is returned more than once, and only the first one counts: give each child a name of its own")
        }
    };
    Err(invalid(Some(child.clone()), message))
}

fn invalid(child: Option<ObjectRef>, message: String) -> Box<Refusal> {
    Box::new(Refusal { child, reason: RefusalReason::InvalidChild, message })
}

/// The refusal outside of the mount's key `grants.writeNamespaces`.
fn not_writable(child: &ObjectRef, parent_namespace: Option<&str>) -> String {
    let namespace = child.key.namespace.as_deref().unwrap_or_default();
    let where_it_is = match parent_namespace {
        Some(parent) => format!("another namespace than its parent, which is in {parent:?}"),
        None => "a namespace that is no child of its cluster-scoped parent".to_owned(),
    };
    format!("{child} is in {where_it_is}: add {namespace:?} to the mount's key grants.writeNamespaces")
}

/// The refusal outside of the mount's key `namespaces`.
pub(super) fn not_in_mount(child: &ObjectRef) -> String {
    match &child.key.namespace {
        Some(namespace) => format!(
            "{child} is in a namespace that the mount is not configured for: add {namespace:?} to the mount's key namespaces, or mount it for all namespaces"
        ),
        None => {
            format!("{child} has no namespace, and the mount may write only to some namespaces: mount it for all namespaces")
        }
    }
}

pub(super) fn kind_not_granted(kind: &GroupVersionKind) -> String {
    format!("the mount may not write {kind}: add it to the kinds that are granted")
}

fn scope_of(input: &Input<'_>, kind: &GroupVersionKind) -> Result<Scope, (RefusalReason, String)> {
    if !input.grants.declares(kind) {
        let message =
            format!("the manifest of {} does not declare {kind} as a child kind: declare it, in this version", input.plugin);
        return Err((RefusalReason::UndeclaredKind, message));
    }
    if !input.grants.allows_kind(kind) {
        return Err((RefusalReason::KindNotGranted, kind_not_granted(kind)));
    }
    input.scopes.get(kind).copied().ok_or_else(|| {
        let message = format!("the API server does not serve {kind}: install it, e.g. its CustomResourceDefinition");
        (RefusalReason::NotServed, message)
    })
}

pub(super) fn kind_of(object: &Map<String, Value>) -> Result<GroupVersionKind, String> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (text("apiVersion"), text("kind")) {
        (Some(api_version), Some(kind)) => Ok(GroupVersionKind::from_api_version(api_version, kind)),
        (None, Some(kind)) => Err(format!("a child of kind {kind:?} has no apiVersion: set it, e.g. to \"v1\"")),
        (_, None) => Err("a child has no kind: set its apiVersion and kind".to_owned()),
    }
}

fn name_of<'a>(kind: &GroupVersionKind, object: &'a Map<String, Value>) -> Result<(Option<&'a str>, &'a str), String> {
    let Some(metadata) = object.get("metadata").and_then(Value::as_object) else {
        return Err(format!("a {kind} has no metadata, or it is not an object: set metadata.name"));
    };
    let name = metadata.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()).ok_or_else(|| {
        format!("a {kind} has no metadata.name: give each child a fixed name, e.g. one that is derived from the parent's (generateName is not enough)")
    })?;
    if !is_object_name(&kind.group, name) {
        return Err(format!(
            "a {kind} cannot have the name {name:?}: use at most 253 lower-case letters, digits, '-' and '.', with a letter or digit at each end"
        ));
    }
    match metadata.get("namespace") {
        None | Some(Value::Null) => Ok((None, name)),
        Some(Value::String(namespace)) if namespace.is_empty() => Ok((None, name)),
        Some(Value::String(namespace)) if is_dns_label(namespace) => Ok((Some(namespace), name)),
        Some(namespace) => Err(format!(
            "the {kind} {name:?} cannot be in the namespace {namespace}: use at most 63 lower-case letters, digits and '-', with a letter or digit at each end"
        )),
    }
}

/// Fields that the API server sets. A plugin that changes an object it read returns them too.
const SERVER_FIELDS: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generateName",
    "generation",
    "managedFields",
    // With a reference of its own, a plugin could have the garbage collector delete other objects.
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

fn target(
    input: &Input<'_>,
    child: ObjectRef,
    scope: Scope,
    object: &Map<String, Value>,
    strategy: Option<Strategy>,
) -> Result<Target, Box<Refusal>> {
    let Some(child_kind) = input.grants.child(&child.kind) else {
        let message = kind_not_granted(&child.kind);
        return Err(Box::new(Refusal { child: Some(child), reason: RefusalReason::KindNotGranted, message }));
    };
    if child_kind.outlives_parent && !outlives(input, &child.kind, &child.key) {
        let message = format!(
            "{child} is of a kind that outlives the parent, and so has to be in the namespace of the parent: return it there, or do not declare outlives-parent"
        );
        return Err(invalid(Some(child), message));
    }
    let strategy = strategy.unwrap_or(child_kind.strategy);
    if !child_kind.allows(strategy) {
        let message = undeclared_strategy(&child, strategy, child_kind);
        return Err(Box::new(Refusal { child: Some(child), reason: RefusalReason::UndeclaredStrategy, message }));
    }
    let checked = normalised(&child, object).and_then(|object| match strategy {
        // It is never applied.
        Strategy::CreateOnly => Ok(object),
        Strategy::Apply | Strategy::Recreate => check_keys(&child, &object).map(|()| object),
    });
    let mut object = match checked {
        Ok(object) => object,
        Err(message) => return Err(invalid(Some(child), message)),
    };
    let digest = digest_of(&object);
    let generated = match requests(&child, strategy, &mut object) {
        Ok(generated) => generated,
        Err(message) => return Err(invalid(Some(child), message)),
    };
    mark(input, &child, scope, &digest, &mut object);
    let desired = Desired { child, object, digest, strategy, generated };
    Ok(Target { desired, propagation: child_kind.propagation })
}

/// The refusal of a replacement that the manifest does not announce: neither the deletion guard nor
/// the annotation against pruning holds it up.
fn undeclared_strategy(child: &ObjectRef, strategy: Strategy, child_kind: &ChildKind) -> String {
    let declared = child_kind.strongest();
    format!(
        "{child} names the strategy {}, and the manifest declares no stronger one than {} for its kind: declare it there, or name a weaker one",
        strategy.as_str(),
        declared.as_str()
    )
}

/// Takes the requests for values out of a Secret.
fn requests(child: &ObjectRef, strategy: Strategy, object: &mut Map<String, Value>) -> Result<Requests, String> {
    if !is_secret(&child.kind) {
        return Ok(Requests::default());
    }
    if let Some(key) = placeholder_in(object) {
        return Err(format!(
            "{child} has the placeholder of a generated value in data.{key}: the plugin cannot copy a value that it does not see; ask for the value with `generate`, or leave the field out"
        ));
    }
    if !Requests::are_in(object) {
        return Ok(Requests::default());
    }
    if strategy == Strategy::Recreate {
        return Err(format!(
            "{child} asks for generated values, which a deletion would lose: use another strategy than recreate for it"
        ));
    }
    Requests::take(object).map_err(|why| format!("{child}: {why}"))
}

/// Returns the key of a normalised Secret that has a placeholder for its value.
fn placeholder_in(secret: &Map<String, Value>) -> Option<&str> {
    let encoded = STANDARD.encode(PLACEHOLDER_PREFIX);
    let is_placeholder = |value: &Value| {
        let text = value.as_str();
        text.is_some_and(|text| text.starts_with(PLACEHOLDER_PREFIX) || text.starts_with(&encoded))
    };
    let (key, _) = secret.get("data")?.as_object()?.iter().find(|(_, value)| is_placeholder(value))?;
    Some(key)
}

fn is_secret(kind: &GroupVersionKind) -> bool {
    kind.group.is_empty() && kind.kind == "Secret"
}

fn normalised(child: &ObjectRef, object: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut object = object.clone();
    object.remove("status");
    object.insert("apiVersion".to_owned(), json!(child.kind.api_version()));
    object.insert("kind".to_owned(), json!(child.kind.kind));
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return Err(format!("{child} has no metadata, or it is not an object: set metadata.name"));
    };
    for field in SERVER_FIELDS {
        metadata.remove(*field);
    }
    metadata.insert("name".to_owned(), json!(child.key.name));
    match &child.key.namespace {
        Some(namespace) => metadata.insert("namespace".to_owned(), json!(namespace)),
        None => metadata.remove("namespace"),
    };
    for (field, ours) in [
        ("labels", &[PLUGIN_LABEL, OWNER_UID_LABEL][..]),
        ("annotations", &[DIGEST_ANNOTATION, GENERATED_ANNOTATION, OUTLIVES_ANNOTATION][..]),
    ] {
        let texts = match metadata.remove(field) {
            None | Some(Value::Null) => continue,
            Some(Value::Object(texts)) => texts,
            Some(_) => return Err(format!("{child} has metadata.{field} that are not an object: return an object of strings")),
        };
        if let Some((key, _)) = texts.iter().find(|(_, text)| !text.is_string()) {
            return Err(format!(
                "{child} has a value in metadata.{field} that is not a string, for {key:?}: write it in quotes"
            ));
        }
        let is_ours = |key: &str| ours.contains(&key) || key.starts_with(LIST_ANNOTATION_PREFIX);
        let texts: Map<String, Value> = texts.into_iter().filter(|(key, _)| !is_ours(key)).collect();
        if !texts.is_empty() {
            metadata.insert(field.to_owned(), Value::Object(texts));
        }
    }
    if is_secret(&child.kind) {
        store_string_data(child, &mut object)?;
    }
    Ok(object)
}

/// Checks what the API server would create, and could then not change: it refuses every apply.
fn check_keys(child: &ObjectRef, object: &Map<String, Value>) -> Result<(), String> {
    let Some(RepeatedElement { path, first, key }) = first_repeated_element(object) else { return Ok(()) };
    Err(format!(
        "{child} has two elements with the same key in a list: {path} has {key}, and so has element {first}: remove one"
    ))
}

/// Moves the texts of `stringData` into `data`, as the API server does. It is the only write-only
/// field of a built-in kind: the API server keeps no manager of it, so an apply without a key would
/// leave the key in the Secret.
fn store_string_data(child: &ObjectRef, object: &mut Map<String, Value>) -> Result<(), String> {
    let texts = match object.remove("stringData") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(texts)) => texts,
        Some(_) => return Err(format!("{child} has stringData that is not an object: return an object of strings")),
    };
    if texts.is_empty() {
        return Ok(());
    }
    if object.get("data").is_none_or(Value::is_null) {
        object.insert("data".to_owned(), json!({}));
    }
    let Some(Value::Object(data)) = object.get_mut("data") else {
        return Err(format!("{child} has data that is not an object: return an object of strings"));
    };
    for (key, text) in texts {
        match text {
            Value::String(text) => data.insert(key, Value::String(STANDARD.encode(text))),
            // As in every other map, a null is no entry.
            Value::Null => None,
            _ => {
                let what = "a value in stringData that is not a string";
                return Err(format!("{child} has {what}, for {key:?}: write it in quotes"));
            }
        };
    }
    Ok(())
}

fn mark(input: &Input<'_>, child: &ObjectRef, scope: Scope, digest: &str, object: &mut Map<String, Value>) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
    let mut set = |field: &str, key: &str, text: &str| {
        let texts = metadata.entry(field).or_insert_with(|| json!({}));
        if let Value::Object(texts) = texts {
            texts.insert(key.to_owned(), json!(text));
        }
    };
    set("labels", PLUGIN_LABEL, input.plugin);
    set("labels", OWNER_UID_LABEL, &input.parent.uid);
    set("annotations", DIGEST_ANNOTATION, digest);
    if outlives(input, &child.kind, &child.key) {
        return set("annotations", OUTLIVES_ANNOTATION, &input.parent.key.to_string());
    }
    let child_namespace = match scope {
        Scope::Cluster => None,
        Scope::Namespaced => child.key.namespace.as_deref(),
    };
    if ownership(input.parent.key.namespace.as_deref(), child_namespace) == Ownership::Reference {
        let mut reference = json!({
            "apiVersion": input.parent.kind.api_version(),
            "kind": input.parent.kind.kind,
            "name": input.parent.key.name,
            "uid": input.parent.uid,
            "blockOwnerDeletion": true,
        });
        if has_controller_reference(&child.kind)
            && let Some(reference) = reference.as_object_mut()
        {
            reference.insert("controller".to_owned(), json!(true));
        }
        metadata.insert("ownerReferences".to_owned(), json!([reference]));
    }
}
