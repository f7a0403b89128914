//! Tests of the typed form: given a parent and objects, a plugin answers this.

use std::collections::BTreeMap;
use std::time::Duration;

use gyre_sdk_derive::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Answer, given};
use crate::k8s::{ConfigMap, Job, Pod, Secret};
use crate::{
    ChildKind, Cluster, ConditionStatus, CustomResource as _, Event, Failure, Manifest, NoSettings, Object, ObservedCondition,
    OwnerReference, Plan, Reconciler, Result, Strategy, Time,
};

/// The answers of the plugin.
#[derive(Clone, Copy, Deserialize)]
enum Answers {
    WaitsAndApplies,
    LeavesAndKeeps,
    Metadata,
    Secret,
    Pods,
    Certificate,
    NoCertificate,
    NotReadyFor,
    Age,
    Undeclared,
    KeepsUndeclared,
    DeclaredStrategy,
    UndeclaredStrategy,
    DeletesParent,
    LabelsParent,
    AnnotatesParent,
    ReleasesParent,
    OptionalNames,
}

#[derive(Deserialize, CustomResource)]
#[resource(group = "example.com", version = "v1", kind = "Answering")]
struct AnsweringSpec {
    #[schema(json = r#"{"type": "string"}"#)]
    answers: Answers,
}

/// A kind of somebody else.
#[derive(Deserialize, Serialize, CustomResource)]
#[resource(group = "cert-manager.io", version = "v1", kind = "Certificate")]
#[serde(rename_all = "camelCase")]
struct CertificateSpec {
    secret_name: String,
}

/// A spec that JSON cannot have, because the keys of its map are no texts.
#[derive(Deserialize, Serialize, CustomResource)]
#[resource(group = "example.com", version = "v1", kind = "Odd")]
struct OddSpec {
    #[schema(json = r#"{"type": "object"}"#)]
    keys: BTreeMap<Vec<u8>, bool>,
}

struct AnsweringReconciler;

impl Reconciler for AnsweringReconciler {
    type Parent = Object<AnsweringSpec>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        crate::manifest!(Self::Parent)
            .child::<ConfigMap>(Strategy::Apply)
            .child_kind(ChildKind::new(Job::KIND, Strategy::CreateOnly).up_to(Strategy::Apply))
            .child::<Object<CertificateSpec>>(Strategy::Apply)
            .reads::<Secret>()
            .reads::<Pod>()
            .sets("/metadata/labels")
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        match parent.spec.answers {
            Answers::WaitsAndApplies => Ok(Plan::wait("Missing", "it is missing").apply(ConfigMap::new("one"))),
            Answers::LeavesAndKeeps => Ok(Plan::keep_children().keep_child(Job::named("one"))),
            Answers::Metadata => {
                let metadata = &parent.metadata;
                let told = json!({"uid": metadata.uid, "namespace": metadata.namespace, "generation": metadata.generation});
                Ok(Plan::keep_children().status(told))
            }
            Answers::Secret => {
                let secret = cluster.get::<Secret>("login")?;
                let password = secret.as_ref().and_then(|secret| secret.data().get("password"));
                let bytes = secret.as_ref().and_then(|secret| secret.data().bytes("key"));
                Ok(Plan::keep_children().status(json!({"password": password, "key": bytes})))
            }
            Answers::Pods => {
                let by_text = cluster.list::<Pod>("app=web")?.len();
                let by_labels = cluster.in_namespace("default").list::<Pod>([("app", "web")])?.len();
                let all = cluster.list_all::<Pod>()?.len();
                Ok(Plan::keep_children().status([by_text, by_labels, all]))
            }
            Answers::Certificate => {
                let certificate = Object::new("web", CertificateSpec { secret_name: "web-tls".to_owned() });
                Ok(Plan::children([certificate.with_namespace("team-a").with_labels([("app", "web")])]))
            }
            Answers::NoCertificate => {
                let keys = BTreeMap::from([(vec![1], true)]);
                Ok(Plan::children([Object::new("odd", OddSpec { keys })]))
            }
            Answers::NotReadyFor => {
                let ready = parent.condition("Ready").filter(ObservedCondition::is_false);
                let lasts = ready.map(|ready| ready.age(cluster.now()).as_secs());
                Ok(Plan::keep_children().status(lasts))
            }
            Answers::Age => {
                let secret = cluster.get::<Secret>("login")?.and_then(|secret| secret.metadata().creation_timestamp());
                Ok(Plan::keep_children().status(json!({"age": parent.age(cluster.now()).as_secs(), "secret": secret})))
            }
            Answers::Undeclared => Ok(Plan::children([Secret::new("one")])),
            Answers::KeepsUndeclared => Ok(Plan::no_children().keep_child(Secret::named("one"))),
            Answers::DeclaredStrategy => Ok(Plan::children([Job::new("one").strategy(Strategy::Apply)])),
            Answers::UndeclaredStrategy => Ok(Plan::children([Job::new("one").strategy(Strategy::Recreate)])),
            Answers::DeletesParent => Ok(Plan::keep_children().delete_parent()),
            Answers::LabelsParent => Ok(Plan::no_children().parent_label("size", "small")),
            Answers::AnnotatesParent => Ok(Plan::no_children().parent_annotation("size", "small")),
            Answers::ReleasesParent => Ok(Plan::finalized()),
            Answers::OptionalNames => {
                let none: Option<String> = None;
                let some = Some("login".to_owned());
                let found = cluster.get::<Secret>(&none)?.is_none() && cluster.get::<Secret>(&some)?.is_some();
                Ok(Plan::keep_children().status(found && cluster.get::<Secret>(some.as_deref())?.is_some()))
            }
        }
    }
}

