use serde_json::{Value, json};

use crate::suite::objects::{any, config_map, deployment, widget, widget_crd};
use crate::suite::probe::{MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Controllers:
    dependents_of_a_deleted_owner_are_deleted_in_the_background,
    a_chain_of_dependents_is_deleted,
    a_foreground_delete_waits_for_blocking_dependents,
    a_foreground_delete_does_not_wait_for_dependents_that_do_not_block,
    an_orphaning_delete_leaves_the_dependents_without_owner,
    a_dependent_with_another_living_owner_loses_the_dead_reference_only,
    a_dependent_of_an_owner_that_never_existed_is_deleted,
    a_dependent_of_another_uid_than_the_owners_is_deleted,
    an_owner_in_another_namespace_counts_as_absent,
    a_cluster_scoped_owner_may_own_what_is_in_a_namespace,
    a_dependent_with_finalizers_waits_for_them,
    a_dependent_of_a_living_owner_stays,
    dependents_of_a_deleted_kind_are_deleted,
    a_dependent_of_a_kind_that_is_not_served_stays,
}

const LIST: &str = "v1/configmaps";

fn owned(name: &str, owners: &[(&str, &str)], blocks: bool) -> Value {
    let owners: Vec<Value> = owners
        .iter()
        .map(|(name, uid)| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": blocks}))
        .collect();
    json!({"metadata": {"name": name, "ownerReferences": owners}})
}

async fn make(server: &Probe, name: &str) -> String {
    server.create(LIST, config_map(name, json!({}))).await.uid().to_owned()
}

async fn gone(server: &Probe, name: &str) {
    server.until(&format!("{LIST}/{name}"), |answer| answer.status == 404).await;
    server.get(&format!("{LIST}/{name}")).expect(404).await;
}

async fn dependents_of_a_deleted_owner_are_deleted_in_the_background(server: &Probe) {
    let owner = make(server, "owner").await;
    server.create(LIST, owned("a", &[("owner", &owner)], false)).await;
    server.create(LIST, owned("b", &[("owner", &owner)], true)).await;
    server.delete("v1/configmaps/owner").query("propagationPolicy=Background").expect(200).await;
    gone(server, "a").await;
    gone(server, "b").await;
}

async fn a_chain_of_dependents_is_deleted(server: &Probe) {
    let first = make(server, "first").await;
    let second = server.create(LIST, owned("second", &[("first", &first)], false)).await.uid().to_owned();
    server.create(LIST, owned("third", &[("second", &second)], false)).await;
    server.delete("v1/configmaps/first").expect(200).await;
    gone(server, "third").await;
    gone(server, "second").await;
}

async fn a_foreground_delete_waits_for_blocking_dependents(server: &Probe) {
    let owner = make(server, "owner").await;
    let mut held = owned("a", &[("owner", &owner)], true);
    held["metadata"]["finalizers"] = json!(["x.test/hold"]);
    server.create(LIST, held).await;
    let answer = server.delete("v1/configmaps/owner").query("propagationPolicy=Foreground").expect(200).await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let answer = server.until("v1/configmaps/a", |answer| answer.at("/metadata/deletionTimestamp").is_string()).await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["x.test/hold"]));
    server.get("v1/configmaps/owner").expect(200).await;
    server.patch("v1/configmaps/a", MERGE_PATCH, json!({"metadata": {"finalizers": null}})).unrecorded().expect(200).await;
    gone(server, "owner").await;
}

async fn a_foreground_delete_does_not_wait_for_dependents_that_do_not_block(server: &Probe) {
    let owner = make(server, "owner").await;
    let mut held = owned("a", &[("owner", &owner)], false);
    held["metadata"]["finalizers"] = json!(["x.test/hold"]);
    server.create(LIST, held).await;
    server.delete("v1/configmaps/owner").query("propagationPolicy=Foreground").expect(200).await;
    gone(server, "owner").await;
    let answer = server.until("v1/configmaps/a", |answer| answer.at("/metadata/deletionTimestamp").is_string()).await;
    assert_eq!(answer.status, 200);
}

async fn an_orphaning_delete_leaves_the_dependents_without_owner(server: &Probe) {
    let owner = make(server, "owner").await;
    let dependent = server.create(LIST, owned("a", &[("owner", &owner)], false)).await.uid().to_owned();
    server.delete("v1/configmaps/owner").query("propagationPolicy=Orphan").expect(200).await;
    gone(server, "owner").await;
    let answer = server.get("v1/configmaps/a").expect(200).await;
    assert_eq!((answer.at("/metadata/ownerReferences"), answer.uid()), (&Value::Null, dependent.as_str()));
}

async fn a_dependent_with_another_living_owner_loses_the_dead_reference_only(server: &Probe) {
    let (dead, living) = (make(server, "dead").await, make(server, "living").await);
    server.create(LIST, owned("a", &[("dead", &dead), ("living", &living)], false)).await;
    server.delete("v1/configmaps/dead").expect(200).await;
    let one = |answer: &crate::suite::probe::Answer| {
        answer.at("/metadata/ownerReferences").as_array().is_some_and(|owners| owners.len() == 1)
    };
    server.until("v1/configmaps/a", one).await;
    let answer = server.get("v1/configmaps/a").expect(200).await;
    assert_eq!(answer.str("/metadata/ownerReferences/0/name"), "living");
}

