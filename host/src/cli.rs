//! The command line: parses arguments, connects modules, prints errors.

#[cfg(any(test, not(feature = "tools")))]
mod absent;
mod arguments;
mod exit;
mod groups;
mod renamed;
#[cfg(test)]
#[cfg(feature = "tools")]
mod tests;
#[cfg(feature = "tools")]
mod tools;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueHint};
use gyre_engine::client::transport;
use gyre_engine::cluster::kinds::Resource;
use gyre_engine::host::{self, Options};
use gyre_engine::mounts::inventory;
use gyre_engine::program::{Program, ServiceAccount};
use gyre_engine::record::format::Secrets;
use gyre_engine::telemetry::metrics::Metrics;
use gyre_input::manifests;
use gyre_registry::Digest;
use gyre_sandbox::CodeSource;
use serde_json::{Value, json};
use tokio::sync::watch;
use tracing::{error, info, warn};

use self::exit::{compared, ended};
use crate::commands::artifacts::{self, PullArguments, VerifyArguments};
use crate::commands::connect::{KubeconfigArguments, Renewed};
use crate::commands::inspect::{self, InspectArguments};
use crate::commands::output::{self, ObjectFormat, ObjectsArguments, ReportArguments};
use crate::commands::rbac::{CrossNamespaceChildren, Deployment, Leases, Permissions, Printed, Reviews};
use crate::commands::record::{self, RecordArguments};
use crate::commands::shadow::{self, ShadowArguments};
use crate::commands::signals::stop_signal;
use crate::commands::status::{self, StatusArguments};
use crate::commands::threads::threads;
use crate::config::arguments::admin::SecureArguments;
use crate::config::arguments::election::{ElectionArguments, Fence};
use crate::config::arguments::mounts::{CodeArguments, MountArguments, RbacMounts, RunMounts};
use crate::config::values::{MissingArgument, WrongArguments, is_in_pod, label};
use crate::config::{self, HostArguments, Reload, Source};
use crate::known_kinds::Known;
use crate::plugins::apart::{CHANGED, REPLACE_AT_ONCE};
use crate::plugins::source::PluginSource;
use crate::plugins::{open, open_component, read};

/// Kubernetes reconcilers as sandboxed WebAssembly plugins.
#[derive(Debug, Parser)]
#[command(name = "gyre", version, propagate_version = true, after_help = TERMS)]
struct Gyre {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Mount plugins and reconcile their objects until stopped by a signal.
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArguments>),
    /// Validate a configuration and its plugins, and print what would be mounted.
    #[command(alias = "check", after_help = VALIDATE_EXAMPLES)]
    Validate(Box<ValidateArguments>),
    /// Compile plugins into the code cache, before a host starts.
    #[command(after_help = COMPILE_EXAMPLES)]
    Compile(CompileArguments),
    /// Print the minimal Roles and ClusterRoles that mounts need.
    #[command(after_help = RBAC_EXAMPLES)]
    Rbac(Box<RbacArguments>),
    /// Print the CustomResourceDefinitions that plugins contain.
    #[command(alias = "crd", after_help = CRDS_EXAMPLES)]
    Crds(CrdsArguments),
    /// Print the JSON Schema of the configuration file, for editors.
    #[command(alias = "schema", after_help = CONFIG_SCHEMA_EXAMPLES)]
    ConfigSchema,
    /// Describe a plugin: its version, kinds, access and size.
    #[command(aliases = ["info", "show", "describe"], after_help = inspect::EXAMPLES)]
    Inspect(InspectArguments),
    #[cfg(feature = "tools")]
    #[command(flatten)]
    Tool(tools::Tool),
    /// Pull a plugin from an OCI registry.
    #[command(after_help = artifacts::PULL_EXAMPLES)]
    Pull(PullArguments),
    /// Verify that a plugin in a registry is signed.
    #[command(after_help = artifacts::VERIFY_EXAMPLES)]
    Verify(VerifyArguments),
    /// Record the calls of a plugin in a running host, for `gyre replay`.
    #[command(after_help = record::EXAMPLES)]
    Record(RecordArguments),
    /// Show what the shadow of a mount would do differently, in a running host.
    #[command(after_help = shadow::EXAMPLES)]
    Shadow(ShadowArguments),
    /// Show the mounts of a running host: phase, queue, failures, quarantine and leader.
    #[command(aliases = ["list", "ls", "ps", "mounts", "plugins"], after_help = status::EXAMPLES)]
    Status(StatusArguments),
}

