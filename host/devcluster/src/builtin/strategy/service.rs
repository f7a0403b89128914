//! The strategy of Services, and the allocation of their addresses and ports.
//!
//! Allocation starts with an address or port derived from the UID and takes the next free one, so
//! that the same seed gives the same cluster.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::status::{Fault, FieldError};

/// The first node port and their number: the default of `--service-node-port-range`.
const NODE_PORTS: (u64, u64) = (30000, 2768);

/// FNV-1a.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// `NormalizeClusterIPs`: copies `clusterIP` to `clusterIPs`.
pub(super) fn prepare_for_create(service: &mut Value) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let stated = spec.get("clusterIP").filter(|address| address.as_str().is_some_and(|address| !address.is_empty())).cloned();
    if let Some(address) = stated
        && spec.get("clusterIPs").is_none_or(Value::is_null)
    {
        spec.insert("clusterIPs".to_owned(), json!([address]));
    }
}

pub(super) fn prepare_for_update(service: &mut Value, old: &Value) {
    let empty = Map::new();
    let before = old.get("spec").and_then(Value::as_object).unwrap_or(&empty);
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let kind = |spec: &Map<String, Value>| spec.get("type").and_then(Value::as_str).unwrap_or("ClusterIP").to_owned();
    let (new_kind, old_kind) = (kind(spec), kind(before));
    if new_kind == "ExternalName" && old_kind != "ExternalName" {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if spec.get(field) == before.get(field) {
                spec.remove(field);
            }
        }
    } else if new_kind != "ExternalName" {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            let absent = spec.get(field).is_none_or(|value| value.is_null() || value.as_str() == Some(""));
            if let (true, Some(value)) = (absent, before.get(field)) {
                spec.insert(field.to_owned(), value.clone());
            }
        }
    }
    let keeps_ports = needs_node_ports(&new_kind, spec) && needs_node_ports(&old_kind, before);
    let old_ports: Vec<Value> = before.get("ports").and_then(Value::as_array).cloned().unwrap_or_default();
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(port) = port.as_object_mut() else { continue };
        let same = old_ports.iter().find(|old| ["port", "protocol"].iter().all(|name| old.get(name) == port.get(*name)));
        let node_port = same.and_then(|old| old.get("nodePort"));
        if keeps_ports {
            if let (false, Some(node_port)) = (port.contains_key("nodePort"), node_port) {
                port.insert("nodePort".to_owned(), node_port.clone());
            }
        } else if new_kind == "ClusterIP" && port.get("nodePort") == node_port {
            port.remove("nodePort");
        }
    }
}

fn needs_node_ports(kind: &str, spec: &Map<String, Value>) -> bool {
    match kind {
        "NodePort" => true,
        "LoadBalancer" => spec.get("allocateLoadBalancerNodePorts").and_then(Value::as_bool) != Some(false),
        _ => false,
    }
}

#[derive(Debug, Default)]
struct Taken {
    node_ports: HashSet<u64>,
    addresses: HashSet<String>,
}

impl Taken {
    fn by<'a>(services: impl Iterator<Item = &'a Value>) -> Self {
        let mut taken = Self::default();
        for spec in services.filter_map(|service| service.get("spec")) {
            taken.node_ports.extend(node_ports(spec));
            let addresses = spec.get("clusterIPs").and_then(Value::as_array).into_iter().flatten();
            taken.addresses.extend(addresses.filter_map(Value::as_str).filter(|address| *address != "None").map(str::to_owned));
        }
        taken
    }

    fn take_node_port(&mut self, number: u64, index: usize) -> Result<(), FieldError> {
        let (first, count) = NODE_PORTS;
        let why = if !(first..first + count).contains(&number) {
            let last = first + count - 1;
            format!("provided port is not in the valid range. The range of valid ports is {first}-{last}")
        } else if !self.node_ports.insert(number) {
            "provided port is already allocated".to_owned()
        } else {
            return Ok(());
        };
        Err(FieldError::invalid(format!("spec.ports[{index}].nodePort"), number, why))
    }

    /// Takes the first free port, starting from `seed`.
    fn take_free_node_port(&mut self, seed: u64, index: usize) -> Result<u64, FieldError> {
        let (first, count) = NODE_PORTS;
        let mut candidates = (0..count).map(|offset| first + seed.wrapping_add(offset) % count);
        let free = candidates.find(|number| !self.node_ports.contains(number));
        let Some(number) = free else {
            return Err(FieldError::new(Fault::Internal, format!("spec.ports[{index}].nodePort"), "range is full"));
        };
        self.node_ports.insert(number);
        Ok(number)
    }

    /// Returns the first free address, starting from `seed`.
    fn free_address(&self, seed: u64) -> String {
        let address = |number: u64| format!("10.0.{}.{}", number % 254 + 1, (number >> 8) % 254 + 1);
        let mut candidates = (0..1 << 16).map(|offset: u64| address(seed.wrapping_add(offset)));
        candidates.find(|address| !self.addresses.contains(address)).unwrap_or_else(|| address(seed))
    }
}

