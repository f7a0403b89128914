use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gyre_controlplane::skip;
use serde_json::{Value, json};

use crate::harness::{GYRE, SHIPPED};

fn gyre(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = Command::new(GYRE).args(arguments).output().expect("gyre runs");
    (status.code(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

fn folder(plugin: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins").join(plugin)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn cases() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for case in fs::read_dir(folder("echo").join("cases")).unwrap() {
        let case = case.unwrap();
        fs::create_dir(copy.path().join(case.file_name())).unwrap();
        for file in fs::read_dir(case.path()).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), copy.path().join(case.file_name()).join(file.file_name())).unwrap();
        }
    }
    copy
}

#[test]
fn shipped_plugins_do_what_their_cases_expect() {
    let with_grants = [
        (gyre_artifacts::CLEANER, "cleaner"),
        (gyre_artifacts::RELOADER, "reloader"),
        (gyre_artifacts::REPLICATOR, "replicator"),
    ];
    for (plugin, name) in SHIPPED.into_iter().chain(with_grants) {
        let (code, said) = gyre(&["test", plugin, text(&folder(name).join("cases"))]);
        assert_eq!(code, Some(0), "{name}: {said}");
    }
    let pools = r#"addresses={"pools":{"edge":"192.0.2.0/30"}}"#;
    let cases = folder("tenants").join("cases");
    let (code, said) = gyre(&["test", gyre_artifacts::TENANTS, text(&cases), "--settings", pools]);
    assert_eq!(code, Some(0), "tenants: {said}");
}

