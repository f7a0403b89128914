//! The configuration file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gyre_core::grants::{Adoption, Namespaces, ReadNamespaces};
use gyre_core::names;
use gyre_core::object::GroupVersionKind;
use gyre_core::selector::Selector;
use gyre_engine::program::{ServiceAccount, bounds};
use gyre_sandbox::Limits;

use super::node::{Document, Value};
use super::problem::Problems;
use super::process;
use super::read::{Field, Map};
use crate::config::spec::{
    Configuration, FOREVER, GrantSpec, MountSpec, NEVER, Origin, Policy, Said, Settings, SettingsFrom, ShadowSpec,
    WriteNamespacesSpec, reuse,
};

pub(super) const ROOT: [&str; 5] = ["name", "host", "defaults", "mounts", "pluginDirectory"];
pub(super) const POLICY: [&str; 7] =
    ["namespaces", "adoption", "limits", "workers", "maxRetries", "quarantineAfter", "minRequeueAfter"];
pub(super) const MOUNT: [&str; 15] = [
    "name",
    "plugin",
    "namespaces",
    "selector",
    "settings",
    "settingsFrom",
    "limits",
    "workers",
    "maxRetries",
    "quarantineAfter",
    "minRequeueAfter",
    "grants",
    "adoption",
    "impersonate",
    "shadow",
];
pub(super) const SHADOW: [&str; 3] = ["plugin", "settings", "settingsFrom"];
pub(super) const GRANTS: [&str; 4] = ["children", "reads", "readNamespaces", "writeNamespaces"];
pub(super) const LIMITS: [&str; 13] = [
    "deadline",
    "memory",
    "output",
    "outputDepth",
    "children",
    "conditions",
    "events",
    "reads",
    "readBytes",
    "textBytes",
    "log",
    "logLines",
    "reuse",
];

/// Reads a configuration file's document. Paths in it are relative to `directory`.
///
/// What cannot be read is a problem, and taken as if it were not there. `overrides` go before the file's `defaults`.
pub(crate) fn read(
    document: &Document,
    directory: &Path,
    overrides: impl Fn(&mut Policy),
    problems: &mut Problems,
) -> Configuration {
    let collected = RefCell::new(Problems::default());
    let file = Reader { directory };
    let configuration = file.configuration(Field::root(&document.source, &document.root, &collected), overrides);
    problems.0.append(&mut collected.into_inner().0);
    configuration
}

struct Reader<'a> {
    directory: &'a Path,
}

impl Reader<'_> {
    fn configuration(&self, root: Field<'_>, overrides: impl Fn(&mut Policy)) -> Configuration {
        let mut configuration = Configuration::empty(root.source().whole());
        let is_empty = matches!(root.node.value, Value::Null);
        let Some(map) = (if is_empty { None } else { root.clone().map("the configuration", &ROOT) }) else {
            overrides(&mut configuration.defaults);
            if is_empty {
                root.wrong("the file is empty", "list what to mount under mounts, or name a pluginDirectory");
            }
            return configuration;
        };
        if let Some(name) = map.get("name").as_ref().and_then(label) {
            configuration.name = Said { value: Some(name.value), place: name.place };
        }
        if let Some(host) = map.get(process::KEY) {
            configuration.host = process::read(host);
        }
        if let Some(defaults) = map.get("defaults").and_then(|defaults| defaults.map("the defaults", &POLICY)) {
            configuration.defaults = policy(&defaults, &configuration.defaults);
        }
        overrides(&mut configuration.defaults);
        configuration.directory = map.get("pluginDirectory").as_ref().and_then(|field| self.path(field));
        match map.get("mounts") {
            Some(mounts) => {
                let mounts = mounts.list("mounts").into_iter().flatten();
                configuration.mounts = mounts.filter_map(|mount| self.mount(mount, &configuration.defaults)).collect();
            }
            None if map.get("pluginDirectory").is_none() => root.wrong(
                "nothing is mounted: there are neither mounts nor a pluginDirectory",
                "list what to mount under mounts, or name a pluginDirectory; mounts: [] unmounts all",
            ),
            None => {}
        }
        configuration
    }

    fn mount(&self, field: Field<'_>, defaults: &Policy) -> Option<MountSpec> {
        let place = field.place();
        let map = field.map("a mount", &MOUNT)?;
        let name = map.get("name").as_ref().and_then(label);
        let policy = policy(&map, defaults);
        let selector = map.get("selector").as_ref().and_then(selector).unwrap_or_default();
        let settings = self.settings(&map);
        let grants = map.get("grants").as_ref().map(grants).unwrap_or_default();
        let impersonate = map.get("impersonate").as_ref().and_then(service_account);
        let shadow = map.get("shadow").and_then(|field| self.shadow(field));
        let plugin = self.plugin(&map)?;
        Some(MountSpec { origin: Origin::File, place, name, plugin, selector, settings, grants, impersonate, shadow, policy })
    }

    fn shadow(&self, field: Field<'_>) -> Option<ShadowSpec> {
        let place = field.place();
        let map = field.map("a shadow", &SHADOW)?;
        let settings = self.settings(&map);
        Some(ShadowSpec { place, plugin: self.plugin(&map)?, settings })
    }

    fn plugin(&self, map: &Map<'_>) -> Option<Said<PathBuf>> {
        let Some(plugin) = map.get("plugin") else {
            map.field().wrong("the plugin is missing", "say plugin: and the file of a WebAssembly component");
            return None;
        };
        self.path(&plugin)
    }

    fn settings(&self, mount: &Map<'_>) -> SettingsFrom {
        match (mount.get("settings"), mount.get("settingsFrom")) {
            (Some(_), Some(file)) => {
                file.wrong("there are settings and settingsFrom", "keep one of the two");
                SettingsFrom::Unknown
            }
            (Some(field), None) => settings(&field).map_or(SettingsFrom::Unknown, SettingsFrom::Inline),
            (None, Some(file)) => self.path(&file).map_or(SettingsFrom::Unknown, SettingsFrom::File),
            (None, None) => SettingsFrom::Default,
        }
    }

    fn path(&self, field: &Field<'_>) -> Option<Said<PathBuf>> {
        let text = field.string("a path, relative to the folder of this file")?;
        if text.is_empty() {
            field.wrong("the path is empty", "write a path, relative to the folder of this file");
            return None;
        }
        Some(Said { value: self.directory.join(text), place: field.place() })
    }
}

