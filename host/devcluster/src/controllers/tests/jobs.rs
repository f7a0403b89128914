use proptest::prelude::*;

use super::*;

pub(super) fn job(name: &str, completions: i64, parallelism: i64, annotations: Value) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name, "namespace": "default" },
        "spec": {
            "completions": completions, "parallelism": parallelism, "backoffLimit": 6, "completionMode": "NonIndexed",
            "template": template(annotations),
        },
    })
}

fn template(annotations: Value) -> Value {
    json!({
        "metadata": { "annotations": annotations, "labels": { "app": "test" } },
        "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "none" }] },
    })
}

fn edit(world: &mut World, name: &str, edit: impl FnOnce(&mut Value)) {
    let mut job = world.get("jobs", "default", name).unwrap();
    edit(&mut job);
    world.update(job);
}

fn status(world: &World, name: &str) -> Value {
    world.get("jobs", "default", name).unwrap()["status"].clone()
}

fn active_pods(world: &World) -> usize {
    let is_active =
        |pod: &Value| !object::is_deleting(pod) && !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    world.list("pods", None).iter().filter(|pod| is_active(pod)).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn a_job_has_at_most_its_parallelism_of_pods_and_ends_with_its_completions(
        completions in 0..7_i64, parallelism in 1..5_i64, indexed: bool, run_for in 0..4_i64
    ) {
        let mut world = World::new();
        let mut made = job("work", completions, parallelism, json!({ "devcluster.gyre.dev/run-for": format!("{run_for}s") }));
        if indexed {
            made["spec"]["completionMode"] = json!("Indexed");
        }
        world.create(made);
        world.pass(60, |world| assert!(active_pods(world) <= usize::try_from(parallelism).unwrap()));
        let found = world.get("jobs", "default", "work").unwrap();
        prop_assert_eq!(conditions(&found), ["SuccessCriteriaMet=True", "Complete=True"]);
        prop_assert_eq!(found["status"]["succeeded"].as_i64().unwrap_or_default(), completions);
        prop_assert!(found["status"]["failed"].is_null() && found["status"]["active"].is_null());
        prop_assert_eq!(&found["status"]["uncountedTerminatedPods"], &json!({}));
        let pods = world.list("pods", None);
        prop_assert_eq!(pods.len(), usize::try_from(completions).unwrap());
        prop_assert!(pods.iter().all(|pod| pod["status"]["phase"] == "Succeeded" && object::finalizers(pod).next().is_none()));
        if indexed && completions > 2 {
            prop_assert_eq!(&found["status"]["completedIndexes"], &json!(format!("0-{}", completions - 1)));
            let mut names: Vec<String> = pods.iter().map(|pod| pod["spec"]["hostname"].as_str().unwrap().to_owned()).collect();
            names.sort();
            prop_assert_eq!(names, (0..completions).map(|index| format!("work-{index}")).collect::<Vec<_>>());
        }
        let created = usize::from(completions > 0);
        prop_assert_eq!(world.reasons("work").iter().filter(|reason| *reason == "Completed").count(), 1);
        prop_assert!(world.reasons("work").iter().filter(|reason| *reason == "SuccessfulCreate").count() >= created);
    }
}

#[test]
fn a_job_whose_pods_fail_backs_off_and_fails() {
    let mut world = World::new();
    let mut made = job("work", 1, 1, json!({ "devcluster.gyre.dev/fail": "3" }));
    made["spec"]["backoffLimit"] = json!(2);
    world.create(made);
    let mut starts = Vec::new();
    world.pass(120, |world| {
        let count = world.list("pods", None).len();
        if starts.len() < count {
            starts.push(world.now.duration_since(START.parse().unwrap()).as_secs());
        }
    });
    let found = world.get("jobs", "default", "work").unwrap();
    assert_eq!(conditions(&found), ["FailureTarget=True", "Failed=True"]);
    assert_eq!(found["status"]["failed"], 3);
    assert_eq!(found["status"]["conditions"][1]["reason"], "BackoffLimitExceeded");
    // Each Pod runs for a second, and the waits are 10 s and 20 s.
    assert_eq!(starts, [0, 11, 32]);
    let pod = world.list("pods", None).remove(0);
    assert_eq!(pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3);
}

#[test]
fn a_job_fails_at_its_deadline_and_its_pods_go() {
    let mut world = World::new();
    let mut made = job("work", 2, 2, json!({ "devcluster.gyre.dev/run-for": "1h" }));
    made["spec"]["activeDeadlineSeconds"] = json!(30);
    world.create(made);
    world.pass(29, |_| ());
    assert_eq!(status(&world, "work")["active"], 2);
    assert_eq!(status(&world, "work")["ready"], 2);
    world.pass(2, |_| ());
    let found = world.get("jobs", "default", "work").unwrap();
    assert_eq!(found["status"]["conditions"][1]["reason"], "DeadlineExceeded");
    assert_eq!(conditions(&found), ["FailureTarget=True", "Failed=True"]);
    assert_eq!(world.list("pods", None), Vec::<Value>::new());
}

