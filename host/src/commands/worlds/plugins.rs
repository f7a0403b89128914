//! The plugins that kits have loaded, by number.

use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gyre_core::manifest::Manifest;
use gyre_engine::error::error_chain;
use gyre_engine::program::Program;
use gyre_sandbox::{Digest, Plugin, Reconcilers, Sandbox};
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::link::Link;
use super::protocol::{KitPlugin, Mount, PluginSource};
use super::remote::Remote;
use crate::config;
use crate::plugins;
use crate::plugins::source::Component;
use crate::plugins::source::oci::Store;

/// The plugins of all worlds.
pub(super) struct Plugins {
    sandbox: Sandbox,
    store: Store,
    components: Mutex<Vec<(Digest, Reconcilers)>>,
    loaded: Mutex<Vec<Loaded>>,
}

#[derive(Clone)]
enum Loaded {
    Component(Plugin),
    /// Its code is in the kit, which is called by the link of the world.
    Kit(Box<KitPlugin>),
}

impl Plugins {
    pub(super) fn new(sandbox: Sandbox, store: Store) -> Self {
        Self { sandbox, store, components: Mutex::default(), loaded: Mutex::default() }
    }

    /// Loads a plugin, and returns its number and its manifest.
    pub(super) fn load(&self, source: PluginSource, link: &Arc<Link>) -> anyhow::Result<(usize, Manifest)> {
        let PluginSource { path, base64, kit, reconciler } = source;
        let reconciler = reconciler.as_deref();
        let loaded = match (path, base64, kit) {
            (Some(text), None, None) => {
                let plugin = text.parse::<plugins::source::PluginSource>();
                let plugin = plugin.map_err(|error| anyhow!("{text}: {error}"))?;
                Loaded::Component(self.component(&plugins::read(&self.store, &plugin)?, reconciler)?)
            }
            (None, Some(text), None) => {
                let bytes = STANDARD.decode(text).context("the component is not base64")?;
                Loaded::Component(self.component(&Component::new(bytes, "of the kit".into()), reconciler)?)
            }
            (None, None, Some(kit)) => Loaded::Kit(kit),
            _ => bail!("load takes one of path, base64 and kit"),
        };
        let number = {
            let mut all = self.loaded.lock();
            all.push(loaded);
            all.len() - 1
        };
        let manifest = self.get(number, link)?.manifest().clone();
        Ok((number, manifest))
    }

    /// Compiles each component once, also if parallel tests load the same one.
    fn component(&self, component: &Component, reconciler: Option<&str>) -> anyhow::Result<Plugin> {
        let digest = component.digest;
        let mut components = self.components.lock();
        let known = components.iter().find(|(known, _)| *known == digest).map(|(_, reconcilers)| reconcilers.clone());
        let reconcilers = match known {
            Some(reconcilers) => reconcilers,
            None => {
                let reconcilers = plugins::open_component(&self.sandbox, component)?;
                components.push((digest, reconcilers.clone()));
                reconcilers
            }
        };
        let selected = reconcilers.select(reconciler);
        selected.map_err(|error| anyhow!("the plugin {component}: {}; {}", error_chain(&error), error.remedy()))
    }

    fn get(&self, number: usize, link: &Arc<Link>) -> anyhow::Result<Plugin> {
        let loaded = self.loaded.lock().get(number).cloned();
        match loaded.ok_or_else(|| anyhow!("no plugin {number} is loaded"))? {
            Loaded::Component(plugin) => Ok(plugin),
            Loaded::Kit(kit) => {
                let KitPlugin { identity, manifest } = *kit;
                let name = manifest.manifest.name.clone();
                let plugin = Plugin::native(&identity, Remote::new(number, manifest, Arc::clone(link)));
                plugin.map_err(|error| anyhow!("{name} is no plugin: {}", error_chain(&error)))
            }
        }
    }

    /// The program of a mount, with its settings.
    pub(super) fn program(&self, mount: &Mount, link: &Arc<Link>) -> anyhow::Result<Program> {
        let plugin = self.get(mount.plugin, link)?;
        let name = plugin.manifest().name.clone();
        let program = config::mounted(&self.sandbox, plugin, &mount.mount, &mount.settings);
        program.map_err(|problems| anyhow!("the plugin {name}: {problems}"))
    }

    /// The program of a plugin with these settings and the defaults of a test.
    pub(super) fn version(&self, plugin: usize, settings: Value, link: &Arc<Link>) -> anyhow::Result<Program> {
        self.program(&Mount { plugin, settings, mount: Map::new() }, link)
    }

    /// The name of a loaded plugin.
    pub(super) fn name(&self, number: usize) -> Option<String> {
        match self.loaded.lock().get(number)? {
            Loaded::Component(plugin) => Some(plugin.manifest().name.clone()),
            Loaded::Kit(kit) => Some(kit.manifest.manifest.name.clone()),
        }
    }
}
