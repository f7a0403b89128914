//! Counts how often hosts created and deleted each object, whether or not they got the answer.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use gyre_devcluster::audit::Log;
use parking_lot::Mutex;
use serde_json::Value;

/// The creations and deletions of one object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of creations.
    pub created: u32,
    /// The number of deletions.
    pub deleted: u32,
}

/// Counts by the audit log of the cluster. Clones share the counts.
#[derive(Clone, Default)]
pub struct Census(Arc<Mutex<Vec<u8>>>);

impl Census {
    /// Returns the audit log to count in.
    pub fn log(&self) -> Arc<Log> {
        Arc::new(Log::new(self.clone()))
    }

    /// Returns the counts by resource, namespace and name. Events may be lost, and do not count.
    pub fn counts(&self) -> BTreeMap<String, Count> {
        let lines = self.0.lock();
        let mut counts: BTreeMap<String, Count> = BTreeMap::new();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let event: Value = serde_json::from_slice(line).expect("an audit event");
            let (verb, code) = (event["verb"].as_str().unwrap_or_default(), &event["responseStatus"]["code"]);
            let object = &event["objectRef"];
            let text = |field: &str| object[field].as_str().unwrap_or_default();
            let is_created = matches!(verb, "patch" | "create") && *code == 201;
            let is_deleted = verb == "delete" && (*code == 200 || *code == 202);
            let is_dry_run = event["requestURI"].as_str().is_some_and(|uri| uri.contains("dryRun="));
            if text("resource") == "events" || is_dry_run || !(is_created || is_deleted) {
                continue;
            }
            let count = counts.entry(format!("{} {}/{}", text("resource"), text("namespace"), text("name"))).or_default();
            count.created += u32::from(is_created);
            count.deleted += u32::from(is_deleted);
        }
        counts
    }
}

impl Write for Census {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Reads do not matter, and there are many.
        let event = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        let is_write = ["patch", "create", "delete"].iter().any(|verb| event.contains(&format!("\"verb\":\"{verb}\"")));
        if is_write {
            self.0.lock().extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