const TERMS: &str = "\
Terms:
  host      the process `gyre run`, which runs plugins against a cluster
  plugin    a WebAssembly component that reconciles the objects of one kind
  manifest  what a plugin declares: the kinds that it reconciles, creates and reads
  parent    an object that a plugin reconciles
  child     an object that a plugin requests for a parent; the host creates, changes and deletes it
  mount     a plugin in a host, with its settings, namespaces and grants
  shadow    another version of a mount's plugin; its answers are compared, never applied
  fault     a plugin call that ends without an answer, e.g. by a crash or its deadline";

const SOMETHING_TO_MOUNT: &str = "<PLUGIN>..., --config <FILE> or --plugin-dir <DIRECTORY>";

/// The polling interval of files. The kubelet takes a minute to update a ConfigMap.
const RELOAD_EVERY: Duration = Duration::from_secs(1);

const RUN_EXAMPLES: &str = "\
Examples:
  gyre run echo.wasm
  gyre run oci://registry.example.com/team/echo:1.4
  gyre run echo.wasm scheduled_echo.wasm --namespace team-a --namespace team-b
  gyre run echo.wasm --kubeconfig admin.kubeconfig --context staging
  gyre run echo.wasm --settings '{\"restricted\":true}' --log-level gyre=debug,plugin=trace
  gyre run echo.wasm --call-deadline 500ms --call-memory 128Mi
  gyre run --plugin-dir /plugins
  gyre run --config gyre.yaml

Flags and environment variables override `host` and `defaults` in the configuration file; the entry of a mount in the file overrides both.
Changed files are reloaded without a restart. For the format of the file, see `gyre config-schema` and docs/operating.md.";

/// Warnings, and what may take minutes.
const VALIDATE_LOG: &str = "warn,gyre::plugins::compiling=info,gyre::plugins::source::oci::progress=info";

const VALIDATE_EXAMPLES: &str = "\
Examples:
  gyre validate gyre.yaml
  gyre validate echo.wasm --settings '{\"restricted\":true}'
  gyre validate gyre.yaml -o json | jq '.mounts[].namespaces'

It needs no cluster. It takes the flags of `gyre run`, and its environment variables. All problems are printed, each with its place.";

const CONFIG_SCHEMA_EXAMPLES: &str = "\
Examples:
  gyre config-schema > gyre.schema.json

This comment in the configuration file lets editors find the schema:
  # yaml-language-server: $schema=gyre.schema.json";

const CRDS_EXAMPLES: &str = "\
Examples:
  gyre crds echo.wasm | kubectl apply --server-side -f -";

const RBAC_EXAMPLES: &str = "\
Examples:
  gyre rbac echo.wasm --namespace team-a --namespaced
  gyre rbac --config gyre.yaml --service-account gyre-system/gyre | kubectl apply -f -
  gyre rbac --config gyre.yaml --from-cluster   # before an upgrade: also what the host needs to delete children of former kinds";

const COMPILE_EXAMPLES: &str = "\
Examples:
  gyre compile echo.wasm scheduled_echo.wasm
  gyre compile --code-cache /var/cache/gyre /plugins/echo.wasm";

#[derive(Debug, Args)]
struct RunArguments {
    #[command(flatten)]
    mount: RunMounts,
    /// Do not reload the configuration and the plugins when they change.
    #[arg(long)]
    no_reload: bool,
    #[command(flatten)]
    cluster: KubeconfigArguments,
    #[command(flatten)]
    host: HostArguments,
}

#[derive(Debug, Args)]
struct ValidateArguments {
    #[command(flatten)]
    mount: RunMounts,
    #[command(flatten)]
    report: ReportArguments,
    #[command(flatten)]
    host: HostArguments,
}

#[derive(Debug, Args)]
#[command(mut_arg("kubeconfig", |file| file.requires("from_cluster")))]
#[command(mut_arg("context", |name| name.requires("from_cluster")))]
struct RbacArguments {
    #[command(flatten)]
    mount: RbacMounts,
    /// Service account that the host runs as; if given, also print its RoleBindings and
    /// ClusterRoleBindings.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    service_account: Option<ServiceAccount>,
    /// Print only Roles, no ClusterRole; fail if Roles are not sufficient.
    #[arg(long)]
    namespaced: bool,
    #[command(flatten)]
    election: ElectionArguments,
    #[command(flatten)]
    secure: SecureArguments,
    /// Namespace that the host runs in; give the same value as to `gyre run`.
    #[arg(long, value_name = "NAMESPACE", env = "GYRE_HOME_NAMESPACE", default_value = "default", value_parser = label)]
    home_namespace: String,
    /// Also permit the host to delete children in other namespaces that `grants.writeNamespaces` no
    /// longer grants. Needed while parents own such children.
    #[arg(long)]
    cross_namespace: bool,
    /// Also permit the host to delete children of kinds that the plugins no longer declare. Reads
    /// these kinds from the inventory of the deployment in the cluster. Needed while there are such
    /// children.
    #[arg(long)]
    from_cluster: bool,
    #[command(flatten)]
    cluster: KubeconfigArguments,
    /// YAML file with CustomResourceDefinitions that no plugin contains; the rules need the
    /// resource names of their kinds. Can be repeated.
    #[arg(long = "crd", value_name = "FILE")]
    crds: Vec<PathBuf>,
    #[command(flatten)]
    objects: ObjectsArguments,
}

