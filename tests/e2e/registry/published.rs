//! `.github/publish-plugins`, by which a release pushes and signs its plugins.

use std::process::Command;

use gyre_controlplane::Registry;
use serde_json::json;

use super::{BEARER, Said, Shelf, last_line, plugin};
use crate::harness::{Folder, GYRE};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../.github/publish-plugins");
/// The repository of the plugins' sources.
const SOURCE: &str = "https://git.example.com/team/plugins";
/// The folder of the repositories in the registry.
const REPOSITORIES: &str = "team/plugins";

/// Runs the script for the plugins of a folder.
fn publish(shelf: &Shelf, plugins: &Folder, key: &str) -> Said {
    let mut command = Command::new(SCRIPT);
    command.args([plugins.path(), format!("{}/{REPOSITORIES}", shelf.registry.host()), "1.4".to_owned()]);
    command.envs(shelf.settings()).env("GYRE", GYRE).env("KEY_FILE", key).env_remove("COSIGN_PASSWORD");
    command.env("SOURCE", SOURCE).env("REVISION", "4f2c").env("CREATED", "2026-11-29T00:00:00Z");
    let output = command.output().expect("the script runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// Returns the paths of the requests that write to a registry.
fn writes(registry: &Registry) -> Vec<String> {
    let requests = registry.requests().expect("a log").into_iter();
    requests.filter(|request| !["GET", "HEAD"].contains(&request.method.as_str())).map(|request| request.path).collect()
}

#[test]
fn a_release_pushes_signed_plugins_with_annotations() {
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    let (private, public) = shelf.registry.new_keys("release").unwrap();
    let plugins = Folder::new();
    plugins.put("two_words.wasm", plugin(1));
    let said = publish(&shelf, &plugins, &private.display().to_string());
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);

    let reference = shelf.registry.reference(&format!("{REPOSITORIES}/two-words:1.4"));
    let verified = shelf.succeed(&["verify", "--key", &public.display().to_string(), &reference]);
    assert_eq!(said.stdout, format!("{reference}@{}\n", last_line(&verified)));
    let manifest = shelf.registry.manifest(&format!("{REPOSITORIES}/two-words"), "1.4").unwrap();
    for (name, value) in
        [("source", SOURCE), ("revision", "4f2c"), ("created", "2026-11-29T00:00:00Z"), ("licenses", "Apache-2.0")]
    {
        assert_eq!(manifest["annotations"][format!("org.opencontainers.image.{name}")], json!(value), "{manifest}");
    }

    // A release that failed halfway is run again.
    let again = publish(&shelf, &plugins, &private.display().to_string());
    assert_eq!((again.code, again.stdout), (Some(0), said.stdout));
}

#[test]
fn a_release_pushes_nothing_that_it_cannot_sign() {
    let Some(shelf) = Shelf::or_skip(BEARER) else { return };
    let (private, _) = shelf.registry.new_keys("release").unwrap();
    let plugins = Folder::new();
    plugins.put("first.wasm", plugin(1));
    let refuses = |key: &str, sentence: &str| {
        let said = publish(&shelf, &plugins, key);
        assert_eq!(said.code, Some(1), "{}{}", said.stdout, said.stderr);
        assert!(said.stderr.contains("nothing was pushed") && said.stderr.contains(sentence), "{}", said.stderr);
        let writes = writes(&shelf.registry);
        assert!(writes.is_empty(), "{writes:?}");
    };
    refuses(&shelf.folder.put("broken.key", "no key"), "cannot use the key");
    refuses(&shelf.path("absent.key"), "cannot read the key");
    plugins.put("second.wasm", "rubbish");
    refuses(&private.display().to_string(), "second.wasm is no plugin");
}
