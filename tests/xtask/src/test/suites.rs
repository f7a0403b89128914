//! The test programs: which there are, and running one as `cargo test` does.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::selection::{Extent, ON_CONTROL_PLANE, ON_DEVCLUSTER};
use super::times::{self, Ended};
use crate::build;
use crate::steps;

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suite {
    /// The package, and the target in it unless these are the unit tests of its library or only
    /// program.
    pub(super) name: String,
    program: PathBuf,
    /// The folder in which `cargo test` runs it.
    folder: PathBuf,
    /// The variables that `cargo test` sets for it, besides those for all programs.
    environment: BTreeMap<String, String>,
}

/// The run of a test program.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) status: ExitStatus,
    pub(super) took: Duration,
    /// Each test with the time that it took.
    pub(super) tests: Vec<(String, Duration)>,
}

/// Compiles the test programs, and returns those that were compiled.
pub(super) fn build(extent: Extent) -> anyhow::Result<Vec<Suite>> {
    // All packages in each case: with fewer, Cargo would compile dependencies again, with fewer
    // features.
    let mut command =
        build::cargo(&["test", "--no-run", "--locked", "--workspace", "--message-format=json-render-diagnostics"]);
    command.args(extent.targets()).stdin(Stdio::null()).stdout(Stdio::piped());
    let line = steps::line(&command);
    eprintln!("  $ {line}");
    let mut child = command.spawn().context("cannot run Cargo")?;
    let mut messages = Vec::new();
    for line in child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).lines()) {
        // Cargo passes on what build scripts and the like print, which is no message.
        if let Ok(message) = serde_json::from_str(&line.context("cannot read what Cargo prints")?) {
            messages.push(message);
        }
    }
    let status = child.wait()?;
    ensure!(status.success(), "`{line}` failed ({status})");
    let packages = build::metadata()?;
    let mut suites = suites(&packages, &messages);
    let on_devcluster = suites.iter().find(|suite| suite.name == ON_CONTROL_PLANE).cloned();
    suites.extend(on_devcluster.map(|suite| Suite { name: ON_DEVCLUSTER.to_owned(), ..suite }));
    Ok(suites)
}

/// The test programs that Cargo's messages name.
fn suites(metadata: &Value, messages: &[Value]) -> Vec<Suite> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let is = |message: &Value, reason: &str| text(message, "reason") == reason;
    let packages = metadata.get("packages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let packages: HashMap<String, &Value> = packages.iter().map(|package| (text(package, "id"), package)).collect();
    let is_test = |message: &Value| message.pointer("/profile/test") == Some(&Value::Bool(true));

    // The programs of a package, which its tests run, and the folders that its build script wrote
    // to.
    let mut environments: HashMap<String, BTreeMap<String, String>> = HashMap::new();
    for message in messages {
        let environment = environments.entry(text(message, "package_id")).or_default();
        if is(message, "build-script-executed") {
            environment.insert("OUT_DIR".to_owned(), text(message, "out_dir"));
        } else if let (Some(program), false) = (message.get("executable").and_then(Value::as_str), is_test(message)) {
            let name = message.pointer("/target/name").and_then(Value::as_str).unwrap_or_default();
            environment.insert(format!("CARGO_BIN_EXE_{name}"), program.to_owned());
        }
    }

    // Tests with the test kit run the program that was built with them.
    let gyre = environments.values().find_map(|environment| environment.get("CARGO_BIN_EXE_gyre")).cloned();
    let mut suites = Vec::new();
    for message in messages.iter().filter(|message| is(message, "compiler-artifact") && is_test(message)) {
        let id = text(message, "package_id");
        let (Some(program), Some(package)) = (message.get("executable").and_then(Value::as_str), packages.get(&id)) else {
            continue;
        };
        let manifest = PathBuf::from(text(package, "manifest_path"));
        let folder = manifest.parent().unwrap_or(Path::new(".")).to_owned();
        let (package_name, target) = (text(package, "name"), message.get("target").unwrap_or(&Value::Null));
        let kind = target.pointer("/kind/0").and_then(Value::as_str).unwrap_or_default();
        let name = match kind {
            "bin" | "test" | "example" | "bench" => format!("{package_name} {}", text(target, "name")),
            _ => package_name.clone(),
        };
        let mut environment = environments.get(&id).cloned().unwrap_or_default();
        environment.extend(gyre.iter().map(|gyre| ("GYRE".to_owned(), gyre.clone())));
        environment.insert("CARGO_MANIFEST_DIR".to_owned(), folder.display().to_string());
        environment.insert("CARGO_MANIFEST_PATH".to_owned(), manifest.display().to_string());
        environment.insert("CARGO_PKG_NAME".to_owned(), package_name);
        environment.insert("CARGO_PKG_VERSION".to_owned(), text(package, "version"));
        suites.push(Suite { name, program: program.into(), folder, environment });
    }
    suites.sort_by(|one, other| one.name.cmp(&other.name));
    suites
}

