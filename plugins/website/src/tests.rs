//! The answers of the plugin for different caches.

use gyre_sdk::{Condition, ConditionStatus, Event, Failure, Kind, ReadError, Severity, testing};
use serde_json::{Value, json};

use super::*;

const CONFIG_MAP: Kind = ConfigMap::KIND;
const DEPLOYMENT: Kind = Deployment::KIND;
const WEBSITE: Kind = WebsiteSpec::KIND;
const WEBSITE_DEFAULTS: Kind = DefaultsSpec::KIND;

fn website(spec: Value) -> Value {
    json!({
        "apiVersion": "web.gyre.dev/v1alpha1",
        "kind": "Website",
        "metadata": {"name": "hello", "namespace": "default", "uid": "1"},
        "spec": spec,
    })
}

fn plain() -> Value {
    website(json!({"template": "welcome", "title": "Good day.", "host": "example.com"}))
}

fn config_map(namespace: &str, name: &str, index: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"index.html": index},
    })
}

fn defaults(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "web.gyre.dev/v1alpha1", "kind": "WebsiteDefaults", "metadata": {"name": name}, "spec": spec})
}

fn with_template() -> testing::Cluster {
    testing::Cluster::new().with(config_map("default", "welcome", "<h1>{{title}}</h1>"))
}

fn reconcile(website: Value, cluster: &testing::Cluster) -> Plan {
    testing::reconcile::<WebsiteReconciler>(website, json!({}), cluster).unwrap()
}

fn deployment(plan: &Plan) -> Value {
    plan.applied(DEPLOYMENT, "hello").unwrap()
}

#[track_caller]
fn check_ready(plan: &Plan, status: ConditionStatus, severity: Severity, reason: &str, message: &str) {
    let (reason, message) = (reason.to_owned(), message.to_owned());
    let ready = Condition { kind: "Ready".to_owned(), status, reason: reason.clone(), message: message.clone() };
    assert_eq!(plan.conditions, [ready]);
    assert_eq!(plan.events, [Event { severity, reason, message }]);
}

#[test]
fn a_website_is_rendered_served_and_named() {
    let plan = reconcile(plain(), &with_template());
    let labels = json!({"app.kubernetes.io/instance": "hello"});
    let fingerprint = plan.status_json()["content"].clone();
    let expected = [
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "hello-content", "labels": labels},
            "data": {"index.html": "<h1>Good day.</h1>"},
        }),
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "hello", "labels": labels},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels, "annotations": {"web.gyre.dev/content": fingerprint}},
                    "spec": {
                        "containers": [{
                            "name": "web",
                            "image": "nginxinc/nginx-unprivileged:1.29-alpine",
                            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                            "volumeMounts": [{"name": "content", "mountPath": "/usr/share/nginx/html", "readOnly": true}],
                            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                        }],
                        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                        "volumes": [{"name": "content", "configMap": {"name": "hello-content"}}],
                    },
                },
            },
        }),
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "hello", "labels": labels},
            "spec": {
                "selector": labels,
                "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}],
            },
        }),
    ];
    assert_eq!(plan.all_applied(), expected);
    let message = "Deployment hello serves ConfigMap welcome, rendered to hello-content";
    check_ready(&plan, ConditionStatus::True, Severity::Normal, "Rendered", message);
}

#[test]
fn a_missing_template_is_no_error_and_leaves_what_there_is() {
    // A ConfigMap of another namespace does not count.
    let cluster = testing::Cluster::new().with(config_map("other", "welcome", ""));
    let plan = reconcile(plain(), &cluster);
    assert_eq!((&plan.children, &plan.status), (&None, &None));
    let message = "there is no ConfigMap welcome to render; what was rendered before stays";
    check_ready(&plan, ConditionStatus::False, Severity::Warning, "TemplateMissing", message);
}

#[test]
fn a_website_is_not_rendered_from_what_it_is_rendered_into() {
    let cluster = testing::Cluster::new().with(config_map("default", "hello-content", "{{title}}"));
    let plan = reconcile(website(json!({"template": "hello-content", "title": "{{title}} again"})), &cluster);
    assert_eq!((&plan.children, &plan.status), (&None, &None));
    let message = "ConfigMap hello-content is what this Website is rendered into; name another one as its template";
    check_ready(&plan, ConditionStatus::False, Severity::Warning, "TemplateIsContent", message);
}

