//! The threads on which plugins are called.
//!
//! A call blocks its thread, and a plugin may go on until its deadline. The operating system would share the CPUs evenly between such a
//! call and everything else that the host has to do, and the changes of other plugins' objects would wait their turn. So the thread of a
//! call that has run for [`LONG`] gets the lowest priority. A plugin that has yet to earn trust is called on a thread that takes only what
//! nobody else needs from the start: whoever wakes takes its CPU at once. A thread cannot get its priority back without privileges, so
//! there are threads for each, and one that was lowered amid a call ends with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tracing::debug;

/// Plugins in compiled languages answer within a millisecond, those with an interpreter within about ten.
const LONG: Duration = Duration::from_millis(20);
/// An idle thread holds on to memory that its calls have freed.
const KEEP_ALIVE: Duration = Duration::from_secs(2);

/// See the module's documentation.
pub(crate) struct Threads {
    /// One permit for each thread that may run concurrently.
    permits: Semaphore,
    /// Idle threads; the one that has been idle for the shortest time is last.
    idle: Mutex<Vec<Arc<Thread>>>,
    /// A call that has run for this time gets the lowest priority.
    long: Duration,
    /// Lowers the priority of a thread, called from another thread.
    lower: fn(Id),
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
    /// It has not begun with the job yet.
    TooEarly,
    /// It was, or has come to the end of the job.
    Done,
}

impl Threads {
    /// At most this many threads run concurrently.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Self::with(most, LONG, set_lowest_priority)
    }

    fn with(most: usize, long: Duration, lower: fn(Id)) -> Arc<Self> {
        Arc::new(Self { permits: Semaphore::new(most.max(1)), idle: Mutex::default(), long, lower })
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
        let result = loop {
            tokio::select! {
                biased;
                result = &mut result => break result,
                () = tokio::time::sleep(self.long) => {}
            }
            // On a busy machine it may not even have begun.
            if thread.lower(number, self.lower) == Lowering::Done {
                break result.await;
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
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Thread {
    fn live(self: &Arc<Self>, jobs: &Receiver<Job>, threads: &Weak<Threads>) {
        self.state().id = Some(Id::of_this_thread());
        if self.priority == Priority::Idle {
            only_when_idle();
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
            self.state().job += 1;
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

    /// Lowers the thread, if it is still at that job.
    fn lower(&self, job: u64, lower: fn(Id)) -> Lowering {
        let mut state = self.state();
        if state.job < job {
            return Lowering::TooEarly;
        }
        if let (true, Priority::Usual, Some(id)) = (state.job == job, self.priority, state.id) {
            state.is_lowered = true;
            lower(id);
            debug!("a call takes long: it continues at the lowest priority");
        }
        Lowering::Done
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names a thread to the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Id(#[cfg(target_os = "linux")] rustix::process::Pid);

impl Id {
    #[cfg(target_os = "linux")]
    fn of_this_thread() -> Self {
        Self(rustix::thread::gettid())
    }

    #[cfg(not(target_os = "linux"))]
    fn of_this_thread() -> Self {
        Self()
    }
}

/// On Linux, niceness is a thread's own; elsewhere it is the whole process's, which is left alone.
#[cfg(target_os = "linux")]
fn set_lowest_priority(thread: Id) {
    const LOWEST: i32 = 19;
    if let Err(error) = rustix::process::setpriority_process(Some(thread.0), LOWEST) {
        debug!(%error, "the priority of a thread cannot be lowered");
    }
}

#[cfg(not(target_os = "linux"))]
fn set_lowest_priority(_: Id) {}

/// Of this thread. A low priority would not do: Linux lets such a thread finish its slice, some milliseconds, before one that wakes.
#[cfg(target_os = "linux")]
fn only_when_idle() {
    use thread_priority::{NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy};
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let this = thread_priority::thread_native_id();
    if let Err(error) = thread_priority::set_thread_priority_and_policy(this, ThreadPriority::Min, idle) {
        debug!(?error, "a thread cannot get the idle scheduling policy");
    }
}

#[cfg(not(target_os = "linux"))]
fn only_when_idle() {}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::mpsc;
    use std::thread::ThreadId;

    use super::*;

    fn this_thread() -> ThreadId {
        std::thread::current().id()
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_call_is_lowered_and_its_thread_is_not_used_again() {
        static LOWERED: Mutex<Vec<Id>> = Mutex::new(Vec::new());
        let threads = Threads::with(2, LONG, |id| LOWERED.lock().unwrap().push(id));
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
        assert_eq!(*LOWERED.lock().unwrap(), [id]);
        for _ in 0..10 {
            assert_ne!(threads.run(Priority::Usual, this_thread).await.unwrap(), thread);
        }
    }

    #[tokio::test]
    async fn calls_one_after_the_other_share_a_thread() {
        let threads = Threads::with(2, Duration::MAX, |_| {});
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
        use std::sync::atomic::{AtomicUsize, Ordering};
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

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_priority_is_that_of_one_call() {
        use thread_priority::{NormalThreadSchedulePolicy, ThreadSchedulePolicy, thread_schedule_policy};
        let threads = Threads::new(1);
        for priority in [Priority::Usual, Priority::Idle, Priority::Usual, Priority::Idle, Priority::Idle, Priority::Usual] {
            let policy = match priority {
                Priority::Usual => NormalThreadSchedulePolicy::Other,
                Priority::Idle => NormalThreadSchedulePolicy::Idle,
            };
            let called = threads.run(priority, thread_schedule_policy).await.unwrap();
            assert_eq!(called.unwrap(), ThreadSchedulePolicy::Normal(policy));
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_lowest_priority_is_the_threads_own() {
        let niceness = || rustix::process::getpriority_process(Some(rustix::thread::gettid())).unwrap();
        let before = niceness();
        let threads = Threads::with(1, Duration::MAX, |_| {});
        let lowered = threads.run(Priority::Usual, move || {
            set_lowest_priority(Id::of_this_thread());
            niceness()
        });
        assert_eq!(lowered.await.unwrap(), 19);
        assert_eq!(niceness(), before);
    }
}
