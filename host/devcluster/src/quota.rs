//! Amounts that objects use, which quotas limit.
//!
//! A kind counts as `count/PLURAL.GROUP`. Some built-in kinds also count under other names, as the
//! evaluators of the same kinds in `kube-apiserver` compute them.
//!
//! What is absent: allocated and actual resources of Pods that are being resized, and resource
//! claims.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use gyre_core::quantity::Quantity;
use serde_json::{Map, Value};

use crate::kinds::{Kind, Kinds, Origin, Scope};
use crate::object;
use crate::store::{Resource, Store};

pub(crate) static QUOTAS: LazyLock<Resource> = LazyLock::new(|| Resource::new("", "resourcequotas"));

/// The kinds that a quota may name by their plural.
const OWN_NAMES: [&str; 7] =
    ["configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas", "secrets", "services"];

/// The amounts of containers that a quota may name.
const COMPUTE: [&str; 9] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

/// The amounts that each container has to specify if a quota names them.
const SPECIFIED: [&str; 6] = ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

const STORAGE: &str = "requests.storage";
const CLAIMS: &str = "persistentvolumeclaims";
const CLASS: &str = ".storageclass.storage.k8s.io/";

/// Amounts by the name that a quota has for them, e.g. `pods` or `requests.cpu`.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// Reads a list of resources, such as `spec.hard` of a quota. Leaves out what is no quantity.
pub(crate) fn amounts(list: Option<&Value>) -> Amounts {
    let list = list.and_then(Value::as_object).into_iter().flatten();
    list.filter_map(|(name, amount)| Some((name.clone(), Quantity::parse(amount.as_str()?).ok()?))).collect()
}

/// Writes a list of resources.
pub(crate) fn to_list(amounts: &Amounts) -> Value {
    amounts.iter().map(|(name, amount)| (name.clone(), Value::from(amount.canonical()))).collect::<Map<_, _>>().into()
}

/// Returns what the objects in the quota's namespace use of the resources that it limits. Resources
/// that no served kind uses are absent.
pub(crate) fn used<'a>(store: &Store, kinds: impl IntoIterator<Item = &'a Arc<Kind>>, quota: &Value) -> Amounts {
    let hard = hard(quota);
    let mut used = Amounts::new();
    let mut counted = BTreeSet::new();
    for kind in kinds {
        let limited: Vec<&String> = hard.keys().filter(|name| is_used_by(kind, name)).collect();
        let resource = kind.storage();
        if limited.is_empty() || !counted.insert(resource.clone()) {
            continue;
        }
        for name in limited {
            used.entry(name.clone()).or_insert_with(|| number(0));
        }
        let objects = store.list(&resource, Some(object::namespace(quota))).map(|(_, stored)| &stored.value);
        for object in objects.filter(|object| is_in_scope(kind, object, quota)) {
            for (name, amount) in of_object(kind, object) {
                if let Some(used) = used.get_mut(&name) {
                    used.add(&amount);
                }
            }
        }
    }
    used
}

/// The kinds whose objects quotas may count.
pub(crate) fn countable(kinds: &Kinds) -> impl Iterator<Item = &Arc<Kind>> {
    let all = kinds.versions().flat_map(|(group, version)| kinds.of_version(group, version));
    all.filter(|kind| kind.scope == Scope::Namespaced && kind.verbs.iter().any(|verb| verb == "list"))
}

pub(crate) fn hard(quota: &Value) -> Amounts {
    amounts(quota.pointer("/spec/hard"))
}

/// Returns whether a quota limits anything of this object.
pub(crate) fn limits(quota: &Value, kind: &Kind, object: &Value) -> bool {
    hard(quota).keys().any(|name| is_used_by(kind, name)) && is_in_scope(kind, object, quota)
}

/// Returns the resources that a quota limits and that a container of a new Pod does not specify,
/// with the names of the containers.
pub(crate) fn unspecified(quota: &Value, kind: &Kind, pod: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let mut missing: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    if !kind.is_pod() {
        return missing;
    }
    let containers = list(pod, "/spec/containers").iter().chain(list(pod, "/spec/initContainers"));
    for container in containers {
        let of = |field: &str| amounts(container.pointer(&format!("/resources/{field}")));
        let specified = compute(&of("requests"), &of("limits"));
        for name in hard(quota).into_keys() {
            if SPECIFIED.contains(&name.as_str()) && !specified.contains_key(&name) {
                missing.entry(name).or_default().insert(object::text(container, "name").to_owned());
            }
        }
    }
    missing
}

