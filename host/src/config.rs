//! The operator's configuration: a file or flags, and the resulting programs.
//!
//! ```text
//! gyre.yaml ─ document ─▶ tree with positions ─ schema_errors ─▶ keys ─ read ─▶ Configuration
//!                                                      ▲ schema                 ▲   ▲   │ load
//! flags ───────────────────────── arguments ────────────────────────────────────┘   │   ▼
//!                                                                    plugin directory  programs
//! ```
//!
//! The types in `keys` define the file: the schema is derived from them (`gyre config-schema`),
//! finds the errors of a file, and the valid rest is read into the types.
//!
//! All problems are found in one pass, and reported with their places: see [`Problems`].
//! [`Source::reload_on_changes`] reads everything again when a file has changed. If there is a
//! problem, it refuses the whole change, and the programs stay.
//!
//! A flag overrides its environment variable, which overrides `host` and `defaults` in the file,
//! which override the built-in default. The entry of a mount in the file overrides all of these.

pub(crate) mod arguments;
mod document;
mod keys;
mod load;
#[cfg(feature = "tools")]
mod mounted;
mod process;
pub(crate) mod quantity;
mod read;
mod schema;
mod schema_errors;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod types;
mod verification;

pub(crate) mod values;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gyre_core::queue::Time;
use gyre_engine::error::error_chain;
use gyre_engine::mounts::inventory;
use gyre_engine::program::Program;
use gyre_engine::values::KeySecret;
use gyre_input::document::{Part, Source as DocumentSource};
use gyre_input::problem::{Place, Problem, Problems};
use gyre_sandbox::Sandbox;
use tokio::sync::watch as channel;
use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use self::document::read_document;
use self::load::{Loader, Programs};
#[cfg(feature = "tools")]
pub(crate) use self::mounted::{mounted, mounted_by_case};
pub(crate) use self::process::{HostArguments, with_defaults};
pub(crate) use self::schema::schema;
use self::spec::{Configuration, Located, MountSpec, NAME, Origin, Setting, SettingsFrom};
pub(crate) use self::table::Table;
use crate::config::arguments::election::{ElectionArguments, Fence};
use crate::config::arguments::mounts::{MountArguments, SettingsCheck};
use crate::plugins::files::Files;
pub(crate) use crate::plugins::source::directory::PLUGIN_DIR_GRACE;
use crate::plugins::source::directory::{Directory, DirectoryScan};
use crate::plugins::source::oci::tags::{TAG_INTERVAL, Tags};
use crate::plugins::source::oci::{Pulls, References, Store, Version, say};

/// The time without changes after which a file counts as complete.
const SETTLED_AFTER: Duration = Duration::from_millis(200);
/// The most waits for this: otherwise, a file that always changes would never be read.
const MOST_WAITS: u32 = 25;
/// The most attempts to read files without a change meanwhile, so that all are from one moment. The
/// kubelet replaces all files of a ConfigMap at once, by one link.
const MOST_READS: u32 = 25;

/// The most concurrent calls of a host: a few per core, because each may use its memory limit.
const MOST_CALLS: u32 = 256;
/// The fewest concurrent calls, so that workers can be added. Each takes about 30 KiB of memory.
const FEWEST_CALLS: u32 = 16;

/// The reason why a configuration cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration has problems.
    #[error("the configuration is refused\n{0}")]
    Refused(Problems),
    /// The sandbox cannot be created.
    #[error("cannot set up the sandbox")]
    Sandbox(#[source] gyre_sandbox::Error),
}

/// The result of reading a changed configuration.
#[derive(Debug)]
pub enum Reload<'a> {
    /// The changed configuration is in force.
    Taken,
    /// The changed configuration has problems, and the previous one stays in force.
    Refused(&'a Problems),
    /// A registry did not give a plugin, or not as it was demanded: why. What is mounted stays.
    NotPulled(&'a str),
}

impl Reload<'_> {
    /// The problems of a refused configuration.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Taken | Self::NotPulled(_) => &[],
            Self::Refused(problems) => &problems.0,
        }
    }
}

/// The source of programs, and the current programs.
pub struct Source {
    shared: Arc<Shared>,
    files: Files,
    /// The references of the configuration that is in force.
    references: References,
    /// The versions of a start that no later start uses yet.
    pulls: Pulls,
    /// The interval at which registries are asked for the versions of tags; never if `None`.
    tag_interval: Option<Duration>,
    directory: Directory,
    programs: Arc<[Program]>,
}

