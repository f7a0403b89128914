//! The chart takes what `gyre values` writes, as it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context as _, ensure};
use gyre_chart_tests::helm::{self, Helm, NAMESPACE, Release};
use serde_json::{Value, json};

use crate::programs::{IMAGE_PLUGINS, gyre_or_skip, plugins_or_skip};
use crate::rules::permissions;
use crate::sources::fill;

struct Programs {
    gyre: PathBuf,
    helm: Helm,
    plugins: PathBuf,
    folder: tempfile::TempDir,
}

impl Programs {
    #[track_caller]
    fn or_skip() -> anyhow::Result<Option<Self>> {
        let Some(gyre) = gyre_or_skip()? else { return Ok(None) };
        let Some(plugins) = plugins_or_skip()? else { return Ok(None) };
        let Some(helm) = Helm::or_skip()? else { return Ok(None) };
        Ok(Some(Self { gyre, helm, plugins, folder: tempfile::tempdir()? }))
    }

    fn run(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let mut command = Command::new(&self.gyre);
        command.args(arguments).current_dir(&self.plugins).env("GYRE_CODE_CACHE", self.folder.path().join("code"));
        Ok(command.output()?)
    }

    fn printed(&self, arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
        let output = self.run(arguments)?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        helm::documents(&String::from_utf8(output.stdout)?)
    }

    /// The objects of a release with the values for these arguments.
    fn install(&self, arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
        let values = self.folder.path().join("values.yaml");
        let path = values.display().to_string();
        let output = self.run(&[&["values", "--to", &path], arguments].concat())?;
        ensure!(output.status.success() && output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let release = Release { name: "gyre".to_owned(), flags: Vec::new(), values };
        helm::documents(&self.helm.template(&release)?.map_err(anyhow::Error::msg)?)
    }
}

fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> anyhow::Result<&'a Value> {
    let is_it = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
    objects.iter().find(is_it).with_context(|| format!("no {kind} {name}"))
}

fn mounts(objects: &[Value]) -> anyhow::Result<Value> {
    let config = find(objects, "ConfigMap", "gyre-config")?["data"]["gyre.yaml"].as_str().context("no gyre.yaml")?;
    Ok(serde_saphyr::from_str::<Value>(config)?["mounts"].take())
}

/// Without labels and annotations, which the release adds.
fn definitions(objects: &[Value]) -> Vec<Value> {
    let is_definition = |object: &&Value| object["kind"] == "CustomResourceDefinition";
    let mut definitions: Vec<Value> = objects.iter().filter(is_definition).cloned().collect();
    for definition in &mut definitions {
        let metadata = definition["metadata"].as_object_mut().unwrap();
        metadata.remove("labels");
        metadata.remove("annotations");
    }
    definitions
}

#[test]
fn a_release_has_the_mount_the_permissions_the_definitions_and_the_file_of_each_plugin() -> anyhow::Result<()> {
    let Some(programs) = Programs::or_skip()? else { return Ok(()) };
    for file in IMAGE_PLUGINS.into_iter().chain(["greeter.wasm"]) {
        // The kinds that it reads are cluster-scoped.
        let confined = file != "website.wasm";
        for namespaces in [&[][..], &["--namespace", "a", "--namespace", "b"]].into_iter().take(1 + usize::from(confined)) {
            let arguments = [&[file], namespaces].concat();
            let objects = programs.install(&arguments)?;
            let name = file.trim_end_matches(".wasm").replace('_', "-");
            let mut expected = json!({"plugin": format!("/plugins/{name}/{name}.wasm")});
            if !namespaces.is_empty() {
                expected["namespaces"] = json!(["a", "b"]);
            }
            assert_eq!(mounts(&objects)?, json!([expected]), "{file}");

            let account = format!("{NAMESPACE}/gyre");
            let rbac = [&["rbac", "--home-namespace", NAMESPACE, "--service-account", &account][..], &arguments].concat();
            let own = |objects: &[Value]| -> BTreeSet<String> {
                let is_own = |line: &String| line.contains(&format!("in \"{NAMESPACE}\""));
                permissions(objects).into_iter().filter(|line| !is_own(line)).collect()
            };
            assert_eq!(own(&objects), own(&programs.printed(&rbac)?), "{file}");
            let roles = objects.iter().filter(|object| ["Role", "ClusterRole"].iter().any(|kind| object["kind"] == *kind));
            let names: BTreeSet<&str> = roles.filter_map(|role| role["metadata"]["name"].as_str()).collect();
            let of_plugin = format!("gyre-plugin-{name}");
            assert_eq!(names, BTreeSet::from(["gyre-host", &of_plugin]), "{file}");

            let there = definitions(&objects);
            for definition in definitions(&programs.printed(&["crds", file])?) {
                assert!(there.contains(&definition), "{file}: {}", definition["metadata"]["name"]);
            }
            let names: BTreeSet<_> = there.iter().map(|definition| definition["metadata"]["name"].to_string()).collect();
            assert_eq!(names.len(), there.len(), "each definition once");

            let mounted = programs.folder.path().join(&name);
            fill(&mounted, find(&objects, "ConfigMap", &of_plugin)?)?;
            assert!(fs::read(mounted.join(format!("{name}.wasm")))? == fs::read(programs.plugins.join(file))?, "{file}");
        }
    }
    Ok(())
}

