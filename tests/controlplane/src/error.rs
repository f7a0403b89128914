//! The reasons why programs for tests are missing.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The variable with a folder of `etcd`, `kube-apiserver` and `kubectl`, as for envtest.
pub const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// The reason why the tools are missing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// There is no Go, or one that is too old.
    #[error(
        "{what} is built with Go, and {reason}; install Go, or, for the control plane alone, set {ASSETS} to a folder with etcd, kube-apiserver and kubectl"
    )]
    NoGo {
        /// The name of the programs.
        what: &'static str,
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

    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source: Arc::new(source) }
    }
}
