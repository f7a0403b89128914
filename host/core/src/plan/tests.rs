use serde_json::{Map, json};
use sha2::{Digest, Sha256};

use super::desired::{Identity, identity};
use super::*;
use crate::grants::{Adoption, Kinds, Namespaces, WriteNamespaces};
use crate::manifest::{self, ChildKind, Manifest, Propagation};
use crate::response::DesiredChild;

mod cases;
mod convergence;
mod deletion;
mod laws;
mod listed;
mod marks;
mod model;
mod outliving;
mod prerequisites;
mod strategies;
mod values;

const PLUGIN: &str = "echo";
const PARENT_UID: &str = "11111111-1111-1111-1111-111111111111";

fn gvk(text: &str) -> GroupVersionKind {
    let (api_version, kind) = text.rsplit_once('/').expect("group/version/kind");
    GroupVersionKind::from_api_version(api_version, kind)
}

/// The inputs of a plan, owned, so that tests can change one at a time, and records of its
/// executions by [`model`].
#[derive(Clone, Debug)]
struct World {
    plugin: &'static str,
    parent: Parent,
    grants: Grants,
    scopes: BTreeMap<GroupVersionKind, Scope>,
    desired: Option<Vec<Child>>,
    observed: Vec<Live>,
    /// The number of created objects, for unique UIDs.
    created: usize,
    /// How often each object was created and deleted.
    counts: BTreeMap<String, model::Count>,
    /// The children that the last execution held back.
    held: Vec<ObjectRef>,
}

/// An object in the cluster.
#[derive(Clone, Debug, PartialEq)]
struct Live {
    kind: GroupVersionKind,
    key: ObjectKey,
    uid: String,
    resource_version: String,
    json: String,
    accepted: Option<Remembered>,
}

/// The accepted form in the memory of a plugin's mount. Mounts do not share their memory.
#[derive(Clone, Debug, PartialEq)]
struct Remembered {
    plugin: &'static str,
    form: AcceptedForm,
}

impl Live {
    fn new(object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        Self {
            kind: GroupVersionKind::from_api_version(text("/apiVersion").unwrap(), text("/kind").unwrap()),
            key: ObjectKey::new(text("/metadata/namespace"), text("/metadata/name").unwrap()),
            uid: text("/metadata/uid").unwrap().to_owned(),
            resource_version: text("/metadata/resourceVersion").unwrap_or("1").to_owned(),
            json: object.to_string(),
            accepted: None,
        }
    }
}

fn manifest() -> Manifest {
    let child = |kind: &str, strategy: Strategy, propagation: Propagation| ChildKind {
        propagation,
        ..ChildKind::new(gvk(kind), strategy)
    };
    let up_to = |strongest: Strategy, child: ChildKind| ChildKind { strongest_strategy: Some(strongest), ..child };
    Manifest {
        children: vec![
            up_to(Strategy::Recreate, child("v1/ConfigMap", Strategy::Apply, Propagation::Foreground)),
            child("batch/v1/Job", Strategy::Recreate, Propagation::Background),
            up_to(Strategy::Apply, child("v1/Secret", Strategy::CreateOnly, Propagation::Background)),
            child("rbac.authorization.k8s.io/v1/ClusterRole", Strategy::Apply, Propagation::Background),
            child("example.com/v1/Widget", Strategy::Apply, Propagation::Background),
            child("v1/Namespace", Strategy::Apply, Propagation::Background),
            child("apiextensions.k8s.io/v1/CustomResourceDefinition", Strategy::Apply, Propagation::Background),
            child("example.com/v1/Gadget", Strategy::Apply, Propagation::Background),
            ChildKind { outlives_parent: true, ..child("v1/Volume", Strategy::Apply, Propagation::Background) },
        ],
        ..Manifest::new(PLUGIN, "0.1.0", gvk("example.com/v1/Echo"))
    }
}

/// A parent in `default` with all grants. Widgets are declared but not served.
fn world() -> World {
    let scopes = [
        ("v1/ConfigMap", Scope::Namespaced),
        ("batch/v1/Job", Scope::Namespaced),
        ("v1/Secret", Scope::Namespaced),
        ("v1/Pod", Scope::Namespaced),
        ("rbac.authorization.k8s.io/v1/ClusterRole", Scope::Cluster),
        ("v1/Namespace", Scope::Cluster),
        ("apiextensions.k8s.io/v1/CustomResourceDefinition", Scope::Cluster),
        ("example.com/v1/Gadget", Scope::Namespaced),
        ("v1/Volume", Scope::Namespaced),
    ];
    World {
        plugin: PLUGIN,
        parent: Parent {
            kind: gvk("example.com/v1/Echo"),
            key: ObjectKey::new(Some("default"), "hello"),
            uid: PARENT_UID.to_owned(),
            children: ChildList::default(),
        },
        grants: Grants::new(&manifest(), Namespaces::All).with_write_namespaces(WriteNamespaces::All),
        scopes: scopes.map(|(kind, scope)| (gvk(kind), scope)).into(),
        desired: None,
        observed: Vec::new(),
        created: 0,
        counts: BTreeMap::new(),
        held: Vec::new(),
    }
}

impl World {
    fn with_input<T>(&self, use_input: impl FnOnce(&Input<'_>) -> T) -> T {
        let observed: Vec<Observed<'_>> = self
            .observed
            .iter()
            .map(|live| Observed {
                kind: &live.kind,
                key: &live.key,
                uid: &live.uid,
                resource_version: &live.resource_version,
                json: live.json.as_bytes(),
                accepted: live.accepted.as_ref().filter(|known| known.plugin == self.plugin).map(|known| &known.form),
            })
            .collect();
        use_input(&Input {
            plugin: self.plugin,
            parent: &self.parent,
            grants: &self.grants,
            scopes: &self.scopes,
            desired: self.desired.as_deref(),
            observed: &observed,
        })
    }

    fn plan(&self) -> Plan {
        self.with_input(plan)
    }

    fn wants(mut self, children: impl IntoIterator<Item = Value>) -> Self {
        let apply = |child: Value| Child::from(child.as_object().expect("an object").clone());
        self.desired = Some(children.into_iter().map(apply).collect());
        self
    }

    fn sees(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        self.observed = objects.into_iter().map(|object| Live::new(&object)).collect();
        self
    }

    /// Puts all observed children in the list that the parent stores.
    fn lists_all(mut self) -> Self {
        for live in &self.observed {
            self.parent.children.insert(&live.kind, &live.key);
        }
        self
    }
}

fn config_map(name: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}})
}

fn job(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}},
    })
}

/// The child as the API server stores it after a plan has created it.
fn created(world: &World, child: Value) -> Value {
    let plan = world.clone().wants([child]).plan();
    let [Step::Create { desired }] = plan.steps.as_slice() else { panic!("{plan:?}") };
    let mut object = Value::Object(desired.object.clone());
    object["metadata"]["uid"] = json!(format!("uid-of-{}", desired.child.key.name));
    object["metadata"]["resourceVersion"] = json!("5");
    object["status"] = json!({"from": "the cluster"});
    object
}
