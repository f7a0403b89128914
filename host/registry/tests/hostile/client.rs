//! Clients, caches and progress for tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gyre_registry::{Cache, Environment, Error, Progress, Pulled, Registries, Settings, Silent};
use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;

use super::server::Registry;

/// The least time of a stalled request: enough for a busy machine to answer the others.
pub(crate) const SHORT: Duration = Duration::from_millis(400);

/// Settings for these registries over plain HTTP, independent of the environment. A second takes
/// 10 ms.
pub(crate) fn settings(hosts: &[&str]) -> Settings {
    Settings {
        insecure: hosts.iter().map(|host| (*host).to_owned()).collect::<BTreeSet<_>>(),
        environment: Environment::default(),
        second: Duration::from_millis(10),
        ..Settings::default()
    }
}

pub(crate) fn client(registry: &Registry) -> Registries {
    Registries::new(settings(&[&registry.host()])).unwrap()
}

/// A client that waits only a short time.
pub(crate) fn hasty_client(registry: &Registry) -> Registries {
    Registries::new(Settings { timeout: SHORT, ..settings(&[&registry.host()]) }).unwrap()
}

/// A folder with files of credentials and a cache.
pub(crate) struct Folder {
    folder: TempDir,
    /// The number of files of credentials.
    files: AtomicUsize,
    pub(crate) cache: Cache,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("cache"), 1 << 30).unwrap();
        Self { folder, files: AtomicUsize::new(0), cache }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file of credentials of its own.
    pub(crate) fn credentials(&self, content: &Value) -> PathBuf {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(format!("credentials-{number}.json"));
        std::fs::write(&path, content.to_string()).unwrap();
        path
    }

    /// Writes docker's own file.
    pub(crate) fn docker_config(&self, content: &Value) {
        std::fs::write(self.folder.path().join("config.json"), content.to_string()).unwrap();
    }

    /// The files of the cache, relative to it.
    pub(crate) fn files(&self) -> Vec<String> {
        let root = self.folder.path().join("cache");
        let mut found = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path.strip_prefix(&root).unwrap().display().to_string());
                }
            }
        }
        found.sort();
        found
    }

    /// Pulls by a tag, without progress.
    pub(crate) async fn pull(&self, client: &Registries, registry: &Registry, tag: &str) -> Result<Pulled, Error> {
        client.pull(&registry.reference(tag), &self.cache, &Silent).await
    }
}

/// Records the progress of transfers: each with its total and what it reported.
#[derive(Default)]
pub(crate) struct Recorder {
    transfers: Mutex<Vec<(u64, Vec<u64>)>>,
}

impl Recorder {
    pub(crate) fn transfers(&self) -> Vec<(u64, Vec<u64>)> {
        self.transfers.lock().clone()
    }
}

impl Progress for Recorder {
    fn begin(&self, total: u64) {
        self.transfers.lock().push((total, Vec::new()));
    }

    fn advance(&self, done: u64) {
        self.transfers.lock().last_mut().unwrap().1.push(done);
    }
}

/// Expects an error with this text, and a remedy.
pub(crate) fn expect<T>(result: Result<T, Error>, expected: &str) -> Error {
    let Err(error) = result else { panic!("no error with {expected:?}") };
    let chain = gyre_core::text::error_chain(&error);
    assert!(chain.contains(expected), "{chain:?} does not contain {expected:?}");
    assert!(!error.remedy().is_empty());
    error
}
