//! Services: the strategy, and the allocation of addresses and ports.
//!
//! Addresses follow from the UID, so that the same seed gives the same cluster. Two Services may get the same one; nothing routes to
//! them.

use serde_json::{Map, Value, json};

/// The first node port, and how many there are.
const NODE_PORTS: (u64, u64) = (30000, 2768);

/// FNV-1a.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

pub(super) fn prepare_for_create(service: &mut Value) {
    allocate(service);
}

/// Values that were allocated before are kept where the new object is silent about them.
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
    allocate(service);
}

fn needs_node_ports(kind: &str, spec: &Map<String, Value>) -> bool {
    match kind {
        "NodePort" => true,
        "LoadBalancer" => spec.get("allocateLoadBalancerNodePorts").and_then(Value::as_bool) != Some(false),
        _ => false,
    }
}

fn allocate(service: &mut Value) {
    let seed = hash(crate::object::metadata(service, "uid"));
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or("ClusterIP").to_owned();
    if kind == "ExternalName" {
        return;
    }
    let first = spec.get("clusterIPs").and_then(|ips| ips.get(0)).cloned();
    let stated = spec.get("clusterIP").cloned().filter(|ip| ip.as_str() != Some(""));
    let address = stated.or(first).unwrap_or_else(|| json!(format!("10.0.{}.{}", seed % 254 + 1, (seed >> 8) % 254 + 1)));
    spec.entry("clusterIPs").or_insert_with(|| json!([address]));
    let headless = address == "None";
    spec.insert("clusterIP".to_owned(), address);
    let selects = spec.get("selector").and_then(Value::as_object).is_some_and(|selector| !selector.is_empty());
    let dual = headless && !selects;
    spec.entry("ipFamilyPolicy").or_insert_with(|| json!(if dual { "RequireDualStack" } else { "SingleStack" }));
    spec.entry("ipFamilies").or_insert_with(|| if dual { json!(["IPv4", "IPv6"]) } else { json!(["IPv4"]) });
    if !needs_node_ports(&kind, spec) {
        return;
    }
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
    for (index, port) in ports.enumerate() {
        let Some(port) = port.as_object_mut() else { continue };
        let (least, count) = NODE_PORTS;
        let number = least + seed.wrapping_add(index as u64) % count;
        port.entry("nodePort").or_insert_with(|| json!(number));
    }
}
