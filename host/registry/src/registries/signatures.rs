//! Signatures that are attached to a manifest: those that others made, and new ones.
//!
//! ```text
//!   referrers API ──▶ list ──▶ each bundle: manifest ──▶ its one layer
//!   tag sha256-HEX     the same list, where a registry has no such API
//!   tag sha256-HEX.sig the older form of cosign: a manifest with a layer for each signature
//! ```
//!
//! What is absent: the check of signatures. What is found here is only what somebody put there.

use std::collections::BTreeMap;

use bytes::Bytes;
use tracing::debug;

use super::Registries;
use crate::bounds;
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::{self, Descriptor, Index, Manifest};
use crate::media_type;
use crate::reference::Reference;
use crate::session::Session;
use crate::signature::{FoundSignature, SignatureKind};

/// The attempts to add a referrer to a list that others change at the same time.
const ATTEMPTS: usize = 3;
/// The content of an empty config.
const EMPTY: &[u8] = b"{}";

impl Registries {
    /// Returns what may be signatures of a manifest: bundles first, then the older form.
    ///
    /// # Guarantees
    ///
    /// There are at most [`bounds::REFERRERS`], each with at most [`bounds::SIGNATURE`] bytes, and
    /// all with at most [`bounds::SIGNATURES`]. Each has the digest by which it is listed, and is
    /// there once. Those that are invalid, cannot be read, or are of other kinds, are left out.
    ///
    /// # Errors
    ///
    /// If the registry cannot be asked which there are.
    pub async fn signatures(&self, reference: &Reference, manifest: &Digest) -> Result<Vec<FoundSignature>, Error> {
        self.within(reference, self.shared.settings.question, self.found(reference, manifest)).await
    }

    async fn found(&self, reference: &Reference, manifest: &Digest) -> Result<Vec<FoundSignature>, Error> {
        let (session, repository) = (self.session(reference)?, reference.repository());
        let mut found = Vec::new();
        let mut room = bounds::SIGNATURES;
        for listed in list(&session, repository, manifest).await? {
            found.extend(bundle(&session, repository, manifest, &listed, &mut room).await?);
        }
        let target = format!("sha256-{}.sig", manifest.hex());
        let Some((_, bytes)) = if_present(session.manifest(repository, &target).await)? else { return Ok(found) };
        let Some(older) = accepted(Manifest::parse(&bytes), &target) else { return Ok(found) };
        let mut payloads: Vec<&Descriptor> = Vec::new();
        for layer in &older.layers {
            if layer.media_type == media_type::SIMPLE_SIGNING && !payloads.contains(&layer) {
                payloads.push(layer);
            }
        }
        payloads.truncate(bounds::REFERRERS.saturating_sub(found.len()));
        for layer in payloads {
            found.extend(content(&session, repository, layer, &mut room).await?.map(|bytes| FoundSignature {
                kind: SignatureKind::Simple,
                digest: layer.digest,
                media_type: layer.media_type.clone(),
                artifact_type: None,
                bytes,
                annotations: layer.annotations.clone(),
            }));
        }
        Ok(found)
    }

    /// Attaches something to a manifest, e.g. a Sigstore bundle, and returns the digest of the
    /// manifest that says so.
    ///
    /// # Guarantees
    ///
    /// It is found by the referrers API, or by the list under the tag `sha256-HEX` if the registry
    /// does not have this API. Attaching the same again changes nothing.
    ///
    /// # Errors
    ///
    /// If it is empty or exceeds the [bounds], if the manifest does not exist, or if the registry
    /// does not take it.
    pub async fn attach(
        &self,
        reference: &Reference,
        subject: &Digest,
        bytes: &[u8],
        artifact_type: &str,
        annotations: BTreeMap<String, String>,
    ) -> Result<Digest, Error> {
        let size = bytes.len() as u64;
        if size == 0 || size > bounds::SIGNATURE {
            return Err(Error::Push { what: "the signature", size, limit: bounds::SIGNATURE });
        }
        let refused = |source| Error::Manifest { what: reference.to_string(), source };
        let (session, repository) = (self.session(reference)?, reference.repository());
        let (_, of_subject) = session.manifest(repository, &subject.to_string()).await?;
        Manifest::parse(&of_subject).map_err(refused)?;
        let subject = Descriptor::of(&of_subject, media_type::MANIFEST);
        let (config, layer) = (Descriptor::of(EMPTY, media_type::EMPTY), Descriptor::of(bytes, artifact_type));
        let mut manifest = Manifest::new(config, layer, annotations);
        manifest.artifact_type = Some(artifact_type.to_owned());
        manifest.subject = Some(subject.clone());
        let written = manifest.to_bytes().map_err(refused)?;
        let mut listed = Descriptor::of(&written, media_type::MANIFEST);
        listed.artifact_type = manifest.artifact_type;
        listed.annotations = manifest.annotations;
        session.push_blob(repository, &manifest.config, Bytes::from_static(EMPTY), None).await?;
        for layer in &manifest.layers {
            session.push_blob(repository, layer, Bytes::copy_from_slice(bytes), None).await?;
        }
        let target = listed.digest.to_string();
        let is_listed = session.push_manifest(repository, &target, media_type::MANIFEST, written).await?;
        if !is_listed {
            add_to_list(&session, repository, &subject.digest, &listed).await?;
        }
        Ok(listed.digest)
    }
}

/// The tag of the list of referrers, where a registry has no API for it.
fn tag_of_list(subject: &Digest) -> String {
    format!("sha256-{}", subject.hex())
}

