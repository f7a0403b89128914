//! Noticing that plugin files have changed.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// How often the files are looked at: soon enough for a person who has just compiled one. Looking works on any file system, which
/// notifications do not.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Files, and how they were when last looked at.
pub(super) struct Watch {
    files: Vec<(PathBuf, Option<Seen>)>,
}

type Seen = (SystemTime, u64);

impl Watch {
    pub(super) fn new(files: &[PathBuf]) -> Self {
        Self { files: files.iter().map(|path| (path.clone(), look(path))).collect() }
    }

    /// Waits until a file has changed, and has then stayed as it is for one look: a compiler may still be writing it.
    pub(super) async fn changed(&mut self) {
        let mut is_changed = false;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let mut is_moving = false;
            for (path, seen) in &mut self.files {
                let now = look(path);
                if now.is_some() && now != *seen {
                    *seen = now;
                    is_moving = true;
                }
            }
            if is_changed && !is_moving {
                return;
            }
            is_changed |= is_moving;
        }
    }
}

fn look(path: &PathBuf) -> Option<Seen> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
