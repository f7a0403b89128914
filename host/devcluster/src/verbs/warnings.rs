//! Warnings about valid but risky objects, as in the strategies' `WarningsOnCreate`.

use serde_json::Value;

use crate::kinds::{Kind, Origin};
use crate::object;

pub(crate) fn on_create(kind: &Kind, value: &Value) -> Vec<String> {
    match &kind.origin {
        Origin::Custom(_) => finalizers(value),
        Origin::Builtin if kind.is_pod() => pod(value),
        Origin::Builtin => Vec::new(),
    }
}

fn finalizers(value: &Value) -> Vec<String> {
    let bare = object::finalizers(value)
        .filter(|finalizer| !finalizer.contains('/') && !matches!(*finalizer, "orphan" | "foregroundDeletion" | "kubernetes"));
    bare.map(|finalizer| {
        format!(
            "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other \
             finalizer writers"
        )
    })
    .collect()
}

fn pod(value: &Value) -> Vec<String> {
    const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";
    let mut warnings = Vec::new();
    if value.pointer("/metadata/annotations").and_then(|annotations| annotations.get(SECCOMP)).is_some() {
        let instead = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
        warnings.push(format!("metadata.annotations[{SECCOMP}]: {instead}"));
    }
    for list in ["containers", "initContainers"] {
        let containers = value.get("spec").and_then(|spec| spec.get(list)).and_then(Value::as_array);
        for (index, container) in containers.into_iter().flatten().enumerate() {
            let variables: Vec<&str> = container
                .get("env")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(|env| object::text(env, "name"))
                .collect();
            for (position, name) in variables.iter().enumerate() {
                if variables.iter().take(position).any(|earlier| earlier == name) {
                    warnings.push(format!(
                        "spec.{list}[{index}].env[{position}]: hides previous definition of {name:?}, which may be dropped when using apply"
                    ));
                }
            }
        }
    }
    warnings
}
