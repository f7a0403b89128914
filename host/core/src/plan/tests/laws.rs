use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Strategy;

use super::model::parsed;
use super::*;

fn names() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "c", "Bad_Name", ""])
}

fn kinds() -> impl Strategy<Value = &'static str> {
    select(vec![
        "v1/ConfigMap",
        "v1/ConfigMap",
        "batch/v1/Job",
        "batch/v1beta1/Job",
        "v1/Secret",
        "rbac.authorization.k8s.io/v1/ClusterRole",
        "example.com/v1/Widget",
        "v1/Pod",
        "v1/Namespace",
        "apiextensions.k8s.io/v1/CustomResourceDefinition",
        "example.com/v1/Gadget",
        "v1/Volume",
        "v1/Volume",
    ])
}

fn namespaces() -> impl Strategy<Value = Option<&'static str>> {
    select(vec![None, None, Some("default"), Some("other"), Some("a")])
}

fn data() -> impl Strategy<Value = Value> {
    select(vec![
        json!({}),
        json!({"text": "x"}),
        json!({"text": "y"}),
        json!({"quantity": "1000m"}),
        json!({"none": null}),
        json!(null),
    ])
}

pub(super) fn strategies() -> impl Strategy<Value = Option<manifest::Strategy>> {
    use manifest::Strategy::{Apply, CreateOnly, Recreate};
    select(vec![None, None, None, Some(CreateOnly), Some(Apply), Some(Recreate)])
}

pub(super) fn children() -> impl Strategy<Value = Child> {
    let labels = select(vec![json!(null), json!({"app": "x"}), json!({"app": 1}), json!({PLUGIN_LABEL: "forged"})]);
    let child = (kinds(), names(), namespaces(), data(), labels, strategies());
    prop_oneof![
        5 => child.prop_map(|(kind, name, namespace, data, labels, strategy)| {
            let kind = gvk(kind);
            let mut object = json!({
                "apiVersion": kind.api_version(), "kind": kind.kind, "data": data,
                "metadata": {"name": name, "labels": labels, "resourceVersion": "1"},
                "spec": {"group": "example.com", "names": {"kind": "Gadget"}},
            });
            if let Some(namespace) = namespace {
                object["metadata"]["namespace"] = json!(namespace);
            }
            Child::Apply(DesiredChild { object: object.as_object().expect("an object").clone(), strategy })
        }),
        1 => (kinds(), names(), namespaces())
            .prop_map(|(kind, name, namespace)| Child::Keep(ObjectRef { kind: gvk(kind), key: ObjectKey::new(namespace, name) })),
        1 => select(vec![json!({}), json!({"kind": "Job"}), json!({"apiVersion": "v1", "kind": "ConfigMap"})])
            .prop_map(|object| Child::from(object.as_object().expect("an object").clone())),
    ]
}

fn objects() -> impl Strategy<Value = Value> {
    let owner = select(vec![None, Some(PARENT_UID), Some(PARENT_UID), Some("another")]);
    let labels = select(vec![
        json!({PLUGIN_LABEL: PLUGIN, OWNER_UID_LABEL: PARENT_UID}),
        json!({PLUGIN_LABEL: PLUGIN, OWNER_UID_LABEL: PARENT_UID}),
        json!({PLUGIN_LABEL: PLUGIN, OWNER_UID_LABEL: "another"}),
        json!({PLUGIN_LABEL: "another", OWNER_UID_LABEL: PARENT_UID}),
        json!({}),
    ]);
    let going = proptest::bool::weighted(0.1);
    let outlives = json!({DIGEST_ANNOTATION: "0", OUTLIVES_ANNOTATION: "default/hello"});
    let digest = select(vec![json!({}), json!({DIGEST_ANNOTATION: "0"}), outlives]);
    (kinds(), select(vec!["a", "b", "c"]), namespaces(), data(), owner, labels, going, digest).prop_map(
        |(kind, name, namespace, data, owner, labels, going, digest)| {
            let kind = gvk(kind);
            let is_cluster_scoped = ["ClusterRole", "Namespace", "CustomResourceDefinition"].contains(&kind.kind.as_str());
            let namespace = if is_cluster_scoped { None } else { Some(namespace.unwrap_or("default")) };
            let mut object = json!({
                "apiVersion": kind.api_version(), "kind": kind.kind, "data": data,
                "metadata": {
                    "name": name, "labels": labels, "annotations": digest, "resourceVersion": "1",
                    "uid": format!("{}-{}-{name}", kind.kind, namespace.unwrap_or_default()),
                },
            });
            let metadata = object["metadata"].as_object_mut().expect("an object");
            if let Some(namespace) = namespace {
                metadata.insert("namespace".to_owned(), json!(namespace));
            }
            if let Some(uid) = owner {
                let reference = json!({"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": uid, "controller": true});
                metadata.insert("ownerReferences".to_owned(), json!([reference]));
            }
            if going {
                metadata.insert("deletionTimestamp".to_owned(), json!("2024-01-01T00:00:00Z"));
            }
            object
        },
    )
}

