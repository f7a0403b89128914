//! Runs every command that the documents show, or names the test that runs it.
//!
//! Commands of `gyre` run here with devcluster, in a folder with the files that the documents name.
//! A command that does not end is stopped after it has started.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{GYRE, PATIENCE};
use crate::plane::{Plane, Server};

const DOCUMENTS: [&str; 19] = [
    "CONTRIBUTING.md",
    "README.md",
    "charts/gyre/README.md",
    "docs/README.md",
    "docs/coming-from.md",
    "docs/comparison.md",
    "docs/contract.md",
    "docs/getting-started.md",
    "docs/go.md",
    "docs/operating.md",
    "docs/patterns.md",
    "docs/releasing.md",
    "docs/security.md",
    "docs/testing.md",
    "docs/troubleshooting.md",
    "docs/writing-plugins.md",
    "host/src/commands/new/template/rust/README.md",
    "host/src/commands/new/template/go/README.md",
    "tests/README.md",
];

#[derive(Clone, Copy, Debug)]
enum Evidence {
    Runs,
    /// It runs here until it has printed this, and is then stopped.
    Starts(&'static str),
    /// The test of this name in this file runs it, and contains this text.
    By(&'static str, &'static str, &'static str),
}

const AUTHOR: Evidence =
    Evidence::By("tests/e2e/author.rs", "a_new_author_gets_a_running_plugin_by_the_guide", "docs/getting-started.md");
const PROJECT_IN_GO: Evidence =
    Evidence::By("tests/e2e/build.rs", "a_new_project_in_go_passes_what_its_readme_shows", "\"--lang\", \"go\"");
const RECORD: Evidence = Evidence::By("tests/e2e/record.rs", "a_running_host_records_its_calls_and_they_replay", "\"replay\"");
const ASK_THE_LEADER: Evidence =
    Evidence::By("tests/e2e/record.rs", "a_replica_that_does_not_lead_names_the_one_that_does", "holderIdentity");
const INSTALL: Evidence = Evidence::By("tests/chart/tests/host.rs", "the_host_works_with_what_the_chart_grants_it", "install");

const HELD_DELETIONS: Evidence = Evidence::By(
    "tests/e2e/swap.rs",
    "a_version_that_returns_no_children_deletes_nothing_until_it_is_released",
    "\"DeletionHeld\"",
);

const PUSHED: Evidence =
    Evidence::By("tests/e2e/registry/commands.rs", "what_was_pushed_is_pulled_byte_for_byte_and_inspected", "\"tag\"");
const SIGNED: Evidence =
    Evidence::By("tests/e2e/registry/signed.rs", "the_command_verify_says_the_same_as_a_host", "\"verify\"");
const PULL_SECRET: Evidence = Evidence::By(
    "tests/chart/tests/artifacts.rs",
    "a_release_mounts_a_signed_plugin_of_a_registry_with_a_pull_secret",
    "--type=kubernetes.io/dockerconfigjson",
);

/// The first entry whose words are all in a command line applies.
const COMMANDS: [(&[&str], Evidence); 50] = [
    (&["{{name}}.wasm"], AUTHOR),
    (&["gyre build"], AUTHOR),
    (&["gyre dev . "], AUTHOR),
    (&["gyre test", "--update"], AUTHOR),
    (&["cargo test"], AUTHOR),
    (&["go test"], PROJECT_IN_GO),
    (&["gyre new greeter --lang go"], PROJECT_IN_GO),
    (&["cd greeter"], AUTHOR),
    (&["gyre new greeter --kind"], AUTHOR),
    (
        &["cargo xtask dev"],
        Evidence::By("tests/xtask/src/dev.rs", "the_command_has_the_plugins_their_samples_and_the_arguments", "samples"),
    ),
    (
        &["cargo xtask test"],
        Evidence::By("tests/xtask/src/tidy.rs", "the_build_server_does_no_more_than_call_xtask", "exec cargo xtask test"),
    ),
    (
        &["cargo xtask release"],
        Evidence::By("tests/xtask/src/release.rs", "every_part_is_built_and_the_checksums_are_last", "Part::Checksums"),
    ),
    (&["kubectl exec", "holderIdentity", "/gyre record"], ASK_THE_LEADER),
    (&["kubectl exec", "holderIdentity", "/gyre shadow"], ASK_THE_LEADER),
    (&["kubectl exec", "/gyre record"], RECORD),
    (&["gyre replay"], RECORD),
    (
        &["kubectl exec", "/gyre shadow"],
        Evidence::By(
            "tests/e2e/shadow.rs",
            "a_shadow_of_a_thousand_echos_reports_what_a_diff_does_and_writes_nothing",
            "\"shadow\"",
        ),
    ),
    (&["kubectl get tenants", "Ready"], HELD_DELETIONS),
    (&["kubectl annotate tenants", "gyre.dev/release-deletions"], HELD_DELETIONS),
    (
        &["kubectl annotate", "gyre.dev/release"],
        Evidence::By(
            "tests/e2e/finalize.rs",
            "a_parent_whose_plugin_cannot_finalize_stays_and_says_how_to_release_it",
            "gyre.dev/release",
        ),
    ),
    (
        &["kubectl apply -f rbac.yaml"],
        Evidence::By(
            "tests/e2e/permissions.rs",
            "a_plugin_that_grants_permissions_works_with_the_proposed_rules",
            "with_proposals",
        ),
    ),
    (
        &["kubectl get configmap -n gyre-system gyre-config"],
        Evidence::By("tests/chart/tests/host.rs", "the_host_works_with_roles_alone", "gyre.yaml"),
    ),
    (
        &["kubectl apply --filename plugins/echo/samples"],
        Evidence::By("tests/e2e/echo.rs", "the_sample_echo_gets_its_job_in_its_namespace", "samples/echo.yaml"),
    ),
    (
        &["docker buildx build"],
        Evidence::By("tests/chart/tests/image.rs", "the_build_steps_create_the_files_of_the_image", "engine.run"),
    ),
    (&["helm install gyre charts/gyre"], INSTALL),
    (
        &["helm upgrade --install gyre"],
        Evidence::By(
            "tests/chart/tests/host.rs",
            "a_plugin_is_installed_by_the_values_that_gyre_writes_for_it",
            "\"--install\"",
        ),
    ),
    (
        &["gyre status"],
        Evidence::By(
            "tests/e2e/host_status.rs",
            "the_status_of_a_host_has_a_row_for_each_mount_and_what_needs_attention",
            "\"--watch\"",
        ),
    ),
    (
        &["helm upgrade gyre charts/gyre"],
        Evidence::By(
            "tests/chart/tests/host.rs",
            "finalizers_of_an_unmounted_plugin_are_removed_with_kept_rules",
            "\"upgrade\"",
        ),
    ),
    (
        &["helm uninstall gyre"],
        Evidence::By(
            "tests/chart/tests/upgrade.rs",
            "leader_election_can_be_switched_off_and_on_in_a_release",
            "\"uninstall\"",
        ),
    ),
    (&["helm test gyre"], Evidence::By("tests/chart/tests/host.rs", "is_tested_well", "pods")),
    (
        &["helm upgrade echoperator"],
        Evidence::By("tests/chart/tests/upgrade.rs", "upgrade_from_echoperator", "--take-ownership"),
    ),
    (
        &["kubectl apply --server-side --force-conflicts --field-manager=helm"],
        Evidence::By("tests/chart/tests/upgrade.rs", "upgrade_from_echoperator", "--field-manager=helm"),
    ),
    (
        &["kubectl wait --for=condition=Complete echo/"],
        Evidence::By(
            "tests/e2e/echo.rs",
            "an_unfinished_job_that_is_deleted_comes_back_and_a_finished_one_does_not",
            "--for=condition=Complete",
        ),
    ),
    (&["gyre push"], PUSHED),
    (&["gyre pull"], PUSHED),
    (&["gyre tag"], PUSHED),
    (&["gyre sign"], SIGNED),
    (&["gyre verify"], SIGNED),
    (
        &["cosign "],
        Evidence::By("host/signatures/tests/sign/keys.rs", "signatures_are_the_bytes_that_cosign_verified", "cosign/team.key"),
    ),
    (&["kubectl create secret generic registries"], PULL_SECRET),
    (&["gyre values oci://"], PULL_SECRET),
    (
        &["gyre run oci://"],
        Evidence::By(
            "tests/e2e/registry/following.rs",
            "a_plugin_behind_tokens_is_mounted_by_its_tag_and_follows_it",
            "pushes_mounts_and_follows_a_tag",
        ),
    ),
    (
        &["gyre diff", "oci://"],
        Evidence::By("tests/e2e/registry/following.rs", "a_version_in_a_registry_is_previewed_and_shadowed", "\"diff\""),
    ),
    (
        &["oci://"],
        Evidence::By("tests/e2e/registry/commands.rs", "every_command_takes_a_reference_where_a_file_may_stand", "\"inspect\""),
    ),
    (&["gyre run"], Evidence::Starts("serving /healthz")),
    (&["gyre dev", "--once"], Evidence::Runs),
    (&["gyre dev"], Evidence::Starts("export KUBECONFIG=")),
    (&["gyre crds", "| kubectl apply"], Evidence::Runs),
    (&["gyre rbac", "| kubectl apply"], Evidence::Runs),
    (&["gyre "], Evidence::Runs),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the command lines of a document, without comments and with continued lines joined.
fn commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let line = match line.trim_start().strip_prefix("$ ") {
            Some(command) => {
                commands.push(String::new());
                command
            }
            None if goes_on => line,
            None => continue,
        };
        let command = line.split(" #").next().unwrap_or(line).trim();
        goes_on = command.ends_with('\\');
        let last = commands.last_mut().expect("a command");
        last.push_str(command.trim_end_matches('\\'));
    }
    commands
}

fn stage(folder: &Path, kubectl: &Path) -> PathBuf {
    symlink(root(), folder.join("gyre")).expect("linked");
    let folder = folder.join("work");
    let path = |name: &str| folder.join(name);
    for made in ["", "bin", "greeter", "new", "plugins"] {
        fs::create_dir(path(made)).expect("made");
    }
    for (name, plugin) in [
        ("echo.wasm", gyre_artifacts::ECHO),
        ("greeter.wasm", gyre_artifacts::ECHO),
        ("greeter/greeter.wasm", gyre_artifacts::GREETER),
        ("new/echo.wasm", gyre_artifacts::ECHO),
        ("scheduled_echo.wasm", gyre_artifacts::SCHEDULED_ECHO),
    ] {
        symlink(plugin, path(name)).expect("linked");
    }
    let echo = root().join("plugins/echo").canonicalize().expect("the plugin's folder");
    for (name, file) in [("echo.yaml", "samples/echo.yaml"), ("samples", "samples"), ("cases", "cases")] {
        symlink(echo.join(file), path(name)).expect("linked");
    }
    let operating = fs::read_to_string(root().join("docs/operating.md")).expect("a guide");
    let example = operating.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a configuration");
    fs::write(path("gyre.yaml"), example).expect("written");
    symlink(GYRE, path("bin/gyre")).expect("linked");
    symlink(kubectl, path("bin/kubectl")).expect("linked");
    folder
}

fn shell(folder: &Path, kubeconfig: &Path, line: &str) -> Command {
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(folder.join("bin")).chain(std::env::split_paths(&others))).expect("a path");
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", line]).current_dir(folder).stdin(Stdio::null()).env("PATH", path);
    command.env("KUBECONFIG", kubeconfig).env("KUBECACHEDIR", folder.join("kubectl-cache")).env("KUBERC", "off");
    command.env("GYRE_LISTEN", "127.0.0.1:0").env("GYRE_HA_RETRY_PERIOD", "1s");
    command
}