#[test]
fn the_file_may_be_in_an_image_or_a_config_map() -> anyhow::Result<()> {
    let Some(programs) = Programs::or_skip()? else { return Ok(()) };
    let reference = "registry.example.com/greeter:1";
    let objects = programs.install(&["greeter.wasm", "--image", reference])?;
    let volume = |objects: &[Value], name: &str| -> anyhow::Result<Value> {
        let pod = &find(objects, "Deployment", "gyre")?["spec"]["template"]["spec"];
        let found = pod["volumes"].as_array().context("no volumes")?.iter().find(|volume| volume["name"] == name);
        Ok(found.with_context(|| format!("no {name}"))?.clone())
    };
    assert_eq!(volume(&objects, "plugin-greeter")?["image"], json!({"reference": reference}));
    assert!(find(&objects, "ConfigMap", "gyre-plugin-greeter").is_err());

    let both = ["pod_log.wasm", "greeter.wasm", "--config-map", "pod-log=files", "--image", "greeter=a/b:2"];
    let settings = ["--settings", "greeter={}"];
    let objects = programs.install(&[&both[..], &settings].concat())?;
    assert_eq!(volume(&objects, "plugin-pod-log")?["configMap"], json!({"name": "files"}));
    assert_eq!(volume(&objects, "plugin-greeter")?["image"], json!({"reference": "a/b:2"}));
    // The file of a ConfigMap keeps its name.
    let expected = json!([{"plugin": "/plugins/pod-log/pod_log.wasm"}, {"plugin": "/plugins/greeter/greeter.wasm"}]);
    assert_eq!(mounts(&objects)?, expected);
    let image = programs.install(&["echo.wasm", "--settings", "{\"restricted\":true}"])?;
    assert_eq!(mounts(&image)?[0]["settings"], json!({"restricted": true}));
    Ok(())
}

#[test]
fn files_that_exceed_the_secret_of_a_release_are_refused_with_what_to_do() -> anyhow::Result<()> {
    let Some(programs) = Programs::or_skip()? else { return Ok(()) };
    let mut arguments = vec!["values"];
    arguments.extend(IMAGE_PLUGINS);
    let output = programs.run(&arguments)?;
    let said = String::from_utf8(output.stderr)?;
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{said}");
    for part in [
        "scheduled-echo",
        " together have ",
        "a release of Helm holds 675 KB of plugins, because Helm stores it in a Secret of at most 1 MiB",
        "--image ",
        "--config-map ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // Those in images do not count.
    let images: Vec<String> = ["echo", "scheduled-echo", "gateway"].iter().map(|name| format!("--image={name}=it")).collect();
    arguments.extend(images.iter().map(String::as_str));
    let objects = programs.install(arguments.get(1..).unwrap_or_default())?;
    assert_eq!(mounts(&objects)?.as_array().map(Vec::len), Some(IMAGE_PLUGINS.len()));
    Ok(())
}
