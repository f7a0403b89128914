//! `gyre shadow`: asks a running host how a shadow differs from its mount's plugin.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use gyre_engine::admin::shadow::{MEDIA_TYPE, PATH};
use gyre_engine::shadow::report::Report;

use crate::commands::output::Format;
use crate::commands::process::threads;
use crate::commands::running_host::{self, HostArguments};

/// A report holds no more than this, with all that is kept of it.
const LARGEST_REPORT: usize = 256 << 20;

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre shadow                                          # of a host on this machine, whose only shadow it is
  gyre shadow echo --summary
  kubectl exec -n gyre-system deploy/gyre -- /gyre shadow echo
  kubectl port-forward -n gyre-system deploy/gyre 2112 & gyre shadow echo -o json | jq '.changes[] | select(.verb == \"delete\")'

A mount has a shadow if the configuration file gives it one, e.g. another version of its plugin:
  mounts:
  - plugin: echo.wasm
    shadow: {plugin: new/echo.wasm}
It is called beside the mount's plugin, as objects change, and nothing of what it wants is done. What it would do otherwise is told in the
words of `gyre diff`, to the host's own machine only, and by the replica that leads the mount; the others answer which Pod that is. In place of values of Secrets there are others. A child that is created only once and is
there already stays as it is, whatever the shadow wants: what it would be if it were made anew is told, too, after the word \"anew\".
Exit codes: 0 nothing differs, 1 something does, 2 it cannot be said: not all objects were compared yet, or no host answers.";

#[derive(Debug, Args)]
pub(crate) struct ShadowArguments {
    /// The mount whose shadow is reported of; not needed if there is only one with a shadow.
    #[arg(value_name = "MOUNT", value_parser = running_host::mount)]
    mount: Option<String>,
    #[command(flatten)]
    host: HostArguments,
    /// Only say how many.
    #[arg(long)]
    summary: bool,
    /// In which form.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

/// Runs `gyre shadow`.
///
/// # Errors
///
/// When the host does not answer, or not with a report.
pub(crate) fn run(arguments: &ShadowArguments) -> anyhow::Result<ExitCode> {
    let answer = threads()?.block_on(async {
        let query = arguments.mount.iter().map(|mount| format!("?mount={mount}")).collect::<String>();
        let mut body = arguments.host.get(&format!("{PATH}{query}"), MEDIA_TYPE).await?;
        running_host::whole(&mut body, LARGEST_REPORT).await
    })?;
    let Ok(report) = serde_json::from_slice::<Report>(&answer) else {
        bail!("the host does not answer with a report that this version of gyre can read; use the one that the host runs");
    };
    let text = match arguments.output {
        Format::Text => report.difference.text(arguments.summary)?,
        Format::Json => format!("{:#}\n", report.json()),
    };
    std::io::stdout().write_all(text.as_bytes()).context("cannot write to standard output")?;
    Ok(match (report.difference.counts.is_empty(), report.is_complete()) {
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::from(2),
        (false, _) => ExitCode::FAILURE,
    })
}
