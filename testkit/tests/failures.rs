//! The messages of failed assertions, in `failures/`. `GYRE_BLESS=1` writes them.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use gyre_test::{Plugin, Run, World, assert_cases, assert_yaml_eq, assert_yaml_includes, yaml};
use serde_json::json;

#[track_caller]
fn check(name: &str, assertion: impl FnOnce()) {
    let thrown = catch_unwind(AssertUnwindSafe(assertion)).expect_err("the assertion holds");
    let said = thrown.downcast_ref::<String>().unwrap().trim_end().to_owned() + "\n";
    let path = Path::new("tests/failures").join(name);
    if std::env::var_os("GYRE_BLESS").is_some_and(|value| value != "0") {
        fs::write(&path, &said).unwrap();
    }
    assert_eq!(said, fs::read_to_string(&path).unwrap_or_default(), "GYRE_BLESS=1 writes {}", path.display());
}

fn run() -> Run {
    let plugin = Plugin::native::<echo::EchoReconciler>();
    World::of(plugin).file("../plugins/echo/samples").start().unwrap().settle().unwrap()
}

#[test]
fn another_plan() {
    check("plan.txt", || {
        run().assert_plan(
            "create Job default/hello
             status Echo default/hello
             event Echo default/hello: Normal JobCreated: Job bye runs the message",
        );
    });
}

#[test]
fn a_plan_where_there_should_be_none() {
    check("nothing-done.txt", || run().assert_nothing_done());
}

#[test]
fn another_value() {
    let run = run();
    let job = &run.children()[0]["spec"]["template"]["spec"]["containers"][0];
    check("eq.txt", || assert_yaml_eq!(job, "{name: hello, image: busybox:latest, command: [echo, 'Hello, world!']}"));
}

#[test]
fn something_that_is_missing() {
    let run = run();
    let expected = json!({
        "metadata": {"name": "hello", "labels": {"gyre.dev/plugin": "echo", "tier": "web"}},
        "spec": {"template": {"spec": {"restartPolicy": "Always", "containers": [{"name": "hello"}]}}},
    });
    check("includes.txt", || assert_yaml_includes!(run.children()[0], expected));
    check("includes-list.txt", || assert_yaml_includes!(json!(["one", "two"]), "[one]"));
}

#[test]
fn an_expected_value_that_is_no_yaml() {
    check("not-yaml.txt", || assert_yaml_eq!(json!({}), "{a: [}"));
}

#[test]
fn a_golden_file_that_differs_or_is_missing() {
    // With `GYRE_BLESS` these assertions do not fail, so their texts are written by hand.
    if std::env::var_os("GYRE_BLESS").is_some_and(|value| value != "0") {
        return;
    }
    check("golden.txt", || yaml::assert_golden(&json!({"one": 1, "two": 2}), "tests/failures/golden.yaml"));
    check("no-golden.txt", || yaml::assert_golden(&json!({}), PathBuf::from("tests/failures/absent.yaml")));
}

#[test]
fn cases_that_differ_or_are_missing() {
    if std::env::var_os("GYRE_BLESS").is_some_and(|value| value != "0") {
        return;
    }
    let plugin = Plugin::native::<echo::EchoReconciler>();
    check("cases.txt", || assert_cases(&plugin, "tests/cases"));
    check("no-cases.txt", || assert_cases(&plugin, "tests/failures"));
    check("no-folder.txt", || assert_cases(&plugin, "tests/absent"));
}

#[test]
fn a_plugin_with_an_invalid_name() {
    struct Nameless;
    impl gyre_sdk::Reconciler for Nameless {
        type Parent = serde_json::Value;
        type Settings = gyre_sdk::NoSettings;

        fn manifest() -> gyre_sdk::Manifest {
            gyre_sdk::Manifest::new("Nameless One", "0.1.0", gyre_sdk::Kind::new("example.com/v1", "Thing"))
        }

        fn reconcile(_: &Self::Parent, _: &Self::Settings, _: &gyre_sdk::Cluster) -> gyre_sdk::Result<gyre_sdk::Plan> {
            Ok(gyre_sdk::Plan::no_children())
        }
    }
    check("no-plugin.txt", || drop(Plugin::native::<Nameless>()));
}
