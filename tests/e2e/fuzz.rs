//! `gyre fuzz`: its findings in plugins with defects, and that it has none in the shipped plugins.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use gyre_artifacts::{guests, probes};
use serde_json::Value;

use crate::harness::{GYRE, SHIPPED};

fn check(plugin: &str, files: &[&Path], more: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(GYRE);
    command.args(["fuzz", plugin]).args(more);
    for file in files {
        command.arg("-f").arg(file);
    }
    let Output { status, stdout, stderr } = command.output().expect("gyre runs");
    (status.code(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

/// Checks a plugin with one parent, and asserts that all findings have this name.
fn finds(plugin: &str, kind: &str, spec: &str, more: &[&str], expected: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("it's a parent.yaml");
    fs::write(&file, parent(kind, spec)).unwrap();
    let (code, said) = check(plugin, &[&file], &[&["-o", "json"], more].concat());
    assert_eq!(code, Some(1), "{kind}: {said}");
    let report: Value = serde_json::from_str(&said).unwrap();
    let found: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|finding| finding["finding"].as_str().unwrap()).collect();
    assert!(found.iter().all(|name| *name == expected), "{kind}: {said}");
    let again = paste(&(report["findings"][0]["reproduce"].as_str().unwrap().to_owned() + " -o json"));
    let again: Value = serde_json::from_str(&again).unwrap_or_else(|error| panic!("{error}: {again}"));
    assert_eq!(again["findings"], report["findings"], "{kind}");
    report["findings"][0].clone()
}

fn paste(line: &str) -> String {
    let folders = std::iter::once(Path::new(GYRE).parent().unwrap().to_owned());
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&others))).unwrap();
    let output = Command::new("sh").args(["-c", line]).env("PATH", path).output().expect("a shell runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{line}: {said}");
    said
}

fn parent(kind: &str, spec: &str) -> String {
    format!("apiVersion: guests.gyre.dev/v1\nkind: {kind}\nmetadata: {{name: it}}\nspec: {spec}\n")
}

fn objects(case: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(case).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| !["expected.yaml", "settings.yaml", "time.txt"].iter().any(|other| file.ends_with(other))).collect()
}

fn plugins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins")
}

/// Cases with expected findings, and the reason.
const BY_DESIGN: [(&str, &str); 2] = [
    ("echo/cases/gone", "a message is run once, so all is not as it was when another one was run meanwhile"),
    ("scheduled-echo/cases/wrong-schedule", "it is the API server that knows what a schedule is, and its words reach the user"),
];

#[test]
fn nothing_is_found_in_the_shipped_plugins() {
    for (plugin, name) in SHIPPED {
        let mut inputs = vec![(vec![plugins().join(name).join("samples")], "50")];
        let cases = fs::read_dir(plugins().join(name).join("cases")).unwrap().map(|case| case.unwrap().path());
        let cases = cases.filter(|case| !BY_DESIGN.iter().any(|(other, _)| case.ends_with(other)));
        inputs.extend(cases.map(|case| (objects(&case), "5")));
        for (files, drawn) in inputs {
            let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
            let (code, said) = check(plugin, &files, &["--cases", drawn]);
            assert_eq!(code, Some(0), "{name}, {files:?}: {said}");
            assert!(said.ends_with("No findings.\n"), "{said}");
        }
    }
}

#[test]
fn plugins_that_are_checked_together_get_only_their_own_parents() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        file
    };
    let [samples, brittle, modern] = [
        plugins().join("echo/samples"),
        write("brittle.yaml", &parent("Brittle", "{size: 1}")),
        write("modern.yaml", &parent("Modern", "{size: 1}")),
    ];
    let echo = gyre_artifacts::ECHO;
    let (code, said) = check(echo, &[&samples], &["--cases", "20", gyre_artifacts::XCA]);
    assert_eq!(code, Some(0), "{said}");
    for (other, file, found, word) in [
        (probes::BRITTLE, &brittle, "trap", "\"size\":0"),
        (probes::MODERN, &modern, "old-version", "Modern default/it, stored as"),
    ] {
        for (plugin, beside) in [(echo, other), (other, echo)] {
            let (code, said) = check(plugin, &[&samples, file], &["-o", "json", "--cases", "100", beside]);
            assert_eq!(code, Some(1), "{said}");
            let report: Value = serde_json::from_str(&said).unwrap();
            for finding in report["findings"].as_array().unwrap() {
                assert!(finding["finding"] == found && finding["case"].as_str().unwrap().contains(word), "{finding}");
            }
        }
    }
}

