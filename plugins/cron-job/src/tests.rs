//! The answers of the plugin: the cases of the tutorial, and those of the Kubernetes CronJob.

use std::time::Duration;

use gyre_sdk::k8s::{Container, JobCondition, JobSpec, JobStatus, JobTemplateSpec, PodSpec, PodTemplateSpec, RestartPolicy};
use gyre_sdk::testing::{Answer, given};
use gyre_sdk::{Child, ConditionStatus};

use super::*;

const CREATED: &str = "2026-01-01T00:00:30Z";

fn time(text: &str) -> Time {
    text.parse().unwrap()
}

/// At the first minute of each hour, as in the tutorial's test.
fn spec() -> CronJobSpec {
    let container = Container::new("test-container", "test-image");
    let pod = PodSpec::new().with_restart_policy(RestartPolicy::OnFailure).with_containers([container]);
    let job = JobSpec::new().with_template(PodTemplateSpec::new().with_spec(pod));
    CronJobSpec {
        schedule: "1 * * * *".to_owned(),
        time_zone: None,
        starting_deadline_seconds: None,
        concurrency_policy: ConcurrencyPolicy::Allow,
        suspend: false,
        job_template: JobTemplateSpec::new().with_spec(job),
        successful_jobs_history_limit: 3,
        failed_jobs_history_limit: 1,
    }
}

fn cron_job(spec: CronJobSpec) -> CronJob {
    let mut cron_job = CronJob::new("test-cronjob", spec);
    cron_job.metadata.creation_timestamp = time(CREATED);
    cron_job
}

/// A CronJob whose last run was at this time.
fn cron_job_after(spec: CronJobSpec, last_run: &str) -> CronJob {
    let status = CronJobStatus { last_schedule_time: Some(time(last_run)), ..CronJobStatus::default() };
    cron_job(spec).with_status(status)
}

fn name(scheduled: &str) -> String {
    format!("test-cronjob-{}", time(scheduled).unix())
}

fn active(scheduled: &str) -> Job {
    let status = JobStatus::new().with_start_time(time(scheduled)).with_active(1);
    job(&cron_job(spec()), time(scheduled)).with_status(status)
}

fn ended(scheduled: &str, condition: &str) -> Job {
    finish(active(scheduled), scheduled, condition)
}

/// A Job as the Job controller completes it.
fn finish(job: Job, started: &str, condition: &str) -> Job {
    let condition = JobCondition::new().with_type(condition).with_status("True");
    job.with_status(JobStatus::new().with_start_time(time(started)).with_conditions([condition]))
}

fn reconcile(spec: CronJobSpec, jobs: impl IntoIterator<Item = Job>, now: &str) -> Answer {
    let test = given::<CronJobReconciler>(cron_job(spec)).at(time(now));
    jobs.into_iter().fold(test, |test, job| test.with_child(job)).reconcile()
}

#[track_caller]
fn check_nothing_starts(answer: &Answer) {
    let applied = answer.plan().all_applied();
    assert!(applied.is_empty(), "a Job starts\n{answer}");
}

/// The names of the Jobs that stay.
fn kept(answer: &Answer) -> Vec<&str> {
    let children = answer.plan().children.iter().flatten();
    let kept = children.filter_map(|child| if let Child::Keep(job) = child { Some(job.name.as_str()) } else { None });
    kept.collect()
}

/// The tutorial's test of the controller, step by step.
#[test]
fn a_custom_resource_is_reconciled_as_in_the_tutorial() {
    let now = "2026-01-01T00:00:40Z";
    let new = reconcile(spec(), [], now);
    assert!(!new.plan().conditions.is_empty(), "the conditions are initialised");
    assert_eq!(new.status()["active"].as_array().unwrap().len(), 0);

    let owned = || Job::new("test-job").with_status(JobStatus::new().with_active(2));
    let one = reconcile(spec(), [owned()], now);
    assert_eq!(one.status()["active"].as_array().unwrap().len(), 1);
    assert_eq!(one.status()["active"][0]["name"], "test-job");
    one.has_condition("Available", ConditionStatus::True, "JobsActive");

    let limits = CronJobSpec { failed_jobs_history_limit: 1, successful_jobs_history_limit: 1, ..spec() };
    let (old, late) = ("2025-12-31T23:59:40Z", "2026-01-01T00:00:41Z");
    let jobs = [
        owned(),
        finish(Job::new("test-failed-job-old"), old, "Failed"),
        finish(Job::new("test-failed-job-new"), late, "Failed"),
        finish(Job::new("test-successful-job-old"), old, "Complete"),
        finish(Job::new("test-successful-job-new"), late, "Complete"),
    ];
    let pruned = reconcile(limits, jobs, now);
    assert_eq!(kept(&pruned), ["test-successful-job-new", "test-failed-job-new", "test-job"]);
    pruned.has_condition("Degraded", ConditionStatus::True, "JobsFailed");
}