fn answering(answers: Answers) -> Object<AnsweringSpec> {
    Object::new("it", AnsweringSpec { answers })
}

fn answer(answers: Answers) -> Answer {
    given::<AnsweringReconciler>(answering(answers)).reconcile()
}

#[test]
fn a_child_cannot_be_added_to_a_plan_that_leaves_the_children_as_they_are() {
    for answers in [Answers::WaitsAndApplies, Answers::LeavesAndKeeps] {
        let answer = answer(answers);
        let Failure::Terminal(message) = answer.failure() else { panic!("{answer}") };
        assert!(message.starts_with("a child was added to a plan that leaves the children as they are"), "{message}");
    }
}

#[test]
fn a_parent_has_the_metadata_that_the_test_does_not_say() {
    let expected = json!({"uid": "uid-of-it", "namespace": "default", "generation": 1});
    assert_eq!(answer(Answers::Metadata).status(), expected);
    let mut parent = answering(Answers::Metadata).with_namespace("team-a");
    parent.metadata.generation = 3;
    let expected = json!({"uid": "uid-of-it", "namespace": "team-a", "generation": 3});
    assert_eq!(given::<AnsweringReconciler>(parent).reconcile().status(), expected);
}

#[test]
fn the_data_of_a_secret_are_read_as_texts_and_bytes() {
    let read = |secret: Secret| given::<AnsweringReconciler>(answering(Answers::Secret)).with(secret).reconcile().status();
    let expected = json!({"password": "hunter2", "key": [255, 0]});
    let data = Secret::new("login").with_data([("password", b"hunter2".as_slice()), ("key", &[255, 0])]);
    assert_eq!(read(data), expected);
    let string_data = Secret::new("login").with_string_data([("password", "hunter2")]).with_data([("key", [255, 0])]);
    assert_eq!(read(string_data), expected);
    assert_eq!(answer(Answers::Secret).status(), json!({"password": null, "key": null}));
}

#[test]
fn a_list_is_of_the_objects_with_these_labels() {
    let pod = |name: &str, app: &str| Pod::new(name).with_labels([("app", app)]);
    let test = given::<AnsweringReconciler>(answering(Answers::Pods));
    let test = test.with(pod("a", "web")).with(pod("b", "api")).with(pod("c", "web").with_namespace("other"));
    assert_eq!(test.reconcile().status(), json!([2, 1, 3]));
}

#[test]
fn an_object_of_any_kind_is_a_child() {
    let answer = answer(Answers::Certificate);
    let applied = answer.plan().applied(CertificateSpec::KIND, "web").unwrap();
    let expected = json!({
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": "web", "namespace": "team-a", "labels": {"app": "web"}},
        "spec": {"secretName": "web-tls"},
    });
    assert_eq!(applied, expected);
    assert_eq!(answer.applies::<Object<CertificateSpec>>("web").spec.secret_name, "web-tls");
}

fn with_job(answers: Answers, name: &str) -> Answer {
    given::<AnsweringReconciler>(answering(answers)).with_child(Job::new(name)).reconcile()
}

