//! A recording of a running host, from its calls to the client.
//!
//! ```text
//!   reconcile ─ CallRecord ─▶ queue (bounded; drops counted) ─▶ Writer, on a thread ─▶ response
//! ```
//!
//! No reconcile waits for the thread, which may call the plugin again, or for a slow client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use gyre_sandbox::Bytes;
use jiff::Timestamp;
use tokio::sync::mpsc;

use super::call_record::CallRecord;
use super::format::{Because, Secrets};
use super::recordings::{Listening, Recordings};
use super::writer::{Bounds, Writer};
use crate::telemetry::metrics::Metrics;

const MOST_WAITING: usize = 1_000;
/// The maximum size of calls that wait. Most objects are in the caches anyway.
const MOST_WAITING_BYTES: usize = 32 << 20;
/// The maximum number of lines that wait to be sent.
const MOST_LINES: usize = 16;
const MOST_SESSIONS: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordingRequest {
    pub(crate) mount: Arc<str>,
    pub(crate) bounds: Bounds,
    pub(crate) time: Duration,
    pub(crate) secrets: Secrets,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{MOST_SESSIONS} recordings are in progress in this host; wait for one of them to end")]
    TooMany,
    #[error("cannot start a thread for it: {0}")]
    NoThread(std::io::Error),
}

#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    /// Dropped calls that are not reported yet.
    dropped: AtomicU64,
}

/// Starts a recording, which ends when the receiver is dropped. Values of the Secrets in `known`
/// are redacted from the start.
pub(crate) fn start(
    recordings: &Recordings,
    wanted: RecordingRequest,
    known: Vec<Bytes>,
    metrics: &Arc<Metrics>,
) -> Result<mpsc::Receiver<Vec<u8>>, Error> {
    if recordings.sessions() >= MOST_SESSIONS {
        return Err(Error::TooMany);
    }
    let (calls, queue) = sync_channel(MOST_WAITING);
    let (lines, receiver) = mpsc::channel(MOST_LINES);
    let waiting = Arc::new(Waiting::default());
    let taking = (Arc::clone(&waiting), Arc::clone(metrics));
    let listening = recordings.listen_to_host(&wanted.mount, move |record| take(&taking.0, &taking.1, &calls, record));
    let session = Session {
        writer: Writer::new(wanted.bounds, wanted.secrets),
        until: Instant::now() + wanted.time,
        metrics: Arc::clone(metrics),
        waiting,
        queue,
        lines,
        _listening: listening,
    };
    let thread = std::thread::Builder::new().name(format!("record {}", wanted.mount));
    thread.spawn(move || session.run(&known)).map_err(Error::NoThread)?;
    Ok(receiver)
}

fn take(waiting: &Waiting, metrics: &Metrics, calls: &SyncSender<Arc<CallRecord>>, record: &Arc<CallRecord>) {
    let bytes = record.bytes();
    let has_room = waiting.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= MOST_WAITING_BYTES;
    if has_room && calls.try_send(Arc::clone(record)).is_ok() {
        return;
    }
    waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
    waiting.dropped.fetch_add(1, Ordering::Relaxed);
    metrics.recorded(&record.program.name, "dropped");
}

struct Session {
    writer: Writer,
    until: Instant,
    metrics: Arc<Metrics>,
    waiting: Arc<Waiting>,
    queue: Receiver<Arc<CallRecord>>,
    lines: mpsc::Sender<Vec<u8>>,
    _listening: Listening,
}

struct Unwanted;

impl Session {
    fn run(mut self, known: &[Bytes]) {
        if let Ok(because) = self.record(known) {
            self.writer.drop_calls(self.waiting.dropped.swap(0, Ordering::Relaxed));
            let _ = self.lines.blocking_send(self.writer.end(because));
        }
    }

