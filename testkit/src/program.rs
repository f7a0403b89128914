//! The program `gyre worlds`: one process for all tests of this process.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// The only version of the protocol that this kit speaks.
const PROTOCOL: u64 = 1;
/// The environment variable that names the program.
const VARIABLE: &str = "GYRE";
/// A program that has not begun to answer after this time is another one. A loaded machine takes
/// seconds to start a large one.
const PATIENCE: Duration = Duration::from_secs(60);

/// The process, which ends when its standard input is closed with this process.
struct Program {
    input: Mutex<ChildStdin>,
    lanes: Mutex<Lanes>,
    /// The most bytes of a request.
    longest: usize,
}

#[derive(Default)]
struct Lanes {
    next: u64,
    open: HashMap<u64, Sender<Value>>,
    /// Why there are no more answers.
    ended: Option<Error>,
}

/// A line to the program: a world, or a place for requests that need none.
pub(crate) struct Lane {
    number: u64,
    program: &'static Program,
    answers: Receiver<Value>,
}

/// The payload that unwinds a call of a native plugin that the program has given up.
pub(crate) struct Stopped;

#[derive(Serialize)]
struct Line<'a> {
    world: u64,
    r#do: &'a Value,
}

impl Lane {
    /// Opens a lane; the first one in this process starts the program.
    pub(crate) fn open() -> Result<Self> {
        static PROGRAM: OnceLock<Result<Program>> = OnceLock::new();
        let mut output = None;
        let started = PROGRAM.get_or_init(|| {
            let (program, process, lines) = start(&find()?)?;
            output = Some((process, lines));
            Ok(program)
        });
        let program = started.as_ref().map_err(Clone::clone)?;
        if let Some((process, lines)) = output {
            thread::spawn(move || program.read(process, lines));
        }
        let (sender, answers) = mpsc::channel();
        let mut lanes = program.lanes();
        if let Some(ended) = &lanes.ended {
            return Err(ended.clone());
        }
        lanes.next += 1;
        let number = lanes.next;
        lanes.open.insert(number, sender);
        drop(lanes);
        Ok(Self { number, program, answers })
    }

    /// Sends a request, and returns its answer. Meanwhile, the program may call plugins: `serve`
    /// returns what they return, or `None` if the program has given up the call.
    pub(crate) fn ask(&self, request: &Value, serve: impl Fn(&Value) -> Result<Option<Value>>) -> Result<Value> {
        self.send(request)?;
        loop {
            let mut answer = self.receive()?;
            if let Some(ok) = answer.get_mut("ok") {
                return Ok(ok.take());
            }
            if let Some(error) = answer.get("error").and_then(Value::as_str) {
                return Err(Error::new(error));
            }
            if let Some(call) = answer.get("call")
                && let Some(returned) = serve(call)?
            {
                self.send(&json!({"return": returned}))?;
            }
        }
    }

    /// Like [`Self::ask`], within a call of a native plugin. The call is unwound if the program has
    /// given it up, and ends as by a panic if there is no answer.
    pub(crate) fn ask_within_call(&self, request: &Value) -> Value {
        let mut answer = match self.send(request).and_then(|()| self.receive()) {
            Ok(answer) => answer,
            Err(error) => resume_unwind(Box::new(error.to_string())),
        };
        if answer.get("stop").is_some() {
            resume_unwind(Box::new(Stopped));
        }
        match answer.get_mut("ok") {
            Some(ok) => ok.take(),
            None => resume_unwind(Box::new(format!("gyre answers a read of the plugin by {answer}"))),
        }
    }

    fn send(&self, request: &Value) -> Result {
        let line = serde_json::to_string(&Line { world: self.number, r#do: request });
        let mut line = line.map_err(|error| Error::new(format!("a request is no JSON: {error}")))?;
        let longest = self.program.longest;
        if line.len() > longest {
            let length = line.len();
            return Err(Error::new(format!("the request has {length} bytes, and gyre takes at most {longest}")));
        }
        line.push('\n');
        let written = lock(&self.program.input).write_all(line.as_bytes());
        // The reader finds out why.
        written.or_else(|_| {
            loop {
                self.receive()?;
            }
        })
    }

    fn receive(&self) -> Result<Value> {
        self.answers.recv().map_err(|_| {
            let ended = self.program.lanes().ended.clone();
            ended.unwrap_or_else(|| Error::new("gyre answers no more"))
        })
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.program.lanes().open.remove(&self.number);
        let line = format!("{}\n", json!({"world": self.number, "do": {"end": {}}}));
        // Without the program there is nothing to end.
        let _ = lock(&self.program.input).write_all(line.as_bytes());
    }
}

impl Program {
    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        lock(&self.lanes)
    }

    /// Passes on the answers until there are no more.
    fn read(&self, mut process: Child, output: BufReader<ChildStdout>) {
        let mut ended = None;
        for line in output.lines() {
            let Ok(line) = line else { break };
            let Ok(answer) = serde_json::from_str::<Value>(&line) else {
                ended = Some(format!("gyre has written a line that is no JSON: {line:.100}"));
                break;
            };
            match (answer.get("world").and_then(Value::as_u64), answer.get("error")) {
                (None, Some(error)) => {
                    ended = Some(format!("gyre does not understand this test kit: {error}"));
                    break;
                }
                (None, None) => {}
                (Some(world), _) => {
                    let lane = self.lanes().open.get(&world).cloned();
                    // The answer to `end` has nobody who waits for it.
                    let _ = lane.map(|lane| lane.send(answer));
                }
            }
        }
        let ended = ended.unwrap_or_else(|| match process.wait() {
            Ok(status) => format!("the program gyre ended while tests used it ({status}); its standard error may say why"),
            Err(error) => format!("the program gyre ended while tests used it: {error}"),
        });
        let mut lanes = self.lanes();
        lanes.ended = Some(Error::new(ended));
        lanes.open.clear();
    }
}

/// Finds the program: `GYRE`, else `gyre` on `PATH`.
fn find() -> Result<PathBuf> {
    let variable = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    find_in(variable, std::env::var_os("PATH").unwrap_or_default())
}

fn find_in(variable: Option<OsString>, path: OsString) -> Result<PathBuf> {
    let remedy = format!(
        "install it with `cargo install --path host` in the repository of gyre, or name it in the environment variable {VARIABLE}"
    );
    if let Some(named) = variable.map(PathBuf::from) {
        let missing = || {
            let named = named.display();
            Error::new(format!("{VARIABLE} names {named}, which does not exist: build it, or name the program gyre"))
        };
        return named.is_file().then(|| named.clone()).ok_or_else(missing);
    }
    let mut candidates =
        std::env::split_paths(&path).map(|folder| folder.join(format!("gyre{}", std::env::consts::EXE_SUFFIX)));
    candidates
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| Error::new(format!("the program gyre, which runs the host of these tests, is not on PATH: {remedy}")))
}