#[test]
fn an_answer_that_depends_on_earlier_calls_is_nondeterministic() {
    let finding = finds(probes::REMEMBERING, "Remembering", "{}", &[], "nondeterministic");
    let lines: Vec<&str> = finding["what"].as_str().unwrap().lines().map(str::trim_end).collect();
    assert_eq!(lines[1..3], ["--- at first", "+++ again"], "{finding}");
    let changed = |sign: char| lines[3..].iter().filter(|line| line.starts_with(sign)).copied().collect::<Vec<_>>();
    let [first, again] = ['-', '+'].map(changed);
    assert!(first.len() == 1 && first[0].contains("calls: "), "{finding}");
    assert!(again.len() == 1 && again[0].contains("calls: ") && again[0][1..] != first[0][1..], "{finding}");
}

#[test]
fn differences_between_answers_are_shown_without_values_of_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent("Remembering", "{secret: correct horse}")).unwrap();
    let (code, said) = check(probes::REMEMBERING, &[&file], &["--cases", "0"]);
    assert_eq!(code, Some(1), "{said}");
    let (_, shown) = said.split_once("+++ again\n").unwrap_or_else(|| panic!("no difference in {said}"));
    let redacted = |sign: &str, field: &str| {
        let begins = |line: &&str| line.trim_start().starts_with(sign) && line.contains(&format!("{field}: redacted-"));
        shown.lines().find(begins).unwrap_or_else(|| panic!("no {sign}{field} in {said}")).split("redacted-").nth(1).unwrap()
    };
    for sign in ["-", "+"] {
        assert_eq!(redacted(sign, "copy"), redacted(sign, "value"), "{said}");
    }
    assert_ne!(redacted("-", "value"), redacted("+", "value"), "{said}");
    assert!(!shown.contains("correct horse-"), "{said}");
    assert_eq!(said.matches("\nnondeterministic: ").count(), 1, "{said}");
}

#[test]
fn a_status_that_changes_at_each_start_is_restless_and_the_field_is_named() {
    let finding = finds(guests::RESTLESS_STATUS, "RestlessStatus", "{}", &[], "restless");
    assert!(finding["what"].as_str().unwrap().contains("status.seen"), "{finding}");
    let finding = finds(guests::RESTLESS_FAILURE, "RestlessFailure", "{}", &[], "restless");
    assert!(finding["what"].as_str().unwrap().contains("status.conditions[0].message"), "{finding}");
}

#[test]
fn a_plugin_that_requeues_within_a_second_is_a_hot_loop() {
    for spec in ["{requeueMilliseconds: 5}", "{requeueMilliseconds: 5, blind: true}", "{requeueMilliseconds: 999}"] {
        let finding = finds(probes::CLOCKWORK, "Clockwork", spec, &["--cases", "0"], "hot-loop");
        assert!(finding["what"].as_str().unwrap().contains("Clockwork default/it"), "{finding}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    for spec in ["{requeueMilliseconds: 1000}", "{}"] {
        fs::write(&file, parent("Clockwork", spec)).unwrap();
        let (code, said) = check(probes::CLOCKWORK, &[&file], &["--cases", "0"]);
        assert_eq!(code, Some(0), "{said}");
    }
}

#[test]
fn a_child_that_is_not_made_again_does_not_converge() {
    let finding = finds(probes::ABANDONING, "Abandoning", "{}", &[], "does-not-converge");
    assert_eq!(finding["case"], "ConfigMap default/it is removed");
}

#[test]
fn a_child_that_keeps_a_value_of_an_earlier_spec_is_not_restored() {
    let finding = finds(probes::RATCHETING, "Ratcheting", "{size: 1}", &[], "spec-not-restored");
    assert!(finding["what"].as_str().unwrap().contains("data.size: \"1\" became"), "{finding}");
}

#[test]
fn a_teardown_that_never_ends_is_found() {
    let finding = finds(probes::FINALIZING, "Finalizing", "{finalize: never}", &["--cases", "0"], "teardown-does-not-end");
    assert!(finding["what"].as_str().unwrap().contains("Finalizing default/it, with the finalizers"), "{finding}");
}

#[test]
fn finalizers_of_others_are_not_the_plugins_fault() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    let with = |spec: &str| parent("Finalizing", spec).replace("name: it", "name: it, finalizers: [backup.example.com/keep]");
    let child = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: it-a, finalizers: [backup.example.com/keep]}\n";
    fs::write(&file, with("{}") + child).unwrap();
    assert_eq!(
        notes(probes::FINALIZING, &[&file], &["--cases", "0", "--adopt"]),
        ["Finalizing default/it", "ConfigMap default/it-a"]
            .map(|object| format!("Finalizing default/it was deleted after these finalizers of {object} had been removed, which no controller here handles: backup.example.com/keep."))
    );
    fs::write(&file, with("{finalize: never}")).unwrap();
    let (code, said) = check(probes::FINALIZING, &[&file], &["--cases", "0"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("Finalizing default/it, with the finalizers [\"gyre.dev/finalizing\"]"), "{said}");
}

