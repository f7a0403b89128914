//! The rules of `gyre rbac`: the host sends no other request, and uses each rule.

use std::collections::BTreeSet;
use std::process::Command;

use gyre_controlplane::{AuditEvent, Signal};
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, GYRE, PATIENCE, condition, config_map, guest, websites};
use crate::plane::Plane;

const ECHOS: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Permission {
    verb: String,
    group: String,
    resource: String,
    /// `None`: in all namespaces.
    namespace: Option<String>,
    /// `None`: with any name.
    name: Option<String>,
}

impl std::fmt::Display for Permission {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.verb, self.resource)
    }
}

fn texts<'a>(rule: &'a Value, key: &str) -> Vec<&'a str> {
    rule[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

pub(crate) fn rbac(arguments: &[&str]) -> Vec<Value> {
    serde_saphyr::from_multiple(&printed(arguments)).unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let output = Command::new(GYRE).arg("rbac").args(arguments).output().expect("gyre runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The text with the proposed rules, as a person leaves it.
fn with_proposals(text: &str, bound: &str) -> String {
    let line = |line: &str| match line.strip_prefix('#').filter(|rest| !rest.starts_with(' ') || rest.starts_with("  ")) {
        Some(rule) => format!("{}\n", rule.replace("NAME", bound)),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The kind, the namespace and the name of each object.
fn identities(objects: &[Value]) -> BTreeSet<[String; 3]> {
    let text = |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    objects.iter().map(|object| ["/kind", "/metadata/namespace", "/metadata/name"].map(|at| text(object, at))).collect()
}

fn permissions(arguments: &[&str]) -> BTreeSet<Permission> {
    let mut permissions = BTreeSet::new();
    for role in rbac(arguments) {
        for rule in role["rules"].as_array().into_iter().flatten() {
            let named = texts(rule, "resourceNames");
            let names: Vec<Option<&str>> = if named.is_empty() { vec![None] } else { named.into_iter().map(Some).collect() };
            for (group, resource) in texts(rule, "apiGroups")
                .iter()
                .flat_map(|group| texts(rule, "resources").into_iter().map(move |resource| (*group, resource)))
            {
                for (name, verb) in
                    names.iter().flat_map(|name| texts(rule, "verbs").into_iter().map(move |verb| (*name, verb)))
                {
                    permissions.insert(Permission {
                        verb: verb.to_owned(),
                        group: group.to_owned(),
                        resource: resource.to_owned(),
                        namespace: role["metadata"]["namespace"].as_str().map(str::to_owned),
                        name: name.map(str::to_owned),
                    });
                }
            }
        }
    }
    permissions
}

/// Returns the verbs that a request needs. An apply that creates needs two.
fn verbs(event: &AuditEvent) -> Vec<&str> {
    if event.verb == "patch" && event.code == 201 { vec!["patch", "create"] } else { vec![&event.verb] }
}

impl Permission {
    fn permits(&self, event: &AuditEvent, verb: &str) -> bool {
        let resource = if event.subresource.is_empty() {
            event.resource.clone()
        } else {
            format!("{}/{}", event.resource, event.subresource)
        };
        self.verb == verb
            && (&self.group, &self.resource) == (&event.group, &resource)
            && self.namespace.as_ref().is_none_or(|namespace| *namespace == event.namespace)
            && self.name.as_ref().is_none_or(|name| *name == event.name)
    }
}

/// Checks that each request is permitted, and returns the unused permissions.
fn unused(permissions: &BTreeSet<Permission>, requests: &[AuditEvent]) -> BTreeSet<String> {
    let mut unused: BTreeSet<&Permission> = permissions.iter().collect();
    // Everybody may read paths that are no resources, such as `/version`.
    for event in requests.iter().filter(|event| !event.resource.is_empty()) {
        for verb in verbs(event) {
            let permitting: Vec<&Permission> =
                permissions.iter().filter(|permission| permission.permits(event, verb)).collect();
            assert!(!permitting.is_empty(), "no rule permits {verb} {} ({} {})", event.uri, event.resource, event.namespace);
            for permission in permitting {
                unused.remove(permission);
            }
        }
    }
    unused.into_iter().map(Permission::to_string).collect()
}

fn unexplained(permissions: &BTreeSet<Permission>, requests: &[AuditEvent]) -> Vec<String> {
    let is_explained = |rule: &String| EXPLAINED.iter().any(|(explained, _)| rule.starts_with(explained));
    unused(permissions, requests).into_iter().filter(|rule| !is_explained(rule)).collect()
}

fn echo(kind: &str, name: &str, message: &str) -> Value {
    let mut spec = json!({ "message": message });
    if kind == "ScheduledEcho" {
        spec["schedule"] = json!("0 0 1 1 *");
    }
    json!({
        "apiVersion": "mmontes.io/v1alpha1", "kind": kind, "metadata": { "name": name, "namespace": "permitted" }, "spec": spec,
    })
}

/// The reasons for rules that these plugins do not use here, by the beginning of the rule.
const EXPLAINED: [(&str, &str); 5] = [
    ("list ", "API servers before 1.34, and those whose feature gate WatchList is off, do not stream lists"),
    ("update echos/finalizers", "asked for by the admission plugin OwnerReferencesPermissionEnforcement, which is off here"),
    ("update scheduledechos/finalizers", "as for Echos"),
    ("update websites/finalizers", "as for Echos"),
    ("delete ", "children that are not wanted any more are deleted, and these plugins always want the same"),
];

#[test]
fn the_rules_that_are_printed_are_those_that_the_host_needs() {
    let Some(cluster) = Cluster::for_test("permitted", &["permitted", "permitted-home"]) else { return };
    let folder = Folder::new();
    let mounts = json!([
        { "plugin": gyre_artifacts::ECHO, "namespaces": ["permitted"] },
        { "plugin": gyre_artifacts::SCHEDULED_ECHO, "namespaces": ["permitted"] },
    ]);
    let file = folder.put("gyre.yaml", json!({ "name": "permitted", "mounts": mounts }).to_string());
    let arguments = ["--config", file.as_str(), "--home-namespace", "permitted-home", "--ha"];
    let permitted = permissions(&arguments);
    let Some(mark) = cluster.audit_mark() else { return };
    let host = cluster.host_with(&[], &[], &arguments);
    let all = |message: &str| -> Vec<Value> {
        let of = |number: usize| ["Echo", "ScheduledEcho"].map(|kind| echo(kind, &format!("e-{number}"), message));
        (0..ECHOS).flat_map(of).collect()
    };
    cluster.apply_all(&all("first"));
    cluster.all_ready("permitted", "echo", ECHOS);
    cluster.all_ready("permitted", "scheduledecho", ECHOS);
    cluster.kubectl(&["delete", "--wait=false", "-n", "permitted", "job", "e-1", "e-2", "e-3"]);
    cluster.kubectl(&["delete", "--wait=false", "-n", "permitted", "cronjob", "e-1", "e-2", "e-3"]);
    // Without the label, the child is not in the cache, and creating it fails.
    cluster.kubectl(&["label", "-n", "permitted", "job", "e-9", "gyre.dev/plugin-"]);
    let edit = json!({ "spec": { "schedule": "1 1 1 1 *" } }).to_string();
    for name in ["e-4", "e-5"] {
        cluster.kubectl(&["patch", "-n", "permitted", "cronjob", name, "--type=merge", "-p", &edit]);
    }
    cluster.kubectl(&["delete", "--wait=false", "-n", "permitted", "echo,scheduledecho", "e-6", "e-7", "e-8"]);
    cluster.apply_all(&all("second")[2 * 9..]);
    cluster.all_ready("permitted", "scheduledecho", ECHOS - 3);
    cluster.eventually("the Echos to say that their Jobs are for an earlier message", || {
        let outdated = |echo: &Value| condition(echo, "Ready").is_some_and(|ready| ready["reason"] == "JobOutdated");
        (cluster.list("permitted", "echo").iter().filter(|echo| outdated(echo)).count() == ECHOS - 9).then_some(())
    });
    // JobCreated happens again, so the host patches the series of the first Event.
    cluster.settled(&host);
    cluster.apply_all(&all("first")[2 * 9..]);
    cluster.eventually("the Echos to say that their Jobs run their message", || {
        let created = |echo: &Value| condition(echo, "Ready").is_some_and(|ready| ready["reason"] == "JobCreated");
        cluster.list("permitted", "echo").iter().all(created).then_some(())
    });
    cluster.eventually("the Jobs to be there again", || {
        ["e-1", "e-2", "e-3"].iter().all(|name| cluster.get("permitted", "job", name).is_some()).then_some(())
    });
    cluster.eventually("the label to be there again", || {
        (cluster.get("permitted", "job", "e-9")?["metadata"]["labels"]["gyre.dev/plugin"] == "echo").then_some(())
    });
    cluster.settled(&host);
    drop(host);
    let more = json!([{ "plugin": gyre_artifacts::SCHEDULED_ECHO, "namespaces": ["permitted"] }]);
    folder.put("gyre.yaml", json!({ "name": "permitted", "mounts": more }).to_string());
    let host = cluster.host_with(&[], &[], &arguments);
    cluster.eventually("the inventory to be changed", || {
        let inventory = cluster.get("permitted-home", "configmap", "permitted-inventory")?;
        inventory["data"].get("echo").is_none().then_some(())
    });
    cluster.settled(&host);

    let mut requests = cluster.requests(mark);
    requests.extend(cluster.watches(mark));
    // The unmounted plugin's parents are listed to release them.
    requests.retain(|event| !(event.verb == "list" && event.resource == "echos"));
    assert_eq!(unexplained(&permitted, &requests), Vec::<String>::new());
}

/// It reads a cluster-scoped kind, and has children of three kinds.
#[test]
fn the_rules_of_a_plugin_that_reads_are_those_that_it_needs() {
    let Some(cluster) = Cluster::for_test("readable", &["readable"]) else { return };
    let _websites = websites();
    let folder = Folder::new();
    let mount = json!({ "plugin": gyre_artifacts::WEBSITE, "selector": "test=readable" });
    let file = folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string());
    let arguments = ["--config", file.as_str(), "--home-namespace", "readable", "--ha"];
    let permitted = permissions(&arguments);
    let Some(mark) = cluster.audit_mark() else { return };
    let mut host = cluster.host_with(&[], &[], &arguments);
    let website = |title: &str| {
        json!({
            "apiVersion": "web.gyre.dev/v1alpha1", "kind": "Website",
            "metadata": { "name": "site", "namespace": "readable", "labels": { "test": "readable" } },
            "spec": { "template": "template", "title": title, "host": "example.com" },
        })
        .to_string()
    };
    cluster.apply(&website("one"));
    cluster.reason("readable", "website", "site", "Ready", "TemplateMissing");
    cluster.apply(&config_map("readable", "template", json!({ "index.html": "{{title}}" })).to_string());
    cluster.ready("readable", "website", "site");
    // TemplateMissing happens again, so the host patches the series of the first Event.
    cluster.settled(&host);
    cluster.delete("readable", "configmap", "template");
    cluster.reason("readable", "website", "site", "Ready", "TemplateMissing");
    cluster.settled(&host);
    cluster.apply(&config_map("readable", "template", json!({ "index.html": "{{title}}" })).to_string());
    cluster.ready("readable", "website", "site");
    cluster.apply(&website("two"));
    cluster.ready("readable", "website", "site");
    cluster.kubectl(&["label", "--overwrite", "-n", "readable", "service", "site", "app.kubernetes.io/instance=edited"]);
    cluster.eventually("the label to be put back", || {
        let service = cluster.get("readable", "service", "site")?;
        (service["metadata"]["labels"]["app.kubernetes.io/instance"] == "site").then_some(())
    });
    for kind in ["deployment", "service"] {
        let before = cluster.get("readable", kind, "site").unwrap();
        cluster.delete("readable", kind, "site");
        cluster.eventually("it to be there again", || {
            let now = cluster.get("readable", kind, "site")?;
            (now["metadata"]["uid"] != before["metadata"]["uid"]).then_some(())
        });
    }
    cluster.settled(&host);
    cluster.kubectl(&["delete", "-n", "readable", "website", "site"]);
    // It releases its Lease.
    host.process.signal(Signal::Terminate).unwrap();
    host.process.wait(PATIENCE).unwrap().expect("it ends");
    let mut requests = cluster.requests(mark);
    requests.extend(cluster.watches(mark));
    assert_eq!(unexplained(&permitted, &requests), Vec::<String>::new());
}

/// The key of digests is in a Secret of the host's namespace.
#[test]
fn the_rules_of_a_plugin_with_generated_values_permit_its_requests() {
    let Some(cluster) = Cluster::for_test("making", &["making", "making-home"]) else { return };
    cluster.install_crds(&[gyre_artifacts::DATABASE]);
    let arguments = [gyre_artifacts::DATABASE, "--namespace", "making", "--home-namespace", "making-home"];
    let permitted = permissions(&arguments);
    let Some(mark) = cluster.audit_mark() else { return };
    let host = cluster.host_with(&[gyre_artifacts::DATABASE], &["making"], &["--home-namespace", "making-home"]);
    let database = json!({
        "apiVersion": "db.gyre.dev/v1alpha1", "kind": "Database",
        "metadata": { "name": "it", "namespace": "making" }, "spec": { "name": "it" },
    });
    cluster.apply(&database.to_string());
    cluster.reason("making", "database", "it", "Ready", "Running");
    cluster.settled(&host);
    let unused = unused(&permitted, &cluster.requests(mark));
    assert!(!unused.contains("create secrets"), "neither the one of the key nor that of the child: {unused:?}");
    let echo = permissions(&[gyre_artifacts::ECHO, "--home-namespace", "making-home"]);
    assert!(!echo.iter().any(|permission| permission.resource == "secrets"), "a plugin without Secrets needs none");
}

#[test]
fn a_restricted_mount_needs_fewer_permissions() {
    let folder = Folder::new();
    let rules = |mount: Value, arguments: &[&str]| -> BTreeSet<String> {
        let file = folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string());
        let of = |permission: &Permission| {
            let place = permission.namespace.as_deref().unwrap_or("everywhere");
            format!("{permission} {place}")
        };
        permissions(&[&["--config", file.as_str()], arguments].concat()).iter().map(of).collect()
    };
    let website = |more: Value| {
        let mut mount = json!({ "plugin": gyre_artifacts::WEBSITE });
        mount.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        mount
    };
    let wide = rules(website(json!({})), &[]);
    assert!(wide.contains("watch websitedefaults everywhere") && wide.contains("patch services everywhere"), "{wide:?}");
    let confined = rules(website(json!({ "namespaces": ["a"] })), &["--namespaced", "--home-namespace", "a"]);
    assert!(confined.iter().all(|rule| rule.ends_with(" a")), "what is in no namespace is not seen: {confined:?}");
    let narrow = rules(website(json!({ "grants": { "children": ["Service.v1"], "reads": [] } })), &[]);
    assert!(!narrow.contains("watch websitedefaults everywhere") && narrow.contains("patch services everywhere"), "{narrow:?}");
    // Deployments are still watched, because they may have been granted before.
    assert!(!narrow.contains("patch deployments everywhere") && narrow.contains("watch deployments everywhere"), "{narrow:?}");
    let reading = rules(website(json!({ "grants": { "children": [] } })), &[]);
    let finalizers = "update websites/finalizers everywhere";
    assert!(wide.contains(finalizers) && !reading.contains(finalizers), "{reading:?}");

    // The host uses finalizers for cross-namespace children.
    let mount = json!({ "plugin": gyre_artifacts::probes::CROSS_NAMESPACE, "namespaces": ["a", "b"] });
    let holds = "patch crossnamespaces a";
    assert!(!rules(mount.clone(), &[]).contains(holds));
    let from_before = rules(mount.clone(), &["--cross-namespace"]);
    assert!(from_before.contains(holds) && from_before.contains("delete configmaps b"), "{from_before:?}");
    let granted = |namespaces: Value| {
        let mut mount = mount.clone();
        mount["grants"] = json!({ "writeNamespaces": namespaces });
        rules(mount, &[])
    };
    assert!(granted(json!("all")).contains(holds) && granted(json!(["b"])).contains(holds));
    assert!(!granted(json!("parent")).contains(holds));

    // Children of cluster-scoped parents are written in the granted namespaces.
    let mount = |grants: Value| json!({ "plugin": gyre_artifacts::probes::WORLDWIDE, "grants": grants });
    let by_default = rules(mount(json!({})), &[]);
    assert!(!by_default.contains("patch configmaps everywhere"), "it creates no namespaces: {by_default:?}");
    for granted in [json!("all"), json!(["a", "b-*"])] {
        let everywhere = rules(mount(json!({ "writeNamespaces": granted })), &[]);
        assert!(everywhere.contains("patch configmaps everywhere"), "{everywhere:?}");
    }
    let listed = rules(mount(json!({ "writeNamespaces": ["a"] })), &[]);
    assert!(listed.contains("patch configmaps a") && !listed.contains("patch configmaps everywhere"), "{listed:?}");
    assert!(listed.contains("patch clusterroles everywhere"), "{listed:?}");
}

#[test]
fn a_checked_configuration_shows_where_each_mount_may_write() {
    let folder = Folder::new();
    let (website, worldwide) = (gyre_artifacts::WEBSITE, gyre_artifacts::probes::WORLDWIDE);
    for (plugin, namespaces, granted, writes, reads) in [
        (website, json!(["a", "shared"]), json!("parent"), "parent", "parent"),
        (website, json!(["a", "shared"]), json!(["shared"]), "parent,shared", "parent,shared"),
        (website, json!(["a", "team-a", "team-b"]), json!(["team-*"]), "parent,team-a,team-b", "parent,team-a,team-b"),
        (website, json!(["a", "shared"]), json!("all"), "a,shared", "a,shared"),
        (website, json!(null), json!("all"), "all", "all"),
        (worldwide, json!(null), json!("parent"), "none", "none"),
        (worldwide, json!(null), json!(["team-*"]), "team-*", "none"),
        (worldwide, json!(null), json!("all"), "all", "none"),
    ] {
        let grants = json!({ "writeNamespaces": granted, "readNamespaces": granted });
        let mut mounts = json!([{ "plugin": plugin, "grants": grants }]);
        if !namespaces.is_null() {
            mounts[0]["namespaces"] = namespaces;
        }
        let file = folder.put("gyre.yaml", json!({ "mounts": mounts }).to_string());
        let output = Command::new(GYRE).args(["validate", &file]).output().expect("gyre runs");
        let table = String::from_utf8(output.stdout).expect("UTF-8");
        let column = |line: &str, index: usize| line.split_whitespace().nth(index).map(str::to_owned);
        let lines: Vec<&str> = table.lines().collect();
        let [headings, row] = lines[..] else { panic!("{table}{}", String::from_utf8_lossy(&output.stderr)) };
        for (index, heading, shown) in [(6, "WRITES", writes), (7, "READS", reads)] {
            assert_eq!(
                (column(headings, index).as_deref(), column(row, index).as_deref()),
                (Some(heading), Some(shown)),
                "{table}"
            );
        }
    }
}

/// Otherwise, applying the rules of one plugin would take those of another away.
#[test]
fn the_rules_of_one_plugin_replace_neither_those_of_another_nor_the_charts() {
    let folder = Folder::new();
    let of = |plugin: &str, more: &[&str]| {
        let account = ["--service-account", "gyre-system/gyre"];
        let objects = rbac(&[&[plugin][..], &account, more].concat());
        let host = objects.iter().filter(|object| object["metadata"]["name"].as_str().unwrap().ends_with(":host"));
        (identities(&objects), host.cloned().collect::<Vec<Value>>())
    };
    for more in [&[][..], &["--namespace", "team-a"], &["--name", "gyre", "--home-namespace", "team-a"]] {
        let (echos, host) = of(gyre_artifacts::ECHO, more);
        let (websites, same_host) = of(gyre_artifacts::WEBSITE, more);
        let shared: BTreeSet<&[String; 3]> = echos.intersection(&websites).collect();
        assert_eq!(shared, identities(&host).iter().collect(), "only the host's own are shared");
        assert_eq!(host, same_host, "and those are the same");
        // No name of an object of a Helm release has a colon.
        assert!(echos.union(&websites).all(|[_, _, name]| name.contains(':')), "{echos:?}");
    }
    // A deployment and a mount whose names are joined by the same hyphens as others'.
    let deployment = |name: &str, mount: &str| {
        let mounts = json!([{ "plugin": gyre_artifacts::ECHO, "name": mount, "impersonate": "a/b" }]);
        let file = folder.put("gyre.yaml", json!({ "name": name, "mounts": mounts }).to_string());
        identities(&rbac(&["--config", &file, "--service-account", "gyre-system/gyre"]))
    };
    let (one, other) = (deployment("a", "b-c"), deployment("a-b", "c"));
    assert!(one.is_disjoint(&other), "{one:?} {other:?}");
    let (writer, host) = (deployment("a", "writer"), deployment("a", "host"));
    let shared: Vec<&[String; 3]> = writer.intersection(&host).filter(|[_, _, name]| name != "a:host").collect();
    assert!(shared.is_empty(), "{shared:?}");
}

#[test]
fn what_a_plugin_needs_to_grant_permissions_is_proposed_in_comments() {
    let folder = Folder::new();
    let granting = |more: Value| {
        let mut mount = json!({ "plugin": gyre_artifacts::probes::GRANTING, "namespaces": ["a"] });
        mount.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        printed(&["--config", &folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string())])
    };
    let verbs = |text: &str| -> BTreeSet<String> {
        let roles: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
        let rule = |role: &Value, rule: &Value| {
            let names = texts(rule, "resourceNames").join(",");
            let of = |verb: &&str| ["bind", "escalate"].contains(verb);
            let found = texts(rule, "verbs").into_iter().filter(of);
            let found = found.map(|verb| format!("{verb} {} {names}", texts(rule, "resources").join(",")));
            found.map(|said| format!("{}: {}", role["metadata"]["name"].as_str().unwrap(), said.trim())).collect::<Vec<_>>()
        };
        roles.iter().flat_map(|role| role["rules"].as_array().into_iter().flatten().flat_map(|of| rule(role, of))).collect()
    };
    let text = granting(json!({}));
    assert_eq!(verbs(&text), BTreeSet::new(), "an operator decides");
    assert!(text.contains("every permission of the role that it"), "{text}");
    let proposed = |text: &str| verbs(&with_proposals(text, "view"));
    let [bind, escalate] = ["bind clusterroles,roles view", "escalate roles"];
    let all = |holder: &str| -> BTreeSet<String> { [bind, escalate].map(|said| format!("{holder}: {said}")).into() };
    assert_eq!(proposed(&text), all("gyre:mount:granting"));
    assert_eq!(proposed(&granting(json!({ "impersonate": "a/writer" }))), all("gyre:mount:granting:writer"));
    let only = granting(json!({ "grants": { "children": ["RoleBinding.v1.rbac.authorization.k8s.io"] } }));
    assert_eq!(proposed(&only), [format!("gyre:mount:granting: {bind}")].into());
    let worldwide = printed(&[gyre_artifacts::probes::WORLDWIDE]);
    assert_eq!(proposed(&worldwide), ["gyre:mount:worldwide: escalate clusterroles".to_owned()].into());
    assert!(!printed(&[gyre_artifacts::ECHO]).contains('#'));
}

/// The API server refuses the children with the rules alone, and accepts them with the proposals.
#[test]
fn a_plugin_that_grants_permissions_works_with_the_proposed_rules() {
    let Some(cluster) = Cluster::for_test("granting", &["granting"]) else { return };
    let Plane::Real(plane) = &cluster.plane else { panic!("devcluster authorizes nobody") };
    cluster.kubectl(&["create", "serviceaccount", "host", "-n", "granting"]);
    let arguments = [gyre_artifacts::probes::GRANTING, "--namespace", "granting", "--home-namespace", "granting"];
    let text = printed(&[&arguments[..], &["--service-account", "granting/host"]].concat());
    let apply = |text: &str| cluster.apply_all(&serde_saphyr::from_multiple::<Value>(text).unwrap());
    apply(&text);
    let kubeconfig = plane.kubeconfig_for_service_account("granting", "host").expect("a token");
    let arguments = ["--home-namespace", "granting"];
    let _host = cluster.host_as(&kubeconfig, &[gyre_artifacts::probes::GRANTING], &["granting"], &arguments);
    let spec = json!({ "clusterRole": "view", "verbs": ["get", "patch"] });
    cluster.apply(&guest("Granting", "granting", "it", spec).to_string());
    let refused = cluster.reason("granting", "granting", "it", "Ready", "Forbidden");
    let message = condition(&refused, "Ready").unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("attempting to grant RBAC permissions not currently held"), "{message}");

    apply(&with_proposals(&text, "view"));
    cluster.touch("granting", "granting", "it", "again");
    cluster.ready("granting", "granting", "it");
    for kind in ["rolebinding", "role"] {
        assert!(cluster.get("granting", kind, "it").is_some(), "{kind}");
    }
    let other = json!({ "clusterRole": "edit" });
    cluster.apply(&guest("Granting", "granting", "other", other).to_string());
    cluster.reason("granting", "granting", "other", "Ready", "Forbidden");
}

#[test]
fn accounts_of_one_name_in_two_namespaces_have_roles_of_their_own() {
    let folder = Folder::new();
    for namespaces in [json!(["a", "b"]), Value::Null] {
        let mount = |plugin: &str, account: &str| {
            let mut mount = json!({ "plugin": plugin, "impersonate": account });
            if !namespaces.is_null() {
                mount["namespaces"] = namespaces.clone();
            }
            mount
        };
        let mounts = [mount(gyre_artifacts::ECHO, "a/writer"), mount(gyre_artifacts::SCHEDULED_ECHO, "b/writer")];
        let file = folder.put("gyre.yaml", json!({ "mounts": mounts }).to_string());
        let objects = rbac(&["--config", &file, "--service-account", "home/host"]);
        let text =
            |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = |object: &Value| ["/kind", "/metadata/namespace", "/metadata/name"].map(|pointer| text(object, pointer));
        let names = identities(&objects);
        assert_eq!(names.len(), objects.len(), "two objects of one name: {objects:#?}");
        for (account, resource) in [("a", "jobs"), ("b", "cronjobs")] {
            let binds = |object: &&Value| text(object, "/subjects/0/namespace") == account;
            let bindings: Vec<&Value> = objects.iter().filter(binds).collect();
            assert!(!bindings.is_empty());
            for binding in bindings {
                let role =
                    [text(binding, "/roleRef/kind"), text(binding, "/metadata/namespace"), text(binding, "/roleRef/name")];
                let role = objects.iter().find(|object| name(object) == role).expect("the role");
                let written: BTreeSet<&str> =
                    role["rules"].as_array().unwrap().iter().flat_map(|rule| texts(rule, "resources")).collect();
                let jobs = ["jobs", "cronjobs"].into_iter().filter(|resource| written.contains(resource)).collect::<Vec<_>>();
                assert_eq!(jobs, [resource], "{account}: {role:#}");
            }
        }
    }
}

#[test]
fn a_forged_child_takes_no_request_that_the_rules_do_not_permit_and_delays_nothing() {
    let Some(cluster) = Cluster::for_test("forging", &["forging", "forging-tenant"]) else { return };
    let permitted = permissions(&[gyre_artifacts::ECHO, "--namespace", "forging", "--namespace", "forging-tenant"]);
    let Some(mark) = cluster.audit_mark() else { return };
    let host = cluster.host(&[gyre_artifacts::ECHO], &["forging", "forging-tenant"]);
    let echo = |message: &str| {
        let mut echo = echo("Echo", "victim", message);
        echo["metadata"]["namespace"] = json!("forging");
        echo.to_string()
    };
    cluster.apply(&echo("first"));
    let victim = cluster.ready("forging", "echo", "victim");
    let uid = &victim["metadata"]["uid"];
    let forged = |name: &str, owners: Value| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {
                "name": name, "namespace": "forging-tenant", "finalizers": ["test.gyre.dev/hold"], "ownerReferences": owners,
                "labels": { "gyre.dev/plugin": "echo", "gyre.dev/owner-uid": uid },
                "annotations": { "gyre.dev/desired-digest": "0" },
            },
            "spec": { "suspend": true, "template": { "spec": {
                "containers": [{ "name": "it", "image": "busybox:1" }], "restartPolicy": "Never",
            } } },
        })
    };
    let reference =
        json!({ "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "name": "victim", "uid": uid, "controller": true });
    // The garbage collector deletes the second one; its finalizer keeps it.
    cluster.create(&forged("labelled", json!([])).to_string());
    cluster.create(&forged("referring", json!([reference])).to_string());
    cluster.touch("forging", "echo", "victim", "look");
    cluster.settled(&host);
    cluster.apply(&echo("second"));
    let victim = cluster.reason("forging", "echo", "victim", "Ready", "JobOutdated");
    assert!(victim["metadata"].get("finalizers").is_none(), "{victim}");
    let labelled = cluster.get("forging-tenant", "job", "labelled").unwrap();
    assert!(labelled["metadata"].get("deletionTimestamp").is_none(), "it is not the Echo's, and stays: {labelled}");
    cluster.delete("forging", "echo", "victim");
    cluster.gone("forging", "echo", &["victim"]);
    cluster.settled(&host);
    let mut requests = cluster.requests(mark);
    requests.extend(cluster.watches(mark));
    unused(&permitted, &requests);
    let written = requests.iter().filter(|event| event.is_write() && event.namespace == "forging-tenant");
    let written: Vec<&AuditEvent> = written.collect();
    assert!(written.is_empty(), "{written:?}");
    let release = r#"{"metadata":{"finalizers":null}}"#;
    cluster.kubectl(&["patch", "-n", "forging-tenant", "job", "labelled", "referring", "--type=merge", "-p", release]);
}
