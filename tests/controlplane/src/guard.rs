//! Child processes that end when this process ends, even by `SIGKILL`.
//!
//! `Drop` does not run for statics or after `SIGKILL`, and a signal at the parent's death needs
//! `unsafe`. So each child has a guard: a small shell that holds one end of a pipe. When our end
//! closes, also because this process died, the guard stops the child.
//!
//! ```text
//! this process ──pipe──▶ sh (guard, own process group: ignores Ctrl-C) ──▶ the program
//!              ◀─ pid ──
//! ```
//!
//! Not covered: a guard whose process group is killed with `SIGKILL` leaves its program behind.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context as _;

/// The guard of one program; `$1` is the grace period in tenths of a second. The inner loop uses
/// the shell's builtin `read`, so that killing it leaves no child behind.
const GUARD: &str = r#"
grace=$1
shift
"$@" </dev/null >&2 &
program=$!
exec 3<&0 </dev/null
trap 'kill -TERM "$program" 2>/dev/null' HUP INT TERM
echo "$program"
exec >/dev/null
{
    trap - HUP INT TERM
    while read -r _ <&3; do :; done
    kill -TERM "$program"
    while [ "$grace" -gt 0 ] && kill -0 "$program"; do
        sleep 0.1
        grace=$((grace - 1))
    done
    kill -KILL "$program"
} 2>/dev/null &
watcher=$!
exec 3<&-
wait "$program"
code=$?
while kill -0 "$program" 2>/dev/null; do
    wait "$program"
    code=$?
done
kill "$watcher" 2>/dev/null
exit "$code"
"#;

/// The janitor: reads process ids, waits until these processes have ended, and removes `$1`.
const JANITOR: &str = r#"
processes=
while read -r process; do processes="$processes $process"; done
patience=$2
for process in $processes; do
    while [ "$patience" -gt 0 ] && kill -0 "$process" 2>/dev/null; do
        sleep 0.1
        patience=$((patience - 1))
    done
done
rm -rf -- "$1"
"#;

/// The time after the grace period in which a guard must end before we kill the program.
const GUARD_PATIENCE: Duration = Duration::from_secs(3);
/// The longest time in which the kernel stops all threads of a program.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// The number of bytes of a log that an error contains.
const TAIL_BYTES: u64 = 4096;

/// A signal to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM.
    Terminate,
    /// SIGINT, as by Ctrl-C.
    Interrupt,
    /// SIGKILL.
    Kill,
    /// SIGSTOP, which simulates a stalled machine.
    Stop,
    /// SIGCONT, after [`Signal::Stop`].
    Continue,
}

/// A running program that does not outlive this process. Dropping it sends SIGTERM, then SIGKILL.
#[derive(Debug)]
pub struct Guarded {
    name: String,
    guard: Child,
    pipe: Option<ChildStdin>,
    program: u32,
    grace: Duration,
    log: PathBuf,
}