#[test]
fn a_valid_spec_that_makes_the_plugin_trap_is_found() {
    let finding = finds(probes::BRITTLE, "Brittle", "{size: 1}", &["--cases", "50"], "trap");
    assert!(finding["case"].as_str().unwrap().contains("\"size\":0"), "{finding}");
}

#[test]
fn generated_specs_match_patterns_and_formats_and_invalid_ones_are_counted_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent("Picky", "{code: it-1, address: 127.0.0.1, size: 2}")).unwrap();
    let (code, said) = check(probes::PICKY, &[&file], &["-o", "json", "--cases", "60"]);
    assert_eq!(code, Some(1), "{said}");
    let report: Value = serde_json::from_str(&said).unwrap();
    for finding in report["findings"].as_array().unwrap() {
        let what = finding["what"].as_str().unwrap();
        assert!(finding["finding"] == "trap" && finding["case"].as_str().unwrap().contains("-0"), "{said}");
        assert!(what.contains("a number that begins with 0") || what.contains("unreachable"), "{said}");
    }
    assert_eq!(report["tried"]["specsDrawn"], 60, "{said}");
    let refused = report["tried"]["specsDrawnInvalid"].as_u64().unwrap();
    assert!((20..=200).contains(&refused), "{said}");
    assert_eq!(report["tried"].get("specsNotDrawn"), None, "{said}");
}

#[test]
fn an_object_of_an_older_version_that_cannot_be_reconciled_is_found() {
    let finding = finds(probes::MODERN, "Modern", "{size: 1}", &["--cases", "20"], "old-version");
    let case = finding["case"].as_str().unwrap();
    assert!(case.contains("Modern default/it, stored as guests.gyre.dev/v1alpha1, is read as"), "{finding}");
    assert!(finding["what"].as_str().unwrap().contains("missing field `size`"), "{finding}");
}

#[test]
fn versions_that_read_the_same_object_differently_are_found() {
    let finding = finds(probes::MOODY, "Moody", "{}", &[], "old-version");
    assert!(finding["what"].as_str().unwrap().contains("data.size: \"3\" becomes \"1\""), "{finding}");
}

#[test]
fn faults_have_names() {
    finds(guests::TRAP, "Trap", "{}", &[], "trap");
    finds(guests::PANICS, "Panics", "{}", &[], "trap");
    finds(guests::ENDLESS_LOOP, "EndlessLoop", "{}", &["--call-deadline", "100ms"], "deadline");
    finds(guests::HUGE_MEMORY, "HugeMemory", "{}", &[], "memory");
    finds(guests::DEEP_RECURSION, "DeepRecursion", "{}", &[], "stack");
    finds(guests::LOG_FLOOD, "LogFlood", "{}", &[], "log-flood");
    finds(guests::DEEP_OUTPUT, "DeepOutput", "{}", &[], "bad-answer");
    finds(guests::ENDLESS_READS, "EndlessReads", "{}", &[], "too-many-reads");
}

#[test]
fn a_child_that_the_manifest_does_not_name_is_outside_of_it() {
    let finding = finds(guests::UNDECLARED_KIND, "UndeclaredKind", "{}", &[], "outside-manifest");
    assert!(finding["what"].as_str().unwrap().contains("ConfigMap"), "{finding}");
}

