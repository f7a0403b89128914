//! A host that counts its allocated bytes: the test program starts itself as `gyre`, because its
//! allocator counts.
//!
//! Memories of plugins are not on the heap; tests of gyre-sandbox show that calls release them.

use std::alloc::System;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use gyre_controlplane::allocated;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use crate::harness::Cluster;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const ARGUMENTS: &str = "GYRE_TEST_COUNTED_ARGUMENTS";
const COUNT: &str = "GYRE_TEST_COUNTED_FILE";

/// Runs as `gyre` and returns true if [`Counted::command`] started this process. A test with a
/// counted host calls it first.
pub(crate) fn is_host() -> bool {
    let (Ok(arguments), Some(count)) = (std::env::var(ARGUMENTS), std::env::var_os(COUNT)) else { return false };
    let arguments: Vec<String> = serde_json::from_str(&arguments).expect("arguments");
    allocated::answer(PathBuf::from(count), || {
        let stats = ALLOCATOR.stats();
        stats.bytes_allocated - stats.bytes_deallocated
    });
    assert_eq!(gyre::cli::main(arguments), ExitCode::SUCCESS);
    true
}

pub(crate) struct Counted {
    test: &'static str,
    count: PathBuf,
}

impl Counted {
    pub(crate) fn new(cluster: &Cluster, test: &'static str) -> Self {
        Self { test, count: cluster.plane.folder().join(format!("allocated-{}", cluster.test)) }
    }

    /// Returns a command that does the same as this one of `gyre`, and counts.
    pub(crate) fn command(&self, gyre: &Command) -> Command {
        let text = |text: &std::ffi::OsStr| text.to_str().expect("UTF-8").to_owned();
        let arguments: Vec<String> = std::iter::once(gyre.get_program()).chain(gyre.get_args()).map(text).collect();
        let mut command = Command::new(std::env::current_exe().expect("the test program"));
        command.args(["--exact", self.test, "--nocapture"]);
        command.envs(gyre.get_envs().filter_map(|(key, value)| Some((key, value?))));
        command.env(ARGUMENTS, serde_json::to_string(&arguments).expect("JSON")).env(COUNT, &self.count);
        // Tests run on threads with a smaller stack than the main thread of `gyre`.
        command.env("RUST_MIN_STACK", (8 << 20).to_string());
        command
    }

    /// Returns the number of bytes that the host has allocated and not freed, counted after this
    /// call.
    pub(crate) fn bytes(&self, cluster: &Cluster) -> usize {
        allocated::ask(&self.count);
        cluster.eventually("the host to count", || allocated::answered(&self.count))
    }
}
