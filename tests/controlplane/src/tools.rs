//! The programs of a control plane: found, or built with Go into a cache outside the checkout.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

pub use crate::error::{ASSETS, Error};
use crate::go::{self, Cache, Filled};
use crate::module::{GO_MOD, GO_SUM, PROGRAMS};

/// The name of all programs together.
const WHAT: &str = "the control plane";
/// With `true`, tests use the cluster of the current kubeconfig, as for envtest.
pub const USE_EXISTING_CLUSTER: &str = "USE_EXISTING_CLUSTER";

/// The paths of the programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tools {
    /// The store behind the API server.
    pub etcd: PathBuf,
    /// The API server.
    pub kube_apiserver: PathBuf,
    /// The controllers; `None` if they are neither in `KUBEBUILDER_ASSETS` nor elsewhere.
    pub kube_controller_manager: Option<PathBuf>,
    /// The client.
    pub kubectl: PathBuf,
    /// The chart installer; `None` if it is neither in `KUBEBUILDER_ASSETS` nor elsewhere.
    pub helm: Option<PathBuf>,
    /// The origin of the programs.
    pub origin: Origin,
}

/// The origin of the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The folder `KUBEBUILDER_ASSETS`.
    Assets,
    /// Our cache.
    Cache,
    /// Built just now, into our cache.
    Built,
    /// `PATH`, because `USE_EXISTING_CLUSTER=true` needs only clients. The servers need not exist.
    Path,
}

impl Tools {
    /// Returns the tools, and builds them if needed (minutes when Go's own cache is cold).
    /// `progress` gets a line for each step.
    ///
    /// Guarantees: of concurrent processes, one builds and the others wait. The cache contains only
    /// complete builds. A change of `go.mod`, `go.sum` or the flags gives another folder.
    pub fn find_or_build(progress: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        if let Some(tools) = Self::without_building()? {
            return Ok(tools);
        }
        let cache = cache()?;
        let origin = match cache.fill(WHAT, progress, build_all)? {
            Filled::Before => Origin::Cache,
            Filled::Now => Origin::Built,
        };
        Ok(Self::in_folder(&cache.folder, origin))
    }

    /// Returns the tools, or `None` if they would have to be built.
    pub fn find() -> Result<Option<Self>, Error> {
        if let Some(tools) = Self::without_building()? {
            return Ok(Some(tools));
        }
        let cache = cache()?;
        Ok(cache.is_full().then(|| Self::in_folder(&cache.folder, Origin::Cache)))
    }

    /// Returns the controller manager, or [`Error::Missing`].
    pub fn kube_controller_manager(&self) -> Result<&Path, Error> {
        self.kube_controller_manager.as_deref().ok_or(Error::Missing { program: "kube-controller-manager" })
    }

    /// Returns Helm, or [`Error::Missing`].
    pub fn helm(&self) -> Result<&Path, Error> {
        self.helm.as_deref().ok_or(Error::Missing { program: "helm" })
    }

    fn without_building() -> Result<Option<Self>, Error> {
        if let Some(folder) = std::env::var_os(ASSETS).filter(|folder| !folder.is_empty()) {
            return Self::in_assets(Path::new(&folder)).map(Some);
        }
        match on_path("kubectl") {
            Some(kubectl) if uses_existing_cluster() => Ok(Some(Self {
                etcd: "etcd".into(),
                kube_apiserver: "kube-apiserver".into(),
                kube_controller_manager: None,
                kubectl,
                helm: elsewhere("helm"),
                origin: Origin::Path,
            })),
            _ => Ok(None),
        }
    }

    fn in_assets(folder: &Path) -> Result<Self, Error> {
        let needed = |program| {
            let path = folder.join(program);
            if path.is_file() { Ok(path) } else { Err(Error::Assets { folder: folder.to_path_buf(), program }) }
        };
        let optional = |program| needed(program).ok().or_else(|| elsewhere(program));
        Ok(Self {
            etcd: needed("etcd")?,
            kube_apiserver: needed("kube-apiserver")?,
            kubectl: needed("kubectl")?,
            kube_controller_manager: optional("kube-controller-manager"),
            helm: optional("helm"),
            origin: Origin::Assets,
        })
    }

    fn in_folder(folder: &Path, origin: Origin) -> Self {
        Self {
            etcd: folder.join("etcd"),
            kube_apiserver: folder.join("kube-apiserver"),
            kube_controller_manager: Some(folder.join("kube-controller-manager")),
            kubectl: folder.join("kubectl"),
            helm: Some(folder.join("helm")),
            origin,
        }
    }
}

