//! Plugins in Python: runs the build of the SDK, which needs python3 with pip, and nothing else.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use gyre_engine::error::error_chain;

use super::{Built, folder_of_results, run_shown};

/// The file of a project.
pub(super) const PROJECT: &str = "pyproject.toml";

/// The first version that has what the SDK uses.
const OLDEST: &str = "3.10";

/// Prints whether the interpreter is new enough.
const IS_NEW_ENOUGH: &str = "import sys; sys.exit(0 if sys.version_info >= (3, 10) else 1)";

const INSTALL: &str = "install Python 3.10 or later with pip (https://www.python.org/downloads)";

/// Builds the project in a folder, an absolute path.
pub(super) fn build(directory: &Path, options: &[String]) -> anyhow::Result<Built> {
    build_to("plugin.wasm", directory, options)
}

/// Builds the project with another seed of hashes, which orders sets in another way. The seed is
/// part of a component.
pub(super) fn build_variant(directory: &Path) -> anyhow::Result<Built> {
    build_to("plugin-with-another-hash-seed.wasm", directory, &["--hash-seed=1".to_owned()])
}

fn build_to(file: &str, directory: &Path, options: &[String]) -> anyhow::Result<Built> {
    require_version()?;
    let sdk = sdk(directory)?;
    let component = folder_of_results(directory)?.join(file);
    let mut python = Command::new("python3");
    python.args(["-m", "gyre.build"]).arg(directory).arg("-o").arg(&component).args(options);
    // Without what another environment of Python brings.
    python.env("PYTHONPATH", &sdk).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONHOME");
    let output = run_shown(&mut python).map_err(|error| cannot_run(&error))?;
    if !output.status.success() {
        bail!("the SDK for Python cannot build {}: see its messages above", directory.display());
    }
    Ok(Built { component, sources: vec![directory.to_owned(), sdk] })
}

fn cannot_run(error: &std::io::Error) -> anyhow::Error {
    anyhow!("cannot run python3: {}; {INSTALL}", error_chain(error))
}

fn require_version() -> anyhow::Result<()> {
    let mut python = Command::new("python3");
    let status = python.args(["-c", IS_NEW_ENOUGH]).stdin(Stdio::null()).status().map_err(|error| cannot_run(&error))?;
    if !status.success() {
        bail!("python3 is older than Python {OLDEST}; {INSTALL}");
    }
    Ok(())
}

/// The modules of the SDK that the project names.
fn sdk(directory: &Path) -> anyhow::Result<PathBuf> {
    let project = directory.join(PROJECT);
    let text = std::fs::read_to_string(&project).with_context(|| format!("cannot read {}", project.display()))?;
    let named = sdk_in(&text).with_context(|| {
        format!("{} does not name the SDK: add `sdk = \"PATH\"` to its table [tool.gyre]; `gyre new` creates a project that has one", project.display())
    })?;
    let modules = directory.join(named).join("src");
    if !modules.join("gyre/build").is_dir() {
        bail!(
            "{} names {named} as the SDK, which does not contain it (looked for {}); correct `sdk` in its table [tool.gyre]",
            project.display(),
            modules.join("gyre/build").display()
        );
    }
    Ok(modules)
}

/// The value of `sdk` in the table `[tool.gyre]`: a string in quotation marks, without escapes.
fn sdk_in(project: &str) -> Option<&str> {
    let mut lines = project.lines().map(str::trim).skip_while(|line| *line != "[tool.gyre]").skip(1);
    let value = lines.by_ref().take_while(|line| !line.starts_with('[')).find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "sdk").then_some(value.trim())
    })?;
    let quote = value.chars().next().filter(|first| ['"', '\''].contains(first))?;
    value[1..].split(quote).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sdk_is_what_its_table_names() {
        let of = |text: &'static str| sdk_in(text);
        assert_eq!(of("[project]\nname = \"a\"\n\n[tool.gyre]\nsdk = \"./gyre-sdk\"\n"), Some("./gyre-sdk"));
        assert_eq!(of("[tool.gyre]\nmodule = 'it'\nsdk='../sdk' # here\n[tool.other]\nsdk = \"no\"\n"), Some("../sdk"));
        assert_eq!(of("[tool.other]\nsdk = \"no\"\n[tool.gyre]\nmodule = \"it\"\n"), None);
        assert_eq!([of("[tool.gyre]\nsdk = no\n"), of("")], [None, None]);
    }
}
