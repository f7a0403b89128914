//! Loads the programs of a configuration: reads and compiles plugins, and checks mounts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gyre_core::field_path::{FieldPath, any_covers};
use gyre_core::grants::{
    Grants, Kinds, Namespaces, ParentDeletions, ParentFields, ReadGrants, ReadNamespaces, Scope, WriteNamespaces, matches,
};
use gyre_core::manifest::Manifest;
use gyre_core::object::GroupVersionKind;
use gyre_core::text::list;
use gyre_engine::error::error_chain;
use gyre_engine::program::{Artifact, Program};
use gyre_input::document::{Part, Source, Value};
use gyre_input::problem::Problems;
use gyre_input::settings;
use gyre_sandbox::{Digest, Limits, Plugin, Reconcilers, Sandbox};

use super::document::read_document;
use super::keys::{self, All, GrantedFields, GrantedNamespaces, Reach};
use super::spec::{Configuration, MountPolicy, MountSpec, Origin, PluginSpec, ReconcilerNames, SettingsFrom};
use super::types::{Kind, Label, List, ParentField, Pattern, Text};
use crate::known_kinds::parent_scope;
use crate::plugins;
use crate::plugins::apart::Compiler;
use crate::plugins::files::Files;
use crate::plugins::source::oci::{Demands, Pulls, References};
use crate::plugins::source::{PluginSource, Reader};

/// The API groups of Kubernetes itself. Several controllers write the status of their objects.
const KUBERNETES_GROUPS: [&str; 22] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

pub(crate) struct Loader<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) pulls: &'a mut Pulls,
    /// The process that compiles plugins, unless this one does.
    pub(crate) compiler: Option<&'a Compiler>,
    pub(crate) current: &'a [Program],
    pub(crate) files: &'a mut Files,
    pub(crate) problems: &'a mut Problems,
    plugins: HashMap<Digest, Reconcilers>,
    references: References,
}

pub(crate) struct Programs {
    pub(crate) programs: Vec<Program>,
    pub(crate) of_directory: BTreeMap<PathBuf, Digest>,
    pub(crate) references: References,
}

struct Loaded {
    spec: MountSpec,
    program: Program,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(
        sandbox: &'a Sandbox,
        pulls: &'a mut Pulls,
        compiler: Option<&'a Compiler>,
        current: &'a [Program],
        files: &'a mut Files,
        problems: &'a mut Problems,
    ) -> Self {
        let shadows = current.iter().filter_map(|program| program.shadow.as_deref());
        let plugins =
            current.iter().chain(shadows).map(|program| (*program.plugin.digest(), program.plugin.siblings())).collect();
        Self { sandbox, pulls, compiler, current, files, problems, plugins, references: References::default() }
    }

    /// Loads the programs of the mounts. Blocks: compiling takes about 100 ms per plugin.
    pub(crate) fn load(mut self, configuration: Configuration) -> Programs {
        let mut loaded: Vec<Loaded> = Vec::new();
        let mut offered = BTreeSet::new();
        let mut configuration = configuration;
        if let Some(version) = configuration.version.take() {
            self.mount_version(&mut configuration, &version);
        }
        for spec in configuration.mounts {
            let (plugins, artifact) = match &spec.origin {
                Origin::Kept(digest) => (self.kept(&spec, digest, &loaded), None),
                Origin::File | Origin::Directory => self.reconcilers(&spec, &configuration.reconcilers, &mut offered),
            };
            for plugin in plugins {
                let program = self.program(&spec, plugin, artifact.clone(), &configuration.settings);
                loaded.push(Loaded { spec: spec.clone(), program });
            }
        }
        let of_directory = loaded.iter().filter(|loaded| loaded.spec.origin != Origin::File);
        let of_directory = of_directory
            .filter_map(|loaded| Some((loaded.spec.source.plugin.path()?.to_owned(), *loaded.program.plugin.digest())))
            .collect();
        self.check_names(&loaded);
        self.check_parents(&loaded);
        self.check_flags(&loaded, &configuration.settings);
        self.check_reconcilers(&configuration.reconcilers, &offered);
        let programs = loaded.into_iter().map(|loaded| loaded.program).collect();
        Programs { programs, of_directory, references: self.references }
    }

