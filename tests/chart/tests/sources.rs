//! The files of plugin sources are where the configuration looks for them, byte for byte.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use gyre_chart_tests::helm::{self, Helm, Release};
use serde_json::{Value, json};

use crate::programs::{gyre_or_skip, plugins_or_skip};

fn run(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

/// Fills a folder with the files of a ConfigMap, like a kubelet.
pub(crate) fn fill(folder: &Path, map: &Value) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, text) in map["binaryData"].as_object().context("no binaryData")? {
        let encoded = tempfile::NamedTempFile::new()?;
        fs::write(encoded.path(), text.as_str().context("no text")?)?;
        fs::write(folder.join(name), run(Command::new("base64").arg("--decode").arg(encoded.path()))?)?;
    }
    Ok(())
}

/// One plugin comes with the values, as in README.md; an init container copies one from its image.
#[test]
fn plugins_are_mounted_from_where_their_sources_put_them() -> anyhow::Result<()> {
    let Some(gyre) = gyre_or_skip()? else { return Ok(()) };
    let Some(plugins) = plugins_or_skip()? else { return Ok(()) };
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let place = |path: &str| folder.path().join(path.trim_start_matches('/'));
    let greeter = plugins.join("echo.wasm");
    let image = place("/image/shelf");
    fs::create_dir_all(&image)?;
    fs::copy(plugins.join("xca.wasm"), image.join("copied.wasm"))?;

    let encoded = place("/greeter.b64");
    fs::write(&encoded, run(Command::new("base64").arg("-w0").arg(&greeter))?)?;
    let copied = json!({"name": "copied", "initContainer": {"image": "registry.example.com/copied:1", "path": "/shelf"}});
    let values = place("/values.json");
    fs::write(&values, json!({"config": {"mounts": []}, "plugins": [{"name": "greeter"}, copied]}).to_string())?;
    let flags = vec!["--set-file".to_owned(), format!("plugins[0].binary={}", encoded.display())];
    let rendered = helm.template(&Release { name: "gyre".to_owned(), flags, values })?.map_err(anyhow::Error::msg)?;
    let objects = helm::documents(&rendered)?;
    let find = |kind: &str, name: &str| {
        let is_it = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
        objects.iter().find(is_it).with_context(|| format!("no {kind} {name}"))
    };

    // The files of the pod.
    let pod = &find("Deployment", "gyre")?["spec"]["template"]["spec"];
    let mounted_at = |container: &Value, volume: &Value| {
        let mounts = container["volumeMounts"].as_array().unwrap();
        mounts.iter().find(|mount| mount["name"] == *volume).map(|mount| place(mount["mountPath"].as_str().unwrap()))
    };
    for volume in pod["volumes"].as_array().context("no volumes")? {
        let name = &volume["name"];
        let Some(at) = mounted_at(&pod["containers"][0], name) else { continue };
        match volume["configMap"]["name"].as_str() {
            Some(map) if map.contains("-plugin-") => fill(&at, find("ConfigMap", map)?)?,
            Some(_) => {}
            // The init container writes to one path, and the host reads from another.
            None => fs::create_dir_all(&at)?,
        }
    }
    for container in pod["initContainers"].as_array().context("no init containers")? {
        let target = mounted_at(&pod["containers"][0], &container["volumeMounts"][0]["name"]).context("not mounted")?;
        let words = container["command"].as_array().context("no command")?.iter().map(|word| word.as_str().unwrap());
        let words = words.map(|word| match word {
            "/target" => target.display().to_string(),
            word if word.starts_with('/') => place("/image").display().to_string() + word,
            word => word.to_owned(),
        });
        let words: Vec<String> = words.collect();
        run(Command::new(&words[0]).args(&words[1..]))?;
    }
    assert_eq!(fs::read(place("/plugins/greeter/greeter.wasm"))?, fs::read(&greeter)?);

    let config = find("ConfigMap", "gyre-config")?["data"]["gyre.yaml"].as_str().context("no gyre.yaml")?;
    let file = place("/gyre.yaml");
    fs::write(&file, config.replace("/plugins/", &format!("{}/", place("/plugins").display())))?;
    let checked = run(Command::new(&gyre).args(["validate", "--code-cache", "off", "--config"]).arg(&file))?;
    let checked = String::from_utf8(checked)?;
    assert!(checked.contains("echo") && checked.contains("xca"), "{checked}");
    Ok(())
}