#[test]
fn another_content_gives_the_pods_another_annotation_and_changes_nothing_else() {
    let annotation = "/spec/template/metadata/annotations/web.gyre.dev~1content";
    let before = deployment(&reconcile(plain(), &with_template()));
    let changed = testing::Cluster::new().with(config_map("default", "welcome", "<h2>{{title}}</h2>"));
    let mut after = deployment(&reconcile(plain(), &changed));
    assert_ne!(after.pointer(annotation), before.pointer(annotation));
    *after.pointer_mut(annotation).unwrap() = before.pointer(annotation).unwrap().clone();
    assert_eq!(after, before);
}

#[test]
fn a_change_that_shows_nowhere_in_the_content_leaves_the_pods_alone() {
    let before = reconcile(plain(), &with_template());
    let elsewhere = website(json!({"template": "welcome", "title": "Good day.", "host": "elsewhere.example.com"}));
    assert_eq!(reconcile(elsewhere, &with_template()), before);
    let mut template = config_map("default", "welcome", "<h1>{{title}}</h1>");
    template["metadata"]["labels"] = json!({"of": "no interest"});
    assert_eq!(reconcile(plain(), &testing::Cluster::new().with(template)), before);
}

#[track_caller]
fn check_defaults(all: &[(&str, i64)], expected: Value) {
    let with = |cluster: testing::Cluster, (name, priority): &(&str, i64)| {
        cluster.with(defaults(name, json!({"priority": priority, "image": format!("registry.example.com/{name}")})))
    };
    let plan = reconcile(plain(), &all.iter().fold(with_template(), with));
    let status = plan.status_json();
    assert_eq!(status.get("defaults").unwrap_or(&Value::Null), &expected);
    let image = deployment(&plan).pointer("/spec/template/spec/containers/0/image").unwrap().clone();
    let of_defaults = expected.as_str().map(|name| format!("registry.example.com/{name}"));
    assert_eq!(image, of_defaults.unwrap_or_else(|| "nginxinc/nginx-unprivileged:1.29-alpine".to_owned()));
}

#[test]
fn of_several_defaults_the_highest_priority_holds_and_then_the_first_name() {
    check_defaults(&[], Value::Null);
    check_defaults(&[("a", 0)], json!("a"));
    check_defaults(&[("a", 1), ("b", 2), ("c", -3)], json!("b"));
    check_defaults(&[("c", 2), ("b", 2), ("a", 1)], json!("b"));
    check_defaults(&[("a", i64::MIN), ("b", i64::MAX)], json!("b"));
}

#[test]
fn defaults_hold_where_the_website_says_nothing() {
    let spec = json!({"replicas": 3, "labels": {"team": "web", "app.kubernetes.io/instance": "mine"}});
    let cluster = with_template().with(defaults("everywhere", spec));
    let plan = reconcile(plain(), &cluster);
    let deployment = deployment(&plan);
    assert_eq!(deployment["spec"]["replicas"], 3);
    let labels = json!({"app.kubernetes.io/instance": "hello", "team": "web"});
    for child in plan.all_applied() {
        assert_eq!(child["metadata"]["labels"], labels, "{child}");
    }
    assert_eq!(deployment["spec"]["template"]["metadata"]["labels"], labels);
    // A selector is immutable.
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], json!({"app.kubernetes.io/instance": "hello"}));

    let own = website(json!({"template": "welcome", "replicas": 0}));
    assert_eq!(self::deployment(&reconcile(own, &cluster))["spec"]["replicas"], 0);
}

#[test]
fn defaults_that_are_not_served_yet_are_waited_for() {
    let cluster = with_template().not_serving(WEBSITE_DEFAULTS);
    let failure = testing::reconcile::<WebsiteReconciler>(plain(), json!({}), &cluster).unwrap_err();
    assert_eq!(failure, Failure::transient(ReadError::NotServed(WEBSITE_DEFAULTS)));
}

