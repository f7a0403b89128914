//! The programs of a control plane: found, or built with Go into a cache outside the checkout.

use std::fmt::Write as _;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use crate::module::{GO_MOD, GO_SUM, PROGRAMS, Program};

/// The variable with a folder of `etcd`, `kube-apiserver` and `kubectl`, as for envtest.
pub const ASSETS: &str = "KUBEBUILDER_ASSETS";
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

/// The reason why the tools are missing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// There is no Go, or one that is too old.
    #[error(
        "it is built with Go, and {reason}; install Go, or, for the control plane, set {ASSETS} to a folder with etcd, kube-apiserver and kubectl"
    )]
    NoGo {
        /// The problem with Go on this machine.
        reason: String,
    },
    /// An optional program is missing.
    #[error(
        "there is no {program} in {ASSETS}, in the cache or on PATH; `cargo xtask control-plane` without {ASSETS} builds one"
    )]
    Missing {
        /// The name of the program.
        program: &'static str,
    },
    /// `KUBEBUILDER_ASSETS` is wrong.
    #[error("{ASSETS} is {}, which has no {program}", folder.display())]
    Assets {
        /// The value of the variable.
        folder: PathBuf,
        /// The missing program.
        program: &'static str,
    },
    /// Neither `XDG_CACHE_HOME` nor `HOME` is set.
    #[error("there is no place for a cache: set HOME or XDG_CACHE_HOME")]
    NoCache,
    /// `go.mod` lacks a version.
    #[error("go.mod gives no version for {program}")]
    Module {
        /// The name of the program.
        program: &'static str,
    },
    /// `go build` failed.
    #[error("`go build` of {program} failed ({status}):\n{output}")]
    Build {
        /// The name of the program.
        program: &'static str,
        /// Its exit status.
        status: String,
        /// The first lines of its stderr.
        output: String,
    },
    /// An error of the file system or a process.
    #[error("cannot {action}")]
    Io {
        /// The action that failed.
        action: String,
        /// The cause.
        source: Arc<io::Error>,
    },
}

impl Error {
    /// Returns whether this machine lacks a program, so that a test may be skipped.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::NoGo { .. } | Self::Missing { .. })
    }

    fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source: Arc::new(source) }
    }
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
        let cache = Cache::of_control_plane()?;
        let origin = cache.fill(progress, build_all)?;
        Ok(Self::in_folder(&cache.folder, origin))
    }

    /// Returns the tools, or `None` if they would have to be built.
    pub fn find() -> Result<Option<Self>, Error> {
        if let Some(tools) = Self::without_building()? {
            return Ok(Some(tools));
        }
        let cache = Cache::of_control_plane()?;
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
    let cached = Cache::of_control_plane().ok().map(|cache| cache.folder.join(program));
    cached.filter(|path| path.is_file()).or_else(|| on_path(program))
}

fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// A folder of built programs. It is renamed when it is complete.
pub(crate) struct Cache {
    pub(crate) folder: PathBuf,
}

impl Cache {
    fn of_control_plane() -> Result<Self, Error> {
        Self::of_user("controlplane", &key(GO_MOD, GO_SUM)?)
    }

    /// Returns the folder of these programs. The key changes with all that is built.
    pub(crate) fn of_user(programs: &str, key: &str) -> Result<Self, Error> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache"))).ok_or(Error::NoCache)?;
        Ok(Self { folder: root.join("gyre").join(programs).join(key) })
    }

    pub(crate) fn is_full(&self) -> bool {
        self.folder.is_dir()
    }

    /// Fills the folder by `build`, which gets another folder, unless it is full.
    ///
    /// Guarantees: of concurrent processes, one builds and the others wait.
    pub(crate) fn fill(
        &self,
        progress: &mut dyn FnMut(&str),
        build: impl FnOnce(&Path, &mut dyn FnMut(&str)) -> Result<(), Error>,
    ) -> Result<Origin, Error> {
        if self.is_full() {
            return Ok(Origin::Cache);
        }
        let (Some(parent), Some(name)) = (self.folder.parent(), self.folder.file_name()) else {
            return Err(Error::NoCache);
        };
        let name = name.to_string_lossy();
        std::fs::create_dir_all(parent).map_err(Error::io(format!("create {}", parent.display())))?;
        // The file stays: if it were removed, two processes could lock different files.
        let _lock = lock(&parent.join(format!("{name}.lock")), progress)?;
        if self.is_full() {
            return Ok(Origin::Cache);
        }
        let building = parent.join(format!("{name}.building"));
        if building.exists() {
            progress("removing what a build left that did not finish");
            std::fs::remove_dir_all(&building).map_err(Error::io(format!("remove {}", building.display())))?;
        }
        std::fs::create_dir(&building).map_err(Error::io(format!("create {}", building.display())))?;
        if let Err(error) = build(&building, progress) {
            // The next attempt is faster, because Go's own cache has the compiled packages.
            let _ = std::fs::remove_dir_all(&building);
            return Err(error);
        }
        std::fs::rename(&building, &self.folder).map_err(Error::io(format!("create {}", self.folder.display())))?;
        Ok(Origin::Built)
    }
}

