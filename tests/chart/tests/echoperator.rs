//! The values of echoperator's chart keep their names and meanings.

use std::collections::BTreeSet;
use std::fs;

use gyre_chart_tests::helm::{self, Helm, Release};
use gyre_chart_tests::root;
use serde_json::{Value, json};

/// The effect of a value: the kind of an object, a pointer, and the content there.
type Shows = (&'static str, &'static str, Value);

const CONTAINER: &str = "/spec/template/spec/containers/0";

/// Returns the path of each value, another setting, and its effects; null is nothing.
fn meanings() -> Vec<(&'static str, Value, Vec<Shows>)> {
    let environment = |variable: &'static str, value: &str| vec![("environment", variable, json!(value))];
    vec![
        (
            "nameOverride",
            json!("other"),
            vec![
                ("Deployment", "/metadata/name", json!("echoperator-other")),
                ("Deployment", "/spec/selector/matchLabels/app.kubernetes.io~1name", json!("other")),
            ],
        ),
        (
            "fullnameOverride",
            json!("other"),
            vec![
                ("Deployment", "/metadata/name", json!("other")),
                ("Service", "/metadata/name", json!("other-metrics")),
                ("ClusterRole", "/metadata/name", json!("other")),
                ("ServiceAccount", "/metadata/name", json!("other")),
                ("ServiceMonitor", "/metadata/name", json!("other")),
            ],
        ),
        ("image.repository", json!("r.example.com/g"), vec![("Deployment", "/image", json!("r.example.com/g:v0.0.1"))]),
        ("image.tag", json!("v9"), vec![("Deployment", "/image", json!("mmontes11/echoperator:v9"))]),
        ("image.pullPolicy", json!("Always"), vec![("Deployment", "/imagePullPolicy", json!("Always"))]),
        ("env", json!("local"), environment("/data/GYRE_LOG_FORMAT", "text")),
        ("logLevel", json!("debug"), environment("/data/GYRE_LOG_LEVEL", "debug")),
        ("numWorkers", json!(9), environment("/data/GYRE_WORKERS", "9")),
        // Besides the chart's own requests.
        ("resources", json!({"limits": {"cpu": "1"}}), vec![("Deployment", "/resources/limits", json!({"cpu": "1"}))]),
        (
            "nodeSelector",
            json!({"disk": "ssd"}),
            vec![("Deployment", "/spec/template/spec/nodeSelector", json!({"disk": "ssd"}))],
        ),
        (
            "ha.enabled",
            json!(false),
            vec![("Deployment", "/spec/replicas", json!(1)), ("environment", "/data/GYRE_HA", json!("false"))],
        ),
        ("ha.replicaCount", json!(5), vec![("Deployment", "/spec/replicas", json!(5))]),
        ("ha.leaderElection.leaseDurationSeconds", json!(60), environment("/data/GYRE_HA_LEASE_DURATION", "60s")),
        ("ha.leaderElection.renewDeadlineSeconds", json!(9), environment("/data/GYRE_HA_RENEW_DEADLINE", "9s")),
        ("ha.leaderElection.retryPeriodSeconds", json!(3), environment("/data/GYRE_HA_RETRY_PERIOD", "3s")),
        (
            "monitoring.enabled",
            json!(false),
            vec![
                ("Service", "", Value::Null),
                ("ServiceMonitor", "", Value::Null),
                ("environment", "/data/GYRE_METRICS", json!("false")),
            ],
        ),
        (
            "monitoring.path",
            json!("/other"),
            vec![
                ("environment", "/data/GYRE_METRICS_PATH", json!("/other")),
                ("ServiceMonitor", "/spec/endpoints/0/path", json!("/other")),
            ],
        ),
        (
            "monitoring.port",
            json!(9999),
            vec![
                ("environment", "/data/GYRE_METRICS_PORT", json!("9999")),
                ("Service", "/spec/ports/0/port", json!(9999)),
                ("Deployment", "/ports/0/containerPort", json!(9999)),
            ],
        ),
        ("monitoring.namespace", json!("other"), vec![("ServiceMonitor", "/metadata/namespace", json!("other"))]),
        ("monitoring.interval", json!("1m"), vec![("ServiceMonitor", "/spec/endpoints/0/interval", json!("1m"))]),
        (
            "monitoring.labels",
            json!({"release": "other"}),
            vec![("ServiceMonitor", "/metadata/labels/release", json!("other"))],
        ),
    ]
}

/// Collects the paths of all values that are no maps, and of maps with free keys.
fn paths(values: &Value, path: &str, found: &mut BTreeSet<String>) {
    match values.as_object() {
        Some(map) if !map.is_empty() && path != "monitoring.labels" => {
            for (key, value) in map {
                paths(value, format!("{path}.{key}").trim_start_matches('.'), found);
            }
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

fn shown<'a>(objects: &'a [Value], kind: &str, pointer: &str) -> &'a Value {
    let is_it = |object: &&Value| match kind {
        "environment" => object["data"]["GYRE_HA"].is_string(),
        kind => object["kind"] == kind,
    };
    let Some(object) = objects.iter().find(is_it) else { return &Value::Null };
    let of_container = [CONTAINER, pointer].concat();
    object.pointer(pointer).or_else(|| object.pointer(&of_container)).unwrap_or(&Value::Null)
}

#[test]
fn each_value_keeps_its_name_and_its_meaning() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let case = root().join("tests/chart/cases/echoperator/values.yaml");
    let all: Value = serde_saphyr::from_str(&fs::read_to_string(&case)?)?;
    let (mut documented, meanings) = (BTreeSet::new(), meanings());
    paths(&all, "", &mut documented);
    assert_eq!(meanings.iter().map(|(path, ..)| (*path).to_owned()).collect::<BTreeSet<_>>(), documented);

    let base = Release::of(&case)?;
    let render = |values: &Value| -> anyhow::Result<Vec<Value>> {
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), values.to_string())?;
        let release = Release { values: file.path().to_owned(), ..base.clone() };
        helm::documents(&helm.template(&release)?.map_err(anyhow::Error::msg)?)
    };
    let before = render(&all)?;
    for (path, value, shows) in meanings {
        let mut values = all.clone();
        *values.pointer_mut(&format!("/{}", path.replace('.', "/"))).unwrap() = value;
        let after = render(&values)?;
        for (kind, pointer, expected) in shows {
            assert_eq!(*shown(&after, kind, pointer), expected, "{path}: {kind} {pointer}");
            assert_ne!(*shown(&before, kind, pointer), expected, "{path}: {kind} {pointer} says so anyway");
        }
    }
    Ok(())
}
