use std::time::{Duration, Instant};

use gyre_controlplane::AuditEvent;
use serde_json::{Value, json};

use crate::counted::{self, Counted};
use crate::harness::{Cluster, Folder, Host, condition, guest, guest_crds};

/// The expected reason of each guest; `None` if it is not mounted (see `command_line`).
const ENDS: &[(&str, Option<&str>)] = &[
    ("trap", Some("Trapped")),
    ("panics", Some("Trapped")),
    ("endless_loop", Some("DeadlineExceeded")),
    ("huge_memory", Some("OutOfMemory")),
    ("deep_recursion", Some("StackOverflow")),
    ("endless_output", Some("OutputTooLarge")),
    ("deep_output", Some("OutputTooDeep")),
    ("endless_reads", Some("TooManyReads")),
    ("malformed_output", Some("InvalidOutput")),
    ("log_flood", Some("LogFlood")),
    ("undeclared_kind", Some("UndeclaredKind")),
    ("many_children", Some("TooManyChildren")),
    ("loud_failure", Some("PluginTransient")),
    ("endless_names", Some("Ready")),
    ("many_refusals", Some("UndeclaredKind")),
    ("restless_clock", Some("Ready")),
    ("restless_failure", Some("PluginTransient")),
    ("restless_status", Some("Ready")),
    ("sleeper", Some("Ready")),
    ("lies", None),
];

macro_rules! assert_guest_is_tested {
    ($name:ident) => {
        const _: () = assert!(
            is_listed(stringify!($name)),
            concat!("tests/e2e/hostile.rs does not say what becomes of ", stringify!($name))
        );
    };
}
gyre_artifacts::for_each_guest!(assert_guest_is_tested);

const fn is_listed(name: &str) -> bool {
    let mut index = 0;
    while index < ENDS.len() {
        if is_same(ENDS[index].0, name) {
            return true;
        }
        index += 1;
    }
    false
}

const fn is_same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    if left.len() != right.len() {
        return false;
    }
    let mut index = 0;
    while index < left.len() {
        if left[index] != right[index] {
            return false;
        }
        index += 1;
    }
    true
}

fn kind(guest: &str) -> String {
    guest.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

fn path(guest: &str) -> &'static str {
    gyre_artifacts::guests::ALL.iter().find(|(name, _)| *name == guest).map(|(_, path)| *path).expect("listed")
}

fn parent(cluster: &Cluster, guest: &str, name: &str) {
    cluster.apply(
        &json!({
            "apiVersion": "guests.gyre.dev/v1", "kind": kind(guest),
            "metadata": { "name": name, "namespace": "hostile" }, "spec": {},
        })
        .to_string(),
    );
}

fn echo_works(cluster: &Cluster, name: &str) {
    cluster.apply(
        &json!({
            "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo",
            "metadata": { "name": name, "namespace": "hostile" }, "spec": { "message": "still here" },
        })
        .to_string(),
    );
    cluster.eventually("the neighbour's Job", || cluster.get("hostile", "job", name));
}

fn ends_as(cluster: &Cluster, host: &Host, guest: &str, reason: &str) {
    let resource = format!("{}.guests.gyre.dev", kind(guest));
    let ready = cluster.eventually(&format!("{guest} to end as {reason}"), || {
        let object = cluster.get("hostile", &resource, "it")?;
        let ready = condition(&object, "Ready")?.clone();
        (reason == "Ready" || ready["reason"] == reason).then_some(ready)
    });
    if reason == "Ready" {
        assert_eq!(ready["status"], "True", "{guest}: {ready}");
        return;
    }
    assert_eq!(ready["status"], "False", "{guest}: {ready}");
    let plugin = format!("plugin=\"{}\"", guest.replace('_', "-"));
    let label = format!("reason=\"{reason}\"");
    cluster.eventually(&format!("a metric {plugin} {label}"), || {
        (host.metric("gyre_plugin_problems_total", &[&plugin, &label]) >= 1.0).then_some(())
    });
    let about = |event: &Value| event["involvedObject"]["kind"] == kind(guest).as_str() && event["reason"] == reason;
    let event = cluster.eventually("the event", || cluster.list("hostile", "events").into_iter().find(about));
    assert_eq!(event["type"], "Warning", "{guest}");
}

