//! The shipped plugins do the same as native code and as components, in each scenario.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_test::{Plugin, Result, Run, Setup, World, assert_cases, assert_yaml_eq, assert_yaml_includes, object, yaml};
use serde_json::{Value, json};

/// Returns the directory, the native code and the component of each shipped plugin.
fn plugins() -> [(&'static str, Plugin, &'static str); 8] {
    [
        ("cleaner", Plugin::native::<cleaner::Cleaner>(), gyre_artifacts::CLEANER),
        ("echo", Plugin::native::<echo::EchoReconciler>(), gyre_artifacts::ECHO),
        ("gateway", Plugin::native::<gateway::GatewayReconciler>(), gyre_artifacts::GATEWAY),
        ("greeter", Plugin::native::<greeter::GreetingReconciler>(), gyre_artifacts::GREETER),
        ("pod-log", Plugin::native::<pod_log::PodLogger>(), gyre_artifacts::POD_LOG),
        ("scheduled-echo", Plugin::native::<scheduled_echo::ScheduledEchoReconciler>(), gyre_artifacts::SCHEDULED_ECHO),
        ("website", Plugin::native::<website::WebsiteReconciler>(), gyre_artifacts::WEBSITE),
        ("xca", Plugin::native::<xca::XcaReconciler>(), gyre_artifacts::XCA),
    ]
}

/// Runs a scenario natively and as a component, and asserts that the runs are the same.
fn run_both(name: &str, scenario: impl Fn(Setup) -> Result<Vec<Run>>) -> Vec<Run> {
    let (_, native, wasm) = plugins().into_iter().find(|(plugin, ..)| *plugin == name).unwrap();
    let samples = format!("../plugins/{name}/samples");
    let [native, wasm] =
        [native, Plugin::wasm(wasm).unwrap()].map(|plugin| scenario(World::of(plugin).file(&samples)).unwrap());
    let contents = |runs: &[Run]| runs.iter().map(content).collect::<Vec<_>>();
    yaml::assert_same(&contents(&native), &Value::Array(contents(&wasm)));
    native
}

fn content(run: &Run) -> Value {
    let texts = |texts: &mut dyn Iterator<Item = String>| texts.collect::<Vec<_>>();
    json!({
        "summary": run.summary(),
        "events": texts(&mut run.events().iter().map(ToString::to_string)),
        "reads": run.reads(),
        "log": texts(&mut run.log().iter().map(|line| format!("{line:?}"))),
        "calls": run.calls().iter().map(|call| json!([call["ask"], call["answer"]])).collect::<Vec<_>>(),
    })
}

#[test]
fn native_code_and_component_have_the_same_manifest() {
    for (_, native, wasm) in plugins() {
        yaml::assert_same(native.manifest(), &json!(Plugin::wasm(wasm).unwrap().manifest()));
    }
}

#[test]
fn golden_cases_have_the_same_results_natively_and_as_components() {
    for (name, native, wasm) in plugins() {
        let cases = format!("../plugins/{name}/cases");
        assert_cases(&native, &cases);
        assert_cases(&Plugin::wasm(wasm).unwrap(), &cases);
    }
}

#[test]
fn a_job_that_is_deleted_unfinished_runs_again_and_a_finished_one_does_not() {
    let runs = run_both("echo", |setup| {
        let mut world = setup.start()?;
        let created = world.settle()?;
        world.delete("Job default/hello")?;
        let again = world.settle()?;
        world.finish_job("Job default/hello")?;
        let finished = world.settle()?;
        world.delete("Job default/hello")?;
        Ok(vec![created, again, finished, world.settle()?])
    });
    let [created, again, finished, rested] = runs.as_slice() else { unreachable!() };
    created.assert_plan(
        "create Job default/hello
         status Echo default/hello
         event Echo default/hello: Normal JobCreated: Job hello runs the message",
    );
    again.assert_plan("create Job default/hello");
    finished.assert_plan(
        "status Echo default/hello
         event Echo default/hello: Normal JobComplete: Job hello ran the message",
    );
    assert_yaml_includes!(finished.status("Echo hello").unwrap(), "finished: {generation: 1, result: Complete}");
    rested.assert_nothing_done();
}

#[test]
fn a_failed_job_is_reported() {
    let runs = run_both("echo", |setup| {
        let mut world = setup.start()?;
        world.settle()?;
        world.fail_job("Job default/hello")?;
        // The first try and six retries, with the waits between them.
        assert_yaml_includes!(world.get("Job hello")?, "status: {failed: 7}");
        Ok(vec![world.settle()?])
    });
    assert_yaml_includes!(runs[0].condition("Echo hello", "Ready").unwrap(), "{status: 'False', reason: JobFailed}");
    assert_eq!(runs[0].events()[0].to_string(), "Echo default/hello: Warning JobFailed: Job hello failed");
}

#[test]
fn children_are_deleted_with_their_parent() {
    run_both("echo", |setup| {
        let mut world = setup.start()?;
        world.settle()?;
        world.delete("Echo default/hello")?;
        let run = world.settle()?;
        run.assert_nothing_done();
        assert_eq!((world.find("Echo hello")?, world.find("Job hello")?), (None, None));
        Ok(vec![run])
    });
}

