//! The versions of one load of a configuration.
//!
//! What is pulled is not yet what later starts use: first, the configuration has to be accepted
//! with it. A registry that is away or slow delays a load once, and not for each of its plugins.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gyre_engine::error::error_chain;
use gyre_registry::{Digest, PullPolicy, Pulled, Reference};

use super::{Demands, Error, References, Store, Version, block_on, say};

/// The longest time that a start waits for news of a registry: it could do without them. A probe
/// may end a start that takes minutes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The versions of one load of a configuration, and what it asked registries.
#[derive(Default)]
pub(crate) struct Pulls {
    store: Store,
    /// How long each registry is asked for versions that the cache has, too.
    patience: Duration,
    /// The references of the configuration that is in force.
    mounted: References,
    /// The versions that were pulled, or are tried.
    pulled: BTreeMap<Reference, Pulled>,
    /// Whether one of them takes the place of a version in the cache that could be used.
    has_news: bool,
    asked: BTreeMap<String, Asked>,
}

/// The questions to a registry.
#[derive(Default)]
struct Asked {
    /// The time that it took to ask for versions that the cache has, too.
    waited: Duration,
    /// Why it did not answer, and the remedy.
    failed: Option<(String, &'static str)>,
}

impl Pulls {
    /// The first load of a configuration: `Always` asks the registry.
    pub(crate) fn at_start(store: &Store) -> Self {
        Self { store: store.clone(), patience: PATIENCE, ..Self::default() }
    }

    /// A command about one plugin, which waits for its registry as long as it takes.
    pub(crate) fn of_command(store: &Store) -> Self {
        Self { patience: Duration::MAX, ..Self::at_start(store) }
    }