/// Mounts these guests and the echo plugin, without quarantine. Only the endless loop reaches its
/// deadline.
fn mounts(guests: &[(&str, &str)]) -> String {
    let deadline = |guest: &str| if guest == "endless_loop" { "1s" } else { "600s" };
    let mount = |plugin: &str, deadline: &str| {
        let limits = json!({ "deadline": deadline });
        json!({ "plugin": plugin, "namespaces": ["hostile"], "limits": limits, "quarantineAfter": "never" })
    };
    let mut mounts: Vec<Value> = guests.iter().map(|(guest, _)| mount(path(guest), deadline(guest))).collect();
    mounts.push(mount(gyre_artifacts::ECHO, "600s"));
    json!({ "mounts": mounts }).to_string()
}

fn hostile_round(cluster: &Cluster, host: &Host, guests: &[(&str, &str)], round: usize) {
    echo_works(cluster, &format!("before-{round}"));
    for (guest, _) in guests {
        parent(cluster, guest, "it");
    }
    echo_works(cluster, &format!("amid-{round}"));
    for (guest, reason) in guests {
        ends_as(cluster, host, guest, reason);
    }
    for (guest, _) in guests {
        cluster.kubectl(&["delete", "-n", "hostile", &format!("{}.guests.gyre.dev", kind(guest)), "it"]);
    }
    echo_works(cluster, &format!("after-{round}"));
    cluster.settled(host);
}

#[test]
fn each_hostile_plugin_fails_with_its_reason_and_affects_no_other() {
    const ITSELF: &str = "hostile::each_hostile_plugin_fails_with_its_reason_and_affects_no_other";
    const ROUNDS: usize = 3;
    /// Half of the flooder's answer, and less than other attacks need in the host.
    const ALLOWED: usize = 16 << 20;
    if counted::is_host() {
        return;
    }
    let Some(cluster) = Cluster::for_test("hostile", &["hostile"]) else { return };
    let _guests = guest_crds();
    let guests: Vec<(&str, &str)> = ENDS.iter().filter_map(|(guest, reason)| Some((*guest, (*reason)?))).collect();
    let plugins: Vec<&str> = guests.iter().map(|(guest, _)| path(guest)).collect();
    cluster.install_crds(&plugins);
    let folder = Folder::new();
    let config = folder.put("gyre.yaml", mounts(&guests));
    let counted = Counted::new(&cluster, ITSELF);
    let host = cluster.counted_host(&counted, &[], &[], &["--config", &config]);
    echo_works(&cluster, "at-first");
    cluster.settled(&host);
    let before = counted.bytes(&cluster);
    for round in 0..ROUNDS {
        hostile_round(&cluster, &host, &guests, round);
        let mut after = 0;
        cluster.eventually("the host to give back what it has allocated", || {
            after = counted.bytes(&cluster);
            (after < before + ALLOWED).then_some(())
        });
        eprintln!("round {round}: {before} bytes allocated before, {after} after");
    }
    // Panics of guests are in the log, too, but without a thread of the host.
    assert!(!host.log().contains("thread 'tokio"), "{}", host.log());
}

#[test]
fn messages_of_a_plugin_are_truncated_everywhere() {
    let Some(cluster) = Cluster::for_test("sayings", &["sayings"]) else { return };
    let _guests = guest_crds();
    use gyre_artifacts::guests::{ENDLESS_NAMES, LOUD_FAILURE, MANY_REFUSALS};
    let plugins = [LOUD_FAILURE, ENDLESS_NAMES, MANY_REFUSALS];
    cluster.install_crds(&plugins);
    let host = cluster.host(&plugins, &["sayings"]);
    for (kind, count) in [("LoudFailure", 20), ("EndlessNames", 4), ("ManyRefusals", 1)] {
        for number in 0..count {
            let metadata = json!({ "name": format!("it-{number}"), "namespace": "sayings" });
            let object = json!({ "apiVersion": "guests.gyre.dev/v1", "kind": kind, "metadata": metadata, "spec": {} });
            cluster.apply(&object.to_string());
        }
    }
    let ready = |resource: &str, name: &str| {
        let object = cluster.get("sayings", &format!("{resource}.guests.gyre.dev"), name)?;
        condition(&object, "Ready").cloned()
    };
    for number in 0..20 {
        let name = format!("it-{number}");
        let failed = cluster.eventually("the failure", || ready("loudfailure", &name));
        let message = failed["message"].as_str().unwrap();
        assert!(message.starts_with("no! no! ") && message.ends_with('…') && message.len() <= 1_024, "{message}");
    }
    for number in 0..4 {
        cluster.eventually("an answer", || ready("endlessnames", &format!("it-{number}")));
    }
    let refused = cluster.eventually("the refusals", || ready("manyrefusals", "it-0"));
    let summary = "9900 children are refused for this reason, the first of them: ";
    assert!(refused["message"].as_str().unwrap().starts_with(summary), "{refused}");
    let events = cluster.eventually("the event", || {
        Some(cluster.events("sayings", "it-0", "UndeclaredKind")).filter(|events| !events.is_empty())
    });
    assert_eq!(events.len(), 1, "{events:?}");
    let of_refusals = ["plugin=\"many-refusals\"", "reason=\"UndeclaredKind\""];
    assert!(host.metric("gyre_plugin_problems_total", &of_refusals) >= 9_900.0);
    // The length of a line is limited; the backoff limits the number of lines.
    let log = cluster.eventually("a line about refusals", || Some(host.log()).filter(|log| log.contains("refused: ")));
    let longest = log.lines().map(str::len).max().unwrap_or_default();
    assert!(longest < 8 << 10, "a line of the log has {longest} bytes");
    assert!(log.lines().filter(|line| line.contains("refused: ")).count() < 20, "each refusal is logged");
}

