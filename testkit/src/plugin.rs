//! The plugin under test: native code or a component.

use std::path::Path;
use std::sync::OnceLock;

use gyre_core::deletion_guard::Limits;
use gyre_core::grants::Namespaces;
use gyre_core::manifest::Manifest;
use gyre_engine::program::Program;
use gyre_input::settings;
use gyre_sandbox::{Digest, Sandbox};
use gyre_sdk::Reconciler;
use parking_lot::Mutex;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::native::Adapter;

/// A plugin, which is cheap to clone.
#[derive(Clone)]
pub struct Plugin(pub(crate) gyre_sandbox::Plugin);

impl Plugin {
    /// Returns a plugin that runs as native code: debuggers work, and no build for Wasm is needed.
    ///
    /// Calls have no deadline and no memory limit, and use the machine's clock, random numbers and
    /// files. A panic ends the call like a trap.
    ///
    /// # Panics
    ///
    /// If its manifest is invalid.
    #[track_caller]
    #[expect(clippy::panic, reason = "without a plugin there is no test")]
    pub fn native<R: Reconciler>() -> Self {
        let manifest = R::manifest();
        let identity = format!("{} {} {}", std::any::type_name::<R>(), manifest.name, manifest.version);
        match gyre_sandbox::Plugin::native(&identity, Adapter::<R>::new()) {
            Ok(plugin) => Self(plugin),
            Err(error) => panic!("{} is no plugin: {:#}", manifest.name, anyhow::Error::new(error)),
        }
    }

    /// Loads a component from a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is no plugin.
    pub fn wasm(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let wrong = |error: anyhow::Error| Error::new(format!("the plugin {}: {error:#}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| wrong(anyhow::Error::new(error).context("cannot read it")))?;
        load(&bytes).map_err(wrong)
    }

    /// Loads a component.
    ///
    /// # Errors
    ///
    /// If it is no plugin.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(load(bytes)?)
    }

    /// Returns a mount with these settings and all grants that the manifest declares.
    pub(crate) fn program(self, settings: &Value) -> Result<Program> {
        let mut program = Program::new(self.0, Namespaces::All);
        let settings = if settings.is_null() { &Value::Object(serde_json::Map::new()) } else { settings };
        let accepted = settings::accept(&program.plugin, settings, &program.policy.limits);
        let settings = accepted.map_err(|problems| Error::new(format!("the plugin {}: {problems}", program.name)))?;
        // A test of a plugin is about its answers.
        program.policy.deletion_guard = Limits::OFF;
        program.settings = settings.to_string().into_bytes().into();
        Ok(program)
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        self.0.manifest()
    }
}

/// Compiles each component once in a process.
fn load(bytes: &[u8]) -> anyhow::Result<Plugin> {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    static LOADED: Mutex<Vec<Plugin>> = Mutex::new(Vec::new());
    let digest = Digest::of(bytes);
    // One at a time, because parallel tests often load the same component.
    let mut loaded = LOADED.lock();
    if let Some(plugin) = loaded.iter().find(|plugin| *plugin.0.digest() == digest) {
        return Ok(plugin.clone());
    }
    let sandbox = match SANDBOX.get() {
        Some(sandbox) => sandbox,
        None => {
            let sandbox = Sandbox::new(gyre_sandbox::Options::default())?;
            SANDBOX.get_or_init(|| sandbox)
        }
    };
    let plugin = Plugin(sandbox.load(bytes)?);
    loaded.push(plugin.clone());
    Ok(plugin)
}