    /// Replaces the plugin of the mounts by this version, and leaves out the mounts of others.
    fn mount_version(&mut self, configuration: &mut Configuration, version: &PluginSource) {
        let part = Part::flag(&version.to_string());
        let mounts = std::mem::take(&mut configuration.mounts);
        let spec = PluginSpec::of(version.clone(), part);
        let Some((version_of, _)) = self.plugin(&spec, &configuration.defaults) else { return };
        let names: Vec<String> = version_of.iter().map(|plugin| plugin.manifest().name.clone()).collect();
        let (mounted, pull) = (list(mounts.iter().map(|mount| &mount.source.plugin)), configuration.defaults.pull);
        let of_plugin = mounts.into_iter().filter_map(|mount| Some((self.reconciler_of(&mount, &names)?, mount)));
        configuration.mounts = of_plugin
            .map(|(reconciler, mut mount)| {
                if let ReconcilerNames::One(name) = &mut mount.reconcilers {
                    *name = Some(reconciler);
                }
                mount.origin = Origin::File;
                mount.source.plugin = version.clone();
                mount.source.digest = None;
                mount.policy.pull = pull;
                mount.shadow = None;
                mount
            })
            .collect();
        if configuration.mounts.is_empty() && configuration.directory.is_some() {
            let (part, defaults) = (spec.part.clone(), configuration.defaults.clone());
            configuration.mounts.push(MountSpec::of(version.clone(), part, defaults));
        }
        if configuration.mounts.is_empty() {
            let what = format!("the configuration does not mount the plugin {}", list(names));
            self.problems.add(spec.part.place(), what, format!("mounted are {mounted}"));
        }
    }

    /// Returns the first of these reconcilers that is mounted. A plugin that cannot be read, such
    /// as one in an image, is known by the name of its file.
    fn reconciler_of(&mut self, mount: &MountSpec, names: &[String]) -> Option<String> {
        let is_mounted = |name: &&String| match &mount.reconcilers {
            ReconcilerNames::One(Some(mounted)) => mounted == *name,
            ReconcilerNames::One(None) | ReconcilerNames::All => true,
        };
        let mut names = names.iter().filter(is_mounted);
        let demands = self.demands(&mount.source.plugin, &mount.policy)?;
        let read =
            mount.source.plugin.read(&mut Reader { files: &mut self.files.clone(), pulls: self.pulls, demands: &demands });
        match read {
            Ok(component) if mount.source.contradicted_by(&component.digest).is_none() => {
                let plugins = plugins::load_component(self.sandbox, &component, self.compiler).ok()?;
                names.find(|name| plugins.select(Some(name.as_str())).is_ok()).cloned()
            }
            // Or another one was put in its place, which is not compiled.
            Ok(_) | Err(_) => {
                let stem = mount.source.plugin.stem().replace('_', "-");
                let is_named = matches!(mount.reconcilers, ReconcilerNames::One(Some(_)));
                names.find(|name| is_named || **name == stem).cloned()
            }
        }
    }

