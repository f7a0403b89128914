//! Laws of all plans.

use std::collections::{BTreeMap, BTreeSet};

use gyre_core::grants::{Adoption, Grants, Kinds, Namespaces, Scope, WriteNamespaces};
use gyre_core::manifest::Manifest;
use gyre_core::object::GroupVersionKind;
use gyre_core::plan::{
    AcceptedForm, ChildList, DIGEST_ANNOTATION, Desired, Existing, Input, LARGEST_LIST, LIST_ANNOTATION_PREFIX,
    OWNER_UID_LABEL, Observed, Ownership, PLUGIN_LABEL, Parent, Plan, REPORTED_ONE_BY_ONE, Refusal, Refusals, Step, child_list,
    desired, fingerprint, on_existing, ownership, plan,
};
use gyre_core::response::Child;
use gyre_devcluster::random::Random;
use gyre_engine::cluster::object::Object;
use serde_json::{Value, json};

use crate::host::plugin::{self, CHILDREN, Script};
use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Tally, count, law};

const PLUGIN: &str = "thing";
const PARENT_UID: &str = "11111111-1111-4111-8111-111111111111";
const MESSAGE: usize = 1_024;
const SERVER_FIELDS: &[&str] =
    &["creationTimestamp", "deletionTimestamp", "generateName", "generation", "managedFields", "resourceVersion", "selfLink"];

struct CachedObject {
    object: Object,
    kind: GroupVersionKind,
    value: Value,
    accepted: Option<AcceptedForm>,
}

/// The inputs of a plan except the desired children.
struct World {
    parent: Parent,
    grants: Grants,
    scopes: BTreeMap<GroupVersionKind, Scope>,
    observed: Vec<CachedObject>,
}

