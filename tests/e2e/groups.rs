//! Calls about many parents at once: the reconcilers of the plugin `tenants`.

use std::collections::BTreeSet;

use gyre_controlplane::AuditEvent;
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, Host, condition, tenants};

pub(crate) const GROUPS: &str = "parentgroups.gyre.dev";
pub(crate) const CLAIMS: &str = "addressclaims.tenants.gyre.dev";
pub(crate) const BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";

fn host(cluster: &Cluster, folder: &Folder, home: &str, mount: &str) -> Host {
    let plugin = gyre_artifacts::TENANTS;
    let config = folder.put("gyre.yaml", format!("mounts: [{{plugin: {plugin}, {mount}}}]\n"));
    cluster.host_with(&[], &[], &["--config", &config, "--name", home, "--home-namespace", home])
}

pub(crate) fn claim(namespace: &str, name: &str, pool: &str) -> Value {
    json!({
        "apiVersion": "tenants.gyre.dev/v1", "kind": "AddressClaim",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "pool": pool },
    })
}

/// The addresses of the claims that have one.
fn addresses(cluster: &Cluster, namespaces: &[&str]) -> Vec<String> {
    let claims = namespaces.iter().flat_map(|namespace| cluster.list(namespace, CLAIMS));
    claims.filter_map(|claim| Some(claim.pointer("/status/address")?.as_str()?.to_owned())).collect()
}

fn group_of(cluster: &Cluster, reconciler: &str, value: &str) -> Option<Value> {
    let groups = cluster.list("default", GROUPS);
    groups.into_iter().find(|group| group["spec"] == json!({ "reconciler": reconciler, "value": value }))
}

fn is_ready(object: &Value, reason: &str) -> bool {
    condition(object, "Ready").is_some_and(|ready| ready["status"] == "True" && ready["reason"] == reason)
}

#[test]
fn each_claim_of_a_pool_gets_another_address_and_keeps_it() {
    let [one, two] = ["groups-one", "groups-two"];
    let Some(cluster) = Cluster::for_test("groups-addresses", &[one, two]) else { return };
    let _tenants = tenants();
    cluster.install_crds(&[gyre_artifacts::TENANTS]);
    let folder = Folder::new();
    let mount = "reconciler: addresses, settings: {pools: {edge: 192.0.2.0/27}}";
    let before = host(&cluster, &folder, one, mount);

    // Claims come while others are given addresses.
    let claims = |namespace: &'static str| (0..10).map(move |number| claim(namespace, &format!("claim-{number}"), "edge"));
    for claim in claims(one).chain(claims(two)) {
        cluster.apply(&claim.to_string());
    }
    let given =
        cluster.eventually("the addresses", || Some(addresses(&cluster, &[one, two])).filter(|given| given.len() == 20));
    assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), 20, "{given:?}");
    cluster.settled(&before);
    let group = group_of(&cluster, "addresses", "edge").expect("the group");
    assert!(is_ready(&group, "Allocated"), "{group}");

    // A member that changes causes a call, and no request: nothing differs.
    let mark = cluster.audit_mark();
    let calls = before.calls("addresses");
    cluster.touch(one, CLAIMS, "claim-0", "again");
    cluster.eventually("a call", || (before.calls("addresses") > calls).then_some(()));
    cluster.settled(&before);
    if let Some(mark) = mark {
        let is_of_host =
            |event: &AuditEvent| event.is_write() && (event.subresource == "status" || event.resource == "parentgroups");
        let writes: Vec<AuditEvent> = cluster.requests(mark).into_iter().filter(is_of_host).collect();
        assert!(writes.is_empty(), "{writes:?}");
    }

    // Another host takes over: the addresses are those in the statuses.
    drop(before);
    let after = host(&cluster, &folder, one, mount);
    cluster.settled(&after);
    assert_eq!(addresses(&cluster, &[one, two]), given);

    // The address of a claim that is gone is free, and the others keep theirs.
    let freed = cluster.get(two, CLAIMS, "claim-3").unwrap()["status"]["address"].clone();
    cluster.delete(two, CLAIMS, "claim-3");
    cluster.gone(two, CLAIMS, &["claim-3"]);
    for number in 0..11 {
        cluster.apply(&claim(one, &format!("more-{number}"), "edge").to_string());
    }
    cluster.eventually("all addresses", || (addresses(&cluster, &[one, two]).len() == 30).then_some(()));
    let given: BTreeSet<String> = addresses(&cluster, &[one, two]).into_iter().collect();
    assert_eq!(given.len(), 30, "{given:?}");
    assert!(given.contains(freed.as_str().unwrap()), "{freed} is given again");

    // The pool is full: the claims without an address say so, and so does the group.
    cluster.apply(&claim(two, "late", "edge").to_string());
    cluster.reason(two, CLAIMS, "late", "Ready", "PoolExhausted");
    let group = group_of(&cluster, "addresses", "edge").expect("the group")["metadata"]["name"].as_str().unwrap().to_owned();
    cluster.reason("default", GROUPS, &group, "Ready", "PoolExhausted");
    cluster.delete(one, CLAIMS, "more-0");
    cluster.ready(two, CLAIMS, "late");

    // Without members, there is no group.
    for namespace in [one, two] {
        cluster.kubectl(&["delete", CLAIMS, "--all", "-n", namespace]);
    }
    cluster.gone("default", GROUPS, &[&group]);
}

