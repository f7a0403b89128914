//! `gyre shadow`: gets the report about a shadow from a running host.

use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use gyre_engine::admin::shadow::{MEDIA_TYPE, PATH};
use gyre_engine::shadow::report::Report;

use crate::commands::output::ReportArguments;
use crate::commands::running_host::{self, HostArguments};
use crate::commands::threads::threads;

/// The size limit of a report: a host keeps less than this.
const LARGEST_REPORT: usize = 256 << 20;

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre shadow                                          # from a host on this machine, if only one mount has a shadow
  gyre shadow echo --summary
  kubectl exec -n gyre-system deploy/gyre -- /gyre shadow echo
  kubectl port-forward -n gyre-system deploy/gyre 2112 & gyre shadow echo -o json | jq '.changes[] | select(.verb == \"delete\")'

A mount has a shadow, e.g. another version of its plugin, if `gyre run echo.wasm --shadow new/echo.wasm` or the configuration file gives it one:
  mounts:
  - plugin: echo.wasm
    shadow: {plugin: new/echo.wasm}
The host calls the shadow for the same objects as the mount's plugin; it compares the answers, and never applies those of the shadow.
The differences are printed in the format of `gyre diff`. The host serves them only to clients on its own machine. With several replicas,
the leader of the mount serves them; other replicas answer with the name of its Pod. Values of Secrets are replaced by placeholders.
The host never changes an existing child whose strategy is create-only, whatever the shadow returns. If the shadow would create it
differently, that is listed as \"anew\".
Exit codes: 0 no differences, 1 differences, 2 no result: not all objects have been compared yet, or no host answers.";

#[derive(Debug, Args)]
pub(crate) struct ShadowArguments {
    /// Mount whose shadow is reported; optional if only one mount has a shadow.
    #[arg(value_name = "MOUNT", value_parser = mount)]
    mount: Option<String>,
    #[command(flatten)]
    host: HostArguments,
    /// Print only the numbers of changes.
    #[arg(long)]
    summary: bool,
    #[command(flatten)]
    report: ReportArguments,
}

fn mount(text: &str) -> Result<String, String> {
    if Path::new(text).extension().is_some_and(|extension| extension == "wasm") {
        return Err("expected the name of a mount in a running host; to run a shadow, start the host with \
             `gyre run PLUGIN --shadow FILE`, or set shadow: in its configuration"
            .to_owned());
    }
    running_host::mount(text)
}

pub(crate) fn run(arguments: &ShadowArguments) -> anyhow::Result<ExitCode> {
    let answer = threads()?.block_on(async {
        let query = arguments.mount.iter().map(|mount| format!("?mount={mount}")).collect::<String>();
        let mut body = arguments.host.get(&format!("{PATH}{query}"), MEDIA_TYPE).await?;
        running_host::whole(&mut body, LARGEST_REPORT).await
    })?;
    let Ok(report) = serde_json::from_slice::<Report>(&answer) else {
        bail!("this version of gyre cannot read the report of the host; use the version that the host runs");
    };
    arguments.report.format.print(|| report.difference.text(arguments.summary), || report.json())?;
    Ok(match (report.difference.counts.is_empty(), report.is_complete()) {
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::from(2),
        (false, _) => ExitCode::FAILURE,
    })
}
