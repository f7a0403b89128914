//! The threads on which plugins are called.
//!
//! A call blocks its thread until its deadline at worst, and would compete with other work. So
//! after [`LONG`] of CPU time its thread gets the idle priority; calls of an untrusted plugin have
//! it from the start. Only a privileged process could undo this, so such a thread is not reused.
//!
//! A thread that loses the CPU while it holds a lock would let all wait that need the lock. So work
//! at the idle priority takes none for which informers or reconciles wait: calls read snapshots of
//! the caches, and what they read and log is recorded after them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, oneshot};
use tracing::debug;

use super::scheduling::{self, Id};

/// The CPU time after which a call is lowered. Compiled plugins answer within 1 ms, others in about
/// 10 ms, which costs nothing on an idle CPU.
const LONG: Duration = Duration::from_millis(2);
/// How long a thread waits for a job; waiting threads keep memory that their calls have freed.
const KEEP_ALIVE: Duration = Duration::from_secs(2);

pub(crate) struct Threads {
    permits: Semaphore,
    /// Idle threads; the last one became idle most recently.
    idle: Mutex<Vec<Arc<Thread>>>,
    long: Duration,
    scheduler: Scheduler,
}

/// The functions of the operating system, which tests replace. They are called from other threads.
#[derive(Clone, Copy)]
struct Scheduler {
    /// The CPU time of a thread since its start, if it is known.
    cpu_time: fn(Id) -> Option<Duration>,
    make_idle: fn(Id),
}

impl Scheduler {
    const OF_SYSTEM: Self = Self { cpu_time: scheduling::cpu_time, make_idle: scheduling::make_idle };
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot start a thread for the call")]
    NoThread(#[source] std::io::Error),
    /// A defect of the host; its log says where.
    #[error("the call panicked")]
    Panicked,
}

/// Does the work, and returns a function that sends the result.
type Job = Box<dyn FnOnce() -> Box<dyn FnOnce() + Send> + Send>;

struct Thread {
    jobs: SyncSender<Job>,
    state: Mutex<ThreadState>,
}

#[derive(Debug, Default)]
struct ThreadState {
    id: Option<Id>,
    job: u64,
    used_before: Option<Duration>,
    is_lowered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    Usual,
    Idle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lowering {
    /// Not yet: the job can continue for at least this time.
    TooEarly(Duration),
    Done,
}

impl Threads {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Self::with(most, LONG, Scheduler::OF_SYSTEM)
    }

    fn with(most: usize, long: Duration, scheduler: Scheduler) -> Arc<Self> {
        Arc::new(Self { permits: Semaphore::new(most.max(1)), idle: Mutex::default(), long, scheduler })
    }

    /// Runs blocking work on its own thread, to its end even if this future is dropped.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        priority: Priority,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let _permit = self.permits.acquire().await;
        let (sender, mut result) = oneshot::channel();
        let job: Job = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(work));
            Box::new(move || drop(sender.send(result)))
        });
        let (thread, number) = match priority {
            Priority::Usual => self.start(job).map_err(Error::NoThread)?,
            Priority::Idle => {
                spawn_idle(job).map_err(Error::NoThread)?;
                return unwrapped(result.await);
            }
        };
        let mut look_after = self.long;
        let result = loop {
            tokio::select! {
                biased;
                result = &mut result => break result,
                () = tokio::time::sleep(look_after) => {}
            }
            match thread.lower_if_long(number, self.long, self.scheduler) {
                Lowering::TooEarly(rest) => look_after = rest,
                Lowering::Done => break result.await,
            }
        };
        unwrapped(result)
    }

    /// Passes the job to a thread; returns the thread, and its number of the job.
    fn start(self: &Arc<Self>, mut job: Job) -> std::io::Result<(Arc<Thread>, u64)> {
        loop {
            let idle = self.idle().pop();
            let thread = match idle {
                Some(thread) => thread,
                None => self.spawn()?,
            };
            let number = thread.state().job + 1;
            match thread.jobs.send(job) {
                Ok(()) => return Ok((thread, number)),
                Err(unsent) => job = unsent.0,
            }
        }
    }

    fn spawn(self: &Arc<Self>) -> std::io::Result<Arc<Thread>> {
        let (sender, jobs) = sync_channel(1);
        let thread = Arc::new(Thread { jobs: sender, state: Mutex::default() });
        let (this, threads) = (Arc::clone(&thread), Arc::downgrade(self));
        named().spawn(move || this.run_jobs(&jobs, &threads))?;
        Ok(thread)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Arc<Thread>>> {
        self.idle.lock()
    }
}