struct Loaded {
    files: Files,
    references: References,
    directory: Directory,
    /// The changes of the plugin directory to log. A refused configuration unmounts no plugins.
    scan: DirectoryScan,
    result: Result<Arc<[Program]>, Problems>,
}

struct Shared {
    arguments: MountArguments,
    sandbox: Sandbox,
    store: Store,
    process: Process,
}

/// Settings that need a restart to change.
struct Process {
    name: Option<String>,
    has_directory: bool,
    host: Vec<Setting>,
    concurrent_calls: u32,
    max_memory_bytes: usize,
}

impl Process {
    fn of(configuration: &Configuration) -> Self {
        let policies = || configuration.mounts.iter().map(|mount| &mount.policy);
        let largest = policies().chain([&configuration.defaults]).map(|policy| policy.reconciles.limits.memory_bytes).max();
        Self {
            name: configuration.name.value.clone(),
            has_directory: configuration.directory.is_some(),
            host: configuration.host.clone(),
            concurrent_calls: calls(configuration).clamp(FEWEST_CALLS, MOST_CALLS),
            max_memory_bytes: largest.unwrap_or_default(),
        }
    }

    fn check(&self, configuration: &Configuration, problems: &mut Problems) {
        let Located { value: name, place } = &configuration.name;
        let renamed = match (&self.name, name) {
            (Some(before), Some(name)) if before != name => {
                Some(format!("the deployment cannot be renamed from {before} to {name} while it runs"))
            }
            (Some(before), None) => Some(format!("the deployment is named {before}, and cannot lose its name while it runs")),
            (None, Some(name)) => Some(format!("the deployment has no name, and cannot get the name {name} while it runs")),
            _ => None,
        };
        if let Some(what) = renamed {
            problems.add(place.clone(), what, "restart gyre to rename it");
        }
        for mount in &configuration.mounts {
            if mount.policy.reconciles.limits.memory_bytes > self.max_memory_bytes {
                let most = quantity::Bytes(self.max_memory_bytes as u64);
                let what = format!("the memory limit exceeds {most}, for which this process was started");
                problems.add(mount.source.part.place(), what, "restart gyre to raise it");
            }
        }
        if configuration.host != self.host {
            warn!("the settings under `host` have changed; they take effect when gyre is restarted");
        }
        if calls(configuration) > self.concurrent_calls {
            warn!(
                calls = self.concurrent_calls,
                "there are more workers than concurrent calls that this process allows; restart gyre to allow more"
            );
        }
    }
}

fn calls(configuration: &Configuration) -> u32 {
    // A shadow has one call at a time.
    let workers: usize =
        configuration.mounts.iter().map(|mount| mount.policy.reconciles.workers + usize::from(mount.shadow.is_some())).sum();
    u32::try_from(workers).unwrap_or(u32::MAX)
}

impl Source {
    /// Like [`Self::open_host`], for commands without leader election.
    #[cfg(any(test, feature = "tools"))]
    pub(crate) fn open(arguments: &MountArguments) -> Result<Self, Error> {
        Self::open_as(arguments, None)
    }

    /// Reads the configuration from the file or the flags, and loads its programs, for a host with
    /// this leader election. Blocks: compiling takes about 100 ms per plugin.
    ///
    /// # Errors
    /// All problems of the configuration, including invalid times of the election.
    pub(crate) fn open_host(arguments: &MountArguments, election: &ElectionArguments) -> Result<Self, Error> {
        Self::open_as(arguments, Some(election))
    }

    fn open_as(arguments: &MountArguments, election: Option<&ElectionArguments>) -> Result<Self, Error> {
        let store = arguments.code.registry.store();
        let mut pulls = Pulls::at_start(&store);
        let source = match Self::open_with(arguments, election, &store, &mut pulls) {
            Err(Error::Refused(problems)) if pulls.has_news() => {
                let mut pulls = Pulls::from_cache(&store, &References::default(), None);
                let Ok(source) = Self::open_with(arguments, election, &store, &mut pulls) else {
                    return Err(Error::Refused(problems));
                };
                for problem in &problems.0 {
                    say(format_args!("what a registry names now cannot be used, so the cache is used: {problem}"));
                }
                source
            }
            opened => opened?,
        };
        source.pulls.accept_missing();
        Ok(source)
    }

