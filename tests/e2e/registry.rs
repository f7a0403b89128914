//! Plugins in a real registry: pushed, pulled, mounted, replaced, signed, and refused.
//!
//! Each test has a registry of its own (`tests/registry`), so that it alone decides how it fails.

mod commands;
mod failing;
mod following;
mod published;
mod signed;
mod streamed;

use std::path::Path;
use std::process::Command;

use gyre_controlplane::registry::{Authentication, Options, Referrers, Transport};
use gyre_controlplane::{Registry, registry_or_skip};
use gyre_sandbox::Digest;
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, GYRE, Host, guest};

/// The repository of most tests.
const REPOSITORY: &str = "team/versioned";
/// The name of the plugin whose versions they mount.
const MOUNT: &str = "versioned";
/// A host asks for the versions of tags all the time.
const TAG_INTERVAL: &str = "100ms";

const BASIC: Options = options(Authentication::Basic);
const BEARER: Options = options(Authentication::Bearer);

const fn options(authentication: Authentication) -> Options {
    Options { authentication, ..DEFAULTS }
}

/// [`Options::default`], as a constant.
const DEFAULTS: Options =
    Options { transport: Transport::Tls, authentication: Authentication::None, referrers: Referrers::Served };

/// The output of a command.
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// A registry, with a cache for the commands and hosts of a test.
struct Shelf {
    registry: Registry,
    folder: Folder,
}

impl Shelf {
    /// Returns `None` after skipping the test.
    #[track_caller]
    fn or_skip(options: Options) -> Option<Self> {
        let registry = registry_or_skip(options).expect("a registry")?;
        Some(Self { registry, folder: Folder::new() })
    }

    fn path(&self, name: &str) -> String {
        Path::new(&self.folder.path()).join(name).display().to_string()
    }

    fn cache(&self) -> String {
        self.path("cache")
    }

    /// The reference of a tag in [`REPOSITORY`].
    fn tag(&self, tag: &str) -> String {
        self.registry.reference(&format!("{REPOSITORY}:{tag}"))
    }

    /// The settings of registries by their variables, which are named after their flags.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = vec![
            ("GYRE_REGISTRY_CREDENTIALS", self.registry.docker_config().display().to_string()),
            ("GYRE_REGISTRY_CA", self.registry.authority().display().to_string()),
            ("GYRE_PLUGIN_CACHE", self.cache()),
        ];
        if self.registry.options().transport == Transport::Plain {
            settings.push(("GYRE_INSECURE_REGISTRIES", self.registry.host().to_owned()));
        }
        settings
    }

    /// The same as flags, with a short interval of tags.
    fn flags(&self) -> Vec<String> {
        let flag = |variable: &str| variable.replace("GYRE_", "--").replace('_', "-").to_lowercase();
        let flags = self.settings().into_iter().flat_map(|(variable, value)| [flag(variable), value]);
        flags.chain(["--tag-interval", TAG_INTERVAL].map(str::to_owned)).collect()
    }

    /// Starts a host that mounts plugins for a namespace, or those of a configuration file.
    fn host(&self, cluster: &Cluster, plugins: &[&str], namespace: &str, arguments: &[&str]) -> Host {
        let flags = self.flags();
        let all: Vec<&str> = flags.iter().map(String::as_str).chain(arguments.iter().copied()).collect();
        // A configuration says the namespaces itself.
        let namespaces = [namespace];
        let namespaces = if plugins.is_empty() { &[][..] } else { &namespaces };
        cluster.host_with(plugins, namespaces, &all)
    }

    fn gyre(&self, arguments: &[&str]) -> Said {
        let output = Command::new(GYRE).args(arguments).envs(self.settings()).output().expect("gyre runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Said { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Runs a command that must succeed, and returns its standard output.
    fn succeed(&self, arguments: &[&str]) -> String {
        let said = self.gyre(arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}: {}", said.stderr);
        said.stdout
    }

    /// Runs a command that must fail, and returns what it writes to standard error.
    fn fail(&self, arguments: &[&str]) -> String {
        let said = self.gyre(arguments);
        assert_eq!(said.code, Some(1), "{arguments:?}: {}{}", said.stdout, said.stderr);
        said.stderr
    }

    /// Pushes a component to a reference, and returns the digest of the manifest.
    fn push(&self, reference: &str, component: &[u8]) -> String {
        let file = self.folder.put("pushed.wasm", component);
        last_line(&self.succeed(&["push", &file, reference]))
    }

    /// Pushes this version of the plugin to a tag in [`REPOSITORY`].
    fn push_version(&self, tag: &str, version: u64) -> String {
        self.push(&self.tag(tag), &plugin(version))
    }

    fn set_faults(&self, faults: &Value) {
        self.registry.fail(faults).expect("faults");
    }

    fn end_faults(&self) {
        self.registry.work().expect("no faults");
    }

    /// The requests for the content of components since the log was emptied.
    fn pulls(&self) -> usize {
        let requests = self.registry.requests().expect("a log");
        requests.iter().filter(|request| request.server == "registry" && request.reads_blob()).count()
    }
}

/// The plugin [`MOUNT`] in this version.
fn plugin(version: u64) -> Vec<u8> {
    gyre_artifacts::versioned(version).expect("a version")
}

/// The digest that commands print last, for scripts.
fn last_line(said: &str) -> String {
    said.lines().last().unwrap_or_default().to_owned()
}

/// Creates a parent in a namespace of its own, and waits for a child of this version.
fn reconcile(cluster: &Cluster, namespace: &str, name: &str, version: u64) {
    cluster.apply(&guest("Versioned", namespace, name, json!({ "text": "t" })).to_string());
    await_version(cluster, namespace, name, version);
}

fn await_version(cluster: &Cluster, namespace: &str, name: &str, version: u64) {
    let expected = format!("{version:010}");
    cluster.eventually(&format!("{namespace}/{name} in version {version}"), || {
        let child = cluster.get(namespace, "configmap", &format!("{name}-one"))?;
        (child["data"]["version"] == expected.as_str()).then_some(())
    });
}

/// Waits until a host has mounted this version.
fn await_mounted(cluster: &Cluster, host: &Host, version: u64) {
    let digest = Digest::of(&plugin(version)).to_string();
    cluster.eventually(&format!("version {version} to be mounted"), || {
        (host.find_state_of(MOUNT)?["digest"] == digest.as_str()).then_some(())
    });
}

/// Asserts that a host has still mounted this version.
fn assert_mounted(host: &Host, version: u64) {
    assert_eq!(host.state_of(MOUNT)["digest"], Digest::of(&plugin(version)).to_string());
}

/// The number of plugins that were not pulled.
fn failed_pulls(host: &Host) -> f64 {
    host.metric("gyre_failed_pulls_total", &[])
}

/// Waits for another line of a host's log that contains a text.
fn await_log(cluster: &Cluster, host: &Host, since: usize, text: &str) {
    cluster.eventually(&format!("{text:?} in the log"), || {
        host.log().get(since..).is_some_and(|log| log.contains(text)).then_some(())
    });
}