/// Starts the program, and checks its version.
fn start(path: &Path) -> Result<(Program, Child, BufReader<ChildStdout>)> {
    let named = path.display();
    let cannot = |error: std::io::Error| Error::new(format!("cannot start {named}: {error}"));
    let mut command = Command::new(path);
    let mut process = command.arg("worlds").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(cannot)?;
    let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
        return Err(Error::new(format!("{named} has no standard input or output")));
    };
    let (sender, greeted) = mpsc::channel();
    thread::spawn(move || {
        let (mut output, mut line) = (BufReader::new(output), String::new());
        let read = output.read_line(&mut line);
        let _ = sender.send((read.map(|_| line), output));
    });
    let Ok((line, output)) = greeted.recv_timeout(PATIENCE) else {
        let _ = process.kill();
        let _ = process.wait();
        let seconds = PATIENCE.as_secs();
        return Err(Error::new(format!("{named} has not greeted within {seconds} s: it is not the program gyre")));
    };
    match check(&line.map_err(cannot)?) {
        Ok(longest) => {
            let program = Program { input: Mutex::new(input), lanes: Mutex::default(), longest };
            Ok((program, process, output))
        }
        Err(why) => {
            let _ = process.kill();
            let _ = process.wait();
            Err(Error::new(format!("{named} {why}")))
        }
    }
}

/// Returns the most bytes of a request, by the greeting.
fn check(greeting: &str) -> Result<usize, String> {
    let kit = env!("CARGO_PKG_VERSION");
    let Ok(greeting) = serde_json::from_str::<Value>(greeting) else {
        return Err(format!("has no command `worlds`: update it to gyre {kit}, the version of this test kit"));
    };
    let version = greeting.get("gyre").and_then(Value::as_str).unwrap_or("of an unknown version");
    match greeting.get("protocol").and_then(Value::as_u64) {
        Some(PROTOCOL) => {
            let longest = greeting.get("longestLine").and_then(Value::as_u64);
            Ok(longest.and_then(|longest| usize::try_from(longest).ok()).unwrap_or(usize::MAX))
        }
        protocol => {
            let protocol = protocol.map_or("none".to_owned(), |protocol| protocol.to_string());
            Err(format!(
                "is gyre {version}, which speaks protocol {protocol}, and this test kit {kit} speaks {PROTOCOL}: use gyre and \
                 gyre-test of the same version"
            ))
        }
    }
}

/// A test that panics elsewhere leaves nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_an_error_with_a_remedy() {
        let error = |variable: Option<&str>| find_in(variable.map(Into::into), "/absent".into()).unwrap_err().to_string();
        assert_eq!(
            error(None),
            "the program gyre, which runs the host of these tests, is not on PATH: install it with `cargo install --path host` \
             in the repository of gyre, or name it in the environment variable GYRE"
        );
        assert_eq!(
            error(Some("/absent/gyre")),
            "GYRE names /absent/gyre, which does not exist: build it, or name the program gyre"
        );
    }

    #[test]
    fn only_the_same_protocol_is_spoken() {
        assert_eq!(check(r#"{"gyre": "0.1.0", "protocol": 1, "longestLine": 7, "more": true}"#), Ok(7));
        let error = |greeting: &str| check(greeting).unwrap_err();
        assert!(error(r#"{"gyre": "9.0.0", "protocol": 2}"#).starts_with("is gyre 9.0.0, which speaks protocol 2, and this"));
        assert!(error("").starts_with("has no command `worlds`: update it to gyre "));
    }

    #[cfg(unix)]
    #[test]
    fn other_programs_are_refused() {
        use std::os::unix::fs::PermissionsExt as _;

        let path = std::env::temp_dir().join(format!("gyre-test-{}", std::process::id()));
        for (script, expected) in [
            ("exit 2", "has no command `worlds`"),
            ("cat", "has no command `worlds`"),
            ("echo '{\"gyre\": \"9.0.0\", \"protocol\": 9}'; cat", "is gyre 9.0.0, which speaks protocol 9"),
        ] {
            std::fs::write(&path, format!("#!/bin/sh\n{script} < /dev/null\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            let error = start(&path).map(drop).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{} {expected}", path.display())), "{script}: {error}");
        }
        std::fs::remove_file(&path).unwrap();
        let error = start(&path).map(drop).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot start {}: ", path.display())), "{error}");
    }
}
