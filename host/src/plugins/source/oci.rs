//! A plugin in an OCI registry.
//!
//! ```text
//!   reference ─▶ pointer in the cache ─▶ version ─ signed as demanded ─▶ its file in the cache
//!                     ▲ once a configuration with it is accepted
//!   registry ─ signed as demanded ─▶ pull ─▶ version
//!      ▲ pulls.rs, when a configuration is loaded
//!      ▲ tags.rs, at an interval
//! ```
//!
//! Processes with other demands may share the cache, so signatures are verified each time, and the
//! digest of the file is compared.

mod progress;
mod pulls;
mod signatures;
pub(crate) mod tags;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gyre_engine::error::error_chain;
use gyre_engine::program::Artifact;
use gyre_registry::cache::Cleaned;
use gyre_registry::{Cache, Digest, PullPolicy, Pulled, PulledFrom, Reference, Registries, Settings};
use gyre_signatures::{Policy, Refusal};
use tokio::runtime::Runtime;
use tokio::task::JoinError;
use tracing::{debug, info, warn};

pub(crate) use self::progress::Transfer;
pub(crate) use self::pulls::Pulls;
pub(crate) use self::signatures::verified;
use super::{Component, PluginSource, Reader, Source};

/// The word before `://`.
pub(super) const SCHEME: &str = "oci";

/// Parses a reference. The error has a remedy.
pub(crate) fn parse(text: &str) -> Result<Reference, String> {
    Reference::from_str(text).map_err(|error| format!("{}: {}", error_chain(&error), error.remedy()))
}

#[derive(Debug)]
pub(super) struct Oci(Reference);

impl Oci {
    pub(super) fn parse(text: &str) -> Result<PluginSource, String> {
        Ok(PluginSource(Arc::new(Self(parse(text)?))))
    }
}

impl fmt::Display for Oci {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl Source for Oci {
    fn read(&self, reader: &mut Reader<'_>) -> Result<Component, super::Error> {
        self.read_with(reader).map_err(|error| {
            let remedy = error.remedy();
            super::Error::new(self, error, remedy)
        })
    }

    fn stem(&self) -> String {
        self.0.repository().rsplit('/').next().unwrap_or_default().to_owned()
    }

    fn reference(&self) -> Option<&Reference> {
        Some(&self.0)
    }
}

impl Oci {
    fn read_with(&self, reader: &mut Reader<'_>) -> Result<Component, Error> {
        let Reader { files, pulls, demands } = reader;
        files.track(&pulls.store().cache()?.pointer(&self.0));
        match component(&self.0, &pulls.version(&self.0, demands)?) {
            // Somebody has removed or damaged it, which pulling repairs.
            Err(_) if demands.pull != PullPolicy::Never => component(&self.0, &pulls.pull(&self.0, demands)?),
            component => component,
        }
    }
}

/// The component that was pulled, whose file has its digest. The bytes are not kept in memory.
pub(crate) fn component(reference: &Reference, pulled: &Pulled) -> Result<Component, Error> {
    let Pulled { manifest, component: digest, path, annotations, .. } = pulled;
    let cannot = |source| Error::File { path: path.clone(), source };
    let artifact = Artifact { reference: reference.to_string().into(), digest: manifest.to_string().into() };
    let component = Component::in_file(path.clone(), artifact, annotations.clone()).map_err(cannot)?;
    if component.digest.as_bytes() != digest.as_bytes() {
        return Err(cannot(io::Error::new(io::ErrorKind::InvalidData, "it is not what was pulled")));
    }
    Ok(component)
}

/// The demands of a mount on a plugin of a registry.
#[derive(Clone, Debug)]
pub(crate) struct Demands {
    pub(crate) pull: PullPolicy,
    /// The signatures that it must have.
    pub(crate) signatures: Option<Arc<Policy>>,
}

impl Demands {
    fn policies(&self) -> Vec<Arc<Policy>> {
        self.signatures.iter().cloned().collect()
    }
}

/// The references of a configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct References(BTreeMap<Reference, Mounted>);

/// The demands of all mounts of a reference.
#[derive(Clone, Debug, Default)]
struct Mounted {
    /// Whether the registry is asked for versions.
    is_asked: bool,
    policies: Vec<Arc<Policy>>,
}

impl References {
    /// Returns whether a mount of the reference is never pulled, and this one is, or the reverse.
    pub(crate) fn contradict(&self, reference: &Reference, demands: &Demands) -> bool {
        self.0.get(reference).is_some_and(|mounted| mounted.is_asked == (demands.pull == PullPolicy::Never))
    }

