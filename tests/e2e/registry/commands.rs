//! `gyre push`, `pull` and `tag`, and what other tools read of it.

use std::path::Path;

use gyre_artifacts::ECHO;
use gyre_controlplane::registry::{Options, Referrers, digest};
use serde_json::json;

use super::{BASIC, BEARER, DEFAULTS, REPOSITORY, Shelf, last_line, plugin};

#[test]
fn a_pushed_plugin_has_the_layout_of_the_tag_runtime() {
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    let component = std::fs::read(ECHO).unwrap();
    let reference = shelf.registry.reference("team/echo:1.4");
    let pushed = last_line(&shelf.succeed(&["push", ECHO, &reference]));
    let manifest = shelf.registry.manifest("team/echo", "1.4").unwrap();
    assert_eq!(shelf.registry.manifest("team/echo", &pushed).unwrap(), manifest, "the digest is that of the manifest");
    assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    let layer = json!({
        "mediaType": "application/wasm",
        "digest": digest(&component),
        "size": component.len(),
        "annotations": { "org.opencontainers.image.title": "echo.wasm" },
    });
    assert_eq!(manifest["layers"], json!([layer]));
    assert_eq!(manifest["annotations"]["org.opencontainers.image.title"], "echo");
    assert!(manifest["annotations"]["org.opencontainers.image.version"].is_string(), "{manifest}");
    let config = shelf.registry.blob("team/echo", manifest["config"]["digest"].as_str().unwrap()).unwrap();
    let config: serde_json::Value = serde_json::from_slice(&config).unwrap();
    assert_eq!((&config["architecture"], &config["os"]), (&json!("wasm"), &json!("wasip2")));
    assert_eq!(config["layerDigests"], json!([digest(&component)]));
    assert!(config["component"]["exports"].to_string().contains("gyre:plugin/"), "{config}");
    assert!(config.to_string().contains("mmontes.io/v1alpha1/Echo"), "a registry's page tells the kinds: {config}");
    assert_eq!(shelf.registry.blob("team/echo", &digest(&component)).unwrap(), component);

    // The same component is the same artifact, whenever and wherever it is pushed.
    assert_eq!(last_line(&shelf.succeed(&["push", ECHO, &reference])), pushed);
    assert_eq!(last_line(&shelf.succeed(&["push", ECHO, &shelf.registry.reference("other/echo:1")])), pushed);
}

#[test]
fn what_was_pushed_is_pulled_byte_for_byte_and_inspected() {
    for options in [DEFAULTS, BASIC, BEARER] {
        let Some(shelf) = Shelf::or_skip(options) else { return };
        let pushed = shelf.push_version("1", 1);
        let file = shelf.path("pulled.wasm");
        let said = shelf.succeed(&["pull", &shelf.tag("1"), "--to", &file]);
        assert_eq!(last_line(&said), pushed);
        assert_eq!(std::fs::read(&file).unwrap(), plugin(1));
        let said = shelf.succeed(&["inspect", &shelf.tag("1")]);
        assert!(said.contains(&pushed) && said.contains("versioned"), "{said}");

        let kept = last_line(&shelf.succeed(&["tag", &shelf.tag("1"), "kept"]));
        assert_eq!(kept, pushed);
        shelf.push_version("1", 2);
        let said = shelf.succeed(&["inspect", &shelf.tag("kept"), "-o", "json"]);
        assert!(said.contains(&pushed), "{said}");
    }
}

#[test]
fn a_registry_that_does_not_say_digests_is_asked_for_the_manifest() {
    let Some(shelf) = Shelf::or_skip(DEFAULTS) else { return };
    let pushed = shelf.push_version("1", 1);
    shelf.set_faults(&json!({ "hideDigests": true }));
    let said = shelf.succeed(&["inspect", &shelf.tag("1"), "-o", "json"]);
    assert!(said.contains(&pushed), "{said}");
    assert_eq!(shelf.push_version("2", 1), pushed);
}

#[test]
fn what_is_no_plugin_is_not_pushed() {
    let Some(shelf) = Shelf::or_skip(Options { referrers: Referrers::Absent, ..DEFAULTS }) else { return };
    let file = shelf.folder.put("rubbish.wasm", "rubbish");
    let said = shelf.fail(&["push", &file, &shelf.tag("1")]);
    assert!(said.contains("not WebAssembly"), "{said}");
    assert!(shelf.registry.manifest(REPOSITORY, "1").is_err(), "nothing was pushed");
}

#[test]
fn every_command_takes_a_reference_where_a_file_may_stand() {
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    let reference = shelf.registry.reference("team/echo:1.4");
    shelf.succeed(&["push", ECHO, &reference, "--annotation", "licenses=Apache-2.0"]);
    let echo = json!({
        "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo",
        "metadata": { "name": "it", "namespace": "default" }, "spec": { "message": "hello" },
    });
    let sample = shelf.folder.put("sample.yaml", echo.to_string());
    let code = shelf.path("code");
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/echo/cases").display().to_string();
    let commands: [&[&str]; 7] = [
        &["inspect"],
        &["crds"],
        &["rbac", "--namespace", "default"],
        &["render", "-f", &sample],
        &["compile", "--code-cache", &code],
        &["test", &cases],
        &["fuzz", "-f", &sample, "--cases", "2"],
    ];
    for words in commands {
        let (command, arguments) = words.split_first().expect("a command");
        let with = |plugin: &str| {
            let all = [&[*command, plugin], arguments].concat();
            shelf.succeed(&all)
        };
        let (of_file, of_reference) = (with(ECHO), with(&reference));
        match *command {
            "inspect" => {
                for line in ["artifact     sha256:", "annotation   org.opencontainers.image.licenses=Apache-2.0\n"] {
                    assert!(of_reference.contains(line), "{of_reference}");
                }
            }
            "test" | "fuzz" => assert_eq!(without_durations(&of_reference), without_durations(&of_file), "{command}"),
            _ => assert_eq!(without_times(&of_reference.replace(&reference, ECHO)), without_times(&of_file), "{command}"),
        }
    }
}

/// The first words of each line, which are not about how long anything took.
fn without_durations(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().take(2).collect()).collect()
}

/// The times of conditions are those of the calls.
fn without_times(text: &str) -> String {
    text.lines().filter(|line| !line.contains("lastTransitionTime")).collect::<Vec<_>>().join("\n")
}
