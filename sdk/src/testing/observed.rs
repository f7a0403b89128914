//! Children in the states in which a plugin finds them, for
//! [`Given::with_child`](super::Given::with_child).

use crate::k8s::{Job, JobCondition, JobStatus, Pod, PodCondition, PodPhase};

impl Job {
    /// Returns the Job after its pods have succeeded.
    pub fn complete(self) -> Self {
        self.ended("Complete", |status| status.with_succeeded(1))
    }

    /// Returns the Job after it has failed.
    pub fn failed(self) -> Self {
        self.ended("Failed", |status| status.with_failed(1))
    }

    fn ended(self, condition: &str, counted: impl FnOnce(JobStatus) -> JobStatus) -> Self {
        let status = self.status().to_owned();
        let condition = JobCondition::new().with_type(condition).with_status("True");
        self.with_status(counted(status).with_conditions([condition]))
    }
}

impl Pod {
    /// Returns the pod while it can serve requests.
    pub fn ready(self) -> Self {
        let status = self.status().to_owned().with_phase(PodPhase::Running);
        self.with_status(status.with_conditions([PodCondition::new().with_type("Ready").with_status("True")]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_the_state_that_plugins_read() {
        let job = || Job::new("it").with_backoff_limit(2);
        let states = [job(), job().complete(), job().failed()].map(|job| (job.is_complete(), job.is_failed()));
        assert_eq!(states, [(false, false), (true, false), (false, true)]);
        assert_eq!(job().failed().spec().backoff_limit(), Some(2));
        assert!(Pod::new("it").ready().is_ready());
    }
}