impl Suite {
    fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).envs(&self.environment).args(arguments).stdin(Stdio::null());
        command
    }

    /// The names of its tests that these arguments choose, in the order in which they run.
    pub(super) fn list(&self, arguments: &[String]) -> anyhow::Result<Vec<String>> {
        let mut command = self.command(arguments);
        let text = steps::stdout_of(command.arg("--list"))?;
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Runs the tests that it lists with these arguments, at most `threads` at a time. Passes each
    /// printed line on.
    pub(super) fn run(
        &self,
        listed: &[String],
        threads: usize,
        arguments: &[String],
        environment: &[(&str, &str)],
        mut print: impl FnMut(&str),
    ) -> anyhow::Result<Run> {
        let mut command = self.command(arguments);
        command.arg(format!("--test-threads={threads}")).envs(environment.iter().copied()).stdout(Stdio::piped());
        let begin = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot run {}", self.program.display()))?;
        let mut ended = Vec::new();
        for line in child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).split(b'\n')) {
            let line = line.context("cannot read what the tests print")?;
            let line = String::from_utf8_lossy(&line);
            if let Some(name) = times::ended(&line) {
                ended.push(Ended { name: name.to_owned(), at: begin.elapsed() });
            }
            print(&line);
        }
        let status = child.wait()?;
        Ok(Run { status, took: begin.elapsed(), tests: times::durations(listed, threads, &ended) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn test_programs_are_found_with_what_cargo_gives_them() {
        let metadata = json!({"packages": [
            {"id": "path+host", "name": "gyre", "version": "0.1.0", "manifest_path": "/gyre/host/Cargo.toml"},
            {"id": "path+sdk", "name": "gyre-sdk", "version": "0.1.0", "manifest_path": "/gyre/sdk/Cargo.toml"},
        ]});
        let artifact = |package: &str, kind: &str, name: &str, is_test: bool, executable: Option<&str>| {
            json!({
                "reason": "compiler-artifact", "package_id": package, "target": {"kind": [kind], "name": name},
                "profile": {"test": is_test}, "executable": executable,
            })
        };
        let messages = [
            json!({"reason": "build-script-executed", "package_id": "path+sdk", "out_dir": "/target/build/sdk/out"}),
            artifact("registry+serde", "lib", "serde", false, None),
            artifact("path+sdk", "lib", "gyre_sdk", true, Some("/target/deps/gyre_sdk-1")),
            artifact("path+host", "lib", "gyre", false, None),
            artifact("path+host", "bin", "gyre", false, Some("/target/gyre")),
            artifact("path+host", "test", "e2e", true, Some("/target/deps/e2e-1")),
            artifact("path+host", "lib", "gyre", true, Some("/target/deps/gyre-1")),
            json!({"reason": "build-finished", "success": true}),
        ];
        let found = suites(&metadata, &messages);
        let names: Vec<&str> = found.iter().map(|suite| suite.name.as_str()).collect();
        assert_eq!(names, ["gyre", "gyre e2e", "gyre-sdk"]);
        assert_eq!(found[1].program, Path::new("/target/deps/e2e-1"));
        assert_eq!(found[1].folder, Path::new("/gyre/host"));
        assert_eq!(found[1].environment["CARGO_BIN_EXE_gyre"], "/target/gyre");
        assert_eq!(found[1].environment["CARGO_MANIFEST_DIR"], "/gyre/host");
        assert_eq!(found[2].environment["OUT_DIR"], "/target/build/sdk/out");
        assert_eq!(found[2].environment["GYRE"], "/target/gyre");
    }
}
