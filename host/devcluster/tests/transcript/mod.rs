//! Shell sessions, recorded against the real server and compared with devcluster.
//!
//! A transcript is a text file: lines with `$ ` are commands, `> ` continues them, and the lines
//! below are their output (both streams), and their exit code if it is not 0. Varying parts (UIDs,
//! times, ages, revisions) are masked.
//!
//! `GYRE_TRANSCRIPTS` selects the mode: by default devcluster is compared with the files, with
//! `real` the real server is, and `record` writes the files from the real server. Transcripts in
//! the folder `alive` always run on devcluster, because they need Pods that finish.

mod mask;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use gyre_controlplane::{ControlPlane, Tools, skip, tools_or_skip};
use gyre_devcluster::{Clock, Cluster, Options, Service, http, kubeconfig};

/// Defines a test for each transcript in a folder, and one that checks that none is missing.
#[macro_export]
macro_rules! transcripts {
    ($folder:literal: $($name:ident),+ $(,)?) => {
        $(#[test]
        fn $name() {
            transcript::check($folder, stringify!($name));
        })+

        #[test]
        fn every_transcript_is_a_test() {
            transcript::assert_all_named($folder, &[$(stringify!($name)),+]);
        }
    };
}

const SECONDS: &str = "240";
/// The folder of the transcripts whose Pods run.
const ALIVE: &str = "alive";
/// Separates the output of a command from its exit code.
const MARK: char = '\u{1}';

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Devcluster,
    Real,
    Record,
}

impl Mode {
    fn of_environment() -> Self {
        match std::env::var("GYRE_TRANSCRIPTS").as_deref() {
            Ok("real") => Self::Real,
            Ok("record") => Self::Record,
            Ok(other) => panic!("GYRE_TRANSCRIPTS is {other:?}: neither real nor record"),
            Err(_) => Self::Devcluster,
        }
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts").join(name)
}

pub(crate) fn assert_all_named(name: &str, tests: &[&str]) {
    let found: BTreeSet<String> = std::fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(found, tests.iter().map(ToString::to_string).collect());
}

pub(crate) fn check(directory: &str, name: &str) {
    let Some(tools) = tools_or_skip().unwrap() else { return };
    if let Some(reason) = unfit(&tools) {
        return skip(&reason).unwrap();
    }
    let path = folder(directory).join(format!("{name}.txt"));
    let expected = std::fs::read_to_string(&path).unwrap();
    let mode = Mode::of_environment();
    let is_real = mode != Mode::Devcluster && directory != ALIVE;
    let commands = commands(&expected);
    let printed = if is_real { on_real(&tools, &commands) } else { on_devcluster(&tools, directory == ALIVE, &commands) };
    let actual = transcript(&commands, &printed);
    if mode == Mode::Record {
        std::fs::write(&path, &actual).unwrap();
    } else {
        assert!(actual == expected, "{}", difference(&expected, &actual));
    }
}

/// Returns why this machine cannot run transcripts: the output of the programs varies by version.
fn unfit(tools: &Tools) -> Option<String> {
    if tools.helm.is_none() {
        return Some("there is no helm".to_owned());
    }
    let output = Command::new(&tools.kubectl).args(["version", "--client", "-o", "yaml"]).output().unwrap();
    let version = String::from_utf8_lossy(&output.stdout);
    (!version.contains("minor: \"36\"")).then(|| "the transcripts are of kubectl 1.36".to_owned())
}

fn on_devcluster(tools: &Tools, runs_pods: bool, commands: &[String]) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let _entered = runtime.enter();
    let options = Options { pod_run_time: runs_pods.then_some(Duration::from_millis(200)), ..Options::default() };
    let service = Service::new(Cluster::start(&options, Clock::System));
    drop(runtime.spawn(http::serve(listener, service, http::Limits::default(), std::future::pending())));
    let work = tempfile::tempdir().unwrap();
    let path = work.path().join("kubeconfig");
    std::fs::write(&path, kubeconfig::kubeconfig(&url, None)).unwrap();
    run(tools, work.path(), &path, &url, commands)
}

fn on_real(tools: &Tools, commands: &[String]) -> Vec<String> {
    let plane = ControlPlane::start(tools, gyre_controlplane::Options::default()).unwrap();
    let work = tempfile::tempdir().unwrap();
    run(tools, work.path(), plane.kubeconfig(), plane.url(), commands)
}

