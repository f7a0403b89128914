//! Reads the document of a configuration file.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use gyre_core::conflict::OnConflict;
use gyre_core::grants::{Adoption, Namespaces};
use gyre_engine::program::{Policy, PublishedEvents};
use gyre_input::document::{Node, Part};
use gyre_input::problem::Problems;
use gyre_registry::PullPolicy;
use gyre_sandbox::{Limits, Reuse};

use super::keys::{self, File, Mount, Shadow};
use super::process;
use super::schema_errors::check;
use super::spec::{Configuration, Located, MountPolicy, MountSpec, Origin, PluginSpec, ReconcilerNames, SettingsFrom, set};
use super::types::{Count, FilePath, Label, List, Size, Text, Time};
use super::verification::Verification;

const MOUNT_SOMETHING: &str = "list what to mount under mounts, or name a pluginDirectory";

/// Reads a configuration file. Paths in it are relative to `directory`. Invalid values are reported
/// and ignored. `overrides` override the `defaults` of the file.
pub(crate) fn read(
    root: Part,
    directory: &Path,
    overrides: impl Fn(&mut MountPolicy),
    problems: &mut Problems,
) -> Configuration {
    let mut configuration = Configuration::empty(root.clone());
    if root.node().is_none_or(Node::is_null) {
        problems.add(root.place(), "the file is empty", MOUNT_SOMETHING);
        overrides(&mut configuration.defaults);
        return configuration;
    }
    let (file, wrong) = check(&root, problems);
    let mut reader = Reader { directory, wrong, problems };
    let is_map = file.is_some();
    let File { name, host, defaults, mounts, plugin_directory } = file.unwrap_or_default();
    if let Some(Label(name)) = name {
        configuration.name = Located { value: Some(name), place: root.at("/name").place() };
    }
    configuration.host = process::settings(&host.unwrap_or_default());
    let base = MountPolicy::default();
    configuration.defaults = reader.policy(&defaults.unwrap_or_default(), &root.at("/defaults"), &base);
    overrides(&mut configuration.defaults);
    let is_absent = |key| root.at(key).node().is_none_or(Node::is_null);
    if is_map && is_absent("/mounts") && is_absent("/pluginDirectory") {
        let what = "nothing is mounted: there are neither mounts nor a pluginDirectory";
        reader.problems.add(root.place(), what, format!("{MOUNT_SOMETHING}; mounts: [] unmounts all"));
    }
    let located = |FilePath(path)| Located { value: directory.join(path), place: root.at("/pluginDirectory").place() };
    configuration.directory = plugin_directory.map(located);
    for (index, mount) in mounts.iter().flat_map(List::iter) {
        let part = root.at(&format!("/mounts/{index}"));
        configuration.mounts.extend(reader.mount(mount.clone(), &part, &configuration.defaults));
    }
    configuration
}

struct Reader<'a> {
    directory: &'a Path,
    wrong: BTreeSet<String>,
    problems: &'a mut Problems,
}