/// The tutorial's test of its webhook for defaults, which are in the schema here.
#[test]
fn fields_that_are_not_set_have_the_defaults_of_the_tutorial() {
    let set: CronJobSpec = serde_json::from_str(
        r#"{"schedule": "1 * * * *", "jobTemplate": {}, "concurrencyPolicy": "Forbid", "suspend": true,
            "successfulJobsHistoryLimit": 5, "failedJobsHistoryLimit": 2}"#,
    )
    .unwrap();
    assert_eq!((set.concurrency_policy, set.suspend), (ConcurrencyPolicy::Forbid, true));
    assert_eq!((set.successful_jobs_history_limit, set.failed_jobs_history_limit), (5, 2));

    let unset: CronJobSpec = serde_json::from_str(r#"{"schedule": "1 * * * *", "jobTemplate": {}}"#).unwrap();
    assert_eq!((unset.concurrency_policy, unset.suspend), (ConcurrencyPolicy::Allow, false));
    assert_eq!((unset.successful_jobs_history_limit, unset.failed_jobs_history_limit), (3, 1));
}

#[test]
fn a_run_starts_when_it_is_due_and_the_next_call_is_at_the_next_run() {
    let before = reconcile(spec(), [], "2026-01-01T00:00:59Z");
    check_nothing_starts(&before);
    assert_eq!(before.plan().requeue_after, Some(Duration::from_secs(1)));

    let due = reconcile(spec(), [], "2026-01-01T00:01:00Z");
    let job = due.applies::<Job>(&name("2026-01-01T00:01:00Z"));
    assert_eq!(job.spec(), cron_job(spec()).spec.job_template.view().spec());
    assert_eq!(job.metadata().annotations().get(SCHEDULED_AT), Some("2026-01-01T00:01:00Z"));
    assert_eq!(due.status()["lastScheduleTime"], "2026-01-01T00:01:00Z");
    assert_eq!(due.plan().requeue_after, Some(Duration::from_secs(60 * 60)));
    due.is_ready("Scheduled");
}

#[test]
fn a_run_that_has_started_does_not_start_again() {
    let again = reconcile(spec(), [active("2026-01-01T00:01:00Z")], "2026-01-01T00:01:30Z");
    check_nothing_starts(&again);
    again.keeps::<Job>(&name("2026-01-01T00:01:00Z"));

    // Also when its Job is gone, e.g. by its TTL: the status remembers it.
    let remembered = cron_job_after(spec(), "2026-01-01T00:01:00Z");
    let gone = given::<CronJobReconciler>(remembered).at(time("2026-01-01T00:59:00Z")).reconcile();
    check_nothing_starts(&gone);
}

#[test]
fn of_missed_runs_the_last_one_is_made_up_for() {
    let late = reconcile(spec(), [], "2026-01-01T05:30:00Z");
    late.applies::<Job>(&name("2026-01-01T05:01:00Z"));
    assert_eq!(late.plan().all_applied().len(), 1);
}

#[test]
fn a_run_that_missed_its_deadline_is_left_out() {
    let with_deadline = || CronJobSpec { starting_deadline_seconds: Some(60), ..spec() };
    check_nothing_starts(&reconcile(with_deadline(), [], "2026-01-01T00:02:01Z"));
    let in_time = reconcile(with_deadline(), [], "2026-01-01T00:02:00Z");
    in_time.applies::<Job>(&name("2026-01-01T00:01:00Z"));
}