#[test]
fn a_child_that_no_api_server_takes_is_invalid() {
    finds(probes::MISNAMED, "Misnamed", "{}", &[], "invalid-child");
}

fn deployment(more: &str) -> String {
    let pod = "{metadata: {labels: {app: it}}, spec: {containers: [{name: main, image: busybox, resources: {limits: {cpu: 1000m}}}]}}";
    format!(
        "{{children: [{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: it}}, spec: {{selector: {{matchLabels: {{app: it}}}}, \
         template: {pod}{more}}}}}, {{apiVersion: v1, kind: Secret, metadata: {{name: it}}, stringData: {{key: value}}}}]}}"
    )
}

#[test]
fn a_child_with_a_field_that_its_kind_does_not_have_is_one_finding_that_names_the_field() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent("Verbatim", &deployment(", templat: {}"))).unwrap();
    let (code, said) = check(probes::VERBATIM, &[&file], &["-o", "json"]);
    assert_eq!(code, Some(1), "{said}");
    let report: Value = serde_json::from_str(&said).unwrap();
    let [finding] = report["findings"].as_array().unwrap().as_slice() else { panic!("one finding: {said}") };
    assert_eq!(finding["finding"], "invalid-child", "{said}");
    let what = finding["what"].as_str().unwrap();
    assert!(what.contains("Deployment default/it") && what.contains("spec.templat: field not declared in schema"), "{said}");
}

#[test]
fn normalization_by_the_api_server_is_not_restless() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent("Verbatim", &deployment(""))).unwrap();
    let (code, said) = check(probes::VERBATIM, &[&file], &["--cases", "0"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_call_that_takes_more_than_half_of_its_memory_is_too_large() {
    finds(probes::HOARDING, "Hoarding", "{}", &[], "too-large");
}

/// One of the doubling deadlines is between the duration of a call and twice that, on any machine.
/// On a busy machine, where durations vary, it may take another pass.
#[test]
fn a_call_that_takes_more_than_half_of_its_time_is_too_slow() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent("Dawdling", "{steps: 100000000}")).unwrap();
    let mut deadlines = (0..5).flat_map(|_| (1..14).map(|power| 10 << power));
    let is_found = deadlines.any(|deadline: u32| {
        let (_, said) = check(probes::DAWDLING, &[&file], &["--cases", "0", "--call-deadline", &format!("{deadline}ms")]);
        said.contains("too-slow: ")
    });
    assert!(is_found);
}

const CRON: &str = "{schedule: '*/5 * * * *'}";

/// Checks a cron probe, and returns its findings.
fn cron(plugin: &str, kind: &str, more: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent(kind, CRON)).unwrap();
    let (code, said) = check(plugin, &[&file], &[&["-o", "json", "--cases", "5"], more].concat());
    let report: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(code, Some(i32::from(report["findings"] != serde_json::json!([]))), "{said}");
    report["findings"].as_array().unwrap().clone()
}

const AT_MOST_ONE: &[&str] = &["--at-most-one", "Job"];

#[test]
fn nothing_is_found_in_a_right_cron_job() {
    assert!(cron(probes::CRON, "Cron", AT_MOST_ONE).is_empty());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent("Cron", CRON)).unwrap();
    let (_, said) = check(probes::CRON, &[&file], &["-o", "json", "--cases", "0"]);
    let tried = serde_json::from_str::<Value>(&said).unwrap()["tried"].clone();
    for key in ["dueTimes", "interruptions", "dueTimesWithRefusedChildren", "disturbances"] {
        assert!(tried[key].as_u64() >= Some(1), "{key} in {tried}");
    }
}

#[test]
fn a_run_that_is_lost_while_the_host_is_down_is_found() {
    let finding =
        finds(probes::CRON_LOSES_RUNS, "CronLosesRuns", CRON, &[AT_MOST_ONE, &["--cases", "5"]].concat(), "not-resumed");
    assert!(finding["case"].as_str().unwrap().starts_with("the host is down from "), "{finding}");
    assert!(finding["what"].as_str().unwrap().contains("\nmissing: Job default/it-"), "{finding}");
}

