//! Builds Go programs for tests into a cache outside the checkout.

use std::fmt::Write as _;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::error::Error;

/// The first bytes of a SHA-256 digest in hexadecimal, which distinguish what is built.
pub(crate) fn short_digest(text: &str) -> String {
    let mut digest = String::new();
    for byte in Sha256::digest(text).iter().take(6) {
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

/// The time at which programs were built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// By an earlier call, perhaps of another process.
    Before,
    /// By this call.
    Now,
}

/// A folder of built programs. It is renamed when it is complete.
pub(crate) struct Cache {
    pub(crate) folder: PathBuf,
}

impl Cache {
    /// The folder of what has this key, in the user's cache.
    pub(crate) fn of_user(kind: &str, key: &str) -> Result<Self, Error> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache"))).ok_or(Error::NoCache)?;
        Ok(Self { folder: root.join("gyre").join(kind).join(key) })
    }

    pub(crate) fn is_full(&self) -> bool {
        self.folder.is_dir()
    }

    /// Builds the programs unless they are there. `what` they are is for progress.
    ///
    /// Guarantees: of concurrent processes, one builds and the others wait.
    pub(crate) fn fill(
        &self,
        what: &str,
        progress: &mut dyn FnMut(&str),
        build: impl FnOnce(&Path, &mut dyn FnMut(&str)) -> Result<(), Error>,
    ) -> Result<Filled, Error> {
        if self.is_full() {
            return Ok(Filled::Before);
        }
        let (Some(parent), Some(name)) = (self.folder.parent(), self.folder.file_name()) else {
            return Err(Error::NoCache);
        };
        let name = name.to_string_lossy();
        std::fs::create_dir_all(parent).map_err(Error::io(format!("create {}", parent.display())))?;
        // The file stays: if it were removed, two processes could lock different files.
        let _lock = lock(&parent.join(format!("{name}.lock")), what, progress)?;
        if self.is_full() {
            return Ok(Filled::Before);
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
        Ok(Filled::Now)
    }
}

fn lock(path: &Path, what: &str, progress: &mut dyn FnMut(&str)) -> Result<File, Error> {
    let action = || format!("lock {}", path.display());
    let file = File::options().create(true).append(true).open(path).map_err(Error::io(action()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            progress(&format!("waiting for another process that is building {what}"));
            file.lock().map_err(Error::io(action()))?;
            Ok(file)
        }
        Err(TryLockError::Error(error)) => Err(Error::io(action())(error)),
    }
}

/// Writes copies of a module's files, so that the build matches the key of the cache even if the
/// checkout changes meanwhile.
pub(crate) fn write_module(folder: &Path, files: &[(&str, &str)]) -> Result<(), Error> {
    for (name, text) in files {
        std::fs::write(folder.join(name), text).map_err(Error::io(format!("write {name}")))?;
    }
    Ok(())
}

pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new("go");
    // The developer's GOFLAGS and GOWORK are for other modules.
    command.current_dir(folder).env("CGO_ENABLED", "0").env("GOWORK", "off").env("GOFLAGS", "-mod=readonly");
    if std::env::var_os("GOTOOLCHAIN").is_none() {
        // Never downloads a compiler without being asked.
        command.env("GOTOOLCHAIN", "local");
    }
    command
}

/// Returns the version of Go that would build the module in `folder`. With `GOTOOLCHAIN=local`, Go
/// refuses a module that is too new for it.
pub(crate) fn version(folder: &Path, what: &'static str) -> Result<String, Error> {
    let run = |args: &[&str]| match command(folder).args(args).output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).trim().to_string()),
        Ok(output) => Err(Error::NoGo { what, reason: String::from_utf8_lossy(&output.stderr).trim().to_string() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::NoGo { what, reason: "there is no `go` on PATH".to_string() })
        }
        Err(error) => Err(Error::io("run `go`")(error)),
    };
    // `go env` prints a version even for a module that this Go would not build.
    run(&["list", "-m"])?;
    run(&["env", "GOVERSION"])
}

/// Builds a package of the module in `folder` to the file `program` there.
pub(crate) fn build(folder: &Path, program: &'static str, package: &str, flags: &[&str]) -> Result<(), Error> {
    let output = command(folder)
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
    fn a_module_that_is_too_new_for_this_go_is_a_reason_to_skip() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("go.mod"), "module x\n\ngo 1.999.0\n").unwrap();
        if let Err(error) = version(folder.path(), "x") {
            assert!(error.is_missing(), "{error}");
            assert!(error.to_string().contains("Go"), "{error}");
        } else {
            assert!(std::env::var_os("GOTOOLCHAIN").is_some(), "this Go cannot be that new");
        }
    }
}