/// Returns what an object uses.
pub(crate) fn of_object(kind: &Kind, object: &Value) -> Amounts {
    let mut used = Amounts::from([(count_name(kind), number(1))]);
    let Some(own_name) = own_name(kind) else { return used };
    match own_name {
        "pods" => {
            let is_over = matches!(text(object, "/status/phase"), "Succeeded" | "Failed");
            if !is_over {
                used.extend(compute(&of_pod(object, "requests"), &of_pod(object, "limits")));
                used.insert(own_name.to_owned(), number(1));
            }
        }
        "services" => {
            used.insert(own_name.to_owned(), number(1));
            used.extend(of_service(object));
        }
        CLAIMS => used.extend(of_claim(object)),
        other => {
            used.insert(other.to_owned(), number(1));
        }
    }
    used
}

fn number(count: usize) -> Quantity {
    Quantity::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn count_name(kind: &Kind) -> String {
    match kind.group() {
        "" => format!("count/{}", kind.resource.plural),
        group => format!("count/{}.{group}", kind.resource.plural),
    }
}

fn own_name(kind: &Kind) -> Option<&'static str> {
    let is_core = matches!(kind.origin, Origin::Builtin) && kind.group().is_empty();
    OWN_NAMES.into_iter().find(|name| is_core && **name == *kind.resource.plural)
}

/// Returns whether these are events, which no quota counts.
fn is_event(kind: &Kind) -> bool {
    matches!((kind.group(), &*kind.resource.plural), ("" | "events.k8s.io", "events"))
}

/// Returns whether objects of a kind may use the resource.
fn is_used_by(kind: &Kind, name: &str) -> bool {
    if is_event(kind) {
        return false;
    }
    if name == count_name(kind) {
        return true;
    }
    let Some(own_name) = own_name(kind) else { return false };
    name == own_name
        || match own_name {
            "pods" => {
                let requested = name.strip_prefix("requests.");
                COMPUTE.contains(&name)
                    || requested.unwrap_or(name).starts_with("hugepages-")
                    || requested.is_some_and(|name| name.contains('/'))
            }
            "services" => matches!(name, "services.nodeports" | "services.loadbalancers"),
            CLAIMS => name == STORAGE || name.split_once(CLASS).is_some_and(|(_, what)| matches!(what, STORAGE | CLAIMS)),
            _ => false,
        }
}

/// Returns the names that a quota has for the requests and limits of containers.
fn compute(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut used = Amounts::new();
    for (name, amount) in requests {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-") {
            used.insert(name.clone(), amount.clone());
        }
        used.insert(format!("requests.{name}"), amount.clone());
    }
    used.extend(limits.iter().map(|(name, amount)| (format!("limits.{name}"), amount.clone())));
    used
}

/// Returns the requests or the limits of a Pod: those of its containers, or of its initialization
/// if that needs more.
fn of_pod(pod: &Value, field: &str) -> Amounts {
    let of = |part: &Value| amounts(part.pointer(&format!("/resources/{field}")));
    let mut running = Amounts::new();
    for container in list(pod, "/spec/containers") {
        add(&mut running, &of(container));
    }
    let mut sidecars = Amounts::new();
    let mut initial = Amounts::new();
    for container in list(pod, "/spec/initContainers") {
        let mut needed = of(container);
        if object::text(container, "restartPolicy") == "Always" {
            add(&mut running, &needed);
            add(&mut sidecars, &needed);
            needed.clone_from(&sidecars);
        } else {
            add(&mut needed, &sidecars);
        }
        raise(&mut initial, needed);
    }
    raise(&mut running, initial);
    running.extend(of(pod.get("spec").unwrap_or(&Value::Null)));
    let mut overhead = amounts(pod.pointer("/spec/overhead"));
    overhead.retain(|name, _| field == "requests" || running.contains_key(name));
    add(&mut running, &overhead);
    running
}