impl Guarded {
    /// Starts `command` under a guard; its output is appended to the file `log`.
    ///
    /// Guarantees: stdin is empty, only the environment is inherited, and the program is stopped
    /// when the value is dropped or this process ends; it then has `grace` to end.
    ///
    /// Assumptions: `command` has no redirections or `env_clear`, which the standard library does
    /// not expose.
    ///
    /// Errors: the shell or the log cannot be opened. A missing program ends with code 127, without
    /// an error here.
    pub fn spawn(name: &str, command: &Command, log: &Path, grace: Duration) -> anyhow::Result<Self> {
        let file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| format!("cannot open the log {}", log.display()))?;
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(GUARD).arg(format!("guard-{name}")).arg(tenths(grace)).arg(command.get_program());
        shell.args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(key, value),
                None => shell.env_remove(key),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            shell.current_dir(folder);
        }
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file).process_group(0);
        let mut guard = shell.spawn().with_context(|| format!("cannot start a shell to guard {name}"))?;
        let pipe = guard.stdin.take();
        let mut line = String::new();
        if let Some(output) = guard.stdout.take() {
            BufReader::new(output).read_line(&mut line).with_context(|| format!("the guard of {name} is mute"))?;
        }
        let program = line.trim().parse().with_context(|| format!("the guard of {name} did not start it: {line:?}"))?;
        Ok(Self { name: name.to_string(), guard, pipe, program, grace, log: log.to_path_buf() })
    }

    /// The name of the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id of the program (not of its guard).
    pub fn id(&self) -> u32 {
        self.program
    }

    /// The file with its output.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of its output.
    pub fn log_tail(&self) -> String {
        tail(&self.log)
    }

    /// Returns the exit status, or `None` while it runs. The code after a signal is 128 + signal.
    pub fn exited(&mut self) -> io::Result<Option<ExitStatus>> {
        self.guard.try_wait()
    }

    /// Sends a signal to the program. After [`Signal::Stop`], it has stopped: the kernel stops the
    /// threads one by one, so on a busy machine some of them go on for a moment.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        use rustix::process::{Pid, Signal as Raw, kill_process};
        let raw = match signal {
            Signal::Terminate => Raw::TERM,
            Signal::Interrupt => Raw::INT,
            Signal::Kill => Raw::KILL,
            Signal::Stop => Raw::STOP,
            Signal::Continue => Raw::CONT,
        };
        let pid = i32::try_from(self.program).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
        kill_process(pid, raw)?;
        if signal == Signal::Stop { self.until_stopped() } else { Ok(()) }
    }

    fn until_stopped(&self) -> io::Result<()> {
        let deadline = std::time::Instant::now() + STOP_PATIENCE;
        while self.has_running_threads() {
            if std::time::Instant::now() >= deadline {
                return Err(io::Error::new(io::ErrorKind::TimedOut, format!("{} does not stop", self.name)));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Returns whether a thread runs or can run. Without `/proc`, none is known.
    fn has_running_threads(&self) -> bool {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{}/task", self.program)) else { return false };
        threads.flatten().any(|thread| {
            // The state follows the name of the thread, which is in parentheses. A thread that has
            // ended meanwhile has no file.
            let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['T', 't', 'Z', 'X']))
        })
    }

    /// Waits until it ends by itself; returns `None` if it still runs after `patience`.
    pub fn wait(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let deadline = std::time::Instant::now() + patience;
        loop {
            let status = self.exited()?;
            if status.is_some() || std::time::Instant::now() >= deadline {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops it as dropping does, and returns its exit status.
    pub fn stop(&mut self) -> io::Result<ExitStatus> {
        drop(self.pipe.take());
        if let Some(status) = self.wait(self.grace + GUARD_PATIENCE)? {
            return Ok(status);
        }
        // The guard does not work, e.g. because a part of it was killed.
        self.signal(Signal::Kill)?;
        self.guard.wait()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // A failure cannot be handled here, and the guard works without us.
        let _ = self.stop();
    }
}

/// Removes a folder when it is dropped or this process dies, after its processes have ended.
#[derive(Debug)]
pub struct Janitor {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Janitor {
    /// Starts a janitor of `folder`, which waits at most `patience` for the processes.
    pub fn of(folder: &Path, patience: Duration) -> anyhow::Result<Self> {
        let arguments: [OsString; 3] = ["janitor".into(), folder.into(), tenths(patience).into()];
        let mut shell = Command::new("sh")
            .arg("-c")
            .arg(JANITOR)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start a shell to clean up after the tests")?;
        let pipe = shell.stdin.take();
        Ok(Self { shell, pipe })
    }

    /// Makes it wait for `process` too.
    pub fn wait_for(&mut self, process: &Guarded) -> anyhow::Result<()> {
        let pipe = self.pipe.as_mut().context("the janitor is at work already")?;
        writeln!(pipe, "{}", process.id()).context("the janitor is gone")
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // Files that it could not remove stay in the folder for temporary files.
        let _ = self.shell.wait();
    }
}

pub(crate) fn tail(path: &Path) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let start = file.metadata()?.len().saturating_sub(TAIL_BYTES);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // The first line is incomplete unless the file begins here.
        Ok(match text.split_once('\n') {
            Some((_, rest)) if start > 0 => rest.to_string(),
            _ => text,
        })
    };
    read().unwrap_or_else(|error| format!("(cannot read {}: {error})", path.display()))
}

fn tenths(duration: Duration) -> String {
    (duration.as_millis() / 100).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, test_kill_process};
    use std::time::Instant;

    const GRACE: Duration = Duration::from_secs(1);
    const PATIENCE: Duration = Duration::from_secs(300);

    fn is_alive(process: u32) -> bool {
        test_kill_process(Pid::from_raw(process as i32).unwrap()).is_ok()
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn spawn(folder: &tempfile::TempDir, script: &str) -> Guarded {
        Guarded::spawn("test", &shell(script), &folder.path().join("log"), GRACE).unwrap()
    }

    #[test]
    fn the_program_ends_when_the_pipe_closes() {
        let folder = tempfile::tempdir().unwrap();
        let guarded = spawn(&folder, "exec sleep 600");
        let program = guarded.id();
        assert!(is_alive(program));
        drop(guarded);
        assert!(!is_alive(program));
    }

    #[test]
    fn the_program_ends_when_the_process_that_started_it_is_killed() {
        // This test runs itself again as the process to be killed.
        const FOLDER: &str = "GYRE_TEST_GUARD_FOLDER";
        if let Some(folder) = std::env::var_os(FOLDER) {
            let folder = Path::new(&folder);
            let guarded = Guarded::spawn("inner", &shell("exec sleep 600"), &folder.join("inner"), GRACE).unwrap();
            std::fs::write(folder.join("new"), guarded.id().to_string()).unwrap();
            std::fs::rename(folder.join("new"), folder.join("pid")).unwrap();
            std::thread::sleep(Duration::from_secs(600));
        }
        let folder = tempfile::tempdir().unwrap();
        let name = std::thread::current().name().unwrap().to_string();
        let mut itself = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &name, "--test-threads=2"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + PATIENCE;
        let program: u32 = loop {
            if let Ok(text) = std::fs::read_to_string(folder.path().join("pid")) {
                break text.parse().unwrap();
            }
            assert!(Instant::now() < deadline && itself.try_wait().unwrap().is_none(), "the program was not started");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(is_alive(program));
        itself.kill().unwrap();
        itself.wait().unwrap();
        while is_alive(program) {
            assert!(Instant::now() < deadline, "the program outlived the process that started it");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_program_that_ignores_sigterm_is_killed_after_the_grace_period() {
        let folder = tempfile::tempdir().unwrap();
        let mut guarded = spawn(&folder, "trap '' TERM; echo ready; while :; do sleep 0.05; done");
        while !guarded.log_tail().contains("ready") {
            std::thread::sleep(Duration::from_millis(5));
        }
        let start = Instant::now();
        // Closes the pipe only: `stop` would kill the program by itself after `GUARD_PATIENCE`.
        drop(guarded.pipe.take());
        assert_eq!(guarded.wait(PATIENCE).unwrap().unwrap().code(), Some(128 + 9));
        assert!(start.elapsed() >= GRACE, "{:?}", start.elapsed());
    }

    #[test]
    fn a_program_that_ends_by_itself_is_noticed_with_its_code_and_output() {
        let folder = tempfile::tempdir().unwrap();
        let mut guarded = spawn(&folder, "echo out; echo err >&2; exit 7");
        assert_eq!(guarded.wait(PATIENCE).unwrap().unwrap().code(), Some(7));
        assert_eq!(guarded.log_tail(), "out\nerr\n");
        let mut absent = Guarded::spawn("absent", &Command::new("/nonexistent"), &folder.path().join("absent"), GRACE).unwrap();
        assert_eq!(absent.wait(PATIENCE).unwrap().unwrap().code(), Some(127));
    }

    #[test]
    fn the_program_gets_the_environment_the_folder_and_an_empty_stdin() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = shell("cat; pwd; echo \"$GYRE_TEST $1\"");
        command.args(["sh", "a b"]).env("GYRE_TEST", "x y").current_dir("/");
        let mut guarded = Guarded::spawn("env", &command, &folder.path().join("log"), GRACE).unwrap();
        guarded.wait(PATIENCE).unwrap().unwrap();
        assert_eq!(guarded.log_tail(), "/\nx y a b\n");
    }

    #[test]
    fn the_janitor_waits_for_the_processes_and_removes_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("work");
        std::fs::create_dir(&folder).unwrap();
        let mut janitor = Janitor::of(&folder, PATIENCE).unwrap();
        // At its end, the process checks that the folder exists.
        let (go, seen) = (place.path().join("go"), place.path().join("seen"));
        let look = "until [ -e \"$GO\" ]; do sleep 0.05; done; sleep 0.5; [ -d \"$FOLDER\" ] && : > \"$SEEN\"";
        let mut command = shell(look);
        command.env("GO", &go).env("FOLDER", &folder).env("SEEN", &seen);
        let process = Guarded::spawn("test", &command, &place.path().join("log"), GRACE).unwrap();
        janitor.wait_for(&process).unwrap();
        // From here the janitor may remove the folder, if it does not wait.
        drop(janitor.pipe.take());
        std::fs::write(&go, "").unwrap();
        drop(janitor);
        assert!(!folder.exists());
        assert!(seen.exists(), "the folder was removed before the process had ended");
    }

    #[test]
    fn the_tail_of_a_long_log_begins_with_a_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let text: String = (0..5000).map(|line| format!("line {line}\n")).collect();
        std::fs::write(&path, text).unwrap();
        let tail = tail(&path);
        assert!(tail.starts_with("line "), "{tail}");
        assert!(tail.ends_with("line 4999\n"), "{tail}");
        assert!(tail.len() <= TAIL_BYTES as usize);
    }
}