/// Settings that stand at a field.
fn settings(field: &Field<'_>) -> Option<Settings> {
    match field.node.value {
        Value::Map(_) => Some(Settings { source: field.source().clone(), node: field.node.clone(), path: field.path.clone() }),
        _ => {
            field.unexpected("a map of settings");
            None
        }
    }
}

/// What the map says, and the base where it says nothing.
fn policy(map: &Map<'_>, base: &Policy) -> Policy {
    let mut policy = base.clone();
    if let Some(field) = map.get("namespaces") {
        policy.namespaces = namespaces(&field);
    }
    if let Some(adopts) = map.get("adoption").and_then(|field| field.boolean()) {
        policy.adoption = if adopts { Adoption::Allowed } else { Adoption::Refused };
    }
    if let Some(limits) = map.get("limits").and_then(|field| field.map("limits", &LIMITS)) {
        read_limits(&limits, &mut policy.limits);
    }
    if let Some(workers) = map.get("workers").and_then(|field| field.number(bounds::WORKERS)) {
        policy.workers = workers as usize;
    }
    if let Some(retries) = map.get("maxRetries").and_then(|field| field.number_or_word(bounds::RETRIES, Some(FOREVER))) {
        policy.max_retries = retries;
    }
    if let Some(faults) = map.get("quarantineAfter").and_then(|field| field.number_or_word(bounds::FAULTS, Some(NEVER))) {
        policy.quarantine_after = faults;
    }
    if let Some(floor) = map.get("minRequeueAfter").and_then(|field| field.duration(bounds::REQUEUE)) {
        policy.requeue_floor = floor;
    }
    policy
}

fn read_limits(map: &Map<'_>, limits: &mut Limits) {
    fn set<T>(target: &mut T, value: Option<T>) {
        if let Some(value) = value {
            *target = value;
        }
    }
    let count = |key: &str, range| map.get(key).and_then(|field| field.number(range)).map(|number| number as usize);
    let bytes = |key: &str, range| map.get(key).and_then(|field| field.bytes(range));
    set(&mut limits.deadline, map.get("deadline").and_then(|field| field.duration(bounds::DEADLINE)));
    set(&mut limits.memory_bytes, bytes("memory", bounds::MEMORY));
    set(&mut limits.output_bytes, bytes("output", bounds::OUTPUT));
    set(&mut limits.output_depth, count("outputDepth", bounds::DEPTH));
    set(&mut limits.children, count("children", bounds::CHILDREN));
    set(&mut limits.conditions, count("conditions", bounds::CONDITIONS));
    set(&mut limits.events, count("events", bounds::EVENTS));
    set(&mut limits.reads, count("reads", bounds::READS));
    set(&mut limits.read_bytes, bytes("readBytes", bounds::READ_BYTES));
    set(&mut limits.text_bytes, bytes("textBytes", bounds::TEXT_BYTES));
    set(&mut limits.log_bytes, bytes("log", bounds::LOG));
    set(&mut limits.log_lines, count("logLines", bounds::LOG_LINES));
    set(&mut limits.reuse, map.get("reuse").and_then(|field| field.number_or_word(bounds::REUSE, Some(NEVER))).map(reuse));
}