impl World {
    fn with_input<T>(&self, desired: Option<&[Child]>, use_input: impl FnOnce(&Input<'_>) -> T) -> T {
        let named = |live: &CachedObject| (live.object.key(), live.object.resource_version().to_string());
        let names: Vec<_> = self.observed.iter().map(named).collect();
        let observed = self.observed.iter().zip(&names).map(|(live, (key, version))| Observed {
            kind: &live.kind,
            key,
            uid: live.object.uid(),
            resource_version: version,
            json: live.object.json().as_bytes(),
            accepted: live.accepted.as_ref(),
        });
        let observed: Vec<Observed<'_>> = observed.collect();
        let (parent, grants, scopes) = (&self.parent, &self.grants, &self.scopes);
        use_input(&Input { plugin: PLUGIN, parent, grants, scopes, desired, observed: &observed })
    }
}

pub(super) fn check(random: &mut Random, children: Option<&[Child]>, tally: &mut Tally) -> Result<Vec<Refusal>, Failure> {
    let mut world = draw(random)?;
    if random.chance(0.8) {
        observe(random, &mut world, children);
    }
    let decided = world.with_input(children, plan);
    check_plan(&world, children, &decided)?;
    for step in &decided.steps {
        count(tally, step.verb());
        if let Step::Create { desired } = step {
            check_existing(random, &world, children, desired)?;
        }
    }
    for refusal in &decided.refusals {
        count(tally, refusal.reason.as_str());
    }
    check_deterministic(&mut world, children, &decided)?;
    if world.observed.is_empty() {
        check_idempotent(&mut world, children, &decided)?;
    }
    Ok(check_refusals(&decided)?.reported())
}

fn manifest() -> Result<Manifest, Failure> {
    Ok(Script::new(PLUGIN, plugin::PARENT).plugin(PLUGIN)?.manifest().clone())
}

fn draw(random: &mut Random) -> Result<World, Failure> {
    let namespace = if random.chance(0.2) { None } else { Some("default") };
    let namespaces = if random.chance(0.6) { Namespaces::All } else { Namespaces::Only(["default".to_owned()].into()) };
    let write_namespaces = match random.below(3) {
        0 => WriteNamespaces::OfParent,
        1 => WriteNamespaces::Named(["other".to_owned()].into()),
        _ => WriteNamespaces::All,
    };
    let kinds = if random.chance(0.7) {
        Kinds::Declared
    } else {
        let granted = CHILDREN.iter().filter(|_| random.chance(0.5)).map(|child| plugin::kind(child.kind));
        Kinds::Only(granted.collect())
    };
    let adoption = if random.chance(0.5) { Adoption::Allowed } else { Adoption::Refused };
    let grants = Grants::new(&manifest()?, namespaces).with_write_namespaces(write_namespaces);
    let grants = grants.with_kinds(kinds).with_adoption(adoption);
    let served = CHILDREN.iter().filter_map(|child| Some((plugin::kind(child.kind), child.scope?)));
    let mut scopes: BTreeMap<_, _> = served.collect();
    scopes.insert(plugin::kind("v1/Pod"), Scope::Namespaced);
    if random.chance(0.1) {
        scopes.remove(&plugin::kind("batch/v1/Job"));
    }
    let parent = Parent {
        kind: plugin::kind(plugin::PARENT),
        key: gyre_core::object::ObjectKey::new(namespace, "hello"),
        uid: PARENT_UID.to_owned(),
        children: list(random),
    };
    Ok(World { parent, grants, scopes, observed: Vec::new() })
}

fn list(random: &mut Random) -> ChildList {
    let has_finalizer = random.chance(0.8);
    match random.below(3) {
        0 => ChildList::read(None, has_finalizer),
        1 => ChildList::read(Some(&mutate::text(random)), has_finalizer),
        _ => {
            let mut list = json!({ "ConfigMap": { "other": ["a", "b"], "": [] }, "Job.batch": { "other": ["a"] } });
            mutate::structure(random, &mut list);
            ChildList::read(Some(&list.to_string()), has_finalizer)
        }
    }
}

/// Fills the caches with desired children, partly changed, and with objects of others.
fn observe(random: &mut Random, world: &mut World, children: Option<&[Child]>) {
    let mut objects: Vec<Value> =
        world.with_input(children, desired).into_iter().map(|desired| Value::Object(desired.object)).collect();
    objects.extend((0..random.size(5)).map(|_| plugin::object(random)));
    let mut accepted = Vec::new();
    for object in &mut objects {
        let digest = object["metadata"]["annotations"][DIGEST_ANNOTATION].as_str().unwrap_or_default().to_owned();
        if !object["metadata"].is_object() {
            object["metadata"] = json!({ "name": "a" });
        }
        object["metadata"]["uid"] = json!(random.uuid());
        object["metadata"]["resourceVersion"] = json!(random.below(9).to_string());
        if random.chance(0.3) {
            object["metadata"]["labels"] =
                json!({ PLUGIN_LABEL: random.pick(&[PLUGIN, "other"]), OWNER_UID_LABEL: PARENT_UID });
        }
        if random.chance(0.2) {
            let uid = *random.pick(&[PARENT_UID, "another"]);
            object["metadata"]["ownerReferences"] = json!([{ "apiVersion": "example.com/v1", "kind": "Thing", "name": "hello",
                "uid": uid, "controller": random.chance(0.8) }]);
        }
        if random.chance(0.1) {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        if random.chance(0.4) {
            mutate::structure(random, object);
        }
        if random.chance(0.2) && object["metadata"].is_object() {
            mutate::structure(random, &mut object["metadata"]);
        }
        accepted.push(random.chance(0.3).then(|| AcceptedForm::of(&digest, object)));
    }
    let mut seen = BTreeSet::new();
    for (value, accepted) in objects.into_iter().zip(accepted) {
        let odd = random.chance(0.1);
        // Like the cache, ignores objects without a name.
        let Ok(object) = Object::parse(mutate::spelled(random, &value, odd)) else { continue };
        let kind = match (value["apiVersion"].as_str(), value["kind"].as_str()) {
            (Some(version), Some(kind)) => GroupVersionKind::from_api_version(version, kind),
            _ => plugin::kind(random.pick(CHILDREN).kind),
        };
        if seen.insert((kind.group.clone(), kind.kind.clone(), object.key())) {
            world.observed.push(CachedObject { object, kind, value, accepted });
        }
    }
}

fn check_refusals(decided: &Plan) -> Result<Refusals, Failure> {
    let mut refusals = Refusals::default();
    refusals.extend(decided.refusals.iter().cloned());
    for refusal in refusals.reported() {
        law(refusal.message.len() <= MESSAGE && !refusal.message.is_empty(), || {
            format!("{} bytes are told of a refusal", refusal.message.len())
        })?;
    }
    let reasons = refusals.counts().count();
    law(refusals.reported().len() <= reasons * REPORTED_ONE_BY_ONE, || {
        format!("{} refusals are told", refusals.reported().len())
    })?;
    Ok(refusals)
}

fn check_plan(world: &World, children: Option<&[Child]>, decided: &Plan) -> Result<(), Failure> {
    law(children.is_some() || *decided == Plan::default(), || format!("nothing is wanted and {decided:?} is planned"))?;
    let mut seen = BTreeSet::new();
    for step in &decided.steps {
        let about = |what: &str| format!("{what}: {step:?}");
        let child = step.child();
        let identity = (child.kind.group.clone(), child.kind.kind.clone(), child.key.clone());
        law(seen.insert(identity), || about("an object is written twice"))?;
        check_grants(world, step)?;
        if let Some(uid) = step.uid() {
            let live = world.observed.iter().find(|live| live.object.uid() == uid);
            let live = live.ok_or_else(|| Failure(about("no object has the UID")))?;
            law(is_linked(&live.value, false), || {
                format!("{}\n  {}", about("what is not the parent's is written"), live.value)
            })?;
        }
        if let Step::Create { desired } | Step::Apply { desired, .. } | Step::Replace { desired, .. } = step {
            let uid = if let Step::Apply { uid, .. } = step { Some(uid.as_str()) } else { None };
            check_marks(world, desired, uid).map_err(|failure| Failure(format!("{failure}: {step:?}")))?;
        }
    }
    let list = world.with_input(children, |input| child_list(input, decided));
    let text = list.to_text();
    law(text.len() <= LARGEST_LIST.max(world.parent.children.to_text().len()), || format!("a list of {} bytes", text.len()))?;
    let read = ChildList::read(Some(&text), true);
    law(read == list, || format!("{list:?} reads as {read:?}"))
}

fn check_grants(world: &World, step: &Step) -> Result<(), Failure> {
    let (child, grants) = (step.child(), &world.grants);
    let namespace = child.key.namespace.as_deref();
    let is_granted = match step {
        Step::Delete { .. } => grants.allows_kind(&child.kind) && grants.allows_deletion_in(namespace),
        _ => {
            let is_in_namespace = grants.check_namespace(world.parent.key.namespace.as_deref(), namespace, |_| false).is_ok();
            grants.child(&child.kind).is_some() && world.scopes.contains_key(&child.kind) && is_in_namespace
        }
    };
    law(is_granted, || format!("{step:?} is not granted by {grants:?}"))
}

/// Returns whether the object names the parent as its owner, by a reference or by both labels. With
/// `adopts`, an object without an owner counts, too; one with another controller never does.
fn is_linked(object: &Value, adopts: bool) -> bool {
    let metadata = &object["metadata"];
    let references: Vec<&Value> = metadata["ownerReferences"].as_array().into_iter().flatten().collect();
    let controller = references.iter().find(|reference| reference["controller"] == true);
    if controller.is_some_and(|controller| controller["uid"] != PARENT_UID) {
        return false;
    }
    let is_referenced = references.iter().any(|reference| reference["uid"] == PARENT_UID);
    let (plugin, owner) = (&metadata["labels"][PLUGIN_LABEL], &metadata["labels"][OWNER_UID_LABEL]);
    is_referenced || (plugin == PLUGIN && owner == PARENT_UID) || (adopts && plugin.is_null() && owner.is_null())
}

/// Returns whether an object is labelled as a child of another parent of the plugin, and has no
/// controller.
fn is_orphaned(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let references = metadata["ownerReferences"].as_array();
    let is_controlled = references.is_some_and(|references| references.iter().any(|reference| reference["controller"] == true));
    !is_controlled && metadata["labels"][PLUGIN_LABEL] == PLUGIN && metadata["labels"][OWNER_UID_LABEL].is_string()
}

/// Checks that a written object names its owner, and has no fields of the API server.
fn check_marks(world: &World, desired: &Desired, uid: Option<&str>) -> Result<(), Failure> {
    let Desired { child, object, digest, strategy: _, generated: _ } = desired;
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    law(metadata["labels"][PLUGIN_LABEL] == PLUGIN, || "no label of the plugin".to_owned())?;
    law(metadata["labels"][OWNER_UID_LABEL] == PARENT_UID, || "no label of the parent".to_owned())?;
    law(metadata["annotations"][DIGEST_ANNOTATION] == digest.as_str(), || "no digest".to_owned())?;
    law(text(&metadata["name"]).as_deref() == Some(child.key.name.as_str()), || "another name".to_owned())?;
    law(text(&metadata["namespace"]) == child.key.namespace, || "another namespace".to_owned())?;
    law(object["apiVersion"] == child.kind.api_version() && object["kind"] == child.kind.kind, || "another kind".to_owned())?;
    law(text(&metadata["uid"]).as_deref() == uid, || "another UID".to_owned())?;
    law(object.get("status").is_none(), || "a status".to_owned())?;
    let field = SERVER_FIELDS.iter().find(|field| metadata.get(**field).is_some());
    law(field.is_none(), || format!("metadata.{}", field.unwrap_or(&"")))?;
    let mut annotations = metadata["annotations"].as_object().into_iter().flatten();
    law(annotations.all(|(key, _)| !key.starts_with(LIST_ANNOTATION_PREFIX)), || "a list of children".to_owned())?;
    let owners: Vec<&Value> = metadata["ownerReferences"].as_array().into_iter().flatten().collect();
    let can_refer = ownership(world.parent.key.namespace.as_deref(), child.key.namespace.as_deref()) == Ownership::Reference;
    let is_owned = if can_refer { owners.len() == 1 && owners[0]["uid"] == PARENT_UID } else { owners.is_empty() };
    law(is_owned, || format!("the owners {owners:?}"))
}

/// Checks the decision about an existing object with the name of a new child.
fn check_existing(random: &mut Random, world: &World, children: Option<&[Child]>, desired: &Desired) -> Result<(), Failure> {
    let mut live = Value::Object(desired.object.clone());
    live["metadata"]["uid"] = json!("live");
    live["metadata"]["resourceVersion"] = json!("7");
    if random.chance(0.5) {
        live["metadata"]["labels"] = json!({});
        live["metadata"]["ownerReferences"] = json!([]);
    }
    mutate::structure(random, &mut live);
    if live["metadata"].is_object() {
        mutate::structure(random, &mut live["metadata"]);
    }
    let other_parent_exists = random.chance(0.5);
    let decide = || world.with_input(children, |input| on_existing(input, desired, &live, None, |_| Some(other_parent_exists)));
    let decided = decide();
    law(decided == decide(), || format!("two decisions about {live}"))?;
    law(fingerprint(&live) == fingerprint(&live.clone()), || format!("two fingerprints of {live}"))?;
    let Existing::Step(step) = decided else { return Ok(()) };
    check_grants(world, &step)?;
    law(step.uid() == live["metadata"]["uid"].as_str(), || format!("{step:?} is about another object than {live}"))?;
    let adopts = world.grants.adoption() == Adoption::Allowed;
    law(is_linked(&live, adopts) || (adopts && !other_parent_exists && is_orphaned(&live)), || {
        format!("{step:?} takes what is not the parent's: {live}")
    })
}

fn check_deterministic(world: &mut World, children: Option<&[Child]>, decided: &Plan) -> Result<(), Failure> {
    let text = |plan: &Plan| serde_json::to_string(plan).map_err(|error| Failure(format!("a plan is no JSON: {error}")));
    let first = text(decided)?;
    world.observed.reverse();
    let second = text(&world.with_input(children, plan))?;
    law(first == second, || format!("two plans\n  {first}\n  {second}"))
}

/// Checks that a created object is not written again.
fn check_idempotent(world: &mut World, children: Option<&[Child]>, decided: &Plan) -> Result<(), Failure> {
    world.parent.children = world.parent.children.union(&world.with_input(children, |input| child_list(input, decided)));
    for (index, step) in decided.steps.iter().enumerate() {
        let mut value = Value::Object(match step {
            Step::Create { desired } => desired.object.clone(),
            other => return Err(Failure(format!("there is nothing yet to write to: {other:?}"))),
        });
        value["metadata"]["uid"] = json!(format!("created-{index}"));
        value["metadata"]["resourceVersion"] = json!("1");
        let object = Object::parse(value.to_string()).map_err(|error| Failure(format!("{error}: {value}")))?;
        world.observed.push(CachedObject { object, kind: step.child().kind.clone(), value, accepted: None });
    }
    let again = world.with_input(children, plan);
    law(again.steps.is_empty(), || format!("after all has been created: {:?}", again.steps))
}
