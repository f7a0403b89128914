//! The command line. It only wires: arguments in, modules together, errors out.

use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use gyre_core::grants::Namespaces;
use gyre_sandbox::{Limits, Plugin, Sandbox};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{debug, info};
use tracing_subscriber::EnvFilter;

use crate::host::{self, Options};
use crate::kinds::error_chain;
use crate::mount::Mount;

/// Kubernetes reconcilers as sandboxed WebAssembly plugins.
#[derive(Debug, Parser)]
#[command(name = "gyre", version, propagate_version = true)]
struct Gyre {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Mounts plugins and reconciles their objects until it is told to stop.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// Compiles plugins into the code cache, so that a host that mounts them starts at once.
    #[command(after_help = COMPILE_EXAMPLES)]
    Compile(PluginArguments),
    /// Prints the CustomResourceDefinitions that plugins bring.
    #[command(after_help = CRDS_EXAMPLES)]
    Crds(PluginArguments),
}

const RUN_EXAMPLES: &str = "\
Examples:
  gyre run --plugin echo.wasm
  gyre run --plugin echo.wasm --plugin scheduled_echo.wasm --namespace team-a --namespace team-b
  gyre run --plugin echo.wasm --settings 'echo={\"restricted\":true}' --log-level gyre=debug,plugin=trace";

const CRDS_EXAMPLES: &str = "\
Examples:
  gyre crds echo.wasm | kubectl apply --server-side -f -";

const COMPILE_EXAMPLES: &str = "\
Examples:
  gyre compile echo.wasm scheduled_echo.wasm
  gyre compile --code-cache /var/cache/gyre /plugins/echo.wasm";

#[derive(Debug, Args)]
struct RunArguments {
    /// A plugin to mount: a WebAssembly component. May be given several times.
    #[arg(long = "plugin", value_name = "FILE", required = true)]
    plugins: Vec<PathBuf>,
    /// Settings of a plugin, as JSON, after its name.
    #[arg(long = "settings", value_name = "NAME=JSON")]
    settings: Vec<Settings>,
    /// The kubeconfig to connect with [default: $KUBECONFIG, else the service account that the pod runs as, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Watch and write in this namespace only. May be given several times [default: all namespaces].
    #[arg(long = "namespace", value_name = "NAMESPACE")]
    namespaces: Vec<String>,
    /// How many objects of each plugin are worked on at once.
    #[arg(long, value_name = "N", env = "NUM_WORKERS", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,
    /// How often an object whose reconcile fails is tried again before it is left until it changes [default: for ever].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_retries: Option<u32>,
    /// Where to serve /healthz, /readyz and /metrics; "off" for nowhere.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:2112")]
    listen: Listen,
    /// How long one call of a plugin may take.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(10..=600_000))]
    call_deadline: u64,
    /// How much memory one call of a plugin may take.
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    call_memory: u16,
    #[command(flatten)]
    code: CodeArguments,
    /// What to log: a level, or levels by module, e.g. "info,gyre=debug,plugin=trace".
    #[arg(long, value_name = "FILTER", env = "LOG_LEVEL", default_value = "info")]
    log_level: String,
    /// How to log.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

#[derive(Debug, Args)]
struct PluginArguments {
    /// The plugins.
    #[arg(value_name = "PLUGIN", required = true)]
    plugins: Vec<PathBuf>,
    #[command(flatten)]
    code: CodeArguments,
}

#[derive(Debug, Args)]
struct CodeArguments {
    /// Where compiled plugins are kept for the next start; "off" for nowhere [default: gyre/code in the user's cache directory].
    #[arg(long, value_name = "DIRECTORY", env = "GYRE_CODE_CACHE")]
    code_cache: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

#[derive(Clone, Copy, Debug)]
struct Listen(Option<SocketAddr>);

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self(None));
        }
        text.parse()
            .map(|address| Self(Some(address)))
            .map_err(|_| "expected an address and port such as 127.0.0.1:2112, or off".to_owned())
    }
}

#[derive(Clone, Debug)]
struct Settings {
    plugin: String,
    json: String,
}