#[test]
fn a_case_that_differs_fails_with_the_difference_until_it_is_updated() {
    let cases = cases();
    let expected = cases.path().join("new/expected.yaml");
    let right = fs::read_to_string(&expected).unwrap();
    fs::write(&expected, right.replace("Hello, world!", "Hello, <you>!")).unwrap();
    let results = cases.path().join("results.xml");
    let (code, said) = gyre(&["test", gyre_artifacts::ECHO, text(cases.path()), "--junit", text(&results)]);
    assert_eq!(code, Some(1), "{said}");
    let count = fs::read_dir(folder("echo").join("cases")).unwrap().count();
    let summary = format!("{} of {count} cases passed", count - 1);
    for line in ["FAILED   new", "-          - Hello, <you>!", "+          - Hello, world!", &summary] {
        assert!(said.contains(line), "{line:?} in:\n{said}");
    }
    let results = fs::read_to_string(results).unwrap();
    assert!(results.contains(&format!("tests=\"{count}\" failures=\"1\"")), "{results}");
    assert!(results.contains("Hello, &lt;you&gt;!"), "{results}");
    let (code, said) = gyre(&["test", gyre_artifacts::ECHO, text(cases.path()), "--update"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("updated  new"), "{said}");
    assert_eq!(fs::read_to_string(expected).unwrap(), right);
}

#[test]
fn a_warning_that_a_case_does_not_expect_stands_before_the_difference() {
    let cases = cases();
    fs::write(cases.path().join("foreign/expected.yaml"), "children: []\n").unwrap();
    let (code, said) = gyre(&["test", gyre_artifacts::ECHO, text(cases.path())]);
    assert_eq!(code, Some(1), "{said}");
    let (_, after) = said.split_once("FAILED   foreign").unwrap_or_else(|| panic!("{said}"));
    let first = after.lines().nth(1).unwrap_or_default().trim_start();
    assert!(
        first.starts_with("event      Echo default/hello: Warning ForeignObject: Job.v1.batch default/hello exists"),
        "{said}"
    );
}

#[test]
fn a_file_for_results_that_cannot_be_written_is_reported_before_the_first_case() {
    let cases = cases();
    let expected = cases.path().join("new/expected.yaml");
    fs::write(&expected, "to be updated").unwrap();
    let results = cases.path().join("no such folder/results.xml");
    let (code, said) = gyre(&["test", gyre_artifacts::ECHO, text(cases.path()), "--update", "--junit", text(&results)]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("cannot write") && said.contains("name a file in a directory that exists"), "{said}");
    assert_eq!(fs::read_to_string(expected).unwrap(), "to be updated");
}

#[test]
fn progress_is_shown_on_a_terminal_and_not_in_a_pipe() {
    let cases = cases();
    let arguments = ["test", gyre_artifacts::ECHO, text(cases.path())];
    let (code, piped) = gyre(&arguments);
    assert_eq!(code, Some(0), "{piped}");
    assert!(!piped.contains(['\r', '\x1b']), "{piped:?}");

    let line = [&[GYRE][..], &arguments].concat().join(" ");
    let shown = match Command::new("script").args(["-qec", &line, "/dev/null"]).output() {
        Ok(output) => output,
        Err(error) => return skip(&format!("there is no script(1), which has a terminal: {error}")).unwrap(),
    };
    assert!(shown.status.success(), "{shown:?}");
    let shown = String::from_utf8(shown.stdout).unwrap();
    let count = fs::read_dir(cases.path()).unwrap().count();
    assert!(shown.contains(&format!("\r{count} of {count}")), "{shown:?}");
    let left = shown.rsplit("\x1b[K").next().unwrap();
    assert_eq!(left.replace("\r\n", "\n").lines().count(), piped.lines().count(), "nothing of it stays: {left:?}");
}

/// Returns the echo plugin, as large as a plugin with an interpreter.
fn large(folder: &Path) -> PathBuf {
    let mut component = fs::read(gyre_artifacts::ECHO).unwrap();
    let content = [&[7][..], b"padding", &vec![0; 5 << 20]].concat();
    component.push(0);
    let mut size = content.len();
    while size >= 0x80 {
        component.push(size as u8 | 0x80);
        size >>= 7;
    }
    component.push(size as u8);
    component.extend(content);
    let path = folder.join("large.wasm");
    fs::write(&path, component).unwrap();
    path
}

#[test]
fn compiling_a_large_plugin_is_announced() {
    let folder_of_it = tempfile::tempdir().unwrap();
    let plugin = large(folder_of_it.path());
    let (plugin, cases, sample) = (text(&plugin), cases(), folder("echo").join("samples/echo.yaml"));
    let announcement = format!("gyre: compiling {plugin} (5.");
    for (command, in_log) in [
        (&["inspect", plugin][..], false),
        (&["render", plugin, "-f", text(&sample)], false),
        (&["test", plugin, text(cases.path()), "--filter", "new"], false),
        (&["fuzz", plugin, "-f", text(&sample), "--cases", "0"], false),
        (&["validate", plugin], true),
        (&["dev", "--once", plugin, "-f", text(&sample)], true),
    ] {
        let cache = tempfile::tempdir().unwrap();
        let run = || {
            let mut gyre = Command::new(GYRE);
            let Output { status, stdout, stderr } =
                gyre.args(command).args(["--code-cache", text(cache.path())]).output().expect("gyre runs");
            let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
            assert!(status.success(), "{command:?}: {stdout}{stderr}");
            assert!(!stdout.contains("compiling"), "{command:?}: {stdout}");
            stderr
        };
        let first = run();
        let announced: Vec<&str> = first.lines().filter(|line| line.contains("compiling ")).collect();
        let is_right = |line: &str| if in_log { line.contains(" INFO ") } else { line.starts_with(&announcement) };
        assert!(announced.len() == 1 && is_right(announced[0]), "{command:?}: {first}");
        let second = run();
        assert!(!second.contains("compiling "), "its code is there, {command:?}: {second}");
    }
    let (_, said) = gyre(&["inspect", gyre_artifacts::ECHO, "--code-cache", "off"]);
    assert!(!said.contains("compiling"), "{said}");
}

#[test]
fn an_error_comes_without_a_backtrace() {
    for variable in ["1", "full"] {
        for (arguments, lines) in [
            (&["inspect", "missing.wasm"][..], 1),
            (&["run", "missing.wasm"], 2),
            (&["dev", "--once", "missing.wasm"], 2),
            (&["test", gyre_artifacts::guests::TRAP, "missing"], 1),
            (&["inspect", env!("CARGO_MANIFEST_DIR")], 1),
        ] {
            let mut gyre = Command::new(GYRE);
            gyre.args(arguments).env("RUST_BACKTRACE", variable).env("RUST_LIB_BACKTRACE", variable);
            let Output { status, stdout, stderr } = gyre.output().expect("gyre runs");
            let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
            assert!(matches!(status.code(), Some(1 | 2)), "{arguments:?}: {said}");
            assert_eq!(said.lines().count(), lines, "{arguments:?}: {said}");
            assert!(said.starts_with("gyre: ") && !said.contains("backtrace"), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn settings_of_the_cases_are_enough() {
    let cases = tempfile::tempdir().unwrap();
    let write = |case: &str, file: &str, text: &str| {
        fs::create_dir_all(cases.path().join(case)).unwrap();
        fs::write(cases.path().join(case).join(file), text).unwrap();
    };
    let parent = "apiVersion: guests.gyre.dev/v1\nkind: Demanding\nmetadata: {name: it}\nspec: {}\n";
    for greeting in ["hello", "bye"] {
        write(greeting, "parent.yaml", parent);
        write(greeting, "settings.yaml", &format!("greeting: {greeting}\n"));
    }
    let test = |more: &[&str]| gyre(&[&["test", gyre_artifacts::probes::DEMANDING, text(cases.path())], more].concat());
    let (code, said) = test(&["--update"]);
    assert_eq!(code, Some(0), "{said}");
    for greeting in ["hello", "bye"] {
        let expected = fs::read_to_string(cases.path().join(greeting).join("expected.yaml")).unwrap();
        assert!(expected.contains(&format!("greeting: {greeting}\n")), "{expected}");
    }
    assert_eq!(test(&[]).0, Some(0));

    write("bare", "parent.yaml", parent);
    let (code, said) = test(&["--update"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("greeting"), "{said}");
    let (code, said) = test(&["--update", "--settings", r#"demanding={"greeting": "from the flag"}"#]);
    assert_eq!(code, Some(0), "{said}");
    let expected = fs::read_to_string(cases.path().join("bare/expected.yaml")).unwrap();
    assert!(expected.contains("greeting: from the flag\n"), "{expected}");
    let (code, said) = gyre(&["test", "missing.wasm", text(cases.path()), "--filter", "hello"]);
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn errors_in_a_case_are_reported() {
    for (file, content, expected) in [
        ("echo.yaml", "kind: [", "echo.yaml:1:7: unclosed bracket"),
        (
            "echo.yaml",
            "apiVersion: v1\nkind: Kettle\nmetadata: {name: it}\n---\napiVersion: mmontes.io/v1alpha1\nkind: Echo\nmetadata: {name: it}\nspec: {message: hi}\n",
            "no matches for kind \"Kettle\" in version \"v1\"",
        ),
        (
            "echo.yaml",
            "apiVersion: mmontes.io/v1alpha1\nkind: Echo\nmetadata: {name: it}\nspec: {massage: hello}\n",
            "unknown field \"spec.massage\"",
        ),
        ("settings.yaml", "restrictd: true\n", "restrictd"),
        ("mount.yaml", "grants: {deleteParent: true}\n", "deleteParent"),
        ("mount.yaml", "grants: {deleteParents: true}\n", "its manifest does not declare it"),
        ("mount.yaml", "plugin: other.wasm\n", "remove the key plugin"),
        ("mount.yaml", "- 1\n", "expected keys of a mount"),
        ("time.txt", "noon", "expected one such as 2026-01-01T00:00:00Z"),
    ] {
        let cases = cases();
        fs::write(cases.path().join("new").join(file), content).unwrap();
        let (code, said) = gyre(&["test", gyre_artifacts::ECHO, text(cases.path()), "--filter", "new"]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("FAILED   new") && said.contains(file) && said.contains(expected), "{file}: {content:?}: {said}");
    }
    let empty = tempfile::tempdir().unwrap();
    let (code, said) = gyre(&["test", gyre_artifacts::ECHO, text(empty.path())]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("there is no case in"), "{said}");
}

#[test]
fn render_prints_children_that_kubectl_applies_and_the_rest_as_comments() {
    let sample = folder("echo").join("samples/echo.yaml");
    let render = |more: &[&str]| gyre(&[&["render", gyre_artifacts::ECHO, "-f", text(&sample)], more].concat());
    let (code, said) = render(&["--time", "2026-01-01T00:00:00Z"]);
    assert_eq!(code, Some(0), "{said}");
    let (comments, children) = said.split_once("---\n").unwrap();
    assert!(comments.lines().all(|line| line.starts_with('#')), "{comments}");
    assert!(comments.contains("#   create     Job default/hello\n"), "{comments}");
    assert!(comments.contains("#     reason: JobCreated\n"), "{comments}");
    let child: Value = serde_saphyr::from_str(children).unwrap();
    assert_eq!(child["kind"], "Job");
    // With an owner reference to an unknown UID, the garbage collector would delete the child.
    assert_eq!((&child["metadata"]["ownerReferences"], &child["metadata"]["labels"]), (&Value::Null, &Value::Null));
    assert!(comments.contains("# Owner references are left out"), "{comments}");
    let uid = "00000000-1111-4222-8333-444444444444";
    let there = fs::read_to_string(&sample).unwrap().replace("metadata:\n", &format!("metadata:\n  uid: {uid}\n"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("there.yaml");
    fs::write(&file, there).unwrap();
    let (code, said) = gyre(&["render", gyre_artifacts::ECHO, "-f", text(&file)]);
    assert_eq!(code, Some(0), "{said}");
    let (comments, children) = said.split_once("---\n").unwrap();
    assert!(!comments.contains("without owners"), "{comments}");
    let child: Value = serde_saphyr::from_str(children).unwrap();
    assert_eq!(
        (&child["metadata"]["ownerReferences"][0]["name"], &child["metadata"]["ownerReferences"][0]["uid"]),
        (&json!("hello"), &json!(uid))
    );
    assert_eq!(child["metadata"]["labels"]["gyre.dev/owner-uid"], uid);

    let (code, said) = render(&["-o", "json"]);
    assert_eq!(code, Some(0), "{said}");
    let rendered: Value = serde_json::from_str(&said).unwrap();
    let verbs: Vec<&str> = rendered["plan"].as_array().unwrap().iter().map(|step| step["verb"].as_str().unwrap()).collect();
    assert_eq!(verbs, ["create", "status", "event"]);
    assert_eq!(rendered["parents"][0]["status"]["job"], "hello");
    let all = folder.path().join("all.json");
    let objects: Vec<&Value> = ["children", "parents"].iter().flat_map(|field| rendered[field].as_array().unwrap()).collect();
    fs::write(&all, json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string()).unwrap();
    let (code, said) = gyre(&["render", gyre_artifacts::ECHO, "-f", text(&all)]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("nothing: everything is up to date"), "{said}");
}

#[test]
fn a_fault_of_the_plugin_fails_a_rendering() {
    let folder = tempfile::tempdir().unwrap();
    let parent = folder.path().join("trap.yaml");
    fs::write(&parent, "apiVersion: guests.gyre.dev/v1\nkind: Trap\nmetadata: {name: it}\nspec: {}\n").unwrap();
    let (code, said) = gyre(&["render", gyre_artifacts::guests::TRAP, "-f", text(&parent)]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("Warning Trapped"), "{said}");
}

#[test]
fn a_plugin_is_inspected() {
    for (plugin, name) in SHIPPED {
        let (code, said) = gyre(&["inspect", plugin]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.starts_with(&format!("plugin       {name} ")), "{said}");
        assert!(
            !said.contains("functions that the sandbox provides under this name"),
            "an import that is not explained: {said}"
        );
    }
    for (plugin, expected) in [
        (
            gyre_artifacts::ECHO,
            "the namespace of each parent; others only if grants.writeNamespaces of the mount includes them",
        ),
        (
            gyre_artifacts::probes::WORLDWIDE,
            "namespaces that it creates for a parent, which is cluster-scoped; others only if grants.writeNamespaces of the mount includes them",
        ),
    ] {
        let (_, said) = gyre(&["inspect", plugin]);
        assert!(said.lines().any(|line| line == format!("writes to    {expected}")), "{said}");
    }
    let (code, said) = gyre(&["inspect", gyre_artifacts::ECHO, "-o", "json"]);
    assert_eq!(code, Some(0), "{said}");
    let inspected: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(inspected["manifests"][0]["parent"]["kind"], "Echo");
    assert_eq!(inspected["bytes"], fs::metadata(gyre_artifacts::ECHO).unwrap().len());
    assert_eq!(inspected["defaultGrants"]["writeNamespaces"], "parent");
}

#[test]
fn commands_take_the_reconciler_that_fits_the_object() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let parent = |kind: &str| {
        format!(
            "apiVersion: guests.gyre.dev/v1\nkind: {kind}\nmetadata: {{name: it, namespace: default}}\nspec: {{text: one}}\n"
        )
    };
    let (twofold, backward) = (put("twofold.yaml", &parent("Twofold")), put("backward.yaml", &parent("Backward")));
    let plugin = gyre_artifacts::probes::TWOFOLD;

    let (code, said) = gyre(&["render", plugin, "-f", &twofold]);
    assert_eq!((code, said.contains("text: one"), said.contains("text: eno")), (Some(0), true, false), "{said}");
    let (code, said) = gyre(&["render", plugin, "-f", &backward]);
    assert_eq!((code, said.contains("text: one"), said.contains("text: eno")), (Some(0), false, true), "{said}");
    let (code, said) = gyre(&["render", plugin, "--reconciler", "backward", "-f", &twofold]);
    assert!(code != Some(0) && said.contains("no Backward.v1.guests.gyre.dev for the plugin to reconcile"), "{said}");
    let (code, said) = gyre(&["render", plugin, "--reconciler", "forward", "-f", &twofold]);
    assert!(code != Some(0) && said.contains("no reconciler forward, only backward and twofold"), "{said}");

    let (_, said) = gyre(&["inspect", plugin]);
    for line in ["plugin       twofold", "reconciles   Twofold of", "plugin       backward", "reconciles   Backward of"] {
        assert!(said.lines().any(|said| said.starts_with(line)), "{said}");
    }
    let (_, said) = gyre(&["crds", plugin]);
    assert_eq!(said.matches("kind: CustomResourceDefinition").count(), 2, "{said}");
    let (_, said) = gyre(&["rbac", plugin]);
    assert!(said.contains("twofolds") && said.contains("backwards"), "{said}");

    // The settings of a case are those of the reconciler of its object.
    put("cases/one/object.yaml", &parent("Twofold"));
    put("cases/one/settings.yaml", "prefix: 'to '\n");
    put("cases/other/object.yaml", &parent("Backward"));
    let cases = folder.path().join("cases").display().to_string();
    let (code, said) = gyre(&["test", plugin, &cases, "--update"]);
    assert_eq!(code, Some(0), "{said}");
    let expected = |case: &str| fs::read_to_string(folder.path().join("cases").join(case).join("expected.yaml")).unwrap();
    assert!(expected("one").contains("text: to one"), "{}", expected("one"));
    assert!(expected("other").contains("text: eno"), "{}", expected("other"));
    let (code, said) = gyre(&["fuzz", plugin, "-f", &backward, "--cases", "3"]);
    assert_eq!(code, Some(0), "{said}");
}
