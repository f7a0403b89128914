//! Plugins that `gyre dev` builds from their source, again after each change.
//!
//! A copy of the component is mounted, and replaced at once when a build has succeeded. So the last
//! good plugin stays mounted, whatever a compiler does with its own files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context as _;

use crate::commands::build::{self, Built};
use crate::plugins::files::replace;
use crate::plugins::read_file;
use crate::plugins::source::PluginSource;

/// The interval at which sources are polled, as that of plugin files.
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// Folders of compilers and package managers, which are large, and change with each build.
const GENERATED: [&str; 3] = ["target", "node_modules", "__pycache__"];
/// The most folders within each other. A link may lead to a folder that contains it.
const DEEPEST: u32 = 32;

/// The projects among the plugins.
#[derive(Debug, Default)]
pub(super) struct Projects(Vec<Project>);

#[derive(Debug)]
struct Project {
    directory: PathBuf,
    mounted: PathBuf,
    /// The folders and files from which the last good build was made.
    sources: Vec<PathBuf>,
    /// Their state before the last build.
    seen: Snapshot,
}

/// The length and time of each file.
type Snapshot = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

/// Whether a build differs from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    New,
    Same,
}

impl Projects {
    /// Builds the folders among these plugins, and replaces each by the file to mount.
    pub(super) fn build(plugins: &mut [PluginSource]) -> anyhow::Result<Self> {
        let mut projects = Vec::new();
        for plugin in plugins {
            if let Some(directory) = plugin.path().filter(|path| path.is_dir()) {
                let project = Project::new(directory)?;
                *plugin = project.mounted.clone().into();
                projects.push(project);
            }
        }
        Ok(Self(projects))
    }

    /// Builds what has changed. Never ends. Keeps what is mounted if a build fails.
    pub(super) async fn build_on_changes(mut self, say: impl Fn(&str)) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            for project in &mut self.0 {
                let now = snapshot(&project.sources);
                if now == project.seen {
                    continue;
                }
                project.seen = now;
                say(&format!("the source in {} has changed: building it", project.directory.display()));
                let directory = project.directory.clone();
                let began = Instant::now();
                // A panic of the build is its failure.
                let built = tokio::task::spawn_blocking(move || build::build(&directory, &[])).await;
                let built = built.context("the build panicked").flatten();
                match built.and_then(|built| project.take(built)) {
                    Ok(Taken::New) => say(&format!("built in {:.1} s: compiling it", began.elapsed().as_secs_f64())),
                    Ok(Taken::Same) => say("built to the same plugin as before"),
                    Err(error) => say(&format!("not built, the previous plugin stays mounted: {error:#}")),
                }
            }
        }
    }
}

impl Project {
    fn new(directory: &Path) -> anyhow::Result<Self> {
        // Files that change during the first build are seen as changed after it.
        let started = SystemTime::now();
        let built = build::build(directory, &[])?;
        let mut seen = snapshot(&built.sources);
        seen.retain(|_, (_, modified)| modified.is_none_or(|modified| modified <= started));
        let mounted = built.component.with_extension("dev.wasm");
        let mut project = Self { directory: directory.to_owned(), mounted, sources: Vec::new(), seen };
        project.take(built)?;
        Ok(project)
    }

    fn take(&mut self, Built { component, sources }: Built) -> anyhow::Result<Taken> {
        let component = read_file(&component)?;
        let bytes = component.bytes()?;
        self.sources = sources;
        if fs::read(&self.mounted).is_ok_and(|mounted| *mounted == *bytes) {
            return Ok(Taken::Same);
        }
        replace(&self.mounted, &bytes).with_context(|| format!("cannot write {}", self.mounted.display()))?;
        Ok(Taken::New)
    }
}

fn snapshot(sources: &[PathBuf]) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for source in sources {
        add(source, DEEPEST, &mut snapshot);
    }
    snapshot
}

/// Adds a file, or the files in a folder. What cannot be read is absent.
fn add(path: &Path, depth: u32, snapshot: &mut Snapshot) {
    let Ok(metadata) = fs::metadata(path) else { return };
    if !metadata.is_dir() {
        snapshot.insert(path.to_owned(), (metadata.len(), metadata.modified().ok()));
        return;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    for entry in entries.filter(|entry| depth > 0 && is_source(entry)) {
        add(&entry, depth.saturating_sub(1), snapshot);
    }
}

fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // `gyre build` writes plugins into the folder.
    !name.starts_with('.') && !GENERATED.contains(&&*name) && !name.contains(".wasm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_sources_are_seen_and_those_of_results_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            snapshot(&[folder.path().to_owned()])
        };
        let first = write("src/lib.rs", "1");
        for result in ["target/debug/it", ".git/HEAD", "it.wasm", "it.wasm.17", "node_modules/it/index.js"] {
            assert_eq!(write(result, "1"), first, "{result}");
        }
        let changed = write("src/lib.rs", "22");
        assert_ne!(changed, first);
        let added = write("src/new.rs", "1");
        assert_ne!(added, changed);
        fs::remove_file(folder.path().join("src/new.rs")).unwrap();
        assert_eq!(snapshot(&[folder.path().to_owned()]), changed);
        std::os::unix::fs::symlink(folder.path(), folder.path().join("src/itself")).unwrap();
        assert!(snapshot(&[folder.path().to_owned()]).len() <= 1 + DEEPEST as usize);
    }
}
