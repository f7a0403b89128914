//! Tests of the Dockerfile without an engine: its text, and its steps in folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use gyre_chart_tests::dockerfile::{Dockerfile, Ignore, Instruction, Stage};
use gyre_chart_tests::helm::{Helm, documents};
use gyre_chart_tests::{chart, root};
use gyre_controlplane::skip;
use serde_json::Value;

use crate::programs::{IMAGE_PLUGINS, gyre_or_skip, on_path, target, write_script};
use crate::render::{folders, render};

/// The base image, which contains everything but the program, and its release of Debian.
const BASE: (&str, &str) = ("gcr.io/distroless/cc-debian12:nonroot", "bookworm");
const BASE_LIBRARIES: [&str; 7] = [
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

fn dockerfile() -> Dockerfile {
    Dockerfile::parse(&fs::read_to_string(root().join("Dockerfile")).unwrap()).unwrap()
}

fn ignore() -> Ignore {
    Ignore::parse(&fs::read_to_string(root().join(".dockerignore")).unwrap())
}

fn all<'a>(stage: &'a Stage, keyword: &'a str) -> impl Iterator<Item = &'a Instruction> {
    stage.instructions.iter().filter(move |instruction| instruction.keyword == keyword)
}

fn text_of<'a>(stage: &'a Stage, keyword: &'a str) -> &'a str {
    let mut found = all(stage, keyword);
    let (Some(one), None) = (found.next(), found.next()) else { panic!("not one {keyword}") };
    &one.text
}

fn context() -> BTreeSet<PathBuf> {
    fn walk(folder: &Path, ignore: &Ignore, found: &mut BTreeSet<PathBuf>) {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if ignore.ignores(&path) {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                walk(&path, ignore, found);
            } else {
                found.insert(path);
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(Path::new(""), &ignore(), &mut found);
    found
}

#[test]
fn the_build_is_given_what_it_needs_and_nothing_else() {
    let context = context();
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, members) = manifest.split_once("members = [").unwrap();
    let (members, _) = members.split_once(']').unwrap();
    for member in members.split('"').skip(1).step_by(2) {
        assert!(context.contains(&Path::new(member).join("Cargo.toml")), "Cargo wants all members, and {member} is left out");
    }
    for path in ["Cargo.lock", "rust-toolchain.toml", "host/src/main.rs", "wit/v0.1.0/plugin.wit", "plugins/echo/crd.json"] {
        assert!(context.contains(Path::new(path)), "{path}");
    }
    for path in ["target/x", ".git/config", "host/target/x", "charts/gyre/Chart.yaml", "README.md"] {
        assert!(ignore().ignores(Path::new(path)), "{path}");
    }
}

#[test]
fn every_copied_file_exists() {
    let (dockerfile, context) = (dockerfile(), context());
    for (index, stage) in dockerfile.stages.iter().enumerate() {
        for copy in all(stage, "COPY") {
            let words: Vec<&str> = copy.text.split_whitespace().collect();
            let (_, sources) = words.split_last().unwrap();
            for source in sources {
                match copy.flag("from") {
                    None => {
                        let is_there = *source == "." || context.iter().any(|path| path.starts_with(source));
                        assert!(is_there, "line {}: {source}", copy.line);
                    }
                    Some(from) => {
                        let earlier = dockerfile.stages[..index].iter().find(|stage| stage.name.as_deref() == Some(from));
                        let earlier = earlier.unwrap_or_else(|| panic!("line {}: no stage {from} before", copy.line));
                        let is_made = all(earlier, "RUN").any(|run| run.text.contains(source));
                        assert!(is_made, "line {}: nothing in {from} makes {source}", copy.line);
                    }
                }
            }
        }
    }
}

#[test]
fn versions_are_those_of_the_workspace() {
    let dockerfile = dockerfile();
    let toolchain = fs::read_to_string(root().join("rust-toolchain.toml")).unwrap();
    let argument = |wanted: &str| {
        let found = dockerfile.arguments.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("no ARG {wanted} before the first FROM"))
    };
    let version = argument("RUST_VERSION");
    assert!(toolchain.contains(&format!("channel = \"{version}\"")), "{version}");
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, package) = manifest.split_once("[workspace.package]").unwrap();
    let version = package.lines().find_map(|line| line.strip_prefix("version = ")).unwrap();
    let chart_yaml = fs::read_to_string(chart().join("Chart.yaml")).unwrap();
    assert!(chart_yaml.contains(&format!("\nappVersion: {version}\n")), "the chart starts {version}");
    assert_eq!(argument("RUST_IMAGE"), format!("rust:${{RUST_VERSION}}-{}", BASE.1), "the C library must be that of the image");
    assert_eq!(argument("DEBIAN_IMAGE"), format!("debian:{}-slim", BASE.1));
    assert_eq!(argument("BASE_IMAGE"), BASE.0);
}