    fn open_with(
        arguments: &MountArguments,
        election: Option<&ElectionArguments>,
        store: &Store,
        pulls: &mut Pulls,
    ) -> Result<Self, Error> {
        let (mut files, mut problems) = (Files::default(), Problems::default());
        let mut directory = Directory::default();
        let (configuration, _) = read(arguments, &mut files, &mut directory, Time::default(), &mut problems);
        let fence = Fence::of(configuration.name.value.as_deref());
        if let Some(wrong) = election.and_then(|election| election.wrong_times(fence)) {
            process::check_times(&wrong, &configuration, &mut problems);
        }
        let process = Process::of(&configuration);
        let options = gyre_sandbox::Options {
            concurrent_calls: process.concurrent_calls,
            max_memory_bytes: process.max_memory_bytes,
            ..arguments.code.options()
        };
        let sandbox = Sandbox::new(options).map_err(Error::Sandbox)?;
        let compiler = arguments.code.compiler();
        let loaded = Loader::new(&sandbox, pulls, compiler.as_ref(), &[], &mut files, &mut problems).load(configuration);
        let Programs { programs, of_directory, references } = problems.or(loaded).map_err(Error::Refused)?;
        directory.mount(of_directory);
        let shared = Arc::new(Shared { arguments: arguments.clone(), sandbox, store: store.clone(), process });
        let (pulls, tag_interval) = (std::mem::take(pulls), Some(TAG_INTERVAL));
        Ok(Self { shared, files, references, pulls, tag_interval, directory, programs: programs.into() })
    }

    /// Makes later starts use the versions that this start pulled, and removes what nobody uses
    /// from the cache: for hosts, because other commands only look. Blocks.
    #[must_use]
    pub(crate) fn in_use(self) -> Self {
        self.pulls.accept();
        self.shared.store.clean(&self.references);
        self
    }

    #[must_use]
    pub(crate) fn with_grace(mut self, grace: Duration) -> Self {
        self.directory = self.directory.with_grace(grace);
        self
    }

    #[must_use]
    pub(crate) fn with_tag_interval(self, tag_interval: Option<Duration>) -> Self {
        Self { tag_interval, ..self }
    }

    /// Returns how long a start waits for the plugin directory before it cleans up removed mounts.
    pub(crate) fn patience(&self) -> Duration {
        if self.shared.process.has_directory { self.directory.grace() } else { Duration::ZERO }
    }

    /// The name of the deployment, or the default name.
    pub fn name(&self) -> &str {
        self.shared.process.name.as_deref().unwrap_or(NAME)
    }

    /// Returns whether the host holds its Lease also without `--ha`.
    pub(crate) fn fence(&self) -> Fence {
        Fence::of(self.shared.process.name.as_deref())
    }

    /// The inventory of the deployment, or `None` without a name: deployments that share an
    /// inventory would remove each other's finalizers.
    pub(crate) fn inventory_place(&self, namespace: &str) -> Option<inventory::Place> {
        let name = self.shared.process.name.as_ref()?;
        Some(inventory::Place { namespace: namespace.to_owned(), name: format!("{name}{}", inventory::SUFFIX) })
    }

    /// The Secret of the key of digests of generated values. Deployments without a name share one.
    pub(crate) fn digest_key(&self, namespace: &str) -> KeySecret {
        KeySecret::of(self.name(), namespace)
    }

    /// The maximum number of concurrent calls. Each takes a thread.
    pub fn concurrent_calls(&self) -> u32 {
        self.shared.process.concurrent_calls
    }

    /// The current programs.
    pub fn programs(&self) -> Arc<[Program]> {
        Arc::clone(&self.programs)
    }