pub(crate) fn uses_existing_cluster() -> bool {
    std::env::var(USE_EXISTING_CLUSTER).is_ok_and(|value| value == "true")
}

fn elsewhere(program: &'static str) -> Option<PathBuf> {
    let cached = cache().ok().map(|cache| cache.folder.join(program));
    cached.filter(|path| path.is_file()).or_else(|| on_path(program))
}

fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The folder of the built programs.
fn cache() -> Result<Cache, Error> {
    Cache::of_user("controlplane", &key(GO_MOD, GO_SUM)?)
}

fn key(go_mod: &str, go_sum: &str) -> Result<String, Error> {
    let mut built: String =
        [go_mod, go_sum, std::env::consts::OS, std::env::consts::ARCH].iter().map(|part| format!("{part}\0")).collect();
    let mut version = String::new();
    for program in &PROGRAMS {
        built.push_str(&program.ldflags(go_mod).ok_or(Error::Module { program: program.name })?);
        if program.name == "kube-apiserver" {
            version = program.version(go_mod).unwrap_or_default();
        }
    }
    Ok(format!("{version}-{}", go::short_digest(&built)))
}

fn build_all(folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<(), Error> {
    // No program is a package of this module.
    go::write_module(folder, &[("go.mod", GO_MOD), ("go.sum", GO_SUM)])?;
    let version = go::version(folder, WHAT)?;
    progress(&format!("building {WHAT} with {version} in {}; this takes minutes the first time", folder.display()));
    let start = Instant::now();
    for (index, program) in PROGRAMS.iter().enumerate() {
        let (name, step) = (program.name, index + 1);
        let version = program.version(GO_MOD).ok_or(Error::Module { program: name })?;
        progress(&format!("[{step}/{}] building {name} {version}", PROGRAMS.len()));
        let begin = Instant::now();
        let ldflags = program.ldflags(GO_MOD).ok_or(Error::Module { program: name })?;
        go::build(folder, name, program.package, &["-ldflags", &ldflags])?;
        progress(&format!("[{step}/{}] built {name} in {:.0} s", PROGRAMS.len(), begin.elapsed().as_secs_f64()));
    }
    progress(&format!("built {WHAT} in {:.0} s", start.elapsed().as_secs_f64()));
    Ok(())
}

/// Returns `go` in the folder of the module, as for building the programs.
pub fn go_in_module() -> Command {
    go::command(Path::new(env!("CARGO_MANIFEST_DIR")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_keyed_on_all_that_is_built() {
        let key = |go_mod: &str, go_sum: &str| key(go_mod, go_sum).unwrap();
        let here = key(GO_MOD, GO_SUM);
        assert_eq!(here, key(GO_MOD, GO_SUM));
        assert!(here.starts_with("v1."), "{here}");
        assert_ne!(here, key(GO_MOD, &format!("{GO_SUM}x")), "go.sum");
        assert_ne!(here, key(&format!("{GO_MOD}//\n"), GO_SUM), "go.mod");
        // A byte that moves from one file to the other is a change.
        assert_ne!(key(&format!("{GO_MOD}x"), "y"), key(GO_MOD, "xy"));
    }

    #[test]
    fn a_module_without_versions_is_an_error_that_names_the_program() {
        let error = key("module empty\n", "").unwrap_err();
        assert!(matches!(error, Error::Module { program: "kube-apiserver" }), "{error}");
    }

    #[test]
    fn assets_need_the_three_programs_of_envtest_and_may_lack_the_others() {
        let folder = tempfile::tempdir().unwrap();
        for program in ["etcd", "kube-apiserver", "kubectl"] {
            let error = Tools::in_assets(folder.path()).unwrap_err();
            assert!(matches!(&error, Error::Assets { program: found, .. } if *found == program), "{error}");
            assert!(!error.is_missing(), "a wrong setting is not a reason to skip");
            std::fs::write(folder.path().join(program), "").unwrap();
        }
        assert_eq!(Tools::in_assets(folder.path()).unwrap().etcd, folder.path().join("etcd"));
        std::fs::write(folder.path().join("helm"), "").unwrap();
        assert_eq!(Tools::in_assets(folder.path()).unwrap().helm().unwrap(), folder.path().join("helm"));
    }
}
