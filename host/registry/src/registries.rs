//! The clients of all registries, and what they do.

mod pull;
mod push;
mod signatures;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio_rustls::rustls::ClientConfig;

pub use self::push::Component;
use crate::bounds;
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::{Manifest, WasmConfig};
use crate::media_type;
use crate::reference::{self, Reference};
use crate::session::Session;
use crate::settings::Settings;
use crate::tls;

/// The clients of all registries. Clones share connections and tokens.
#[derive(Clone)]
pub struct Registries {
    shared: Arc<Shared>,
}

impl fmt::Debug for Registries {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Registries").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

struct Shared {
    settings: Arc<Settings>,
    tls: ClientConfig,
    /// By the name of the registry. Each has connections of its own, so that no registry uses what
    /// was allowed for another one.
    sessions: Mutex<BTreeMap<String, Arc<Session>>>,
    /// The manifests that are being pulled.
    pulls: Mutex<BTreeMap<Digest, Weak<tokio::sync::Mutex<()>>>>,
}

impl Registries {
    /// Clients with these settings. No request is sent.
    ///
    /// # Errors
    ///
    /// If the certificates, or an entry of the registries over plain HTTP, are invalid. The
    /// credentials are read later.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let insecure = settings.insecure.iter().map(|host| match host.to_ascii_lowercase() {
            host if reference::is_registry(&host) => Ok(host),
            host => Err(Error::Insecure(host)),
        });
        let insecure = insecure.collect::<Result<_, _>>()?;
        let tls = tls::client_config(settings.ca_bundle.as_deref())?;
        let settings = Arc::new(Settings { insecure, ..settings });
        let (sessions, pulls) = (Mutex::default(), Mutex::default());
        Ok(Self { shared: Arc::new(Shared { settings, tls, sessions, pulls }) })
    }

    /// The digest of the manifest that a reference means now. A reference with a digest means that
    /// one, and nothing is asked.
    ///
    /// # Errors
    ///
    /// If the registry cannot be asked, or does not have it.
    pub async fn resolve(&self, reference: &Reference) -> Result<Digest, Error> {
        if let Some(digest) = reference.digest() {
            return Ok(*digest);
        }
        self.within(reference, self.shared.settings.question, self.resolve_tag(reference)).await
    }

    async fn resolve_tag(&self, reference: &Reference) -> Result<Digest, Error> {
        let session = self.session(reference)?;
        match session.digest(reference.repository(), &reference.target()).await? {
            Some(digest) => Ok(digest),
            None => Ok(session.manifest(reference.repository(), &reference.target()).await?.0),
        }
    }

    /// The manifest that a reference means, with its digest.
    ///
    /// # Guarantees
    ///
    /// The manifest has the digest, which is the one of the reference, if that has one.
    ///
    /// # Errors
    ///
    /// If the registry cannot be asked, does not have it, or sends something else.
    pub async fn manifest(&self, reference: &Reference) -> Result<(Digest, Manifest), Error> {
        let (digest, _, manifest) =
            self.within(reference, self.shared.settings.question, self.manifest_bytes(reference)).await?;
        Ok((digest, manifest))
    }

    /// The config of a manifest that [`Registries::manifest`] returned; `None` if it has another
    /// kind of config, e.g. an empty one.
    ///
    /// # Errors
    ///
    /// If the registry cannot be asked, or the config is invalid or about another component.
    pub async fn config(&self, reference: &Reference, manifest: &Manifest) -> Result<Option<WasmConfig>, Error> {
        if manifest.config.media_type != media_type::WASM_CONFIG {
            return Ok(None);
        }
        let refused = |source| Error::Manifest { what: format!("the config of {reference}"), source };
        let session = self.session(reference)?;
        let answer = session.small_blob(reference.repository(), &manifest.config, bounds::CONFIG);
        let bytes = self.within(reference, self.shared.settings.question, answer).await?;
        let config = WasmConfig::parse(&bytes).map_err(refused)?;
        let layer = manifest.component().map_err(refused)?;
        config.check_layer(&layer.digest).map_err(refused)?;
        Ok(Some(config))
    }

    /// Gives a manifest another tag in its repository, and returns its digest.
    ///
    /// # Errors
    ///
    /// If the tag is invalid, or the registry does not have the manifest or does not allow it.
    pub async fn tag(&self, reference: &Reference, tag: &str) -> Result<Digest, Error> {
        let tagged = reference.clone().with_tag(tag)?;
        let (digest, bytes, _) = self.manifest_bytes(reference).await?;
        let session = self.session(reference)?;
        session.push_manifest(reference.repository(), &tagged.target(), media_type::MANIFEST, bytes).await?;
        Ok(digest)
    }

    async fn manifest_bytes(&self, reference: &Reference) -> Result<(Digest, Vec<u8>, Manifest), Error> {
        let session = self.session(reference)?;
        let (digest, bytes) = session.manifest(reference.repository(), &reference.target()).await?;
        let refused = |source| Error::Manifest { what: reference.to_string(), source };
        let manifest = Manifest::parse(&bytes).map_err(refused)?;
        Ok((digest, bytes, manifest))
    }

    /// Waits for all of an answer at most so long.
    async fn within<T>(
        &self,
        reference: &Reference,
        longest: Duration,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let too_long = || Error::TooLong { host: reference.registry().to_owned(), longest };
        let result = tokio::time::timeout(longest, answer).await.unwrap_or_else(|_| Err(too_long()));
        result.inspect_err(|error| self.forget_if_moved(reference, error))
    }

    /// Forgets the client of a registry that has more local addresses than before, so that the next
    /// request accepts them, as a new process would.
    fn forget_if_moved(&self, reference: &Reference, error: &Error) {
        let Error::Address(refused) = error else { return };
        let mut sessions = self.shared.sessions.lock();
        if sessions.get(reference.registry()).is_some_and(|session| session.is_at(&refused.host)) {
            sessions.remove(reference.registry());
        }
    }

    /// The client of a reference's registry, which is made for its first request.
    fn session(&self, reference: &Reference) -> Result<Arc<Session>, Error> {
        let Shared { settings, tls, sessions, .. } = &*self.shared;
        let mut sessions = sessions.lock();
        if let Some(session) = sessions.get(reference.registry()) {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(Session::new(reference.registry(), tls, Arc::clone(settings))?);
        sessions.insert(reference.registry().to_owned(), Arc::clone(&session));
        Ok(session)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::address::{self, Reach};
    use crate::cache::Cache;
    use crate::progress::Silent;

    #[test]
    fn tasks_on_any_thread_can_make_requests() {
        fn check(_: impl Send) {}
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path(), 1).unwrap();
        let registries = Registries::new(Settings::default()).unwrap();
        let reference: Reference = "oci://registry.example.com/echo:1".parse().unwrap();
        let digest = Digest::of(b"");
        check(registries.resolve(&reference));
        check(registries.manifest(&reference));
        check(registries.pull(&reference, &cache, &Silent));
        check(registries.push(Component::default(), &reference, &Silent));
        check(registries.tag(&reference, "2"));
        check(registries.signatures(&reference, &digest));
        check(registries.attach(&reference, &digest, b"", media_type::BUNDLE, BTreeMap::new()));
        check(registries);
    }

    #[test]
    fn a_registry_has_one_client() {
        let registries = Registries::new(Settings::default()).unwrap();
        let session = |text: &str| registries.session(&text.parse().unwrap()).unwrap();
        let one = session("oci://registry.example.com/a:1");
        assert!(Arc::ptr_eq(&one, &session("oci://Registry.example.com/b:2")));
        assert!(!Arc::ptr_eq(&one, &session("oci://registry.example.com:5000/a:1")));
    }

    #[test]
    fn a_registry_that_moves_into_a_private_network_gets_another_client() {
        let registries = Registries::new(Settings::default()).unwrap();
        let reference = "oci://registry.example.com:5000/a:1".parse().unwrap();
        let first = registries.session(&reference).unwrap();
        for (host, is_forgotten) in [("storage.example.com", false), ("registry.example.com", true)] {
            let refused = address::check(host, IpAddr::from([10, 0, 0, 1]), Reach::Public).unwrap_err();
            registries.forget_if_moved(&reference, &refused.into());
            assert_eq!(!Arc::ptr_eq(&first, &registries.session(&reference).unwrap()), is_forgotten, "{host}");
        }
    }
}