#[derive(Debug, Args)]
struct PluginArguments {
    /// Plugins: paths of WebAssembly components (.wasm), or references in registries, such as
    /// oci://registry.example.com/team/echo:1.4.
    #[arg(value_name = "PLUGIN", required = true, value_hint = ValueHint::AnyPath)]
    plugins: Vec<PluginSource>,
    #[command(flatten)]
    code: CodeArguments,
}

#[derive(Debug, Args)]
struct CompileArguments {
    #[command(flatten)]
    plugins: PluginArguments,
    /// The digest that the plugin must have. A host that compiles in another process sets it.
    #[arg(long, value_name = "DIGEST", hide = true)]
    expect: Option<Digest>,
}

#[derive(Debug, Args)]
struct CrdsArguments {
    #[command(flatten)]
    plugins: PluginArguments,
    #[command(flatten)]
    objects: ObjectsArguments,
}

/// Runs a command, from arguments that begin with the program's name. Returns 0 for success, 1 for
/// failure, 2 for invalid arguments.
pub fn main(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> ExitCode {
    let words = arguments::as_written_here(arguments.into_iter().map(Into::into).collect(), commands);
    let command = match parse(words.clone()) {
        Ok(Gyre { command }) => command,
        Err(error) => {
            #[cfg(not(feature = "tools"))]
            let error = absent::explained(error, commands());
            arguments::explained(error, &words, commands()).exit()
        }
    };
    let result = match command {
        Command::Run(arguments) => run(*arguments),
        Command::Validate(arguments) => validate(*arguments),
        Command::Compile(arguments) => compile(&arguments),
        Command::Rbac(arguments) => rbac(&arguments),
        Command::Crds(arguments) => crds(&arguments),
        Command::ConfigSchema => output::print(format_args!("{:#}\n", config::schema())),
        Command::Inspect(arguments) => inspect::inspect(&arguments),
        #[cfg(feature = "tools")]
        Command::Tool(tool) => return tool.run(),
        Command::Pull(arguments) => artifacts::pull(&arguments),
        Command::Verify(arguments) => artifacts::verify(&arguments),
        Command::Record(arguments) => record::run(&arguments),
        Command::Shadow(arguments) => return compared(shadow::run(&arguments)),
        Command::Status(arguments) => status::run(&arguments),
    };
    ended(result)
}

/// The commands of the program, with their groups in `gyre --help`.
fn commands() -> clap::Command {
    groups::grouped(Gyre::command())
}

/// Parses the command line, with the values under `host` in the configuration file as defaults.
fn parse(mut arguments: Vec<OsString>) -> Result<Gyre, clap::Error> {
    let parsed = Gyre::from_arg_matches(&commands().try_get_matches_from(&arguments)?)?;
    let (name, source) = match &parsed.command {
        Command::Run(arguments) => ("run", &arguments.mount.source),
        Command::Validate(arguments) => ("validate", &arguments.mount.source),
        Command::Rbac(arguments) => ("rbac", &arguments.mount.source),
        _ => return Ok(parsed),
    };
    let file = match (&source.config, source.only_file()) {
        (Some(file), _) => file.clone(),
        (None, Some(file)) => {
            let file = file.to_owned();
            arguments::name_the_configuration(&mut arguments, &file);
            file
        }
        (None, None) => return Ok(parsed),
    };
    let commands = commands().mut_subcommand(name, |command| config::with_defaults(command, &file));
    Gyre::from_arg_matches(&commands.try_get_matches_from(arguments)?)
}

fn run(arguments: RunArguments) -> anyhow::Result<()> {
    let mut mount = MountArguments::from(arguments.mount);
    mount.code.compile_apart();
    if mount.is_empty() {
        bail!(MissingArgument { command: "run", argument: SOMETHING_TO_MOUNT });
    }
    let traces = arguments.host.traces.traces(&instance())?;
    arguments.host.log.start("info", traces.as_ref())?;
    warn_of_former_variables();
    let host = arguments.host;
    let source = Source::open_host(&mount, &host.election)?
        .with_grace(host.plugin_dir_grace.unwrap_or(config::PLUGIN_DIR_GRACE))
        .with_tag_interval(host.tag_interval.0)
        .in_use();
    let election = host.election.options(source.fence(), &host.home_namespace, source.name(), &instance())?;
    threads()?.block_on(async {
        let arrives_within = election.as_ref().map(|(_, options)| options.timing.margin());
        let Renewed { connection, api_server } = arguments.cluster.renewed(arrives_within).await?;
        let inventory = source.inventory_place(&host.home_namespace);
        if inventory.is_none() {
            info!("the deployment has no name, and so no inventory: a later start cannot clean up after mounts that are removed; see --name");
        }
        let digest_key = source.digest_key(&host.home_namespace);
        let most_calls = source.concurrent_calls() as usize;
        let patience = source.patience();
        let (sender, programs) = watch::channel(source.programs());
        let metrics = Arc::new(Metrics::default());
        let mut tasks = Vec::new();
        if !arguments.no_reload {
            let metrics = Arc::clone(&metrics);
            let reloading = tokio::spawn(source.reload_on_changes(RELOAD_EVERY, sender, move |reload| {
                match reload {
                    Reload::Taken => metrics.configuration_taken(),
                    Reload::Refused(_) => metrics.configuration_refused(),
                    Reload::NotPulled(why) => {
                        metrics.pull_failed();
                        warn!("{why}");
                    }
                }
                for problem in reload.problems() {
                    error!("the changed configuration is refused, so the previous one stays in effect: {problem}");
                }
            }));
            tasks.push(("reloading the configuration", reloading.abort_handle()));
        }
        let options = Options {
            metrics,
            admin: host.admin.options(),
            election,
            api_server,
            instance: instance(),
            inventory,
            patience,
            digest_key: Some(digest_key),
            most_calls,
            recorded_secrets: if host.record_secrets { Secrets::Kept } else { Secrets::Redacted },
            tasks,
            ..Options::default()
        };
        host::run(connection, programs, options, stop_signal()?).await
    })
}

/// Outside of a Pod, these variables may belong to other programs.
fn warn_of_former_variables() {
    for (former, now) in renamed::variables().filter(|_| is_in_pod()) {
        // Kubernetes sets METRICS_PORT for a Service called metrics, to a URL.
        let is_set = std::env::var(former).is_ok_and(|value| !value.starts_with("tcp://"));
        if is_set && std::env::var_os(now).is_none() {
            warn!("the environment variable {former} has no effect: it is called {now} now");
        }
    }
}

fn validate(arguments: ValidateArguments) -> anyhow::Result<()> {
    let ValidateArguments { mount, report, host } = arguments;
    let mut mount = MountArguments::from(mount);
    mount.code.compile_apart();
    if mount.is_empty() {
        bail!(MissingArgument { command: "validate", argument: SOMETHING_TO_MOUNT });
    }
    host.traces.traces(&instance())?;
    host.log.start(VALIDATE_LOG, None)?;
    let source = Source::open_host(&mount, &host.election)?;
    host.election.options(source.fence(), &host.home_namespace, source.name(), &instance())?;
    let programs = source.programs();
    let table = config::Table(&programs);
    report.format.print(|| Ok(table.to_string()), || table.json())
}

fn rbac(arguments: &RbacArguments) -> anyhow::Result<()> {
    let mount = MountArguments::from(arguments.mount.clone());
    if mount.is_empty() {
        bail!(MissingArgument { command: "rbac", argument: SOMETHING_TO_MOUNT });
    }
    let source = Source::open_host(&mount, &arguments.election)?;
    let programs = source.programs();
    let mut definitions = Vec::new();
    for (file, object) in manifests::read(&arguments.crds)? {
        if object.get("kind").and_then(Value::as_str) != Some("CustomResourceDefinition") {
            bail!("{file} contains an object that is not a CustomResourceDefinition: leave it out of --crd");
        }
        definitions.push(object);
    }
    let shadows = programs.iter().filter_map(|program| program.shadow.as_deref());
    let brought = programs.iter().chain(shadows).flat_map(|program| &program.manifest().crds);
    let known = Known::new(brought.chain(&definitions));
    let home = &arguments.home_namespace;
    let election = arguments.election.options(Fence::Always, home, source.name(), "any")?;
    let deployment = Deployment {
        inventory: source.inventory_place(home),
        digest_key: Some(source.digest_key(home)),
        leases: election.map(|(scope, election)| Leases { namespace: home.clone(), name: election.name, scope }),
        reviews: if arguments.secure.metrics_secure { Reviews::Asked } else { Reviews::Never },
        cross_namespace_children: if arguments.cross_namespace {
            CrossNamespaceChildren::Expected
        } else {
            CrossNamespaceChildren::Unexpected
        },
    };
    let mut permissions = Permissions::of(&programs, &known, &deployment)?;
    if arguments.from_cluster {
        let Some(place) = &deployment.inventory else {
            bail!(WrongArguments(
                "a deployment without a name has no inventory: give --name, or leave out --from-cluster".to_owned()
            ));
        };
        for (program, kind) in former_kinds(arguments, place, &programs)? {
            permissions.add_former(program, &kind, &known)?;
        }
    }
    if arguments.namespaced {
        permissions.check_namespaced()?;
    }
    let objects = permissions.objects(source.name(), arguments.service_account.as_ref());
    match arguments.objects.format {
        ObjectFormat::Yaml => print_documents(objects.iter().map(Printed::yaml)),
        ObjectFormat::Json => print_list(objects.iter().map(Printed::json).collect()),
    }
}

fn former_kinds<'a>(
    arguments: &RbacArguments,
    place: &inventory::Place,
    programs: &'a [Program],
) -> anyhow::Result<Vec<(&'a Program, Resource)>> {
    threads()?.block_on(async {
        let configuration = arguments.cluster.configuration().await?;
        let client = transport::connection(configuration, None).context("cannot set up the client")?.client();
        let found = inventory::former_kinds(&client, place, programs).await;
        found.with_context(|| format!("cannot read the inventory, the ConfigMap {} in {}", place.name, place.namespace))
    })
}

