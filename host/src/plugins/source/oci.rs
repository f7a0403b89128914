//! A plugin in an OCI registry.
//!
//! ```text
//!   reference ─▶ pointer in the cache ─▶ version ─ signed as demanded ─▶ its file in the cache
//!                     ▲ point
//!   registry ─ pull ─▶ version ─ signed as demanded ─┘
//!      ▲ tags.rs, at an interval
//! ```
//!
//! The cache is a folder that processes may share, so nothing in it is trusted: signatures are
//! verified each time, and the digest of the file is compared.

mod progress;
mod signatures;
pub(crate) mod tags;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::{Arc, OnceLock};

use gyre_engine::error::error_chain;
use gyre_engine::program::Artifact;
use gyre_registry::cache::Cleaned;
use gyre_registry::{Cache, Digest, PullPolicy, Pulled, PulledFrom, Reference, Registries, Settings};
use gyre_signatures::{Policy, Refusal};
use tracing::{debug, info, warn};

pub(crate) use self::progress::Transfer;
pub(crate) use self::signatures::verified;
use super::{Component, PluginSource, Reader, Source};
use crate::plugins::{LARGEST_PLUGIN, files};

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
        let Reader { files, store, demands } = reader;
        let pointer = store.cache()?.pointer(&self.0);
        files.track(&pointer);
        let pulled = store.version(&self.0, demands)?;
        let component = match self.component(&pulled) {
            // Somebody has removed or damaged it, which pulling repairs.
            Err(_) if demands.pull != PullPolicy::Never => self.component(&store.pull_now(&self.0, demands)?),
            component => component,
        };
        // Pulling has changed it.
        files.track(&pointer);
        component
    }

    fn component(&self, pulled: &Pulled) -> Result<Component, Error> {
        let Pulled { manifest, component: digest, path, .. } = pulled;
        let cannot = |source| Error::File { path: path.clone(), source };
        let bytes = files::read(path, LARGEST_PLUGIN).map_err(cannot)?;
        let artifact = Artifact { reference: self.to_string().into(), digest: manifest.to_string().into() };
        let component = Component::new(bytes, path.clone(), Some(artifact));
        if component.digest.as_bytes() != digest.as_bytes() {
            return Err(cannot(io::Error::new(io::ErrorKind::InvalidData, "it is not what was pulled")));
        }
        Ok(component)
    }
}

/// The demands of a mount on a plugin of a registry.
#[derive(Clone, Debug)]
pub(crate) struct Demands {
    pub(crate) pull: PullPolicy,
    /// The signatures that it must have.
    pub(crate) signatures: Option<Arc<Policy>>,
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
    pub(crate) fn of(reference: &Reference, demands: &Demands) -> Self {
        let mut references = Self::default();
        references.add(reference, demands);
        references
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
    reference: Reference,
    pulled: Pulled,
}

impl Version {
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
        }
    }
}

/// Registries, and the cache of what was pulled from them. It is cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Store {
    shared: Arc<Shared>,
    /// A version that is tried before a later start uses it.
    tried: Option<Arc<Version>>,
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
        Self { shared: Arc::new(shared), tried: None }
    }

    /// The same store, in which a reference names this version.
    pub(crate) fn trying(&self, version: Option<Version>) -> Self {
        Self { shared: Arc::clone(&self.shared), tried: version.map(Arc::new) }
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

    /// Returns the version that a reference names, after verifying its signatures. Pulls it if it
    /// is not in the cache, or if it has to be asked for.
    fn version(&self, reference: &Reference, demands: &Demands) -> Result<Pulled, Error> {
        if let Some(tried) = self.tried.as_deref().filter(|tried| tried.reference == *reference) {
            return self.check(reference, tried.pulled.clone(), demands);
        }
        let cached = self.cached(reference)?.map(|cached| self.check(reference, cached, demands));
        match (demands.pull, cached) {
            (PullPolicy::Never, None) => Err(Error::NotPulled(self.folder()?.to_owned())),
            (PullPolicy::Never, Some(checked)) => checked,
            (PullPolicy::IfNotPresent, Some(Ok(cached))) => Ok(cached),
            // A digest names the same for ever.
            (PullPolicy::Always, Some(Ok(cached))) if reference.digest().is_some() => Ok(cached),
            (PullPolicy::Always, Some(Ok(cached))) => Ok(self.pull_now(reference, demands).unwrap_or_else(|error| {
                let (manifest, why) = (cached.manifest, error_chain(&error));
                say(format_args!("{reference}: the registry gives no version, so {manifest} in the cache is used: {why}"));
                cached
            })),
            (_, None | Some(Err(_))) => self.pull_now(reference, demands),
        }
    }

    /// Returns the version that the cache names, if it has it.
    fn cached(&self, reference: &Reference) -> Result<Option<Pulled>, Error> {
        Ok(self.cache()?.read(reference).map_err(gyre_registry::Error::from)?)
    }

    fn check(&self, reference: &Reference, cached: Pulled, demands: &Demands) -> Result<Pulled, Error> {
        let policies: Vec<Arc<Policy>> = demands.signatures.iter().cloned().collect();
        match self.verify_kept(&cached.manifest, &policies) {
            Err(_) if demands.pull != PullPolicy::Never => block_on(self.verify(reference, &cached.manifest, &policies))?,
            checked => checked?,
        }
        Ok(cached)
    }

    /// Pulls a version, and makes it the one that later starts use.
    pub(crate) fn pull_now(&self, reference: &Reference, demands: &Demands) -> Result<Pulled, Error> {
        let policies: Vec<Arc<Policy>> = demands.signatures.iter().cloned().collect();
        let pulled = block_on(self.pull(reference, &policies))?;
        self.point(&Version { reference: reference.clone(), pulled: pulled.clone() })?;
        Ok(pulled)
    }

    /// Pulls a version whose signatures are as demanded.
    async fn pull(&self, reference: &Reference, policies: &[Arc<Policy>]) -> Result<Pulled, Error> {
        let transfer = Transfer::new("pulling", reference);
        let pulled = self.registries()?.pull(reference, self.cache()?, &transfer).await?;
        self.verify(reference, &pulled.manifest, policies).await?;
        if pulled.from == PulledFrom::Registry {
            info!(plugin = %reference, artifact = %pulled.manifest, digest = %pulled.component, "pulled");
        }
        Ok(pulled)
    }

    /// Makes a version the one that later starts use.
    pub(crate) fn point(&self, Version { reference, pulled }: &Version) -> Result<(), Error> {
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
            let keep = references.0.keys().filter_map(|reference| Some(self.cached(reference).ok()??.manifest));
            let cleaned = cache.clean(&keep.collect::<Vec<Digest>>()).map_err(gyre_registry::Error::from)?;
            self.forget_signatures(cache);
            Ok(cleaned)
        });
        match cleaned {
            Ok(Cleaned { components: 0, .. }) => {}
            Ok(Cleaned { components, bytes }) => debug!(components, bytes, "removed plugins from the cache"),
            Err(error) => warn!("cannot clean the cache of plugins: {}; {}", error_chain(&error), error.remedy()),
        }
    }
}

/// Warns in the log or, in a command without one, on standard error.
fn say(text: fmt::Arguments<'_>) {
    if tracing::dispatcher::has_been_set() {
        warn!("{text}");
    } else {
        let _ = writeln!(io::stderr(), "gyre: {text}");
    }
}

/// Waits for requests. Not to be called by asynchronous code.
pub(crate) fn block_on<T>(requests: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    runtime.block_on(requests)
}