/// Owned objects may also be deleted in namespaces without a write grant.
pub(super) fn is_in_granted_namespace(world: &World, children: Option<&[Child]>, step: &Step) -> bool {
    let namespace = step.child().key.namespace.as_deref();
    match step {
        Step::Delete { .. } => world.grants.allows_deletion_in(namespace),
        _ => {
            let is_named = |name: &str| children.into_iter().flatten().any(|child| names_namespace(child, name));
            let is_own = |name: &str| owns_namespace(world, name) || is_named(name);
            world.grants.check_namespace(world.parent.key.namespace.as_deref(), namespace, is_own).is_ok()
        }
    }
}

fn names_namespace(child: &Child, name: &str) -> bool {
    let Child::Apply(DesiredChild { object, .. }) = child else { return false };
    let has = |field: &str, value: &str| object.get(field).is_some_and(|found| found == value);
    let found = object.get("metadata").and_then(|metadata| metadata.get("name"));
    has("apiVersion", "v1") && has("kind", "Namespace") && found.is_some_and(|found| found == name)
}

pub(super) fn owns_namespace(world: &World, name: &str) -> bool {
    let is_it = |live: &&Live| live.kind.kind == "Namespace" && live.key.name == name;
    world.observed.iter().filter(is_it).any(|live| is_owned(world, &parsed(live)))
}

fn prunes_a_namespace(plan: &Plan) -> bool {
    plan.steps.iter().any(|step| matches!(step, Step::Delete { child, .. } if child.kind.is_namespace()))
}

pub(super) fn worlds() -> impl Strategy<Value = World> {
    let named = WriteNamespaces::Named(["other".to_owned()].into());
    let write_namespaces = select(vec![WriteNamespaces::OfParent, named, WriteNamespaces::All]);
    let grants = (any::<bool>(), any::<bool>(), any::<bool>(), write_namespaces);
    let grants = grants.prop_map(|(all_namespaces, all_kinds, adopts, write_namespaces)| {
        let namespaces = if all_namespaces { Namespaces::All } else { Namespaces::Only(["default".to_owned()].into()) };
        let kinds = if all_kinds { Kinds::Declared } else { Kinds::Only([gvk("v1/ConfigMap"), gvk("batch/v1/Job")].into()) };
        let adoption = if adopts { Adoption::Allowed } else { Adoption::Refused };
        let grants = Grants::new(&manifest(), namespaces).with_write_namespaces(write_namespaces);
        grants.with_kinds(kinds).with_adoption(adoption)
    });
    let children = proptest::option::weighted(0.95, proptest::collection::vec(children(), 0..8));
    let observed = proptest::collection::vec(objects(), 0..8);
    // Whether the parent lists each object; `None` if it has no list.
    let listed = proptest::option::weighted(0.9, proptest::collection::vec(proptest::bool::weighted(0.6), 8));
    let worlds = (grants, children, observed, listed, proptest::bool::weighted(0.2));
    worlds.prop_map(|(grants, desired, objects, listed, cluster_parent)| {
        let mut world = World { grants, desired, ..world() };
        if cluster_parent {
            world.parent.key.namespace = None;
        }
        // A cluster has one object of a name.
        let mut seen = std::collections::BTreeSet::new();
        world.observed = objects.iter().map(Live::new).filter(|live| seen.insert(live.uid.clone())).collect();
        world.parent.children = ChildList::read(None, listed.is_none());
        for (live, _) in world.observed.iter().zip(listed.into_iter().flatten()).filter(|(_, is_listed)| *is_listed) {
            world.parent.children.insert(&live.kind, &live.key);
        }
        world
    })
}

