//! Configurations as data: a file beside what it comes down to, or beside all that is wrong with it.
//!
//! `GYRE_BLESS=1` writes what is found beside each of them; the difference is for people to judge.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::*;
use crate::program::Program;

/// The arguments as `gyre run` has them.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    mount: MountArguments,
}

fn arguments(arguments: &[&str]) -> MountArguments {
    let fixed = ["gyre", "--code-cache", "off"];
    Arguments::try_parse_from(fixed.iter().chain(arguments)).unwrap_or_else(|error| panic!("{error}")).mount
}

/// A folder with the cases, and with plugins of several kinds beside them.
fn stage(cases: &Path) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let plugins = directory.path().join("plugins");
    fs::create_dir(&plugins).unwrap();
    fs::copy(gyre_artifacts::ECHO, directory.path().join("echo.wasm")).unwrap();
    fs::copy(gyre_artifacts::SCHEDULED_ECHO, plugins.join("scheduled_echo.wasm")).unwrap();
    fs::copy(gyre_artifacts::ECHO, plugins.join("echo.wasm")).unwrap();
    fs::write(directory.path().join("module.wasm"), b"\0asm\x01\0\0\0").unwrap();
    fs::write(directory.path().join("text.wasm"), "not a component").unwrap();
    for entry in fs::read_dir(cases).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, directory.path().join(path.file_name().unwrap())).unwrap();
    }
    directory
}

/// What the configuration comes down to, as the folder sees it.
fn outcome(directory: &Path, source: Result<Source, Error>) -> String {
    let text = match source {
        Ok(source) => {
            let mut text = format!("deployment {}\n", source.name());
            for program in source.programs().iter() {
                write!(text, "{}", describe(program)).unwrap();
            }
            text
        }
        Err(Error::Refused(problems)) => format!("{problems}\n"),
        Err(error) => panic!("{error}"),
    };
    text.replace(&format!("{}/", directory.display()), "")
}

fn describe(program: &Program) -> String {
    let Program { name, plugin, settings, limits, workers, namespaces, selector, grants, reads, max_retries, quarantine_after } =
        program;
    format!(
        "{name}: the plugin {}\n  settings {}\n  {limits:?}\n  workers {workers}, retries {max_retries:?}, quarantine after \
         {quarantine_after:?}\n  namespaces {namespaces:?}\n  selector {selector:?}\n  grants {:?}, adoption {:?}\n  {reads:?}\n",
        plugin.manifest().name,
        String::from_utf8_lossy(settings),
        grants.children().map(|child| child.kind.to_string()).collect::<Vec<_>>(),
        grants.adoption(),
    )
}

#[test]
fn every_file_comes_down_to_what_stands_beside_it() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/tests");
    let directory = stage(&cases);
    let mut inputs: Vec<PathBuf> = fs::read_dir(&cases).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    inputs.sort();
    let mut wrong = Vec::new();
    for input in inputs {
        let staged = directory.path().join(input.file_name().unwrap());
        let source = Source::open(&arguments(&["--config", staged.to_str().unwrap()]));
        let found = outcome(directory.path(), source);
        let expected = input.with_extension("txt");
        if std::env::var_os("GYRE_BLESS").is_some() {
            fs::write(&expected, &found).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", expected.display()));
        }
    }
    assert!(wrong.is_empty(), "not as expected (GYRE_BLESS=1 takes them):\n{}", wrong.join("\n"));
}
