//! Compares a plan with the manifest, as the host does.

use serde_json::Value;

use crate::kind::ObjectRef;
use crate::manifest::{ChildKind, Manifest, Strategy};
use crate::plan::{Child, DesiredChild, Plan};

/// Returns the reason for which the host would refuse a part of the plan, and the remedy.
pub(super) fn first_undeclared(plan: &Plan, manifest: &Manifest) -> Option<String> {
    if plan.delete_parent.is_some() && !manifest.deletes_parent {
        let remedy = "add `.deletes_parent()` to it";
        return Some(format!(
            "the manifest does not declare that the plugin deletes parents (UndeclaredParentDeletion): {remedy}"
        ));
    }
    let field = plan.parent.as_ref().and_then(|fields| undeclared_field(fields, "", manifest));
    if let Some(field) = field {
        return Some(format!(
            "the manifest does not declare that the plugin sets {field} of parents (UndeclaredParentField): add `.sets(\"{field}\")` to it"
        ));
    }
    plan.children.iter().flatten().find_map(|child| undeclared_child(child, manifest))
}

/// The identity of the parent, which typed objects repeat.
const IDENTITY: [&str; 4] = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];

/// Returns the first field that no declared one covers, as a JSON Pointer.
fn undeclared_field(value: &Value, pointer: &str, manifest: &Manifest) -> Option<String> {
    let is_declared = |declared: &String| declared == pointer || pointer.starts_with(&format!("{declared}/"));
    if IDENTITY.contains(&pointer) || manifest.parent_fields.iter().any(is_declared) {
        return None;
    }
    match value.as_object() {
        Some(fields) if !fields.is_empty() => fields.iter().find_map(|(name, value)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            undeclared_field(value, &format!("{pointer}/{name}"), manifest)
        }),
        _ => (!pointer.is_empty()).then(|| pointer.to_owned()),
    }
}

fn undeclared_child(child: &Child, manifest: &Manifest) -> Option<String> {
    let (api_version, kind, name, strategy) = match child {
        Child::Keep(ObjectRef { kind, name, .. }) => (kind.api_version, kind.kind, name.as_str(), None),
        Child::Apply(DesiredChild { object, strategy }) => {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
            (text("/apiVersion")?, text("/kind")?, text("/metadata/name").unwrap_or_default(), *strategy)
        }
        Child::Bytes(_) => return None,
    };
    let is_declared = |child: &&ChildKind| child.kind.api_version == api_version && child.kind.kind == kind;
    let Some(declared) = manifest.children.iter().find(is_declared) else {
        return Some(format!(
            "the manifest does not declare {kind} of {api_version} as a child kind, and {kind} {name} is one (UndeclaredKind): \
             add `.child::<{kind}>(Strategy::…)` to it"
        ));
    };
    let strategy = strategy.filter(|strategy| strength(*strategy) > strongest(declared))?;
    Some(format!(
        "{kind} {name} has the strategy {strategy:?}, and the manifest declares no such strong one for its kind (UndeclaredStrategy): \
         write `.child_kind(ChildKind::new({kind}::KIND, Strategy::{:?}).up_to(Strategy::{strategy:?}))`",
        declared.strategy
    ))
}

fn strongest(declared: &ChildKind) -> u8 {
    declared.strongest_strategy.map_or(0, strength).max(strength(declared.strategy))
}

/// The order of [`Strategy`], from weak to strong.
fn strength(strategy: Strategy) -> u8 {
    match strategy {
        Strategy::CreateOnly => 0,
        Strategy::Apply => 1,
        Strategy::Recreate => 2,
    }
}
