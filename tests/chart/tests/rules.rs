//! The chart grants what `gyre rbac` prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::ensure;
use gyre_chart_tests::helm::{self, Helm, NAMESPACE};
use gyre_chart_tests::{blessing, chart, root};
use serde_json::{Map, Value, json};

use crate::programs::{IMAGE_PLUGINS, gyre_or_skip, plugins_or_skip};
use crate::render::render;

/// Who may do what, where: one line for each verb of each resource.
fn permissions(objects: &[Value]) -> BTreeSet<String> {
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

/// The rules of a plugin, as `gyre rbac` prints them: those of the host, where its objects are and everywhere, and those of whoever writes.
fn rules_of(gyre: &Path, plugin: &Path, folder: &Path) -> anyhow::Result<Value> {
    let mount = json!({"plugin": plugin, "namespaces": ["theirs"], "impersonate": "nobody/writer"});
    let file = folder.join("one.yaml");
    fs::write(&file, json!({"mounts": [mount]}).to_string())?;
    let mut command = Command::new(gyre);
    command.args(["rbac", "--config"]).arg(&file).env("GYRE_CODE_CACHE", folder.join("code"));
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let objects = helm::documents(&String::from_utf8(output.stdout)?)?;
    let rules = |kind: &str, name: &str, namespace: Value| {
        let is_it = |object: &&Value| {
            let metadata = &object["metadata"];
            object["kind"] == kind && metadata["name"] == name && metadata["namespace"] == namespace
        };
        objects.iter().find(is_it).map_or_else(|| json!([]), |object| object["rules"].clone())
    };
    let written = rules("Role", "gyre-writer", json!("theirs"));
    let rest = ["gyre-writer.nobody", "gyre-writer"].map(|name| rules("ClusterRole", name, Value::Null));
    assert_eq!(rest, [json!([]), json!([])], "{}: nothing is written outside of namespaces", plugin.display());
    Ok(json!({
        "reads": rules("Role", "gyre", json!("theirs")),
        "readsEverywhere": rules("ClusterRole", "gyre", Value::Null),
        "writes": written,
    }))
}

/// The chart has the rules of all plugins that the image brings.
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
        let environment = objects.iter().find(|object| object["data"]["HA_ENABLED"].is_string()).unwrap();
        let file = folder.path().join("gyre.yaml");
        fs::write(&file, config.replace("/plugins", &plugins.display().to_string()))?;
        let mut command = Command::new(&gyre);
        command
            .args(["rbac", "--home-namespace", NAMESPACE, "--config"])
            .arg(&file)
            .arg("--service-account")
            .arg(format!("{NAMESPACE}/{account}"));
        command.env("GYRE_CODE_CACHE", folder.path().join("code"));
        let variables = environment["data"].as_object().unwrap().iter().filter(|(name, _)| name.starts_with("HA_"));
        command.envs(variables.map(|(name, value)| (name, value.as_str().unwrap())));
        let output = command.output()?;
        ensure!(output.status.success(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
        let mut needed = permissions(&helm::documents(&String::from_utf8(output.stdout)?)?);
        let mut granted = permissions(&objects);
        if !extra.is_empty() {
            let before = granted.len();
            granted.retain(|line| !line.contains(extra));
            assert!(granted.len() < before, "{case}");
        }
        if environment["data"]["HA_SCOPE"] == "host" {
            // `gyre rbac` does not know whether there is one Lease or one for each mount. For one, its name will do.
            needed.retain(|line| !line.contains("\"leases\""));
            granted.retain(|line| !line.contains("\"leases\""));
        }
        assert_eq!(granted, needed, "{case}");
    }
    Ok(())
}
