//! The website plugin, which reads a template and defaults.

use std::collections::{BTreeMap, BTreeSet};

use gyre_controlplane::AuditEvent;
use serde_json::{Value, json};

use crate::harness::{Cluster, Host, config_map, websites};

const WEBSITES: usize = 20;
const TEMPLATES: [&str; 2] = ["plain", "fancy"];

fn template_of(number: usize) -> &'static str {
    TEMPLATES[number % TEMPLATES.len()]
}

fn name(number: usize) -> String {
    format!("site-{number}")
}

fn made_from(template: &str) -> BTreeSet<String> {
    (0..WEBSITES).filter(|number| template_of(*number) == template).map(name).collect()
}

fn website(number: usize) -> Value {
    json!({
        "apiVersion": "web.gyre.dev/v1alpha1", "kind": "Website",
        "metadata": { "name": name(number), "namespace": "composed" },
        "spec": { "template": template_of(number), "title": format!("Site {number}"), "host": "example.com" },
    })
}

fn template(name: &str, text: &str) -> String {
    config_map("composed", name, json!({ "index.html": format!("{text}: {{{{title}}}}") })).to_string()
}

fn served(cluster: &Cluster) -> BTreeMap<String, (String, i64)> {
    let contents: BTreeMap<String, Value> = cluster
        .list("composed", "configmaps")
        .into_iter()
        .map(|content| (content["metadata"]["name"].as_str().unwrap().to_owned(), content))
        .collect();
    let deployments = cluster.list("composed", "deployments");
    let of = |deployment: &Value| {
        let name = deployment["metadata"]["name"].as_str().unwrap().to_owned();
        let content = contents.get(&format!("{name}-content"))?["data"]["index.html"].as_str()?.to_owned();
        Some((name, (content, deployment["spec"]["replicas"].as_i64()?)))
    };
    deployments.iter().filter_map(of).collect()
}

/// Waits until every Website with this template serves this text with this number of replicas.
fn await_served(cluster: &Cluster, template: &str, text: &str, replicas: i64) {
    let websites = made_from(template);
    cluster.eventually(&format!("all of {template} to serve {text:?} with {replicas} replicas"), || {
        let served = served(cluster);
        let is_served = |(name, now): (&String, &(String, i64))| {
            !websites.contains(name) || (now.0.starts_with(&format!("{text}: ")) && now.1 == replicas)
        };
        (websites.iter().all(|name| served.contains_key(name)) && served.iter().all(is_served)).then_some(())
    });
}

fn plans(host: &Host) -> BTreeMap<String, usize> {
    (0..WEBSITES).map(|number| (name(number), host.plans_about(&format!("composed/{}", name(number))))).collect()
}

fn called_since(host: &Host, before: &BTreeMap<String, usize>) -> BTreeSet<String> {
    plans(host).into_iter().filter(|(name, count)| before[name] != *count).map(|(name, _)| name).collect()
}

/// Returns the names of the written objects by kind, without what follows the name of the parent.
fn written(requests: &[AuditEvent]) -> BTreeMap<String, BTreeSet<String>> {
    let mut written: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in requests.iter().filter(|event| event.is_write()) {
        let name = event.name.split('.').next().unwrap_or_default();
        let name = name.strip_suffix("-content").unwrap_or(name);
        written.entry(event.resource.clone()).or_default().insert(name.to_owned());
    }
    written
}

#[test]
fn a_change_of_a_template_or_the_defaults_rolls_exactly_the_dependent_websites() {
    let Some(cluster) = Cluster::for_test("composed", &["composed"]) else { return };
    let _websites = websites();
    // WebsiteDefaults are cluster-scoped, so the host is not confined to namespaces.
    let host = cluster.host(&[gyre_artifacts::WEBSITE], &[]);
    let websites: Vec<Value> = (0..WEBSITES).map(website).collect();
    cluster.apply_all(&websites);
    cluster.eventually("templates to be missed", || {
        let websites = cluster.list("composed", "websites");
        let misses = |website: &Value| {
            crate::harness::condition(website, "Ready").is_some_and(|ready| ready["reason"] == "TemplateMissing")
        };
        websites.iter().all(misses).then_some(())
    });
    for name in TEMPLATES {
        cluster.apply(&template(name, "first"));
    }
    for name in TEMPLATES {
        await_served(&cluster, name, "first", 1);
    }
    let services: BTreeSet<String> = cluster
        .all_ready("composed", "websites", WEBSITES)
        .iter()
        .map(|website| website["metadata"]["name"].as_str().unwrap().to_owned())
        .filter(|name| cluster.get("composed", "service", name).is_some())
        .collect();
    assert_eq!(services.len(), WEBSITES);
    cluster.settled(&host);

    let Some(start) = cluster.audit_mark() else { return };
    let before = plans(&host);
    cluster.apply(&template("fancy", "second"));
    await_served(&cluster, "fancy", "second", 1);
    cluster.all_ready("composed", "websites", WEBSITES);
    cluster.settled(&host);
    assert_eq!(called_since(&host, &before), made_from("fancy"));
    let of_it = made_from("fancy");
    let requests = cluster.requests(start);
    let written_kinds = written(&requests);
    for (kind, names) in &written_kinds {
        assert_eq!(*names, of_it, "{kind}");
    }
    let kinds: Vec<&str> = written_kinds.keys().map(String::as_str).collect();
    assert_eq!(kinds, ["configmaps", "deployments", "websites"], "Services do not depend on it, and it is no event");
    let writes = requests.iter().filter(|event| event.is_write()).count();
    // The first change of a child that was created by POST also converts its managed fields.
    assert_eq!(writes, (2 * 2 + 1) * of_it.len(), "content and pods with their managed fields, and the status, once each");

    // An unused template, followed by a used one as a fence.
    let before = plans(&host);
    cluster.apply(&template("unused", "unseen"));
    cluster.apply(&template("plain", "third"));
    await_served(&cluster, "plain", "third", 1);
    cluster.settled(&host);
    assert_eq!(called_since(&host, &before), made_from("plain"));

    let start = cluster.audit_mark().unwrap();
    let before = plans(&host);
    let defaults = |replicas: u32| {
        json!({
            "apiVersion": "web.gyre.dev/v1alpha1", "kind": "WebsiteDefaults", "metadata": { "name": "everywhere" },
            "spec": { "replicas": replicas },
        })
        .to_string()
    };
    cluster.apply(&defaults(3));
    await_served(&cluster, "plain", "third", 3);
    await_served(&cluster, "fancy", "second", 3);
    cluster.settled(&host);
    let all: BTreeSet<String> = (0..WEBSITES).map(name).collect();
    assert_eq!(called_since(&host, &before), all);
    let written = written(&cluster.requests(start));
    assert_eq!(written.keys().map(String::as_str).collect::<Vec<_>>(), ["deployments", "websites"]);
    assert!(written.values().all(|names| *names == all), "{written:?}");
    cluster.kubectl(&["delete", "websitedefaults", "everywhere"]);
    await_served(&cluster, "plain", "third", 1);

    cluster.kubectl(&["delete", "-n", "composed", "configmap", "plain"]);
    for name in made_from("plain") {
        cluster.reason("composed", "website", &name, "Ready", "TemplateMissing");
    }
    cluster.settled(&host);
    await_served(&cluster, "plain", "third", 1);
    await_served(&cluster, "fancy", "second", 1);
    cluster.kubectl(&["delete", "-n", "composed", "website", "--all"]);
}
