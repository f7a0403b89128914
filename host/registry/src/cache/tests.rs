use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::slice;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::manifest::Descriptor;
use crate::media_type;
use crate::signature::{FoundSignature, SignatureKind};

/// A cache in a folder of its own.
fn cache(max_bytes: u64) -> (TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(&folder.path().join("plugins"), max_bytes).unwrap();
    (folder, cache)
}

fn reference(tag: &str) -> Reference {
    format!("oci://registry.example.com/echo:{tag}").parse().unwrap()
}

/// Puts a component of these bytes into the cache, last used so long ago.
fn put(cache: &Cache, bytes: &[u8], age: Duration) -> Pulled {
    let layer = Descriptor::of(bytes, media_type::WASM);
    let config = Descriptor::of(b"{}", media_type::EMPTY);
    let annotations = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let manifest = Manifest::new(config, layer.clone(), annotations).to_bytes().unwrap();
    let path = cache.component_path(&layer.digest);
    fs::write(&path, bytes).unwrap();
    self::age(&path, age);
    cache.keep_manifest(&Digest::of(&manifest), &manifest).unwrap();
    cache.pulled(&Digest::of(&manifest)).unwrap()
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

fn days(days: u64) -> Duration {
    minutes(days * 24 * 60)
}

/// Makes a file of the cache older.
fn age(path: &Path, age: Duration) {
    File::open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
}

/// The number of files in a folder of the cache.
fn count(cache: &Cache, folder: &str) -> usize {
    fs::read_dir(cache.folder.join(folder)).unwrap().count()
}

/// The bytes of the components and manifests.
fn total(cache: &Cache) -> u64 {
    let folders = [COMPONENTS, MANIFESTS].into_iter();
    let files = folders.flat_map(|folder| fs::read_dir(cache.folder.join(folder)).unwrap());
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn a_reference_means_what_it_was_pointed_to() {
    let (_folder, cache) = cache(1 << 20);
    assert_eq!(cache.read(&reference("1")).unwrap(), None);
    let first = put(&cache, b"first", minutes(0));
    assert_eq!(cache.read(&reference("1")).unwrap(), None, "what is in the cache is not accepted yet");
    cache.point(&reference("1"), &first).unwrap();
    assert_eq!(cache.read(&reference("1")).unwrap(), Some(first.clone()));
    assert_eq!(first.path, cache.component_path(&Digest::of(b"first")));
    assert_eq!(first.annotations["a"], "b");
    assert_eq!(cache.read(&reference("2")).unwrap(), None);
    let second = put(&cache, b"second", minutes(0));
    cache.point(&reference("1"), &second).unwrap();
    assert_eq!(cache.read(&reference("1")).unwrap(), Some(second));
    assert_eq!(count(&cache, temporary::FOLDER), 0);
    let shown = fs::read_to_string(cache.pointer(&reference("1"))).unwrap();
    assert!(shown.contains("\"reference\": \"oci://registry.example.com/echo:1\""), "{shown}");
    let inode = || fs::metadata(cache.pointer(&reference("1"))).unwrap().ino();
    let before = inode();
    cache.point(&reference("1"), &cache.read(&reference("1")).unwrap().unwrap()).unwrap();
    assert_eq!(inode(), before, "the same again is no news");
}

#[test]
fn what_is_damaged_counts_as_absent() {
    let (_folder, cache) = cache(1 << 20);
    let pulled = put(&cache, b"component", minutes(0));
    cache.point(&reference("1"), &pulled).unwrap();
    let (pointer, manifest) = (cache.pointer(&reference("1")), cache.manifest_path(&pulled.manifest));
    let other = put(&cache, b"other", minutes(0));
    for (path, damaged) in [
        (&pulled.path, b"".to_vec()),
        (&pulled.path, b"component!".to_vec()),
        (&manifest, b"".to_vec()),
        (&manifest, b"{}".to_vec()),
        (&pointer, b"".to_vec()),
        (&pointer, vec![b' '; POINTER as usize + 1]),
        (&pointer, serde_json::to_vec(&Pointer { reference: String::new(), ..pointer_to(&pulled) }).unwrap()),
        (&pointer, serde_json::to_vec(&Pointer { component: other.component, ..pointer_to(&pulled) }).unwrap()),
    ] {
        let good = fs::read(path).unwrap();
        fs::write(path, &damaged).unwrap();
        assert_eq!(cache.read(&reference("1")).unwrap(), None, "{} is {damaged:?}", path.display());
        fs::write(path, good).unwrap();
        assert!(cache.read(&reference("1")).unwrap().is_some());
    }
    fs::write(&pulled.path, b"Component").unwrap();
    assert!(!cache.has_component(&pulled.component, 9) && !pulled.path.exists());
    assert!(cache.has_component(&other.component, 5));
    // To read all of it would take an hour.
    File::create(&pulled.path).unwrap().set_len(1 << 40).unwrap();
    assert!(!cache.has_component(&pulled.component, 9) && !pulled.path.exists());
    fs::remove_file(&pointer).unwrap();
    fs::create_dir(&pointer).unwrap();
    assert_eq!(cache.read(&reference("1")).unwrap(), None);
}

#[test]
fn nobody_else_writes_to_the_cache_and_links_are_not_followed() {
    let (folder, cache) = cache(1 << 20);
    let pulled = put(&cache, b"component", minutes(0));
    cache.point(&reference("1"), &pulled).unwrap();
    let (pointer, references) = (cache.pointer(&reference("1")), cache.folder.join(REFERENCES));
    let mode = || fs::metadata(&references).unwrap().mode() & 0o777;
    assert_eq!(mode(), 0o700);
    fs::set_permissions(&references, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(cache.read(&reference("1")).unwrap().is_some());
    assert_eq!(mode(), 0o700);
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&pointer, &elsewhere).unwrap();
    symlink(&elsewhere, &pointer).unwrap();
    assert_eq!(cache.read(&reference("1")).unwrap(), None);
    fs::remove_file(&pointer).unwrap();
    fs::rename(&elsewhere, &pointer).unwrap();
    assert!(cache.read(&reference("1")).unwrap().is_some());
    fs::rename(&references, &elsewhere).unwrap();
    symlink(&elsewhere, &references).unwrap();
    assert_eq!(cache.read(&reference("1")).unwrap(), None);
    assert!(Cache::open(&cache.folder, 1).is_err() && cache.point(&reference("1"), &pulled).is_err());
}

fn pointer_to(pulled: &Pulled) -> Pointer {
    Pointer { reference: reference("1").to_string(), manifest: pulled.manifest, component: pulled.component }
}

#[test]
fn a_pinned_reference_means_its_digest_only() {
    let (_folder, cache) = cache(1 << 20);
    let (pulled, other) = (put(&cache, b"component", minutes(0)), put(&cache, b"other", minutes(0)));
    let pinned = reference("1").with_digest(pulled.manifest);
    cache.point(&pinned, &other).unwrap();
    assert_eq!(cache.read(&pinned).unwrap(), None);
    cache.point(&pinned, &pulled).unwrap();
    assert_eq!(cache.read(&pinned).unwrap(), Some(pulled));
}

#[test]
fn the_component_that_was_not_used_for_the_longest_time_is_removed_first() {
    let (_folder, cache) = cache(1 << 20);
    let bytes = |first: u8| vec![first; 600];
    let old = put(&cache, &bytes(1), days(30));
    let mounted = put(&cache, &bytes(2), days(40));
    let used = put(&cache, &bytes(3), days(50));
    let new = put(&cache, &bytes(4), minutes(1));
    for (tag, pulled) in [("old", &old), ("used", &used), ("new", &new)] {
        cache.point(&reference(tag), pulled).unwrap();
    }
    assert!(cache.read(&reference("used")).unwrap().is_some());
    assert_eq!(cache.clean(&[]).unwrap(), Cleaned::default());
    let full = Cache { max_bytes: total(&cache) - 1, ..cache.clone() };
    assert_eq!(full.clean(&[mounted.manifest]).unwrap(), Cleaned { components: 1, bytes: 600 });
    assert!(!old.path.exists() && mounted.path.exists() && used.path.exists() && new.path.exists());
    assert_eq!(cache.read(&reference("old")).unwrap(), None);
    assert!(!cache.pointer(&reference("old")).exists() && cache.manifest(&old.manifest).is_none());
    assert!(cache.read(&reference("used")).unwrap().is_some());
    assert!(cache.manifest(&mounted.manifest).is_some());
}

#[test]
fn what_references_of_other_processes_mean_stays_for_a_week_and_what_was_rejected_makes_room() {
    let (_folder, cache) = cache(2_000);
    let bytes = |first: u8| vec![first; 600];
    let (forgotten, other) = (put(&cache, &bytes(1), days(8)), put(&cache, &bytes(2), days(6)));
    cache.point(&reference("forgotten"), &forgotten).unwrap();
    cache.point(&reference("other"), &other).unwrap();
    let rejected = put(&cache, &bytes(3), minutes(1));
    let full = Cache { max_bytes: total(&cache), ..cache };
    assert_eq!(full.make_room(0, &[]).unwrap(), Cleaned::default());
    assert_eq!(full.make_room(700, &[]).unwrap().components, 2);
    assert!(!forgotten.path.exists() && !rejected.path.exists() && other.path.exists());
    assert!(full.make_room(700, &[]).is_ok_and(|cleaned| cleaned.components == 0));
    assert!(matches!(full.make_room(full.max_bytes + 1, &[]), Err(Error::Full { .. })));
}

#[test]
fn cleaning_removes_only_what_has_names_of_the_cache_and_is_old() {
    let (folder, cache) = cache(1 << 20);
    let temporary = cache.make(temporary::FOLDER).unwrap();
    let hex = Digest::of(b"").hex();
    let of_others = [temporary.join("notes.txt"), temporary.join(&hex), cache.folder.join(REFERENCES).join("notes.json")];
    let ours = [temporary.join(&hex[..16]), cache.folder.join(REFERENCES).join(format!("{hex}.json"))];
    for path in of_others.iter().chain(&ours) {
        fs::write(path, "").unwrap();
    }
    cache.clean(&[]).unwrap();
    assert!(ours.iter().all(|path| path.exists()));
    for path in of_others.iter().chain(&ours) {
        age(path, minutes(61));
    }
    cache.clean(&[]).unwrap();
    assert!(of_others.iter().all(|path| path.exists()) && !ours.iter().any(|path| path.exists()));
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&temporary, &elsewhere).unwrap();
    symlink(&elsewhere, &temporary).unwrap();
    let file = elsewhere.join(&hex[..16]);
    fs::write(&file, "").unwrap();
    age(&file, minutes(61));
    assert!(cache.clean(&[]).is_err() && file.exists());
}

/// A signature of `size` bytes.
fn signature(kind: SignatureKind, letter: char, size: usize) -> FoundSignature {
    FoundSignature {
        kind,
        digest: Digest::of(letter.to_string().as_bytes()),
        media_type: String::new(),
        artifact_type: None,
        bytes: letter.to_string().repeat(size).into_bytes(),
        annotations: BTreeMap::new(),
    }
}

#[test]
fn accepted_signatures_are_kept_together_bounded_and_as_long_as_their_manifest() {
    use SignatureKind::{Bundle, Simple};
    let (_folder, cache) = cache(1 << 20);
    let pulled = put(&cache, b"component", days(1));
    let manifest = &pulled.manifest;
    assert!(cache.kept_signatures(manifest).is_empty());
    let (first, second) = (signature(Bundle, 'a', 9), signature(Simple, 'b', 9));
    // The same payload, signed by another key.
    let annotations = BTreeMap::from([("signature".to_owned(), "other".to_owned())]);
    let third = FoundSignature { annotations, ..second.clone() };
    cache.keep_signatures(manifest, slice::from_ref(&first)).unwrap();
    cache.keep_signatures(manifest, &[second.clone(), third.clone(), second.clone()]).unwrap();
    cache.keep_signatures(manifest, &[]).unwrap();
    cache.keep_signatures(manifest, slice::from_ref(&first)).unwrap();
    assert_eq!(cache.kept_signatures(manifest), [second, third, first]);
    // Quotes take two bytes each in the file.
    for letter in ['c', '"', 'd', 'e', 'f'] {
        cache.keep_signatures(manifest, &[signature(Bundle, letter, 1_000_000)]).unwrap();
        let kept = cache.kept_signatures(manifest);
        assert_eq!(kept[0].bytes[0], letter as u8, "the newest is kept");
        let bytes = fs::metadata(cache.signatures_path(manifest)).unwrap().len();
        assert!(bytes <= bounds::SIGNATURES, "{bytes}");
    }
    let early = Digest::of(b"not pulled yet");
    cache.keep_signatures(&early, &[signature(Bundle, 'a', 1)]).unwrap();
    cache.clean(&[]).unwrap();
    assert!(!cache.kept_signatures(manifest).is_empty() && !cache.kept_signatures(&early).is_empty());
    age(&cache.signatures_path(&early), minutes(61));
    Cache { max_bytes: 0, ..cache.clone() }.clean(&[]).unwrap();
    assert!(cache.kept_signatures(manifest).is_empty() && cache.kept_signatures(&early).is_empty());
}

#[test]
fn what_is_mounted_stays_even_if_it_is_too_much() {
    let (_folder, cache) = cache(10);
    let (by_manifest, by_component) = (put(&cache, b"a long component", minutes(9)), put(&cache, b"another", minutes(9)));
    let cleaned = cache.clean(&[by_manifest.manifest, by_component.component]).unwrap();
    assert_eq!(cleaned, Cleaned::default());
    assert!(by_manifest.path.exists() && by_component.path.exists());
    assert_eq!(cache.clean(&[]).unwrap().components, 2);
    assert!(matches!(cache.check_size(11), Err(Error::Full { .. })));
    cache.check_size(10).unwrap();
}

#[test]
fn what_dead_pulls_left_behind_is_removed_and_what_is_being_written_is_not() {
    let (_folder, cache) = cache(1 << 20);
    let (dead, active) = (cache.temporary().unwrap(), cache.temporary().unwrap());
    age(dead.path(), minutes(61));
    let lonely = Digest::of(b"no manifest");
    let path = cache.manifest_path(&lonely);
    fs::write(&path, b"no manifest").unwrap();
    cache.clean(&[]).unwrap();
    assert!(!dead.path().exists() && active.path().exists() && path.exists());
    age(&path, minutes(61));
    cache.clean(&[]).unwrap();
    assert!(!path.exists());
    let path = active.path().to_owned();
    drop(active);
    assert!(!path.exists(), "a pull that fails removes its file");
}

#[test]
fn a_deleted_cache_is_empty_and_is_made_again() {
    let (folder, cache) = cache(1 << 20);
    let pulled = put(&cache, b"component", minutes(0));
    cache.point(&reference("1"), &pulled).unwrap();
    let temporary = cache.temporary().unwrap();
    fs::remove_dir_all(folder.path().join("plugins")).unwrap();
    assert_eq!(cache.read(&reference("1")).unwrap(), None);
    assert_eq!(cache.clean(&[]).unwrap(), Cleaned::default());
    let error = temporary.rename(&pulled.path).unwrap_err();
    assert!(error.is_of_a_deleted_cache(), "{error}");
    cache.point(&reference("1"), &pulled).unwrap();
    assert_eq!(cache.read(&reference("1")).unwrap(), None);
}

#[test]
fn a_file_in_place_of_a_folder_is_an_error_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plugins"), "").unwrap();
    let error = Cache::open(&folder.path().join("plugins"), 1).unwrap_err();
    assert!(error.to_string().contains("cannot be created") && !error.remedy().is_empty(), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn cleaning_bounds_the_cache_and_removes_no_more_than_it_needs(
        sizes in proptest::collection::vec(1_usize..2_000, 1..6),
        max_bytes in 0_u64..8_000,
    ) {
        let (_folder, cache) = cache(max_bytes);
        let put = |(at, size): (usize, &usize)| put(&cache, &vec![at as u8; *size], minutes(at as u64 + 1));
        let pulled: Vec<Pulled> = sizes.iter().enumerate().map(put).collect();
        let before = total(&cache);
        cache.clean(&[]).unwrap();
        prop_assert!(total(&cache) <= max_bytes);
        prop_assert!(before > max_bytes || pulled.iter().all(|pulled| pulled.path.exists()));
        // A component is gone only if all older ones are.
        let exists: Vec<bool> = pulled.iter().map(|pulled| pulled.path.exists()).collect();
        prop_assert!(exists.is_sorted_by(|newer, older| newer >= older), "{exists:?}");
    }
}
