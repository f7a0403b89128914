//! The chart grants what `gyre rbac` prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::ensure;
use gyre_chart_tests::helm::{self, Helm, NAMESPACE, Release};
use gyre_chart_tests::{blessing, chart, root};
use serde_json::{Map, Value, json};

use crate::programs::{IMAGE_PLUGINS, gyre_or_skip, plugins_or_skip};
use crate::render::render;

/// Returns the permissions by account and namespace, one line per verb and resource.
pub(crate) fn permissions(objects: &[Value]) -> BTreeSet<String> {
    let mut permissions = BTreeSet::new();
    for role in objects.iter().filter(|object| ["Role", "ClusterRole"].iter().any(|kind| object["kind"] == *kind)) {
        let binds = |object: &&Value| {
            object["roleRef"]["kind"] == role["kind"]
                && object["roleRef"]["name"] == role["metadata"]["name"]
                && object["metadata"]["namespace"] == role["metadata"]["namespace"]
        };
        let binding = objects.iter().find(binds).unwrap_or_else(|| panic!("nothing binds {role}"));
        let subject = &binding["subjects"][0];
        let (who, place) = (format!("{}/{}", subject["namespace"], subject["name"]), &role["metadata"]["namespace"]);
        let texts = |rule: &Value, key: &str| -> Vec<String> {
            rule[key].as_array().into_iter().flatten().map(Value::to_string).collect()
        };
        for rule in role["rules"].as_array().unwrap() {
            let mut names = texts(rule, "resourceNames");
            if names.is_empty() {
                names.push("any".to_owned());
            }
            for group in texts(rule, "apiGroups") {
                for (resource, name) in
                    texts(rule, "resources").iter().flat_map(|resource| names.iter().map(move |name| (resource, name)))
                {
                    for verb in texts(rule, "verbs") {
                        permissions.insert(format!("{who} in {place}: {verb} {group} {resource} {name}"));
                    }
                }
            }
        }
    }
    permissions
}

fn printed(gyre: &Path, mount: &Value, folder: &Path) -> anyhow::Result<Vec<Value>> {
    let file = folder.join("one.yaml");
    fs::write(&file, json!({"mounts": [mount]}).to_string())?;
    let mut command = Command::new(gyre);
    command.args(["rbac", "--config"]).arg(&file).env("GYRE_CODE_CACHE", folder.join("code"));
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    helm::documents(&String::from_utf8(output.stdout)?)
}

/// Returns the rules of a plugin: confined to namespaces, everywhere, and for a writer.
fn rules_of(gyre: &Path, plugin: &Path, folder: &Path) -> anyhow::Result<Value> {
    let confined = printed(gyre, &json!({"plugin": plugin, "namespaces": ["a"], "impersonate": "b/writer"}), folder)?;
    let everywhere = printed(gyre, &json!({"plugin": plugin, "impersonate": "b/writer"}), folder)?;
    let rules = |objects: &[Value], kind: &str, is_writer: bool, namespace: Value| -> Vec<Value> {
        let is_it = |object: &&Value| {
            let (metadata, name) = (&object["metadata"], object["metadata"]["name"].as_str().unwrap_or_default());
            let is_meant = name.starts_with("gyre:mount:") && name.ends_with(":writer") == is_writer;
            object["kind"] == kind && is_meant && metadata["namespace"] == namespace
        };
        objects.iter().find(is_it).and_then(|object| object["rules"].as_array().cloned()).unwrap_or_default()
    };
    assert!(confined.iter().all(|object| object["kind"] != "ClusterRole"), "{}: a Role is enough", plugin.display());
    let reads = rules(&confined, "Role", false, json!("a"));
    let writes = rules(&confined, "Role", true, json!("a"));
    assert_eq!(writes, rules(&everywhere, "ClusterRole", true, Value::Null), "{}", plugin.display());
    let mut beside = rules(&everywhere, "ClusterRole", false, Value::Null);
    for rule in &mut beside {
        let (group, verbs) = (rule["apiGroups"].clone(), rule["verbs"].clone());
        let is_there = |resource: &Value| {
            let same = reads.iter().filter(|read| read["apiGroups"] == group && read["verbs"] == verbs);
            same.flat_map(|read| read["resources"].as_array().unwrap()).any(|read| read == resource)
        };
        rule["resources"].as_array_mut().unwrap().retain(|resource| !is_there(resource));
    }
    beside.retain(|rule| !rule["resources"].as_array().unwrap().is_empty());
    Ok(json!({"reads": reads, "readsEverywhere": beside, "writes": writes}))
}

#[test]
fn the_rules_of_the_plugins_in_the_image_are_what_the_host_says() -> anyhow::Result<()> {
    let Some(gyre) = gyre_or_skip()? else { return Ok(()) };
    let Some(plugins) = plugins_or_skip()? else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let mut rules = Map::new();
    for file in IMAGE_PLUGINS {
        rules.insert(format!("/plugins/{file}"), rules_of(&gyre, &plugins.join(file), folder.path())?);
    }
    let path = chart().join("files/rules.json");
    if blessing() {
        fs::write(&path, serde_json::to_string_pretty(&rules)? + "\n")?;
    }
    let expected: Map<String, Value> = serde_json::from_str(&fs::read_to_string(&path)?)?;
    assert_eq!(rules, expected, "GYRE_BLESS=1 writes it");
    Ok(())
}

