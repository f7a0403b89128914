//! `gyre status`: the mounts of a running host, from its `/debug/state`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::Value;

use crate::commands::columns::Columns;
use crate::commands::output::ReportArguments;
use crate::commands::running_host::{self, HostArguments};
use crate::commands::threads::threads;
use state::State;

mod state;

const PATH: &str = "/debug/state";
const MEDIA_TYPE: &str = "application/json";

/// The size limit of a state: a host lists at most some hundred objects per mount.
const LARGEST_STATE: usize = 64 << 20;
/// The interval of `--watch`. A host computes a state in less than a millisecond.
const WATCH_EVERY: Duration = Duration::from_secs(1);

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre status                                        # of a host on this machine
  gyre status --watch
  gyre status -o json | jq '.mounts[] | {name, queue}'
  kubectl exec -n gyre-system deploy/gyre -- /gyre status
  kubectl port-forward -n gyre-system deploy/gyre 2112 & gyre status

Columns:
  DIGEST      of the plugin, i.e. of its component
  ARTIFACT    digest of the plugin's manifest in the registry that it comes from
  PARENTS     objects that the mount reconciles
  QUEUED      objects that wait for a worker
  FAILING     objects whose last reconcile did not succeed
  QUARANTINE  whether the plugin is not called after faults: for all objects, or for how many namespaces and objects
  LEADER      the replica that writes for the mount, according to its Lease
Below the table is what needs attention, such as a kind that the API server does not serve. -o json and -o yaml print all that the host says.
A host with --metrics-secure answers only to an account that may get /debug/state: see --token-file.
Exit codes: 0 a host answers, whatever its mounts do; 1 no host answers.";

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    host: HostArguments,
    /// File with the bearer token for a host that serves over TLS; "-" for standard input.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Continue, and print what changes.
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    output: ReportArguments,
}

pub(crate) fn run(arguments: &StatusArguments) -> anyhow::Result<()> {
    let token = arguments.token_file.as_deref().map(running_host::token).transpose()?;
    threads()?.block_on(async {
        let mut shown = Shown::default();
        loop {
            let answer = arguments.host.get_with(PATH, MEDIA_TYPE, token.as_deref()).await;
            let mut body = answer.map_err(|error| match token {
                None if error.to_string().starts_with("Unauthorized") => {
                    anyhow!("{error:#}; give one with --token-file, e.g. of a service account by `kubectl create token`")
                }
                _ => error,
            })?;
            let json = running_host::whole(&mut body, LARGEST_STATE).await?;
            let state: Value = serde_json::from_slice(&json)
                .context("cannot read the state of the host; use the version of gyre that the host runs")?;
            if let Some(text) = shown.next(&State(&state)) {
                arguments.output.format.print(|| Ok(text), || state.clone())?;
            }
            if !arguments.watch {
                return Ok(());
            }
            tokio::time::sleep(WATCH_EVERY).await;
        }
    })
}

/// The table and the notes that have been printed.
#[derive(Default)]
struct Shown {
    columns: Columns,
    last: Option<(Vec<Vec<String>>, Vec<String>)>,
}

impl Shown {
    /// Returns what is new in a state: first all of it, then changed rows and new notes; `None` if
    /// nothing has changed.
    fn next(&mut self, state: &State<'_>) -> Option<String> {
        let (rows, notes) = (state.rows(), state.notes());
        let (old_rows, old_notes) = self.last.take().unwrap_or_default();
        let mut changed: Vec<Vec<String>> = rows.iter().filter(|row| !old_rows.contains(row)).cloned().collect();
        let removed =
            old_rows.iter().filter_map(|row| row.first()).filter(|name| !rows.iter().any(|row| row.first() == Some(name)));
        changed.extend(removed.map(|name| vec![name.clone(), "removed".to_owned()]));
        let new_notes: Vec<&String> = notes.iter().filter(|note| !old_notes.contains(note)).collect();
        let mut text = self.columns.lines(&changed);
        if !text.is_empty() && !new_notes.is_empty() {
            text.push('\n');
        }
        text.extend(new_notes.into_iter().map(|note| format!("{note}\n")));
        self.last = Some((rows, notes));
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mount(name: &str, queued: u32) -> Value {
        let artifact = (name == "pods").then(|| json!({ "digest": "sha256:fedcba9876543210" }));
        json!({
            "name": name, "version": "0.1.0", "digest": "0123456789abcdef", "artifact": artifact, "phase": "Running", "parent": "Echo.v1alpha1.mmontes.io",
            "parents": 12, "leads": true, "leader": "gyre-0", "quarantine": null, "quarantinedFor": [],
            "queue": { "queued": queued, "failing": 0, "parked": [], "delayed": [] },
        })
    }

    #[test]
    fn the_first_state_is_printed_whole_and_later_ones_only_where_they_differ() {
        let mut shown = Shown::default();
        let mut next = |mounts: &[Value]| shown.next(&State(&json!({ "mounts": mounts })));
        let (echo, pods) = (mount("echo", 0), mount("pods", 3));
        let first = "\
NAME   VERSION   DIGEST         ARTIFACT       PHASE     PARENT                     PARENTS   QUEUED   FAILING   QUARANTINE   LEADER
echo   0.1.0     0123456789ab   -              Running   Echo.v1alpha1.mmontes.io   12        0        0         none         gyre-0
pods   0.1.0     0123456789ab   fedcba987654   Running   Echo.v1alpha1.mmontes.io   12        3        0         none         gyre-0
";
        assert_eq!(next(&[echo.clone(), pods.clone()]).as_deref(), Some(first));
        assert_eq!(next(&[echo.clone(), pods.clone()]), None);
        let later = "pods   0.1.0     0123456789ab   fedcba987654   Running   Echo.v1alpha1.mmontes.io   12        2        0         none         gyre-0\n";
        assert_eq!(next(&[echo.clone(), mount("pods", 2)]).as_deref(), Some(later));
        assert_eq!(next(std::slice::from_ref(&echo)).as_deref(), Some("pods   removed\n"));
        let mut held = echo;
        held["heldDeletions"] = json!([{ "kind": "Job.v1.batch", "children": 40, "parents": 3 }]);
        let note = "echo: 40 deletions of Job.v1.batch are held, of 3 parents\n";
        assert_eq!(next(&[held.clone()]).as_deref(), Some(note));
        assert_eq!(next(&[held]), None);
    }
}