/// Runs one job at the idle priority. Its thread is not used again: to wait for another job, it
/// would take a lock that reconciles take, too.
fn spawn_idle(job: Job) -> std::io::Result<()> {
    named().spawn(move || {
        scheduling::make_idle(Id::of_this_thread());
        job()();
    })?;
    Ok(())
}

fn named() -> std::thread::Builder {
    std::thread::Builder::new().name("gyre-call".to_owned())
}

fn unwrapped<T>(result: Result<std::thread::Result<T>, oneshot::error::RecvError>) -> Result<T, Error> {
    match result {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(_)) | Err(_) => Err(Error::Panicked),
    }
}

impl Thread {
    fn run_jobs(self: &Arc<Self>, jobs: &Receiver<Job>, threads: &Weak<Threads>) {
        let id = Id::of_this_thread();
        self.state().id = Some(id);
        loop {
            let job = match jobs.recv_timeout(KEEP_ALIVE) {
                Ok(job) => job,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let Some(threads) = threads.upgrade() else { return };
                    let mut idle = threads.idle();
                    let before = idle.len();
                    idle.retain(|thread| !Arc::ptr_eq(thread, self));
                    if idle.len() < before {
                        return;
                    }
                    // It was just chosen, and its job will arrive.
                    continue;
                }
            };
            {
                let mut state = self.state();
                state.job += 1;
                state.used_before = scheduling::own_cpu_time();
            }
            let hand_over = job();
            let is_usable = {
                let mut state = self.state();
                state.job += 1;
                !state.is_lowered
            };
            // Before the result is sent, because the next call may follow at once.
            if is_usable && let Some(threads) = threads.upgrade() {
                threads.idle().push(Arc::clone(self));
            }
            hand_over();
            if !is_usable {
                return;
            }
        }
    }

    /// `long` is CPU time, or elapsed time if CPU time is unknown.
    fn lower_if_long(&self, job: u64, long: Duration, scheduler: Scheduler) -> Lowering {
        let mut state = self.state();
        if state.job < job {
            return Lowering::TooEarly(long);
        }
        if let (true, Some(id)) = (state.job == job, state.id) {
            let used = (scheduler.cpu_time)(id).zip(state.used_before).map_or(long, |(now, before)| now.saturating_sub(before));
            if used < long {
                return Lowering::TooEarly(long - used);
            }
            state.is_lowered = true;
            (scheduler.make_idle)(id);
            debug!("a call takes long: it continues at the idle priority");
        }
        Lowering::Done
    }

    fn state(&self) -> MutexGuard<'_, ThreadState> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread::ThreadId;

    use super::*;

    fn this_thread() -> ThreadId {
        std::thread::current().id()
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_call_is_lowered_and_its_thread_is_not_used_again() {
        static LOWERED: Mutex<Vec<Id>> = Mutex::new(Vec::new());
        let make_idle = |id| LOWERED.lock().push(id);
        let threads = Threads::with(2, LONG, Scheduler { cpu_time: |_| None, make_idle });
        let (go_on, wait) = mpsc::channel::<()>();
        let (begin, begun) = oneshot::channel();
        let long = threads.run(Priority::Usual, move || {
            begin.send(()).unwrap();
            wait.recv().unwrap();
            (this_thread(), Id::of_this_thread())
        });
        let release = async {
            // Time stands still until all tasks wait, so the thread is checked twice from here.
            begun.await.unwrap();
            tokio::time::sleep(LONG * 3).await;
            go_on.send(()).unwrap();
        };
        let (lowered, ()) = tokio::join!(long, release);
        let (thread, id) = lowered.unwrap();
        assert_eq!(*LOWERED.lock(), [id]);
        for _ in 0..10 {
            assert_ne!(threads.run(Priority::Usual, this_thread).await.unwrap(), thread);
        }
    }

    #[tokio::test]
    async fn calls_one_after_the_other_share_a_thread() {
        let threads = Threads::with(2, Duration::MAX, Scheduler::OF_SYSTEM);
        let mut used = HashSet::new();
        for _ in 0..100 {
            used.insert(threads.run(Priority::Usual, this_thread).await.unwrap());
        }
        assert!(used.len() < 10, "{}", used.len());
    }

    #[tokio::test]
    async fn a_call_that_panics_is_an_error_and_no_more() {
        let threads = Threads::new(1);
        assert!(matches!(threads.run(Priority::Usual, || panic!("on purpose")).await, Err::<(), _>(Error::Panicked)));
        assert_eq!(threads.run(Priority::Usual, || 1).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn no_more_calls_run_at_once_than_are_allowed() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        let threads = Threads::new(3);
        let calls = (0..50).map(|_| {
            threads.run(Priority::Usual, || {
                let running = RUNNING.fetch_add(1, Ordering::SeqCst) + 1;
                std::thread::yield_now();
                RUNNING.fetch_sub(1, Ordering::SeqCst);
                running
            })
        });
        assert!(futures::future::join_all(calls).await.into_iter().all(|running| running.unwrap() <= 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_for_a_cpu_is_not_lowered() {
        static USED: Mutex<Duration> = Mutex::new(Duration::ZERO);
        static LOOKED: AtomicUsize = AtomicUsize::new(0);
        static LOWERED: AtomicUsize = AtomicUsize::new(0);
        let cpu_time = |_| {
            LOOKED.fetch_add(1, Ordering::SeqCst);
            // CPU time from before the call counts as used.
            Some(scheduling::own_cpu_time().unwrap_or_default() + *USED.lock())
        };
        let make_idle = |_| {
            LOWERED.fetch_add(1, Ordering::SeqCst);
        };
        let threads = Threads::with(1, Duration::from_secs(3600), Scheduler { cpu_time, make_idle });
        let (go_on, wait) = mpsc::channel::<()>();
        let (begin, begun) = oneshot::channel();
        let call = threads.run(Priority::Usual, move || {
            begin.send(()).unwrap();
            wait.recv().unwrap();
        });
        let release = async {
            begun.await.unwrap();
            tokio::time::sleep(Duration::from_secs(10 * 3600)).await;
            assert_eq!(LOWERED.load(Ordering::SeqCst), 0);
            assert!(LOOKED.load(Ordering::SeqCst) >= 2);
            *USED.lock() = Duration::from_secs(2 * 3600);
            tokio::time::sleep(Duration::from_secs(10 * 3600)).await;
            assert_eq!(LOWERED.load(Ordering::SeqCst), 1);
            go_on.send(()).unwrap();
        };
        let (called, ()) = tokio::join!(call, release);
        called.unwrap();
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_priority_is_that_of_one_call() {
        let threads = Threads::new(1);
        for priority in [Priority::Usual, Priority::Idle, Priority::Usual, Priority::Idle, Priority::Idle, Priority::Usual] {
            let policy = threads.run(priority, || scheduling::tests::policy(Id::of_this_thread())).await.unwrap();
            assert_eq!(policy == scheduling::tests::IDLE, priority == Priority::Idle);
        }
    }
}
