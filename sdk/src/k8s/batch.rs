//! Types of `batch`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

use super::*;

crate::kind! {
    /// CronJob represents the configuration of a single cron job.
    CronJob, CronJobView, "batch/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Specification of the desired behavior of a cron job, including the schedule.
        object(CronJobSpec, CronJobSpecView) spec, with_spec: "spec";
        /// Current status of a cron job.
        object(CronJobStatus, CronJobStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// Job represents the configuration of a single job.
    Job, JobView, "batch/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Specification of the desired behavior of a job.
        object(JobSpec, JobSpecView) spec, with_spec: "spec";
        /// Current status of a job.
        object(JobStatus, JobStatusView) status, with_status: "status";
    }
}

crate::object! {
    /// CronJobSpec describes how the job execution will look like and when it will actually run.
    CronJobSpec, CronJobSpecView {
        /// Specifies how to treat concurrent executions of a Job.
        choice(ConcurrencyPolicy) concurrency_policy, with_concurrency_policy: "concurrencyPolicy";
        /// The number of failed finished jobs to retain.
        int() failed_jobs_history_limit, with_failed_jobs_history_limit: "failedJobsHistoryLimit";
        /// Specifies the job that will be created when executing a CronJob.
        object(JobTemplateSpec, JobTemplateSpecView) job_template, with_job_template: "jobTemplate";
        /// The schedule in Cron format, see <https://en.wikipedia.org/wiki/Cron>.
        text() schedule, with_schedule: "schedule";
        /// Optional deadline in seconds for starting the job if it misses scheduled time for any
        /// reason.
        long() starting_deadline_seconds, with_starting_deadline_seconds: "startingDeadlineSeconds";
        /// The number of successful finished jobs to retain.
        int() successful_jobs_history_limit, with_successful_jobs_history_limit: "successfulJobsHistoryLimit";
        /// This flag tells the controller to suspend subsequent executions, it does not apply to
        /// already started executions.
        flag() suspend, with_suspend: "suspend";
        /// The time zone name for the given schedule, see
        /// <https://en.wikipedia.org/wiki/List_of_tz_database_time_zones>.
        text() time_zone, with_time_zone: "timeZone";
    }
}

crate::object! {
    /// CronJobStatus represents the current state of a cron job.
    CronJobStatus, CronJobStatusView {
        /// A list of pointers to currently running jobs.
        objects(ObjectReference, ObjectReferenceView) active, with_active: "active";
        /// Information when was the last time the job was successfully scheduled.
        time() last_schedule_time, with_last_schedule_time: "lastScheduleTime";
        /// Information when was the last time the job successfully completed.
        time() last_successful_time, with_last_successful_time: "lastSuccessfulTime";
    }
}

