//! `gyre build` finds the crate of a plugin, and compiles it to the same bytes wherever it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::GYRE;

fn target() -> PathBuf {
    let programs = Path::new(GYRE).parent().expect("a folder");
    programs.parent().expect("the target folder").join("built")
}

fn gyre(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(GYRE);
    command.arg("build").args(arguments).current_dir(folder).env("CARGO_TERM_COLOR", "never").env("CARGO_TARGET_DIR", target());
    let Output { status, stdout, stderr } = command.output().expect("gyre runs");
    (status.code(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
}

/// The arguments of `gyre build` and of tests/plugin-build result in the same file, in two target
/// folders, and do not depend on the environment.
#[test]
fn the_same_source_is_built_to_the_same_bytes_as_the_plugins_of_this_repository() {
    let folder = tempfile::tempdir().unwrap();
    let greeter = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/greeter");
    let mut command = Command::new(GYRE);
    command.args(["build", &greeter.display().to_string()]).current_dir(folder.path()).env("CARGO_TARGET_DIR", target());
    command.env("RUSTFLAGS", "-Copt-level=0").env("CARGO_PROFILE_PLUGIN_OPT_LEVEL", "3");
    let output = command.output().expect("gyre runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let built = fs::read(folder.path().join("greeter.wasm")).expect("the file is named after the plugin");
    assert!(said.starts_with("greeter.wasm: the plugin greeter 0.1.0, ") && said.ends_with(" KB\n"), "{said}");
    assert!(built == fs::read(gyre_artifacts::GREETER).unwrap(), "the bytes differ");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["greeter.wasm"]);
}

const CDYLIB: &str = "[lib]\ncrate-type = [\"cdylib\"]\n";

fn package(name: &str, more: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{more}")
}

#[test]
fn a_folder_that_is_not_one_plugin_is_refused_with_what_to_do() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    write(
        folder,
        &[
            ("library/Cargo.toml", &package("library", "[workspace]\n")),
            ("library/src/lib.rs", ""),
            ("broken/Cargo.toml", "[package]\n"),
            ("several/Cargo.toml", "[workspace]\nmembers = [\"one\", \"plugins/two\"]\nresolver = \"3\"\n"),
            ("several/one/Cargo.toml", &package("one", CDYLIB)),
            ("several/one/src/lib.rs", ""),
            ("several/plugins/two/Cargo.toml", &package("two", CDYLIB)),
            ("several/plugins/two/src/lib.rs", ""),
            ("none/Cargo.toml", "[workspace]\nmembers = [\"one\"]\nresolver = \"3\"\n"),
            ("none/one/Cargo.toml", &package("one", "")),
            ("none/one/src/lib.rs", ""),
            ("no-plugin/Cargo.toml", &package("no-plugin", &format!("{CDYLIB}[workspace]\n"))),
            ("no-plugin/src/lib.rs", ""),
            ("wrong/Cargo.toml", &package("wrong", &format!("{CDYLIB}[workspace]\n"))),
            ("wrong/src/lib.rs", "fn it() -> u32 { \"text\" }"),
        ],
    );
    for (project, expected) in [
        ("absent", "cannot find absent"),
        (
            ".",
            "contains no project of a plugin: expected Cargo.toml for Rust, or go.mod for Go, or package.json for TypeScript, or pyproject.toml for Python; `gyre new` creates one",
        ),
        ("library", "add these lines to its Cargo.toml:\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]"),
        ("broken", "cargo cannot read the crate in "),
        ("several", "has several plugins; name the folder of one: one, plugins/two"),
        ("none", "none of the crates of the workspace "),
        ("no-plugin", "the component is not a gyre plugin"),
        ("wrong", "cargo cannot compile the crate wrong: see its messages above"),
    ] {
        let (code, said) = gyre(folder, &[project]);
        assert_eq!(code, Some(1), "{project}: {said}");
        assert!(said.contains(expected), "{project}: expected {expected:?} in\n{said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    let (_, said) = gyre(folder, &["wrong"]);
    assert!(said.contains("error[E0308]: mismatched types") && said.contains("src/lib.rs:1:18"), "{said}");
    assert!(said.contains("$ cargo rustc --lib --crate-type cdylib --profile plugin --target wasm32-wasip2 "), "{said}");
    assert!(fs::read_dir(folder).unwrap().all(|entry| entry.unwrap().path().extension().is_none()), "nothing is written");
}

/// Runs programs of a folder first, which behave as those of a machine without the target.
fn without_target(rustup: &str) -> (String, bool) {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().expect("rustc runs").stdout;
    let rustc = format!("{}/bin/rustc", String::from_utf8(sysroot).unwrap().trim());
    let library = folder.join("library").display().to_string();
    write(
        folder,
        &[
            ("it/Cargo.toml", &package("it", &format!("{CDYLIB}[workspace]\n"))),
            ("it/src/lib.rs", "compile_error!(\"it is compiled\");"),
            (
                "bin/rustc",
                &format!(
                    "#!/bin/sh\ncase \"$*\" in '--print target-libdir '*) echo \"{library}\" ;; *) exec {rustc} \"$@\" ;; esac\n"
                ),
            ),
            ("bin/rustup", &format!("#!/bin/sh\nlibrary=\"{library}\"\n{rustup}\n")),
        ],
    );
    for program in ["rustc", "rustup"] {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(folder.join("bin").join(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(folder.join("bin")).chain(std::env::split_paths(&others))).unwrap();
    let mut command = Command::new(GYRE);
    command.args(["build", "it"]).current_dir(folder).env("PATH", path).env("CARGO_TARGET_DIR", folder.join("target"));
    let output = command.output().expect("gyre runs");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let is_compiled = said.contains("it is compiled") || said.contains("$ cargo rustc");
    (said, is_compiled)
}

#[test]
fn a_missing_target_is_added_with_rustup() {
    let (said, is_compiled) = without_target("test \"$*\" = 'target add wasm32-wasip2' && mkdir \"$library\"");
    assert!(said.contains("$ rustup target add wasm32-wasip2\n") && is_compiled, "{said}");
    let (said, is_compiled) = without_target("echo 'no network' >&2; exit 1");
    let expected = "rustup cannot add the target wasm32-wasip2: see its messages above";
    assert!(said.contains("no network\n") && said.contains(expected) && !is_compiled, "{said}");
}

/// Returns whether Go can compile plugins here.
pub(crate) fn has_go() -> bool {
    let version = Command::new("go").args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local").output();
    let found = version.is_ok_and(|output| {
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let minor = version.strip_prefix("go1.").map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        minor.and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| minor >= 24)
    });
    if !found {
        gyre_controlplane::skip("there is no Go 1.24 or later on PATH").unwrap();
    }
    found
}

/// Copies the files that Go compiles.
fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_name() == "target" {
            continue;
        }
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs `gyre` in a folder, and returns its output; the command must succeed.
pub(crate) fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(GYRE);
    // Neither has an effect on the bytes.
    command.args(arguments).current_dir(folder).env("GOTOOLCHAIN", "local").env("GOPROXY", "off").env("GOFLAGS", "-gcflags=-N");
    let Output { status, stdout, stderr } = command.output().expect("gyre runs");
    let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{arguments:?}: {said}");
    said
}

#[test]
fn a_plugin_in_go_is_built_to_the_same_bytes_in_two_folders_and_passes_the_cases_of_the_one_in_rust() {
    if !has_go() {
        return;
    }
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let built = folders.each_ref().map(|folder| {
        copy_tree(&root().join("sdk/go"), &folder.path().join("sdk/go"));
        copy_tree(&root().join("plugins/greeter-go"), &folder.path().join("plugins/greeter-go"));
        succeed(folder.path(), &["build", "plugins/greeter-go"]);
        fs::read(folder.path().join("greeter.wasm")).expect("the file is named after the plugin")
    });
    assert!(built[0] == built[1], "the bytes differ");
    let cases = root().join("plugins/greeter/cases").display().to_string();
    let said = succeed(folders[0].path(), &["test", "greeter.wasm", &cases]);
    assert!(said.contains("1 of 1 cases passed"), "{said}");
    // The folders of both plugins are the same, so that the one in Go can be read alone.
    let shared =
        |name: &str| ["greeter", "greeter-go"].map(|plugin| fs::read(root().join("plugins").join(plugin).join(name)).unwrap());
    for name in ["samples/sample.yaml", "cases/new/sample.yaml", "cases/new/expected.yaml"] {
        let [rust, go] = shared(name);
        assert!(rust == go, "{name} differs between greeter and greeter-go");
    }
    let crds = |plugin: &str| succeed(folders[0].path(), &["crds", plugin]);
    assert_eq!(crds("greeter.wasm"), crds(gyre_artifacts::GREETER), "the CRD of greeter-go differs from that of greeter");
}

#[test]
fn the_modules_in_go_are_formatted_and_pass_their_unit_tests() {
    if !has_go() {
        return;
    }
    for module in ["sdk/go", "plugins/greeter-go", "plugins/echo-go", "plugins/replicator-go", "plugins/cron-job-go"] {
        let run = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments).current_dir(root().join(module)).env("GYRE", GYRE);
            command.env("GOTOOLCHAIN", "local").env("GOPROXY", "off");
            let Output { status, stdout, stderr } = command.output().expect("go runs");
            (status.success(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
        };
        let (passed, said) = run("go", &["test", "./..."]);
        assert!(passed, "{module}: {said}");
        assert_eq!(run("gofmt", &["-l", "."]), (true, String::new()), "{module} is not formatted");
    }
}

#[test]
fn a_new_project_in_go_passes_what_its_readme_shows() {
    if !has_go() {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let sdk = root().join("sdk").display().to_string();
    let arguments = ["new", "tenant", "--lang", "go", "--scope", "cluster", "--finalizer", "--sdk", &sdk];
    succeed(temporary.path(), &arguments);
    let project = temporary.path().join("tenant");
    let readme = fs::read_to_string(project.join("README.md")).unwrap();
    let commands = readme.lines().filter_map(|line| line.strip_prefix("$ "));
    let commands: Vec<&str> = commands.map(|line| line.split(" #").next().unwrap_or_default().trim()).collect();
    assert_eq!(commands.len(), 7, "{commands:?}");
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        match words[..] {
            ["go", ref arguments @ ..] => {
                let mut command = Command::new("go");
                command.args(arguments).current_dir(&project).env("GOTOOLCHAIN", "local").env("GOPROXY", "off");
                let output = command.output().expect("go runs");
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
            }
            ["gyre", "dev", ref arguments @ ..] => {
                let said = succeed(&project, &[&["dev", "--once"], arguments].concat());
                assert!(said.contains("ConfigMap hello/hello created"), "{said}");
            }
            ["gyre", ref arguments @ ..] => drop(succeed(&project, arguments)),
            _ => panic!("{command} is not known"),
        }
    }
    let formatted = Command::new("gofmt").args(["-l", "."]).current_dir(&project).output().expect("gofmt runs");
    assert_eq!(String::from_utf8_lossy(&formatted.stdout), "", "these files are not formatted");
}

/// Go collects garbage within a call, and may not while the host writes a list: see
/// `host/src/commands/build/go/adapter.wat`.
#[test]
fn a_plugin_in_go_lists_five_thousand_objects_and_its_panic_has_a_file_and_line() {
    if !has_go() {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    copy_tree(&root().join("sdk/go"), &folder.join("sdk"));
    let config_maps: Vec<String> = (0..5_000)
        .map(|number| {
            let data = "x".repeat(300);
            format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: it-{number}, namespace: default}}\ndata: {{text: {data}}}\n")
        })
        .collect();
    let greeting = |message: &str| {
        format!(
            "apiVersion: example.com/v1alpha1\nkind: Greeting\nmetadata: {{name: it, namespace: default}}\nspec: {{message: {message}}}\n"
        )
    };
    write(
        folder,
        &[
            ("it/go.mod", "module it\n\ngo 1.24\n\nrequire gyre.dev/gyre v0.0.0\n\nreplace gyre.dev/gyre => ../sdk\n"),
            ("it/main.go", include_str!("build/reads.go")),
            ("config-maps.yaml", &config_maps.concat()),
            ("list.yaml", &greeting("list")),
            ("panic.yaml", &greeting("panic")),
            ("garbage.yaml", &greeting("garbage")),
        ],
    );
    succeed(folder, &["build", "it", "--to", "it.wasm"]);
    // Other tests compile at the same time.
    let patient = ["--call-deadline", "30s"];
    let said = succeed(folder, &[&["render", "it.wasm", "-f", "list.yaml", "-f", "config-maps.yaml"], &patient[..]].concat());
    assert!(said.contains("5000 objects, then 5000 and 5000"), "{said}");
    let said = succeed(folder, &[&["render", "it.wasm", "-f", "garbage.yaml"], &patient[..]].concat());
    assert!(said.contains("Normal Collected: 375 MiB"), "{said}");
    let (_, said) = render(folder, "panic.yaml");
    assert!(said.contains("it panicked at it/main.go:") && said.contains(": assignment to entry in nil map"), "{said}");
}

fn render(folder: &Path, file: &str) -> (Option<i32>, String) {
    let output = Command::new(GYRE).args(["render", "it.wasm", "-f", file]).current_dir(folder).output().expect("gyre runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), said)
}
