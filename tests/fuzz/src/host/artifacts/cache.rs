//! Files of the cache of plugins, damaged.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use gyre_devcluster::random::Random;
use gyre_registry::{Cache, Digest, FoundSignature, Pulled, PulledFrom, Reference, SignatureKind, bounds};
use serde_json::Value;

use super::signatures::{self, DIGEST, Signature};
use super::written::{COMPONENT, TAG, written};
use super::{about, check_message, mutated};
use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Log, Tally, count, law, shown};

/// The number of caches in a case.
const CACHES: usize = 3;
const FOLDER: &str = "plugins";
const REFERENCE: &str = "oci://registry.example.com/team/echo:1.4";

pub(super) fn run(random: &mut Random, log: &mut dyn Log, tally: &mut Tally) -> Result<(), Failure> {
    for _ in 0..CACHES {
        let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
        let cache = Cache::open(&folder.path().join(FOLDER), 1 << 30).map_err(|error| failed(&error))?;
        if random.chance(0.4) {
            check_signatures(random, folder.path(), &cache, log, tally)?;
        } else {
            check_pointer(random, folder.path(), &cache, log, tally)?;
        }
    }
    Ok(())
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure(error.to_string())
}

/// Checks that stored signatures are those that were kept, and that damaged ones are verified as
/// any others.
fn check_signatures(
    random: &mut Random,
    folder: &Path,
    cache: &Cache,
    log: &mut dyn Log,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let manifest = DIGEST.parse::<Digest>().map_err(|error| failed(&error))?;
    let all = signatures::samples()?;
    let mut kept: Vec<FoundSignature> = Vec::new();
    for _ in 0..=random.size(4) {
        let found = found(random.pick(&all));
        if !kept.contains(&found) {
            kept.push(found);
        }
    }
    cache.keep_signatures(&manifest, &kept).map_err(|error| failed(&error))?;
    let read = cache.kept_signatures(&manifest);
    law(read == kept, || format!("{kept:?} is read as {read:?}"))?;
    count(tally, "kept");
    let path = folder.join(FOLDER).join("signatures").join(format!("{}.json", manifest.hex()));
    let sound = fs::read(&path).map_err(|error| failed(&error))?;
    let mut damaged = mutated(random, &sound, mutate::value);
    if random.chance(0.01) {
        damaged.resize(bounds::SIGNATURES as usize + random.size(2), b' ');
    }
    log.step(&|| format!("signatures {}", shown(&String::from_utf8_lossy(&damaged))));
    fs::write(&path, &damaged).map_err(|error| failed(&error))?;
    let read = cache.kept_signatures(&manifest);
    let checked = check_kept(&damaged, &read)
        .and_then(|()| read.iter().take(3).try_for_each(|found| signatures::check(&signature(found), DIGEST, tally)));
    checked.map_err(|failure| about(&failure, &damaged))?;
    // A damaged file is replaced.
    let newest = found(random.pick(&all));
    cache.keep_signatures(&manifest, std::slice::from_ref(&newest)).map_err(|error| failed(&error))?;
    let read = cache.kept_signatures(&manifest);
    law(read.contains(&newest), || format!("{newest:?} is not kept"))?;
    let size = fs::metadata(&path).map_err(|error| failed(&error))?.len();
    law(size <= bounds::SIGNATURES, || format!("the file has {size} bytes"))
}

fn check_kept(file: &[u8], read: &[FoundSignature]) -> Result<(), Failure> {
    law(file.len() as u64 <= bounds::SIGNATURES || read.is_empty(), || format!("{} bytes are read", file.len()))?;
    let bytes: usize = read.iter().map(|found| found.bytes.len()).sum();
    law(bytes <= file.len(), || format!("{bytes} bytes are read from {}", file.len()))?;
    let Ok(value) = serde_json::from_slice::<Value>(file) else { return Ok(()) };
    let count = value.as_array().map_or(0, Vec::len);
    law(read.is_empty() || read.len() == count, || format!("{} signatures are read from {count}", read.len()))
}

