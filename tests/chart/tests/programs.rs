//! Programs that other packages build.

use std::path::{Path, PathBuf};

use gyre_controlplane::skip;

pub(crate) const IMAGE_PLUGINS: [&str; 6] =
    ["echo.wasm", "gateway.wasm", "pod_log.wasm", "scheduled_echo.wasm", "website.wasm", "xca.wasm"];
/// The path of the program, if it is not beside the tests.
const PROGRAM: &str = "GYRE_PROGRAM";

pub(crate) fn target() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // The test is target/debug/deps/chart-0123.
    test.ancestors().nth(3).unwrap().to_owned()
}

/// Returns the host that `cargo test --workspace` builds, or `None` to skip the test.
#[track_caller]
pub(crate) fn gyre_or_skip() -> anyhow::Result<Option<PathBuf>> {
    let beside = std::env::current_exe()?.ancestors().nth(2).map(|folder| folder.join("gyre"));
    let found = std::env::var_os(PROGRAM).map(PathBuf::from).or(beside).filter(|path| path.is_file());
    if found.is_none() {
        skip(&format!("gyre is not built: `cargo build --package gyre`, or name it in {PROGRAM}"))?;
    }
    Ok(found)
}

pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

pub(crate) fn write_script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the folder of the plugins that the host's tests build, or `None` to skip the test.
#[track_caller]
pub(crate) fn plugins_or_skip() -> anyhow::Result<Option<PathBuf>> {
    let folder = target().join("wasm/wasm32-wasip2/plugin");
    let is_there = IMAGE_PLUGINS.iter().all(|file| folder.join(file).is_file());
    if !is_there {
        skip("the plugins are not built: `cargo test --workspace` does")?;
    }
    Ok(is_there.then_some(folder))
}
