//! Programs for tests that are built with Go, each from a module of its own: their dependencies
//! have other versions than those of the control plane.
//!
//! They are cached like the control plane, in folders of their own, so a change of one does not
//! build the others again.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::error::Error;
use crate::go::{self, Cache};
use crate::skip::{calling_test, skip};
use crate::stderr::print_uncaptured;

/// A program that a test runs.
#[derive(Clone, Copy, Debug)]
pub struct GoTool {
    /// The name of the program.
    pub name: &'static str,
    /// The Go package, as in the `tool` line of `go.mod`.
    package: &'static str,
    /// The module in `go.mod` that has the version of the program.
    module: &'static str,
    /// The build tags, with commas.
    tags: &'static str,
    go_mod: &'static str,
    go_sum: &'static str,
}

/// Checks workflows. Its build takes half a minute.
pub const ACTIONLINT: GoTool = GoTool {
    name: "actionlint",
    package: "github.com/rhysd/actionlint/cmd/actionlint",
    module: "github.com/rhysd/actionlint",
    tags: "",
    go_mod: include_str!("../go-tools/actionlint/go.mod"),
    go_sum: include_str!("../go-tools/actionlint/go.sum"),
};

/// Checks and tests rules of Prometheus. Its build takes some minutes; without the tag, it would
/// also have the clients of all clouds.
pub const PROMTOOL: GoTool = GoTool {
    name: "promtool",
    package: "github.com/prometheus/prometheus/cmd/promtool",
    module: "github.com/prometheus/prometheus",
    tags: "remove_all_sd",
    go_mod: include_str!("../go-tools/promtool/go.mod"),
    go_sum: include_str!("../go-tools/promtool/go.sum"),
};

/// All of them.
pub const ALL: [GoTool; 2] = [ACTIONLINT, PROMTOOL];

impl GoTool {
    /// Returns the program, or `None` if it would have to be built.
    ///
    /// # Errors
    ///
    /// If there is no place for a cache.
    pub fn find(&self) -> Result<Option<PathBuf>, Error> {
        let cache = self.cache()?;
        Ok(cache.is_full().then(|| cache.folder.join(self.name)))
    }

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

    /// Returns the program if it is built. Otherwise prints that the calling test does nothing, and
    /// returns `None`: that is no skipped test, which would fail where `CI=true`.
    ///
    /// It is for programs that take minutes to build. `cargo xtask tools` builds them, and so does
    /// `cargo xtask test --all`.
    ///
    /// # Errors
    ///
    /// If there is no place for a cache.
    #[track_caller]
    pub fn if_built(&self) -> anyhow::Result<Option<PathBuf>> {
        let found = self.find()?;
        if found.is_none() {
            let (test, name) = (calling_test(), self.name);
            print_uncaptured(&format!("LEFT OUT: {test} ({name} is not built: `cargo xtask tools {name}` builds it)\n"));
        }
        Ok(found)
    }

    fn cache(&self) -> Result<Cache, Error> {
        let version = self.version().ok_or(Error::Module { program: self.name })?;
        let built = [self.go_mod, self.go_sum, self.tags, std::env::consts::OS, std::env::consts::ARCH].join("\0");
        Cache::of_user(self.name, &format!("{version}-{}", go::short_digest(&built)))
    }

    fn version(&self) -> Option<String> {
        crate::module::required_version(self.go_mod, self.module)
    }

    fn build(&self, folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<(), Error> {
        go::write_module(folder, &[("go.mod", self.go_mod), ("go.sum", self.go_sum)])?;
        let go = go::version(folder, self.name)?;
        let version = self.version().unwrap_or_default();
        progress(&format!("building {} {version} with {go} in {}", self.name, folder.display()));
        let begin = Instant::now();
        go::build(folder, self.name, self.package, &["-ldflags", "-s -w", "-tags", self.tags])?;
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
            assert!(tool.go_mod.contains(&format!("\ntool {}\n", tool.package)), "{}", tool.name);
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
        let error = GoTool { go_mod: "module empty\n", ..ACTIONLINT }.find().unwrap_err();
        assert!(matches!(error, Error::Module { program: "actionlint" }), "{error}");
    }
}
