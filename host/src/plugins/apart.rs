//! Compiles a plugin in another process, with limits of time and memory.
//!
//! ```text
//!   host ── gyre compile ──▶ child ── compiled code ──▶ code cache ──▶ host
//!     └── each 10 ms: has it ended, how long does it run, how much memory has it?
//! ```
//!
//! What is absent: a fallback. If the child did not end well, the plugin is refused, because the
//! same bytes would take the same time and memory in the host, and end all its mounts.

use std::io::{ErrorKind, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tracing::{debug, warn};

use crate::plugins::cgroup;
use crate::plugins::source::Component;

/// The exit code of `gyre compile` if the plugin compiles, but its code cannot be stored in the
/// given directory: the one for wrong arguments, of which there are no others here.
const NOT_KEPT: i32 = 2;

/// The longest compilation: as long as the chart's startup probe waits for a start. The largest
/// plugins, with an interpreter, take less than a minute of CPU time.
const MOST_TIME: Duration = Duration::from_secs(5 * 60);
/// The most memory of a compilation, also where no cgroup sets a limit: several times what
/// plugins with an interpreter need.
const MOST_MEMORY: u64 = 2 << 30;
/// The part of a cgroup's memory that is left to the host while a plugin is compiled, and covers
/// what the child takes between two looks.
const RESERVED_PART: u64 = 8;
/// The interval between two looks at the child. In this time it can take some tens of megabytes.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const LONGEST_MESSAGE: u64 = 4 << 10;

/// The problem of a file that has other bytes than before. The child says the same as this process.
pub(crate) const CHANGED: &str = "its file changed while it was compiled";
pub(crate) const REPLACE_AT_ONCE: &str = "write the file once, or replace it atomically";

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the process that compiles it cannot be started")]
    Spawn(#[source] std::io::Error),
    #[error("the process that compiles it cannot be watched")]
    Watch(#[source] std::io::Error),
    #[error("compiling it took longer than {} s", .0.as_secs_f64())]
    Time(Duration),
    #[error("compiling it needs more than {} MiB of memory, and no more is left", .0 >> 20)]
    Memory(u64),
    #[error("the process that compiles it was ended by signal {0}, as by the kernel when memory is short")]
    Signal(i32),
    #[error("{}", CHANGED)]
    Changed,
    /// The message of `gyre compile`, in two parts.
    #[error("{what}")]
    Failed { what: String, remedy: String },
}

impl Error {
    pub(crate) fn remedy(&self) -> &str {
        match self {
            Self::Spawn(_) | Self::Watch(_) => "raise the limits of processes and memory, and copy the plugin again",
            Self::Time(_) => "compile it before, with gyre compile, or give gyre more CPU, and copy the plugin again",
            Self::Memory(_) | Self::Signal(_) => {
                "compile it before, with gyre compile, or raise the memory limit of gyre, and copy the plugin again"
            }
            Self::Changed => REPLACE_AT_ONCE,
            Self::Failed { remedy, .. } => remedy,
        }
    }
}

/// The result of a child after which the plugin may be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compiled {
    InCache,
    /// It compiles within the limits, or there can be no child, because there is no program.
    Nowhere,
}

/// The program that compiles plugins for this host.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    /// A `gyre` of the same version, because another one would compile for another engine.
    pub(crate) program: PathBuf,
    pub(crate) cache: PathBuf,
}

impl Compiler {
    /// The program of this process, also if its file was replaced since the start.
    pub(crate) fn of_this_process(cache: PathBuf) -> Self {
        Self { program: "/proc/self/exe".into(), cache }
    }

    /// Compiles a plugin into the cache.
    ///
    /// # Guarantees
    /// No other bytes than these are compiled.
    /// Takes at most [`MOST_TIME`]; the child takes at most the memory that [`most_memory`] allows.
    ///
    /// # Errors
    /// If the child did not compile the plugin within the limits.
    pub(crate) fn compile(&self, component: &Component) -> Result<Compiled, Error> {
        let path = &component.path;
        let mut command = Command::new(&self.program);
        command.arg("compile").arg("--code-cache").arg(&self.cache);
        // The child reads the file again, and nobody has verified what it may be by then.
        command.arg("--expect").arg(format!("sha256:{}", component.digest)).arg("--").arg(path);
        let memory = most_memory(cgroup::memory());
        let ended = match run(&mut command, MOST_TIME, memory) {
            Err(Error::Spawn(error)) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
                warn!(plugin = %path.display(), %error, "there is no other process to compile in, so this one compiles");
                return Ok(Compiled::Nowhere);
            }
            ended => ended?,
        };
        debug!(plugin = %path.display(), status = %ended.status, "compiled in another process");
        match (ended.status.code(), ended.status.signal()) {
            (Some(0), _) => Ok(Compiled::InCache),
            (Some(NOT_KEPT), _) => Ok(Compiled::Nowhere),
            (None, Some(signal)) => Err(Error::Signal(signal)),
            _ => Err(ended.failure(path)),
        }
    }
}

/// The memory that a compilation may take, of the cgroup's limit and the part of it that is used.
fn most_memory(cgroup: Option<cgroup::Memory>) -> u64 {
    let left = cgroup.map(|cgroup::Memory { limit, used }| limit.saturating_sub(limit / RESERVED_PART).saturating_sub(used));
    left.unwrap_or(MOST_MEMORY).min(MOST_MEMORY)
}

#[derive(Debug)]
struct Ended {
    status: ExitStatus,
    stderr: String,
}

