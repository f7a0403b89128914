//! Programs for tests that are built with Go, each from a module of its own: their dependencies
//! have other versions than those of the control plane.
//!
//! They are cached like the control plane, in folders of their own, so a change of one does not
//! build the others again.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::error::Error;
use crate::go::{self, Cache};
use crate::skip::skip;
use crate::stderr::print_uncaptured;

/// The package of a program whose source is in this repository.
const OURS: &str = ".";

/// A program that a test runs.
#[derive(Clone, Copy, Debug)]
pub struct GoTool {
    /// The name of the program.
    pub name: &'static str,
    /// The Go package: [`OURS`], or as in the `tool` line of `go.mod`.
    package: &'static str,
    /// The module in `go.mod` whose version the folder of the program has.
    module: &'static str,
    /// The files of the Go module. Compiled in, so that the key of the cache matches what is built.
    files: &'static [(&'static str, &'static str)],
}

/// Checks workflows. Its build takes half a minute.
pub const ACTIONLINT: GoTool = GoTool {
    name: "actionlint",
    package: "github.com/rhysd/actionlint/cmd/actionlint",
    module: "github.com/rhysd/actionlint",
    files: &[
        ("go.mod", include_str!("../go-tools/actionlint/go.mod")),
        ("go.sum", include_str!("../go-tools/actionlint/go.sum")),
    ],
};

/// Tests alerts of Prometheus. Its build takes a minute, where promtool takes five.
pub const ALERTTEST: GoTool = GoTool {
    name: "alerttest",
    package: OURS,
    module: "github.com/prometheus/prometheus",
    files: &[
        ("go.mod", include_str!("../go-tools/alerttest/go.mod")),
        ("go.sum", include_str!("../go-tools/alerttest/go.sum")),
        ("main.go", include_str!("../go-tools/alerttest/main.go")),
        ("alert.go", include_str!("../go-tools/alerttest/alert.go")),
        ("memory.go", include_str!("../go-tools/alerttest/memory.go")),
    ],
};

/// All of them.
pub const ALL: [GoTool; 2] = [ACTIONLINT, ALERTTEST];

impl GoTool {
    /// Returns the program, and builds it if needed. `progress` gets a line for each step.
    ///
    /// Guarantees: as [`crate::Tools::find_or_build`].
    ///
    /// # Errors
    ///
    /// If there is no Go, or the build fails.
    pub fn find_or_build(&self, progress: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
        let cache = self.cache()?;
        cache.fill(self.name, progress, |folder, progress| self.build(folder, progress))?;
        Ok(cache.folder.join(self.name))
    }

    /// Returns the program, and builds it if needed, or returns `None` after skipping the calling
    /// test.
    ///
    /// # Errors
    ///
    /// If the build fails, or the test may not be skipped.
    #[track_caller]
    pub fn or_skip(&self) -> anyhow::Result<Option<PathBuf>> {
        match self.find_or_build(&mut |line| print_uncaptured(&format!("{line}\n"))) {
            Ok(program) => Ok(Some(program)),
            Err(error) if error.is_missing() => skip(&format!("{}: {error}", self.name)).map(|()| None),
            Err(error) => Err(error.into()),
        }
    }

    fn cache(&self) -> Result<Cache, Error> {
        let version = self.version().ok_or(Error::Module { program: self.name })?;
        let module: String = self.files.iter().map(|(name, text)| format!("{name}\0{text}\0")).collect();
        let built = format!("{module}{}\0{}", std::env::consts::OS, std::env::consts::ARCH);
        Cache::of_user(self.name, &format!("{version}-{}", go::short_digest(&built)))
    }

    fn version(&self) -> Option<String> {
        crate::module::required_version(self.go_mod()?, self.module)
    }

    fn go_mod(&self) -> Option<&'static str> {
        self.files.iter().find(|(name, _)| *name == "go.mod").map(|(_, text)| *text)
    }

    fn build(&self, folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<(), Error> {
        go::write_module(folder, self.files)?;
        let go = go::version(folder, self.name)?;
        let version = self.version().unwrap_or_default();
        progress(&format!("building {} {version} with {go} in {}", self.name, folder.display()));
        let begin = Instant::now();
        go::build(folder, self.name, self.package, &["-ldflags", "-s -w"])?;
        progress(&format!("built {} in {:.0} s", self.name, begin.elapsed().as_secs_f64()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_the_one_of_its_module_and_has_a_folder_of_its_own() {
        for tool in ALL {
            let is_of_module = tool.go_mod().unwrap().contains(&format!("\ntool {}\n", tool.package));
            assert!(is_of_module || tool.package == OURS, "{}", tool.name);
            let version = tool.version().unwrap();
            assert!(version.starts_with('v'), "{version}");
            let folder = tool.cache().unwrap().folder;
            let names: Vec<_> = folder.iter().rev().take(2).map(|name| name.to_string_lossy().into_owned()).collect();
            assert!(names[0].starts_with(&format!("{version}-")), "{names:?}");
            assert_eq!(names[1], tool.name);
        }
    }

    #[test]
    fn a_module_without_the_version_is_an_error() {
        let tool = GoTool { files: &[("go.mod", "module empty\n")], ..ACTIONLINT };
        let error = tool.find_or_build(&mut |_| {}).unwrap_err();
        assert!(matches!(error, Error::Module { program: "actionlint" }), "{error}");
    }
}