/// Prints objects as one List, as kubectl does.
fn print_list(items: Vec<Value>) -> anyhow::Result<()> {
    output::print(format_args!("{:#}\n", json!({ "apiVersion": "v1", "kind": "List", "items": items })))
}

fn print_documents(
    documents: impl Iterator<Item = Result<String, impl std::error::Error + Send + Sync + 'static>>,
) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    for yaml in documents {
        write!(output, "---\n{}", yaml.context("cannot write YAML")?).context("cannot write to standard output")?;
    }
    Ok(())
}

fn compile(arguments: &CompileArguments) -> anyhow::Result<()> {
    let CompileArguments { plugins: PluginArguments { plugins, code }, expect } = arguments;
    let sandbox = code.sandbox()?;
    let Some(cache) = code.cache() else {
        bail!(WrongArguments("there is no code cache to compile into: name a directory with --code-cache".to_owned()));
    };
    let store = code.registry.store();
    for plugin in plugins {
        let component = read(&store, plugin)?;
        if expect.is_some_and(|expected| expected.as_bytes() != component.digest.as_bytes()) {
            bail!("cannot load the plugin {component}: {CHANGED}; {REPLACE_AT_ONCE}");
        }
        let plugins = open_component(&sandbox, &component)?;
        let is_compiled = plugins.iter().any(|plugin| plugin.compile().source == CodeSource::Compiled);
        if is_compiled && !sandbox.is_compiled(&component.digest) {
            // A host that compiles in another process relies on this exit code: `NOT_KEPT`.
            bail!(WrongArguments(format!(
                "cannot keep the code of {plugin} in {}: name a directory with --code-cache that only you, or root, may write to",
                cache.display()
            )));
        }
    }
    Ok(())
}

fn crds(arguments: &CrdsArguments) -> anyhow::Result<()> {
    let CrdsArguments { plugins: PluginArguments { plugins, code }, objects } = arguments;
    let (sandbox, store) = (code.sandbox()?, code.registry.store());
    let mut crds = Vec::new();
    for plugin in plugins {
        let plugins = open(&sandbox, &store, plugin)?;
        // Reconcilers of a plugin may contain the same definition.
        for crd in plugins.iter().flat_map(|plugin| plugin.manifest().crds.clone()) {
            if !crds.contains(&crd) {
                crds.push(crd);
            }
        }
    }
    match objects.format {
        ObjectFormat::Yaml => print_documents(crds.iter().map(serde_saphyr::to_string)),
        ObjectFormat::Json => print_list(crds),
    }
}

/// The name of the Pod, which is its host name.
fn instance() -> String {
    let name = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    name.or_else(|| std::fs::read_to_string("/etc/hostname").ok().map(|name| name.trim().to_owned()))
        .unwrap_or_else(|| "gyre".to_owned())
}