/// A release passes digests for these arguments.
#[test]
fn every_foreign_image_is_an_argument() {
    let dockerfile = dockerfile();
    let mut images = BTreeSet::new();
    for (index, stage) in dockerfile.stages.iter().enumerate() {
        let is_stage = dockerfile.stages[..index].iter().any(|earlier| earlier.name.as_deref() == Some(stage.from.as_str()));
        if !is_stage {
            let name = stage.from.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            images.insert(name.unwrap_or_else(|| panic!("FROM {} names an image", stage.from)));
        }
    }
    assert_eq!(images, BTreeSet::from(["BASE_IMAGE", "DEBIAN_IMAGE", "RUST_IMAGE"]));
    let workflow = fs::read_to_string(root().join(".github/workflows/release.yaml")).unwrap();
    for image in images {
        assert!(workflow.contains(image), "the release does not pin {image}");
    }
    let (_, rust) = dockerfile.arguments.iter().find(|(name, _)| name == "RUST_VERSION").unwrap();
    let container = format!("\"rust:{rust}-{}\"", BASE.1);
    assert!(workflow.contains(&container), "programs are not compiled in {container}, as those of the image");
}

#[test]
fn image_and_chart_agree() {
    let dockerfile = dockerfile();
    let image = dockerfile.stages.last().unwrap();
    let values: Value = serde_saphyr::from_str(&fs::read_to_string(chart().join("values.yaml")).unwrap()).unwrap();
    let security = &values["podSecurityContext"];
    assert_eq!(text_of(image, "USER"), format!("{}:{}", security["runAsUser"], security["runAsGroup"]));
    assert_eq!(text_of(image, "EXPOSE"), values["monitoring"]["port"].to_string());
    assert_eq!(all(image, "RUN").count(), 0, "there is no shell");
    assert_eq!(all(image, "ENTRYPOINT").next().unwrap().list().unwrap(), ["/gyre"]);
    let mounted = values["config"]["mounts"].as_array().unwrap().iter().map(|mount| mount["plugin"].as_str().unwrap());
    let command: Vec<&str> = std::iter::once("run").chain(mounted).collect();
    assert_eq!(all(image, "CMD").next().unwrap().list().unwrap(), command, "the image mounts what the chart does");
}

/// A volume hides the files of the image at its mount path.
#[test]
fn no_volume_of_the_chart_hides_what_the_image_brings() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let dockerfile = dockerfile();
    let image = dockerfile.stages.last().unwrap();
    let environment: BTreeMap<String, String> = all(image, "ENV").flat_map(Instruction::pairs).collect();
    let brought = ["/gyre", "/plugins", &environment["GYRE_COMPILED"]];
    let copied: Vec<&str> = all(image, "COPY").filter_map(|copy| copy.text.split_whitespace().last()).collect();
    assert!(brought.iter().all(|path| copied.contains(path)), "{copied:?}");
    for case in folders("cases") {
        let objects = documents(&render(&helm, &case))?;
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        for mount in container["volumeMounts"].as_array().unwrap() {
            let path = mount["mountPath"].as_str().unwrap();
            assert!(!brought.iter().any(|brought| Path::new(brought).starts_with(path)), "{}: {path}", case.display());
        }
        // The chart does not override this variable of the image.
        let said = |name: &str| container["env"].as_array().unwrap().iter().find(|variable| variable["name"] == name);
        assert_eq!(said("GYRE_COMPILED"), None);
        let cache = said("GYRE_CODE_CACHE").unwrap()["value"].as_str().unwrap();
        assert!(cache == "off" || cache == environment["GYRE_CODE_CACHE"], "{cache}");
    }
    Ok(())
}

/// The base image has few libraries; without this test, a missing one is found at the start.
#[test]
fn the_image_has_the_libraries_that_the_host_needs() -> anyhow::Result<()> {
    let Some(gyre) = gyre_or_skip()? else { return Ok(()) };
    let Some(readelf) = on_path("readelf") else { return skip("there is no readelf") };
    let output = Command::new(readelf).arg("--dynamic").arg(&gyre).output()?;
    let dynamic = String::from_utf8(output.stdout)?;
    let named = dynamic.lines().filter(|line| line.contains("(NEEDED)")).filter_map(|line| line.split(['[', ']']).nth(1));
    let needed: BTreeSet<&str> = named.collect();
    assert!(needed.contains("libc.so.6"), "{dynamic}");
    let missing: Vec<_> = needed.iter().filter(|name| !BASE_LIBRARIES.contains(name)).collect();
    assert!(missing.is_empty(), "{} has no {missing:?}", BASE.0);
    Ok(())
}

