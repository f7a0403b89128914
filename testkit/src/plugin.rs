//! The plugin under test: native code, or a component.

use std::path::Path;
use std::sync::OnceLock;

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

/// A plugin. Cheap to clone.
#[derive(Clone)]
pub struct Plugin(pub(crate) gyre_sandbox::Plugin);

impl Plugin {
    /// A reconciler as native code, so that a debugger works, and a change needs no build for Wasm.
    ///
    /// Calls have no deadline and no memory limit. The clock, random numbers and files are those of the machine. A panic ends the call, like a
    /// trap.
    ///
    /// # Panics
    ///
    /// When its manifest is not valid.
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

    /// The component in a file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is no plugin.
    pub fn wasm(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let wrong = |error: anyhow::Error| Error::new(format!("the plugin {}: {error:#}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| wrong(anyhow::Error::new(error).context("cannot read it")))?;
        load(&bytes).map_err(wrong)
    }

    /// A component.
    ///
    /// # Errors
    ///
    /// When it is no plugin.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(load(bytes)?)
    }

    /// A mount of the plugin with these settings, and with everything granted that its manifest declares.
    pub(crate) fn program(self, settings: &Value) -> Result<Program> {
        let mut program = Program::new(self.0, Namespaces::All);
        let settings = if settings.is_null() { &Value::Object(serde_json::Map::new()) } else { settings };
        let accepted = settings::accept(&program.plugin, settings, &program.limits);
        let settings = accepted.map_err(|problems| Error::new(format!("the plugin {}: {problems}", program.name)))?;
        program.settings = settings.to_string().into_bytes().into();
        Ok(program)
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        self.0.manifest()
    }
}

/// Loads a component. Each is compiled once in a process.
fn load(bytes: &[u8]) -> anyhow::Result<Plugin> {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    static LOADED: Mutex<Vec<Plugin>> = Mutex::new(Vec::new());
    let digest = Digest::of(bytes);
    // One at a time, because parallel tests mostly load the same component.
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
