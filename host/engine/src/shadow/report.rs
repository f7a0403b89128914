//! The report about a shadow.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::redaction::redacted;
use super::runner::Shadow;
use crate::difference::{Change, Difference, NOT_SHOWN};
use crate::program::Program;

/// The comparison of a shadow with its mount's plugin.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    pub(super) mount: String,
    pub(super) plugin: Version,
    pub(super) shadow: Version,
    pub(super) since: Timestamp,
    pub(super) compared: usize,
    pub(super) waiting: usize,
    pub(super) quarantine: Option<String>,
    #[serde(flatten)]
    /// The differences between the shadow and the mount's plugin.
    pub difference: Difference,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) version: String,
    pub(super) digest: String,
    /// The digest of its manifest in a registry.
    #[serde(default)]
    pub(super) artifact: Option<String>,
}

impl Version {
    pub(super) fn of(program: &Program) -> Self {
        Self {
            version: program.manifest().version.clone(),
            digest: program.plugin.digest().to_string(),
            artifact: program.artifact_digest().map(str::to_owned),
        }
    }
}

impl Report {
    pub(crate) fn of(mount: &str, shadow: &Shadow) -> Self {
        let Shadow { mounted, program, active, since, .. } = shadow;
        let parents = mounted.parents.list(None).iter().filter(|parent| mounted.is_callable(parent)).count();
        let comparisons = shadow.comparisons();
        let moment = comparisons.moment();
        let (counts, late, differing) = (comparisons.counts().clone(), comparisons.late(), comparisons.differing());
        let details: Vec<String> = comparisons.details().map(str::to_owned).collect();
        drop(comparisons);
        let kept = details.len();
        let (changes, is_redacted) = changes(&details, shadow);
        let quarantine = active.get().and_then(|active| active.call_guard.quarantined());
        let mut remarks = Vec::new();
        if active.get().is_none() {
            remarks.push("the caches of the shadow have not synced yet".to_owned());
        }
        if moment.compared < parents {
            remarks.push(format!("{} of {parents} parents have been compared", moment.compared));
        } else if moment.waiting > 0 {
            remarks.push(format!("{} parents wait to be compared again", moment.waiting));
        }
        if let Some(held) = &quarantine {
            remarks.push(format!("the shadow is quarantined, because its calls keep ending in {}", held.reason));
        }
        if late > 0 {
            let deadline = program.policy.limits.deadline;
            remarks.push(format!(
                "for {late} parents, the shadow exceeded its deadline of {deadline:?}, at which the host stops the call of a mount"
            ));
        }
        if !is_redacted {
            remarks.push(NOT_SHOWN.to_owned());
        } else if kept < differing {
            remarks.push(format!("only the changes of {kept} parents are kept"));
        }
        Self {
            mount: mount.to_owned(),
            plugin: Version::of(&mounted.program),
            shadow: Version::of(program),
            since: *since,
            compared: moment.compared,
            waiting: moment.waiting,
            quarantine: quarantine.map(|held| held.reason.to_owned()),
            difference: Difference { parents, changing: moment.diverging, counts, remarks, changes },
        }
    }

    /// Returns whether all parents were compared.
    pub fn is_complete(&self) -> bool {
        self.compared >= self.difference.parents && self.waiting == 0
    }

    /// Returns the report as JSON, for programs.
    pub fn json(&self) -> Value {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = json.as_object_mut() {
            fields.insert("summary".to_owned(), Value::from(self.difference.summary()));
        }
        json
    }
}

impl Shadow {
    pub(crate) fn state(&self) -> Value {
        let moment = self.comparisons().moment();
        let Version { version, digest, artifact } = Version::of(&self.program);
        json!({
            "version": version,
            "digest": digest,
            "artifact": artifact,
            "isReady": self.active.get().is_some(),
            "compared": moment.compared,
            "waiting": moment.waiting,
            "diverging": moment.diverging,
        })
    }
}

fn changes(details: &[String], shadow: &Shadow) -> (Vec<Change>, bool) {
    let changes: Vec<Change> =
        details.iter().flat_map(|details| serde_json::from_str::<Vec<Change>>(details).unwrap_or_default()).collect();
    let programs: Vec<_> = [Some(&shadow.mounted), shadow.active.get()].into_iter().flatten().collect();
    let secrets: Vec<_> = programs.iter().map(|active| active.secrets()).collect();
    redacted(changes, programs.iter().zip(&secrets).map(|(active, secrets)| (&*active.program, &**secrets)))
}