const ATTACKS: [&str; 11] =
    ["spin", "trap", "memory", "recursion", "children", "refusals", "failure", "names", "log", "clock", "elsewhere"];

/// The attacks with writes that are not granted, and the reason of the refusal.
const REFUSED: [(&str, &str); 2] = [("elsewhere", "NamespaceNotGranted"), ("refusals", "UndeclaredKind")];

/// Returns the objects of all attacks: of the plugin; and of a tenant, who creates objects that a
/// shared plugin cannot handle, and forges children of another tenant's Echo.
fn attack(victim: &str) -> Vec<Value> {
    let guest = |kind: &str, namespace: &str, name: &str, spec: Value| {
        let metadata = json!({ "name": name, "namespace": namespace });
        json!({ "apiVersion": "guests.gyre.dev/v1", "kind": kind, "metadata": metadata, "spec": spec })
    };
    let attacks = ATTACKS.map(|attack| guest("Attacker", &format!("attacker-{attack}"), attack, json!({ "attack": attack })));
    let flood = |number| guest("Fickle", "attacker-tenant", &format!("flood-{number}"), json!({ "fail": "flood" }));
    let floods = (0..6).map(flood);
    let labels = json!({ "gyre.dev/plugin": "echo", "gyre.dev/owner-uid": victim });
    let container = json!({ "name": "it", "image": "it" });
    let spec = json!({ "template": { "spec": { "restartPolicy": "Never", "containers": [container] } } });
    let forged = json!({
        "apiVersion": "batch/v1", "kind": "Job", "spec": spec,
        "metadata": { "name": "forged", "namespace": "attacker-tenant", "labels": labels },
    });
    // The other owner does not exist; one existing owner keeps the object.
    let owners = [("a\"b", "a\"b"), ("victim", victim)]
        .map(|(name, uid)| json!({ "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "name": name, "uid": uid }));
    let odd = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "odd", "namespace": "attacker-echos", "ownerReferences": owners },
    });
    attacks.into_iter().chain(floods).chain([forged, odd]).collect()
}