impl Reader<'_> {
    fn is_wrong(&self, part: &Part) -> bool {
        let at = part.pointer();
        let mut below = self.wrong.range(at.to_owned()..).map_while(|wrong| wrong.strip_prefix(at));
        below.any(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn mount(&mut self, keys: Mount, part: &Part, defaults: &MountPolicy) -> Option<MountSpec> {
        let policy = self.policy(&keys.policy, part, defaults);
        let shadow = keys.shadow.as_ref().and_then(|Shadow { source }| self.plugin(part.at("/shadow"), source));
        let source = self.plugin(part.clone(), &keys.source)?;
        self.check_registry_keys(&keys, &source);
        if self.is_wrong(&part.at("/reconciler")) {
            return None;
        }
        let reconcilers = ReconcilerNames::One(keys.reconciler.as_ref().map(|Label(name)| name.clone()));
        Some(MountSpec { origin: Origin::File, source, reconcilers, policy, shadow, keys })
    }

    fn plugin(&mut self, part: Part, keys: &keys::Source) -> Option<PluginSpec> {
        let keys::Source { plugin, digest, settings, settings_from } = keys;
        if self.is_wrong(&part.at("/digest")) {
            return None;
        }
        let (inline, file, has_settings) = (part.at("/settings"), part.at("/settingsFrom"), settings.is_some());
        let settings = match settings_from {
            Some(_) if has_settings => {
                self.problems.add(file.place(), "there are settings and settingsFrom", "keep one of the two");
                SettingsFrom::Unknown
            }
            _ if self.is_wrong(&inline) || self.is_wrong(&file) => SettingsFrom::Unknown,
            Some(FilePath(path)) => SettingsFrom::File(self.directory.join(path), file),
            None if has_settings => SettingsFrom::Inline(inline),
            None => SettingsFrom::Default,
        };
        if plugin.is_none() && !self.is_wrong(&part.at("/plugin")) {
            self.problems.add(part.place(), "the plugin is missing", "say plugin: and the file of a WebAssembly component");
        }
        let Text(plugin) = plugin.as_ref()?;
        let digest = digest.as_ref().map(|Text(digest)| *digest);
        Some(PluginSpec { plugin: plugin.within(self.directory), digest, settings, part })
    }

    /// Reports keys about registries of a mount whose plugin does not come from one.
    fn check_registry_keys(&mut self, keys: &Mount, source: &PluginSpec) {
        let policy = &keys.policy;
        let of_shadow = keys.shadow.as_ref().and_then(|shadow| shadow.source.plugin.as_ref());
        if source.plugin.reference().is_some() || of_shadow.is_some_and(|Text(plugin)| plugin.reference().is_some()) {
            return;
        }
        let is_set = [("pull", policy.pull.is_some()), ("verify", policy.verify.is_some())];
        for (key, _) in is_set.into_iter().filter(|(_, is_set)| *is_set) {
            let place = source.part.at(&format!("/{key}")).place();
            let what = format!("{key} is about plugins of registries, and this one is a file");
            self.problems.add(place, what, "remove it, or name the plugin by oci://...; digest pins a file");
        }
    }

    /// The values of the keys, or those of the base for keys that are not set.
    fn policy(&self, keys: &keys::Policy, part: &Part, base: &MountPolicy) -> MountPolicy {
        let mut policy = base.clone();
        if self.is_wrong(&part.at("/namespaces")) {
            policy.namespaces = None;
        } else if let Some(names) = &keys.namespaces {
            policy.namespaces = Some(Namespaces::Only(names.names()));
        }
        set(
            &mut policy.pull,
            keys.pull.map(|pull| match pull {
                keys::Pull::IfNotPresent => PullPolicy::IfNotPresent,
                keys::Pull::Always => PullPolicy::Always,
                keys::Pull::Never => PullPolicy::Never,
            }),
        );
        let verify = keys.verify.clone();
        let verify = verify.map(|verify| Verification::new(verify, part.at("/verify"), self.directory));
        policy.verify = verify.map(Arc::new).or(policy.verify);
        set(&mut policy.adoption, keys.adoption.map(|adopts| if adopts { Adoption::Allowed } else { Adoption::Refused }));
        set_reconciles(&mut policy.reconciles, keys);
        policy
    }
}

fn set_reconciles(policy: &mut Policy, keys: &keys::Policy) {
    if let Some(limits) = &keys.limits {
        set_limits(&mut policy.limits, limits);
    }
    set(&mut policy.workers, keys.workers.and_then(Count::whole));
    set(&mut policy.max_retries, keys.max_retries.map(|Count(retries)| retries));
    set(&mut policy.quarantine_after, keys.quarantine_after.map(|Count(faults)| faults));
    set(&mut policy.requeue_floor, keys.min_requeue_after.map(|Time(floor)| floor));
    let published = keys.events.map(|events| match events {
        keys::Published::All => PublishedEvents::All,
        keys::Published::Warnings => PublishedEvents::Warnings,
    });
    set(&mut policy.events, published);
    let on_conflict = keys.on_conflict.map(|on_conflict| match on_conflict {
        keys::OnConflict::Refuse => OnConflict::Refuse,
        keys::OnConflict::SkipField => OnConflict::SkipField,
    });
    set(&mut policy.on_conflict, on_conflict);
    if let Some(keys::DeletionGuard { children, percent }) = &keys.deletion_guard {
        set(&mut policy.deletion_guard.children, children.and_then(|Count(children)| children));
        set(&mut policy.deletion_guard.percent, percent.and_then(|Count(percent)| percent));
    }
}

fn set_limits(limits: &mut Limits, keys: &keys::Limits) {
    let size = |target: &mut usize, size: Option<Size>| set(target, size.map(|Size(bytes)| bytes));
    let count = |target: &mut usize, count: Option<Count>| set(target, count.and_then(Count::whole));
    set(&mut limits.deadline, keys.deadline.map(|Time(deadline)| deadline));
    size(&mut limits.memory_bytes, keys.memory);
    size(&mut limits.output_bytes, keys.output);
    count(&mut limits.output_depth, keys.output_depth);
    count(&mut limits.children, keys.children);
    count(&mut limits.conditions, keys.conditions);
    count(&mut limits.events, keys.events);
    count(&mut limits.reads, keys.reads);
    size(&mut limits.read_bytes, keys.read_bytes);
    size(&mut limits.text_bytes, keys.text_bytes);
    size(&mut limits.log_bytes, keys.log);
    count(&mut limits.log_lines, keys.log_lines);
    set(&mut limits.reuse, keys.reuse.map(|Count(calls)| calls.map_or(Reuse::Never, Reuse::UpTo)));
}
