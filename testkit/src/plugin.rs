//! The plugin under test: native code or a component.

use std::path::Path;
use std::sync::OnceLock;

use gyre_core::deletion_guard::Limits;
use gyre_core::grants::Namespaces;
use gyre_core::manifest::Manifest;
use gyre_engine::program::Program;
use gyre_input::settings;
use gyre_sandbox::{Digest, Reconcilers, Sandbox};
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

    /// Loads a component with one reconciler from a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no plugin, or has several reconcilers.
    pub fn wasm(path: impl AsRef<Path>) -> Result<Self> {
        Self::open(path.as_ref(), None)
    }

    /// Loads the reconciler of this name from a component with several.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no plugin, or has no such reconciler.
    pub fn wasm_reconciler(path: impl AsRef<Path>, name: &str) -> Result<Self> {
        Self::open(path.as_ref(), Some(name))
    }

    fn open(path: &Path, reconciler: Option<&str>) -> Result<Self> {
        let wrong = |error: anyhow::Error| Error::new(format!("the plugin {}: {error:#}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| wrong(anyhow::Error::new(error).context("cannot read it")))?;
        load(&bytes, reconciler).map_err(wrong)
    }

    /// Loads a component.
    ///
    /// # Errors
    ///
    /// If it is no plugin.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(load(bytes, None)?)
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
fn load(bytes: &[u8], reconciler: Option<&str>) -> anyhow::Result<Plugin> {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    static LOADED: Mutex<Vec<(Digest, Reconcilers)>> = Mutex::new(Vec::new());
    let digest = Digest::of(bytes);
    // One at a time, because parallel tests often load the same component.
    let mut loaded = LOADED.lock();
    if let Some((_, plugins)) = loaded.iter().find(|(known, _)| *known == digest) {
        return Ok(Plugin(plugins.select(reconciler)?));
    }
    let sandbox = match SANDBOX.get() {
        Some(sandbox) => sandbox,
        None => {
            let sandbox = Sandbox::new(gyre_sandbox::Options::default())?;
            SANDBOX.get_or_init(|| sandbox)
        }
    };
    let plugins = sandbox.load_all(bytes)?;
    loaded.push((digest, plugins.clone()));
    Ok(Plugin(plugins.select(reconciler)?))
}