fn node_ports(spec: &Value) -> impl Iterator<Item = u64> {
    let ports = spec.get("ports").and_then(Value::as_array).into_iter().flatten();
    ports.filter_map(|port| port.get("nodePort")?.as_u64()).filter(|number| *number != 0)
}

/// Allocates the addresses and ports of a Service that replaces `old`.
///
/// # Errors
///
/// The Service requests an address or port that one of `others` has, or no port is free.
pub(crate) fn allocate<'a>(
    service: &mut Value,
    old: Option<&Value>,
    others: impl Iterator<Item = &'a Value>,
) -> Result<(), FieldError> {
    let seed = hash(crate::object::metadata(service, "uid"));
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or("ClusterIP").to_owned();
    if kind == "ExternalName" {
        return Ok(());
    }
    let mut taken = Taken::by(others);
    let before = old.and_then(|old| old.get("spec")).unwrap_or(&Value::Null);
    let first = spec.get("clusterIPs").and_then(|ips| ips.get(0)).cloned();
    let stated = spec.get("clusterIP").cloned().filter(|ip| ip.as_str() != Some("")).or(first);
    if let Some(Value::String(address)) = &stated
        && before.get("clusterIP") != stated.as_ref()
        && taken.addresses.contains(address)
    {
        let why = format!("failed to allocate IP {address}: provided IP is already allocated");
        return Err(FieldError::invalid("spec.clusterIPs", json!([address]), why));
    }
    let address = stated.unwrap_or_else(|| Value::from(taken.free_address(seed)));
    spec.entry("clusterIPs").or_insert_with(|| json!([address]));
    let headless = address == "None";
    spec.insert("clusterIP".to_owned(), address);
    let selects = spec.get("selector").and_then(Value::as_object).is_some_and(|selector| !selector.is_empty());
    let dual = headless && !selects;
    spec.entry("ipFamilyPolicy").or_insert_with(|| json!(if dual { "RequireDualStack" } else { "SingleStack" }));
    spec.entry("ipFamilies").or_insert_with(|| if dual { json!(["IPv4", "IPv6"]) } else { json!(["IPv4"]) });
    if !matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        return Ok(());
    }
    let gets_ports = needs_node_ports(&kind, spec);
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut).map(Vec::as_mut_slice).unwrap_or_default();
    match old {
        None => allocate_first(ports, gets_ports, seed, &mut taken),
        Some(_) => allocate_again(ports, gets_ports, seed, &node_ports(before).collect(), &mut taken),
    }
}

/// `initNodePorts`: a port has the same node port for all protocols, unless requested otherwise.
fn allocate_first(ports: &mut [Value], gets_ports: bool, seed: u64, taken: &mut Taken) -> Result<(), FieldError> {
    let number = |port: &Value, field: &str| port.get(field).and_then(Value::as_u64).unwrap_or_default();
    let mut requested: HashMap<u64, u64> = HashMap::new();
    for port in ports.iter().filter(|port| number(port, "nodePort") != 0) {
        requested.entry(number(port, "port")).or_insert(number(port, "nodePort"));
    }
    let mut allocated: HashMap<u64, u64> = HashMap::new();
    for (index, port) in ports.iter_mut().enumerate() {
        let (own, asked) = (number(port, "port"), number(port, "nodePort"));
        if asked == 0 && !gets_ports {
            continue;
        }
        let given = match (allocated.get(&own), requested.get(&own)) {
            (Some(given), _) if asked == 0 || asked == *given => *given,
            (Some(_), _) => taken.take_node_port(asked, index).map(|()| asked)?,
            (None, Some(wanted)) => taken.take_node_port(*wanted, index).map(|()| *wanted)?,
            (None, None) => taken.take_free_node_port(seed.wrapping_add(index as u64), index)?,
        };
        allocated.entry(own).or_insert(given);
        if let Some(port) = port.as_object_mut() {
            port.insert("nodePort".to_owned(), json!(given));
        }
    }
    Ok(())
}

/// `updateNodePorts`: the Service keeps its node ports.
fn allocate_again(
    ports: &mut [Value],
    gets_ports: bool,
    seed: u64,
    before: &HashSet<u64>,
    taken: &mut Taken,
) -> Result<(), FieldError> {
    let mut own = before.clone();
    for (index, port) in ports.iter_mut().enumerate() {
        let asked = port.get("nodePort").and_then(Value::as_u64).unwrap_or_default();
        if asked != 0 {
            if own.insert(asked) {
                taken.take_node_port(asked, index)?;
            }
            continue;
        }
        if gets_ports && let Some(port) = port.as_object_mut() {
            let given = taken.take_free_node_port(seed.wrapping_add(index as u64), index)?;
            port.insert("nodePort".to_owned(), json!(given));
        }
    }
    Ok(())
}