#[test]
fn allow_runs_both_and_forbid_waits() {
    let of = |concurrency_policy| CronJobSpec { concurrency_policy, ..spec() };
    let earlier = "2026-01-01T00:01:00Z";
    let both = reconcile(of(ConcurrencyPolicy::Allow), [active(earlier)], "2026-01-01T01:01:00Z");
    both.keeps::<Job>(&name(earlier)).applies::<Job>(&name("2026-01-01T01:01:00Z"));

    let waits = reconcile(of(ConcurrencyPolicy::Forbid), [active(earlier)], "2026-01-01T01:01:00Z");
    check_nothing_starts(waits.keeps::<Job>(&name(earlier)));
    let later = reconcile(of(ConcurrencyPolicy::Forbid), [ended(earlier, "Complete")], "2026-01-01T01:10:00Z");
    later.applies::<Job>(&name("2026-01-01T01:01:00Z"));
}

#[test]
fn replace_never_runs_two() {
    let spec = || CronJobSpec { concurrency_policy: ConcurrencyPolicy::Replace, ..spec() };
    let stops = reconcile(spec(), [active("2026-01-01T00:01:00Z")], "2026-01-01T01:01:00Z");
    assert_eq!(stops.plan().children, Some(Vec::new()), "{stops}");
    assert_eq!(stops.status()["lastScheduleTime"], "2026-01-01T00:01:00Z");
    // The earlier one is gone.
    let remembered = cron_job_after(spec(), "2026-01-01T00:01:00Z");
    let starts = given::<CronJobReconciler>(remembered).at(time("2026-01-01T01:01:05Z")).reconcile();
    starts.applies::<Job>(&name("2026-01-01T01:01:00Z"));
}

#[test]
fn a_suspended_one_starts_nothing_and_keeps_what_runs() {
    let suspended = CronJobSpec { suspend: true, ..spec() };
    let answer = reconcile(suspended, [active("2026-01-01T00:01:00Z")], "2026-01-01T05:00:00Z");
    check_nothing_starts(answer.keeps::<Job>(&name("2026-01-01T00:01:00Z")));
    answer.is_ready("Suspended").has_condition("Available", ConditionStatus::False, "Suspended");
    assert_eq!(answer.plan().requeue_after, None);
}

#[test]
fn jobs_beyond_the_history_limits_are_deleted_and_the_latest_stay() {
    let runs = ["00:01", "01:01", "02:01", "03:01", "04:01"].map(|hour| format!("2026-01-01T{hour}:00Z"));
    let succeeded = runs.iter().map(|run| ended(run, "Complete"));
    let failed = ["2026-01-01T05:01:00Z", "2026-01-01T06:01:00Z"].map(|run| ended(run, "Failed"));
    let answer = reconcile(spec(), succeeded.chain(failed), "2026-01-01T06:30:00Z");
    assert_eq!(kept(&answer), [&runs[4], &runs[3], &runs[2], "2026-01-01T06:01:00Z"].map(name));
}

#[test]
fn a_schedule_is_in_its_time_zone_also_when_the_clocks_change() {
    let berlin = || CronJobSpec { schedule: "30 2 * * *".to_owned(), time_zone: Some("Europe/Berlin".to_owned()), ..spec() };
    let winter = reconcile(berlin(), [], "2026-01-02T02:00:00Z");
    winter.applies::<Job>(&name("2026-01-02T01:30:00Z"));
    let summer = reconcile(berlin(), [], "2026-07-02T02:00:00Z");
    summer.applies::<Job>(&name("2026-07-02T00:30:00Z"));
}

#[test]
fn a_schedule_or_zone_that_cannot_be_read_is_a_terminal_failure_that_says_so() {
    let failure = |spec| reconcile(spec, [], CREATED).failure().message().to_owned();
    let wrong = failure(CronJobSpec { schedule: "61 * * * *".to_owned(), ..spec() });
    assert!(wrong.starts_with("the schedule cannot be read: "), "{wrong}");
    let nowhere = failure(CronJobSpec { time_zone: Some("Mars/Olympus".to_owned()), ..spec() });
    assert!(nowhere.contains("time zone Mars/Olympus"), "{nowhere}");
}

#[test]
fn a_schedule_that_is_never_due_starts_nothing() {
    let never = CronJobSpec { schedule: "0 0 30 2 *".to_owned(), ..spec() };
    check_nothing_starts(&reconcile(never, [], "2026-01-01T05:30:00Z"));
}

#[test]
fn crd_json_is_derived_from_the_type() {
    gyre_sdk::testing::assert_crd_file::<CronJobSpec>("crd.json");
}
