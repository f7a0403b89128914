//! Native tests let a plugin read what the contract lets it read.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    ChildKind, Cluster, Failure, Kind, Manifest, Metadata, NoSettings, Plan, ReadError, ReadKind, Reconciler, Result, Strategy,
    Time, log, testing,
};

const PARENT: Kind = Kind::new("example.com/v1", "Parent");
const JOB: Kind = Kind::new("batch/v1", "Job");
const CONFIG_MAP: Kind = Kind::new("v1", "ConfigMap");
const SECRET: Kind = Kind::new("v1", "Secret");
const NODE: Kind = Kind::new("v1", "Node");

#[derive(Deserialize)]
struct Reading {
    read: Read,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Read {
    Children(String),
    Get(String, Option<String>, String),
    List(String, Option<String>, Option<String>),
    Clock,
}

struct Reader;

impl Reconciler for Reader {
    type Parent = Reading;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("reader", "0.1.0", PARENT)
            .child_kind(ChildKind::new(JOB, Strategy::Apply))
            .read_kind(ReadKind::new(CONFIG_MAP).labels("app=web"))
            .read_kind(ReadKind::new(SECRET).in_namespace("vault").metadata_only())
            .read_kind(ReadKind::new(NODE))
    }

    fn reconcile(parent: &Reading, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let kind = |name: &str| [JOB, CONFIG_MAP, SECRET, NODE, PARENT].into_iter().find(|kind| kind.kind == name).unwrap();
        let found = match &parent.read {
            Read::Children(name) => cluster.dynamic(kind(name)).children()?,
            Read::Get(name, None, object) => cluster.dynamic(kind(name)).get(object)?.into_iter().collect(),
            Read::Get(name, Some(namespace), object) => {
                cluster.dynamic(kind(name)).in_namespace(namespace).get(object)?.into_iter().collect()
            }
            Read::List(name, namespace, selector) => {
                let reads = cluster.dynamic(kind(name));
                let reads = namespace.iter().fold(reads, |reads, namespace| reads.in_namespace(namespace));
                match selector {
                    Some(selector) => reads.list(selector)?,
                    None => reads.list_all()?,
                }
            }
            Read::Clock => return Ok(Plan::keep_children().status(json!({"found": [cluster.now().to_string()]}))),
        };
        log::info("read", &[("count", &found.len().to_string())]);
        Ok(Plan::keep_children().status(json!({"found": found})))
    }

    fn finalize(_: &Reading, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::no_children().keep_child(JOB.named("last").in_namespace("elsewhere")))
    }
}

fn object(kind: Kind, namespace: Option<&str>, name: &str, labels: Value) -> Value {
    json!({
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"namespace": namespace, "name": name, "labels": labels},
        "data": {"key": "value"},
    })
}

fn owned_job(name: &str, owner: Value) -> Value {
    let mut job = object(JOB, Some("default"), name, json!({}));
    job["metadata"]["ownerReferences"] = json!([owner]);
    job
}

fn cluster() -> testing::Cluster {
    let web = || json!({"app": "web"});
    testing::Cluster::new()
        .with(owned_job("second", json!({"uid": "1", "controller": true})))
        .with(owned_job("first", json!({"uid": "1", "controller": true})))
        .with(owned_job("not-controlled", json!({"uid": "1"})))
        .with(owned_job("of-another", json!({"uid": "2", "controller": true})))
        .with(object(CONFIG_MAP, Some("default"), "web", web()))
        .with(object(CONFIG_MAP, Some("other"), "web", json!({"app": "web", "tier": "front"})))
        .with(object(CONFIG_MAP, Some("default"), "invisible", json!({"app": "api"})))
        .with(object(SECRET, Some("vault"), "key", json!({})))
        .with(object(SECRET, Some("default"), "key", json!({})))
        .with(object(NODE, None, "node", json!({})))
}

fn read(read: Value, cluster: &testing::Cluster) -> Result<Plan> {
    let parent = json!({"metadata": {"namespace": "default", "name": "parent", "uid": "1"}, "read": read});
    testing::reconcile::<Reader>(parent, json!({}), cluster)
}

#[track_caller]
fn check(reading: Value, expected: &[(&str, &str)]) {
    let status = read(reading, &cluster()).unwrap().status_json();
    let name = |object: &Value| serde_json::from_value::<Metadata>(object["metadata"].clone()).unwrap();
    let found: Vec<Metadata> = status["found"].as_array().unwrap().iter().map(name).collect();
    let found: Vec<_> = found.iter().map(|found| (found.namespace.as_deref().unwrap_or(""), found.name.as_str())).collect();
    assert_eq!(found, expected);
}

