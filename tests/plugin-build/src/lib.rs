//! The compilation of plugins: the arguments and flags of Cargo, in one place.
//!
//! ```text
//! tests/artifacts/build.rs ──┐
//! cargo xtask ───────────────┼──▶ the same component, byte for byte
//! the steps of the image ────┘
//! ```
//!
//! On one machine they share a target folder, so different flags would make each program compile
//! all plugins again.
//!
//! What is absent: running Cargo. Each program removes other variables from its environment first.

use std::path::{Path, PathBuf};
use std::{env, io};

/// The target of plugins.
pub const TARGET: &str = "wasm32-wasip2";

/// A profile of components, from the `Cargo.toml` of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Of plugins that ship: small.
    Plugin,
    /// Of plugins for tests: quick to build.
    Guest,
}

impl Profile {
    /// Returns its name in `Cargo.toml`, which is also that of its folder.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plugin => "plugin",
            Self::Guest => "guest",
        }
    }

    /// Returns the arguments of Cargo that select the profile and the target.
    pub const fn options(self) -> [&'static str; 4] {
        ["--profile", self.name(), "--target", TARGET]
    }

    /// Returns the folder in a target folder to which Cargo writes components.
    pub fn components(self, target_dir: &Path) -> PathBuf {
        target_dir.join(TARGET).join(self.name())
    }
}

/// The arguments of Cargo that select what is compiled of a plugin, without `--package` and
/// [`Profile::options`]. A plugin is also a library for native tests, and Cargo does not optimise
/// across crates for both at once.
pub const CDYLIB: [&str; 4] = ["rustc", "--lib", "--crate-type", "cdylib"];

/// The environment variable that passes [`flags`] to Cargo.
pub const FLAGS_VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";

/// The flags of rustc. The messages of panics name the source files of dependencies, and a plugin
/// must be the same wherever it is compiled: the flags remove the folder of this machine from these
/// names.
///
/// # Errors
///
/// When the folder of Cargo is unknown.
pub fn flags() -> io::Result<String> {
    Ok(format!("--remap-path-prefix={}=", cargo_home()?.join("registry").join("src").display()))
}

/// The folder in which Cargo keeps the sources of dependencies.
///
/// # Errors
///
/// When there is neither `CARGO_HOME` nor a home folder.
pub fn cargo_home() -> io::Result<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    home.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is neither CARGO_HOME nor a home folder"))
}

/// Returns the name of the file of a plugin, in [`Profile::components`].
pub fn file_name(package: &str) -> String {
    format!("{}.wasm", package.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_remove_the_folder_of_the_registry() {
        let home = cargo_home().unwrap();
        assert_eq!(flags().unwrap(), format!("--remap-path-prefix={}/registry/src=", home.display()));
    }

    #[test]
    fn a_file_is_named_after_its_package() {
        assert_eq!(file_name("pod-log"), "pod_log.wasm");
    }
}
