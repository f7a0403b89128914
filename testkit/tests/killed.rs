//! The program dies while a test uses it. In a process of its own, because others share it.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::process::Command;

use gyre_test::{Plugin, World};

/// The processes that this one has started.
fn children() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let of_task = |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.unwrap().path().join("children"));
    let texts = tasks.filter_map(|task| of_task(task).ok());
    texts.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn a_program_that_is_killed_fails_the_test_with_a_sentence() {
    let mut world = World::of(Plugin::native::<echo::EchoReconciler>()).start().unwrap();
    let children = children();
    assert_eq!(children.len(), 1, "{children:?}");
    assert!(Command::new("kill").arg("-KILL").args(&children).status().unwrap().success());
    let expected = "the program gyre ended while tests used it (signal: 9 (SIGKILL)); its standard error may say why";
    assert_eq!(world.settle().unwrap_err().to_string(), expected);
    assert_eq!(world.list("Job").unwrap_err().to_string(), expected);
    assert_eq!(Plugin::wasm(gyre_artifacts::ECHO).map(drop).unwrap_err().to_string(), expected);
}