    /// A load that asks registries only for what the cache does not have, and tries a version.
    pub(crate) fn from_cache(store: &Store, mounted: &References, tried: Option<Version>) -> Self {
        let pulled = tried.into_iter().map(|Version { reference, pulled, .. }| (reference, pulled)).collect();
        Self { store: store.clone(), mounted: mounted.clone(), pulled, ..Self::default() }
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns whether a pulled version took the place of one in the cache that could be used.
    pub(crate) fn has_news(&self) -> bool {
        self.has_news
    }

    /// Returns the version that a reference names, after verifying its signatures. Pulls it if it
    /// is not in the cache, or if it has to be asked for.
    pub(super) fn version(&mut self, reference: &Reference, demands: &Demands) -> Result<Pulled, Error> {
        let is_pulled = demands.pull != PullPolicy::Never;
        if let Some(pulled) = self.pulled.get(reference).filter(|_| is_pulled).cloned() {
            return self.check(reference, pulled, demands);
        }
        let cached = self.store.cached(reference)?;
        match cached.map(|cached| self.check(reference, cached, demands)) {
            None if !is_pulled => Err(Error::NotPulled(self.store.folder()?.to_owned())),
            // A digest names the same for ever.
            Some(Ok(cached)) if demands.pull == PullPolicy::Always && reference.digest().is_none() => {
                Ok(self.latest(reference, cached, demands))
            }
            Some(checked) if checked.is_ok() || !is_pulled => checked,
            _ => self.pull(reference, demands),
        }
    }

    /// Returns the version that a tag names now or, if the registry does not say that in time, the
    /// one in the cache.
    fn latest(&mut self, reference: &Reference, cached: Pulled, demands: &Demands) -> Pulled {
        if self.patience.is_zero() {
            return cached;
        }
        let asked = self.asked.entry(reference.registry().to_owned()).or_default();
        let (left, started) = (self.patience.saturating_sub(asked.waited), Instant::now());
        let latest = self.pull_within(reference, demands, Some(left));
        if let Some(asked) = self.asked.get_mut(reference.registry()) {
            asked.waited += started.elapsed();
        }
        match latest {
            Ok(latest) => {
                self.has_news |= latest.manifest != cached.manifest;
                latest
            }
            Err(error) => {
                let (manifest, why) = (cached.manifest, error_chain(&error));
                say(format_args!("{reference}: the registry gives no version, so {manifest} in the cache is used: {why}"));
                cached
            }
        }
    }

    fn check(&mut self, reference: &Reference, version: Pulled, demands: &Demands) -> Result<Pulled, Error> {
        let (store, policies, manifest) = (self.store.clone(), demands.policies(), version.manifest);
        match store.verify_kept(&manifest, &policies) {
            Err(_) if demands.pull != PullPolicy::Never => {
                self.ask(reference, store.verify(reference, &manifest, &policies))?;
            }
            checked => checked?,
        }
        Ok(version)
    }

    /// Pulls the version that a reference names now.
    pub(crate) fn pull(&mut self, reference: &Reference, demands: &Demands) -> Result<Pulled, Error> {
        self.pull_within(reference, demands, None)
    }

    fn pull_within(&mut self, reference: &Reference, demands: &Demands, within: Option<Duration>) -> Result<Pulled, Error> {
        if within.is_some_and(|within| within.is_zero()) {
            return Err(Error::Late(self.patience));
        }
        let (store, policies, keep, patience) = (self.store.clone(), demands.policies(), self.keep(reference), self.patience);
        let pull = store.pull(reference, &policies, &keep);
        let pulled = self.ask(reference, async {
            match within {
                Some(within) => tokio::time::timeout(within, pull).await.unwrap_or(Err(Error::Late(patience))),
                None => pull.await,
            }
        })?;
        self.pulled.insert(reference.clone(), pulled.clone());
        Ok(pulled)
    }

    /// The manifests that stay in the cache when a version of a reference is pulled.
    fn keep(&self, reference: &Reference) -> Vec<Digest> {
        let mut keep = self.store.manifests(self.mounted.0.keys().chain([reference]));
        keep.extend(self.pulled.values().map(|pulled| pulled.manifest));
        keep
    }

    /// Sends requests about a reference, unless its registry has failed.
    fn ask<T>(&mut self, reference: &Reference, requests: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let registry = reference.registry().to_owned();
        let asked = self.asked.entry(registry.clone()).or_default();
        if let Some((why, remedy)) = asked.failed.clone() {
            return Err(Error::Away { registry, why, remedy });
        }
        let answer = block_on(requests);
        if let Err(Error::Registry(error)) = &answer
            && error.is_temporary()
        {
            asked.failed = Some((error_chain(error), error.remedy()));
        }
        answer
    }

    /// Makes the versions those that later starts use: the configuration is accepted with them.
    pub(crate) fn accept(&self) {
        self.point(|_| true);
    }

    /// The same, but only for references of which the cache has no version, because commands do not
    /// decide what a host uses.
    pub(crate) fn accept_missing(&self) {
        self.point(|reference| !self.store.knows(reference));
    }

    fn point(&self, is_pointed: impl Fn(&Reference) -> bool) {
        for (reference, pulled) in self.pulled.iter().filter(|(reference, _)| is_pointed(reference)) {
            // What runs does not need it.
            if let Err(error) = self.store.point(reference, pulled) {
                let (why, remedy) = (error_chain(&error), error.remedy());
                say(format_args!("a later start will not use the version {} of {reference}: {why}; {remedy}", pulled.manifest));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(text: &str) -> Reference {
        text.parse().unwrap()
    }

    #[test]
    fn a_registry_that_failed_is_not_asked_again_within_a_load() {
        let mut pulls = Pulls::default();
        let mut ask = |text: &str, answer: Result<(), Error>| {
            let mut is_asked = false;
            let answer = pulls.ask(&reference(text), async {
                is_asked = true;
                answer
            });
            (is_asked, answer.map_err(|error| error_chain(&error)))
        };
        let (first, other) = ("oci://registry.example.com/a:1", "oci://registry.example.com/b:2");
        let missing = Error::NotPulled("cache".into());
        assert!(ask(first, Err(missing)).0);
        let host = "registry.example.com".to_owned();
        let failed = gyre_registry::Error::Timeout { host, waited: Duration::from_secs(30) };
        assert!(ask(first, Err(failed.into())).0, "what is not there says nothing about other plugins");
        let (is_asked, answer) = ask(other, Ok(()));
        let why = "registry.example.com is not asked again now: registry.example.com did not answer within 30 s";
        assert_eq!((is_asked, answer), (false, Err(why.to_owned())));
        assert_eq!(ask("oci://other.example.com/a:1", Ok(())), (true, Ok(())));
    }
}
