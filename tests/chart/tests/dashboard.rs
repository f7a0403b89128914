use std::collections::BTreeSet;

use gyre_chart_tests::{chart, dashboard};
use serde_json::Value;

/// The metrics of a host, which a test of the host compares with its real `/metrics`.
const METRICS: &str = include_str!("../metrics.txt");

fn read() -> Value {
    let path = chart().join("dashboards/gyre.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn every_query_names_metrics_that_there_are() {
    let known = dashboard::names(METRICS);
    assert!(known.len() > 30, "{known:?}");
    assert_eq!(dashboard::unknown(&read(), &known), Vec::<String>::new());
}

#[test]
fn every_panel_asks_for_something() {
    let dashboard = read();
    let queries = dashboard::queries(&dashboard);
    assert!(queries.len() > 20, "{queries:#?}");
    for query in &queries {
        assert!(!dashboard::metrics(&query.expression).is_empty(), "{query:?}");
    }
    let panels = dashboard["panels"].as_array().unwrap();
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert!(!panel["targets"].as_array().unwrap().is_empty(), "{}", panel["title"]);
    }
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has its own id");
}

#[test]
fn no_panel_lies_on_another() {
    let dashboard = read();
    let mut taken = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{}", panel["title"]);
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(taken.insert((x, y)), "{} lies on another", panel["title"]);
            }
        }
    }
}
