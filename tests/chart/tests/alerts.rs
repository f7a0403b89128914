//! The alerts: the guide and the chart have those of the file, and each fires when it should.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use gyre_chart_tests::helm::{self, Helm, NAMESPACE, Release};
use gyre_chart_tests::{blessing, chart, dashboard, root};
use gyre_controlplane::go_tools::ALERTTEST;
use serde_json::Value;

/// The metrics of a host, which a test of the host compares with its real `/metrics`.
const METRICS: &str = include_str!("../metrics.txt");

/// The metric of Prometheus itself: whether it reaches a replica.
const UP: &str = "up";

/// The job in the file. The chart replaces it.
const JOB: &str = "job=\"gyre-metrics\"";

/// The marks around the text that a test writes.
const MARKS: (&str, &str) = ("<!-- alerts: written by tests/chart with GYRE_BLESS=1 -->\n", "<!-- alerts end -->");

fn text() -> String {
    fs::read_to_string(chart().join("alerts/gyre.yaml")).unwrap()
}

fn groups(text: &str) -> Value {
    let file: Value = serde_saphyr::from_str(text).unwrap();
    file["groups"].clone()
}

fn alerts() -> Vec<Value> {
    let groups = groups(&text());
    let alerts: Vec<Value> =
        groups.as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect();
    assert!(alerts.len() > 10, "{alerts:?}");
    alerts
}

fn unit_tests() -> PathBuf {
    root().join("tests/chart/alerts.yaml")
}

#[test]
fn the_guide_has_the_alerts_of_the_chart() {
    let mut table = "| alert | severity | expression | for | because |\n|---|---|---|---|---|\n".to_owned();
    for alert in alerts() {
        let of = |pointer: &str| alert.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (name, severity, summary) = (of("/alert"), of("/labels/severity"), of("/annotations/summary"));
        assert!(!severity.is_empty() && !summary.is_empty(), "{alert}");
        writeln!(table, "| {name} | {severity} | `{}` | {} | {summary} |", of("/expr").replace('|', "\\|"), of("/for"))
            .unwrap();
    }
    let path = root().join("docs/operating.md");
    let guide = fs::read_to_string(&path).unwrap();
    let (before, rest) = guide.split_once(MARKS.0).expect("the guide has the mark");
    let (written, after) = rest.split_once(MARKS.1).expect("the guide has the second mark");
    if blessing() {
        fs::write(&path, format!("{before}{}{table}{}{after}", MARKS.0, MARKS.1)).unwrap();
    } else {
        assert_eq!(written, table, "GYRE_BLESS=1 writes it");
    }
}

#[test]
fn every_alert_names_metrics_that_there_are() {
    let known = dashboard::names(METRICS);
    for alert in alerts() {
        let metrics = dashboard::metrics(alert["expr"].as_str().unwrap());
        let unknown: Vec<&String> = metrics.iter().filter(|name| *name != UP && !known.contains(*name)).collect();
        assert!(!metrics.is_empty() && unknown.is_empty(), "{}: {unknown:?}", alert["alert"]);
    }
}

#[test]
fn the_chart_asks_for_the_host_of_the_release() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), "monitoring: {alerts: {enabled: true}}\n")?;
    let release = Release { name: "edge".to_owned(), ..Release::of(file.path())? };
    let objects = helm::documents(&helm.template(&release)?.map_err(anyhow::Error::msg)?)?;
    let rule = objects.iter().find(|object| object["kind"] == "PrometheusRule").context("no PrometheusRule")?;
    let job = format!("job=\"edge-gyre-metrics\", namespace=\"{NAMESPACE}\"");
    assert!(text().contains(JOB));
    assert_eq!(rule["spec"]["groups"], groups(&text().replace(JOB, &job)));

    // The ServiceMonitor gives each metric the name of this Service as its job.
    let is_service = |object: &Value| object["kind"] == "Service" && object["metadata"]["name"] == "edge-gyre-metrics";
    assert!(objects.iter().any(is_service));
    Ok(())
}

#[test]
fn every_alert_is_shown_to_fire_and_to_be_silent() {
    let tests: Value = serde_saphyr::from_str(&fs::read_to_string(unit_tests()).unwrap()).unwrap();
    let (mut fires, mut is_silent) = (BTreeSet::new(), BTreeSet::new());
    for case in tests["tests"].as_array().unwrap().iter().flat_map(|test| test["alert_rule_test"].as_array().unwrap()) {
        let has_alerts = case["exp_alerts"].as_array().is_some_and(|alerts| !alerts.is_empty());
        let cases = if has_alerts { &mut fires } else { &mut is_silent };
        cases.insert(case["alertname"].as_str().unwrap().to_owned());
    }
    let names: BTreeSet<String> = alerts().iter().map(|alert| alert["alert"].as_str().unwrap().to_owned()).collect();
    assert_eq!(fires, names, "they fire");
    assert_eq!(is_silent, names, "they are silent");
}

/// Runs the unit tests in a file, and returns whether they passed, and the output.
fn run_unit_tests(alerttest: &Path, file: &Path) -> anyhow::Result<(bool, String)> {
    let output = Command::new(alerttest).arg(file).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok((output.status.success(), said))
}

#[test]
fn alerts_fire_when_they_should() -> anyhow::Result<()> {
    let Some(alerttest) = ALERTTEST.or_skip()? else { return Ok(()) };
    let (has_passed, said) = run_unit_tests(&alerttest, &unit_tests())?;
    assert!(has_passed, "{said}");
    Ok(())
}

#[test]
fn alerttest_finds_alerts_that_fire_when_they_should_not() -> anyhow::Result<()> {
    let Some(alerttest) = ALERTTEST.or_skip()? else { return Ok(()) };
    let tests = fs::read_to_string(unit_tests())?;
    let rules = chart().join("alerts/gyre.yaml").display().to_string();
    // In the first case, the alert has other labels. In the second one, it fires already.
    for (text, other, expected) in [
        ("{severity: critical, job: gyre-metrics}", "{severity: info, job: gyre-metrics}", "GyreAbsent at 8m:"),
        ("{eval_time: 11m, alertname: GyreWatchDown}", "{eval_time: 12m, alertname: GyreWatchDown}", "GyreWatchDown at 12m:"),
    ] {
        assert!(tests.contains(text), "{text}");
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), tests.replace("../../charts/gyre/alerts/gyre.yaml", &rules).replace(text, other))?;
        let (has_passed, said) = run_unit_tests(&alerttest, file.path())?;
        assert!(!has_passed && said.contains(expected), "{said}");
    }
    Ok(())
}