#[test]
fn two_jobs_at_once_are_found_if_the_check_is_told_that_only_one_may_run() {
    let more = [AT_MOST_ONE, &["--cases", "5"]].concat();
    let finding = finds(probes::CRON_OVERLAPS, "CronOverlaps", CRON, &more, "more-than-one");
    assert!(finding["what"].as_str().unwrap().starts_with("These run at the same time: Job default/it-"), "{finding}");
    assert!(cron(probes::CRON_OVERLAPS, "CronOverlaps", &[]).is_empty(), "several may run");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent("Cron", CRON)).unwrap();
    let (code, said) = check(probes::CRON, &[&file], &["--at-most-one", "Pod"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--at-most-one Pod") && said.contains("Job.v1.batch"), "{said}");
}

#[test]
fn a_job_that_runs_again_after_its_ttl_is_found() {
    let finding =
        finds(probes::CRON_RUNS_AGAIN, "CronRunsAgain", CRON, &[AT_MOST_ONE, &["--cases", "5"]].concat(), "runs-again");
    assert!(finding["case"].as_str().unwrap().ends_with("becomes complete, and is removed after its TTL"), "{finding}");
}

#[test]
fn a_status_that_counts_a_refused_run_is_found() {
    let more = [AT_MOST_ONE, &["--cases", "5"]].concat();
    let finding = finds(probes::CRON_CLAIMS_REFUSED, "CronClaimsRefused", CRON, &more, "claims-refused");
    assert!(finding["what"].as_str().unwrap().contains("\nstatus.lastScheduleTime: "), "{finding}");
}

#[test]
fn a_plugin_that_fails_for_now_is_not_restless_and_is_tried_further() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent("Ailing", "{fail: true}")).unwrap();
    let (code, said) = check(probes::AILING, &[&file], &["-o", "json", "--cases", "0"]);
    assert_eq!(code, Some(0), "{said}");
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&report["complete"], &report["tried"]["teardowns"]), (&Value::Bool(true), &serde_json::json!(1)), "{said}");
}

#[test]
fn a_status_that_its_schema_rejects_is_found() {
    let finding = finds(probes::AILING, "Ailing", "{status: {size: many}}", &["--cases", "0"], "invalid-status");
    assert!(finding["what"].as_str().unwrap().contains("status.size"), "{finding}");
}

#[test]
fn a_field_of_the_status_that_its_schema_lacks_is_found() {
    let finding = finds(probes::AILING, "Ailing", "{status: {size: 1, colour: red}}", &["--cases", "0"], "dropped-status");
    let what = "The API server drops fields of the status of Ailing default/it, because the schema lacks them: status.colour.";
    assert_eq!(finding["what"], what);
}

#[test]
fn a_child_of_a_kind_that_is_not_served_is_found() {
    let finding = finds(probes::AILING, "Ailing", "{child: true}", &["--cases", "0"], "kind-not-served");
    assert!(finding["what"].as_str().unwrap().contains("Absent"), "{finding}");
}

#[test]
fn kept_children_are_disturbed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent("Cron", CRON)).unwrap();
    let (code, said) = check(probes::CRON, &[&file], &["-o", "json", "--cases", "0"]);
    assert_eq!(code, Some(0), "{said}");
    let report: Value = serde_json::from_str(&said).unwrap();
    // Removed, complete, failed, and both with a removal after the TTL.
    assert_eq!(report["tried"]["disturbances"], 5, "{said}");
    let notes = report["notes"].to_string();
    assert!(!notes.contains("has no child"), "{notes}");
}

/// The test of each kind of finding.
const CAUGHT: [(&str, fn()); 25] = [
    ("nondeterministic", an_answer_that_depends_on_earlier_calls_is_nondeterministic),
    ("restless", a_status_that_changes_at_each_start_is_restless_and_the_field_is_named),
    ("hot-loop", a_plugin_that_requeues_within_a_second_is_a_hot_loop),
    ("does-not-converge", a_child_that_is_not_made_again_does_not_converge),
    ("spec-not-restored", a_child_that_keeps_a_value_of_an_earlier_spec_is_not_restored),
    ("not-resumed", a_run_that_is_lost_while_the_host_is_down_is_found),
    ("more-than-one", two_jobs_at_once_are_found_if_the_check_is_told_that_only_one_may_run),
    ("runs-again", a_job_that_runs_again_after_its_ttl_is_found),
    ("claims-refused", a_status_that_counts_a_refused_run_is_found),
    ("invalid-status", a_status_that_its_schema_rejects_is_found),
    ("dropped-status", a_field_of_the_status_that_its_schema_lacks_is_found),
    ("kind-not-served", a_child_of_a_kind_that_is_not_served_is_found),
    ("teardown-does-not-end", a_teardown_that_never_ends_is_found),
    ("old-version", an_object_of_an_older_version_that_cannot_be_reconciled_is_found),
    ("trap", faults_have_names),
    ("deadline", faults_have_names),
    ("memory", faults_have_names),
    ("stack", faults_have_names),
    ("log-flood", faults_have_names),
    ("too-many-reads", faults_have_names),
    ("bad-answer", faults_have_names),
    ("outside-manifest", a_child_that_the_manifest_does_not_name_is_outside_of_it),
    ("invalid-child", a_child_that_no_api_server_takes_is_invalid),
    ("too-slow", a_call_that_takes_more_than_half_of_its_time_is_too_slow),
    ("too-large", a_call_that_takes_more_than_half_of_its_memory_is_too_large),
];