#[track_caller]
fn check_error(reading: Value, cluster: &testing::Cluster, expected: Failure) {
    assert_eq!(read(reading, cluster), Err(expected));
}

#[test]
fn children_are_what_the_parent_controls() {
    check(json!({"children": "Job"}), &[("default", "first"), ("default", "second")]);
}

#[test]
fn get_without_a_namespace_reads_the_namespace_of_the_parent() {
    check(json!({"get": ["ConfigMap", null, "web"]}), &[("default", "web")]);
    check(json!({"get": ["ConfigMap", "other", "web"]}), &[("other", "web")]);
    check(json!({"get": ["ConfigMap", null, "absent"]}), &[]);
    check(json!({"get": ["Node", null, "node"]}), &[("", "node")]);
}

#[test]
fn objects_outside_of_the_declared_reads_are_invisible() {
    check(json!({"get": ["ConfigMap", null, "invisible"]}), &[]);
    check(json!({"list": ["ConfigMap", null, null]}), &[("default", "web"), ("other", "web")]);
    check(json!({"list": ["ConfigMap", null, "tier=front"]}), &[("other", "web")]);
    check(json!({"list": ["ConfigMap", "default", null]}), &[("default", "web")]);
    check(json!({"list": ["Secret", null, null]}), &[("vault", "key")]);
    let secret = read(json!({"get": ["Secret", "vault", "key"]}), &cluster()).unwrap().status_json();
    assert_eq!(secret["found"][0]["data"], Value::Null);
}

#[test]
fn reading_a_kind_that_is_not_declared_granted_or_served_is_an_error() {
    let cluster = cluster().not_granting(NODE).not_serving(JOB);
    let terminal = |error: ReadError| Failure::Terminal(error.to_string());
    check_error(json!({"children": "ConfigMap"}), &cluster, terminal(ReadError::NotDeclared(CONFIG_MAP)));
    check_error(json!({"get": ["Job", null, "first"]}), &cluster, terminal(ReadError::NotDeclared(JOB)));
    check_error(json!({"list": ["Node", null, null]}), &cluster, terminal(ReadError::NotGranted(NODE)));
    check_error(json!({"get": ["Secret", "default", "key"]}), &cluster, terminal(ReadError::NotGranted(SECRET)));
    let invalid = ReadError::InvalidSelector("found `b` where in, notin, =, ==, !=, < or > is expected".to_owned());
    check_error(json!({"list": ["ConfigMap", null, "a b"]}), &cluster, terminal(invalid));
    let not_served = Failure::Transient(ReadError::NotServed(JOB).to_string());
    check_error(json!({"children": "Job"}), &cluster, not_served);
}

#[test]
fn input_that_does_not_fit_the_types_is_a_terminal_failure_with_the_reason() {
    let failure = testing::reconcile::<Reader>(json!({}), json!({}), &cluster()).unwrap_err();
    assert_eq!(failure, Failure::terminal("the object is not as expected: missing field `read` at line 1 column 2"));
    let failure = testing::reconcile::<Reader>(json!({"read": {"children": "Job"}}), json!({"a": 1}), &cluster()).unwrap_err();
    let expected = "the settings are not as expected: unknown field `a`, there are no fields at line 1 column 4";
    assert_eq!(failure, Failure::terminal(expected));
    assert!(testing::validate_settings::<Reader>(json!({"a": 1})).is_err());
}

#[test]
fn finalize_and_the_log_can_be_inspected() {
    let parent = json!({"read": {"children": "Job"}});
    let plan = testing::finalize::<Reader>(parent, json!({}), &cluster()).unwrap();
    assert!(!plan.releases_parent && plan.keeps(&JOB.named("last").in_namespace("elsewhere")));
    testing::take_log();
    check(json!({"get": ["ConfigMap", null, "absent"]}), &[]);
    let fields = vec![("count".to_owned(), "0".to_owned())];
    assert_eq!(testing::take_log(), [testing::LogLine { level: log::Level::Info, message: "read".to_owned(), fields }]);
}

#[test]
fn the_clock_shows_what_the_test_set() {
    let cluster = cluster().at(Time::from_unix(1_767_225_600));
    assert_eq!(read(json!("clock"), &cluster).unwrap().status_json(), json!({"found": ["2026-01-01T00:00:00Z"]}));
}

#[test]
#[should_panic(expected = "the test did not set it")]
fn reading_the_clock_panics_if_the_test_did_not_set_it() {
    let _ = read(json!("clock"), &cluster());
}