pub(super) fn lingering_worlds() -> impl Strategy<Value = World> {
    (worlds(), proptest::collection::vec(any::<bool>(), 8)).prop_map(|(mut world, lingers)| {
        for (live, lingers) in world.observed.iter_mut().zip(lingers) {
            let mut object = parsed(live);
            if lingers {
                object["metadata"]["finalizers"] = json!(["example.com/slow"]);
                live.json = object.to_string();
            }
        }
        world
    })
}

pub(super) fn is_labelled(world: &World, object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    labels[OWNER_UID_LABEL] == world.parent.uid.as_str() && labels[PLUGIN_LABEL] == world.plugin
}

/// States the ownership independently of the code: see `Metadata::owner`.
pub(super) fn is_owned(world: &World, object: &Value) -> bool {
    let live = Live::new(object);
    let can_refer = world.parent.key.namespace.is_none() || world.parent.key.namespace == live.key.namespace;
    let references = object["metadata"]["ownerReferences"].as_array().and_then(|references| references.first());
    match references.filter(|reference| can_refer || reference["uid"] != world.parent.uid.as_str()) {
        Some(reference) => {
            let plugin = object["metadata"]["labels"].get(PLUGIN_LABEL);
            reference["uid"] == world.parent.uid.as_str() && plugin.is_none_or(|plugin| plugin == world.plugin)
        }
        None => {
            let list = &world.parent.children;
            let is_listed = list.is_missing() || list.contains(&live.kind, &live.key);
            is_labelled(world, object)
                && if can_refer { outlives_parent(world, &live) && is_marked(world, object) } else { is_listed }
        }
    }
}

fn is_marked(world: &World, object: &Value) -> bool {
    object["metadata"]["annotations"][OUTLIVES_ANNOTATION] == world.parent.key.to_string()
}

/// Returns whether a step takes a reference from a child that outlives the parent.
pub(super) fn is_label_of_volume(step: &Step) -> bool {
    matches!(step, Step::Label { child, .. } if child.kind.kind == "Volume")
}

/// Returns whether an object stays when its parent is deleted.
pub(super) fn outlives_parent(world: &World, live: &Live) -> bool {
    let namespace = &world.parent.key.namespace;
    live.kind.kind == "Volume" && namespace.is_some() && *namespace == live.key.namespace
}

/// Returns whether the object becomes the parent's: by adoption, or as labelled and wanted. One of
/// the strategy `recreate` that differs is replaced then.
pub(super) fn is_handed_over(before: &World, after: &World, object: &Value) -> bool {
    let is_nobodys = object["metadata"].get("ownerReferences").is_none() && object["metadata"]["labels"] == json!({});
    let Live { kind, key, .. } = Live::new(object);
    let has_name = |live: &&Live| (&live.kind.group, &live.kind.kind, &live.key) == (&kind.group, &kind.kind, &key);
    let becomes_owned = || after.observed.iter().filter(has_name).any(|live| is_owned(after, &parsed(live)));
    before.grants.adoption() == Adoption::Allowed && is_nobodys || is_labelled(before, object) && becomes_owned()
}

fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    proptest::collection::btree_map("[a-c]", "[ -~]{0,8}", 0..4)
}