#[test]
fn a_suspended_job_has_no_pods_until_it_is_resumed() {
    let mut world = World::new();
    world.create(job("work", 2, 2, json!({ "devcluster.gyre.dev/run-for": "10s" })));
    world.rest();
    edit(&mut world, "work", |job| job["spec"]["suspend"] = json!(true));
    world.pass(5, |_| ());
    assert_eq!(world.list("pods", None), Vec::<Value>::new());
    let found = world.get("jobs", "default", "work").unwrap();
    assert_eq!(conditions(&found), ["Suspended=True"]);
    assert!(found["status"]["startTime"].is_null() && found["status"]["failed"].is_null());
    edit(&mut world, "work", |job| job["spec"]["suspend"] = json!(false));
    world.pass(30, |_| ());
    assert_eq!(
        conditions(&world.get("jobs", "default", "work").unwrap()),
        ["Suspended=False", "SuccessCriteriaMet=True", "Complete=True"]
    );
    let reasons = world.reasons("work");
    assert!(reasons.contains(&"Suspended".to_owned()) && reasons.contains(&"Resumed".to_owned()), "{reasons:?}");
}

#[test]
fn a_finished_job_goes_after_its_time_with_its_pods() {
    let mut world = World::new();
    let mut made = job("work", 1, 1, json!({}));
    made["spec"]["ttlSecondsAfterFinished"] = json!(10);
    world.create(made);
    world.pass(10, |_| ());
    assert!(world.get("jobs", "default", "work").is_some());
    world.pass(2, |_| ());
    assert!(world.get("jobs", "default", "work").is_none());
    assert_eq!(world.list("pods", None), Vec::<Value>::new());
}

#[test]
fn a_lower_parallelism_deletes_pods() {
    let mut world = World::new();
    world.create(job("work", 10, 5, json!({ "devcluster.gyre.dev/run-for": "1h" })));
    world.rest();
    edit(&mut world, "work", |job| job["spec"]["parallelism"] = json!(2));
    world.rest();
    assert_eq!((active_pods(&world), status(&world, "work")["active"].clone()), (2, json!(2)));
    assert!(status(&world, "work")["failed"].is_null());
}

#[test]
fn orphaned_pods_of_a_deleted_job_stay_and_lose_their_finalizer() {
    let mut world = World::new();
    world.create(job("work", 1, 1, json!({ "devcluster.gyre.dev/run-for": "1h" })));
    world.rest();
    world.delete("jobs", "default", "work", Some(Propagation::Orphan));
    world.rest();
    let pods = world.list("pods", None);
    assert_eq!(pods.len(), 1);
    assert!(object::finalizers(&pods[0]).next().is_none() && object::owner_uids(&pods[0]).next().is_none());
}

#[test]
fn without_nodes_no_pod_runs() {
    let mut world = World::with(Options { pod_run_time: None, ..Options::default() });
    world.create(job("work", 1, 1, json!({})));
    world.pass(3600, |_| ());
    let pod = world.list("pods", None).remove(0);
    assert!(pod["spec"]["nodeName"].is_null());
    assert_eq!(status(&world, "work")["active"], 1);
    // The test plays the node, and decides how the Pod ends.
    let mut pod = pod;
    pod["status"]["phase"] = json!("Succeeded");
    world.update_status(pod);
    world.rest();
    assert_eq!(status(&world, "work")["succeeded"], 1);
}

#[test]
fn pods_that_always_restart_run_on_and_end_when_deleted() {
    let mut world = World::new();
    let mut pod = template(json!({}));
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["name"] = json!("server");
    pod["spec"]["restartPolicy"] = json!("Always");
    pod["spec"]["terminationGracePeriodSeconds"] = json!(30);
    world.create(pod);
    world.pass(3600, |_| ());
    let pod = world.get("pods", "default", "server").unwrap();
    assert_eq!(pod["status"]["phase"], "Running");
    assert!(conditions(&pod).contains(&"Ready=True".to_owned()));
    world.delete("pods", "default", "server", None);
    world.rest();
    assert!(world.get("pods", "default", "server").is_none());
}

#[test]
fn restarts_of_a_failing_container_are_backed_off() {
    let mut world = World::new();
    let mut made = job("work", 1, 1, json!({ "devcluster.gyre.dev/fail": "true", "devcluster.gyre.dev/run-for": "0s" }));
    made["spec"]["template"]["spec"]["restartPolicy"] = json!("OnFailure");
    made["spec"]["backoffLimit"] = json!(3);
    world.create(made);
    world.pass(25, |_| ());
    assert_eq!(world.list("pods", None)[0]["status"]["containerStatuses"][0]["restartCount"], 2);
    world.pass(3600, |_| ());
    let found = world.get("jobs", "default", "work").unwrap();
    assert_eq!(found["status"]["conditions"][1]["reason"], "BackoffLimitExceeded");
    assert_eq!(conditions(&found), ["FailureTarget=True", "Failed=True"]);
}

