//! Worker processes, one per core. One may crash, hang or fill the memory without affecting others.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context as _;
use clap::ValueEnum as _;

use crate::arguments::Arguments;
use crate::outcome::Tally;
use crate::target::Target;
use crate::worker;

/// The timeout of a step. The slowest correct one takes 0.1 s.
const STEP_LIMIT: Duration = Duration::from_secs(5);
/// The memory limit of a worker in KiB. The corpus and a server need a twentieth.
const MEMORY_LIMIT: u64 = 1024 * 1024;
const POLL: Duration = Duration::from_millis(200);
const STEPS_SHOWN: usize = 3;

/// A line of a worker, or `None` at its end.
struct Message {
    worker: usize,
    line: Option<String>,
}

struct Worker {
    child: Child,
    case: u64,
    heard: Instant,
    failure: Option<String>,
    is_running: bool,
    steps: VecDeque<String>,
}

struct Broken {
    case: u64,
    why: String,
    steps: VecDeque<String>,
}

#[derive(Default)]
struct Totals {
    cases: u64,
    outcomes: Tally,
}

/// Fuzzes each target, also after a failure in another.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let targets = arguments.target.map_or_else(|| Target::value_variants().to_vec(), |target| vec![target]);
    let seconds = (arguments.seconds / targets.len() as u64).max(1);
    let mut exit = ExitCode::SUCCESS;
    for target in targets {
        let arguments = Arguments { target: Some(target), seconds, ..arguments.clone() };
        if fuzz(&arguments, target)?.is_some() {
            exit = ExitCode::FAILURE;
        }
    }
    Ok(exit)
}

/// Runs the workers of one target, and returns the seed of the failed case.
fn fuzz(arguments: &Arguments, target: Target) -> anyhow::Result<Option<u64>> {
    let seed = arguments.seed.unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        since.as_secs().wrapping_mul(1_000_000)
    });
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let workers = arguments.cases.map_or(cores, |cases| cases.clamp(1, cores));
    eprintln!("{}: seed {seed}, {workers} processes", target.name());
    let start = Instant::now();
    let mut totals = Totals::default();
    let is_traced = arguments.cases == Some(1);
    let mut broken = Fleet::start(arguments, seed, workers, is_traced)?.watch(&mut totals)?;
    let seconds = start.elapsed().as_secs_f64();
    let (name, cases) = (target.name(), totals.cases);
    println!("{name}: {cases} cases in {seconds:.0} s, {:.0} per second", cases as f64 / seconds);
    for (outcome, count) in &totals.outcomes {
        println!("  {outcome:<24} {count}");
    }
    let Some(found) = &mut broken else { return Ok(None) };
    if !is_traced {
        // Runs the case again with all steps; the last one failed.
        let alone = Arguments { cases: Some(1), ..arguments.clone() };
        if let Some(again) = Fleet::start(&alone, found.case, 1, true)?.watch(&mut Totals::default())? {
            found.steps = again.steps;
        }
    }
    println!("FAILED, target {name}, case {}: {}", found.case, found.why.replace('\u{2028}', "\n"));
    for step in &found.steps {
        println!("  step: {}", step.replace('\u{2028}', "\n"));
    }
    println!("Again: cargo xtask fuzz --target {name} --seed {} --cases 1", found.case);
    Ok(Some(found.case))
}

struct Fleet {
    workers: Vec<Worker>,
    messages: Receiver<Message>,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            drop(worker.child.kill());
            drop(worker.child.wait());
        }
    }
}