#[test]
fn a_hostile_plugin_and_a_hostile_tenant_leave_nothing_behind_and_write_nowhere_else() {
    const ITSELF: &str = "hostile::a_hostile_plugin_and_a_hostile_tenant_leave_nothing_behind_and_write_nowhere_else";
    const ECHOS: usize = 30;
    const ROUNDS: usize = 2;
    if counted::is_host() {
        return;
    }
    let [echos, quiet, tenant] = ["attacker-echos", "attacker-quiet", "attacker-tenant"];
    // One namespace for each attack, so that no quarantine affects another attack.
    let hostile = ATTACKS.map(|attack| format!("attacker-{attack}"));
    let namespaces: Vec<&str> = [echos, quiet, tenant].into_iter().chain(hostile.iter().map(String::as_str)).collect();
    let Some(cluster) = Cluster::for_test("attacker", &namespaces) else { return };
    let Some(start) = cluster.audit_mark() else { return };
    let counted = Counted::new(&cluster, ITSELF);
    let plugins = [gyre_artifacts::ECHO, gyre_artifacts::probes::FICKLE, gyre_artifacts::probes::ATTACKER];
    let host = cluster.counted_host(&counted, &plugins, &namespaces, &["--call-deadline", "2s"]);
    let echo = |name: String| {
        json!({
            "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo",
            "metadata": { "name": name, "namespace": echos }, "spec": { "message": "still here" },
        })
    };
    cluster.apply(&echo("victim".to_owned()).to_string());
    let victim = cluster.ready(echos, "echo", "victim");
    let attack = attack(victim["metadata"]["uid"].as_str().unwrap());
    let mut before = None;
    for round in 0..ROUNDS {
        cluster.apply_all(&attack);
        cluster.apply_all(&(0..ECHOS).map(|number| echo(format!("echo-{round}-{number}"))).collect::<Vec<_>>());
        let it = json!({
            "apiVersion": "guests.gyre.dev/v1", "kind": "Fickle", "metadata": { "name": "it", "namespace": quiet }, "spec": {},
        });
        cluster.apply(&it.to_string());
        cluster.all_ready(echos, "echo", ECHOS + 1);
        cluster.ready(quiet, "fickle", "it");
        for (attack, reason) in REFUSED {
            cluster.reason(&format!("attacker-{attack}"), "attacker", attack, "Ready", reason);
        }
        assert!(cluster.get(tenant, "job", "forged").is_some(), "a child that somebody forged was deleted");

        for namespace in &hostile {
            cluster.kubectl(&["delete", "-n", namespace, "attacker", "--all"]);
        }
        for namespace in [tenant, quiet] {
            cluster.kubectl(&["delete", "-n", namespace, "fickle", "--all"]);
        }
        cluster.kubectl(&["delete", "-n", tenant, "job", "forged"]);
        let gone: Vec<String> = (0..ECHOS).map(|number| format!("echo-{round}-{number}")).collect();
        let mut delete = vec!["delete", "-n", echos, "echo"];
        delete.extend(gone.iter().map(String::as_str));
        cluster.kubectl(&delete);
        cluster.eventually("their Jobs to go", || (cluster.list(echos, "jobs").len() == 1).then_some(()));
        cluster.settled(&host);
        let Some(before) = before else {
            // The first round includes lazy initialization, threads and caches.
            before = Some(counted.bytes(&cluster));
            continue;
        };
        let mut after = 0;
        cluster.eventually("the host to give back what it has allocated", || {
            after = counted.bytes(&cluster);
            (after as f64 <= before as f64 * 1.05).then_some(())
        });
        eprintln!("round {round}: {before} bytes allocated before, {after} after");
    }

    let is_granted = |event: &AuditEvent| match event.resource.as_str() {
        "echos" | "jobs" => event.namespace == echos,
        "attackers" => hostile.contains(&event.namespace),
        "fickles" => [quiet, tenant].contains(&event.namespace.as_str()),
        "configmaps" => event.namespace == quiet,
        "events" => namespaces.contains(&event.namespace.as_str()),
        _ => false,
    };
    let requests = cluster.requests(start);
    let outside: Vec<String> = requests
        .iter()
        .filter(|event| event.is_write() && event.succeeded() && !is_granted(event))
        .map(|event| format!("{} {} {}/{}", event.verb, event.resource, event.namespace, event.name))
        .collect();
    assert!(outside.is_empty(), "{outside:?}");
}

#[test]
fn an_object_that_fails_too_often_is_parked_and_says_so() {
    let Some(cluster) = Cluster::for_test("parked", &["parked"]) else { return };
    let _guests = guest_crds();
    cluster.install_crds(&[gyre_artifacts::guests::TRAP]);
    let host = cluster.host_with(&[gyre_artifacts::guests::TRAP], &["parked"], &["--max-retries", "2"]);
    let trap = r#"{"apiVersion":"guests.gyre.dev/v1","kind":"Trap","metadata":{"name":"it","namespace":"parked"},"spec":{}}"#;
    cluster.apply(trap);
    let events = cluster.eventually("the event", || {
        Some(cluster.events("parked", "it", "RetriesExhausted")).filter(|events| !events.is_empty())
    });
    assert_eq!(events.len(), 1);
    cluster.settled(&host);
    let object = cluster.get("parked", "trap.guests.gyre.dev", "it").unwrap();
    assert_eq!(condition(&object, "Stalled").unwrap()["status"], "True");
    assert!(condition(&object, "Reconciling").is_none(), "{object}");
    // The first attempt and two retries. The write of the status is no change that restarts them.
    assert_eq!(host.metric("gyre_plugin_calls_total", &["trap", "Trapped"]), 3.0);
    cluster.kubectl(&["annotate", "-n", "parked", "trap.guests.gyre.dev", "it", "again=yes"]);
    cluster.eventually("a change to bring it back", || {
        (host.metric("gyre_plugin_calls_total", &["trap", "Trapped"]) >= 4.0).then_some(())
    });
}