impl FromStr for Settings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (plugin, json) = text.split_once('=').ok_or("expected the plugin's name, =, and a JSON object")?;
        let value: serde_json::Value = serde_json::from_str(json).map_err(|error| format!("not JSON: {error}"))?;
        if !value.is_object() {
            return Err("the settings of a plugin are a JSON object".to_owned());
        }
        Ok(Self { plugin: plugin.to_owned(), json: json.to_owned() })
    }
}

/// Runs the command that the arguments name. Exit codes: 0 all went well, 1 it failed, 2 the arguments are wrong.
pub fn main() -> ExitCode {
    let result = match Gyre::parse().command {
        Command::Run(arguments) => run(arguments),
        Command::Compile(arguments) => compile(&arguments),
        Command::Crds(arguments) => crds(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Sources are printed once each: some errors print theirs within their own text.
            let _ = writeln!(std::io::stderr(), "gyre: {}", error_chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: RunArguments) -> anyhow::Result<()> {
    start_logging(&arguments)?;
    let memory_bytes = usize::from(arguments.call_memory) << 20;
    let calls =
        u32::from(arguments.workers).saturating_mul(u32::try_from(arguments.plugins.len()).unwrap_or(u32::MAX)).min(MOST_CALLS);
    let sandbox = Sandbox::new(gyre_sandbox::Options {
        cache_dir: code_cache(&arguments.code),
        concurrent_calls: calls,
        max_memory_bytes: memory_bytes,
    })
    .context("cannot set up the sandbox")?;
    let limits = Limits { memory_bytes, deadline: Duration::from_millis(arguments.call_deadline), ..Limits::default() };
    let mounts = mounts(&sandbox, &arguments, &limits)?;
    host::check(&mounts)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Each call into a plugin has a thread; a few more are for the resolver and the like.
        .max_blocking_threads(calls as usize + 8)
        // An idle thread holds on to memory that its calls have freed.
        .thread_keep_alive(Duration::from_secs(2))
        .build()
        .context("cannot start the threads")?;
    runtime.block_on(async {
        let client =
            Client::try_from(configuration(arguments.kubeconfig.as_deref()).await?).context("cannot set up the client")?;
        let options = Options {
            workers: arguments.workers.into(),
            max_retries: arguments.max_retries,
            listen: arguments.listen.0,
            instance: instance(),
            ..Options::default()
        };
        host::run(client, mounts, options, told_to_stop()?).await
    })
}

/// The most calls at once in one host: beyond a few per core they only take turns, and each may take its memory limit.
const MOST_CALLS: u32 = 256;

fn mounts(sandbox: &Sandbox, arguments: &RunArguments, limits: &Limits) -> anyhow::Result<Vec<Mount>> {
    let namespaces = if arguments.namespaces.is_empty() {
        Namespaces::All
    } else {
        Namespaces::Only(arguments.namespaces.iter().cloned().collect())
    };
    let cache = code_cache(&arguments.code);
    let mut mounts = Vec::new();
    for path in &arguments.plugins {
        let bytes = read(path)?;
        compile_apart(sandbox, path, &bytes, cache.as_deref());
        let plugin = load(sandbox, path, &bytes)?;
        let name = plugin.manifest().name.clone();
        let settings = arguments.settings.iter().rev().find(|settings| settings.plugin == name);
        let settings: Arc<[u8]> = settings.map_or("{}", |settings| settings.json.as_str()).as_bytes().into();
        plugin.validate_settings(&settings, limits).with_context(|| format!("the settings of the plugin {name}"))?;
        mounts.push(Mount::new(plugin, limits.clone(), settings, namespaces.clone()));
    }
    for Settings { plugin, .. } in &arguments.settings {
        if !mounts.iter().any(|mount| *mount.name == **plugin) {
            let names: Vec<&str> = mounts.iter().map(|mount| &*mount.name).collect();
            bail!("--settings names the plugin {plugin}, which is not mounted; mounted are: {}", names.join(", "));
        }
    }
    Ok(mounts)
}

fn compile(arguments: &PluginArguments) -> anyhow::Result<()> {
    let sandbox = sandbox(&arguments.code)?;
    for path in &arguments.plugins {
        load(&sandbox, path, &read(path)?)?;
    }
    Ok(())
}

/// Has a plugin compiled by another process, which takes with it the tens of megabytes that the compiler needs: they would stay with
/// this one. Whatever is wrong with the plugin, loading it says.
fn compile_apart(sandbox: &Sandbox, path: &Path, bytes: &[u8], cache: Option<&Path>) {
    let (Some(cache), Ok(gyre)) = (cache, std::env::current_exe()) else { return };
    if sandbox.is_compiled(bytes) {
        return;
    }
    let mut command = std::process::Command::new(gyre);
    command.arg("compile").arg("--code-cache").arg(cache).arg("--").arg(path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) => debug!(plugin = %path.display(), %status, "compiled in another process"),
        Err(error) => debug!(plugin = %path.display(), %error, "no other process to compile in"),
    }
}

fn crds(arguments: &PluginArguments) -> anyhow::Result<()> {
    let sandbox = sandbox(&arguments.code)?;
    let mut output = std::io::stdout().lock();
    for path in &arguments.plugins {
        for crd in &load(&sandbox, path, &read(path)?)?.manifest().crds {
            let yaml =
                serde_saphyr::to_string(crd).with_context(|| format!("{}: a CustomResourceDefinition", path.display()))?;
            write!(output, "---\n{yaml}").context("cannot write to standard output")?;
        }
    }
    Ok(())
}

/// A sandbox for asking plugins what they are.
fn sandbox(code: &CodeArguments) -> anyhow::Result<Sandbox> {
    let options = gyre_sandbox::Options { cache_dir: code_cache(code), ..gyre_sandbox::Options::default() };
    Sandbox::new(options).context("cannot set up the sandbox")
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read the plugin {}", path.display()))
}

fn load(sandbox: &Sandbox, path: &Path, bytes: &[u8]) -> anyhow::Result<Plugin> {
    let plugin = sandbox.load(bytes).with_context(|| format!("cannot load the plugin {}", path.display()))?;
    let manifest = plugin.manifest();
    info!(
        plugin = manifest.name, version = manifest.version, digest = %plugin.digest(),
        compiled = ?plugin.compile().source, took = ?plugin.compile().duration, "loaded"
    );
    Ok(plugin)
}

fn code_cache(arguments: &CodeArguments) -> Option<PathBuf> {
    match &arguments.code_cache {
        Some(directory) if directory.as_os_str() == "off" => None,
        Some(directory) => Some(directory.clone()),
        None => {
            let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
            let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
            cache.map(|cache| cache.join("gyre").join("code"))
        }
    }
}

async fn configuration(kubeconfig: Option<&Path>) -> anyhow::Result<Config> {
    let mut configuration = match kubeconfig {
        Some(path) => {
            let read = Kubeconfig::read_from(path)
                .map_err(|error| anyhow!("cannot use the kubeconfig {}: {}", path.display(), error_chain(&error)))?;
            Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
                .await
                .map_err(|error| anyhow!("cannot use the kubeconfig {}: {}", path.display(), error_chain(&error)))?
        }
        None => Config::infer().await.map_err(|error| {
            anyhow!(
                "found no cluster to connect to; give --kubeconfig, set KUBECONFIG, or run in a pod: {}",
                error_chain(&error)
            )
        })?,
    };
    // The queue retries, with one back-off for an object whatever went wrong, and without holding a worker meanwhile.
    configuration.default_retry = false;
    Ok(configuration)
}

fn start_logging(arguments: &RunArguments) -> anyhow::Result<()> {
    let filter = EnvFilter::builder().parse(&arguments.log_level).map_err(|error| {
        anyhow!(
            "--log-level (or LOG_LEVEL) is {:?}: {error}; use a level such as info, or info,gyre=debug",
            arguments.log_level
        )
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let result = match arguments.log_format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    result.map_err(|error| anyhow!("cannot start logging: {error}"))
}

/// The pod's name, which is its host name.
fn instance() -> String {
    let name = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    name.or_else(|| std::fs::read_to_string("/etc/hostname").ok().map(|name| name.trim().to_owned()))
        .unwrap_or_else(|| "gyre".to_owned())
}

/// Ends at the first SIGTERM or SIGINT. The second one ends the process at once, with exit code 1.
fn told_to_stop() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let (stop, stopped) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let mut stop = Some(stop);
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            match stop.take() {
                // Nobody waits any more if the host has ended by itself.
                Some(stop) => drop(stop.send(())),
                None => std::process::exit(1),
            }
        }
    });
    Ok(async move {
        let _ = stopped.await;
    })
}
