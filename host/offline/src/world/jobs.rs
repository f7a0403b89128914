//! Finishes Jobs by ending their Pods; then the cluster's Job controller finishes the Job.

use std::time::Duration;

use anyhow::bail;
use gyre_core::object::GroupVersionKind;
use serde_json::Value;

use crate::plan::Subject;
use crate::simulation::Subresource;
use crate::world::{Reference, World};

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The Job controller waits at most six minutes between tries, and tries six times by default.
const MOST_POLLS: u32 = 3600;
const JOB_NAME: &str = "/metadata/labels/batch.kubernetes.io~1job-name";

/// How the Pods of a Job end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// They succeed.
    Succeeds,
    /// They fail.
    Fails,
}

impl World {
    /// Lets the Pods of a Job end until the Job has ended. If they fail, that takes simulated time,
    /// because the Job controller waits longer before each.
    ///
    /// # Errors
    /// If the Job does not exist, has no Pods (e.g. because it is suspended), or ends differently.
    pub fn end_job(&mut self, job: &Reference, end: JobEnd) -> anyhow::Result<()> {
        let subject = self.subject(job)?;
        for _ in 0..MOST_POLLS {
            let job = self.get(&Reference::from(&subject))?;
            match (end_of(&job), end) {
                (Some("Complete"), JobEnd::Succeeds) | (Some("Failed"), JobEnd::Fails) => return Ok(()),
                (Some(other), _) => bail!("{subject} has ended already: {other}"),
                (None, _) => self.end_pods(&job, end)?,
            }
            self.advance(POLL_INTERVAL)?;
        }
        bail!("{subject} does not end: is it suspended, or does it take very many Pods?")
    }

    fn end_pods(&mut self, job: &Value, end: JobEnd) -> anyhow::Result<()> {
        let Subject { namespace, name, .. } = Subject::of(job);
        let pods = GroupVersionKind::new("", "v1", "Pod");
        for mut pod in self.runtime.block_on(self.simulation.list(&pods, Default::default()))? {
            let is_of_job = Subject::of(&pod).namespace == namespace && pod.pointer(JOB_NAME).is_some_and(|of| *of == *name);
            let runs = pod.pointer("/status/phase").is_some_and(|phase| phase == "Running");
            if !is_of_job || !runs {
                continue;
            }
            if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
                let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Default::default()));
                if let Some(annotations) = annotations.as_object_mut() {
                    // devcluster's kubelet reads these annotations.
                    annotations.insert("devcluster.gyre.dev/run-for".to_owned(), Value::from("0s"));
                    annotations.insert("devcluster.gyre.dev/fail".to_owned(), Value::from((end == JobEnd::Fails).to_string()));
                }
            }
            self.runtime.block_on(self.simulation.replace(Subresource::None, &pod))?;
        }
        Ok(())
    }
}

/// Returns the condition that ends a Job, or `None` while it runs.
fn end_of(job: &Value) -> Option<&str> {
    let conditions = job.pointer("/status/conditions").and_then(Value::as_array)?;
    let true_ones = conditions.iter().filter(|condition| condition.get("status").is_some_and(|status| status == "True"));
    let mut kinds = true_ones.filter_map(|condition| condition.get("type")?.as_str());
    kinds.find(|kind| matches!(*kind, "Complete" | "Failed"))
}
