//! Reads plugins from files, and compiles them.

pub(crate) mod apart;
mod cgroup;
mod compiling;
pub(crate) mod files;

use std::path::Path;

use anyhow::anyhow;
use gyre_engine::error::error_chain;
use gyre_sandbox::{Reconcilers, Sandbox};
use tracing::info;

use crate::plugins::apart::{Compiled, Compiler};
use crate::plugins::files::Files;

/// The largest plugin, in bytes. Those with an interpreter (JavaScript, Python) have some 20 MiB.
pub(crate) const LARGEST_PLUGIN: u64 = 256 << 20;

/// The reason why a plugin of a mount cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Load(#[from] gyre_sandbox::load::Error),
    #[error(transparent)]
    Compile(#[from] apart::Error),
}

impl Error {
    pub(crate) fn remedy(&self) -> &str {
        match self {
            Self::Load(error) => error.remedy(),
            Self::Compile(error) => error.remedy(),
        }
    }
}

/// Loads a plugin. If there is a compiler, it compiles in another process, because the compiler
/// takes tens of megabytes that this process would keep, and hundreds for some plugins.
pub(crate) fn load_file(
    sandbox: &Sandbox,
    path: &Path,
    bytes: &[u8],
    compiler: Option<&Compiler>,
) -> Result<Reconcilers, Error> {
    let _shown = compiling::announce(sandbox, path, bytes);
    if let Some(compiler) = compiler.filter(|_| !sandbox.is_compiled(bytes)) {
        match compiler.compile(path) {
            Ok(Compiled::InCache) if !sandbox.is_compiled(bytes) => Err(apart::Error::Changed)?,
            // Its code is in the cache, so loading it says what is wrong, and compiles nothing.
            Err(apart::Error::Failed { .. }) if sandbox.is_compiled(bytes) => {}
            compiled => drop(compiled?),
        }
    }
    Ok(load(sandbox, bytes)?)
}

pub(crate) const GIVE_A_COMPONENT: &str = "name a file that contains a WebAssembly component";

/// Reads, compiles and loads a plugin, for commands.
pub(crate) fn open(sandbox: &Sandbox, path: &Path) -> anyhow::Result<Reconcilers> {
    open_bytes(sandbox, path, &read(path)?)
}

/// Compiles and loads a plugin that was read from this path, for commands.
pub(crate) fn open_bytes(sandbox: &Sandbox, path: &Path, bytes: &[u8]) -> anyhow::Result<Reconcilers> {
    let _shown = compiling::announce(sandbox, path, bytes);
    load(sandbox, bytes).map_err(|error| {
        let (path, remedy) = (path.display(), error.remedy());
        anyhow!("cannot load the plugin {path}: {}; {remedy}", error_chain(&error))
    })
}

pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    Files::default()
        .read(path, LARGEST_PLUGIN)
        .map_err(|error| anyhow!("cannot read the plugin {}: {}; {GIVE_A_COMPONENT}", path.display(), error_chain(&error)))
}

/// Loads a plugin, and compiles it if its code is not in the cache.
pub(crate) fn load(sandbox: &Sandbox, bytes: &[u8]) -> Result<Reconcilers, gyre_sandbox::load::Error> {
    let plugins = sandbox.load_all(bytes)?;
    for plugin in plugins.iter() {
        let manifest = plugin.manifest();
        info!(
            plugin = manifest.name, version = manifest.version, digest = %plugin.digest(),
            compiled = ?plugin.compile().source, took = ?plugin.compile().duration, "loaded"
        );
    }
    Ok(plugins)
}
