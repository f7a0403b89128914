//! Runs helm on the chart.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::Context as _;
use serde_json::Value;

/// The namespace of rendered releases.
pub const NAMESPACE: &str = "team";
const KUBERNETES: &str = "1.36.3";

/// The helm on this machine.
#[derive(Clone, Debug)]
pub struct Helm {
    program: PathBuf,
}

/// A values file. Its first lines may say `# release: NAME` and `# helm: FLAGS`.
#[derive(Clone, Debug)]
pub struct Release {
    /// The name of the release, by default `gyre`.
    pub name: String,
    /// More flags.
    pub flags: Vec<String>,
    /// The values file.
    pub values: PathBuf,
}

impl Release {
    /// Reads a values file.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn of(values: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(values).with_context(|| format!("cannot read {}", values.display()))?;
        let said = |what: &str| text.lines().take_while(|line| line.starts_with('#')).find_map(|line| line.strip_prefix(what));
        Ok(Self {
            name: said("# release: ").unwrap_or("gyre").to_owned(),
            flags: said("# helm: ").unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
            values: values.to_owned(),
        })
    }
}

impl Helm {
    /// Returns helm, or `None` to skip the test.
    ///
    /// # Errors
    ///
    /// The errors of `gyre_controlplane::tools_or_skip`.
    #[track_caller]
    pub fn or_skip() -> anyhow::Result<Option<Self>> {
        let Some(tools) = gyre_controlplane::tools_or_skip()? else { return Ok(None) };
        match tools.helm() {
            Ok(program) => Ok(Some(Self { program: program.to_owned() })),
            Err(error) => gyre_controlplane::skip(&error.to_string()).map(|()| None),
        }
    }

    /// Returns a helm command that ignores the configuration of the user.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("HELM_") {
                command.env_remove(name);
            }
        }
        command.args(arguments);
        command
    }

    /// Returns the output of `helm template`, or its error.
    ///
    /// # Errors
    ///
    /// If helm cannot be run.
    pub fn template(&self, release: &Release) -> anyhow::Result<Result<String, String>> {
        let mut command = self.command(&["template", &release.name]);
        command.arg(crate::chart()).args(["--namespace", NAMESPACE, "--kube-version", KUBERNETES]);
        command.args(&release.flags).arg("--values").arg(&release.values);
        let Output { status, stdout, stderr } = command.output().context("cannot run helm")?;
        if status.success() { Ok(Ok(text(&stdout))) } else { Ok(Err(text(&stderr))) }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the non-empty documents of a YAML stream.
///
/// # Errors
///
/// If it is no YAML.
pub fn documents(yaml: &str) -> anyhow::Result<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).context("not YAML")?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}