fn run(tools: &Tools, work: &Path, kubeconfig: &Path, url: &str, commands: &[String]) -> Vec<String> {
    let programs = work.join("bin");
    std::fs::create_dir(&programs).unwrap();
    for (name, path) in [("kubectl", Some(&tools.kubectl)), ("helm", tools.helm.as_ref())] {
        std::os::unix::fs::symlink(path.unwrap(), programs.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(folder("chart"), work.join("chart")).unwrap();
    let mut script = String::from("exec 2>&1\n");
    for command in commands {
        // A comment alone is not a command.
        writeln!(script, "{{\n:\n{command}\n}}\nprintf '\\1%d\\n' $?").unwrap();
    }
    let script_path = work.join("script");
    std::fs::write(&script_path, script).unwrap();
    let search = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("timeout");
    shell.args([SECONDS, "bash"]).arg(&script_path).current_dir(work).stdin(Stdio::null());
    shell
        .env_clear()
        .env("PATH", search)
        .env("KUBECONFIG", kubeconfig)
        .env("KUBERC", "off")
        .env("LC_ALL", "C")
        .env("TZ", "UTC");
    for (variable, folder) in [
        ("HOME", "home"),
        ("TMPDIR", ""),
        ("KUBECACHEDIR", "kubectl-cache"),
        ("HELM_CACHE_HOME", "helm-cache"),
        ("HELM_CONFIG_HOME", "helm-config"),
        ("HELM_DATA_HOME", "helm-data"),
    ] {
        shell.env(variable, work.join(folder));
    }
    let output = shell.output().unwrap();
    let printed =
        String::from_utf8_lossy(&output.stdout).replace(url, "<server>").replace(&work.display().to_string(), "<work>");
    let host = url.split_once("://").unwrap().1;
    let mut printed: Vec<String> = mask::mask(&printed.replace(host, "<server>")).split(MARK).map(str::to_owned).collect();
    // Each part after the first begins with the exit code of the command before.
    for index in 0..printed.len().saturating_sub(1) {
        let (code, rest) = printed[index + 1].split_once('\n').unwrap();
        let (code, rest) = (code.to_owned(), rest.to_owned());
        if !printed[index].is_empty() && !printed[index].ends_with('\n') {
            printed[index].push('\n');
        }
        if code != "0" {
            writeln!(printed[index], "[exit {code}]").unwrap();
        }
        printed[index + 1] = rest;
    }
    printed
}

fn commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push(command.to_owned());
        } else if let (Some(more), Some(command)) = (line.strip_prefix('>'), commands.last_mut()) {
            command.push('\n');
            command.push_str(more.strip_prefix(' ').unwrap_or(more));
        }
    }
    commands
}

fn transcript(commands: &[String], printed: &[String]) -> String {
    let mut text = String::new();
    let nothing = String::from("[not reached]\n");
    for (index, command) in commands.iter().enumerate() {
        for (number, line) in command.lines().enumerate() {
            writeln!(text, "{}", format!("{} {line}", if number == 0 { '$' } else { '>' }).trim_end()).unwrap();
        }
        for line in printed.get(index).unwrap_or(&nothing).lines() {
            writeln!(text, "{}", line.trim_end()).unwrap();
        }
    }
    text
}

fn difference(expected: &str, actual: &str) -> String {
    let parts = |text: &str| -> Vec<String> { format!("\n{text}").split("\n$ ").map(str::to_owned).collect() };
    let mut text = String::new();
    for (expected, actual) in parts(expected).iter().zip(parts(actual)) {
        if *expected == actual {
            continue;
        }
        let (before, after): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
        let same_start = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
        let limit = before.len().min(after.len()) - same_start;
        let same_end = before.iter().rev().zip(after.iter().rev()).take(limit).take_while(|(one, other)| one == other).count();
        writeln!(text, "\n$ {}", before.first().unwrap_or(&"")).unwrap();
        for line in &before[same_start..before.len() - same_end] {
            writeln!(text, "  expected: {line}").unwrap();
        }
        for line in &after[same_start..after.len() - same_end] {
            writeln!(text, "  but was:  {line}").unwrap();
        }
    }
    text
}