    /// Returns the reconcilers of a plugin that vanished from the directory, as it was loaded,
    /// without those that would clash with a mount of the same name, or of the same reconciler in
    /// the same namespaces.
    fn kept(&mut self, spec: &MountSpec, digest: &Digest, loaded: &[Loaded]) -> Vec<Plugin> {
        if let Some(path) = spec.source.plugin.path() {
            self.files.track(path);
        }
        let does_overlap = |other: &Loaded| match (&spec.policy.namespaces, &other.spec.policy.namespaces) {
            (Some(namespaces), Some(others)) => overlap(namespaces, others),
            // The namespaces could not be read, so the configuration is refused anyway.
            _ => true,
        };
        // A mount from the directory always has the reconciler's own name.
        let is_elsewhere = |name: &str| {
            loaded
                .iter()
                .any(|other| *other.program.name == *name || (other.program.manifest().name == *name && does_overlap(other)))
        };
        let kept = self.plugins.get(digest).into_iter().flat_map(Reconcilers::iter);
        kept.filter(|plugin| !is_elsewhere(&plugin.manifest().name)).collect()
    }

    /// Returns the reconcilers of a mount, and where a registry has them. Adds the names of all
    /// that its plugin has to `offered`.
    fn reconcilers(
        &mut self,
        spec: &MountSpec,
        by_flag: &[String],
        offered: &mut BTreeSet<String>,
    ) -> (Vec<Plugin>, Option<Artifact>) {
        let Some((all, artifact)) = self.plugin(&spec.source, &spec.policy) else { return (Vec::new(), None) };
        offered.extend(all.iter().map(|plugin| plugin.manifest().name.clone()));
        let selected = match &spec.reconcilers {
            ReconcilerNames::One(name) => all.select(name.as_deref()),
            // A plugin with one reconciler has no choice.
            ReconcilerNames::All => match all.select(None) {
                Ok(only) => Ok(only),
                Err(_) => {
                    let is_among = |plugin: &Plugin| by_flag.is_empty() || by_flag.contains(&plugin.manifest().name);
                    return (all.iter().filter(is_among).collect(), artifact);
                }
            },
        };
        match selected {
            Ok(plugin) => (vec![plugin], artifact),
            Err(error) => {
                let what = format!("{}: {error}", spec.source.plugin);
                self.problems.add(spec.source.part.at("/reconciler").place(), what, error.remedy());
                (Vec::new(), None)
            }
        }
    }

    /// Reports flags that name a reconciler of no plugin.
    fn check_reconcilers(&mut self, by_flag: &[String], offered: &BTreeSet<String>) {
        if offered.is_empty() {
            return;
        }
        for name in by_flag.iter().filter(|name| !offered.contains(*name)) {
            let place = Part::flag(&format!("--reconciler {name}")).place();
            let what = format!("the plugins have no reconciler {name}, only {}", list(offered));
            self.problems.add(place, what, "name one of them");
        }
    }

    /// The demands of a mount on a plugin, if it comes from a registry. The problems of its keys
    /// are reported.
    fn demands(&mut self, plugin: &PluginSource, policy: &MountPolicy) -> Option<Demands> {
        let signatures = match &policy.verify {
            Some(verify) if plugin.reference().is_some() => Some(verify.policy(self.files, self.problems)?),
            _ => None,
        };
        Some(Demands { pull: policy.pull, signatures })
    }

    fn plugin(&mut self, spec: &PluginSpec, policy: &MountPolicy) -> Option<(Reconcilers, Option<Artifact>)> {
        let place = || spec.part.at("/plugin").place();
        let demands = self.demands(&spec.plugin, policy)?;
        if let Some(reference) = spec.plugin.reference() {
            if self.references.contradict(reference, &demands) {
                let what = format!("another mount of {reference} has another pull, but the cache has one version of it");
                self.problems.add(spec.part.at("/pull").place(), what, "write pull: Never for all of its mounts, or for none");
            }
            self.references.add(reference, &demands);
        }
        let read = spec.plugin.read(&mut Reader { files: self.files, pulls: self.pulls, demands: &demands });
        let component = match read {
            Ok(component) => component,
            Err(error) => {
                self.problems.add(place(), error_chain(&error), error.remedy());
                return None;
            }
        };
        let digest = component.digest;
        if let Some(pinned) = spec.contradicted_by(&digest) {
            let what = format!("the plugin {} has the digest sha256:{digest}, not {pinned}", spec.plugin);
            self.problems.add(spec.part.at("/digest").place(), what, "give the plugin with this digest, or change it");
            return None;
        }
        let loaded = match self.plugins.get(&digest) {
            Some(plugin) => Ok(plugin.clone()),
            None => plugins::load_component(self.sandbox, &component, self.compiler),
        };
        match loaded {
            Ok(plugin) => {
                self.plugins.insert(digest, plugin.clone());
                Some((plugin, component.artifact))
            }
            Err(error) => {
                let what = format!("cannot load the plugin {}: {}", spec.plugin, error_chain(&error));
                self.problems.add(place(), what, error.remedy());
                None
            }
        }
    }

