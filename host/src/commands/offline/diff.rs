//! `gyre diff`: what a plugin would change in a live cluster.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, ValueHint};
use gyre_core::grants::Namespaces;
use gyre_core::text::list;
use gyre_engine::difference::{NOT_SHOWN, redacted};
use gyre_engine::program::Program;
use gyre_offline::diff::difference;
use gyre_offline::preview::{preview, texts_of_secrets};
use gyre_sandbox::Plugin;
use jiff::Timestamp;

use super::live;
use crate::commands::connect::KubeconfigArguments;
use crate::commands::output::ReportArguments;
use crate::commands::threads::threads;
use crate::config::Source;
use crate::config::arguments::mounts::MountArguments;
use crate::config::arguments::mounts::tools::{PreviewMounts, SOME_MOUNT};
use crate::config::values::{MissingArgument, WrongArguments};
use crate::plugins;
use crate::plugins::source::PluginSource;

pub(crate) const DIFF_EXAMPLES: &str = "\
Examples:
  gyre diff new/echo.wasm                          # parents and children that would change
  gyre diff old/echo.wasm new/echo.wasm            # also the deletion of children whose kinds the new version does not declare
  gyre diff new/echo.wasm --summary
  gyre diff new/echo.wasm --config gyre.yaml       # as the host mounts it, which has this configuration
  gyre diff --config gyre.yaml                     # all mounts in the file
  gyre diff new/echo.wasm -o json | jq '.changes[] | select(.verb == \"delete\")'

The objects that the plugin reads are copied from the cluster, which is only read (get, list). The host runs on the copy until nothing
changes any more. No other controllers run there, so their reactions to the changes are not shown.
Without --config and --namespace, the parents are those in the namespaces in which a host with a name mounts the plugin. The cluster does not
show the settings, grants and selectors of mounts: without --config, they are the defaults.
Kinds are as the cluster defines them now. If the plugin contains a different CustomResourceDefinition, the output says so: apply the
output of `gyre crds` first, as you would for the upgrade itself. There is no result if the cluster does not serve the kind of the parents,
or has none of the namespaces of the mount.
Exit codes: 0 no changes, 1 changes, 2 no result.";

const NOT_KNOWN: u8 = 2;

#[derive(Debug, Args)]
#[command(mut_arg("plugins", |plugins| plugins.help(
    "Plugins to compare: paths of WebAssembly components (.wasm), or references in registries (oci://...). With --config, one version, which is mounted as the file mounts its plugin; \
     plugins that the file names need not exist here"
)))]
pub(crate) struct DiffArguments {
    #[command(flatten)]
    cluster: KubeconfigArguments,
    /// The version that is mounted now; the output then includes the deletion of its
    /// children whose kinds the new version no longer declares. Needed only if the host has no
    /// --name, and so no inventory. Can be repeated. The first of two versions of one plugin is the
    /// same.
    #[arg(long, value_name = "PLUGIN", value_hint = ValueHint::AnyPath)]
    from: Vec<PluginSource>,
    /// Show the values of Secrets.
    #[arg(long)]
    secrets: bool,
    /// Print only the numbers of changes.
    #[arg(long)]
    summary: bool,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    mount: PreviewMounts,
}

pub(crate) fn diff(arguments: DiffArguments) -> anyhow::Result<ExitCode> {
    let DiffArguments { cluster, mut from, secrets, summary, report, mount } = arguments;
    let mut mount = MountArguments::from(mount);
    if mount.config.is_some() {
        mount.version = mount.named.plugins.pop();
        if !mount.named.plugins.is_empty() {
            let what =
                "there are several plugins beside --config: give one, the version to mount as the file mounts its plugin";
            bail!(WrongArguments(what.to_owned()));
        }
    }
    if mount.is_empty() {
        bail!(MissingArgument { command: "diff", argument: SOME_MOUNT });
    }
    if from.is_empty() && mount.config.is_none() {
        from.extend(former_version(&mut mount)?);
    }
    let mut programs = Source::open(&mount)?.programs();
    let from = if from.is_empty() { Vec::new() } else { opened(&mount, &from, &programs)? };
    let threads = threads()?;
    let connected = threads.block_on(live::connect(&cluster))?;
    if mount.lacks_namespaces() {
        let mounted = threads.block_on(connected.as_mounted(&programs))?;
        for (plugin, namespaces) in &mounted.namespaces {
            let _ = writeln!(
                std::io::stderr(),
                "{plugin} is mounted in {}: these parents are compared. The settings, grants and selector of the mount are not in the \
                 cluster: give the configuration of the host with --config.",
                match namespaces {
                    Namespaces::All => "all namespaces".to_owned(),
                    Namespaces::Only(names) => list(names),
                }
            );
        }
        programs = mounted.programs.into();
    }
    let preview = preview(&threads, connected, &programs, &from, &[], Timestamp::now())?;
    let seen = texts_of_secrets(preview.copied.iter().map(|(_, object)| object));
    let _ = writeln!(std::io::stderr(), "Compared with the cluster at {}.", preview.url);
    let lacks_parents = preview.lacks_parents;
    let mut difference = difference(&programs, preview);
    if !secrets {
        let programs: Vec<&Program> = programs.iter().collect();
        let seen: Vec<&[u8]> = seen.iter().map(String::as_bytes).collect();
        let (changes, is_redacted) = redacted(difference.changes, &seen, &programs);
        difference.changes = changes;
        difference.remarks.extend((!is_redacted).then(|| NOT_SHOWN.to_owned()));
    }
    report.format.print(|| difference.text(summary), || difference.json())?;
    Ok(match (difference.changes.is_empty(), lacks_parents) {
        (false, _) => ExitCode::FAILURE,
        (true, true) => ExitCode::from(NOT_KNOWN),
        (true, false) => ExitCode::SUCCESS,
    })
}

/// Takes the first of two versions of a plugin: the one that is mounted now.
fn former_version(mount: &mut MountArguments) -> anyhow::Result<Option<PluginSource>> {
    let [former, next] = &mount.named.plugins[..] else { return Ok(None) };
    let (sandbox, store) = (mount.code.sandbox()?, mount.code.registry.store());
    let names = |plugin| -> anyhow::Result<BTreeSet<String>> {
        Ok(plugins::open(&sandbox, &store, plugin)?.iter().map(|plugin| plugin.manifest().name.clone()).collect())
    };
    let are_versions = !names(former)?.is_disjoint(&names(next)?);
    Ok(are_versions.then(|| mount.named.plugins.remove(0)))
}

fn opened(mount: &MountArguments, former: &[PluginSource], programs: &[Program]) -> anyhow::Result<Vec<Plugin>> {
    let (sandbox, store) = (mount.code.sandbox()?, mount.code.registry.store());
    let mounted: BTreeSet<&str> = programs.iter().map(|program| program.manifest().name.as_str()).collect();
    let mut opened = Vec::new();
    for plugin in former {
        let (from, others): (Vec<Plugin>, Vec<Plugin>) = plugins::open(&sandbox, &store, plugin)?
            .iter()
            .partition(|plugin| mounted.contains(plugin.manifest().name.as_str()));
        if from.is_empty() {
            let names = list(others.iter().map(|plugin| &plugin.manifest().name));
            let mounted = list(&mounted);
            bail!(
                "--from {plugin}: the plugin {names} is not mounted; mounted are {mounted}: give another version of one of them"
            );
        }
        opened.extend(from);
    }
    Ok(opened)
}