fn found(signature: &Signature) -> FoundSignature {
    let (kind, bytes, annotations) = match signature.clone() {
        Signature::Bundle(bytes) => (SignatureKind::Bundle, bytes, BTreeMap::new()),
        Signature::Simple { payload, annotations } => (SignatureKind::Simple, payload, annotations),
    };
    let digest = Digest::of(&bytes);
    FoundSignature { kind, digest, media_type: String::new(), artifact_type: None, bytes, annotations }
}

fn signature(found: &FoundSignature) -> Signature {
    let FoundSignature { bytes, annotations, .. } = found.clone();
    match found.kind {
        SignatureKind::Bundle => Signature::Bundle(bytes),
        SignatureKind::Simple => Signature::Simple { payload: bytes, annotations },
    }
}

/// Checks that a pointer means the component that it was pointed to, or nothing.
fn check_pointer(
    random: &mut Random,
    folder: &Path,
    cache: &Cache,
    log: &mut dyn Log,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let manifest = written()?.manifest(TAG);
    let (digest, component) = (Digest::of(manifest), Digest::of(COMPONENT));
    let reference = REFERENCE.parse::<Reference>().map_err(|error| failed(&error))?;
    let reference = if random.chance(0.3) { reference.with_digest(digest) } else { reference };
    let manifests = folder.join(FOLDER).join("manifests");
    let files = [cache.component_path(&component), manifests.join(format!("{}.json", digest.hex())), cache.pointer(&reference)];
    for (path, bytes) in files.iter().zip([COMPONENT, manifest]) {
        fs::write(path, bytes).map_err(|error| failed(&error))?;
    }
    let annotations = cache.manifest(&digest).map(|manifest| manifest.annotations).unwrap_or_default();
    let path = cache.component_path(&component);
    let pulled = Pulled { manifest: digest, component, path, annotations, from: PulledFrom::Cache };
    cache.point(&reference, &pulled).map_err(|error| failed(&error))?;
    let read = cache.read(&reference).map_err(|error| failed(&error))?;
    law(read.as_ref() == Some(&pulled), || format!("{pulled:?} is read as {read:?}"))?;
    let path = random.pick(&files);
    let sound = fs::read(path).map_err(|error| failed(&error))?;
    let damaged = damage(random, folder, path, &sound).map_err(|error| failed(&error))?;
    let shown_damage = damaged.as_deref().map(|bytes| shown(&String::from_utf8_lossy(bytes)));
    log.step(&|| format!("{} is {shown_damage:?}", path.display()));
    let read = match cache.read(&reference) {
        Ok(read) => read,
        Err(error) => return check_message(&error, error.remedy()),
    };
    count(tally, if read.is_some() { "cached" } else { "not-cached" });
    let Some(read) = read else { return Ok(()) };
    // The bytes of the component are compared by the program that loads it.
    let is_sound = damaged.as_ref().is_some_and(|damaged| {
        let [component, _, pointer] = &files;
        if path == component { damaged.len() == sound.len() } else { path == pointer || *damaged == sound }
    });
    law(is_sound && read == pulled, || format!("{} is {shown_damage:?}, and is read as {read:?}", path.display()))
}

/// Damages a file, and returns its bytes; `None` if it is no regular file any more.
fn damage(random: &mut Random, folder: &Path, path: &Path, sound: &[u8]) -> std::io::Result<Option<Vec<u8>>> {
    match random.below(10) {
        0 => {
            fs::remove_file(path)?;
            return Ok(None);
        }
        1 => {
            fs::remove_file(path)?;
            fs::create_dir(path)?;
            return Ok(None);
        }
        2 => {
            // The right bytes, elsewhere.
            let elsewhere = folder.join("elsewhere");
            fs::rename(path, &elsewhere)?;
            symlink(&elsewhere, path)?;
            return Ok(None);
        }
        _ => {}
    }
    let damaged = mutated(random, sound, mutate::value);
    fs::write(path, &damaged)?;
    Ok(Some(damaged))
}
