//! A process that runs cases, and reports to its parent in lines.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::outcome::Log;
use crate::target::Target;

pub(crate) const CASE: &str = "case ";
pub(crate) const STEP: &str = "step ";
pub(crate) const DONE: &str = "done ";
pub(crate) const FAILURE: &str = "failure ";

struct Pipe {
    is_tracing: bool,
}

impl Pipe {
    /// Writes a line. Ignores errors, because the parent ends its workers.
    fn line(kind: &str, text: &str) {
        let mut stdout = std::io::stdout().lock();
        drop(writeln!(stdout, "{kind}{}", text.replace('\n', "\u{2028}")));
        drop(stdout.flush());
    }
}

impl Log for Pipe {
    fn step(&mut self, describe: &dyn Fn() -> String) {
        Self::line(STEP, &if self.is_tracing { describe() } else { String::new() });
    }
}

/// Runs cases until the time or number is reached. A panic ends the process.
pub(crate) fn run(arguments: &Arguments, target: Target, stride: u64) -> ExitCode {
    let (start, limit) = (Instant::now(), Duration::from_secs(arguments.seconds));
    let mut seed = arguments.seed.unwrap_or_default();
    let mut left = arguments.cases;
    while left.map_or_else(|| start.elapsed() < limit, |left| left > 0) {
        Pipe::line(CASE, &seed.to_string());
        // Runs on a thread with the stack size of server threads.
        let is_tracing = arguments.trace;
        let outcome = std::thread::spawn(move || target.run(seed, &mut Pipe { is_tracing })).join();
        match outcome {
            Ok(Ok(tally)) => {
                let counts: Vec<String> = tally.iter().map(|(outcome, count)| format!("{outcome}:{count}")).collect();
                Pipe::line(DONE, &counts.join(" "));
            }
            Ok(Err(failure)) => {
                Pipe::line(FAILURE, &failure.to_string());
                return ExitCode::FAILURE;
            }
            Err(_) => {
                Pipe::line(FAILURE, "a panic, told above");
                return ExitCode::FAILURE;
            }
        }
        seed = seed.wrapping_add(stride);
        left = left.map(|left| left.saturating_sub(1));
    }
    ExitCode::SUCCESS
}