fn namespaces(field: &Field<'_>) -> Option<Namespaces> {
    let items = field.list("namespaces")?;
    if items.is_empty() {
        field.wrong("no namespace is listed", "list namespaces, or leave the key out for all namespaces");
        return None;
    }
    Some(Namespaces::Only(labels(field)?.into_iter().map(|name| name.value).collect()))
}

/// All of them are looked at, also if one is wrong.
fn labels(field: &Field<'_>) -> Option<Vec<Said<String>>> {
    let names: Vec<Option<Said<String>>> = field.list("namespaces")?.iter().map(label).collect();
    names.into_iter().collect()
}

fn label(field: &Field<'_>) -> Option<Said<String>> {
    let text = field.string("a name")?;
    if !names::is_dns_label(text) {
        field.unexpected("lower-case letters, digits and hyphens, at most 63");
        return None;
    }
    Some(Said { value: text.to_owned(), place: field.place() })
}

fn service_account(field: &Field<'_>) -> Option<ServiceAccount> {
    match field.string("a service account, as namespace/name")?.parse() {
        Ok(account) => Some(account),
        Err(_) => {
            field.unexpected("the namespace and the name of a service account, as in team-a/echo");
            None
        }
    }
}

fn selector(field: &Field<'_>) -> Option<Selector> {
    match field.string("a label selector, as kubectl get -l takes")?.parse() {
        Ok(selector) => Some(selector),
        Err(error) => {
            field.wrong(
                format!("it is no label selector: {error}"),
                "write one as kubectl get -l takes, e.g. app=web,tier in (a,b)",
            );
            None
        }
    }
}

fn grants(field: &Field<'_>) -> GrantSpec {
    let Some(map) = field.clone().map("grants", &GRANTS) else { return GrantSpec::default() };
    let words = BTreeMap::from([("parent", ReadNamespaces::OfParent), ("all", ReadNamespaces::All)]);
    let read_namespaces = map.get("readNamespaces").and_then(|field| {
        let found = match &field.node.value {
            Value::String(text) => words.get(text.as_str()).cloned(),
            _ => None,
        };
        if found.is_none() {
            field.unexpected("parent or all");
        }
        found
    });
    GrantSpec {
        children: map.get("children").as_ref().and_then(kinds),
        reads: map.get("reads").as_ref().and_then(kinds),
        read_namespaces: read_namespaces.unwrap_or_default(),
        write_namespaces: map.get("writeNamespaces").as_ref().and_then(write_namespaces).unwrap_or_default(),
    }
}

fn write_namespaces(field: &Field<'_>) -> Option<WriteNamespacesSpec> {
    match &field.node.value {
        Value::String(text) if text == "parent" => Some(WriteNamespacesSpec::OfParent),
        Value::String(text) if text == "all" => Some(WriteNamespacesSpec::All),
        Value::List(_) => Some(WriteNamespacesSpec::Named(labels(field)?)),
        _ => {
            field.unexpected("parent, all, or a list of namespaces");
            None
        }
    }
}

fn kinds(field: &Field<'_>) -> Option<Vec<Said<GroupVersionKind>>> {
    Some(field.list("kinds, such as Job.v1.batch")?.iter().filter_map(kind).collect())
}

fn kind(field: &Field<'_>) -> Option<Said<GroupVersionKind>> {
    let text = field.string("a kind, such as Job.v1.batch or ConfigMap.v1")?;
    let mut parts = text.splitn(3, '.');
    let (kind, version, group) = (parts.next()?, parts.next().unwrap_or_default(), parts.next());
    let is_group = group.is_none_or(names::is_dns_subdomain);
    if !(names::is_kind(kind) && names::is_dns_label_with_letter(version) && is_group) {
        field.unexpected("a kind as Kind.version.group, such as Job.v1.batch or ConfigMap.v1");
        return None;
    }
    Some(Said { value: GroupVersionKind::new(group.unwrap_or_default(), version, kind), place: field.place() })
}