#[test]
fn a_binding_follows_the_namespaces_of_its_team() {
    let [one, two] = ["team-one", "team-two"];
    let Some(cluster) = Cluster::for_test("groups-teams", &[one, two]) else { return };
    let _tenants = tenants();
    cluster.install_crds(&[gyre_artifacts::TENANTS]);
    let folder = Folder::new();
    let host = host(&cluster, &folder, one, "reconciler: teams, selector: e2e=teams");
    let label = |namespace: &str, team: &str| {
        cluster.kubectl(&[
            "label",
            "namespace",
            namespace,
            "--overwrite",
            "e2e=teams",
            &format!("tenants.gyre.dev/team={team}"),
        ]);
    };
    let subjects = |team: &str| -> Option<Vec<String>> {
        let binding = cluster.get("default", BINDINGS, &format!("tenants:{team}"))?;
        let subjects = binding["subjects"].as_array()?;
        let name = |subject: &Value| subject["name"].as_str().unwrap_or_default().replace("system:serviceaccounts:", "");
        Some(subjects.iter().map(name).collect())
    };
    let has = |team: &str, namespaces: &[&str]| {
        cluster.eventually(&format!("the subjects of {team}"), || subjects(team).filter(|found| found == namespaces));
    };
    label(one, "web");
    label(two, "web");
    has("web", &[one, two]);
    let group = group_of(&cluster, "teams", "web").expect("the group")["metadata"].clone();
    let binding = cluster.get("default", BINDINGS, "tenants:web").unwrap();
    assert_eq!(binding["metadata"]["ownerReferences"][0]["uid"], group["uid"]);

    // Somebody makes a group by hand. It is of no field's value, so nothing follows from it.
    let forged = json!({
        "apiVersion": "gyre.dev/v1", "kind": "ParentGroup", "metadata": { "name": "forged" },
        "spec": { "reconciler": "teams", "value": "web" },
    });
    cluster.apply(&forged.to_string());
    // And somebody deletes one that is needed: it is made again, with its children.
    cluster.kubectl(&["delete", GROUPS, group["name"].as_str().unwrap()]);
    let uid = group["uid"].as_str().unwrap();
    cluster.eventually("the group again", || group_of_uid_other_than(&cluster, "teams", "web", uid));
    has("web", &[one, two]);
    cluster.settled(&host);
    assert_eq!(cluster.get("default", GROUPS, "forged").unwrap().get("status"), None);
    cluster.kubectl(&["delete", GROUPS, "forged"]);

    // A Namespace that moves is in the other group, and the first one goes with its last member.
    label(two, "data");
    has("data", &[two]);
    has("web", &[one]);
    label(one, "data");
    has("data", &[one, two]);
    cluster.gone("default", BINDINGS, &["tenants:web"]);
    cluster.eventually("the end of the group", || group_of(&cluster, "teams", "web").is_none().then_some(()));
    // The mount no longer selects the Namespaces, perhaps by mistake: what it has made for them
    // stays.
    label_e2e(&cluster, two, None);
    has("data", &[one]);
    label_e2e(&cluster, one, None);
    cluster.settled(&host);
    has("data", &[one]);
    assert!(group_of(&cluster, "teams", "data").is_some());
    [one, two].iter().for_each(|namespace| label_e2e(&cluster, namespace, Some("teams")));
    has("data", &[one, two]);

    cluster.kubectl(&["label", "namespace", one, two, "tenants.gyre.dev/team-"]);
    cluster.gone("default", BINDINGS, &["tenants:data"]);
    cluster.eventually("the end of the group", || group_of(&cluster, "teams", "data").is_none().then_some(()));
}

/// Sets or removes the label that the mount selects.
fn label_e2e(cluster: &Cluster, namespace: &str, value: Option<&str>) {
    let label = value.map_or_else(|| "e2e-".to_owned(), |value| format!("e2e={value}"));
    cluster.kubectl(&["label", "namespace", namespace, "--overwrite", &label]);
}

fn group_of_uid_other_than(cluster: &Cluster, reconciler: &str, value: &str, uid: &str) -> Option<Value> {
    let groups = cluster.list("default", GROUPS).into_iter();
    let spec = json!({ "reconciler": reconciler, "value": value });
    groups
        .filter(|group| group["spec"] == spec && group["metadata"]["name"] != "forged")
        .find(|group| group["metadata"]["uid"] != uid)
}