#[test]
fn the_chart_grants_what_the_host_says_it_needs() -> anyhow::Result<()> {
    let Some(gyre) = gyre_or_skip()? else { return Ok(()) };
    let Some(plugins) = plugins_or_skip()? else { return Ok(()) };
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    for (case, extra) in [
        ("default", ""),
        ("claims-by-mount", ""),
        ("single", ""),
        ("impersonation", ""),
        ("impersonation-everywhere", ""),
        ("namespaced", "\"serviceaccounts\" \"echo\""),
        ("all-plugins", ""),
        ("all-plugins-namespaced", ""),
    ] {
        let objects = helm::documents(&render(&helm, &root().join("tests/chart/cases").join(case)))?;
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let account = deployment["spec"]["template"]["spec"]["serviceAccountName"].as_str().unwrap();
        let config = objects.iter().find_map(|object| object["data"]["gyre.yaml"].as_str()).unwrap();
        let environment = objects.iter().find(|object| object["data"]["GYRE_HA"].is_string()).unwrap();
        let file = folder.path().join("gyre.yaml");
        fs::write(&file, config.replace("/plugins", &plugins.display().to_string()))?;
        let mut command = Command::new(&gyre);
        command
            .args(["rbac", "--home-namespace", NAMESPACE, "--config"])
            .arg(&file)
            .arg("--service-account")
            .arg(format!("{NAMESPACE}/{account}"));
        command.env("GYRE_CODE_CACHE", folder.path().join("code"));
        let variables = environment["data"].as_object().unwrap().iter().filter(|(name, _)| name.starts_with("GYRE_HA_"));
        command.envs(variables.map(|(name, value)| (name, value.as_str().unwrap())));
        let output = command.output()?;
        ensure!(output.status.success(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
        let printed = helm::documents(&String::from_utf8(output.stdout)?)?;
        let identity = |object: &Value| {
            ["kind", "namespace", "name"].map(|key| match key {
                "kind" => object["kind"].to_string(),
                key => object["metadata"][key].to_string(),
            })
        };
        let of_chart: BTreeSet<_> = objects.iter().map(identity).collect();
        let replaced: Vec<_> = printed.iter().map(identity).filter(|printed| of_chart.contains(printed)).collect();
        assert!(replaced.is_empty(), "{case}: `kubectl apply` would replace objects of the chart: {replaced:?}");
        let mut needed = permissions(&printed);
        let mut granted = permissions(&objects);
        if !extra.is_empty() {
            let before = granted.len();
            granted.retain(|line| !line.contains(extra));
            assert!(granted.len() < before, "{case}");
        }
        if environment["data"]["GYRE_HA_SCOPE"] == "host" {
            // `gyre rbac` does not know the scope of Leases: one Lease needs only its own name.
            needed.retain(|line| !line.contains("\"leases\""));
            granted.retain(|line| !line.contains("\"leases\""));
        }
        assert_eq!(granted, needed, "{case}");
    }
    Ok(())
}

/// A user gives the chart what `gyre rbac` prints, as it is.
#[test]
fn the_chart_takes_what_the_host_prints() -> anyhow::Result<()> {
    let Some(gyre) = gyre_or_skip()? else { return Ok(()) };
    let Some(plugins) = plugins_or_skip()? else { return Ok(()) };
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let plugin = plugins.join("greeter.wasm");
    for (mount, namespaced) in [
        (json!({}), false),
        (json!({"namespaces": ["a", "b"]}), false),
        (json!({"namespaces": ["a", "b"]}), true),
        (json!({"impersonate": "other/writer"}), false),
        (json!({"namespaces": ["a"], "impersonate": "other/writer"}), true),
    ] {
        let with = |key: &str, value: Value| {
            let mut mount = mount.clone();
            mount.as_object_mut().unwrap().insert(key.to_owned(), value);
            mount
        };
        let config = folder.path().join("gyre.yaml");
        fs::write(&config, json!({"name": "other", "mounts": [with("plugin", json!(plugin))]}).to_string())?;
        let mut command = Command::new(&gyre);
        command.args(["rbac", "--service-account", &format!("{NAMESPACE}/gyre"), "--home-namespace", NAMESPACE]);
        command.arg("--config").arg(&config).env("GYRE_CODE_CACHE", folder.path().join("code"));
        let output = command.output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let rules = folder.path().join("rules.yaml");
        fs::write(&rules, &output.stdout)?;
        let own = format!("in \"{NAMESPACE}\"");
        let of_mounts = |objects: &[Value]| -> BTreeSet<String> {
            permissions(objects).into_iter().filter(|line| !line.contains(&own)).collect()
        };
        let needed = of_mounts(&helm::documents(&String::from_utf8(output.stdout)?)?);
        for value in ["plugins[0].rules", "rbac.extraRules"] {
            let values = folder.path().join("values.json");
            let source = json!({"name": "greeter", "configMap": {"name": "greeter"}, "mounts": [mount]});
            let rbac = json!({"namespaced": namespaced});
            fs::write(&values, json!({"config": {"mounts": []}, "plugins": [source], "rbac": rbac}).to_string())?;
            let flags = vec!["--set-file".to_owned(), format!("{value}={}", rules.display())];
            let rendered = helm.template(&Release { name: "gyre".to_owned(), flags, values })?.map_err(anyhow::Error::msg)?;
            assert_eq!(of_mounts(&helm::documents(&rendered)?), needed, "{value}: {mount}");
        }
    }
    Ok(())
}
