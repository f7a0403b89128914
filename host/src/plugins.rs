//! Reads plugins from their sources, and compiles them.

pub(crate) mod apart;
mod cgroup;
mod compiling;
pub(crate) mod files;
pub(crate) mod source;

use std::io;
#[cfg(feature = "tools")]
use std::path::Path;

use anyhow::anyhow;
use gyre_engine::error::error_chain;
use gyre_registry::PullPolicy;
use gyre_sandbox::{Reconcilers, Sandbox};
use tracing::info;

use crate::plugins::apart::{Compiled, Compiler};
use crate::plugins::files::Files;
use crate::plugins::source::oci::{Demands, Pulls, Store};
use crate::plugins::source::{Component, PluginSource, Reader};

/// The largest plugin, in bytes. Those with an interpreter (JavaScript, Python) have some 20 MiB.
pub(crate) const LARGEST_PLUGIN: u64 = 256 << 20;

/// The reason why a plugin of a mount cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Load(#[from] gyre_sandbox::load::Error),
    #[error(transparent)]
    Compile(#[from] apart::Error),
    #[error("its file cannot be read again")]
    Read(#[source] io::Error),
}

impl Error {
    pub(crate) fn remedy(&self) -> &str {
        match self {
            Self::Load(error) => error.remedy(),
            Self::Compile(error) => error.remedy(),
            Self::Read(_) => "delete the file, so that it is pulled again",
        }
    }
}

/// Loads a plugin. If there is a compiler, it compiles in another process, because the compiler
/// takes tens of megabytes that this process would keep, and hundreds for some plugins.
pub(crate) fn load_component(
    sandbox: &Sandbox,
    component: &Component,
    compiler: Option<&Compiler>,
) -> Result<Reconcilers, Error> {
    let _shown = compiling::announce(sandbox, component);
    let digest = &component.digest;
    if let Some(compiler) = compiler.filter(|_| !sandbox.is_compiled(digest)) {
        match compiler.compile(component) {
            Ok(Compiled::InCache) if !sandbox.is_compiled(digest) => Err(apart::Error::Changed)?,
            // Its code is in the cache, so loading it says what is wrong, and compiles nothing.
            Err(apart::Error::Failed { .. }) if sandbox.is_compiled(digest) => {}
            compiled => drop(compiled?),
        }
    }
    load(sandbox, component)
}

pub(crate) const GIVE_A_COMPONENT: &str = "name a file that contains a WebAssembly component";

/// Reads, compiles and loads a plugin, for commands.
pub(crate) fn open(sandbox: &Sandbox, store: &Store, plugin: &PluginSource) -> anyhow::Result<Reconcilers> {
    open_component(sandbox, &read(store, plugin)?)
}

/// Compiles and loads a plugin that was read, for commands.
pub(crate) fn open_component(sandbox: &Sandbox, component: &Component) -> anyhow::Result<Reconcilers> {
    let _shown = compiling::announce(sandbox, component);
    load(sandbox, component).map_err(|error| {
        let remedy = error.remedy();
        anyhow!("cannot load the plugin {component}: {}; {remedy}", error_chain(&error))
    })
}

/// Reads a plugin, for commands. That of a tag is what the registry names now.
pub(crate) fn read(store: &Store, plugin: &PluginSource) -> anyhow::Result<Component> {
    let demands = Demands { pull: PullPolicy::Always, signatures: None };
    let mut pulls = Pulls::of_command(store);
    let component = plugin.read(&mut Reader { files: &mut Files::default(), pulls: &mut pulls, demands: &demands });
    let component = component.map_err(|error| anyhow!("{}; {}", error_chain(&error), error.remedy()))?;
    pulls.accept_missing();
    Ok(component)
}

/// Reads a plugin that was built here.
#[cfg(feature = "tools")]
pub(crate) fn read_file(path: &Path) -> anyhow::Result<Component> {
    read(&Store::default(), &path.to_owned().into())
}

/// Loads a plugin, and compiles it if its code is not in the cache.
fn load(sandbox: &Sandbox, component: &Component) -> Result<Reconcilers, Error> {
    let plugins = sandbox.load_lazily(&component.digest, || component.bytes().map_err(Error::Read))?;
    for plugin in plugins.iter() {
        let manifest = plugin.manifest();
        info!(
            plugin = manifest.name, version = manifest.version, digest = %plugin.digest(),
            artifact = component.artifact.as_ref().map(|artifact| &*artifact.digest),
            compiled = ?plugin.compile().source, took = ?plugin.compile().duration, "loaded"
        );
    }
    Ok(plugins)
}