async fn a_dependent_of_an_owner_that_never_existed_is_deleted(server: &Probe) {
    server.create(LIST, owned("a", &[("never", "0f3b1c1e-0000-4000-8000-000000000001")], false)).await;
    gone(server, "a").await;
}

async fn a_dependent_of_another_uid_than_the_owners_is_deleted(server: &Probe) {
    make(server, "owner").await;
    server.create(LIST, owned("a", &[("owner", "0f3b1c1e-0000-4000-8000-000000000002")], false)).await;
    gone(server, "a").await;
    server.get("v1/configmaps/owner").expect(200).await;
}

async fn an_owner_in_another_namespace_counts_as_absent(server: &Probe) {
    let other = format!("{}-2", server.namespace());
    server.post("/api/v1/namespaces").body(json!({"metadata": {"name": other}})).unrecorded().expect(201).await;
    let path = format!("/api/v1/namespaces/{other}/configmaps");
    let owner = server.post(&path).body(config_map("owner", json!({}))).expect(201).await.uid().to_owned();
    server.create(LIST, owned("a", &[("owner", &owner)], false)).await;
    gone(server, "a").await;
    server.get(&format!("{path}/owner")).expect(200).await;
}

async fn a_cluster_scoped_owner_may_own_what_is_in_a_namespace(server: &Probe) {
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let owner = server.post(path).body(json!({"metadata": {"name": "{ns}"}})).expect(201).await;
    let reference =
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "{ns}", "uid": owner.uid()});
    server.create(LIST, json!({"metadata": {"name": "a", "ownerReferences": [reference]}})).await;
    // First, the collector must have handled a later change of another object.
    server.create(LIST, owned("marker", &[("never", "0f3b1c1e-0000-4000-8000-000000000003")], false)).await;
    gone(server, "marker").await;
    server.get("v1/configmaps/a").expect(200).await;
    server.delete(&format!("{path}/{{ns}}")).expect(200).await;
    gone(server, "a").await;
}

async fn a_dependent_with_finalizers_waits_for_them(server: &Probe) {
    let owner = make(server, "owner").await;
    let mut held = owned("a", &[("owner", &owner)], false);
    held["metadata"]["finalizers"] = json!(["x.test/hold"]);
    server.create(LIST, held).await;
    server.delete("v1/configmaps/owner").expect(200).await;
    server.until("v1/configmaps/a", |answer| answer.at("/metadata/deletionTimestamp").is_string()).await;
    server.patch("v1/configmaps/a", MERGE_PATCH, json!({"metadata": {"finalizers": null}})).unrecorded().expect(200).await;
    gone(server, "a").await;
}

async fn a_dependent_of_a_living_owner_stays(server: &Probe) {
    let owner = make(server, "owner").await;
    server.create(LIST, owned("a", &[("owner", &owner)], false)).await;
    server.create(LIST, owned("marker", &[("never", "0f3b1c1e-0000-4000-8000-000000000004")], false)).await;
    gone(server, "marker").await;
    let answer = server.get("v1/configmaps/a").expect(200).await;
    assert_eq!(answer.str("/metadata/ownerReferences/0/name"), "owner");
    server
        .create(
            "apps/v1/controllerrevisions",
            json!({"metadata": {"name": "r", "ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner},
    ]}, "revision": 1, "data": deployment("x")}),
        )
        .await;
    server.delete("v1/configmaps/owner").expect(200).await;
    server.until("apps/v1/controllerrevisions/r", |answer| answer.status == 404).await;
}

async fn dependents_of_a_deleted_kind_are_deleted(server: &Probe) {
    let widgets = "{group}/v1/widgets";
    let owned_by_widget = |name: &str, owner: &str, uid: &str| {
        let owner = json!({"apiVersion": "{group}/v1", "kind": "Widget", "name": owner, "uid": uid});
        json!({"metadata": {"name": name, "ownerReferences": [owner]}})
    };
    server.install(widget_crd(any())).await;
    for (owner, dependent) in [("first", "a"), ("second", "b")] {
        let uid = server.create(widgets, widget(owner, json!({}))).await.uid().to_owned();
        server.create(LIST, owned_by_widget(dependent, owner, &uid)).await;
    }
    // The collector learns of kinds by polling discovery every 30 s.
    server.delete(&format!("{widgets}/first")).expect(200).await;
    server.until_slowly("v1/configmaps/a", |answer| answer.status == 404).await;
    server.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{group}").unrecorded().expect(200).await;
    server.until_slowly("v1/configmaps/b", |answer| answer.status == 404).await;
    server.get("v1/configmaps/b").expect(404).await;
}

async fn a_dependent_of_a_kind_that_is_not_served_stays(server: &Probe) {
    let owner = make(server, "owner").await;
    server.create(LIST, owned("a", &[("owner", &owner)], false)).await;
    let unserved = json!([{"apiVersion": "example.org/v1", "kind": "Thing", "name": "owner", "uid": owner}]);
    server.create(LIST, json!({"metadata": {"name": "b", "ownerReferences": unserved}})).await;
    server.delete("v1/configmaps/owner").query("propagationPolicy=Background").expect(200).await;
    gone(server, "a").await;
    server.get("v1/configmaps/b").expect(200).await;
}