    fn record(&mut self, known: &[Bytes]) -> Result<Because, Unwanted> {
        let head = self.writer.head(Timestamp::now());
        self.send(head)?;
        for secret in known {
            self.writer.learn_before(secret);
        }
        while !self.writer.is_full() {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Because::Time);
            }
            match self.queue.recv_timeout(left.min(Duration::from_secs(1))) {
                Ok(record) => {
                    let lines = self.writer.call(&record);
                    self.waiting.bytes.fetch_sub(record.bytes(), Ordering::Relaxed);
                    match lines {
                        Ok(lines) => self.send(lines)?,
                        Err(because) => return Ok(because),
                    }
                    self.metrics.recorded(&record.program.name, "recorded");
                }
                Err(RecvTimeoutError::Timeout) if self.lines.is_closed() => return Err(Unwanted),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Because::Stopped),
            }
        }
        Ok(Because::Calls)
    }

    fn send(&self, lines: Vec<u8>) -> Result<(), Unwanted> {
        self.lines.blocking_send(lines).map_err(|_| Unwanted)
    }
}

impl CallRecord {
    fn bytes(&self) -> usize {
        let read = self.reads.values().flatten().flatten();
        let objects =
            self.children.values().flatten().chain(read).chain([&self.parent]).chain(&self.members).map(|object| object.len());
        objects.chain(self.answer.texts.iter().map(Vec::len)).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::SystemTime;

    use gyre_core::grants::Namespaces;
    use gyre_sandbox::{Sandbox, Usage, call};

    use super::super::format::{EndLine, Line};
    use super::super::{Ask, CallAnswer};
    use super::*;
    use crate::program::Program;

    fn record() -> CallRecord {
        let sandbox = Sandbox::new(gyre_sandbox::Options::default()).unwrap();
        let plugin = sandbox.load(&std::fs::read(gyre_artifacts::ECHO).unwrap()).unwrap();
        CallRecord {
            program: Arc::new(Program::new(plugin, Namespaces::All)),
            ask: Ask::Reconcile,
            parent: Arc::from(*br#"{"kind":"Echo"}"#),
            members: Vec::new(),
            seed: "uid".into(),
            now: SystemTime::UNIX_EPOCH,
            children: BTreeMap::new(),
            reads: BTreeMap::new(),
            answer: CallAnswer { result: Err(call::Error::StackOverflow), texts: Vec::new(), log: Vec::new() },
            usage: Usage::default(),
        }
    }

    fn wanted(calls: u64) -> RecordingRequest {
        let bounds = Bounds { calls, bytes: u64::MAX };
        RecordingRequest { mount: "echo".into(), bounds, time: Duration::from_secs(3600), secrets: Secrets::Redacted }
    }

    fn last(mut lines: mpsc::Receiver<Vec<u8>>) -> (u64, EndLine) {
        let all: Vec<u8> = std::iter::from_fn(|| lines.blocking_recv()).flatten().collect();
        let lines = || all.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let calls = lines().filter(|line| line.starts_with(b"{\"call\"")).count() as u64;
        match serde_json::from_slice(lines().next_back().unwrap()).unwrap() {
            Line::End(end) => (calls, end),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_slow_reader_loses_calls_and_delays_no_reconcile() {
        let (recordings, metrics) = (Recordings::default(), Arc::new(Metrics::default()));
        let lines = start(&recordings, wanted(u64::MAX), Vec::new(), &metrics).unwrap();
        let record = record();
        for _ in 0..5 * MOST_WAITING {
            assert!(recordings.wants("echo") && !recordings.wants("other"));
            recordings.take(record.clone());
        }
        assert!(recordings.end());
        let (calls, end) = last(lines);
        assert_eq!((end.calls, end.because), (calls, Because::Stopped));
        assert!(end.dropped > 0);
        assert_eq!(end.calls + end.dropped, 5 * MOST_WAITING as u64);
    }

    #[test]
    fn a_recording_that_is_full_or_not_wanted_any_more_makes_room_for_others() {
        let (recordings, metrics) = (Recordings::default(), Arc::new(Metrics::default()));
        let mut all: Vec<_> =
            (0..MOST_SESSIONS).map(|_| start(&recordings, wanted(1), Vec::new(), &metrics).unwrap()).collect();
        assert!(matches!(start(&recordings, wanted(1), Vec::new(), &metrics), Err(Error::TooMany)));
        recordings.take(record());
        let (calls, end) = last(all.pop().unwrap());
        assert_eq!((calls, end.because), (1, Because::Calls));
        drop(all);
        while recordings.sessions() > 0 {
            std::thread::yield_now();
        }
        assert!(start(&recordings, wanted(1), Vec::new(), &metrics).is_ok());
    }
}