    /// Polls the files, and asks registries for the versions of tags. After a change, reads
    /// everything again, and sends the programs if there are no problems. Ends when the receiver is
    /// dropped.
    ///
    /// # Guarantees
    /// The programs come from a configuration without problems. A program whose plugin and
    /// configuration have not changed stays the same. A version of a tag that causes problems is
    /// not used by a later start either. A late answer of a registry replaces no newer version.
    pub async fn reload_on_changes(
        mut self,
        every: Duration,
        wanted: channel::Sender<Arc<[Program]>>,
        report: impl Fn(Reload<'_>),
    ) {
        let (mut is_refused, origin, mut last) = (false, Instant::now(), Time::default());
        let mut tags = Tags::ask(self.shared.store.clone(), self.tag_interval, self.references.clone());
        let mut refused = Vec::new();
        loop {
            let mut found = None;
            let end = self.directory.next_end(last).map(|end| origin + end.as_duration());
            tokio::select! {
                () = wanted.closed() => return,
                () = self.changed(every) => {}
                () = sleep_until(end) => {}
                news = tags.news() => match news {
                    Ok(version) if refused.contains(&version.name()) => continue,
                    // The next question decides between the two.
                    Ok(version) if self.shared.store.is_outdated(&version) => continue,
                    Ok(version) => found = Some(version),
                    Err(why) => {
                        report(Reload::NotPulled(&why));
                        self.tidy(None, self.references.clone()).await;
                        continue;
                    }
                }
            }
            let now = Time::from_duration(origin.elapsed());
            let (shared, current, directory) = (Arc::clone(&self.shared), Arc::clone(&self.programs), self.directory.clone());
            let mut pulls = Pulls::from_cache(&self.shared.store, &self.references, found.clone());
            // Compiling would block other tasks of this thread.
            let loaded = tokio::task::spawn_blocking(move || (shared.load(&mut pulls, &current, &directory, now), pulls)).await;
            // Also after a panic: an expired grace period would be due again and again.
            last = now;
            let Ok((Loaded { files, references, directory, scan, result }, pulls)) = loaded else {
                error!("reading the configuration panicked: this is a defect of gyre; its log says where");
                self.files = self.files.with_current_states();
                continue;
            };
            self.files = files;
            self.directory = directory;
            tags.want(references.clone());
            log_missing_plugins(&scan, self.directory.grace());
            match result {
                Ok(programs) => {
                    refused.clear();
                    self.references = references.clone();
                    self.tidy(Some(pulls), references).await;
                    let is_same = programs.len() == self.programs.len()
                        && programs.iter().zip(self.programs.iter()).all(|(new, old)| new.is_same(old));
                    if is_same && !is_refused {
                        debug!("files have changed, but the configuration is the same");
                        continue;
                    }
                    is_refused = false;
                    info!(mounts = programs.len(), "the configuration has changed");
                    report(Reload::Taken);
                    if !is_same {
                        self.programs = Arc::clone(&programs);
                        wanted.send_replace(programs);
                    }
                }
                Err(problems) => {
                    is_refused = true;
                    // If its file is gone, and could not be pulled again, the version is not to
                    // blame, and is tried again.
                    refused.extend(found.filter(Version::is_in_cache).map(|version| version.name()));
                    report(Reload::Refused(&problems));
                    self.tidy(None, self.references.and(&references)).await;
                }
            }
        }
    }

    /// Makes later starts use the versions of a load that is accepted. Removes what nobody uses
    /// from the cache, in which the versions of these references stay.
    async fn tidy(&self, accepted: Option<Pulls>, used: References) {
        let store = self.shared.store.clone();
        let tidied = tokio::task::spawn_blocking(move || {
            accepted.iter().for_each(Pulls::accept);
            store.clean(&used);
        });
        // The log says what is wrong.
        let _ = tidied.await;
    }

    async fn changed(&self, every: Duration) {
        loop {
            tokio::time::sleep(every).await;
            let mut seen = self.files.with_current_states();
            if seen == self.files {
                continue;
            }
            for _ in 0..MOST_WAITS {
                tokio::time::sleep(SETTLED_AFTER).await;
                let now = seen.with_current_states();
                if now == seen {
                    break;
                }
                seen = now;
            }
            return;
        }
    }
}

impl Shared {
    fn load(&self, pulls: &mut Pulls, current: &[Program], directory: &Directory, now: Time) -> Loaded {
        for _ in 1..MOST_READS {
            let loaded = self.load_once(pulls, current, directory, now);
            if loaded.files == loaded.files.with_current_states() {
                return loaded;
            }
        }
        let loaded = self.load_once(pulls, current, directory, now);
        if loaded.files == loaded.files.with_current_states() {
            return loaded;
        }
        let mut problems = Problems::default();
        let what = format!("files changed each time that they were read, {MOST_READS} times");
        let place = match &self.arguments.config {
            Some(path) => path.display().to_string(),
            None => "the plugins".to_owned(),
        };
        problems.add(Place::whole(&place.into()), what, "write each file once, or replace it atomically");
        // Drops the scan of the directory: the next one reports the changes.
        Loaded { directory: directory.clone(), scan: DirectoryScan::default(), result: Err(problems), ..loaded }
    }