#[test]
fn a_child_that_the_plan_leaves_out_is_deleted() {
    with_job(Answers::Certificate, "old").deletes::<Job>("old");
}

#[test]
#[should_panic(expected = "the parent has no child Job.v1.batch other")]
fn a_child_that_does_not_exist_is_not_deleted() {
    with_job(Answers::Certificate, "old").deletes::<Job>("other");
}

#[test]
#[should_panic(expected = "the children stay as they are, and so does Job.v1.batch old")]
fn no_child_is_deleted_by_a_plan_that_lists_none() {
    with_job(Answers::Metadata, "old").deletes::<Job>("old");
}

#[test]
#[should_panic(expected = "Job.v1.batch one is not deleted")]
fn an_applied_child_is_not_deleted() {
    with_job(Answers::DeclaredStrategy, "one").deletes::<Job>("one");
}

#[test]
fn a_child_that_cannot_be_serialised_is_a_terminal_failure() {
    let answer = answer(Answers::NoCertificate);
    let Failure::Terminal(message) = answer.failure() else { panic!("{answer}") };
    assert!(message.contains("its spec cannot be serialised"), "{message}");
}

#[test]
fn a_plugin_sees_how_long_a_condition_lasts() {
    let since: Time = "2026-01-01T00:00:00Z".parse().unwrap();
    let ready = |status: ConditionStatus| ObservedCondition {
        kind: "Ready".to_owned(),
        status,
        reason: "Testing".to_owned(),
        message: String::new(),
        last_transition_time: since,
    };
    let lasts = |conditions: Vec<ObservedCondition>| {
        let parent = answering(Answers::NotReadyFor).with_conditions(conditions);
        given::<AnsweringReconciler>(parent).at(since + Duration::from_secs(90)).reconcile().status()
    };
    assert_eq!(lasts(vec![ready(ConditionStatus::False)]), json!(90));
    assert_eq!(lasts(vec![ready(ConditionStatus::True)]), Value::Null);
    assert_eq!(lasts(Vec::new()), Value::Null);
    assert!(ready(ConditionStatus::False).status == "False");
}

#[test]
fn conditions_are_read_from_a_status_of_any_type() {
    #[derive(Deserialize)]
    struct Counted {
        count: u32,
    }
    let status = json!({"count": 2, "conditions": [{"type": "Ready", "status": "Unknown"}, {"type": "no status"}, 3]});
    let metadata = json!({"name": "it", "creationTimestamp": "2026-01-01T00:00:00Z"});
    let object = json!({"metadata": metadata, "spec": {}, "status": status});
    let object: Object<NoSettings, Counted> = serde_json::from_value(object).unwrap();
    assert_eq!(object.status.as_ref().unwrap().count, 2);
    let [ready] = object.conditions().try_into().unwrap();
    assert_eq!((ready.kind.as_str(), ready.status), ("Ready", ConditionStatus::Unknown));
    assert_eq!(ready.last_transition_time, object.metadata.creation_timestamp);
    assert_eq!(object.condition("Available"), None);
}

#[test]
fn a_status_that_no_plan_has_written_is_none() {
    #[derive(Debug, Deserialize)]
    struct Counted {
        count: u32,
    }
    /// The status of somebody else's kind.
    #[derive(Debug, Deserialize)]
    struct Issued {
        conditions: Vec<Value>,
    }
    fn status<T: serde::de::DeserializeOwned>(status: &Value) -> serde_json::Result<Option<T>> {
        let object = json!({"metadata": {"name": "it", "creationTimestamp": null}, "spec": {}, "status": status});
        serde_json::from_value::<Object<NoSettings, T>>(object).map(|object| object.status)
    }
    let of_the_host = json!({"conditions": [{"type": "Ready", "status": "False"}], "observedGeneration": 1});
    for unwritten in [Value::Null, json!({}), of_the_host.clone()] {
        assert!(status::<Counted>(&unwritten).unwrap().is_none(), "{unwritten}");
    }
    assert_eq!(status::<Counted>(&json!({"count": 2, "conditions": []})).unwrap().unwrap().count, 2);
    assert!(status::<Counted>(&json!({"other": 2})).is_err());
    assert_eq!(status::<Issued>(&of_the_host).unwrap().unwrap().conditions.len(), 1);
    assert_eq!(status::<Value>(&of_the_host).unwrap().unwrap(), of_the_host);
}