    /// The program of a mount; its problems are reported.
    pub(crate) fn program(
        &mut self,
        spec: &MountSpec,
        plugin: Plugin,
        artifact: Option<Artifact>,
        by_flag: &[(Option<String>, Part)],
    ) -> Program {
        let manifest = plugin.manifest();
        let policy = &spec.policy.reconciles;
        let namespaces = spec.policy.namespaces.clone().unwrap_or(Namespaces::All);
        self.check_scope(spec, manifest, &namespaces);
        let settings = self.settings(&spec.source, &spec.source.part, &policy.limits, by_flag, &plugin);
        let keys::Grants { children, reads, read_namespaces, write_namespaces, parent_fields, delete_parents } =
            spec.keys.grants.clone().unwrap_or_default();
        self.check_granted_namespaces(spec, "readNamespaces", read_namespaces.as_ref(), &namespaces);
        self.check_granted_namespaces(spec, "writeNamespaces", write_namespaces.as_ref(), &namespaces);
        self.check_grant(spec, "children", children.as_ref(), manifest, manifest.children.iter().map(|child| &child.kind));
        self.check_grant(spec, "reads", reads.as_ref(), manifest, manifest.reads.iter().map(|read| &read.kind));
        self.check_parent_fields(spec, parent_fields.as_ref(), manifest);
        if delete_parents == Some(true) && !manifest.deletes_parent {
            let said = format!(
                "the deletion of parents is more than the plugin {} asks for: its manifest does not declare it",
                manifest.name
            );
            let place = spec.source.part.at("/grants/deleteParents").place();
            self.problems.add(place, said, "remove it, or mount a version of the plugin that declares it");
        }
        let read_namespaces = match read_namespaces {
            None | Some(GrantedNamespaces::Reach(Reach::Parent)) => ReadNamespaces::OfParent,
            Some(GrantedNamespaces::Reach(Reach::All)) => ReadNamespaces::All,
            Some(GrantedNamespaces::Named(patterns)) => ReadNamespaces::Named(patterns.patterns()),
        };
        let mut program = Program {
            name: spec.keys.name.as_ref().map_or(manifest.name.as_str(), |Label(name)| name).into(),
            settings: settings.to_string().into_bytes().into(),
            policy: policy.clone(),
            selector: spec.keys.selector.as_ref().map(|Text(selector)| selector.clone()).unwrap_or_default(),
            grants: grants_of(spec, manifest, &namespaces),
            namespaces,
            reads: ReadGrants { kinds: granted(reads.as_ref()), namespaces: read_namespaces },
            impersonate: spec.keys.impersonate.as_ref().map(|Text(account)| account.clone()),
            shadow: None,
            artifact,
            plugin,
        };
        program.shadow = spec.shadow.as_ref().and_then(|shadow| self.shadow(shadow, spec, &program, by_flag)).map(Arc::new);
        self.current.iter().find(|current| current.is_same(&program)).cloned().unwrap_or(program)
    }

