//! `gyre inspect`: describes a plugin.

use std::fmt::Write as _;

use clap::{Args, ValueHint};
use gyre_core::grants::Scope;
use gyre_core::groups::Grouping;
use gyre_core::manifest::Manifest;
use gyre_core::object::GroupVersionKind;
use gyre_core::text::{cut, without_control};
use gyre_engine::telemetry::time::Took;
use gyre_sandbox::{CodeSource, Plugin};
use serde_json::{Value, json};

use crate::commands::output::ReportArguments;
use crate::config::arguments::mounts::CodeArguments;
use crate::known_kinds::Known;
use crate::plugins::source::{Component, PluginSource};
use crate::plugins::{open_component, read};

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre inspect echo.wasm
  gyre inspect oci://registry.example.com/team/echo:1.4
  gyre inspect echo.wasm -o json | jq '.manifests[].children'";

/// The most annotations in the text; -o json prints all.
const MOST_ANNOTATIONS: usize = 20;
/// The most bytes of an annotation in the text.
const LONGEST_ANNOTATION: usize = 200;

#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    /// The plugin: a path, or a reference in a registry. -o json also prints the schema of its
    /// settings and its CustomResourceDefinitions.
    #[arg(value_name = "PLUGIN", value_hint = ValueHint::AnyPath)]
    plugin: PluginSource,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    code: CodeArguments,
}

pub(crate) fn inspect(arguments: &InspectArguments) -> anyhow::Result<()> {
    let component = read(&arguments.code.registry.store(), &arguments.plugin)?;
    let plugins: Vec<Plugin> = open_component(&arguments.code.sandbox()?, &component)?.iter().collect();
    let texts = || plugins.iter().map(|plugin| as_text(plugin, &component)).collect::<Vec<_>>().join("\n");
    arguments.report.format.print(|| Ok(texts()), || as_json(&plugins, &component))
}

fn allows(import: &str) -> &'static str {
    let interface = import.split('@').next().unwrap_or(import);
    match interface {
        "gyre:plugin/types" => "nothing: it only defines types",
        "gyre:plugin/cluster" => {
            "to read its children, and other objects that it declares and is granted, from the host's caches"
        }
        "gyre:plugin/log" => "to write log lines",
        "wasi:clocks/wall-clock" | "wasi:clocks/monotonic-clock" => "to read the time of the call, which does not advance",
        "wasi:random/random" | "wasi:random/insecure" | "wasi:random/insecure-seed" => {
            "to get random numbers, which are derived from the parent's UID"
        }
        "wasi:cli/stdout" | "wasi:cli/stderr" => "to print text, which becomes log lines",
        "wasi:cli/environment" => "to read environment variables and arguments, which are empty",
        "wasi:cli/exit" => "to end its call",
        "wasi:cli/stdin" => "to read standard input, which is empty",
        _ if interface.starts_with("wasi:cli/terminal") => "to look for a terminal; there is none",
        _ if interface.starts_with("wasi:filesystem/") => "to look for files; there are none",
        _ if interface.starts_with("wasi:sockets/") => "to request sockets, which is always refused",
        _ if interface.starts_with("wasi:io/") => "to wait for timers, and to write to the standard streams",
        _ => "functions that the sandbox provides under this name",
    }
}

fn source(plugin: &Plugin) -> &'static str {
    match plugin.compile().source {
        CodeSource::Compiled => "compiled",
        CodeSource::Cache => "from the code cache",
        CodeSource::Native => "native",
    }
}

/// The component is the same for all its reconcilers.
fn as_json(plugins: &[Plugin], component: &Component) -> Value {
    let Some(plugin) = plugins.first() else { return Value::Null };
    let manifests: Vec<&Manifest> = plugins.iter().map(Plugin::manifest).collect();
    let imports: Vec<Value> = plugin.imports().iter().map(|name| json!({ "name": name, "allows": allows(name) })).collect();
    json!({
        "digest": plugin.digest().to_string(),
        "artifact": component.artifact.as_ref().map(|artifact| &*artifact.digest),
        "annotations": component.annotations,
        "bytes": component.size,
        "contract": plugin.contract(),
        "code": { "source": source(plugin), "milliseconds": plugin.compile().duration.as_millis() },
        "imports": imports,
        "manifests": manifests,
        "defaultGrants": { "readNamespaces": "parent", "writeNamespaces": "parent" },
    })
}