#[test]
fn what_a_test_does_not_say_was_created_when_the_test_is() {
    let now: Time = "2026-01-01T00:00:00Z".parse().unwrap();
    let test = || given::<AnsweringReconciler>(answering(Answers::Age)).at(now).with(Secret::new("login"));
    assert_eq!(test().reconcile().status(), json!({"age": 0, "secret": "2026-01-01T00:00:00Z"}));
    let mut older = answering(Answers::Age);
    older.metadata.creation_timestamp = now - Duration::from_secs(60);
    assert_eq!(given::<AnsweringReconciler>(older).at(now).reconcile().status(), json!({"age": 60, "secret": null}));
}

#[test]
#[should_panic(expected = "add `.child::<Secret>(Strategy::…)` to it")]
fn a_child_of_a_kind_that_is_not_declared_fails_the_test() {
    answer(Answers::Undeclared);
}

#[test]
#[should_panic(expected = "the manifest does not declare Secret of v1 as a child kind")]
fn a_kept_child_of_a_kind_that_is_not_declared_fails_the_test() {
    answer(Answers::KeepsUndeclared);
}

#[test]
#[should_panic(expected = "ChildKind::new(Job::KIND, Strategy::CreateOnly).up_to(Strategy::Recreate)")]
fn a_strategy_that_is_not_declared_fails_the_test() {
    answer(Answers::DeclaredStrategy).applies_with::<Job>("one", Strategy::Apply);
    answer(Answers::UndeclaredStrategy);
}

#[test]
#[should_panic(expected = "add `.deletes_parent()` to it")]
fn a_deletion_of_the_parent_that_is_not_declared_fails_the_test() {
    answer(Answers::DeletesParent);
}

#[test]
fn fields_of_the_parent_are_in_the_plan() {
    assert_eq!(*answer(Answers::LabelsParent).sets("/metadata/labels/size"), json!("small"));
    let both = Plan::no_children().parent_label("a", "1").parent_label("b", "2").parent_fields(json!({"spec": {"c": 3}}));
    assert_eq!(both.parent, Some(json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"c": 3}})));
}

#[test]
#[should_panic(expected = r#"add `.sets("/metadata/annotations/size")` to it"#)]
fn a_field_of_the_parent_that_is_not_declared_fails_the_test() {
    answer(Answers::AnnotatesParent);
}

#[test]
fn only_finalize_lets_the_parent_go() {
    let failure = answer(Answers::ReleasesParent).failure().to_string();
    assert!(failure.contains("which is for finalize"), "{failure}");
}

#[test]
fn a_name_may_be_optional() {
    let answer = given::<AnsweringReconciler>(answering(Answers::OptionalNames)).with(Secret::new("login")).reconcile();
    assert_eq!(answer.status(), json!(true));
}

/// It must delete nothing by an early return.
#[test]
fn a_plan_that_was_only_begun_leaves_the_children() {
    #![expect(deprecated, reason = "it is a name that authors guess")]
    assert_eq!(Plan::new().children, None);
    let plan = Plan::new().child(ConfigMap::new("one")).child_with(ConfigMap::new("two"), Strategy::Recreate);
    assert_eq!((plan.children.map(|children| children.len()), plan.mistake), (Some(2), None));
}

#[test]
fn metadata_and_a_status_of_others_are_read() {
    let owner = json!({"apiVersion": "v1", "kind": "Node", "name": "one", "uid": "1", "controller": true, "more": {}});
    let metadata = json!({"name": "it", "ownerReferences": [owner, {}]});
    for status in [json!(null), json!(3), json!({"phase": "Running"})] {
        let object = json!({"metadata": metadata, "spec": {}, "status": status});
        let object: Object<NoSettings> = serde_json::from_value(object).unwrap();
        let [node, unknown] = object.metadata.owner_references.as_slice() else { panic!("{object:?}") };
        let texts = [&node.api_version, &node.kind, &node.name, &node.uid];
        assert_eq!((texts.map(String::as_str), node.controller), (["v1", "Node", "one", "1"], true));
        assert_eq!(*unknown, OwnerReference::default());
        assert_eq!(object.status.is_some(), !status.is_null());
    }
}