    fn shadow(
        &mut self,
        shadow: &PluginSpec,
        mount: &MountSpec,
        program: &Program,
        by_flag: &[(Option<String>, Part)],
    ) -> Option<Program> {
        let (plugins, artifact) = self.plugin(shadow, &mount.policy)?;
        let mounted = program.manifest();
        // Children, finalizers and fields belong to the plugin's name.
        let Ok(plugin) = plugins.select(Some(&mounted.name)) else {
            let what = format!(
                "the plugin is called {}, and the mount's {}: of another name, it would not take over what that one has made",
                list(plugins.iter().map(|plugin| plugin.manifest().name.clone())),
                mounted.name
            );
            self.problems.add(shadow.part.at("/plugin").place(), what, "give another version of the same plugin");
            return None;
        };
        let manifest = plugin.manifest();
        if !manifest.parent.is_same(&mounted.parent) || !manifest.users_kind().is_same(mounted.users_kind()) {
            let (kind, mounted) = (manifest.reconciled(), mounted.reconciled());
            let what = format!("the plugin reconciles {kind}, and the mount's {mounted}");
            self.problems.add(shadow.part.at("/plugin").place(), what, "give a plugin of the same parents");
            return None;
        }
        let spec = if matches!(shadow.settings, SettingsFrom::Default) { &mount.source } else { shadow };
        let settings = self.settings(spec, &shadow.part, &program.policy.limits, by_flag, &plugin);
        Some(Program {
            settings: settings.to_string().into_bytes().into(),
            grants: grants_of(mount, manifest, &program.namespaces),
            shadow: None,
            artifact,
            plugin: plugin.clone(),
            ..program.clone()
        })
    }

    /// The checked settings of the mount, or else of a flag, as JSON.
    fn settings(
        &mut self,
        spec: &PluginSpec,
        part: &Part,
        limits: &Limits,
        by_flag: &[(Option<String>, Part)],
        plugin: &Plugin,
    ) -> serde_json::Value {
        let name = &plugin.manifest().name;
        let settings = match &spec.settings {
            SettingsFrom::Inline(settings) => Some(settings.clone()),
            SettingsFrom::Default => by_flag
                .iter()
                .rev()
                .find(|(plugin, _)| plugin.as_ref().is_none_or(|plugin| plugin == name))
                .map(|(_, settings)| settings.clone()),
            // Invalid settings are reported already, but not their consequences.
            SettingsFrom::Unknown => return serde_json::Value::Null,
            SettingsFrom::File(path, said) => match self.settings_file(path, said) {
                Some(settings) => Some(settings),
                None => return serde_json::Value::Null,
            },
        };
        settings::check(plugin, settings.as_ref(), &part.place(), limits, self.problems)
    }

    fn settings_file(&mut self, path: &Path, said: &Part) -> Option<Part> {
        let source = Source::File(path.display().to_string().into());
        let document = read_document(self.files, path, source, &said.place(), self.problems)?;
        let node = document.node()?;
        if !matches!(node.value, Value::Map(_)) {
            let what = format!("{} is not valid here", node.describe());
            self.problems.add(document.place(), what, "write a map of settings");
            return None;
        }
        Some(document)
    }

