//! Pulling a component: its bytes go from the connection to the disk, and are hashed on the way.

use std::sync::{Arc, Weak};

use tokio::io::AsyncWriteExt as _;
use tracing::debug;

use super::Registries;
use crate::bounds;
use crate::cache::{self, Cache, Pulled, PulledFrom};
use crate::digest::{Digest, Hasher};
use crate::error::Error;
use crate::manifest::{Descriptor, Manifest};
use crate::progress::Progress;
use crate::reference::Reference;
use crate::session::{Session, check_end, check_size};

impl Registries {
    /// Pulls the component that a reference means now into the cache.
    ///
    /// What the reference means for mounts does not change: call [`Cache::point`] once the
    /// component is accepted.
    ///
    /// # Guarantees
    ///
    /// - The manifest and the component have their digests and sizes, within the [bounds].
    /// - A file of the cache is complete, or absent.
    /// - The component is never in memory as a whole.
    /// - Of several pulls of the same manifest by clones of this, one reads the registry.
    ///
    /// # Errors
    ///
    /// If the registry cannot be asked, does not have it, or sends something else; or if the cache
    /// cannot be written. A transfer that breaks off is begun again twice.
    pub async fn pull(&self, reference: &Reference, cache: &Cache, progress: &dyn Progress) -> Result<Pulled, Error> {
        self.within(reference, self.shared.settings.transfer, self.pull_component(reference, cache, progress)).await
    }

    async fn pull_component(&self, reference: &Reference, cache: &Cache, progress: &dyn Progress) -> Result<Pulled, Error> {
        let digest = self.resolve(reference).await?;
        let turn = self.turn(digest);
        let _turn = turn.lock().await;
        if let Some(pulled) = cached(cache, digest).await {
            return Ok(pulled);
        }
        let pinned = reference.clone().with_digest(digest);
        let (_, bytes, manifest) = self.manifest_bytes(&pinned).await?;
        let refused = |source| Error::Manifest { what: pinned.to_string(), source };
        let layer = manifest.component().map_err(refused)?;
        cache.check_size(layer.size)?;
        let session = self.session(reference)?;
        let mut tries = 1;
        loop {
            let result = fill(&session, reference.repository(), (digest, bytes.as_slice()), layer, cache, progress).await;
            match result {
                Ok(()) => return Ok(pulled(cache, digest, &manifest, layer)),
                Err(error) if error.is_interruption() && tries < bounds::ATTEMPTS => {
                    debug!(%reference, tries, %error, "the pull is begun again");
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The lock of the pulls of a manifest.
    fn turn(&self, digest: Digest) -> Arc<tokio::sync::Mutex<()>> {
        let mut pulls = self.shared.pulls.lock();
        pulls.retain(|_, turn| turn.strong_count() > 0);
        let known = pulls.get(&digest).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let turn = Arc::default();
            pulls.insert(digest, Arc::downgrade(&turn));
            turn
        })
    }
}

/// The component of a manifest that is in the cache, with the right bytes.
async fn cached(cache: &Cache, digest: Digest) -> Option<Pulled> {
    let manifest = cache.manifest(&digest)?;
    if has_component(cache, manifest.component().ok()?).await { cache.pulled(&digest) } else { None }
}

/// Hashes a file of the cache on another thread, because it may be large.
async fn has_component(cache: &Cache, layer: &Descriptor) -> bool {
    let (cache, digest, size) = (cache.clone(), layer.digest, layer.size);
    let hashed = tokio::task::spawn_blocking(move || cache.has_component(&digest, size)).await;
    hashed.unwrap_or(false)
}

fn pulled(cache: &Cache, digest: Digest, manifest: &Manifest, layer: &Descriptor) -> Pulled {
    Pulled {
        manifest: digest,
        component: layer.digest,
        path: cache.component_path(&layer.digest),
        annotations: manifest.annotations.clone(),
        from: PulledFrom::Registry,
    }
}

/// Puts a component and then its manifest into the cache.
async fn fill(
    session: &Session,
    repository: &str,
    manifest: (Digest, &[u8]),
    layer: &Descriptor,
    cache: &Cache,
    progress: &dyn Progress,
) -> Result<(), Error> {
    // Another manifest may describe the same component.
    if !has_component(cache, layer).await {
        download(session, repository, layer, cache, progress).await?;
    }
    let (digest, bytes) = manifest;
    Ok(cache.keep_manifest(&digest, bytes)?)
}

async fn download(
    session: &Session,
    repository: &str,
    layer: &Descriptor,
    cache: &Cache,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let mut temporary = cache.temporary()?;
    let failed = |source| cache::Error::Io { path: cache.component_path(&layer.digest), action: "written", source };
    let mut file = tokio::fs::File::from_std(temporary.take_file()?);
    let mut transfer = session.blob(repository, layer).await?;
    let (mut hasher, mut size) = (Hasher::new(), 0);
    progress.begin(layer.size);
    while let Some(piece) = transfer.next().await? {
        size += piece.len() as u64;
        check_size(&transfer, layer, size)?;
        hasher.update(&piece);
        file.write_all(&piece).await.map_err(failed)?;
        progress.advance(size);
    }
    check_end(&transfer, layer, size, hasher.finish())?;
    file.flush().await.map_err(failed)?;
    // A file that is renamed before its content is on the disk may be empty after a crash.
    file.sync_data().await.map_err(failed)?;
    Ok(cache.keep_component(&layer.digest, temporary)?)
}
