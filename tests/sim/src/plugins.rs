//! The mounted plugins.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use gyre_core::grants::{Grants, Namespaces, ParentDeletions, ParentFields, ReadGrants, ReadNamespaces, WriteNamespaces};
use gyre_engine::program::{Policy, Program, Programs, fixed};
use gyre_sandbox::{Plugin, Sandbox};
use parking_lot::Mutex;
use serde_json::{Value, json};

static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
    let cache_dir = Some(gyre_artifacts::CODE_CACHE.into());
    Sandbox::new(gyre_sandbox::Options { cache_dir, ..gyre_sandbox::Options::default() }).expect("a sandbox")
});

/// Plugins, each compiled once for all simulations.
#[derive(Clone)]
pub struct Plugins(Vec<Mounted>);

#[derive(Clone)]
struct Mounted {
    plugin: Plugin,
    settings: Value,
    change: fn(Program) -> Program,
}

impl Plugins {
    /// Returns the plugins of the scripts.
    pub fn all() -> Self {
        let paths = [
            gyre_artifacts::ECHO,
            gyre_artifacts::SCHEDULED_ECHO,
            gyre_artifacts::WEBSITE,
            gyre_artifacts::probes::FINALIZING,
            gyre_artifacts::probes::CROSS_NAMESPACE,
            gyre_artifacts::probes::STRATEGIES,
            gyre_artifacts::probes::READER,
        ];
        Self(paths.map(|path| load(path, None)).to_vec())
    }

    /// Returns one plugin.
    pub fn one(path: &str) -> Self {
        Self(vec![load(path, None)])
    }

    /// Returns these reconcilers of a component, with their settings.
    pub fn reconcilers<const COUNT: usize>(path: &str, reconcilers: [(&str, Value); COUNT]) -> Self {
        let mounted = |(name, settings)| Mounted { settings, ..load(path, Some(name)) };
        Self(reconcilers.map(mounted).to_vec())
    }

    /// Returns this version of the probe `versioned`.
    pub fn versioned(version: u64) -> Self {
        let name = format!("versioned {version}");
        Self(vec![compiled(&name, None, || gyre_artifacts::versioned(version).expect("a version"))])
    }

    /// Returns the plugins for hosts that change all programs in this way.
    #[must_use]
    pub fn with(self, change: fn(Program) -> Program) -> Self {
        Self(self.0.into_iter().map(|mounted| Mounted { change, ..mounted }).collect())
    }

    /// Returns the programs of a host.
    pub fn programs(&self) -> Arc<[Program]> {
        let program = |Mounted { plugin, settings, change }: &Mounted| {
            change(Program {
                settings: settings.to_string().into_bytes().into(),
                policy: Policy { workers: 2, ..Policy::default() },
                reads: ReadGrants { namespaces: ReadNamespaces::All, ..ReadGrants::default() },
                grants: Grants::new(plugin.manifest(), Namespaces::All)
                    .with_write_namespaces(WriteNamespaces::All)
                    .with_parent_deletions(ParentDeletions::Granted)
                    .with_parent_fields(ParentFields::Declared),
                ..Program::new(plugin.clone(), Namespaces::All)
            })
        };
        self.0.iter().map(program).collect()
    }

    /// Returns changed programs, for a host that keeps them.
    pub fn programs_with(&self, change: impl Fn(Program) -> Program) -> Programs {
        fixed(self.programs().iter().cloned().map(change).collect())
    }

    /// Returns the CRDs.
    pub fn crds(&self) -> Vec<Value> {
        let crds = self.0.iter().flat_map(|mounted| &mounted.plugin.manifest().crds);
        let crds = crds.map(|crd| serde_json::to_value(crd).expect("JSON"));
        // Reconcilers of one component bring the same ones.
        let by_name: BTreeMap<String, Value> = crds.map(|crd| (crd["metadata"]["name"].to_string(), crd)).collect();
        by_name.into_values().collect()
    }
}

fn load(path: &str, reconciler: Option<&str>) -> Mounted {
    compiled(path, reconciler, || std::fs::read(path).expect("a plugin"))
}

fn compiled(name: &str, reconciler: Option<&str>, component: impl FnOnce() -> Vec<u8>) -> Mounted {
    static COMPILED: Mutex<BTreeMap<(String, Option<String>), Plugin>> = Mutex::new(BTreeMap::new());
    // Holds the lock, so that others wait for a running compilation.
    let mut compiled = COMPILED.lock();
    let plugin = compiled.entry((name.to_owned(), reconciler.map(str::to_owned)));
    let compile = || SANDBOX.load_all(&component()).and_then(|all| all.select(reconciler)).expect("a sound plugin");
    Mounted { plugin: plugin.or_insert_with(compile).clone(), settings: json!({}), change: std::convert::identity }
}
