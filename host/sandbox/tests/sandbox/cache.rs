//! Compiled code is reused, and trusted only if nobody else can write to it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use gyre_sandbox::{CodeSource, Digest, Options, Sandbox, load};
use tempfile::TempDir;

use crate::probe::MIRROR;
use crate::stage::{limits, reconcile};

fn source(directory: &Path) -> CodeSource {
    source_with(Options { cache_dir: Some(directory.to_owned()), ..Options::default() })
}

fn source_with(options: Options) -> CodeSource {
    let sandbox = Sandbox::new(options).unwrap();
    let plugin = sandbox.load(&MIRROR.component()).unwrap();
    assert!(reconcile(&plugin, &limits()).result.is_ok());
    plugin.compile().source
}

fn file(directory: &Path, extension: &str) -> PathBuf {
    let mut entries = fs::read_dir(directory.join("compiled")).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.extension().is_some_and(|found| found == extension)).unwrap()
}

/// Disturbs a filled cache: the code must be compiled again, and then come from `after`.
fn check(disturb: impl FnOnce(&Path), after: CodeSource) {
    let directory = TempDir::new().unwrap();
    assert_eq!(source(directory.path()), CodeSource::Compiled);
    assert_eq!(source(directory.path()), CodeSource::Cache);
    disturb(directory.path());
    assert_eq!(source(directory.path()), CodeSource::Compiled);
    assert_eq!(source(directory.path()), after);
}

#[test]
fn only_we_may_read_what_is_stored() {
    let directory = TempDir::new().unwrap();
    // Like an `emptyDir` of the kubelet.
    fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    let cache = directory.path().join("not/there/yet");
    assert_eq!(source(&cache), CodeSource::Compiled);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&cache.join("compiled")), 0o700);
    assert_eq!((mode(&file(&cache, "cwasm")), mode(&file(&cache, "sha256"))), (0o600, 0o600));
    assert_eq!(source(&cache), CodeSource::Cache);
    assert_eq!(fs::read_dir(cache.join("compiled")).unwrap().count(), 2);
}

#[test]
fn the_bytes_of_a_component_are_not_needed_once_it_is_compiled() {
    let directory = TempDir::new().unwrap();
    let sandbox = Sandbox::new(Options { cache_dir: Some(directory.path().to_owned()), ..Options::default() }).unwrap();
    let component = MIRROR.component();
    let digest = Digest::of(&component);
    let absent = || Err::<Vec<u8>, _>(load::Error::Empty);
    assert!(!sandbox.is_compiled(&digest) && sandbox.load_lazily(&digest, absent).is_err());
    sandbox.load(&component).unwrap();
    let plugins = sandbox.load_lazily(&digest, absent).unwrap();
    assert_eq!(plugins.select(None).unwrap().compile().source, CodeSource::Cache);
}

#[test]
fn code_that_was_altered_is_not_loaded() {
    check(
        |directory| {
            let path = file(directory, "cwasm");
            let mut code = fs::read(&path).unwrap();
            let middle = code.len() / 2;
            code[middle] ^= 1;
            fs::write(path, code).unwrap();
        },
        CodeSource::Cache,
    );
}

#[test]
fn code_that_was_cut_short_is_not_loaded() {
    check(
        |directory| {
            let path = file(directory, "cwasm");
            let code = fs::read(&path).unwrap();
            fs::write(path, &code[..code.len() / 2]).unwrap();
        },
        CodeSource::Cache,
    );
}

#[test]
fn code_without_its_checksum_is_not_loaded() {
    check(|directory| fs::remove_file(file(directory, "sha256")).unwrap(), CodeSource::Cache);
    check(|directory| fs::write(file(directory, "sha256"), "").unwrap(), CodeSource::Cache);
}

#[test]
fn code_that_others_may_write_to_is_not_loaded() {
    for extension in ["cwasm", "sha256"] {
        for mode in [0o620, 0o602] {
            check(
                |directory| fs::set_permissions(file(directory, extension), Permissions::from_mode(mode)).unwrap(),
                CodeSource::Cache,
            );
        }
    }
}

#[test]
fn a_directory_that_others_may_write_to_is_not_used() {
    check(
        |directory| fs::set_permissions(directory.join("compiled"), Permissions::from_mode(0o770)).unwrap(),
        CodeSource::Compiled,
    );
}

#[test]
fn a_link_is_not_followed() {
    check(
        |directory| {
            let path = file(directory, "cwasm");
            fs::rename(&path, directory.join("elsewhere")).unwrap();
            symlink(directory.join("elsewhere"), path).unwrap();
        },
        // Renaming replaced the link.
        CodeSource::Cache,
    );
}

/// With a matching checksum, as if an older gyre had stored it.
#[test]
fn code_of_another_engine_is_not_loaded() {
    check(
        |directory| {
            fs::write(file(directory, "cwasm"), "\x7fELF").unwrap();
            let sum = gyre_sandbox::Digest::of(b"\x7fELF").to_string();
            fs::write(file(directory, "sha256"), sum).unwrap();
        },
        CodeSource::Cache,
    );
}

#[test]
fn a_read_only_cache_is_used_and_not_written_to() {
    let (image, volume) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let options = |cache_dir: Option<&Path>| Options {
        cache_dir: cache_dir.map(Path::to_owned),
        compiled_dirs: vec![image.path().join("not there"), image.path().to_owned()],
        ..Options::default()
    };
    assert_eq!(source_with(options(None)), CodeSource::Compiled);
    assert_eq!(fs::read_dir(image.path()).unwrap().count(), 0);
    assert_eq!(source(image.path()), CodeSource::Compiled);
    assert_eq!(source_with(options(None)), CodeSource::Cache);
    assert_eq!(source_with(options(Some(volume.path()))), CodeSource::Cache);
    assert_eq!(fs::read_dir(volume.path()).unwrap().count(), 0, "it need not be kept twice");
    fs::set_permissions(file(image.path(), "cwasm"), Permissions::from_mode(0o602)).unwrap();
    assert_eq!(source_with(options(Some(volume.path()))), CodeSource::Compiled);
    assert_eq!(source_with(options(Some(volume.path()))), CodeSource::Cache);
    assert_eq!(fs::read_dir(volume.path().join("compiled")).unwrap().count(), 2);
}

#[test]
fn a_cache_that_cannot_be_used_costs_time_and_nothing_else() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(source(file.path()), CodeSource::Compiled);
}
