//! The threads on which plugins are called.
//!
//! A call blocks its thread, and a plugin may go on until its deadline. The operating system would share the CPUs evenly between such a
//! call and everything else that the host has to do, and the changes of other plugins' objects would wait their turn. So the thread of a
//! call that has used [`LONG`] of a CPU gets the idle priority: from then on it runs only while no other thread of the host needs the CPU.
//! Calls of a plugin that is not trusted yet run at the idle priority from the start. A thread cannot get its priority back without
//! privileges, so there are threads for each priority, and a thread whose priority was lowered during a call ends after that call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, oneshot};
use tracing::debug;

use super::scheduling::{self, Id};

/// CPU time after which a call is lowered. Plugins in compiled languages answer within a millisecond; those with an interpreter take about
/// ten, most of it at the idle priority, which costs them nothing while a CPU is free.
const LONG: Duration = Duration::from_millis(2);
/// An idle thread holds on to memory that its calls have freed.
const KEEP_ALIVE: Duration = Duration::from_secs(2);

/// See the module's documentation.
pub(crate) struct Threads {
    /// One permit for each thread that may run concurrently.
    permits: Semaphore,
    /// Idle threads; the one that has been idle for the shortest time is last.
    idle: Mutex<Vec<Arc<Thread>>>,
    /// A call that has used this much CPU time gets the idle priority.
    long: Duration,
    scheduler: Scheduler,
}

/// The functions of the operating system, which tests replace. Both are called from other threads than the one that they are about.
#[derive(Clone, Copy)]
struct Scheduler {
    /// CPU time that a thread has used since it started; none if it cannot be known.
    cpu_time: fn(Id) -> Option<Duration>,
    /// Gives a thread the idle priority.
    make_idle: fn(Id),
}

impl Scheduler {
    const OF_SYSTEM: Self = Self { cpu_time: scheduling::cpu_time, make_idle: scheduling::make_idle };
}

/// The reason why a call has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// No thread could be started.
    #[error("cannot start a thread for the call")]
    NoThread(#[source] std::io::Error),
    /// It panicked, which is a defect of the host; its log says where.
    #[error("the call panicked")]
    Panicked,
}

/// Does the work, and returns a function that hands over the result.
type Job = Box<dyn FnOnce() -> Box<dyn FnOnce() + Send> + Send>;

struct Thread {
    /// What its jobs begin with.
    priority: Priority,
    jobs: SyncSender<Job>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    id: Option<Id>,
    /// How many jobs it has begun: the number of the last one.
    job: u64,
    /// CPU time that it had used when it began the job.
    used_before: Option<Duration>,
    is_lowered: bool,
}

/// The priority of a call on a busy machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// The normal priority, until the call takes long.
    Usual,
    /// Idle CPU time only.
    Idle,
}

/// Whether a thread was lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lowering {
    /// It has not begun the job yet, or has not used enough CPU time. The job can go on for at least this time.
    TooEarly(Duration),
    /// It was, or has come to the end of the job.
    Done,
}

impl Threads {
    /// At most this many threads run concurrently.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Self::with(most, LONG, Scheduler::OF_SYSTEM)
    }

    fn with(most: usize, long: Duration, scheduler: Scheduler) -> Arc<Self> {
        Arc::new(Self { permits: Semaphore::new(most.max(1)), idle: Mutex::default(), long, scheduler })
    }

    /// Runs blocking work on its own thread. If this future is dropped, the work still runs to its end.
    ///
    /// # Errors
    ///
    /// When it panics, or no thread can be started.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        priority: Priority,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        // It is never closed.
        let _permit = self.permits.acquire().await;
        let (sender, mut result) = oneshot::channel();
        let job: Job = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(work));
            // The receiver may be gone.
            Box::new(move || drop(sender.send(result)))
        });
        let (thread, number) = self.start(priority, job).map_err(Error::NoThread)?;
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
        match result {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(_)) | Err(_) => Err(Error::Panicked),
        }
    }

    /// Gives the job to an idle thread or a new one; returns the thread, and the number of the job there.
    fn start(self: &Arc<Self>, priority: Priority, mut job: Job) -> std::io::Result<(Arc<Thread>, u64)> {
        loop {
            let idle = {
                let mut idle = self.idle();
                let last = idle.iter().rposition(|thread| thread.priority == priority);
                last.map(|index| idle.remove(index))
            };
            let thread = match idle {
                Some(thread) => thread,
                None => self.spawn(priority)?,
            };
            let number = thread.state().job + 1;
            match thread.jobs.send(job) {
                Ok(()) => return Ok((thread, number)),
                // It has ended, which an idle one does not: another one, then.
                Err(unsent) => job = unsent.0,
            }
        }
    }

    fn spawn(self: &Arc<Self>, priority: Priority) -> std::io::Result<Arc<Thread>> {
        let (sender, jobs) = sync_channel(1);
        let thread = Arc::new(Thread { priority, jobs: sender, state: Mutex::default() });
        let (this, threads) = (Arc::clone(&thread), Arc::downgrade(self));
        std::thread::Builder::new().name("gyre-call".to_owned()).spawn(move || this.live(&jobs, &threads))?;
        Ok(thread)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Arc<Thread>>> {
        self.idle.lock()
    }
}

impl Thread {
    fn live(self: &Arc<Self>, jobs: &Receiver<Job>, threads: &Weak<Threads>) {
        let id = Id::of_this_thread();
        self.state().id = Some(id);
        if self.priority == Priority::Idle {
            scheduling::make_idle(id);
        }
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
                    // It has just been chosen: its job is on the way.
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
                // From now on it is too late to lower it for that job.
                state.job += 1;
                !state.is_lowered
            };
            // Before the result is handed over: the next call may follow at once.
            if is_usable && let Some(threads) = threads.upgrade() {
                threads.idle().push(Arc::clone(self));
            }
            hand_over();
            if !is_usable {
                return;
            }
        }
    }

    /// Lowers the thread if it is still at that job and has used that much CPU time for it. Where CPU time is unknown, elapsed time counts.
    fn lower_if_long(&self, job: u64, long: Duration, scheduler: Scheduler) -> Lowering {
        let mut state = self.state();
        // On a busy machine it may not even have begun.
        if state.job < job {
            return Lowering::TooEarly(long);
        }
        if let (true, Priority::Usual, Some(id)) = (state.job == job, self.priority, state.id) {
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

    fn state(&self) -> MutexGuard<'_, State> {
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
            // Time stands still until all wait for it: from here on it is looked at twice.
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
        // One that is idle for long ends.
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

    /// The thread waits for long, but uses no CPU.
    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_for_a_cpu_is_not_lowered() {
        static USED: Mutex<Duration> = Mutex::new(Duration::ZERO);
        static LOOKED: AtomicUsize = AtomicUsize::new(0);
        static LOWERED: AtomicUsize = AtomicUsize::new(0);
        let cpu_time = |_| {
            LOOKED.fetch_add(1, Ordering::SeqCst);
            // Whatever the thread had used before the call counts as used.
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