#[test]
fn a_parent_is_deleted_when_its_time_to_live_is_over() {
    let runs = run_both("cleaner", |setup| {
        let mut world = setup.start()?;
        world.settle()?;
        world.finish_job("Job default/migration")?;
        let finished = world.settle()?;
        world.advance(Duration::from_secs(30))?;
        let early = world.settle()?;
        assert!(world.find("Job default/migration")?.is_some(), "{early:?}");
        world.advance(Duration::from_secs(40))?;
        let over = world.settle()?;
        assert_eq!(world.find("Job default/migration")?, None);
        Ok(vec![finished, early, over])
    });
    runs[0].assert_nothing_done();
    runs[1].assert_nothing_done();
    runs[2].assert_plan("delete Job default/migration");
}

#[test]
fn a_finalizer_holds_a_parent_until_the_teardown_is_done() {
    let runs = run_both("pod-log", |setup| {
        let mut world = setup.start()?;
        let appeared = world.settle()?;
        world.delete("Pod default/hello")?;
        let gone = world.settle()?;
        assert_eq!(world.find("Pod default/hello")?, None);
        Ok(vec![appeared, gone])
    });
    runs[0].assert_plan("finalizers Pod default/hello");
    runs[1].assert_plan("finalizers Pod default/hello");
    assert_eq!(runs[1].log().last().unwrap().message, "Pod hello does not exist anymore");
}

#[test]
fn advancing_the_clock_runs_what_is_due() {
    let runs = run_both("scheduled-echo", |setup| {
        let mut world = setup.at("2026-03-01T09:30:10Z").start()?;
        let created = world.settle()?;
        assert_yaml_eq!(created.status("ScheduledEcho hello-again")?["lastRun"], "null");
        world.advance(Duration::from_secs(60))?;
        assert_yaml_includes!(world.get("CronJob hello-again")?, "status: {lastScheduleTime: '2026-03-01T09:31:00Z'}");
        let jobs = world.list("batch/v1 Job")?;
        assert_eq!(jobs.len(), 1);
        world.finish_job(&jobs[0])?;
        Ok(vec![created, world.settle()?])
    });
    assert_yaml_includes!(runs[1].status("ScheduledEcho hello-again").unwrap(), "lastRun: '2026-03-01T09:31:00Z'");
}

#[test]
fn a_plugin_is_called_again_when_it_asked_to_be() {
    let runs = run_both("gateway", |setup| {
        let mut world = setup.start()?;
        let first = world.settle()?;
        let mut calls = Vec::new();
        for _ in 0..3 {
            world.advance(Duration::from_secs(30))?;
            calls.push(world.settle()?);
        }
        calls.insert(0, first);
        Ok(calls)
    });
    assert_eq!(runs[0].events()[0].reason, "Synced");
    for run in &runs[1..] {
        run.assert_nothing_done();
        assert_eq!(run.calls().len(), 1);
    }
}

#[test]
fn the_clock_shows_the_time_of_the_world() {
    let runs = run_both("xca", |setup| Ok(vec![setup.at("2026-12-24T18:00:00Z").start()?.settle()?]));
    assert_yaml_includes!(runs[0].status("Xca hello").unwrap(), "{active: true, last_update_time: '2026-12-24T18:00:00Z'}");
}

#[test]
fn reads_are_reported_and_a_change_to_a_read_object_calls_the_plugin_again() {
    let runs = run_both("website", |setup| {
        let mut world = setup.start()?;
        let first = world.settle()?;
        world.edit("ConfigMap welcome", |template| template["data"]["index.html"] = json!("<p>{{title}}</p>"))?;
        Ok(vec![first, world.settle()?])
    });
    assert_eq!(runs[0].reads(), ["get ConfigMap.v1 welcome", "list WebsiteDefaults.v1alpha1.web.gyre.dev"]);
    let changed: BTreeMap<_, _> =
        runs[1].children().iter().map(|child| (child["kind"].as_str().unwrap(), child["data"].clone())).collect();
    assert_yaml_eq!(changed["ConfigMap"], "index.html: <p>Hello, world!</p>");
    assert!(changed.contains_key("Deployment"), "{:?}", runs[1]);
}

#[test]
fn a_spec_that_is_edited_reaches_the_child() {
    let runs = run_both("scheduled-echo", |setup| {
        let mut world = setup.start()?;
        world.settle()?;
        world.edit("ScheduledEcho hello-again", |echo| echo["spec"]["schedule"] = json!("0 9 * * *"))?;
        Ok(vec![world.settle()?])
    });
    runs[0].assert_plan(
        "update CronJob default/hello-again
         status ScheduledEcho default/hello-again",
    );
    assert_yaml_includes!(runs[0].children()[0], "spec: {schedule: '0 9 * * *'}");
    assert_yaml_includes!(runs[0].status("ScheduledEcho hello-again").unwrap(), "observedGeneration: 2");
}

#[test]
fn objects_of_others_are_refused_and_reported() {
    let runs = run_both("echo", |setup| {
        let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}});
        let foreign = object("batch/v1", "Job", "default/hello").spec(json!({ "template": template }));
        Ok(vec![setup.with(foreign).start()?.settle()?])
    });
    assert!(runs[0].children().is_empty());
    let events = runs[0].events();
    assert_eq!(events.last().unwrap().reason, "ForeignObject", "{events:?}");
    assert_eq!(runs[0].refusals().count(), 0, "{:?}", runs[0]);
}