    fn check_grant<'k>(
        &mut self,
        spec: &MountSpec,
        what: &str,
        granted: Option<&List<Kind>>,
        manifest: &Manifest,
        declared: impl Iterator<Item = &'k GroupVersionKind>,
    ) {
        let declared: Vec<&GroupVersionKind> = declared.collect();
        for (index, Kind(kind)) in granted.into_iter().flat_map(List::iter) {
            if !declared.iter().any(|known| known.is_same(kind)) {
                let said = format!(
                    "{kind} is more than the plugin {} asks for: of {what} its manifest declares {}",
                    manifest.name,
                    list(&declared)
                );
                let place = spec.source.part.at(&format!("/grants/{what}/{index}")).place();
                self.problems.add(place, said, "remove it, or mount a version of the plugin that declares it");
            }
        }
    }

    /// Reports a mount that is restricted to namespaces, but whose parents have none.
    fn check_scope(&mut self, spec: &MountSpec, manifest: &Manifest, namespaces: &Namespaces) {
        let (Namespaces::Only(names), Some(Scope::Cluster)) = (namespaces, parent_scope(manifest)) else { return };
        let cause = match &manifest.members {
            Some(_) => format!("the plugin {} groups parents, and groups are cluster-scoped", manifest.name),
            None => format!("{}, the parent kind of the plugin {}, is cluster-scoped", manifest.parent, manifest.name),
        };
        let what = format!("the mount is restricted to {}, but {cause}", list(names));
        let remedy = "mount it for all namespaces: leave out the key namespaces (here and under defaults) and the flag \
                      --namespace; selector restricts the parents, and grants.writeNamespaces the children";
        self.problems.add(spec.source.part.place(), what, remedy);
    }

    /// Reports grants of fields that the manifest does not declare, which would have no effect.
    fn check_parent_fields(&mut self, spec: &MountSpec, granted: Option<&GrantedFields>, manifest: &Manifest) {
        let declared: Vec<FieldPath> =
            manifest.parent_fields.iter().filter_map(|pointer| FieldPath::parse(pointer).ok()).collect();
        let remedy = "remove it, or mount a version of the plugin that declares it";
        match granted {
            None => {}
            Some(GrantedFields::Declared(All::All)) if declared.is_empty() => {
                let place = spec.source.part.at("/grants/parentFields").place();
                let what = format!("the manifest of the plugin {} declares no fields of parents", manifest.name);
                self.problems.add(place, what, remedy);
            }
            Some(GrantedFields::Declared(All::All)) => {}
            Some(GrantedFields::Only(fields)) => {
                for (index, ParentField(field)) in fields.iter() {
                    let is_declared = any_covers(&declared, field) || declared.iter().any(|known| any_covers([field], known));
                    if !is_declared {
                        let place = spec.source.part.at(&format!("/grants/parentFields/{index}")).place();
                        let what = format!(
                            "the manifest of the plugin {} does not declare the field {field} of parents",
                            manifest.name
                        );
                        self.problems.add(place, what, remedy);
                    }
                }
            }
        }
    }

    /// Reports grants of namespaces outside the mount, which would have no effect.
    fn check_granted_namespaces(
        &mut self,
        spec: &MountSpec,
        key: &str,
        granted: Option<&GrantedNamespaces>,
        mount: &Namespaces,
    ) {
        let (Some(GrantedNamespaces::Named(granted)), Namespaces::Only(names)) = (granted, mount) else { return };
        let is_outside = |pattern: &String| !names.iter().any(|name| matches(pattern, name));
        for (index, Pattern(pattern)) in granted.iter().filter(|(_, Pattern(pattern))| is_outside(pattern)) {
            let nothing = if key == "readNamespaces" { "nothing is read" } else { "nothing is written" };
            let (what, added) =
                if pattern.contains('*') { ("matches", "a namespace that matches it") } else { ("is", pattern.as_str()) };
            let what = format!("{pattern} {what} none of the mount's namespaces, and {nothing} elsewhere");
            let place = spec.source.part.at(&format!("/grants/{key}/{index}")).place();
            self.problems.add(place, what, format!("add {added} to the mount's key namespaces, or remove it here"));
        }
    }

    fn check_names(&mut self, loaded: &[Loaded]) {
        for (index, mount) in loaded.iter().enumerate() {
            let same = loaded.iter().take(index).find(|other| other.program.name == mount.program.name);
            if let Some(other) = same {
                let at = other.spec.source.part.place();
                let what = format!("a mount is called {} already, at {}", mount.program.name, at.location());
                self.problems.add(mount.spec.source.part.at("/name").place(), what, "give this one another name");
            }
        }
    }

    /// Reports mounts that would write the same objects, and undo each other's work for ever.
    fn check_parents(&mut self, loaded: &[Loaded]) {
        for (index, mount) in loaded.iter().enumerate() {
            let clash = |other: &'_ Loaded| claim(other).clash(&claim(mount));
            let found = loaded.iter().take(index).find_map(|other| Some((other, clash(other)?)));
            let Some((other, clash)) = found else { continue };
            let (kind, at) = (mount.program.manifest().users_kind(), other.spec.source.part.place());
            let other = format!("the mount {} at {}", other.program.name, at.location());
            let undo = |what: &str| {
                let problem = format!("{other} reconciles {kind} in the same namespaces: they would undo each other's {what}");
                (problem, "give them namespaces that do not overlap, or remove one of them")
            };
            let (what, remedy) = match clash {
                Clash::Children => undo("children"),
                Clash::Status => undo("status"),
                Clash::Groups => (
                    format!("{other} groups parents under the same name of a reconciler: they would share their groups"),
                    "remove one of them, or mount a plugin whose reconciler has another name",
                ),
            };
            self.problems.add(mount.spec.source.part.place(), what, remedy);
        }
    }

    fn check_flags(&mut self, loaded: &[Loaded], settings: &[(Option<String>, Part)]) {
        let names: BTreeSet<&str> = loaded.iter().map(|mount| mount.program.manifest().name.as_str()).collect();
        for (plugin, settings) in settings {
            let what = match plugin {
                Some(plugin) if !names.contains(plugin.as_str()) => format!("the plugin {plugin} is not mounted"),
                None if names.len() > 1 => {
                    "it does not say which plugin it is for: write its name and = before the object".to_owned()
                }
                _ => continue,
            };
            self.problems.add(settings.document(), what, format!("mounted are {}", list(&names)));
        }
    }
}

