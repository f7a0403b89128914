//! A host that counts what it allocates: the test program, started again to run as `gyre`, because its allocator is one that counts.
//!
//! Linear memories of plugins are not on the heap: gyre-sandbox tests that calls give them back.

use std::alloc::System;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use gyre_controlplane::allocated;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use crate::harness::Cluster;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The arguments of `gyre`, as JSON.
const ARGUMENTS: &str = "GYRE_TEST_COUNTED_ARGUMENTS";
/// The file in which the host answers how much it has allocated.
const COUNT: &str = "GYRE_TEST_COUNTED_FILE";

/// Runs as `gyre` if this process was started by [`Counted::command`], and returns whether it was. The test that starts a counted host
/// begins with it.
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

/// The means to start a counted host and to ask it.
pub(crate) struct Counted {
    /// The path of the test that starts it.
    test: &'static str,
    count: PathBuf,
}

impl Counted {
    /// For the test with this path, which calls [`is_host`].
    pub(crate) fn new(cluster: &Cluster, test: &'static str) -> Self {
        Self { test, count: cluster.plane.folder().join(format!("allocated-{}", cluster.test)) }
    }

    /// The command that does what this one of `gyre` does, and counts.
    pub(crate) fn command(&self, gyre: &Command) -> Command {
        let text = |text: &std::ffi::OsStr| text.to_str().expect("UTF-8").to_owned();
        let arguments: Vec<String> = std::iter::once(gyre.get_program()).chain(gyre.get_args()).map(text).collect();
        let mut command = Command::new(std::env::current_exe().expect("the test program"));
        command.args(["--exact", self.test, "--nocapture"]);
        command.envs(gyre.get_envs().filter_map(|(key, value)| Some((key, value?))));
        command.env(ARGUMENTS, serde_json::to_string(&arguments).expect("JSON")).env(COUNT, &self.count);
        // Tests run on threads with less stack than the main thread of `gyre` has.
        command.env("RUST_MIN_STACK", (8 << 20).to_string());
        command
    }

    /// Returns the number of bytes that the host has allocated and not freed, counted after this is called.
    pub(crate) fn bytes(&self, cluster: &Cluster) -> usize {
        allocated::ask(&self.count);
        cluster.eventually("the host to count", || allocated::answered(&self.count))
    }
}
