//! Telling what is being done, and running the commands that do it.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

/// A known number of steps, each announced with its number and closed with the time it took, or
/// with an error that names it.
#[derive(Debug)]
pub(crate) struct Steps {
    total: usize,
    done: usize,
    start: Instant,
}

impl Steps {
    pub(crate) fn new(total: usize) -> Self {
        Self { total, done: 0, start: Instant::now() }
    }

    /// Does one step.
    pub(crate) fn step<T>(&mut self, name: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.done += 1;
        let label = format!("[{}/{}] {name}", self.done, self.total);
        eprintln!("{label}");
        let begin = Instant::now();
        let result = work();
        let took = seconds(begin.elapsed());
        if result.is_ok() {
            eprintln!("{label}: done in {took}");
        }
        result.with_context(|| format!("{label}, after {took}"))
    }

    /// Since the first step.
    pub(crate) fn elapsed(&self) -> String {
        seconds(self.start.elapsed())
    }
}

/// Runs a command whose output goes to the terminal. Errors: it fails.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let line = line(command);
    eprintln!("  $ {line}");
    let status = command.status().with_context(|| format!("cannot run `{line}`"))?;
    ensure!(status.success(), "`{line}` failed ({status})");
    Ok(())
}

/// Runs a command and returns what it prints. Errors: it fails; what it said goes to the terminal.
pub(crate) fn stdout_of(command: &mut Command) -> anyhow::Result<String> {
    let line = line(command);
    let output = command.output().with_context(|| format!("cannot run `{line}`"))?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
    }
    ensure!(output.status.success(), "`{line}` failed ({})", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed no UTF-8"))
}

/// A command as a person would type it, without the folder of the program.
pub(crate) fn line(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args()).map(|word| word.to_string_lossy());
    words.map(|word| if word.contains(' ') { format!("'{word}'") } else { word.into_owned() }).collect::<Vec<_>>().join(" ")
}

/// A time as seconds.
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
