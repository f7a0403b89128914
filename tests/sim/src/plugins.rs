//! The mounted plugins.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use gyre_core::grants::{Grants, Namespaces, ParentDeletions, ParentFields, ReadGrants, ReadNamespaces, WriteNamespaces};
use gyre_engine::program::{Policy, Program};
use gyre_sandbox::{Plugin, Sandbox};
use parking_lot::Mutex;
use serde_json::Value;

static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| {
    let cache_dir = Some(gyre_artifacts::CODE_CACHE.into());
    Sandbox::new(gyre_sandbox::Options { cache_dir, ..gyre_sandbox::Options::default() }).expect("a sandbox")
});

/// Plugins, each compiled once for all simulations.
#[derive(Clone)]
pub struct Plugins(Vec<Plugin>);

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
        Self(paths.map(Self::load).to_vec())
    }

    /// Returns one plugin.
    pub fn one(path: &str) -> Self {
        Self(vec![Self::load(path)])
    }

    /// Returns this version of the probe `versioned`.
    pub fn versioned(version: u64) -> Self {
        let name = format!("versioned {version}");
        Self(vec![compiled(&name, || gyre_artifacts::versioned(version).expect("a version"))])
    }

    fn load(path: &str) -> Plugin {
        compiled(path, || std::fs::read(path).expect("a plugin"))
    }

    /// Returns the programs of a host.
    pub fn programs(&self) -> Arc<[Program]> {
        let program = |plugin: &Plugin| Program {
            policy: Policy { workers: 2, ..Policy::default() },
            reads: ReadGrants { namespaces: ReadNamespaces::All, ..ReadGrants::default() },
            grants: Grants::new(plugin.manifest(), Namespaces::All)
                .with_write_namespaces(WriteNamespaces::All)
                .with_parent_deletions(ParentDeletions::Granted)
                .with_parent_fields(ParentFields::Declared),
            ..Program::new(plugin.clone(), Namespaces::All)
        };
        self.0.iter().map(program).collect()
    }

    /// Returns the CRDs.
    pub fn crds(&self) -> Vec<Value> {
        let crds = self.0.iter().flat_map(|plugin| &plugin.manifest().crds);
        crds.map(|crd| serde_json::to_value(crd).expect("JSON")).collect()
    }
}

fn compiled(name: &str, component: impl FnOnce() -> Vec<u8>) -> Plugin {
    static COMPILED: Mutex<BTreeMap<String, Plugin>> = Mutex::new(BTreeMap::new());
    // Holds the lock, so that others wait for a running compilation.
    let mut compiled = COMPILED.lock();
    let plugin = compiled.entry(name.to_owned());
    plugin.or_insert_with(|| SANDBOX.load(&component()).expect("a sound plugin")).clone()
}