fn runs(mut command: Command) -> Result<(), String> {
    let output = command.output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{}\n{text}", output.status)) }
}

fn starts(mut command: Command, folder: &Path, says: &str) -> Result<(), String> {
    let log = folder.join("log");
    let file = fs::File::create(&log).expect("a file");
    command.stdout(file.try_clone().expect("a file")).stderr(file);
    let mut process = command.spawn().expect("a shell");
    let deadline = Instant::now() + PATIENCE;
    let text = || fs::read_to_string(&log).unwrap_or_default();
    while !text().contains(says) {
        if let Some(status) = process.try_wait().expect("a process") {
            return Err(format!("it ended by itself: {status}\n{}", text()));
        }
        if Instant::now() > deadline {
            process.kill().expect("killed");
            return Err(format!("it does not say {says:?}:\n{}", text()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let kill = Command::new("kill").args(["-TERM", &process.id().to_string()]).status().expect("kill runs");
    let status = process.wait().expect("a process");
    if kill.success() && status.success() { Ok(()) } else { Err(format!("told to stop, it ended with {status}\n{}", text())) }
}

#[test]
fn every_command_that_the_documents_show_is_run() {
    let Some(plane) = Plane::shared(Server::Devcluster).expect("a cluster") else { return };
    let kubeconfig = plane.kubeconfig_for_user("documents").expect("a user");
    for namespace in ["gyre-system", "team-a", "team-b"] {
        plane.kubectl_stdout(&["create", "namespace", namespace]).expect("a namespace");
    }
    // Unconfined hosts would disturb other tests on a shared cluster.
    let Plane::Dev(cluster) = &plane else { panic!("it is a devcluster") };
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = &stage(temporary.path(), &cluster.tools.kubectl);
    let mut wrong = Vec::new();
    let mut count = 0;
    for document in DOCUMENTS {
        let text = fs::read_to_string(root().join(document)).expect("a document");
        for line in commands(&text) {
            count += 1;
            let known = COMMANDS.iter().find(|(words, _)| words.iter().all(|word| line.contains(word)));
            let result = match known.map(|(_, shown)| *shown) {
                None => Err("no test runs it: add it to COMMANDS".to_owned()),
                Some(Evidence::By(file, test, names)) => {
                    let source = fs::read_to_string(root().join(file)).unwrap_or_default();
                    let is_there = source.contains(&format!("fn {test}(")) && source.contains(names);
                    if is_there { Ok(()) } else { Err(format!("{file} has no {test} that names {names:?}")) }
                }
                Some(Evidence::Runs) => runs(shell(folder, &kubeconfig, &line)),
                Some(Evidence::Starts(says)) => starts(shell(folder, &kubeconfig, &format!("exec {line}")), folder, says),
            };
            wrong.extend(result.err().map(|error| format!("{document}: $ {line}\n{error}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count > 40, "the documents show {count} commands");
}

#[test]
fn every_task_that_the_documents_name_exists() {
    let tasks = fs::read_to_string(root().join("tests/xtask/src/main.rs")).expect("the tasks");
    for document in DOCUMENTS {
        let text = fs::read_to_string(root().join(document)).expect("a document");
        for rest in text.split("cargo xtask ").skip(1) {
            let task: String = rest.chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '-').collect();
            let capitals = task.split('-').map(|word| word[..1].to_uppercase() + &word[1..]);
            let variant = format!("    {}", capitals.collect::<String>());
            let is_task = |line: &str| line.strip_prefix(&variant).is_some_and(|rest| rest.starts_with(['(', ',', ' ']));
            assert!(tasks.lines().any(is_task), "{document}: cargo xtask {task}");
        }
    }
}

#[test]
fn metrics_and_reasons_that_the_guides_name_exist() {
    let source = |files: &[&str]| -> String {
        files.iter().map(|file| fs::read_to_string(root().join(file)).expect("a source file")).collect()
    };
    let metrics = source(&["host/engine/src/telemetry/metrics.rs"]);
    let reasons = source(&[
        "host/core/src/outcome.rs",
        "host/core/src/plan/refusals.rs",
        "host/core/src/status.rs",
        "host/sandbox/src/call.rs",
        "host/engine/src/admin/state.rs",
        "host/engine/src/mounts/mount.rs",
        "host/engine/src/reconcile.rs",
        "host/engine/src/reconcile/finish.rs",
        "host/engine/src/reconcile/report.rs",
        "host/engine/src/writes/apply.rs",
    ]);
    let mut count = 0;
    for document in ["docs/contract.md", "docs/operating.md", "docs/troubleshooting.md"] {
        let text = fs::read_to_string(root().join(document)).expect("a guide");
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        for word in text.split(|letter| !is_of_name(letter)) {
            let prefix = ["gyre_", "controller_runtime_", "workqueue_", "rest_client_", "leader_election_"];
            let Some(prefix) = prefix.into_iter().find(|prefix| word.starts_with(prefix)) else { continue };
            let is_crate = ["gyre_sdk", "gyre_engine"].into_iter().any(|name| word.starts_with(name));
            if is_crate {
                continue;
            }
            let mut name = if ["rest_client_", "leader_election_"].contains(&prefix) { word } else { &word[prefix.len()..] };
            for suffix in ["_bucket", "_total", "_seconds", "_bytes"] {
                name = name.strip_suffix(suffix).unwrap_or(name);
            }
            count += 1;
            assert!(metrics.contains(&format!("\"{name}\"")), "{document}: {word}");
        }
        // In tables, CamelCase words in the first column are reasons.
        for row in text.lines().filter_map(|line| line.strip_prefix("| ")) {
            for word in row.split(" | ").next().unwrap_or_default().split('`').skip(1).step_by(2) {
                let capitals = word.chars().filter(char::is_ascii_uppercase).count();
                let is_reason =
                    word.starts_with(|first: char| first.is_ascii_uppercase()) && word.chars().all(char::is_alphanumeric);
                // Earlier names of environment variables have capitals only.
                if is_reason && capitals > 1 && capitals < word.len() {
                    count += 1;
                    assert!(reasons.contains(&format!("\"{word}\"")), "{document}: {word}");
                }
            }
        }
    }
    assert!(count > 40, "the guides name {count}");
}