#[test]
#[should_panic(expected = "add `.finalizes()` to the manifest")]
fn a_test_cannot_finalize_what_the_host_would_not() {
    let _ = given::<AnsweringReconciler>(answering(Answers::Metadata)).finalize();
}

#[derive(Deserialize, CustomResource)]
#[resource(group = "example.com", version = "v1", kind = "Everywhere", cluster_scoped)]
struct EverywhereSpec {}

struct EverywhereReconciler;

impl Reconciler for EverywhereReconciler {
    type Parent = Object<EverywhereSpec>;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        crate::manifest!(Self::Parent).finalizes()
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::no_children().status(&parent.metadata.namespace))
    }

    fn finalize(_: &Self::Parent, _: &NoSettings, _: &Cluster) -> Result<Plan> {
        Ok(Plan::finalized())
    }
}

#[test]
fn a_parent_of_a_cluster_scoped_kind_has_no_namespace() {
    let parent = || Object::new("it", EverywhereSpec {});
    assert_eq!(given::<EverywhereReconciler>(parent()).reconcile().status(), Value::Null);
    given::<EverywhereReconciler>(parent()).finalize().is_finalized();
}

#[test]
fn the_names_of_other_frameworks_do_what_is_meant() {
    #![expect(deprecated, reason = "these are the names")]
    let plan = Plan::no_children().child(ConfigMap::new("one")).requeue(Duration::from_secs(300));
    assert_eq!(plan, Plan::children([ConfigMap::new("one")]).requeue_after(Duration::from_secs(300)));
    let plan = Plan::keep_children().event(Event::warning("Full", "it is full")).delete_parent();
    assert_eq!(Plan::unchanged().warning("Full", "it is full").delete_self(), plan);
    assert_eq!(crate::Error::permanent("no"), Failure::terminal("no"));
    assert_eq!(answering(Answers::Age).name_any(), "it");
    let manifest = |manifest: Manifest| manifest.child::<Job>(Strategy::Apply).reads::<Secret>();
    let new = || Manifest::new("it", "1", EverywhereSpec::KIND);
    assert_eq!(new().owns::<Job>(Strategy::Apply).read::<Secret>(), manifest(new()));
    assert_eq!(new().owns::<Job>(Strategy::Apply).watches::<Secret>(), manifest(new()));
}

struct Labels;

impl Reconciler for Labels {
    type Parent = crate::k8s::Namespace;
    type Settings = NoSettings;

    fn manifest() -> Manifest {
        Manifest::new("labels", "1", crate::k8s::Namespace::KIND).reads::<crate::k8s::Namespace>()
    }

    fn reconcile(parent: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        let metadata = parent.metadata();
        let (namespace, uid) = (parent.namespace(), metadata.uid());
        let age = metadata.creation_timestamp().map(|created| (cluster.now() - created).as_secs());
        let all = cluster.list_all::<crate::k8s::Namespace>()?.len();
        Ok(Plan::keep_children().status(json!({"namespace": namespace, "uid": uid, "age": age, "all": all})))
    }
}

#[test]
fn a_built_in_kind_is_a_parent_like_others() {
    let now: Time = "2026-01-01T00:00:00Z".parse().unwrap();
    let parent = crate::k8s::Namespace::new("team");
    let status = given::<Labels>(parent).at(now).with(crate::k8s::Namespace::new("other")).reconcile().status();
    assert_eq!(status, json!({"namespace": null, "uid": "uid-of-team", "age": 0, "all": 1}));
}

#[test]
fn a_deployment_and_a_service_of_one_container_are_short() {
    use crate::k8s::{Container, Deployment, Service};
    let deployment = Deployment::new("web").with_replicas(3).with_container(Container::new("web", "nginx"));
    let template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]},
    });
    let spec = json!({"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template});
    assert_eq!(Value::from(deployment.clone())["spec"], spec);
    assert_eq!(deployment.replicas(), Some(3));
    let labels = [("tier", "front")];
    let deployment = Deployment::new("web").with_selector(labels).with_container(Container::new("web", "nginx"));
    assert_eq!(deployment.spec().template().metadata().labels().get("tier"), Some("front"));
    let service = Service::new("web").with_selector(labels).with_port(80, 8080);
    let spec = json!({"selector": {"tier": "front"}, "ports": [{"port": 80, "targetPort": 8080}]});
    assert_eq!(Value::from(service)["spec"], spec);
}