fn cron_job(schedule: &str, policy: &str, run_for: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": { "name": "tick", "namespace": "default" },
        "spec": {
            "schedule": schedule, "concurrencyPolicy": policy, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1,
            "jobTemplate": {
                "metadata": { "labels": { "app": "tick" } },
                "spec": job("", 1, 1, json!({ "devcluster.gyre.dev/run-for": run_for }))["spec"],
            },
        },
    })
}

#[test]
fn a_cron_job_starts_a_job_every_time_and_keeps_the_last_ones() {
    let mut world = World::new();
    world.create(cron_job("*/10 * * * *", "Allow", "5s"));
    world.pass(3600 + 30, |_| ());
    let minutes = START.parse::<Timestamp>().unwrap().as_second() / 60;
    let expected: Vec<String> = [40, 50, 60].map(|minute| format!("tick-{}", minutes + minute)).into();
    assert_eq!(world.names("jobs"), expected);
    let found = world.get("cronjobs", "default", "tick").unwrap();
    assert_eq!(found["status"]["lastScheduleTime"], "2026-01-01T01:00:00Z");
    assert_eq!(found["status"]["lastSuccessfulTime"], "2026-01-01T01:00:05Z");
    assert!(found["status"]["active"].is_null());
    assert_eq!(world.list("pods", None).len(), 3);
    let reasons = world.reasons("tick");
    for reason in ["SuccessfulCreate", "SawCompletedJob", "SuccessfulDelete"] {
        assert!(reasons.iter().any(|found| found == reason), "{reason}: {reasons:?}");
    }
    assert!(!reasons.iter().any(|reason| matches!(reason.as_str(), "UnexpectedJob" | "MissingJob")), "{reasons:?}");
    let job = world.list("jobs", None).remove(0);
    assert_eq!(job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"], "2026-01-01T00:40:00Z");
}

#[test]
fn the_concurrency_policy_decides_about_a_job_that_still_runs() {
    for (policy, jobs) in [("Allow", 3), ("Forbid", 1), ("Replace", 1)] {
        let mut world = World::new();
        world.create(cron_job("* * * * *", policy, "1h"));
        world.pass(190, |_| ());
        assert_eq!(world.names("jobs").len(), jobs, "{policy}");
        let active = world.get("cronjobs", "default", "tick").unwrap()["status"]["active"].as_array().unwrap().len();
        assert_eq!(active, jobs, "{policy}");
        let last = START.parse::<Timestamp>().unwrap().as_second() / 60 + if policy == "Forbid" { 1 } else { 3 };
        assert!(world.names("jobs").contains(&format!("tick-{last}")), "{policy}");
    }
}

#[test]
fn only_the_last_missed_time_within_the_deadline_starts_a_job() {
    for (deadline, jobs) in [(None, 1), (Some(10), 0), (Some(3600), 1)] {
        let mut world = World::new();
        let mut made = cron_job("0 * * * *", "Allow", "1s");
        made["spec"]["suspend"] = json!(true);
        if let Some(deadline) = deadline {
            made["spec"]["startingDeadlineSeconds"] = json!(deadline);
        }
        world.create(made);
        world.pass(5 * 3600 + 60, |_| ());
        assert_eq!(world.names("jobs").len(), 0);
        let mut found = world.get("cronjobs", "default", "tick").unwrap();
        found["spec"]["suspend"] = json!(false);
        world.update(found);
        world.rest();
        assert_eq!(world.names("jobs").len(), jobs, "{deadline:?}");
    }
}

#[test]
fn a_failed_creation_is_retried_and_reported_once() {
    let mut world = World::new();
    world.create(cron_job("* * * * *", "Allow", "1s"));
    world.server.registry.kinds.remove(&resource("jobs"));
    world.pass(90, |_| ());
    assert_eq!(world.reasons("tick"), ["FailedCreate"]);
    let event = world.list("events", None).remove(0);
    assert!(event["count"].as_i64().unwrap() < 30, "the waits grow: {event}");
}

#[test]
fn events_go_after_an_hour() {
    let mut world = World::new();
    world.create(job("work", 1, 1, json!({})));
    world.pass(3599, |_| ());
    assert!(!world.list("events", None).is_empty());
    world.pass(60, |_| ());
    assert_eq!(world.list("events", None), Vec::<Value>::new());
}

#[test]
fn more_pods_than_can_be_noted_at_once_are_counted_with_few_writes_each() {
    for mode in ["NonIndexed", "Indexed"] {
        let mut world = World::new();
        let mut made = job("work", 600, 600, json!({}));
        made["spec"]["completionMode"] = json!(mode);
        world.create(made);
        let before = world.server.revision();
        world.pass(10, |_| ());
        assert_eq!(status(&world, "work")["succeeded"], 600, "{mode}");
        // Each Pod is created, bound, started, ended and released, and has an event.
        let writes = world.server.revision() - before;
        assert!(writes < 600 * 6 + 30, "{mode}: {writes}");
    }
}