#[test]
fn a_parent_that_never_converges_is_slowed_down() {
    let Some(cluster) = Cluster::for_test("restless", &["restless"]) else { return };
    let _guests = guest_crds();
    let plugins = [gyre_artifacts::guests::RESTLESS_FAILURE, gyre_artifacts::guests::RESTLESS_STATUS];
    cluster.install_crds(&plugins);
    let host = cluster.host(&plugins, &["restless"]);
    let start = Instant::now();
    for kind in ["RestlessFailure", "RestlessStatus"] {
        let object = json!({
            "apiVersion": "guests.gyre.dev/v1", "kind": kind, "metadata": { "name": "it", "namespace": "restless" }, "spec": {},
        });
        cluster.apply(&object.to_string());
    }
    for plugin in ["\"restless-failure\"", "\"restless-status\""] {
        let calls = cluster.eventually("a dozen calls", || {
            Some(host.metric("gyre_plugin_calls_total", &[plugin])).filter(|calls| *calls >= 12.0)
        });
        // The delays double from 5 ms, with up to half as jitter. Two calls may have other causes.
        let least = Duration::from_micros(2500).mul_f64(2_f64.powf(calls - 3.0) - 1.0);
        assert!(start.elapsed() >= least, "{plugin}: {calls} calls in {:?}", start.elapsed());
    }
}

/// The attacks of the probe `overreaching`, and the reason of `Ready` for each.
const OVERREACHING: [(&str, &str); 5] = [
    ("account", "ParentFieldNotGranted"),
    ("copies", "Reconciled"),
    ("deletion", "ParentDeletionNotGranted"),
    ("finalizers", "InvalidParentFields"),
    ("owners", "InvalidParentFields"),
];