/// The manifests that the registry lists as referrers of one, without those that are no bundles.
async fn list(session: &Session, repository: &str, subject: &Digest) -> Result<Vec<Descriptor>, Error> {
    let mut listed = Vec::new();
    let mut page = None;
    for _ in 0..bounds::PAGES {
        let Some((bytes, next)) = session.referrers(repository, subject, page).await? else { break };
        let of_page = accepted(Index::parse(&bytes), "the list of referrers");
        add_bundles(&mut listed, of_page.map(|index| index.manifests).unwrap_or_default());
        page = next;
        if page.is_none() || listed.len() >= bounds::REFERRERS {
            break;
        }
    }
    // A registry may have got this API after the list was made.
    add_bundles(&mut listed, list_by_tag(session, repository, subject).await?);
    Ok(listed)
}

/// Adds those that may be bundles, each once.
fn add_bundles(listed: &mut Vec<Descriptor>, more: Vec<Descriptor>) {
    for new in more {
        // Some registries list the type of the config instead of the artifact's.
        let is_bundle =
            new.artifact_type.as_ref().is_none_or(|kind| kind.starts_with(media_type::BUNDLES) || kind == media_type::EMPTY);
        let is_there = listed.iter().any(|listed| listed.digest == new.digest);
        if is_bundle && !is_there && listed.len() < bounds::REFERRERS {
            listed.push(new);
        }
    }
}

async fn list_by_tag(session: &Session, repository: &str, subject: &Digest) -> Result<Vec<Descriptor>, Error> {
    let tag = tag_of_list(subject);
    let Some((_, bytes)) = if_present(session.manifest(repository, &tag).await)? else { return Ok(Vec::new()) };
    let index = accepted(Index::parse(&bytes), &tag);
    Ok(index.map(|index| index.manifests).unwrap_or_default())
}

/// Adds a referrer to the list under the tag. Registries cannot compare before they replace it, so
/// somebody else's entry, or this one, may be lost; this one is looked for and added again.
async fn add_to_list(session: &Session, repository: &str, subject: &Digest, new: &Descriptor) -> Result<(), Error> {
    let tag = tag_of_list(subject);
    for _ in 0..ATTEMPTS {
        let mut listed = list_by_tag(session, repository, subject).await?;
        if listed.iter().any(|listed| listed.digest == new.digest) {
            return Ok(());
        }
        listed.push(new.clone());
        let refused = |source| Error::Manifest { what: tag.clone(), source };
        let bytes = Index::new(listed).to_bytes().map_err(refused)?;
        session.push_manifest(repository, &tag, media_type::INDEX, bytes).await?;
    }
    let listed = list_by_tag(session, repository, subject).await?;
    if listed.iter().any(|listed| listed.digest == new.digest) {
        return Ok(());
    }
    Err(Error::Referrers { host: session.host(), subject: *subject })
}

/// The bundle that a listed manifest has; `None` if it is none.
async fn bundle(
    session: &Session,
    repository: &str,
    subject: &Digest,
    listed: &Descriptor,
    room: &mut u64,
) -> Result<Option<FoundSignature>, Error> {
    let target = listed.digest.to_string();
    let Some((digest, bytes)) = if_sound(session.manifest(repository, &target).await)? else { return Ok(None) };
    let Some(manifest) = accepted(Manifest::parse(&bytes), &target) else { return Ok(None) };
    let is_about_it = manifest.subject.as_ref().is_some_and(|found| found.digest == *subject);
    let [layer] = manifest.layers.as_slice() else { return Ok(None) };
    if !is_about_it || !layer.media_type.starts_with(media_type::BUNDLES) {
        return Ok(None);
    }
    Ok(content(session, repository, layer, room).await?.map(|bytes| FoundSignature {
        kind: SignatureKind::Bundle,
        digest,
        media_type: layer.media_type.clone(),
        artifact_type: manifest.artifact_type.clone(),
        bytes,
        annotations: BTreeMap::new(),
    }))
}

/// The bytes of a signature; `None` if they are too many, absent or others than those that are
/// listed. There is `room` for all of them and their annotations.
async fn content(session: &Session, repository: &str, layer: &Descriptor, room: &mut u64) -> Result<Option<Vec<u8>>, Error> {
    let annotations: usize = layer.annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    let Some(rest) = room.checked_sub(layer.size.saturating_add(annotations as u64)) else {
        debug!(signature = %layer.digest, "a signature is left out, because there are too many");
        return Ok(None);
    };
    let bytes = if_sound(session.small_blob(repository, layer, bounds::SIGNATURE).await)?;
    if bytes.is_some() {
        *room = rest;
    }
    Ok(bytes)
}

/// A list of signatures need not be there.
fn if_present<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Err(Error::NotFound { .. }) => Ok(None),
        result => result.map(Some),
    }
}

/// Leaves out a signature that is absent or cannot be read. Anybody who may push can put it there,
/// and it must not hide those beside it.
fn if_sound<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Err(
            error @ (Error::NotFound { .. }
            | Error::Denied { .. }
            | Error::Status { status: 400..=499, .. }
            | Error::Interrupted { .. }
            | Error::TooLarge { .. }
            | Error::Size { .. }
            | Error::Digest { .. }),
        ) => {
            debug!(%error, "a signature is left out");
            Ok(None)
        }
        result => result.map(Some),
    }
}

fn accepted<T>(result: Result<T, manifest::Error>, what: &str) -> Option<T> {
    result.inspect_err(|error| debug!(what, %error, "what may be signatures is left out")).ok()
}