fn key(go_mod: &str, go_sum: &str) -> Result<String, Error> {
    let mut digest = Sha256::new();
    for part in [go_mod, go_sum, std::env::consts::OS, std::env::consts::ARCH] {
        digest.update(part);
        digest.update([0]);
    }
    let mut version = String::new();
    for program in &PROGRAMS {
        digest.update(program.ldflags(go_mod).ok_or(Error::Module { program: program.name })?);
        if program.name == "kube-apiserver" {
            version = program.version(go_mod).unwrap_or_default();
        }
    }
    Ok(named(&version, digest))
}

/// Returns a key that begins with a version, for people.
pub(crate) fn named(version: &str, digest: Sha256) -> String {
    let mut key = format!("{version}-");
    for byte in digest.finalize().iter().take(6) {
        let _ = write!(key, "{byte:02x}");
    }
    key
}

fn lock(path: &Path, progress: &mut dyn FnMut(&str)) -> Result<File, Error> {
    let action = || format!("lock {}", path.display());
    let file = File::options().create(true).append(true).open(path).map_err(Error::io(action()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            progress("waiting for another process that is building the same programs");
            file.lock().map_err(Error::io(action()))?;
            Ok(file)
        }
        Err(TryLockError::Error(error)) => Err(Error::io(action())(error)),
    }
}

fn build_all(folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<(), Error> {
    let go = copy_module(folder, GO_MOD, GO_SUM)?;
    progress(&format!("building the control plane with {go} in {}; this takes minutes the first time", folder.display()));
    let start = Instant::now();
    for (index, program) in PROGRAMS.iter().enumerate() {
        let (name, step) = (program.name, index + 1);
        let version = program.version(GO_MOD).ok_or(Error::Module { program: name })?;
        progress(&format!("[{step}/{}] building {name} {version}", PROGRAMS.len()));
        let begin = Instant::now();
        build(folder, program)?;
        progress(&format!("[{step}/{}] built {name} in {:.0} s", PROGRAMS.len(), begin.elapsed().as_secs_f64()));
    }
    progress(&format!("built the control plane in {:.0} s", start.elapsed().as_secs_f64()));
    Ok(())
}

/// Copies a module into the folder where its programs are built, and returns the version of Go.
///
/// So the build matches the key of the cache even if the checkout changes meanwhile. No program is
/// a package of these modules.
pub(crate) fn copy_module(folder: &Path, go_mod: &str, go_sum: &str) -> Result<String, Error> {
    for (name, text) in [("go.mod", go_mod), ("go.sum", go_sum)] {
        std::fs::write(folder.join(name), text).map_err(Error::io(format!("write {name}")))?;
    }
    go_version(folder)
}

/// Returns `go` in the folder of the module, as for building the programs.
pub fn go_in_module() -> Command {
    go(Path::new(env!("CARGO_MANIFEST_DIR")))
}

fn go(folder: &Path) -> Command {
    let mut command = Command::new("go");
    // The developer's GOFLAGS and GOWORK are for other modules.
    command.current_dir(folder).env("CGO_ENABLED", "0").env("GOWORK", "off").env("GOFLAGS", "-mod=readonly");
    if std::env::var_os("GOTOOLCHAIN").is_none() {
        // Never downloads a compiler without being asked.
        command.env("GOTOOLCHAIN", "local");
    }
    command
}

/// Returns the version of Go that would build in `folder`. With `GOTOOLCHAIN=local`, Go refuses a
/// module that is too new for it.
fn go_version(folder: &Path) -> Result<String, Error> {
    let run = |args: &[&str]| match go(folder).args(args).output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).trim().to_string()),
        Ok(output) => Err(Error::NoGo { reason: String::from_utf8_lossy(&output.stderr).trim().to_string() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::NoGo { reason: "there is no `go` on PATH".to_string() })
        }
        Err(error) => Err(Error::io("run `go`")(error)),
    };
    // `go env` prints a version even for a module that this Go would not build.
    run(&["list", "-m"])?;
    run(&["env", "GOVERSION"])
}

fn build(folder: &Path, program: &Program) -> Result<(), Error> {
    let ldflags = program.ldflags(GO_MOD).ok_or(Error::Module { program: program.name })?;
    go_build(folder, program.name, program.package, &["-ldflags", &ldflags])
}

/// Builds a program into the folder of its module.
pub(crate) fn go_build(folder: &Path, program: &'static str, package: &str, flags: &[&str]) -> Result<(), Error> {
    let output = go(folder)
        .args(["build", "-trimpath"])
        .args(flags)
        .args(["-o", program, package])
        .output()
        .map_err(Error::io("run `go build`"))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    // The first errors of a compiler matter; a failed download prints nothing else.
    let first: Vec<&str> = stderr.lines().take(20).collect();
    Err(Error::Build { program, status: output.status.to_string(), output: first.join("\n") })
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

    #[test]
    fn a_module_that_is_too_new_for_this_go_is_a_reason_to_skip() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("go.mod"), "module x\n\ngo 1.999.0\n").unwrap();
        if let Err(error) = go_version(folder.path()) {
            assert!(error.is_missing(), "{error}");
            assert!(error.to_string().contains("Go"), "{error}");
        } else {
            assert!(std::env::var_os("GOTOOLCHAIN").is_some(), "this Go cannot be that new");
        }
    }
}