#[test]
fn each_kind_of_finding_has_a_test_with_a_broken_plugin() {
    let output = Command::new(GYRE).args(["fuzz", "--help"]).output().expect("gyre runs");
    let help = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, names) = help.split_once("A finding is one of:").unwrap_or_else(|| panic!("no names in {help}"));
    let (names, _) = names.split_once('.').expect("an end");
    let names: Vec<&str> = names.split(", ").map(str::trim).collect();
    assert_eq!(names, CAUGHT.map(|(name, _)| name), "a finding without a test, or a test without a finding");
}

#[test]
fn a_finding_is_kept_as_files_that_render_shows_it_with() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent("Brittle", "{size: 1}")).unwrap();
    let kept = folder.path().join("what is kept");
    let more = ["--cases", "50", "--keep", kept.to_str().unwrap()];
    let (code, said) = check(probes::BRITTLE, &[&file], &more);
    assert_eq!(code, Some(1), "{said}");
    let line = said.lines().find_map(|line| line.trim().strip_prefix("To reproduce it: ")).expect("a command");
    assert!(line.starts_with("gyre render ") && kept.join("1-trap.yaml").exists(), "{line}");
    assert!(paste(line).contains("Warning Trapped"), "{line}");
    assert_eq!(check(probes::BRITTLE, &[&file], &more).1, said);
}

#[test]
fn a_reproduction_asks_for_the_same_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let given = |more: &[&str]| {
        let mut command = Command::new(GYRE);
        command.args(["fuzz", guests::TRAP, "-f", "-"]).args(more).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("gyre runs");
        child.stdin.take().unwrap().write_all(parent("Trap", "{}").as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    let said = given(&[]);
    let line = format!("To reproduce it with the same objects on standard input: gyre fuzz {} -f - ", guests::TRAP);
    assert!(said.contains(&line), "{said}");
    let report = |said: &str| serde_json::from_str::<Value>(said).unwrap()["findings"][0]["reproduce"].clone();
    assert_eq!(report(&given(&["-o", "json"])), Value::Null);
    let line = report(&given(&["-o", "json", "--keep", kept.to_str().unwrap()]));
    assert!(paste(line.as_str().unwrap()).contains("Trapped"), "{line}");
}

#[test]
fn a_folder_that_cannot_be_created_is_reported_before_the_first_experiment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent("Verbatim", "{children: []}")).unwrap();
    // Without a finding, nothing would be written there.
    let (code, said) = check(probes::VERBATIM, &[&file], &["--cases", "0", "--keep", file.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("cannot create the directory") && said.contains("name another with --keep"), "{said}");
}

#[test]
fn a_reproduction_repeats_all_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let given = [
        "--namespace=default",
        "--adopt",
        "--max-retries=2",
        "--quarantine-after=never",
        "--call-deadline=1999ms",
        "--call-memory=63Mi",
    ];
    let own = ["--time=2026-02-01T00:00:00Z", "--seed=7", "--cases=3"];
    let file = folder.path().join("parent.yaml");
    fs::write(&file, parent("Remembering", "{}")).unwrap();
    for keep in [&[][..], &["--keep", kept.to_str().unwrap()]] {
        let more = [&given[..], &own[..], &["-o", "json"], keep].concat();
        let (code, said) = check(probes::REMEMBERING, &[&file], &more);
        assert_eq!(code, Some(1), "{said}");
        let report: Value = serde_json::from_str(&said).unwrap();
        let line = report["findings"][0]["reproduce"].as_str().unwrap();
        for option in own.iter().chain(&given) {
            assert!(line.contains(&format!(" {option}")), "{option}: {line}");
        }
        assert!(paste(line).contains("nondeterministic: "), "{line}");
    }
}