/// Runs the stages for one architecture, each in a folder as its root.
struct Engine {
    folder: tempfile::TempDir,
    arguments: BTreeMap<String, String>,
    stand_ins: PathBuf,
    log: PathBuf,
}

impl Engine {
    fn new(architecture: &str, gyre: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (stand_ins, log) = (folder.path().join("bin"), folder.path().join("log"));
        fs::create_dir(&stand_ins).unwrap();
        fs::write(&log, "").unwrap();
        let note = format!("#!/bin/sh\necho \"${{0##*/}} $*\" >>'{}'\n", log.display());
        for program in ["apt-get", "rustup"] {
            write_script(&stand_ins.join(program), &note);
        }
        write_script(&stand_ins.join("dpkg"), "#!/bin/sh\necho amd64\n");
        write_script(&stand_ins.join("cargo"), &format!("{note}{}", cargo(gyre)));
        let mut arguments: BTreeMap<String, String> = dockerfile().arguments.into_iter().collect();
        arguments.insert("TARGETARCH".to_owned(), architecture.to_owned());
        Self { folder, arguments, stand_ins, log }
    }

    fn root_of(&self, stage: &str) -> PathBuf {
        self.folder.path().join("stages").join(stage)
    }

    /// Runs all stages. Each inherits the environment of the stage in its `FROM`.
    fn run(&self, dockerfile: &Dockerfile) -> anyhow::Result<()> {
        let mut environments: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
        for stage in &dockerfile.stages {
            let name = stage.name.as_deref().unwrap_or("image");
            let root = self.root_of(name);
            fs::create_dir_all(&root)?;
            let mut environment = environments.get(stage.from.as_str()).cloned().unwrap_or_default();
            for instruction in &stage.instructions {
                self.step(instruction, &root, &mut environment).with_context(|| format!("line {}", instruction.line))?;
            }
            environments.insert(name, environment);
        }
        Ok(())
    }

    fn step(&self, instruction: &Instruction, root: &Path, environment: &mut BTreeMap<String, String>) -> anyhow::Result<()> {
        match instruction.keyword.as_str() {
            "ARG" => {
                for (name, default) in instruction.pairs() {
                    let value = self.arguments.get(&name).cloned().unwrap_or(default);
                    environment.insert(name, value);
                }
            }
            "ENV" => {
                for (name, value) in instruction.pairs() {
                    let value = if value.starts_with('/') { inside(root, &value) } else { on_this_machine(&value)? };
                    environment.insert(name, value);
                }
            }
            "COPY" => self.copy(instruction, root)?,
            "RUN" => {
                let mut command = Command::new("sh");
                command.arg("-euc").arg(inside(root, &instruction.text)).current_dir(root).envs(environment);
                let path = std::env::var_os("PATH").unwrap_or_default();
                let folders = std::iter::once(self.stand_ins.clone()).chain(std::env::split_paths(&path));
                let output = command.env("PATH", std::env::join_paths(folders)?).output()?;
                let said = String::from_utf8_lossy(&output.stderr);
                ensure!(output.status.success(), "{}: {}", output.status, said.trim());
            }
            _ => {}
        }
        Ok(())
    }

