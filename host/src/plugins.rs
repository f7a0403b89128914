//! Reads plugins from files, and compiles them.

mod compiling;
pub(crate) mod files;

use std::path::Path;
use std::process::Stdio;

use anyhow::anyhow;
use gyre_engine::error::error_chain;
use gyre_sandbox::{Plugin, Sandbox};
use tracing::{debug, info};

use crate::plugins::files::Files;

/// The largest plugin, in bytes. Those with an interpreter (JavaScript, Python) have some 20 MiB.
pub(crate) const LARGEST_PLUGIN: u64 = 256 << 20;

pub(crate) fn load_file(
    sandbox: &Sandbox,
    path: &Path,
    bytes: &[u8],
    cache: Option<&Path>,
) -> Result<Plugin, gyre_sandbox::load::Error> {
    let _shown = compiling::announce(sandbox, path, bytes);
    compile_apart(sandbox, path, bytes, cache);
    load(sandbox, bytes)
}

/// Compiles a plugin in another process, because the compiler takes tens of megabytes that this
/// process would keep. Errors are reported when the plugin is loaded.
fn compile_apart(sandbox: &Sandbox, path: &Path, bytes: &[u8], cache: Option<&Path>) {
    let (Some(cache), Ok(gyre)) = (cache, std::env::current_exe()) else { return };
    if sandbox.is_compiled(bytes) {
        return;
    }
    let mut command = std::process::Command::new(gyre);
    command.arg("compile").arg("--code-cache").arg(cache).arg("--").arg(path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) => debug!(plugin = %path.display(), %status, "compiled in another process"),
        Err(error) => debug!(plugin = %path.display(), %error, "no other process to compile in"),
    }
}

pub(crate) const GIVE_A_COMPONENT: &str = "name a file that contains a WebAssembly component";

/// Reads, compiles and loads a plugin, for commands.
pub(crate) fn open(sandbox: &Sandbox, path: &Path) -> anyhow::Result<Plugin> {
    let bytes = read(path)?;
    let _shown = compiling::announce(sandbox, path, &bytes);
    load(sandbox, &bytes).map_err(|error| {
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
pub(crate) fn load(sandbox: &Sandbox, bytes: &[u8]) -> Result<Plugin, gyre_sandbox::load::Error> {
    let plugin = sandbox.load(bytes)?;
    let manifest = plugin.manifest();
    info!(
        plugin = manifest.name, version = manifest.version, digest = %plugin.digest(),
        compiled = ?plugin.compile().source, took = ?plugin.compile().duration, "loaded"
    );
    Ok(plugin)
}
