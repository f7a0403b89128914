//! A release whose plugin comes from a registry, on a real API server: with credentials from a pull
//! secret, and signed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use gyre_controlplane::registry::{Authentication, Options, Registry};
use gyre_controlplane::registry_or_skip;
use serde_json::{Value, json};

use crate::host::Installed;

const SECRET: &str = "registries";
const REPOSITORY: &str = "team/echo";

/// Runs gyre with access to the registry, and returns its output.
fn gyre(installed: &Installed, registry: &Registry, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new(&installed.gyre);
    command.args(arguments).current_dir(&installed.plugins).stdin(Stdio::null());
    command.env("GYRE_REGISTRY_CA", registry.authority()).env("GYRE_REGISTRY_CREDENTIALS", registry.docker_config());
    command.env("GYRE_PLUGIN_CACHE", installed.folder.path().join("cache-of-commands"));
    let output = command.output()?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn data(installed: &Installed, resource: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let object = installed.get_json(resource)?;
    Ok(serde_json::from_value(object["data"].clone())?)
}

/// Writes the files of a volume of the Pod into a folder, as a kubelet does.
fn fill(installed: &Installed, volume: &Value, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    if let Some(name) = volume["configMap"]["name"].as_str() {
        for (file, text) in data(installed, &format!("configmap/{name}"))? {
            fs::write(folder.join(file), text)?;
        }
    }
    if let Some(name) = volume["secret"]["secretName"].as_str() {
        let data = data(installed, &format!("secret/{name}"))?;
        for item in volume["secret"]["items"].as_array().context("no items")? {
            let encoded = data.get(item["key"].as_str().context("no key")?).context("the key is not in the Secret")?;
            let file = tempfile::NamedTempFile::new()?;
            fs::write(file.path(), encoded)?;
            let decoded = Command::new("base64").arg("--decode").arg(file.path()).output()?;
            ensure!(decoded.status.success(), "base64: {}", String::from_utf8_lossy(&decoded.stderr));
            fs::write(folder.join(item["path"].as_str().context("no path")?), decoded.stdout)?;
        }
    }
    Ok(())
}

/// The command of the container, with the folders of its volumes, and its variables with a value.
fn container(installed: &Installed) -> anyhow::Result<Command> {
    let pod = installed.get_json("deployment/gyre")?["spec"]["template"]["spec"].take();
    let container = &pod["containers"][0];
    let mut folders = Vec::new();
    for mount in container["volumeMounts"].as_array().context("no mounts")? {
        let name = mount["name"].as_str().context("no name")?;
        let volumes = pod["volumes"].as_array().context("no volumes")?;
        let volume = volumes.iter().find(|volume| volume["name"] == name).with_context(|| format!("no volume {name}"))?;
        let folder = installed.folder.path().join(name);
        fill(installed, volume, &folder)?;
        folders.push((mount["mountPath"].as_str().context("no path")?.to_owned(), folder.display().to_string()));
    }
    // The longest path first, as one may begin with another.
    folders.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    let here = |text: &str| {
        let found = folders.iter().find(|(path, _)| text.contains(path));
        found.map_or_else(|| text.to_owned(), |(path, folder)| text.replace(path, folder))
    };
    let mut command = Command::new(&installed.gyre);
    command.args(container["args"].as_array().context("no arguments")?.iter().filter_map(Value::as_str).map(here));
    command.envs(data(installed, "configmap/gyre")?);
    for variable in container["env"].as_array().context("no variables")? {
        if let (Some(name), Some(value)) = (variable["name"].as_str(), variable["value"].as_str()) {
            command.env(name, here(value));
        }
    }
    Ok(command)
}

#[test]
fn a_release_mounts_a_signed_plugin_of_a_registry_with_a_pull_secret() -> anyhow::Result<()> {
    let options = Options { authentication: Authentication::Bearer, ..Options::default() };
    let Some(registry) = registry_or_skip(options)? else { return Ok(()) };
    let Some(installed) = Installed::without_release_or_skip()? else { return Ok(()) };
    let reference = registry.reference(&format!("{REPOSITORY}:1.4"));
    let pushed = gyre(&installed, &registry, &["push", "echo.wasm", &reference])?;
    let digest = pushed.lines().last().context("no digest")?.to_owned();
    let (private, public) = registry.new_keys("team")?;
    gyre(&installed, &registry, &["sign", "--key", &private.display().to_string(), &reference])?;

    let credentials = format!("--from-file=.dockerconfigjson={}", registry.docker_config().display());
    installed.get(&["create", "secret", "generic", SECRET, "--type=kubernetes.io/dockerconfigjson", &credentials])?;
    let written = gyre(&installed, &registry, &["values", &reference])?;
    let mut values: Value = serde_saphyr::from_str(&written)?;
    let oci = &mut values["plugins"][0]["oci"];
    assert_eq!(*oci, json!({ "reference": reference }), "{written}");
    oci["pullSecret"] = json!(SECRET);
    oci["keys"] = json!([fs::read_to_string(public)?]);
    values["extraEnv"] = json!([{ "name": "GYRE_REGISTRY_CA", "value": registry.authority() }]);
    installed.helm("install", &values)?;

    let host = installed.start_by(container(&installed)?, "gyre-0", &installed.account()?)?;
    installed.create("Echo", "hello")?;
    installed.is_ready("echo/hello").with_context(|| host.log())?;
    let inventory = installed.get_json("configmap/gyre-inventory")?;
    assert!(inventory.to_string().contains(&digest), "{inventory}");
    assert!(!host.log().contains("forbidden"), "{}", host.log());
    let pulled = registry.requests()?;
    assert!(pulled.iter().any(|request| request.reads_blob() && request.authorization == "Bearer"), "{pulled:?}");
    Ok(())
}