    fn copy(&self, copy: &Instruction, root: &Path) -> anyhow::Result<()> {
        let words: Vec<&str> = copy.text.split_whitespace().collect();
        // The checkout is compiled in place, so copying all of the context is skipped.
        let ([source, place], false) = (&words[..], copy.text == ". .") else { return Ok(()) };
        let from = match copy.flag("from") {
            Some(stage) => self.root_of(stage).join(source.trim_start_matches('/')),
            None => gyre_chart_tests::root().join(source),
        };
        let to = root.join(place.trim_start_matches('/'));
        fs::create_dir_all(to.parent().context("no folder")?)?;
        let output = Command::new("cp").arg("-a").arg(&from).arg(&to).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    fn log(&self) -> Vec<String> {
        fs::read_to_string(&self.log).unwrap().lines().map(str::to_owned).collect()
    }
}

/// Replaces the image's Cargo home by that of this machine, so that plugins are compiled with the
/// sources and flags of the other tests.
fn on_this_machine(value: &str) -> anyhow::Result<String> {
    Ok(value.replace("/usr/local/cargo", &gyre_plugin_build::cargo_home()?.display().to_string()))
}

fn inside(root: &Path, script: &str) -> String {
    let mut moved = String::new();
    let mut before = ' ';
    for character in script.chars() {
        if character == '/' && matches!(before, ' ' | '"' | '(') {
            moved.push_str(&root.display().to_string());
        }
        moved.push(character);
        before = character;
    }
    moved
}

/// Returns a `cargo` that compiles plugins in the checkout, and uses the compiled host.
fn cargo(gyre: &Path) -> String {
    // By its path: `cargo` alone would be the script itself.
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| env!("CARGO").to_owned());
    format!(
        r#"set -eu
case "$1" in
build)
    while [ "$1" != --target ]; do shift; done
    mkdir -p "$CARGO_TARGET_DIR/$2/image"
    cp '{gyre}' "$CARGO_TARGET_DIR/$2/image/gyre"
    ;;
rustc)
    cd '{root}'
    CARGO_TARGET_DIR='{wasm}' RUSTUP_TOOLCHAIN= '{cargo}' "$@"
    mkdir -p "$CARGO_TARGET_DIR/wasm32-wasip2/plugin"
    cp '{wasm}'/wasm32-wasip2/plugin/*.wasm "$CARGO_TARGET_DIR/wasm32-wasip2/plugin/"
    ;;
esac
"#,
        gyre = gyre.display(),
        root = root().display(),
        wasm = target().join("wasm").display(),
    )
}

#[test]
fn the_build_steps_create_the_files_of_the_image() -> anyhow::Result<()> {
    let Some(gyre) = gyre_or_skip()? else { return Ok(()) };
    let engine = Engine::new("amd64", &gyre);
    engine.run(&dockerfile())?;
    let cargo_rustc = "cargo rustc --locked --lib --crate-type cdylib --profile plugin --target wasm32-wasip2 --package";
    let plugins = ["echo", "scheduled-echo", "xca", "gateway", "pod-log", "website"];
    let mut expected = vec!["rustup target add wasm32-wasip2".to_owned()];
    expected.extend(plugins.map(|plugin| format!("{cargo_rustc} {plugin}")));
    expected.push("rustup target add x86_64-unknown-linux-gnu".to_owned());
    expected.push(
        "cargo build --locked --profile image --package gyre --bin gyre --no-default-features --target x86_64-unknown-linux-gnu"
            .to_owned(),
    );
    assert_eq!(engine.log(), expected);

    let image = engine.root_of("image");
    let listed = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(image.join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(listed("plugins"), IMAGE_PLUGINS.map(str::to_owned).into());
    let compiled = listed("compiled/compiled");
    assert_eq!(compiled.iter().filter(|name| name.ends_with(".cwasm")).count(), IMAGE_PLUGINS.len(), "{compiled:?}");
    for path in ["compiled/compiled".into(), PathBuf::from("compiled/compiled").join(compiled.first().unwrap())] {
        let mode = fs::metadata(image.join(&path))?.permissions().mode();
        assert_eq!(mode & 0o044, 0o044, "whoever it runs as reads {}", path.display());
    }

    // With an empty volume for other plugins, all works, and all is compiled.
    let volume = tempfile::tempdir()?;
    let mut command = Command::new(image.join("gyre"));
    command
        .arg("validate")
        .arg("--plugin-dir")
        .arg(image.join("plugins"))
        .arg("--compiled")
        .arg(image.join("compiled"))
        .arg("--code-cache")
        .arg(volume.path());
    let output = command.env_clear().env("GYRE_LOG_LEVEL", "info").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{said}");
    let checked = String::from_utf8(output.stdout)?;
    assert!(checked.contains("echo") && checked.contains("scheduled-echo"), "{checked}");
    assert_eq!(said.matches("compiled=Cache").count(), IMAGE_PLUGINS.len(), "{said}");
    assert_eq!(fs::read_dir(volume.path())?.count(), 0);
    assert_eq!(listed("compiled/compiled"), compiled);
    assert_eq!(listed("var/cache/gyre"), BTreeSet::new(), "the place for the code of others");
    Ok(())
}

#[test]
fn another_architecture_takes_a_compiler_for_it() -> anyhow::Result<()> {
    let Some(gyre) = gyre_or_skip()? else { return Ok(()) };
    let mut dockerfile = dockerfile();
    dockerfile.stages.retain(|stage| ["source", "host"].contains(&stage.name.as_deref().unwrap_or_default()));
    let engine = Engine::new("arm64", &gyre);
    engine.run(&dockerfile)?;
    assert_eq!(
        engine.log(),
        [
            "rustup target add aarch64-unknown-linux-gnu",
            "apt-get update",
            "apt-get install --yes --no-install-recommends gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
            "cargo build --locked --profile image --package gyre --bin gyre --no-default-features --target aarch64-unknown-linux-gnu",
        ]
    );
    let error = Engine::new("s390x", &gyre).run(&dockerfile).unwrap_err();
    assert!(format!("{error:#}").contains("there is no image for s390x"), "{error:#}");
    Ok(())
}
