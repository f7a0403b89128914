//! Signatures of manifests. Those that were accepted are kept in the cache, so that a start needs
//! no registry. They are verified each time.

use std::collections::BTreeSet;
use std::sync::Arc;

use gyre_engine::error::error_chain;
use gyre_registry::{Digest, FoundSignature, Reference, SignatureKind};
use gyre_signatures::{Candidate, Content, Policy, Refusal, Verified};

use super::{Error, Store, say};

impl Store {
    /// Verifies the signatures that are kept, and if they do not suffice those in the registry.
    pub(super) async fn verify(&self, reference: &Reference, manifest: &Digest, policies: &[Arc<Policy>]) -> Result<(), Error> {
        if policies.is_empty() {
            return Ok(());
        }
        let (store, manifest, required) = (self.clone(), *manifest, policies.to_vec());
        if blocking(move || store.verify_kept(&manifest, &required)).await.is_ok() {
            return Ok(());
        }
        let found = self.registries()?.signatures(reference, &manifest).await?;
        let (store, required) = (self.clone(), policies.to_vec());
        blocking(move || store.accept(&manifest, &found, &required)).await
    }

    pub(super) fn verify_kept(&self, manifest: &Digest, policies: &[Arc<Policy>]) -> Result<(), Error> {
        if policies.is_empty() {
            return Ok(());
        }
        accepted(manifest, &self.cache()?.kept_signatures(manifest), policies)?;
        Ok(())
    }

    /// Verifies signatures, and keeps those that are accepted.
    fn accept(&self, manifest: &Digest, found: &[FoundSignature], policies: &[Arc<Policy>]) -> Result<(), Error> {
        let names = accepted(manifest, found, policies)?;
        let accepted = found.iter().filter(|found| names.contains(&found.digest.to_string()));
        self.keep(manifest, &accepted.cloned().collect::<Vec<FoundSignature>>());
        Ok(())
    }

    /// Keeps the signatures that a registry has, for a host that does not ask it. Verifies none.
    /// Says so if they cannot be kept.
    pub(crate) async fn keep_signatures(&self, reference: &Reference, manifest: &Digest) {
        let found = async { Ok::<_, Error>(self.registries()?.signatures(reference, manifest).await?) };
        match found.await {
            Ok(found) => self.keep(manifest, &found),
            Err(error) => say_not_kept(manifest, &error),
        }
    }

    fn keep(&self, manifest: &Digest, signatures: &[FoundSignature]) {
        let kept = self.cache().and_then(|cache| {
            cache.keep_signatures(manifest, signatures).map_err(gyre_registry::Error::from)?;
            Ok(())
        });
        if let Err(error) = kept {
            say_not_kept(manifest, &error);
        }
    }
}

fn say_not_kept(manifest: &Digest, error: &Error) {
    let (why, remedy) = (error_chain(error), error.remedy());
    say(format_args!("the signatures of {manifest} are not kept for a start without its registry: {why}; {remedy}"));
}

/// Verifies on another thread: megabytes of signatures would delay the tasks of this one.
async fn blocking(verify: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Result<(), Error> {
    tokio::task::spawn_blocking(verify).await.map_err(Error::Panicked)?
}

/// Returns the names of the signatures that the policies accept: one of each.
fn accepted(manifest: &Digest, found: &[FoundSignature], policies: &[Arc<Policy>]) -> Result<BTreeSet<String>, Refusal> {
    policies.iter().map(|policy| Ok(verified(manifest, found, policy)?.name)).collect()
}

/// Returns the signature that a policy accepts.
pub(crate) fn verified(manifest: &Digest, found: &[FoundSignature], policy: &Policy) -> Result<Verified, Refusal> {
    let names: Vec<String> = found.iter().map(|found| found.digest.to_string()).collect();
    let candidates = names.iter().zip(found).map(|(name, FoundSignature { kind, bytes, annotations, .. })| {
        let content = match kind {
            SignatureKind::Bundle => Content::Bundle(bytes),
            SignatureKind::Simple => Content::Simple { payload: bytes, annotations },
        };
        Candidate { name, content }
    });
    let candidates: Vec<Candidate<'_>> = candidates.collect();
    gyre_signatures::verify(policy, &manifest.to_string(), &candidates)
}