fn granted(kinds: Option<&List<Kind>>) -> Kinds {
    kinds.map_or(Kinds::Declared, |kinds| Kinds::Only(kinds.iter().map(|(_, Kind(kind))| kind.clone()).collect()))
}

fn grants_of(spec: &MountSpec, manifest: &Manifest, namespaces: &Namespaces) -> Grants {
    let keys::Grants { children, write_namespaces, parent_fields, delete_parents, .. } =
        spec.keys.grants.clone().unwrap_or_default();
    let written = match write_namespaces {
        None => spec.policy.write_namespaces.clone(),
        Some(GrantedNamespaces::Reach(Reach::Parent)) => WriteNamespaces::OfParent,
        Some(GrantedNamespaces::Reach(Reach::All)) => WriteNamespaces::All,
        Some(GrantedNamespaces::Named(patterns)) => WriteNamespaces::Named(patterns.patterns()),
    };
    Grants::new(manifest, namespaces.clone())
        .with_write_namespaces(written)
        .with_kinds(granted(children.as_ref()))
        .with_adoption(spec.policy.adoption)
        .with_parent_fields(match parent_fields {
            None => spec.policy.parent_fields.clone(),
            Some(GrantedFields::Declared(All::All)) => ParentFields::Declared,
            Some(GrantedFields::Only(fields)) => {
                ParentFields::Only(fields.iter().map(|(_, ParentField(field))| field.clone()).collect())
            }
        })
        .with_parent_deletions(match delete_parents {
            Some(true) => ParentDeletions::Granted,
            Some(false) => ParentDeletions::NotGranted,
            None => spec.policy.parent_deletions,
        })
}

struct Claim<'a> {
    plugin: &'a str,
    groups_parents: bool,
    parent: &'a GroupVersionKind,
    /// `None` if they could not be read, which is reported already.
    namespaces: Option<&'a Namespaces>,
}

fn claim(mount: &Loaded) -> Claim<'_> {
    let manifest = mount.program.manifest();
    Claim {
        plugin: &manifest.name,
        groups_parents: manifest.members.is_some(),
        parent: manifest.users_kind(),
        namespaces: mount.spec.policy.namespaces.as_ref(),
    }
}