impl Fleet {
    fn start(arguments: &Arguments, seed: u64, count: u64, is_tracing: bool) -> anyhow::Result<Self> {
        let (sender, messages) = channel();
        let mut fleet = Self { workers: Vec::new(), messages };
        let program = std::env::current_exe().context("cannot find this program")?;
        for number in 0..count {
            let mut command = Command::new(&program);
            command.args(["--stride", &count.to_string(), "--seed", &seed.wrapping_add(number).to_string()]);
            command.args(["--seconds", &arguments.seconds.to_string()]);
            if let Some(target) = arguments.target {
                command.args(["--target", target.name()]);
            }
            if let Some(cases) = arguments.cases {
                // The share of this worker, because cases are dealt in turns.
                command.args(["--cases", &(cases.saturating_sub(number)).div_ceil(count).to_string()]);
            }
            if is_tracing {
                command.arg("--trace");
            }
            let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start a worker")?;
            listen(&mut child, fleet.workers.len(), sender.clone());
            let (case, heard) = (seed.wrapping_add(number), Instant::now());
            fleet.workers.push(Worker { child, case, heard, failure: None, is_running: true, steps: VecDeque::new() });
        }
        Ok(fleet)
    }

    /// Waits until all have ended, or returns the first failure.
    fn watch(&mut self, totals: &mut Totals) -> anyhow::Result<Option<Broken>> {
        let start = Instant::now();
        let mut checked = Instant::now();
        while self.workers.iter().any(|worker| worker.is_running) {
            match self.messages.recv_timeout(POLL) {
                Ok(message) => {
                    if let Some(worker) = self.workers.get_mut(message.worker)
                        && let Some(broken) = worker.handle_line(message.line, totals)?
                    {
                        return Ok(Some(broken));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if checked.elapsed() >= POLL {
                checked = Instant::now();
                progress(totals, start);
                if let Some(broken) = self.workers.iter().find_map(Worker::check_limits) {
                    return Ok(Some(broken));
                }
            }
        }
        Ok(None)
    }
}

fn listen(child: &mut Child, worker: usize, sender: Sender<Message>) {
    let Some(stdout) = child.stdout.take() else { return };
    drop(std::thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = Some(String::from_utf8_lossy(&line).into_owned());
            if sender.send(Message { worker, line }).is_err() {
                return;
            }
        }
        drop(sender.send(Message { worker, line: None }));
    }));
}

impl Worker {
    fn handle_line(&mut self, line: Option<String>, totals: &mut Totals) -> anyhow::Result<Option<Broken>> {
        self.heard = Instant::now();
        let Some(line) = line else {
            self.is_running = false;
            let status = self.child.wait()?;
            let why = self.failure.take().unwrap_or_else(|| format!("the process ended with {status}"));
            return Ok((!status.success()).then(|| self.broken(why)));
        };
        if let Some(seed) = line.strip_prefix(worker::CASE) {
            self.case = seed.parse()?;
            self.steps.clear();
        } else if let Some(step) = line.strip_prefix(worker::STEP) {
            if !step.is_empty() {
                self.steps.push_back(step.to_owned());
            }
            if self.steps.len() > STEPS_SHOWN {
                self.steps.pop_front();
            }
        } else if let Some(counts) = line.strip_prefix(worker::DONE) {
            totals.cases += 1;
            for (outcome, count) in counts.split_whitespace().filter_map(|count| count.rsplit_once(':')) {
                *totals.outcomes.entry(outcome.to_owned()).or_default() += count.parse::<u64>()?;
            }
        } else if let Some(failure) = line.strip_prefix(worker::FAILURE) {
            self.failure = Some(failure.to_owned());
        }
        Ok(None)
    }

    /// Returns a failure if it hangs or uses too much memory.
    fn check_limits(&self) -> Option<Broken> {
        let memory = resident(self.child.id()).unwrap_or(0);
        if self.is_running && self.heard.elapsed() > STEP_LIMIT {
            return Some(self.broken(format!("a step takes longer than {STEP_LIMIT:?}")));
        }
        (memory > MEMORY_LIMIT).then(|| self.broken(format!("{memory} KiB of memory")))
    }

    fn broken(&self, why: String) -> Broken {
        Broken { case: self.case, why, steps: self.steps.clone() }
    }
}

/// Returns the memory of a process in KiB, if the system reports it.
fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn progress(totals: &Totals, start: Instant) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let outcomes: u64 = totals.outcomes.values().sum();
        drop(write!(stderr, "\r{:>4} s  {} cases  {outcomes} outcomes ", start.elapsed().as_secs(), totals.cases));
        drop(stderr.flush());
    }
}
