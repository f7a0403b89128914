//! Checks of the workflows: by actionlint, and of the names of actions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gyre_controlplane::go_tools::ACTIONLINT;

use super::root;

/// The folder of the workflows of this repository.
const OWN: &str = ".github/workflows";

/// The folder of the projects that `gyre new` creates, each with a workflow.
const TEMPLATES: &str = "host/src/commands/new/template";

fn entries(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| Path::new(folder).join(entry.unwrap().file_name())).collect();
    paths.sort();
    paths
}

#[test]
fn actionlint_finds_nothing_wrong_with_the_workflows() -> anyhow::Result<()> {
    let Some(actionlint) = ACTIONLINT.or_skip()? else { return Ok(()) };
    let templates = entries(TEMPLATES).into_iter().map(|folder| folder.join("ci.yaml.txt"));
    let files: Vec<PathBuf> = entries(OWN).into_iter().chain(templates).filter(|path| root().join(path).is_file()).collect();
    assert!(files.len() >= 6, "{files:?}");
    let mut command = Command::new(actionlint);
    // Other linters, which it would call if they were installed.
    command.args(["-no-color", "-shellcheck=", "-pyflakes="]).args(files).current_dir(root());
    let output = command.output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

#[test]
fn actionlint_finds_mistakes() -> anyhow::Result<()> {
    let Some(actionlint) = ACTIONLINT.or_skip()? else { return Ok(()) };
    let file = tempfile::Builder::new().suffix(".yaml").tempfile()?;
    fs::write(file.path(), "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    needs: b\n    steps:\n      - run: true\n")?;
    let output = Command::new(actionlint).arg("-no-color").arg(file.path()).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && said.contains("\"b\""), "{said}");
    Ok(())
}

/// Returns the problem with how a line names an action.
fn problem(line: &str) -> Option<String> {
    let (_, action) = line.split_once("uses: ")?;
    let (name, comment) = action.split_once(" # ").unwrap_or((action, ""));
    let Some((_, commit)) = name.split_once('@') else { return Some(format!("{name} has no version")) };
    let is_commit = commit.len() == 40 && commit.chars().all(|digit| digit.is_ascii_hexdigit());
    (!is_commit || !comment.starts_with('v')).then(|| format!("{name}: expected a commit, and its version as a comment"))
}

/// A tag of an action may be moved to other code.
#[test]
fn workflows_name_actions_by_commits() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in entries(OWN) {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        count += text.matches("uses: ").count();
        wrong.extend(text.lines().filter_map(problem).map(|problem| format!("{}: {problem}", path.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 10, "{count} uses of actions");
}

#[test]
fn names_of_actions_are_checked() {
    let commit = "3d3c42e5aac5ba805825da76410c181273ba90b1";
    for (line, is_right) in [
        (format!("      - uses: actions/checkout@{commit} # v7.0.1"), true),
        ("      - run: cargo xtask test".to_owned(), true),
        (format!("      - uses: actions/checkout@{commit}"), false),
        ("      - uses: actions/checkout@v7 # v7.0.1".to_owned(), false),
        ("        uses: actions/checkout".to_owned(), false),
    ] {
        assert_eq!(problem(&line).is_none(), is_right, "{line}");
    }
}