fn as_text(plugin: &Plugin, component: &Component) -> String {
    let manifest = plugin.manifest();
    let mut text = String::new();
    // Writing to a string does not fail.
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<12} {value}");
    };
    line("plugin", &format!("{} {}", manifest.name, manifest.version));
    line("", &manifest.description);
    line("digest", &plugin.digest().to_string());
    if let Some(artifact) = &component.artifact {
        line("artifact", &artifact.digest);
    }
    for (name, value) in component.annotations.iter().take(MOST_ANNOTATIONS) {
        line("annotation", &without_control(&cut(&format!("{name}={value}"), LONGEST_ANNOTATION)));
    }
    line("size", &format!("{} bytes", component.size));
    line("contract", &format!("gyre:plugin@{}", plugin.contract()));
    line("code", &format!("{}, in {}", source(plugin), Took(plugin.compile().duration)));
    let together = match manifest.members.as_ref().map(|members| &members.grouping) {
        None => String::new(),
        Some(Grouping::All) => ", all in one call".to_owned(),
        Some(Grouping::ByField(pointer)) => format!(", those with the same {pointer} in one call"),
    };
    line("reconciles", &format!("{}{together}", kind(manifest.users_kind())));
    for child in &manifest.children {
        let deleted = serde_json::to_value(child.propagation).unwrap_or_default();
        let (how, deleted) = (child.strategy.as_str(), deleted.as_str().unwrap_or_default());
        let strongest = child.strongest_strategy.filter(|strongest| *strongest != child.strategy);
        let up_to = strongest.map(|strongest| format!(" (single objects: up to {})", strongest.as_str())).unwrap_or_default();
        let stays = if child.outlives_parent { "; it stays when its parent is deleted" } else { "" };
        line("creates", &format!("{}, with strategy {how}{up_to} and {deleted} deletion{stays}", kind(&child.kind)));
    }
    if !manifest.children.is_empty() {
        let known = Known::new(manifest.crds.iter());
        line(
            "writes to",
            match known.scope(&manifest.parent) {
                Some(Scope::Cluster) if manifest.members.is_some() => {
                    "namespaces that it creates for a group; others only if grants.writeNamespaces of the mount includes them"
                }
                Some(Scope::Cluster) => {
                    "namespaces that it creates for a parent, which is cluster-scoped; others only if grants.writeNamespaces of the mount includes them"
                }
                _ => "the namespace of each parent; others only if grants.writeNamespaces of the mount includes them",
            },
        );
    }
    for read in &manifest.reads {
        let mut what = kind(&read.kind);
        if let Some(namespace) = &read.namespace {
            what.push_str(&format!(" in {namespace}"));
        }
        if let Some(selector) = &read.label_selector {
            what.push_str(&format!(" where {selector}"));
        }
        if read.metadata_only {
            what.push_str(", metadata only");
        }
        line("reads", &what);
    }
    for field in &manifest.parent_fields {
        line("sets", &format!("{field} of {}, if grants.parentFields of the mount allows it", kind(&manifest.parent)));
    }
    if manifest.deletes_parent {
        line("deletes", &format!("{}, if grants.deleteParents of the mount allows it", kind(&manifest.parent)));
    }
    line("finalizes", if manifest.finalizes { "yes: parents that are deleted wait for its teardown" } else { "no" });
    line("settings", if manifest.settings_schema.is_some() { "yes: -o json prints their schema" } else { "none" });
    for crd in &manifest.crds {
        line("contains", crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default());
    }
    for import in plugin.imports() {
        line("imports", &format!("{import}: {}", allows(import)));
    }
    text
}

fn kind(kind: &GroupVersionKind) -> String {
    format!("{} of {}", kind.kind, kind.api_version())
}
