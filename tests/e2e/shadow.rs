//! A shadow reports the same as `gyre diff`, writes nothing, and does not affect its mount.

use std::collections::BTreeSet;
use std::process::Command;

use gyre_artifacts::probes::{FINALIZING, HOPEFUL, PROTEAN};
use gyre_controlplane::{AuditEvent, Mark};
use serde_json::{Value, json};

use crate::harness::{Cluster, Folder, GYRE, Host, config_map, definition, finalizers, guest};
use crate::metrics::{echos, problems};

const CONFIG: &str = "gyre.yaml";
const SECRET: &str = "correct horse battery staple";

pub(crate) fn gyre(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(GYRE).args(arguments).output().expect("gyre runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), said)
}

fn report(host: &Host, mount: Option<&str>) -> Value {
    let from = host.url();
    let arguments: Vec<&str> = ["shadow"].into_iter().chain(mount).chain(["--from", &from, "-o", "json"]).collect();
    let (_, said) = gyre(&arguments);
    serde_json::from_str(&said).unwrap_or_else(|_| json!({ "said": said }))
}

fn compared(cluster: &Cluster, host: &Host, parents: usize, is_expected: impl Fn(&Value) -> bool) -> Value {
    compared_of(cluster, host, None, parents, is_expected)
}

/// Waits until the shadow of a mount was compared about all parents; returns the report. The mount
/// need not be named if no other one has a shadow.
pub(crate) fn compared_of(
    cluster: &Cluster,
    host: &Host,
    mount: Option<&str>,
    parents: usize,
    is_expected: impl Fn(&Value) -> bool,
) -> Value {
    let mut last = Value::Null;
    let of_mount = mount.map(|mount| format!("plugin=\"{mount}\"")).unwrap_or_default();
    // Comparisons have a low priority. The report is long, so the metrics are polled first.
    let calls = || host.metric("gyre_shadow_calls_total", &[]);
    cluster.eventually_after("all parents to be compared", calls, || {
        if host.metric("gyre_shadow_parents", &["state=\"compared\"", &of_mount]) != parents as f64 {
            return None;
        }
        last = report(host, mount);
        eprintln!("{}", last.get("summary").unwrap_or(&last));
        let is_done = last["parents"] == parents && last["compared"] == parents && last["waiting"] == 0;
        (is_done && is_expected(&last)).then(|| last.clone())
    })
}

fn host(cluster: &Cluster, folder: &Folder, config: &str) -> Host {
    let path = folder.put(CONFIG, config);
    cluster.host_with(&[], &[], &["--config", &path])
}

pub(crate) fn diff(cluster: &Cluster, folder: &Folder, config: &str) -> Value {
    let path = folder.put("after.yaml", config);
    let kubeconfig = cluster.kubeconfig().display().to_string();
    let arguments = ["diff", "--config", &path, "--kubeconfig", &kubeconfig, "-o", "json"];
    let output = Command::new(GYRE).args(arguments).output().expect("gyre runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

pub(crate) fn changes(said: &Value) -> BTreeSet<[String; 4]> {
    let changes = said["changes"].as_array().unwrap_or_else(|| panic!("{said}"));
    let text = |change: &Value, field: &str| change[field].as_str().unwrap_or_default().to_owned();
    changes.iter().map(|change| ["verb", "kind", "name", "parent"].map(|field| text(change, field))).collect()
}

fn assert_agree(host: &Host, shadow: &str, report: &Value, diff: &Value) {
    for field in ["parents", "changing", "counts"] {
        assert_eq!(report[field], diff[field], "{field}: {} and {}", report["summary"], diff["summary"]);
    }
    assert_eq!(changes(report), changes(diff));
    let shadow = format!("plugin=\"{shadow}\"");
    let parents = |state: &str| host.metric("gyre_shadow_parents", &[&shadow, &format!("state=\"{state}\"")]);
    assert_eq!(json!(parents("diverging") as usize), report["changing"]);
    assert_eq!(json!(parents("compared") as usize), report["parents"]);
    for (verb, count) in report["counts"]["byVerb"].as_object().expect("counts") {
        let measured = host.metric("gyre_shadow_changes", &[&shadow, &format!("verb=\"{verb}\"")]);
        assert_eq!(json!(measured as usize), *count, "{verb}");
    }
    assert_eq!(host.metric("gyre_shadow_changes", &[&shadow]), changes(report).len() as f64);
}

pub(crate) fn writes(cluster: &Cluster, since: Mark) -> Vec<String> {
    let requests = cluster.requests(since);
    let describe = |event: &AuditEvent| format!("{} {} {}", event.verb, event.resource, event.name);
    requests.iter().filter(|event| event.is_write()).map(describe).collect()
}

#[test]
fn a_shadow_of_a_thousand_echos_reports_what_a_diff_does_and_writes_nothing() {
    const ECHOS: usize = 1000;
    const EDITED: usize = 10;
    let namespace = "shadow-echo";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let mount =
        format!("mounts:\n- plugin: {}\n  namespaces: [{namespace}]\n  limits: {{deadline: 600s}}\n", gyre_artifacts::ECHO);
    let host = host(&cluster, &folder, &mount);
    cluster.apply_all(&echos(namespace, 0..ECHOS));
    cluster.all_ready(namespace, "echo", ECHOS);
    // The Jobs of these are for an earlier message, which both versions report alike.
    let mut edited = echos(namespace, 0..EDITED);
    edited.iter_mut().for_each(|echo| echo["spec"]["message"] = json!("another"));
    cluster.apply_all(&edited);
    for number in 0..EDITED {
        cluster.reason(namespace, "echo", &format!("echo-{number}"), "Ready", "JobOutdated");
    }
    cluster.settled(&host);
    let calls = host.calls("echo");

    let new = std::fs::read(gyre_artifacts::ECHO).unwrap();
    let new = folder.put("new.wasm", patched(&new, " runs the message", " says the message"));
    let Some(mark) = cluster.audit_mark() else { return };
    folder.put(CONFIG, format!("{mount}  shadow: {{plugin: {new}}}\n"));
    let shadowed = compared(&cluster, &host, ECHOS, |_| true);
    assert_eq!(shadowed["summary"], format!("990 of {ECHOS} parents change: 990 statuses written"));
    assert_agree(&host, "echo", &shadowed, &diff(&cluster, &folder, &mount.replace(gyre_artifacts::ECHO, &new)));
    assert_eq!(host.metric("gyre_shadow_calls_total", &["different"]), (ECHOS - EDITED) as f64);
    assert_eq!(host.metric("gyre_shadow_calls_total", &["same"]), EDITED as f64);
    let state = host.state_of("echo");
    assert_eq!((&state["shadow"]["compared"], &state["shadow"]["diverging"]), (&json!(ECHOS), &json!(990)));
    assert_eq!(host.calls("echo"), calls, "the mount goes on as if there were none");

    let (code, said) = gyre(&["shadow", "echo", "--from", &host.url()]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("status     Echo shadow-echo/echo-10\n"), "{}", &said[..1000]);
    assert!(
        said.contains("-    message: Job echo-10 runs the message\n  +    message: Job echo-10 says the message\n"),
        "{said}"
    );
    let (_, metrics) = host.http("/metrics");
    if let Some(problems) = problems(&metrics) {
        assert_eq!(problems, "exit status: 0", "{metrics}");
    }
    assert_eq!(writes(&cluster, mark), Vec::<String>::new());

    let mut edited = echos(namespace, 20..21);
    edited[0]["spec"]["message"] = json!("another");
    cluster.apply_all(&edited);
    let shadowed = compared(&cluster, &host, ECHOS, |report| report["changing"] == 989);
    assert!(changes(&shadowed).iter().all(|[_, _, name, _]| name != "echo-20"));
    cluster.delete(namespace, "echo", "echo-21");
    compared(&cluster, &host, ECHOS - 1, |report| report["changing"] == 988);
    // The file of a shadow may be replaced, here by the mounted version.
    folder.put("new.wasm", std::fs::read(gyre_artifacts::ECHO).unwrap());
    compared(&cluster, &host, ECHOS - 1, |report| report["changing"] == 0);
    assert!(host.calls("echo") - calls < 10.0, "the mount does not begin anew for its shadow");
    folder.put(CONFIG, &mount);
    cluster.eventually("the shadow to go", || host.state_of("echo")["shadow"].is_null().then_some(()));
    let (code, said) = gyre(&["shadow", "--from", &host.url()]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("no mount has a shadow; give a mount one in the configuration file: shadow: {plugin: FILE}"),
        "{said}"
    );
    assert_eq!(host.metric("gyre_shadow_parents", &[]), 0.0);
}

#[test]
fn a_create_only_child_is_compared_as_if_it_were_recreated() {
    const ECHOS: usize = 3;
    let namespace = "shadow-anew";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let mount = format!("mounts:\n- plugin: {0}\n  namespaces: [{namespace}]\n", gyre_artifacts::ECHO);
    let shadow = format!("  shadow: {{plugin: {}, settings: {{restricted: true}}}}\n", gyre_artifacts::ECHO);
    let host = host(&cluster, &folder, &format!("{mount}{shadow}"));
    cluster.apply_all(&echos(namespace, 0..ECHOS));
    cluster.all_ready(namespace, "echo", ECHOS);
    let shadowed = compared(&cluster, &host, ECHOS, |report| report["changing"] == 0);
    assert_eq!(shadowed["summary"], format!("0 of {ECHOS} parents change: {ECHOS} children would differ if recreated"));
    let (code, said) = gyre(&["shadow", "--from", &host.url()]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("anew       Job shadow-anew/echo-0, of Echo shadow-anew/echo-0\n"), "{said}");
    assert!(said.contains("allowPrivilegeEscalation: false"), "{said}");
}

fn protean(namespace: &str, more: &str, settings: &Value, shadow: Option<&Value>) -> String {
    let mount = format!("mounts:\n- plugin: {PROTEAN}\n  namespaces: [{namespace}]\n{more}  settings: {settings}\n");
    shadow.map_or(mount.clone(), |shadow| format!("{mount}  shadow: {{plugin: {PROTEAN}, settings: {shadow}}}\n"))
}

fn parents(namespace: &str, count: usize) -> Vec<Value> {
    (0..count).map(|number| guest("Protean", namespace, &format!("it-{number:02}"), json!({}))).collect()
}

#[test]
fn created_changed_and_deleted_children_are_reported_without_values_of_secrets() {
    const PARENTS: usize = 30;
    let namespace = "shadow-children";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let settings = json!({ "text": "old", "secret": SECRET });
    let host = host(&cluster, &folder, &protean(namespace, "", &settings, None));
    cluster.apply_all(&parents(namespace, PARENTS));
    cluster.all_ready(namespace, "protean", PARENTS);
    cluster.settled(&host);

    let Some(mark) = cluster.audit_mark() else { return };
    let other = json!({ "text": "new", "secret": format!("{SECRET}, changed"), "children": ["one", "three"] });
    folder.put(CONFIG, protean(namespace, "", &settings, Some(&other)));
    let shadowed = compared(&cluster, &host, PARENTS, |_| true);
    let expected =
        format!("{PARENTS} of {PARENTS} parents change: 30 children created, 60 children changed, 30 children deleted");
    assert_eq!(shadowed["summary"], expected);
    assert_agree(&host, "protean", &shadowed, &diff(&cluster, &folder, &protean(namespace, "", &other, None)));
    let (code, said) = gyre(&["shadow", "--from", &host.url()]);
    assert_eq!(code, Some(1), "{said}");
    for line in [
        "update     ConfigMap shadow-children/it-00-one, of Protean shadow-children/it-00\n",
        "  -  text: old\n  +  copy: redacted-",
        "delete     ConfigMap shadow-children/it-29-two, of Protean shadow-children/it-29\n",
        "create     ConfigMap shadow-children/it-07-three, of Protean shadow-children/it-07\n",
        "update     Secret shadow-children/it-00-secret, of Protean shadow-children/it-00\n",
    ] {
        assert!(said.contains(line), "{line:?} in:\n{said}");
    }
    for form in ["correct horse", "Y29ycmVjdCBob3JzZ"] {
        assert!(!said.contains(form) && !shadowed.to_string().contains(form), "{form} in:\n{said}");
    }
    let (code, said) = gyre(&["shadow", "--from", &host.url(), "--summary"]);
    assert_eq!((code, said), (Some(1), format!("{expected}\n")));

    folder.put(CONFIG, protean(namespace, "", &settings, Some(&settings)));
    let shadowed = compared(&cluster, &host, PARENTS, |report| report["changing"] == 0);
    assert_eq!(shadowed["changes"], json!([]));
    let (code, said) = gyre(&["shadow", "--from", &host.url()]);
    assert_eq!((code, said), (Some(0), format!("0 of {PARENTS} parents change\n")));
    assert_eq!(writes(&cluster, mark), Vec::<String>::new());
}

#[test]
fn a_shadow_has_the_grants_of_its_mount_and_its_reads_call_no_plugin() {
    let namespace = "shadow-granted";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let (settings, other) = (json!({}), json!({ "secret": SECRET, "read": "settings" }));
    cluster.apply(&config_map(namespace, "settings", json!({ "text": "first" })).to_string());
    let narrow = "  grants: {children: [ConfigMap.v1], reads: []}\n";
    let host = host(&cluster, &folder, &protean(namespace, narrow, &settings, Some(&other)));
    cluster.apply_all(&parents(namespace, 3));
    cluster.all_ready(namespace, "protean", 3);
    cluster.settled(&host);
    let shadowed = compared(&cluster, &host, 3, |_| true);
    assert_eq!(
        shadowed["summary"], "3 of 3 parents change: 6 children changed, 3 statuses written; 3 changes would be refused",
        "{shadowed}"
    );
    let (_, said) = gyre(&["shadow", "--from", &host.url()]);
    assert!(said.contains("create     Secret shadow-granted/it-00-secret (refused: "), "{said}");
    assert!(said.contains("  +  text: NotGranted\n"), "{said}");

    folder.put(CONFIG, protean(namespace, "", &settings, Some(&other)));
    let is = |text: &'static str| move |report: &Value| report.to_string().contains(&format!("\"text\":\"{text}\""));
    compared(&cluster, &host, 3, is("first"));
    cluster.settled(&host);
    let (calls, hits) = (host.calls("protean"), host.memo_hits("protean"));
    cluster.apply(&config_map(namespace, "settings", json!({ "text": "second" })).to_string());
    cluster.settled(&host);
    assert_eq!((host.calls("protean"), host.memo_hits("protean")), (calls, hits));
    for number in 0..3 {
        cluster.touch(namespace, "protean", &format!("it-{number:02}"), "yes");
    }
    compared(&cluster, &host, 3, is("second"));
}

#[test]
fn a_shadow_that_fails_panics_or_spins_does_its_mount_no_harm() {
    const PARENTS: usize = 12;
    let namespace = "shadow-harm";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let config = |shadow: Value| protean(namespace, "  limits: {deadline: 1s}\n", &json!({}), Some(&shadow));
    let host = host(&cluster, &folder, &config(json!({ "end": "fail" })));
    cluster.apply_all(&parents(namespace, PARENTS));
    cluster.all_ready(namespace, "protean", PARENTS);
    cluster.settled(&host);
    let shadowed = compared(&cluster, &host, PARENTS, |_| true);
    assert_eq!(shadowed["summary"], "12 of 12 parents change: 12 statuses written, 12 calls fail");
    let (_, said) = gyre(&["shadow", "--from", &host.url()]);
    assert!(said.contains("fail       Protean shadow-harm/it-00: PluginTerminal: it fails, as its settings say\n"), "{said}");

    folder.put(CONFIG, config(json!({ "end": "panic", "of": "it-03" })));
    let shadowed = compared(&cluster, &host, PARENTS, |report| report["changing"] == 1);
    assert_eq!(shadowed["summary"], "1 of 12 parents changes: 1 status written, 1 call fails");
    assert!(shadowed["changes"].to_string().contains("Trapped: "), "{shadowed}");

    for (end, reason) in [("panic", "Trapped"), ("spin", "DeadlineExceeded")] {
        folder.put(CONFIG, config(json!({ "end": end })));
        let shadowed = cluster.eventually("the quarantine of the shadow", || {
            let report = report(&host, None);
            eprintln!("{}", report["summary"]);
            (report["quarantine"] == reason).then_some(report)
        });
        // A parent may be compared twice before five calls have failed.
        assert!(shadowed["changing"].as_u64() >= Some(1), "{shadowed}");
        assert_eq!(shadowed["changing"], shadowed["compared"], "{shadowed}");
        let (code, said) = gyre(&["shadow", "--from", &host.url(), "--summary"]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(&format!("the shadow is quarantined, because its calls keep ending in {reason}")), "{said}");
        let name = format!("during-{end}");
        cluster.apply(&guest("Protean", namespace, &name, json!({})).to_string());
        cluster.ready(namespace, "protean", &name);
        assert_eq!(host.metric("gyre_plugin_quarantined", &["protean"]), 0.0);
    }
    cluster.settled(&host);
    let calls = |parts: &[&str]| host.metric("gyre_plugin_calls_total", parts);
    assert_eq!(calls(&[]), calls(&["\"Success\""]));
    assert_eq!(host.metric("gyre_plugin_problems_total", &[]), host.metric("gyre_plugin_problems_total", &["\"Stale\""]));
    assert!(host.state_of("protean")["quarantine"].is_null());
    assert_eq!(host.http("/healthz").1, "ok\n");
}

/// Returns a component with another text of the same length in each place of this one.
pub(crate) fn patched(component: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut patched = component.to_vec();
    let places: Vec<usize> = (0..component.len()).filter(|at| component[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "{from} is not there");
    for at in places {
        patched[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    patched
}

#[test]
fn a_shadow_notices_a_kind_that_becomes_served() {
    let namespace = "shadow-served";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    // Another kind than in other tests.
    let mounted = patched(&std::fs::read(HOPEFUL).unwrap(), "Hopeabsent", "Hypeabsent");
    let shadow = folder.put("shadow.wasm", patched(&mounted, "Hypeabsent", "Hypevacant"));
    let mounted = folder.put("mounted.wasm", mounted);
    let config = format!("mounts:\n- {{plugin: {mounted}, namespaces: [{namespace}], shadow: {{plugin: {shadow}}}}}\n");
    let host = host(&cluster, &folder, &config);
    cluster.apply(&guest("Hopeful", namespace, "it", json!({ "hope": "spring" })).to_string());
    cluster.ready(namespace, "hopeful", "it");
    compared(&cluster, &host, 1, |report| report["changing"] == 0);
    cluster.apply(&definition("Hype", "hypes"));
    // The shadow may be compared once more before it knows that the kind is served.
    compared(&cluster, &host, 1, |report| {
        let data = |state: &str| report["changes"][0][state]["data"]["hope"].clone();
        report["changing"] == 1 && (data("before"), data("after")) == (json!("absent"), json!("vacant"))
    });
}

/// The shadow is called for these, too. It neither keeps nor releases them.
#[test]
fn deleted_parents_are_compared_by_their_teardown() {
    let namespace = "shadow-finalize";
    let Some(cluster) = Cluster::for_test(namespace, &[namespace]) else { return };
    let folder = Folder::new();
    let component = std::fs::read(FINALIZING).unwrap();
    // It fails with another message.
    let shadow = folder.put("shadow.wasm", patched(&component, "spec.finalize says so", "spec.finalize said so"));
    let config = format!("mounts:\n- {{plugin: {FINALIZING}, namespaces: [{namespace}], shadow: {{plugin: {shadow}}}}}\n");
    let host = host(&cluster, &folder, &config);
    let parent = |name: &str, how: &str| guest("Finalizing", namespace, name, json!({ "finalize": how }));
    cluster.apply_all(&[parent("stays", "fail"), parent("goes", "now"), parent("lives", "now")]);
    cluster.all_ready(namespace, "finalizing", 3);
    compared(&cluster, &host, 3, |report| report["changing"] == 0);

    for name in ["stays", "goes"] {
        cluster.delete(namespace, "finalizing", name);
    }
    cluster.gone(namespace, "finalizing", &["goes"]);
    let shadowed = compared(&cluster, &host, 2, |report| report["changing"] == 1);
    let expected =
        ["fail", "status"].map(|verb| [verb, "Finalizing", "stays", "Finalizing shadow-finalize/stays"].map(str::to_owned));
    assert_eq!(changes(&shadowed), expected.into());
    assert!(shadowed["changes"].to_string().contains("PluginTransient: spec.finalize said so"), "{shadowed}");
    assert_eq!(finalizers(&cluster.get(namespace, "finalizing", "stays").unwrap()), ["gyre.dev/finalizing"]);
    cluster.kubectl(&["annotate", "-n", namespace, "finalizing", "stays", "gyre.dev/release=true"]);
    cluster.gone(namespace, "finalizing", &["stays"]);
    compared(&cluster, &host, 1, |report| report["changing"] == 0);
}

#[test]
fn a_shadow_only_needs_permissions_to_read() {
    let folder = Folder::new();
    let other = String::from_utf8_lossy(b"ConfigMap");
    let component = std::fs::read(PROTEAN).unwrap();
    // A kind of the same length.
    let mut changed = component.clone();
    let places: Vec<usize> = component
        .windows(other.len())
        .enumerate()
        .filter(|(_, window)| *window == other.as_bytes())
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty());
    for at in places {
        changed[at..at + other.len()].copy_from_slice(b"Endpoints");
    }
    let shadow = folder.put("other.wasm", changed);
    let rules = |more: &str| {
        let path = folder.put(CONFIG, format!("mounts:\n- plugin: {PROTEAN}\n  namespaces: [a]\n{more}"));
        let (code, said) = gyre(&["rbac", "--config", &path]);
        assert_eq!(code, Some(0), "{said}");
        said
    };
    let (without, with) = (rules(""), rules(&format!("  shadow: {{plugin: {shadow}}}\n")));
    let added: Vec<&str> = with.lines().filter(|line| !without.lines().any(|known| known == *line)).map(str::trim).collect();
    assert_eq!(added, ["- endpoints"], "{with}");
    let rule = with.split("- apiGroups:").find(|rule| rule.contains("- endpoints")).unwrap();
    let verbs: Vec<&str> =
        rule.split("verbs:").nth(1).unwrap().split_whitespace().filter(|word| word.len() > 1).take(2).collect();
    assert_eq!(verbs, ["list", "watch"], "{rule}");
}
