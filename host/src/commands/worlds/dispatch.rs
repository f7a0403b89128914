//! Gives each request to the session of its world.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

use super::lines::{LONGEST_LINE, Line, Output, read_line};
use super::link::Link;
use super::plugins::Plugins;
use super::protocol::{self, Addressed, Answer, Greeting, PROTOCOL, Request, What};
use super::session::Session;

/// The number of requests of a world that may wait. More stop the reading of all.
const QUEUE: usize = 16;

/// Answers the requests until the input ends and everything is answered.
///
/// # Errors
///
/// If the output or the input fails, e.g. because the kit is gone.
pub(super) fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    plugins: Plugins,
) -> io::Result<()> {
    let output = Arc::new(Output::new(output));
    output.write(&Greeting { gyre: env!("CARGO_PKG_VERSION"), protocol: PROTOCOL, longest_line: LONGEST_LINE })?;
    let (sender, ended) = mpsc::channel();
    let dispatch = Dispatch { output, plugins: Arc::new(plugins), sessions: HashMap::new(), failed: sender.clone() };
    // Reading blocks, also when a session finds that the output is closed.
    thread::spawn(move || {
        let _ = sender.send(dispatch.read(BufReader::new(input)));
    });
    ended.recv().unwrap_or(Ok(()))
}

struct Dispatch {
    output: Arc<Output>,
    plugins: Arc<Plugins>,
    sessions: HashMap<u64, Running>,
    failed: mpsc::Sender<io::Result<()>>,
}

struct Running {
    requests: SyncSender<Result<Request, String>>,
    thread: JoinHandle<()>,
}

impl Dispatch {
    fn read(mut self, mut input: impl BufRead) -> io::Result<()> {
        for number in 1_u64.. {
            let line = match read_line(&mut input, LONGEST_LINE)? {
                Line::End => break,
                Line::TooLong => {
                    let megabytes = LONGEST_LINE >> 20;
                    self.refuse(&format!("line {number} is longer than {megabytes} MiB, the most that a request may have"))?;
                    continue;
                }
                Line::Text(line) => line,
            };
            let error = match serde_json::from_slice(&line) {
                Ok(protocol::Line { world, request }) => {
                    self.pass_on(world, Ok(request))?;
                    continue;
                }
                Err(error) => error,
            };
            match serde_json::from_slice(&line) {
                Ok(Addressed { world }) => {
                    self.pass_on(world, Err(format!("the request in line {number} is not understood: {error}")))?;
                }
                Err(_) => {
                    self.refuse(&format!("line {number} is no request: write {{\"world\": a number, \"do\": a request}}"))?;
                }
            }
        }
        for (_, Running { requests, thread }) in self.sessions {
            drop(requests);
            let _ = thread.join();
        }
        Ok(())
    }

    /// Answers a line that has no world.
    fn refuse(&self, why: &str) -> io::Result<()> {
        self.output.write(&Answer { world: None, what: What::Error(why) })
    }

    fn pass_on(&mut self, world: u64, request: Result<Request, String>) -> io::Result<()> {
        if self.sessions.get(&world).is_none_or(|running| running.thread.is_finished()) {
            self.sessions.retain(|_, running| !running.thread.is_finished());
            let running = self.start(world)?;
            self.sessions.insert(world, running);
        }
        if let Some(running) = self.sessions.get(&world) {
            // A session that ends now has had its last request.
            let _ = running.requests.send(request);
        }
        Ok(())
    }

    fn start(&self, world: u64) -> io::Result<Running> {
        let (requests, receiver) = mpsc::sync_channel(QUEUE);
        let link = Arc::new(Link::new(world, Arc::clone(&self.output), receiver));
        let (plugins, failed) = (Arc::clone(&self.plugins), self.failed.clone());
        let thread = thread::Builder::new().name(format!("world {world}")).spawn(move || {
            if let Err(error) = Session::new(link, plugins).run() {
                let _ = failed.send(Err(error));
            }
        })?;
        Ok(Running { requests, thread })
    }
}