    fn load_once(&self, pulls: &mut Pulls, current: &[Program], directory: &Directory, now: Time) -> Loaded {
        let (mut files, mut problems, mut directory) = (Files::default(), Problems::default(), directory.clone());
        let (configuration, mut scan) = read(&self.arguments, &mut files, &mut directory, now, &mut problems);
        self.process.check(&configuration, &mut problems);
        let compiler = self.arguments.code.compiler();
        let loader = Loader::new(&self.sandbox, pulls, compiler.as_ref(), current, &mut files, &mut problems);
        let Programs { programs, of_directory, references } = loader.load(configuration);
        let result: Result<Arc<[Program]>, Problems> = problems.or(programs.into());
        if result.is_ok() {
            directory.mount(of_directory);
        }
        if result.is_err() {
            // A refused configuration changes nothing, so these stay mounted.
            scan.given_up.clear();
        }
        Loaded { files, references, directory, scan, result }
    }
}

fn log_missing_plugins(scan: &DirectoryScan, grace: Duration) {
    for path in &scan.vanished {
        warn!(
            plugin = %path.display(), grace = ?grace,
            "the file disappeared from the plugin directory: the plugin stays mounted for the grace period (--plugin-dir-grace)"
        );
    }
    for path in &scan.given_up {
        warn!(plugin = %path.display(), "the file has been missing from the plugin directory for the grace period: unmounting the plugin");
    }
}

async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Loads the programs of a configuration file, with plugins of `known` if their digests match.
/// Public for fuzzing, without a process and arguments.
///
/// # Errors
/// All problems of the file.
#[doc(hidden)]
pub fn load_file(path: &Path, sandbox: &Sandbox, known: &[Program]) -> Result<Vec<Program>, Problems> {
    let arguments = MountArguments::of_file(path.to_owned());
    let (mut files, mut problems, mut directory) = (Files::default(), Problems::default(), Directory::default());
    let (configuration, _) = read(&arguments, &mut files, &mut directory, Time::default(), &mut problems);
    let mut pulls = Pulls::default();
    let loaded = Loader::new(sandbox, &mut pulls, None, known, &mut files, &mut problems).load(configuration);
    problems.or(loaded.programs)
}

fn read(
    arguments: &MountArguments,
    files: &mut Files,
    known: &mut Directory,
    now: Time,
    problems: &mut Problems,
) -> (Configuration, DirectoryScan) {
    let mut scan = DirectoryScan::default();
    let mut configuration = match &arguments.config {
        Some(path) => read_file(path, arguments, files, problems),
        None => arguments.configuration(problems),
    };
    if let Some(name) = arguments.name() {
        configuration.name = Located { value: Some(name.to_owned()), place: Place::whole(&"--name".into()) };
    }
    configuration.version.clone_from(&arguments.version);
    if let Some(directory) = configuration.directory.clone() {
        match known.list(&directory.value, files, now) {
            Ok((plugins, found)) => {
                scan = found;
                add_directory(&mut configuration, plugins, &scan);
            }
            // The directory may be that of an image. It mounts every plugin, so also this version.
            Err(_) if arguments.version.is_some() => {}
            Err(error) => {
                let what = format!("cannot list the directory {}: {}", directory.value.display(), error_chain(&error));
                problems.add(directory.place, what, "name a directory of plugins");
            }
        }
    }
    if arguments.settings == SettingsCheck::Later {
        configuration.mounts.iter_mut().for_each(|mount| mount.source.settings = SettingsFrom::Unknown);
    }
    (configuration, scan)
}

fn read_file(path: &Path, arguments: &MountArguments, files: &mut Files, problems: &mut Problems) -> Configuration {
    let name: Arc<str> = path.display().to_string().into();
    let source = DocumentSource::File(Arc::clone(&name));
    let document = read_document(files, path, source, &Place::whole(&"--config".into()), problems);
    let directory = path.parent().unwrap_or(Path::new(""));
    match document {
        Some(document) => read::read(document, directory, |policy| arguments.override_policy(policy), problems),
        None => Configuration::empty(Part::flag(&name)),
    }
}

/// Mounts plugins of a directory that no mount names, and those that vanished recently.
fn add_directory(configuration: &mut Configuration, plugins: Vec<PathBuf>, scan: &DirectoryScan) {
    let canonical = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let listed: Vec<_> = configuration.mounts.iter().filter_map(|mount| mount.source.plugin.path().map(canonical)).collect();
    let there = plugins.into_iter().map(|plugin| (plugin, Origin::Directory));
    let kept = scan.kept.iter().map(|(plugin, digest)| (plugin.clone(), Origin::Kept(*digest)));
    for (plugin, origin) in there.chain(kept).filter(|(plugin, _)| !listed.contains(&canonical(plugin))) {
        let part = Part::flag(&plugin.display().to_string());
        let spec = MountSpec::of(plugin.into(), part, configuration.defaults.clone());
        configuration.mounts.push(MountSpec { origin, ..spec });
    }
}