/// The part of the work that two mounts would undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clash {
    Children,
    Status,
    Groups,
}

impl Claim<'_> {
    /// Returns the conflict between mounts, if any. Ignores selectors: labels can change.
    fn clash(&self, other: &Self) -> Option<Clash> {
        // Objects of groups are cluster-scoped, and have the name of the reconciler.
        if self.groups_parents && other.groups_parents && self.plugin == other.plugin {
            Some(Clash::Groups)
        } else if !overlap(self.namespaces?, other.namespaces?) || !self.parent.is_same(other.parent) {
            None
        } else if self.plugin == other.plugin {
            // Children belong to a parent and the name of a plugin.
            Some(Clash::Children)
        } else if KUBERNETES_GROUPS.contains(&self.parent.group.as_str()) {
            None
        } else {
            Some(Clash::Status)
        }
    }
}

fn overlap(one: &Namespaces, other: &Namespaces) -> bool {
    match (one, other) {
        (Namespaces::Only(names), Namespaces::Only(others)) => !names.is_disjoint(others),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_clash_over_the_same_objects_only() {
        let check = |(plugin, parent, namespaces): (&str, &str, &[&str]), expected: Option<Clash>| {
            let kind = |kind: &str| match kind.split_once('.') {
                Some((kind, group)) => GroupVersionKind::new(group, "v1", kind),
                None => GroupVersionKind::new("", "v1", kind),
            };
            let only = |names: &[&str]| match names {
                [] => Namespaces::All,
                names => Namespaces::Only(names.iter().map(|name| (*name).to_owned()).collect()),
            };
            for (held, there) in [("Pod", only(&["a", "b"])), ("Echo.example.com", only(&["a", "b"])), ("Job.batch", only(&[]))]
            {
                let (held, parent, namespaces) = (kind(held), kind(parent), only(namespaces));
                let one = Claim { plugin: "one", groups_parents: false, parent: &held, namespaces: Some(&there) };
                let other = Claim { plugin, groups_parents: false, parent: &parent, namespaces: Some(&namespaces) };
                let expected = if held.is_same(&parent) { expected } else { None };
                assert_eq!(one.clash(&other), expected, "{plugin} {parent} {namespaces:?}");
                assert_eq!(other.clash(&one), expected, "{plugin} {parent} {namespaces:?}, the other way round");
                assert_eq!(one.clash(&Claim { namespaces: None, ..other }), None, "what is unknown");
            }
        };
        check(("one", "Echo.example.com", &["b"]), Some(Clash::Children));
        check(("one", "Echo.example.com", &["c"]), None);
        check(("one", "Echo.example.com", &[]), Some(Clash::Children));
        check(("two", "Echo.example.com", &["b", "c"]), Some(Clash::Status));
        check(("two", "Echo.example.com", &["c"]), None);
        check(("two", "Pod", &["a"]), None);
        check(("one", "Pod", &["a"]), Some(Clash::Children));
        check(("two", "Job.batch", &[]), None);
        check(("one", "Job.batch", &["a"]), Some(Clash::Children));
    }

    #[test]
    fn mounts_of_one_reconciler_share_its_groups_whatever_they_group() {
        let kinds = ["Pod", "Node"].map(|kind| GroupVersionKind::new("", "v1", kind));
        let namespaces = ["a", "b"].map(|name| Namespaces::Only([name.to_owned()].into()));
        let claim = |plugin, groups_parents, index: usize| Claim {
            plugin,
            groups_parents,
            parent: &kinds[index],
            namespaces: Some(&namespaces[index]),
        };
        let one = claim("pools", true, 0);
        assert_eq!(one.clash(&claim("pools", true, 1)), Some(Clash::Groups));
        assert_eq!(one.clash(&claim("teams", true, 1)), None);
        assert_eq!(one.clash(&claim("pools", false, 1)), None);
    }
}