fn add(sum: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        sum.entry(name.clone()).or_insert_with(|| number(0)).add(amount);
    }
}

fn raise(most: &mut Amounts, other: Amounts) {
    for (name, amount) in other {
        if most.get(&name).is_none_or(|most| *most < amount) {
            most.insert(name, amount);
        }
    }
}

fn of_service(service: &Value) -> Amounts {
    let ports = list(service, "/spec/ports");
    let has_ports = service.pointer("/spec/allocateLoadBalancerNodePorts") != Some(&Value::Bool(false));
    let (node_ports, balancers) = match text(service, "/spec/type") {
        "NodePort" => (ports.len(), 0),
        "LoadBalancer" if has_ports => (ports.len(), 1),
        "LoadBalancer" => (ports.iter().filter(|port| port.get("nodePort").is_some()).count(), 1),
        _ => (0, 0),
    };
    Amounts::from([
        ("services.nodeports".to_owned(), number(node_ports)),
        ("services.loadbalancers".to_owned(), number(balancers)),
    ])
}

fn of_claim(claim: &Value) -> Amounts {
    let mut used = Amounts::from([(CLAIMS.to_owned(), number(1))]);
    if let Some(storage) = amounts(claim.pointer("/spec/resources/requests")).remove("storage") {
        used.insert(STORAGE.to_owned(), storage);
    }
    let annotated = claim.pointer("/metadata/annotations/volume.beta.kubernetes.io~1storage-class").and_then(Value::as_str);
    let class = annotated.unwrap_or_else(|| text(claim, "/spec/storageClassName"));
    if !class.is_empty() {
        let of_class: Amounts = used.iter().map(|(name, amount)| (format!("{class}{CLASS}{name}"), amount.clone())).collect();
        used.extend(of_class);
    }
    used
}

/// Returns whether an object is in all scopes of a quota. Only Pods are in a scope.
fn is_in_scope(kind: &Kind, object: &Value, quota: &Value) -> bool {
    let mut scopes = list(quota, "/spec/scopes").iter().filter_map(Value::as_str);
    let mut expressions = list(quota, "/spec/scopeSelector/matchExpressions").iter();
    let is_in = |scope: &str, operator: &str, values: &[Value]| kind.is_pod() && pod_is_in(object, scope, operator, values);
    scopes.all(|scope| is_in(scope, "Exists", &[]))
        && expressions.all(|expression| {
            let field = |name: &str| object::text(expression, name);
            is_in(field("scopeName"), field("operator"), list(expression, "/values"))
        })
}

fn pod_is_in(pod: &Value, scope: &str, operator: &str, values: &[Value]) -> bool {
    let ends = pod.pointer("/spec/activeDeadlineSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds >= 0);
    let is_best_effort = text(pod, "/status/qosClass") == "BestEffort";
    match scope {
        "Terminating" => ends,
        "NotTerminating" => !ends,
        "BestEffort" => is_best_effort,
        "NotBestEffort" => !is_best_effort,
        "PriorityClass" => {
            let class = text(pod, "/spec/priorityClassName");
            let is_listed = !class.is_empty() && values.iter().any(|value| value == class);
            match operator {
                "In" => is_listed,
                "NotIn" => !is_listed,
                "DoesNotExist" => class.is_empty(),
                _ => !class.is_empty(),
            }
        }
        "CrossNamespacePodAffinity" => has_affinity_elsewhere(pod),
        _ => false,
    }
}

fn has_affinity_elsewhere(pod: &Value) -> bool {
    ["podAffinity", "podAntiAffinity"].into_iter().any(|kind| {
        let terms = |name: &str| list(pod, &format!("/spec/affinity/{kind}/{name}DuringSchedulingIgnoredDuringExecution"));
        let preferred = terms("preferred").iter().filter_map(|term| term.get("podAffinityTerm"));
        terms("required").iter().chain(preferred).any(|term| {
            !list(term, "/namespaces").is_empty() || term.get("namespaceSelector").is_some_and(|selector| !selector.is_null())
        })
    })
}