#[test]
fn a_plugin_to_which_nothing_is_granted_changes_no_parent_and_copies_no_copy() {
    let namespace = "overreaching";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let Some(start) = cluster.audit_mark() else { return };
    let host = cluster.host(&[gyre_artifacts::probes::OVERREACHING], &[namespace]);
    let parents = OVERREACHING.map(|(attack, _)| guest("Overreaching", namespace, attack, json!({ "attack": attack })));
    cluster.apply_all(&parents);
    for (attack, reason) in OVERREACHING {
        cluster.reason(namespace, "overreaching", attack, "Ready", reason);
    }
    cluster.settled(&host);
    let objects = cluster.list(namespace, "overreaching");
    let mut names: Vec<&str> = objects.iter().filter_map(|object| object["metadata"]["name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["account", "copies", "copies-copy", "deletion", "finalizers", "owners"]);
    let of_parents =
        |event: &&AuditEvent| event.is_write() && event.resource == "overreachings" && event.subresource != "status";
    let requests = cluster.requests(start);
    let writes: Vec<&str> = requests.iter().filter(of_parents).map(|event| event.verb.as_str()).collect();
    assert_eq!(writes, ["create"], "the copy");
}

const DIGEST: std::ops::Range<usize> = 0..12;

fn landlord(namespace: &str, name: &str, children: &[Value], status: Value) -> Value {
    let mut parent = guest("Landlord", namespace, name, json!({ "children": children, "status": status }));
    parent["metadata"]["labels"] = json!({ "tenant": "hostile" });
    parent
}

fn wants(kind: &str, namespace: Option<&str>, name: &str) -> Value {
    let mut object = json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": name } });
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

/// The mount may write into all namespaces, so nothing but the host protects those of others.
#[test]
fn a_hostile_tenant_gets_no_foreign_namespace_no_false_status_and_no_mass_deletion() {
    const CHILDREN: usize = 40;
    let [home, system, own] = ["landlord", "landlord-system", "landlord-own"];
    let Some(cluster) = Cluster::for_test("landlord", &[home, system]) else { return };
    let Some(start) = cluster.audit_mark() else { return };
    let folder = Folder::new();
    // A mount that writes Namespaces is for all of them.
    let grants = json!({ "writeNamespaces": "all" });
    let mount = json!({ "plugin": gyre_artifacts::probes::LANDLORD, "selector": "tenant=hostile", "grants": grants });
    let config = folder.put("gyre.yaml", json!({ "mounts": [mount] }).to_string());
    let arguments = ["--config", config.as_str()];
    let host = cluster.host_with(&[], &[], &arguments);
    let message = |object: &Value| condition(object, "Ready").unwrap()["message"].as_str().unwrap().to_owned();

    // The name of a tenant is that of a namespace that exists.
    let rights = |namespace: &str| [wants("ConfigMap", Some(namespace), "rights"), wants("Namespace", None, namespace)];
    cluster.apply(&landlord(home, "usurper", &rights(system), Value::Null).to_string());
    let usurper = cluster.reason(home, "landlord", "usurper", "Ready", "ForeignObject");
    assert!(message(&usurper).contains(&format!("its Namespace {system} is a child, too")), "{usurper}");
    assert!(cluster.get(system, "configmap", "rights").is_none());

    // The status says that a Job ran, whose name somebody else's Job has, or which is invalid.
    let pod = json!({ "restartPolicy": "Never", "containers": [{ "name": "main", "image": "it" }] });
    let job = |spec: Value| {
        let metadata = json!({ "name": "run", "namespace": home });
        json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec })
    };
    let runs = job(json!({ "template": { "spec": pod } }));
    cluster.apply(&runs.to_string());
    let ran = json!({ "lastScheduleTime": "2026-01-01T00:00:00Z" });
    let invalid = {
        let mut invalid = job(json!({ "template": {} }));
        invalid["metadata"]["name"] = json!("never");
        invalid
    };
    for (name, child, reason) in [("foreign", &runs, "ForeignObject"), ("invalid", &invalid, "Rejected")] {
        cluster.apply(&landlord(home, name, std::slice::from_ref(child), ran.clone()).to_string());
        let parent = cluster.reason(home, "landlord", name, "Ready", reason);
        assert_eq!(parent["status"].get("lastScheduleTime"), None, "{parent}");
        assert_eq!(parent["status"]["observedGeneration"], parent["metadata"]["generation"]);
    }

    // Everything that others read from one object is emptied at once.
    let many: Vec<Value> = (0..CHILDREN).map(|number| wants("ConfigMap", Some(home), &format!("many-{number}"))).collect();
    let count = || {
        let maps = cluster.list(home, "configmaps");
        maps.iter().filter(|map| map["metadata"]["labels"]["gyre.dev/plugin"] == "landlord").count()
    };
    cluster.apply(&landlord(home, "many", &many, Value::Null).to_string());
    cluster.ready(home, "landlord", "many");
    let emptied = landlord(home, "many", &[], Value::Null).to_string();
    cluster.apply(&emptied);
    cluster.reason(home, "landlord", "many", "Ready", "DeletionHeld");
    cluster.settled(&host);
    assert_eq!((count(), host.metric("gyre_held_deletions", &["landlord"])), (CHILDREN, CHILDREN as f64));
    drop(host);
    let host = cluster.host_with(&[], &[], &arguments);
    cluster.eventually("the deletions to be held again", || {
        (host.metric("gyre_held_deletions", &["landlord"]) == CHILDREN as f64).then_some(())
    });
    cluster.settled(&host);
    assert_eq!(count(), CHILDREN, "a restart lets nothing through");
    let digest = host.state_of("landlord")["digest"].as_str().unwrap()[DIGEST].to_owned();
    let release = format!("gyre.dev/release-deletions={digest}/{}", jiff::Timestamp::now().strftime("%F"));
    cluster.kubectl(&["annotate", "-n", home, "landlord", "many", &release]);
    cluster.eventually("the release", || (count() == 0).then_some(()));
    cluster.ready(home, "landlord", "many");

    // With a name of its own, a tenant gets its Namespace and what belongs there.
    cluster.apply(&landlord(home, "usurper", &rights(own), ran.clone()).to_string());
    let usurper = cluster.ready(home, "landlord", "usurper");
    assert_eq!(usurper["status"]["lastScheduleTime"], ran["lastScheduleTime"]);
    assert!(cluster.get(own, "configmap", "rights").is_some());
    let written: Vec<String> = cluster
        .requests(start)
        .iter()
        .filter(|event| event.is_write() && (event.namespace == system || event.name == system) && event.succeeded())
        .map(|event| format!("{} {}", event.verb, event.uri))
        .collect();
    assert_eq!(written, [] as [String; 0], "nothing was written into a namespace of others");
}