#[test]
fn every_name_of_a_website_gives_valid_names_of_children() {
    for name in ["3.example.com".to_owned(), "long".repeat(60)] {
        let mut website = plain();
        website["metadata"]["name"] = json!(name);
        let names = reconcile(website, &with_template()).all_applied();
        for child in &names {
            let name = child["metadata"]["name"].as_str().unwrap();
            let label = child.pointer("/metadata/labels/app.kubernetes.io~1instance").unwrap().as_str().unwrap();
            assert!(name.len() <= 63 && label.len() <= 63 && !name.contains('.'), "{name} {label}");
        }
        assert!(names[2]["metadata"]["name"].as_str().unwrap().starts_with(|first: char| first.is_ascii_lowercase()));
    }
}

#[test]
fn binary_files_are_served_as_they_are() {
    let mut template = config_map("default", "welcome", "");
    template["binaryData"] = json!({"logo.png": "iVBORw0K"});
    let plan = reconcile(plain(), &testing::Cluster::new().with(template));
    assert_eq!(plan.applied(CONFIG_MAP, "hello-content").unwrap()["binaryData"], json!({"logo.png": "iVBORw0K"}));
}

#[test]
fn the_crds_are_of_what_is_reconciled_and_read_and_admit_what_is_written() {
    let manifest = WebsiteReconciler::manifest();
    let crds: Vec<Value> = manifest.crds.iter().map(|crd| serde_json::from_slice(crd).unwrap()).collect();
    for (crd, kind, scope) in [(&crds[0], WEBSITE, "Namespaced"), (&crds[1], WEBSITE_DEFAULTS, "Cluster")] {
        let spec = &crd["spec"];
        assert_eq!(spec["names"]["kind"], kind.kind);
        assert_eq!(spec["scope"], scope);
        let version = spec["versions"][0]["name"].as_str().unwrap();
        assert_eq!(format!("{}/{version}", spec["group"].as_str().unwrap()), kind.api_version);
        let name = format!("{}.{}", spec["names"]["plural"].as_str().unwrap(), kind.group());
        assert_eq!(crd["metadata"]["name"], name);
    }
    let known = &crds[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"];
    let plan = reconcile(plain(), &with_template().with(defaults("everywhere", json!({}))));
    for field in plan.status_json().as_object().unwrap().keys() {
        assert!(known.get(field).is_some(), "{field} would be pruned");
    }
}

#[test]
fn the_crd_files_are_derived_from_the_types() {
    testing::assert_crd_file::<WebsiteSpec>("crd.json");
    testing::assert_crd_file::<DefaultsSpec>("defaults.crd.json");
}

#[track_caller]
fn check_filled_in(template: &str, expected: &str) {
    let values = [("title", "T & {{host}}"), ("host", "example.com"), ("name", "hello"), ("namespace", "default")].into();
    assert_eq!(fill_in(template, &values), expected);
}

#[test]
fn placeholders_are_filled_in_once_and_all_else_stays() {
    let check = check_filled_in;
    check("", "");
    check("plain", "plain");
    check("{{title}}", "T & {{host}}");
    check("<{{ host }}/{{name}}.{{namespace}}>", "<example.com/hello.default>");
    check("{{other}} {{ title", "{{other}} {{ title");
    check("}} {{} {{}}", "}} {{} {{}}");
    check("{{{host}}}", "{example.com}");
    check("{{ é {{host}}", "{{ é example.com");
    check("{{a{{name}}b}}", "{{ahellob}}");
}

#[test]
fn filling_in_takes_linear_time() {
    let braces = "{".repeat(1 << 20);
    check_filled_in(&braces, &braces);
}

#[test]
fn the_fingerprint_is_of_the_names_and_the_texts() {
    let content = |data: Value, binary: Value| {
        let mut template = config_map("default", "welcome", "");
        template["data"] = data;
        template["binaryData"] = binary;
        reconcile(plain(), &testing::Cluster::new().with(template)).status_json()["content"].clone()
    };
    let one = content(json!({"a": "1", "b": "2"}), json!({}));
    assert_eq!(content(json!({"b": "2", "a": "1"}), json!({})), one);
    for other in [
        content(json!({"a": "1", "b": "3"}), json!({})),
        content(json!({"a": "1", "c": "2"}), json!({})),
        content(json!({"a": "1b", "": "2"}), json!({})),
        content(json!({}), json!({})),
    ] {
        assert_ne!(other, one);
    }
}