impl Ended {
    /// The error of the child, without the words that the host adds itself.
    fn failure(&self, path: &Path) -> Error {
        let text = self.stderr.trim();
        let text = text.strip_prefix("gyre: ").unwrap_or(text);
        let text = text.strip_prefix(&format!("cannot load the plugin {}: ", path.display())).unwrap_or(text);
        let without = || format!("the process that compiles it ended with {}", self.status);
        let (what, remedy) = text.rsplit_once("; ").unwrap_or((text, "correct the plugin, and build it again"));
        Error::Failed { what: if what.is_empty() { without() } else { what.to_owned() }, remedy: remedy.to_owned() }
    }
}

/// Runs a command to its end, or until it exceeds a limit.
fn run(command: &mut Command, time: Duration, memory: u64) -> Result<Ended, Error> {
    let started = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Error::Spawn)?;
    // If memory is short all the same, the kernel ends this process and not the host.
    let _ = std::fs::write(format!("/proc/{}/oom_score_adj", child.id()), "1000");
    let result = watch(&mut child, started, time, memory);
    if result.is_err() {
        // It fails only if the child has ended.
        let _ = child.kill();
        let _ = child.wait();
    }
    let status = result?;
    let mut stderr = Vec::new();
    if let Some(pipe) = child.stderr.take() {
        pipe.take(LONGEST_MESSAGE).read_to_end(&mut stderr).map_err(Error::Watch)?;
    }
    Ok(Ended { status, stderr: String::from_utf8_lossy(&stderr).into_owned() })
}

fn watch(child: &mut Child, started: Instant, time: Duration, memory: u64) -> Result<ExitStatus, Error> {
    loop {
        if let Some(status) = child.try_wait().map_err(Error::Watch)? {
            return Ok(status);
        }
        if anonymous_memory(child.id()).is_some_and(|taken| taken > memory) {
            return Err(Error::Memory(memory));
        }
        if started.elapsed() >= time {
            return Err(Error::Time(time));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The memory of a process in bytes, without its program and files, which the kernel can drop.
fn anonymous_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use gyre_artifacts::ECHO;
    use gyre_sandbox::{Options, Sandbox};
    use proptest::prelude::*;

    use super::*;
    use crate::plugins::load_component;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        command
    }

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn a_process_that_takes_too_long_is_ended() {
        let error = run(&mut shell("exec sleep 600"), Duration::from_millis(50), MOST_MEMORY).unwrap_err();
        assert_eq!(error.to_string(), "compiling it took longer than 0.05 s");
    }

    #[test]
    fn a_process_that_takes_too_much_memory_is_ended() {
        // `tail` keeps the last line, which has no end.
        let error = run(&mut shell("exec tail -n 1 /dev/zero"), LONG, 64 << 20).unwrap_err();
        assert_eq!(error.to_string(), "compiling it needs more than 64 MiB of memory, and no more is left");
    }

    /// Loads a plugin with a compiler that runs this script.
    fn load_with(script: &str) -> Result<(), String> {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("gyre");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let sandbox = Sandbox::new(Options { concurrent_calls: 1, ..Options::default() }).unwrap();
        let component = Component::new(fs::read(ECHO).unwrap(), "echo.wasm".into());
        let compiler = Compiler { program, cache: directory.path().join("cache") };
        let loaded = load_component(&sandbox, &component, Some(&compiler));
        loaded.map(drop).map_err(|error| format!("{error}; {}", error.remedy()))
    }

    #[test]
    fn a_plugin_whose_compiler_died_or_failed_is_refused_and_not_compiled_by_the_host() {
        let refused = load_with("kill -KILL $$").unwrap_err();
        assert!(refused.contains("was ended by signal 9") && refused.contains("raise the memory limit"), "{refused}");
        let refused = load_with("echo 'gyre: cannot load the plugin echo.wasm: it is bad; make it good' >&2; exit 1");
        assert_eq!(refused.unwrap_err(), "it is bad; make it good");
        let refused = load_with("exit 0").unwrap_err();
        assert!(refused.starts_with("its file changed while it was compiled"), "its code is not in the cache: {refused}");
        let refused = load_with("exit 1").unwrap_err();
        assert!(refused.starts_with("the process that compiles it ended with exit status: 1"), "{refused}");
    }

    #[test]
    fn the_process_that_compiles_is_told_which_bytes_it_may_compile() {
        let digest = Component::new(fs::read(ECHO).unwrap(), "echo.wasm".into()).digest;
        let told = load_with("echo \"gyre: $*; read it\" >&2; exit 1").unwrap_err();
        assert!(told.ends_with(&format!(" --expect sha256:{digest} -- echo.wasm; read it")), "{told}");
    }

    #[test]
    fn the_host_compiles_itself_only_if_no_process_can_or_none_can_keep_the_code() {
        load_with(&format!("exit {NOT_KEPT}")).unwrap();
        let sandbox = Sandbox::new(Options { concurrent_calls: 1, ..Options::default() }).unwrap();
        let component = Component::new(fs::read(ECHO).unwrap(), "echo.wasm".into());
        let absent = Compiler { program: "/absent/gyre".into(), cache: "/absent".into() };
        for compiler in [None, Some(&absent)] {
            assert!(load_component(&sandbox, &component, compiler).is_ok());
        }
    }

    proptest! {
        #[test]
        fn a_compilation_leaves_an_eighth_of_the_limit_to_the_host(limit in 0..1_u64 << 40, used in 0..1_u64 << 40) {
            let memory = most_memory(Some(cgroup::Memory { limit, used }));
            prop_assert!(memory <= MOST_MEMORY);
            prop_assert!(memory == 0 || memory + used + limit / 8 <= limit);
        }
    }
}
