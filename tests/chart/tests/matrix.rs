//! Combinations of all switches of the chart; the golden cases set one or a few.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Context as _;
use gyre_chart_tests::helm::{self, Helm, Release};
use serde_json::{Map, Value, json};

use crate::laws;

fn switches() -> [(&'static str, [Value; 2]); 15] {
    let either = || [json!(false), json!(true)];
    [
        ("ha.enabled", either()),
        ("ha.replicaCount", [json!(1), json!(3)]),
        ("ha.leaderElection.scope", [json!("host"), json!("mount")]),
        ("monitoring.enabled", either()),
        ("monitoring.serviceMonitor", either()),
        ("monitoring.dashboard.enabled", either()),
        ("networkPolicy.enabled", either()),
        ("crds.enabled", either()),
        ("crds.keep", either()),
        ("rbac.create", either()),
        ("rbac.namespaced", either()),
        ("serviceAccount.create", either()),
        ("podDisruptionBudget.enabled", either()),
        ("codeCache.volume", either()),
        ("rollOnChange", either()),
    ]
}

fn set(values: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        Some((key, rest)) => {
            let inner = values.entry(key).or_insert_with(|| json!({}));
            set(inner.as_object_mut().unwrap(), rest, value);
        }
        None => drop(values.insert(path.to_owned(), value)),
    }
}

/// Returns 16 sets of values with all settings of any two switches: an orthogonal array of strength
/// 2.
pub(crate) fn matrix() -> Vec<Value> {
    let row = |row: usize| {
        let mut values = Map::new();
        for (column, (path, settings)) in (1_usize..).zip(switches()) {
            let [off, on] = settings;
            let is_on = (row & column).count_ones() % 2 == 1;
            set(&mut values, path, if is_on { on } else { off });
        }
        // Without namespaces there are no Roles.
        values.insert("namespaces".to_owned(), json!(["team-a", "team-b"]));
        Value::Object(values)
    };
    (0..=switches().len()).map(row).collect()
}

pub(crate) fn render(helm: &Helm, values: &Value) -> anyhow::Result<Vec<Value>> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), values.to_string())?;
    let rendered = helm.template(&Release::of(file.path())?)?.map_err(anyhow::Error::msg);
    helm::documents(&rendered.with_context(|| values.to_string())?)
}

#[test]
fn any_two_switches_have_all_their_settings() {
    let rows = matrix();
    let at = |row: &Value, path: &str| row.pointer(&format!("/{}", path.replace('.', "/"))).unwrap().to_string();
    for (one, _) in switches() {
        for (other, _) in switches().into_iter().filter(|(other, _)| *other != one) {
            let seen: BTreeSet<_> = rows.iter().map(|row| (at(row, one), at(row, other))).collect();
            assert_eq!(seen.len(), 4, "{one}, {other}");
        }
    }
}

#[test]
fn all_combinations_of_two_switches_keep_the_laws() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    for values in matrix() {
        let objects = render(&helm, &values)?;
        let broken = laws::broken(&objects);
        assert!(broken.is_empty(), "{values}:\n{}", broken.join("\n"));
        let is_there = |kind: &str| objects.iter().any(|object| object["kind"] == kind);
        let is_on = |path: &str| values.pointer(path) == Some(&json!(true));
        for (kind, expected) in [
            ("Service", is_on("/monitoring/enabled")),
            ("ServiceMonitor", is_on("/monitoring/enabled") && is_on("/monitoring/serviceMonitor")),
            ("NetworkPolicy", is_on("/networkPolicy/enabled")),
            ("CustomResourceDefinition", is_on("/crds/enabled")),
            ("Role", is_on("/rbac/create")),
            ("ClusterRole", is_on("/rbac/create") && !is_on("/rbac/namespaced")),
            ("ServiceAccount", is_on("/serviceAccount/create")),
            (
                "PodDisruptionBudget",
                is_on("/podDisruptionBudget/enabled") && is_on("/ha/enabled") && values["ha"]["replicaCount"] == 3,
            ),
        ] {
            assert_eq!(is_there(kind), expected, "{kind} with {values}");
        }
    }
    Ok(())
}