crate::object! {
    /// JobCondition describes current state of a job.
    JobCondition, JobConditionView {
        /// Last time the condition was checked.
        time() last_probe_time, with_last_probe_time: "lastProbeTime";
        /// Last time the condition transit from one status to another.
        time() last_transition_time, with_last_transition_time: "lastTransitionTime";
        /// Human readable message indicating details about last transition.
        text() message, with_message: "message";
        /// (brief) reason for the condition's last transition.
        text() reason, with_reason: "reason";
        /// Status of the condition, one of True, False, Unknown.
        text() status, with_status: "status";
        /// Type of job condition, Complete or Failed.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// JobSpec describes how the job execution will look like.
    JobSpec, JobSpecView {
        /// Specifies the duration in seconds relative to the startTime that the job may be
        /// continuously active before the system tries to terminate it; value must be positive
        /// integer.
        long() active_deadline_seconds, with_active_deadline_seconds: "activeDeadlineSeconds";
        /// Specifies the number of retries before marking this job failed.
        int() backoff_limit, with_backoff_limit: "backoffLimit";
        /// Specifies the limit for the number of retries within an index before marking this index
        /// as failed.
        int() backoff_limit_per_index, with_backoff_limit_per_index: "backoffLimitPerIndex";
        /// completionMode specifies how Pod completions are tracked.
        choice(CompletionMode) completion_mode, with_completion_mode: "completionMode";
        /// Specifies the desired number of successfully finished pods the job should be run with.
        int() completions, with_completions: "completions";
        /// ManagedBy field indicates the controller that manages a Job.
        text() managed_by, with_managed_by: "managedBy";
        /// manualSelector controls generation of pod labels and pod selectors.
        flag() manual_selector, with_manual_selector: "manualSelector";
        /// Specifies the maximal number of failed indexes before marking the Job as failed, when
        /// backoffLimitPerIndex is set.
        int() max_failed_indexes, with_max_failed_indexes: "maxFailedIndexes";
        /// Specifies the maximum desired number of pods the job should run at any given time.
        int() parallelism, with_parallelism: "parallelism";
        /// Specifies the policy of handling failed pods.
        object(PodFailurePolicy, PodFailurePolicyView) pod_failure_policy, with_pod_failure_policy: "podFailurePolicy";
        /// podReplacementPolicy specifies when to create replacement Pods.
        choice(PodReplacementPolicy) pod_replacement_policy, with_pod_replacement_policy: "podReplacementPolicy";
        /// A label query over pods that should match the pod count.
        object(LabelSelector, LabelSelectorView) selector, with_selector: "selector";
        /// successPolicy specifies the policy when the Job can be declared as succeeded.
        object(SuccessPolicy, SuccessPolicyView) success_policy, with_success_policy: "successPolicy";
        /// suspend specifies whether the Job controller should create Pods or not.
        flag() suspend, with_suspend: "suspend";
        /// Describes the pod that will be created when executing a job.
        object(PodTemplateSpec, PodTemplateSpecView) template, with_template: "template";
        /// ttlSecondsAfterFinished limits the lifetime of a Job that has finished execution (either
        /// Complete or Failed).
        int() ttl_seconds_after_finished, with_ttl_seconds_after_finished: "ttlSecondsAfterFinished";
    }
}

crate::object! {
    /// JobStatus represents the current state of a Job.
    JobStatus, JobStatusView {
        /// The number of pending and running pods which are not terminating (without a
        /// deletionTimestamp).
        int() active, with_active: "active";
        /// completedIndexes holds the completed indexes when .spec.completionMode = "Indexed" in a
        /// text format.
        text() completed_indexes, with_completed_indexes: "completedIndexes";
        /// Represents time when the job was completed.
        time() completion_time, with_completion_time: "completionTime";
        /// The latest available observations of an object's current state.
        objects(JobCondition, JobConditionView) conditions, with_conditions: "conditions";
        /// The number of pods which reached phase Failed.
        int() failed, with_failed: "failed";
        /// FailedIndexes holds the failed indexes when spec.backoffLimitPerIndex is set.
        text() failed_indexes, with_failed_indexes: "failedIndexes";
        /// The number of active pods which have a Ready condition and are not terminating (without
        /// a deletionTimestamp).
        int() ready, with_ready: "ready";
        /// Represents time when the job controller started processing a job.
        time() start_time, with_start_time: "startTime";
        /// The number of pods which reached phase Succeeded.
        int() succeeded, with_succeeded: "succeeded";
        /// The number of pods which are terminating (in phase Pending or Running and have a
        /// deletionTimestamp).
        int() terminating, with_terminating: "terminating";
        /// uncountedTerminatedPods holds the UIDs of Pods that have terminated but the job
        /// controller hasn't yet accounted for in the status counters.
        object(UncountedTerminatedPods, UncountedTerminatedPodsView) uncounted_terminated_pods, with_uncounted_terminated_pods: "uncountedTerminatedPods";
    }
}

crate::object! {
    /// JobTemplateSpec describes the data a Job should have when created from a template.
    JobTemplateSpec, JobTemplateSpecView {
        /// Standard object's metadata of the jobs created from this template.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Specification of the desired behavior of the job.
        object(JobSpec, JobSpecView) spec, with_spec: "spec";
    }
}

crate::object! {
    /// PodFailurePolicy describes how failed pods influence the backoffLimit.
    PodFailurePolicy, PodFailurePolicyView {
        /// A list of pod failure policy rules.
        objects(PodFailurePolicyRule, PodFailurePolicyRuleView) rules, with_rules: "rules";
    }
}

crate::object! {
    /// PodFailurePolicyOnExitCodesRequirement describes the requirement for handling a failed pod
    /// based on its container exit codes.
    PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyOnExitCodesRequirementView {
        /// Restricts the check for exit codes to the container with the specified name.
        text() container_name, with_container_name: "containerName";
        /// Represents the relationship between the container exit code(s) and the specified values.
        choice(PodFailurePolicyOnExitCodesRequirementOperator) operator, with_operator: "operator";
        /// Specifies the set of values.
        longs() values, with_values: "values";
    }
}

crate::object! {
    /// PodFailurePolicyOnPodConditionsPattern describes a pattern for matching an actual pod
    /// condition type.
    PodFailurePolicyOnPodConditionsPattern(with_type: text), PodFailurePolicyOnPodConditionsPatternView {
        /// Specifies the required Pod condition status.
        text() status, with_status: "status";
        /// Specifies the required Pod condition type.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// PodFailurePolicyRule describes how a pod failure is handled when the requirements are met.
    PodFailurePolicyRule(with_action: choice = PodFailurePolicyRuleAction), PodFailurePolicyRuleView {
        /// Specifies the action taken on a pod failure when the requirements are satisfied.
        choice(PodFailurePolicyRuleAction) action, with_action: "action";
        /// Represents the requirement on the container exit codes.
        object(PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyOnExitCodesRequirementView) on_exit_codes, with_on_exit_codes: "onExitCodes";
        /// Represents the requirement on the pod conditions.
        objects(PodFailurePolicyOnPodConditionsPattern, PodFailurePolicyOnPodConditionsPatternView) on_pod_conditions, with_on_pod_conditions: "onPodConditions";
    }
}

crate::object! {
    /// SuccessPolicy describes when a Job can be declared as succeeded based on the success of some
    /// indexes.
    SuccessPolicy, SuccessPolicyView {
        /// rules represents the list of alternative rules for the declaring the Jobs as successful
        /// before \`.status.succeeded \>= .spec.completions\`.
        objects(SuccessPolicyRule, SuccessPolicyRuleView) rules, with_rules: "rules";
    }
}

crate::object! {
    /// SuccessPolicyRule describes rule for declaring a Job as succeeded.
    SuccessPolicyRule, SuccessPolicyRuleView {
        /// succeededCount specifies the minimal required size of the actual set of the succeeded
        /// indexes for the Job.
        int() succeeded_count, with_succeeded_count: "succeededCount";
        /// succeededIndexes specifies the set of indexes which need to be contained in the actual
        /// set of the succeeded indexes for the Job.
        text() succeeded_indexes, with_succeeded_indexes: "succeededIndexes";
    }
}

crate::object! {
    /// UncountedTerminatedPods holds UIDs of Pods that have terminated but haven't been accounted
    /// in Job status counters.
    UncountedTerminatedPods, UncountedTerminatedPodsView {
        /// failed holds UIDs of failed Pods.
        texts() failed, with_failed: "failed";
        /// succeeded holds UIDs of succeeded Pods.
        texts() succeeded, with_succeeded: "succeeded";
    }
}

crate::choice! {
    /// A value of a field.
    CompletionMode {
        Indexed = "Indexed",
        NonIndexed = "NonIndexed",
    }
}

crate::choice! {
    /// A value of a field.
    ConcurrencyPolicy {
        Allow = "Allow",
        Forbid = "Forbid",
        Replace = "Replace",
    }
}

crate::choice! {
    /// A value of a field.
    PodFailurePolicyOnExitCodesRequirementOperator {
        In = "In",
        NotIn = "NotIn",
    }
}

crate::choice! {
    /// A value of a field.
    PodFailurePolicyRuleAction {
        Count = "Count",
        FailIndex = "FailIndex",
        FailJob = "FailJob",
        Ignore = "Ignore",
    }
}

crate::choice! {
    /// A value of a field.
    PodReplacementPolicy {
        Failed = "Failed",
        TerminatingOrFailed = "TerminatingOrFailed",
    }
}