/// Returns the notes of a check without findings, which JSON and text have alike.
fn notes(plugin: &str, files: &[&Path], more: &[&str]) -> Vec<String> {
    let (code, said) = check(plugin, files, &[&["-o", "json"], more].concat());
    assert_eq!(code, Some(0), "{said}");
    let report: Value = serde_json::from_str(&said).unwrap();
    let notes: Vec<String> = serde_json::from_value(report["notes"].clone()).unwrap();
    let (_, text) = check(plugin, files, more);
    let shown: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("Note: ")).collect();
    assert_eq!(shown, notes, "{text}");
    notes
}

#[test]
fn skipped_experiments_are_reported_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parents.yaml");
    let many: Vec<String> =
        (0..13).map(|number| parent("Finalizing", "{}").replace("name: it", &format!("name: it-{number}"))).collect();
    fs::write(&file, many.join("---\n")).unwrap();
    assert_eq!(
        notes(probes::FINALIZING, &[&file], &["--cases", "0"]),
        [
            "3 of 13 parents were left out: they were not deleted, and their specs were not changed.",
            "6 of 26 children were left out: they were not removed, changed or finished.",
        ]
    );
    let site = "apiVersion: web.gyre.dev/v1alpha1\nkind: Website\nmetadata: {name: hello}\nspec: {template: none, title: a, host: a.example.com}\n";
    fs::write(&file, site).unwrap();
    assert_eq!(
        notes(gyre_artifacts::WEBSITE, &[&file], &["--cases", "5"]),
        ["Website default/hello is not Ready: TemplateMissing; it has no child that could be changed."]
    );
    assert_eq!(
        notes(gyre_artifacts::POD_LOG, &[&plugins().join("pod-log/samples")], &[]),
        [
            "No specs of Pod were generated: neither the plugin nor the files contain the CustomResourceDefinition of Pod.v1.",
            "The specs of 1 of 1 parents were not changed: no other valid spec is known for them.",
        ]
    );
    fs::write(&file, parent("Verbatim", &deployment(""))).unwrap();
    assert_eq!(notes(probes::VERBATIM, &[&file], &["--cases", "0"]), [""; 0]);
}

#[test]
fn the_calls_of_a_check_are_linear_in_the_number_of_parents() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parents.yaml");
    let calls = |count: u64| {
        let many = (0..count).map(|number| parent("Finalizing", "{}").replace("name: it", &format!("name: it-{number:02}")));
        fs::write(&file, many.collect::<Vec<_>>().join("---\n")).unwrap();
        let (_, said) = check(probes::FINALIZING, &[&file], &["-o", "json", "--cases", "10"]);
        let report: Value = serde_json::from_str(&said).unwrap();
        let counted = |name: &str| report["tried"][name].as_u64().unwrap_or_default();
        counted("callsMadeAgain") + counted("callsNotMadeAgain")
    };
    let [few, many] = [12, 32].map(calls);
    // Each parent is called a few times in the setup that has all parents.
    let alone = (many - few) / 20;
    assert!((1..10).contains(&alone), "{few} and {many} calls");
}

#[test]
fn files_without_a_parent_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.yaml");
    fs::write(&file, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: it}\n").unwrap();
    let (code, said) = check(probes::BRITTLE, &[&file], &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("the files contain no Brittle.v1.guests.gyre.dev"), "{said}");
}

#[test]
fn without_files_it_begins_with_an_object_that_is_generated_from_the_schema() {
    let (code, said) = check(gyre_artifacts::GREETER, &[], &["--cases", "3"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("kind: Greeting") && said.contains("message:") && said.contains("No findings."), "{said}");
    let again = check(gyre_artifacts::GREETER, &[], &["--cases", "3"]).1;
    assert_eq!(again, said, "the same seed generates the same object");
    let (code, said) = check(gyre_artifacts::POD_LOG, &[], &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("contains no schema of Pod.v1: name files with objects, with -f"), "{said}");
}