    /// These references and others, whose demands count.
    pub(crate) fn and(&self, others: &Self) -> Self {
        Self(self.0.iter().chain(&others.0).map(|(reference, mounted)| (reference.clone(), mounted.clone())).collect())
    }

    pub(crate) fn add(&mut self, reference: &Reference, demands: &Demands) {
        let mounted = self.0.entry(reference.clone()).or_default();
        mounted.is_asked |= demands.pull != PullPolicy::Never;
        mounted.policies.extend(demands.signatures.clone());
    }
}

/// A version of a plugin in a registry.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) reference: Reference,
    pub(crate) pulled: Pulled,
    /// The manifest that the cache named when the registry was asked.
    pub(crate) before: Option<Digest>,
}

impl Version {
    /// Returns whether the cache still has the file of the component.
    pub(crate) fn is_in_cache(&self) -> bool {
        self.pulled.path.exists()
    }

    /// The reference, and the digest of the manifest.
    pub(crate) fn name(&self) -> (Reference, Digest) {
        (self.reference.clone(), self.pulled.manifest)
    }
}

/// The reason why a plugin of a registry cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Registry(#[from] gyre_registry::Error),
    #[error("there is no folder for plugins of registries, because neither HOME nor XDG_CACHE_HOME is set")]
    NoFolder,
    #[error("it is not in {}, and pull is Never", .0.display())]
    NotPulled(PathBuf),
    #[error("cannot read {}", .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Unsigned(#[from] Refusal),
    #[error("cannot start what sends requests")]
    Runtime(#[source] io::Error),
    #[error("it takes longer than the {} s that a start waits for a registry", .0.as_secs())]
    Late(Duration),
    #[error("{registry} is not asked again now: {why}")]
    Away { registry: String, why: String, remedy: &'static str },
    #[error("the check of a plugin panicked")]
    Panicked(#[source] JoinError),
}

impl Error {
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Registry(error) => error.remedy(),
            Self::NoFolder => "name a directory with --plugin-cache",
            Self::NotPulled(_) => "pull it with gyre pull into this folder, or change pull",
            Self::File { .. } => "delete the file, so that it is pulled again",
            Self::Unsigned(refusal) => refusal.remedy(),
            Self::Runtime(_) => "raise the limits of processes and memory",
            Self::Late(_) => "wait until the host asks for it again",
            Self::Away { remedy, .. } => remedy,
            Self::Panicked(_) => "this is a defect of gyre: report it, with the log, which says where",
        }
    }
}

/// Registries, and the cache of what was pulled from them. It is cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Store {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    settings: Settings,
    folder: Option<PathBuf>,
    max_bytes: u64,
    // Both are made once they are needed: TLS reads the certificates of the system.
    registries: OnceLock<Registries>,
    cache: OnceLock<Cache>,
}

impl Store {
    pub(crate) fn new(settings: Settings, folder: Option<PathBuf>, max_bytes: u64) -> Self {
        let shared = Shared { settings, folder, max_bytes, ..Shared::default() };
        Self { shared: Arc::new(shared) }
    }

    pub(crate) fn registries(&self) -> Result<&Registries, Error> {
        let made = &self.shared.registries;
        match made.get() {
            Some(registries) => Ok(registries),
            None => {
                let registries = Registries::new(self.shared.settings.clone())?;
                Ok(made.get_or_init(|| registries))
            }
        }
    }