proptest! {
    /// So that an apply without a key removes it: the API server keeps managers of `data` alone.
    #[test]
    fn a_secret_is_written_as_the_api_server_stores_it(data in texts(), texts in texts()) {
        let encoded = |texts: &BTreeMap<String, String>| -> Map<String, Value> {
            texts.iter().map(|(key, text)| (key.clone(), json!(STANDARD.encode(text)))).collect()
        };
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": encoded(&data), "stringData": texts,
        });
        let written = created(&world(), secret);
        let mut stored = encoded(&data);
        stored.extend(encoded(&texts));
        prop_assert_eq!(&written["data"], &Value::Object(stored));
        prop_assert_eq!(written.get("stringData"), None);
    }

    #[test]
    fn a_list_with_keys_is_written_only_without_repeated_keys(names in proptest::collection::vec("[a-d]", 0..5)) {
        let mut child = job("j", "v1");
        let env: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        child["spec"]["template"]["spec"]["containers"][0]["env"] = json!(env);
        let distinct: BTreeSet<&String> = names.iter().collect();
        let plan = world().wants([child]).plan();
        prop_assert_eq!(plan.steps.len(), usize::from(distinct.len() == names.len()));
        prop_assert_eq!(plan.refusals.len(), 1 - plan.steps.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn planning_after_applying_is_empty(mut world in worlds()) {
        let reference = world.plan().steps.iter().any(is_label_of_volume);
        if reference {
            // The next plan writes the other differences.
            world.execute(&world.plan());
        }
        let first = world.plan();
        let had_a_list = !world.parent.children.is_missing();
        world.execute(&first);
        let second = world.plan();
        // Foreign objects stay in the way; reading them again writes nothing.
        prop_assert!(world.writes(&second).is_empty(), "{:?} after {:?}", second, first);
        // Without a list, a child that cannot be deleted is refused once, and foreign afterwards.
        // Once a Namespace of the parent is pruned, children in it are refused.
        let is_same = second.refusals == first.refusals;
        prop_assert!(is_same || !had_a_list || prunes_a_namespace(&first), "{:?} after {:?}", second, first);
        world.touch_every_status();
        prop_assert_eq!(world.plan(), second, "a status is not desired, so it makes no difference");
    }

    #[test]
    fn nothing_not_owned_by_uid_is_touched(world in worlds()) {
        let foreign: Vec<&Live> = world.observed.iter().filter(|live| !is_owned(&world, &parsed(live))).collect();
        for step in world.plan().steps {
            let touched = foreign.iter().find(|live| Some(live.uid.as_str()) == step.uid());
            // With the labels, an object of a wanted name becomes a child.
            let is_handed_over = |live: &&Live| is_labelled(&world, &parsed(live)) && !matches!(step, Step::Delete { .. });
            prop_assert!(touched.copied().is_none_or(|live| is_handed_over(&live)), "{step:?} touches {touched:?}");
        }
    }

    #[test]
    fn what_is_foreign_stays_as_it_is_unless_it_is_adopted(mut world in worlds()) {
        let before = world.clone();
        world.execute(&before.plan());
        for uid in world.changed_since(&before) {
            let live = before.observed.iter().find(|live| live.uid == uid).expect("what changed was there");
            let object = parsed(live);
            prop_assert!(is_owned(&before, &object) || is_handed_over(&before, &world, &object), "{:?} was changed", live);
        }
    }

    #[test]
    fn every_desired_child_exists_or_is_refused_or_waited_for(mut world in worlds()) {
        let plan = world.plan();
        world.execute(&plan);
        for child in world.desired.iter().flatten() {
            let Child::Apply(DesiredChild { object, .. }) = child else { continue };
            let object = Value::Object(object.clone());
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
            let refusals = |named: &dyn Fn(&ObjectRef) -> bool| {
                plan.refusals.iter().any(|refusal| refusal.child.as_ref().is_none_or(named))
            };
            let (Some(kind), Some(name)) = (text("/kind"), text("/metadata/name")) else {
                prop_assert!(refusals(&|_| false), "{} is passed over in silence", object);
                continue;
            };
            let namespace = text("/metadata/namespace").or(world.parent.key.namespace.as_deref());
            let is_it = |found: &ObjectRef| {
                let in_it = found.key.namespace.is_none() || found.key.namespace.as_deref() == namespace;
                found.kind.kind == kind && found.key.name == name && in_it
            };
            let there = world.observed.iter().any(|live| is_it(&ObjectRef { kind: live.kind.clone(), key: live.key.clone() }));
            let waited_for = plan.waiting.iter().map(|waiting| &waiting.child).chain(&world.held).any(is_it);
            prop_assert!(there || waited_for || refusals(&is_it), "{} is passed over in silence", object);
        }
    }

    #[test]
    fn same_inputs_same_plan_byte_for_byte(world in worlds(), seed in any::<u64>()) {
        let bytes = |world: &World| serde_json::to_vec(&world.plan()).expect("a plan is JSON");
        let mut shuffled = world.clone();
        shuffled.observed.sort_by_key(|live| Sha256::digest(format!("{seed}{}", live.uid)).to_vec());
        prop_assert_eq!(bytes(&world), bytes(&world));
        prop_assert_eq!(bytes(&world), bytes(&shuffled));
    }

    #[test]
    fn nothing_outside_the_grants_is_written(world in worlds()) {
        let plan = world.plan();
        for step in &plan.steps {
            let child = step.child();
            prop_assert!(world.grants.allows_kind(&child.kind), "{step:?}");
            prop_assert!(is_in_granted_namespace(&world, world.desired.as_deref(), step), "{step:?}");
            if !matches!(step, Step::Delete { .. }) {
                prop_assert!(world.grants.child(&child.kind).is_some(), "{step:?}");
                prop_assert!(world.scopes.contains_key(&child.kind), "{step:?}");
            }
        }
    }

    #[test]
    fn every_object_that_is_written_says_whose_it_is(world in worlds()) {
        for step in world.plan().steps {
            let (Step::Create { desired } | Step::Apply { desired, .. } | Step::Replace { desired, .. }) = &step else { continue };
            let metadata = &desired.object["metadata"];
            prop_assert_eq!(&metadata["labels"][OWNER_UID_LABEL], &json!(world.parent.uid));
            prop_assert_eq!(&metadata["labels"][PLUGIN_LABEL], &json!(PLUGIN));
            prop_assert_eq!(&metadata["name"], &json!(desired.child.key.name));
            let same_namespace = desired.child.key.namespace == world.parent.key.namespace;
            let referenced = metadata.get("ownerReferences").is_some();
            let outlives = metadata["annotations"][OUTLIVES_ANNOTATION] == json!(world.parent.key.to_string());
            prop_assert_eq!(outlives, desired.child.kind.kind == "Volume");
            prop_assert!(!outlives || same_namespace && world.parent.key.namespace.is_some(), "{:?}", step);
            let can_refer = same_namespace || world.parent.key.namespace.is_none();
            prop_assert_eq!(referenced, can_refer && !outlives, "{:?}", step);
            prop_assert_eq!(metadata.get("uid").and_then(Value::as_str), match &step { Step::Apply { uid, .. } => Some(uid.as_str()), _ => None });
        }
    }

    #[test]
    fn a_child_that_says_so_is_kept_as_long_as_its_parent_lives(world in worlds()) {
        let mut keeping = world.clone();
        for live in &mut keeping.observed {
            let mut object = parsed(live);
            object["metadata"]["annotations"][PRUNE_ANNOTATION] = json!("false");
            live.json = object.to_string();
        }
        let (plain, kept) = (world.plan(), keeping.plan());
        let (deletions, others): (Vec<_>, Vec<_>) = plain.steps.into_iter().partition(|step| matches!(step, Step::Delete { .. }));
        let (references, kept_steps): (Vec<_>, Vec<_>) = kept.steps.iter().cloned().partition(|step| is_label_of_volume(step) && !others.contains(step));
        prop_assert!(references.iter().all(|step| kept.kept.contains(step.child())), "{references:?}");
        prop_assert_eq!(&kept_steps, &others);
        prop_assert!(deletions.iter().all(|step| kept.kept.contains(step.child())), "{:?}", kept);
        prop_assert_eq!((plain.leaving, plain.waiting, plain.kept), (kept.leaving, kept.waiting, Vec::new()));
        let leaving = |world: &World| world.with_input(|input| plan_deletion(input, None));
        prop_assert_eq!(leaving(&world), leaving(&keeping));
    }

    #[test]
    fn what_is_wanted_is_never_deleted(world in worlds()) {
        let plan = world.plan();
        for step in &plan.steps {
            let Step::Delete { child, .. } = step else { continue };
            for wanted in world.desired.iter().flatten() {
                let (kind, name) = match wanted {
                    Child::Keep(reference) => (reference.kind.kind.as_str(), reference.key.name.as_str()),
                    Child::Apply(DesiredChild { object, .. }) => (
                        object.get("kind").and_then(Value::as_str).unwrap_or_default(),
                        object.get("metadata").and_then(|metadata| metadata["name"].as_str()).unwrap_or_default(),
                    ),
                };
                let namespace = match wanted {
                    Child::Keep(reference) => reference.key.namespace.as_deref(),
                    Child::Apply(DesiredChild { object, .. }) => object.get("metadata").and_then(|metadata| metadata["namespace"].as_str()),
                };
                let in_other_namespace = namespace
                    .or(world.parent.key.namespace.as_deref())
                    .is_some_and(|namespace| Some(namespace) != child.key.namespace.as_deref());
                let may_be_it = kind == child.kind.kind && (name == child.key.name || name.is_empty());
                prop_assert!(!may_be_it || in_other_namespace, "{:?} deletes {:?}", step, wanted);
            }
        }
    }
}
