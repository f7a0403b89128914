//! Programs that other packages build.

use std::path::{Path, PathBuf};

use gyre_controlplane::skip;

/// The files of the plugins that the image brings.
pub(crate) const IMAGE_PLUGINS: [&str; 6] =
    ["echo.wasm", "gateway.wasm", "pod_log.wasm", "scheduled_echo.wasm", "website.wasm", "xca.wasm"];
/// Names the program, where it is not beside the tests.
const PROGRAM: &str = "GYRE_PROGRAM";

/// The target folder of this build.
pub(crate) fn target() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // target/debug/deps/chart-0123
    test.ancestors().nth(3).unwrap().to_owned()
}

/// The host as it is built in this workspace: `cargo test --workspace` does, since the tests of the host need it. Or none, after having
/// skipped the test that calls it.
#[track_caller]
pub(crate) fn gyre_or_skip() -> anyhow::Result<Option<PathBuf>> {
    let beside = std::env::current_exe()?.ancestors().nth(2).map(|folder| folder.join("gyre"));
    let found = std::env::var_os(PROGRAM).map(PathBuf::from).or(beside).filter(|path| path.is_file());
    if found.is_none() {
        skip(&format!("gyre is not built: `cargo build --package gyre`, or name it in {PROGRAM}"))?;
    }
    Ok(found)
}

/// A program on PATH.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Writes a script that anybody may run.
pub(crate) fn write_script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The folder of the plugins, as the tests of the host have them built. Or none, after having skipped the test that calls it.
#[track_caller]
pub(crate) fn plugins_or_skip() -> anyhow::Result<Option<PathBuf>> {
    let folder = target().join("wasm/wasm32-wasip2/plugin");
    let is_there = IMAGE_PLUGINS.iter().all(|file| folder.join(file).is_file());
    if !is_there {
        skip("the plugins are not built: `cargo test --workspace` does")?;
    }
    Ok(is_there.then_some(folder))
}