    pub(crate) fn cache(&self) -> Result<&Cache, Error> {
        let opened = &self.shared.cache;
        match opened.get() {
            Some(cache) => Ok(cache),
            None => {
                let cache = Cache::open(self.folder()?, self.shared.max_bytes).map_err(gyre_registry::Error::from)?;
                Ok(opened.get_or_init(|| cache))
            }
        }
    }

    fn folder(&self) -> Result<&Path, Error> {
        self.shared.folder.as_deref().ok_or(Error::NoFolder)
    }

    /// Returns the version that the cache names, if it has it.
    fn cached(&self, reference: &Reference) -> Result<Option<Pulled>, Error> {
        Ok(self.cache()?.read(reference).map_err(gyre_registry::Error::from)?)
    }

    fn knows(&self, reference: &Reference) -> bool {
        self.cached(reference).is_ok_and(|cached| cached.is_some())
    }

    /// The manifests of the versions that the cache names.
    fn manifests<'a>(&self, references: impl IntoIterator<Item = &'a Reference>) -> Vec<Digest> {
        references.into_iter().filter_map(|reference| Some(self.cached(reference).ok()??.manifest)).collect()
    }

    /// Pulls the version that a reference names now, after verifying its signatures. Makes room for
    /// it in the cache, in which these manifests stay.
    async fn pull(&self, reference: &Reference, policies: &[Arc<Policy>], keep: &[Digest]) -> Result<Pulled, Error> {
        let (registries, cache) = (self.registries()?, self.cache()?);
        let manifest = registries.resolve(reference).await?;
        self.verify(reference, &manifest, policies).await?;
        // The tag may be moved meanwhile.
        let version = reference.clone().with_digest(manifest);
        if cache.manifest(&manifest).is_none() {
            let (_, described) = registries.manifest(&version).await?;
            // Otherwise, the pull says what is wrong.
            if let Ok(layer) = described.component()
                && let Err(error) = cache.make_room(layer.size, keep)
            {
                warn!("cannot make room in the cache of plugins: {}; {}", error_chain(&error), error.remedy());
            }
        }
        let pulled = registries.pull(&version, cache, &Transfer::new("pulling", reference)).await?;
        if pulled.from == PulledFrom::Registry {
            info!(plugin = %reference, artifact = %pulled.manifest, digest = %pulled.component, "pulled");
        }
        Ok(pulled)
    }

    /// Makes a version the one that later starts use.
    pub(crate) fn point(&self, reference: &Reference, pulled: &Pulled) -> Result<(), Error> {
        Ok(self.cache()?.point(reference, pulled).map_err(gyre_registry::Error::from)?)
    }

    /// Removes what was not used for the longest time, if the cache is too large. The versions of
    /// these references stay.
    pub(crate) fn clean(&self, references: &References) {
        // Otherwise the folder need not even exist.
        if references.0.is_empty() {
            return;
        }
        let cleaned = self.cache().and_then(|cache| {
            let keep = self.manifests(references.0.keys());
            Ok(cache.clean(&keep).map_err(gyre_registry::Error::from)?)
        });
        match cleaned {
            Ok(Cleaned { components: 0, .. }) => {}
            Ok(Cleaned { components, bytes }) => debug!(components, bytes, "removed plugins from the cache"),
            Err(error) => warn!("cannot clean the cache of plugins: {}; {}", error_chain(&error), error.remedy()),
        }
    }
}

/// Warns in the log or, in a command without one, on standard error.
pub(crate) fn say(text: fmt::Arguments<'_>) {
    if tracing::dispatcher::has_been_set() {
        warn!("{text}");
    } else {
        let _ = writeln!(io::stderr(), "gyre: {text}");
    }
}

/// Waits for requests. Not to be called by asynchronous code.
pub(crate) fn block_on<T>(requests: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    // Connections are kept for later requests, so what drives them has to stay, too.
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = match RUNTIME.get() {
        Some(runtime) => runtime,
        None => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            let runtime = builder.worker_threads(1).enable_all().build().map_err(Error::Runtime)?;
            RUNTIME.get_or_init(|| runtime)
        }
    };
    runtime.block_on(requests)
}
