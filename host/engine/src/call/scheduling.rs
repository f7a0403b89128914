//! Thread scheduling on Linux: CPU times and the idle priority. Elsewhere no thread is lowered.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(#[cfg(target_os = "linux")] rustix::process::Pid);

#[cfg(target_os = "linux")]
pub(super) use linux::{cpu_time, make_idle, own_cpu_time};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{cpu_time, make_idle, own_cpu_time};

impl Id {
    pub(super) fn of_this_thread() -> Self {
        Self(
            #[cfg(target_os = "linux")]
            rustix::thread::gettid(),
        )
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::time::Duration;

    use tracing::debug;

    use super::Id;

    /// The CPU time of a thread of this process, some milliseconds old; `None` if the kernel does
    /// not keep it. See "schedstat" in the kernel's Documentation/scheduler/sched-stats.rst.
    pub(in crate::call) fn cpu_time(thread: Id) -> Option<Duration> {
        let path = format!("/proc/self/task/{}/schedstat", thread.0.as_raw_nonzero());
        let text = std::fs::read_to_string(path).ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    }

    pub(in crate::call) fn own_cpu_time() -> Option<Duration> {
        rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).try_into().ok()
    }

    /// Lets a thread run only while no other thread of its control group needs the CPU. Niceness
    /// would not do: Linux lets a nice thread finish its time slice first.
    pub(in crate::call) fn make_idle(thread: Id) {
        if let Err(error) = set_idle_policy(thread) {
            debug!(%error, "a thread cannot get the idle scheduling policy: it gets the lowest priority instead");
            const LOWEST: i32 = 19;
            if let Err(error) = rustix::process::setpriority_process(Some(thread.0), LOWEST) {
                debug!(%error, "the priority of a thread cannot be lowered");
            }
        }
    }

    #[expect(unsafe_code, reason = "no safe crate sets the policy of another thread without changing the calling thread, too")]
    fn set_idle_policy(thread: Id) -> std::io::Result<()> {
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: the kernel reads the parameters, which outlive the call, and writes nothing.
        let result =
            unsafe { libc::sched_setscheduler(thread.0.as_raw_nonzero().get(), libc::SCHED_IDLE, &raw const parameters) };
        if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::time::Duration;

    use super::Id;

    pub(in crate::call) fn cpu_time(_: Id) -> Option<Duration> {
        None
    }

    pub(in crate::call) fn own_cpu_time() -> Option<Duration> {
        None
    }

    pub(in crate::call) fn make_idle(_: Id) {}
}

#[cfg(all(test, target_os = "linux"))]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;

    /// `SCHED_IDLE`; see sched(7).
    pub(in crate::call) const IDLE: Option<u32> = Some(5);

    /// The scheduling policy of a thread of this process: field 41 of proc_pid_stat(5).
    pub(in crate::call) fn policy(thread: Id) -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", thread.0.as_raw_nonzero())).ok()?;
        // Field 2 is the name in brackets, which may contain anything.
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_whitespace().nth(41 - 3)?.parse().ok()
    }

    #[test]
    fn only_the_named_thread_becomes_idle() {
        let (send, receive) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            send.send(Id::of_this_thread()).unwrap();
            ended.recv().unwrap();
        });
        let (this, other) = (Id::of_this_thread(), receive.recv().unwrap());
        let before = policy(this);
        assert!(before.is_some_and(|before| Some(before) != IDLE));
        make_idle(other);
        assert_eq!(policy(other), IDLE);
        assert_eq!(policy(this), before);
        end.send(()).unwrap();
        thread.join().unwrap();
    }

    #[test]
    fn cpu_time_grows_with_work() {
        let before = own_cpu_time().unwrap();
        while own_cpu_time().unwrap() < before + Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        // The scheduler counts at its ticks, at most 10 ms apart.
        assert!(cpu_time(Id::of_this_thread()).unwrap() > before);
    }
}
